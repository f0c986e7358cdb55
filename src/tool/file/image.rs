//! The size of a picture in pixels, from its header.
//!
//! A picture that a model's service refuses, being broken or too large, would fail every later request of the
//! conversation; so it is judged before it gets in. Layouts after the specifications of PNG, GIF89a, JFIF and WebP.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::message::ResultPart;

/// Bytes of a picture: in base64, in which it travels, these are the 5 MiB that services take.
pub(in crate::tool) const IMAGE_BYTES: u64 = (5 << 20) / 4 * 3;
/// Pixels of a picture's longer side that services take.
pub(in crate::tool) const IMAGE_SIDE: u32 = 8_000;

/// Returns which kind of picture, of those that services take, begins so.
pub(in crate::tool) fn media_type(start: &[u8]) -> Option<&'static str> {
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

/// Returns a picture that came from elsewhere, in base64, if services take it.
///
/// # Errors
/// Returns what is wrong with it.
pub fn checked_picture(data: &str) -> Result<ResultPart, &'static str> {
    if data.len() as u64 > IMAGE_BYTES / 3 * 4 {
        return Err("too large");
    }
    let bytes = STANDARD.decode(data).map_err(|_| "not in base64")?;
    let media_type = media_type(&bytes).ok_or("of a kind that no service takes")?;
    let (width, height) = pixels(&bytes).ok_or("not complete")?;
    if width.max(height) > IMAGE_SIDE {
        return Err("of too many pixels");
    }
    Ok(ResultPart::Image { media_type: media_type.to_owned(), data: data.to_owned() })
}

/// Returns width and height, or nothing for what is no whole header of a picture.
pub(in crate::tool) fn pixels(bytes: &[u8]) -> Option<(u32, u32)> {
    let found = match bytes {
        [0x89, b'P', ..] if bytes.get(12..16)? == b"IHDR" => (big(bytes.get(16..20)?), big(bytes.get(20..24)?)),
        [b'G', ..] => (little(bytes.get(6..8)?), little(bytes.get(8..10)?)),
        [0xff, 0xd8, rest @ ..] => jpeg(rest)?,
        [b'R', ..] => webp(bytes)?,
        _ => return None,
    };
    (found.0 > 0 && found.1 > 0).then_some(found)
}

fn big(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0, |number, byte| (number << 8) | u32::from(*byte))
}

fn little(bytes: &[u8]) -> u32 {
    bytes.iter().rev().fold(0, |number, byte| (number << 8) | u32::from(*byte))
}

/// Walks the segments up to the frame header, which has the size.
fn jpeg(mut rest: &[u8]) -> Option<(u32, u32)> {
    loop {
        let [0xff, marker, after @ ..] = rest else { return None };
        match marker {
            // Fill bytes.
            0xff => rest = &rest[1..],
            0xc0..=0xcf if !matches!(marker, 0xc4 | 0xc8 | 0xcc) => {
                return Some((big(after.get(5..7)?), big(after.get(3..5)?)));
            }
            _ => {
                let length = usize::try_from(big(after.get(..2)?)).ok()?;
                rest = after.get(length.max(2)..)?;
            }
        }
    }
}

fn webp(bytes: &[u8]) -> Option<(u32, u32)> {
    match bytes.get(12..16)? {
        b"VP8X" => Some((little(bytes.get(24..27)?) + 1, little(bytes.get(27..30)?) + 1)),
        b"VP8L" => {
            let packed = little(bytes.get(21..25)?);
            Some(((packed & 0x3fff) + 1, ((packed >> 14) & 0x3fff) + 1))
        }
        b"VP8 " => Some((little(bytes.get(26..28)?) & 0x3fff, little(bytes.get(28..30)?) & 0x3fff)),
        _ => None,
    }
}
