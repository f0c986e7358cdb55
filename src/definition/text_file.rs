//! Reads a file that defines something, whoever wrote it.
//!
//! Owns bounds, encodings, and what of it a project brings. Leaves what it says to `load`. Invariants: nothing but a regular file is opened, and none is
//! read beyond its first bytes.

use std::io::ErrorKind;
use std::path::Path;

use super::DirBounds;
use crate::message::Diagnostic;
use crate::permission::{BroughtItem, BroughtKind};
use crate::whole_file::read_plain;

/// Bytes of the longest file that is read: ten times as many as the longest in circulation.
pub(super) const MAX_BYTES: u64 = 1 << 20;

/// Returns what a file holds, or why it cannot be used. Blocks.
pub(super) fn content(path: &Path) -> Result<Vec<u8>, Diagnostic> {
    read_plain(path, MAX_BYTES).map_err(|error| {
        let reason = match error.kind() {
            ErrorKind::PermissionDenied => {
                "permission denied. Allow reading with `chmod u+r`. File skipped.".to_owned()
            }
            _ => format!("cannot be read: {error}. File skipped."),
        };
        Diagnostic::in_file(path, reason)
    })
}

/// Returns the text that a file holds, and what is wrong with its encoding.
pub(super) fn decoded(bytes: &[u8], path: &Path) -> (String, Option<Diagnostic>) {
    match std::str::from_utf8(bytes) {
        Ok(text) => (text.to_owned(), None),
        Err(error) => of_damaged(bytes, error.valid_up_to(), path),
    }
}

/// Returns a file with this content as the project brings it; `None` if it is the user's own.
pub(super) fn brought(
    kind: BroughtKind,
    path: &Path,
    bounds: Option<&DirBounds>,
    content: &Result<Vec<u8>, Diagnostic>,
) -> Option<BroughtItem> {
    let name = path.strip_prefix(&bounds?.root).unwrap_or(path).to_string_lossy();
    Some(match content {
        Ok(bytes) => BroughtItem::of_file(kind, name, bytes),
        Err(_) => BroughtItem::new(kind, name),
    })
}

/// Reads a file that is not UTF-8: as UTF-16 if it is marked so, else without the characters that are none.
fn of_damaged(bytes: &[u8], valid: usize, path: &Path) -> (String, Option<Diagnostic>) {
    let wide = |read: fn([u8; 2]) -> u16| {
        let (pairs, _) = bytes.as_chunks::<2>();
        String::from_utf16_lossy(&pairs.iter().map(|pair| read(*pair)).collect::<Vec<u16>>())
    };
    let text = match bytes {
        [0xff, 0xfe, ..] => wide(u16::from_le_bytes),
        [0xfe, 0xff, ..] => wide(u16::from_be_bytes),
        _ => String::from_utf8_lossy(bytes).into_owned(),
    };
    let line = memchr::memchr_iter(b'\n', &bytes[..valid]).count() + 1;
    let message = "not valid UTF-8, so some characters may be wrong. Save the file as UTF-8.".to_owned();
    (text, Some(Diagnostic { line: Some(line), ..Diagnostic::in_file(path, message) }))
}
