//! One memory file from the disk to its text.
//!
//! Owns opening it and the bounds. Leaves whether it may be read to `find`. Everything here blocks. Invariant: only a regular
//! file is opened, never in a way that waits for another process, and no more of it is read than the bound.

use std::io::{self, Read as _};
use std::path::Path;

use rustix::fs::OFlags;

use crate::message::sanitize;
use crate::nofollow;

/// Bytes of the longest file that is read at all.
const MAX_BYTES: u64 = 1 << 20;

/// Reads a resolved path.
///
/// # Errors
/// Returns why it is not read, and what the user can do.
pub(super) fn text_of(path: &Path) -> Result<String, String> {
    let text = whole(path)?;
    Ok(sanitize(text.strip_prefix('\u{feff}').unwrap_or(&text)).into_owned())
}

/// Reads a resolved path as it is.
///
/// # Errors
/// Returns why it is not read, and what the user can do.
pub(super) fn whole(path: &Path) -> Result<String, String> {
    let why = |error: io::Error| match error.kind() {
        io::ErrorKind::PermissionDenied => "permission denied. Allow reading with `chmod u+r`.".to_owned(),
        _ => format!("cannot be read: {error}."),
    };
    let not_a_file = || "not a regular file. Not read.".to_owned();
    // Opening a device may already do something.
    if !nofollow::look(path).map_err(why)?.is_file() {
        return Err(not_a_file());
    }
    let file = nofollow::open(path, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY).map_err(why)?;
    if !file.metadata().map_err(why)?.is_file() {
        return Err(not_a_file());
    }
    let mut bytes = Vec::new();
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(why)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(format!("larger than {} MiB, too large for a memory file. Not read.", MAX_BYTES >> 20));
    }
    let text = String::from_utf8(bytes).map_err(|_| "not valid UTF-8. Save it as UTF-8. Not read.".to_owned())?;
    if text.contains('\0') {
        return Err("not a text. Not read.".to_owned());
    }
    Ok(text)
}
