//! Pictures that go with a conversation, each by its number: `[Image #1]` in a message stands for the first.
//!
//! Owns what a picture is, what services take of one, and the mark in a text. Leaves keeping the bytes to `session` and
//! sending them to `provider`. Invariant: what passes [`PictureFacts::of`] is a whole picture of a kind that services take,
//! within their limits: one that they refuse would fail every later request of its conversation.

use std::collections::BTreeMap;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::ResultPart;
use super::pixels::{is_complete, pixels};

/// Bytes of a picture: in base64, in which it travels, these are the 5 MiB that services take.
pub(super) const IMAGE_BYTES: u64 = (5 << 20) / 4 * 3;
/// Bytes of a picture that is read, to be made smaller if services take no such one.
pub const PICTURE_FILE_BYTES: u64 = 32 << 20;
/// Pixels of a picture's longer side that services take.
const IMAGE_SIDE: u32 = 8_000;
const MARK: &str = "[Image #";
/// Digits of a number; a longer one is none of ours.
const MAX_DIGITS: usize = 6;

/// A picture, or a PDF document that a tool has read, as it is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attachment {
    pub media_type: &'static str,
    /// Its bytes in base64.
    pub data: Arc<str>,
}

/// The pictures that a request may send, by their numbers.
pub type Attachments = BTreeMap<u32, Attachment>;

/// What the header of a picture says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PictureFacts {
    /// MIME type, such as `image/png`.
    pub media_type: &'static str,
    pub width: u32,
    pub height: u32,
    pub bytes: usize,
}

/// Bytes of a PDF document that is sent whole. Services take 32 MB in all, in base64, and 100 pages.
pub const DOCUMENT_BYTES: u64 = 8 << 20;
/// MIME type of the documents that services read.
pub const PDF: &str = "application/pdf";

/// Returns the MIME type of a picture that begins like this; `None` if it is none that services take.
pub fn picture_type(start: &[u8]) -> Option<&'static str> {
    const IMAGES: [(&[u8], &str); 4] = [
        (b"\x89PNG\r\n\x1a\n", "image/png"),
        (b"\xff\xd8\xff", "image/jpeg"),
        (b"GIF87a", "image/gif"),
        (b"GIF89a", "image/gif"),
    ];
    if start.starts_with(b"RIFF") && start.get(8..12) == Some(b"WEBP") {
        return Some("image/webp");
    }
    IMAGES.iter().find(|(magic, _)| start.starts_with(magic)).map(|(_, media_type)| *media_type)
}

/// Returns the MIME type of what may be attached and begins like this.
pub fn attachment_type(start: &[u8]) -> Option<&'static str> {
    picture_type(start).or_else(|| start.starts_with(b"%PDF-").then_some(PDF))
}

impl Attachment {
    pub fn is_document(&self) -> bool {
        self.media_type == PDF
    }
}

impl PictureFacts {
    /// Reads a picture's header. The error says of it what is wrong, and what to do: `is …`.
    pub fn of(bytes: &[u8]) -> Result<Self, String> {
        let media_type = picture_type(bytes).ok_or("is no PNG, JPEG, GIF or WebP image")?;
        if bytes.len() as u64 > IMAGE_BYTES {
            return Err(too_large(bytes.len() as u64, IMAGE_BYTES));
        }
        let Some((width, height)) = pixels(bytes) else {
            return Err(format!("begins like {media_type} but is not a complete image. Check the file."));
        };
        if width.max(height) > IMAGE_SIDE {
            return Err(format!(
                "has {width}×{height} pixels; the limit is {IMAGE_SIDE} per side. Make a smaller copy first."
            ));
        }
        if !is_complete(bytes) {
            return Err(format!("begins like {media_type} but is cut off or damaged. Check the file."));
        }
        Ok(Self { media_type, width, height, bytes: bytes.len() })
    }

    /// Returns size and kind, such as `640×480 png`.
    pub fn words(&self) -> String {
        let kind = self.media_type.rsplit('/').next().unwrap_or_default();
        format!("{}×{} {kind}", self.width, self.height)
    }
}

/// Returns a picture that came from elsewhere, in base64, if services take it.
///
/// # Errors
/// Returns what is wrong with it.
pub fn checked_picture(data: &str) -> Result<ResultPart, &'static str> {
    if data.len() as u64 > IMAGE_BYTES / 3 * 4 {
        return Err("too large");
    }
    let bytes = STANDARD.decode(data).map_err(|_| "not in base64")?;
    let media_type = picture_type(&bytes).ok_or("of a kind that no service takes")?;
    let (width, height) = pixels(&bytes).ok_or("not complete")?;
    if width.max(height) > IMAGE_SIDE {
        return Err("of too many pixels");
    }
    if !is_complete(&bytes) {
        return Err("cut off or damaged");
    }
    Ok(ResultPart::Image { media_type: media_type.to_owned(), data: data.to_owned() })
}

/// Says that a picture of so many bytes is not sent.
pub fn too_large(bytes: u64, limit: u64) -> String {
    let megabytes = |bytes: u64| format!("{}.{} MB", bytes / 1_000_000, bytes / 100_000 % 10);
    format!("is an image of {}; the limit is {}. Make a smaller copy first.", megabytes(bytes), megabytes(limit))
}

/// Returns what stands for a picture in a text.
pub fn picture_mark(number: u32) -> String {
    format!("{MARK}{number}]")
}

/// Returns the numbers of the pictures that a text names, each once, in its order.
pub fn picture_numbers(text: &str) -> Vec<u32> {
    let mut numbers = Vec::new();
    for (_, number, _) in marks(text) {
        if !numbers.contains(&number) {
            numbers.push(number);
        }
    }
    numbers
}

/// Returns a text in which no mark stands for a picture any more.
pub fn without_picture_marks(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    for (start, _, end) in marks(text) {
        out.push_str(&text[from..start]);
        out.push_str("[Image]");
        from = end;
    }
    out.push_str(&text[from..]);
    out
}

/// Returns where each mark begins, its number, and where it ends.
fn marks(text: &str) -> impl Iterator<Item = (usize, u32, usize)> {
    text.match_indices(MARK).filter_map(|(at, _)| {
        let rest = &text[at + MARK.len()..];
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let is_whole = (1..=MAX_DIGITS).contains(&digits) && rest[digits..].starts_with(']');
        is_whole.then_some(())?;
        Some((at, rest[..digits].parse().ok()?, at + MARK.len() + digits + 1))
    })
}
