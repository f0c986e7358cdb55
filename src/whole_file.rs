//! Small files: reading one, and putting one in the place of another, as a whole or not at all.
//!
//! Owns the way there, by a file beside it. Leaves what agents change in files of the
//! project to `tool`, which has more to keep: what the file was when it was read, its owner, its attributes. Invariants: a
//! reader sees the old file or the new one; a link in its place is replaced, and not followed. Whatever lies at a path (a pipe, a
//! device, a folder, a file without end), reading it ends soon.

use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use tempfile::Builder;

/// How the names of files begin that are being written.
const PREFIX: &str = ".new-";

/// Who may read and write a new version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileRights {
    /// The user alone.
    Private,
    /// Whoever could with the old one. A new file is for all to read.
    AsBefore,
}

/// A file as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrittenFile {
    pub path: PathBuf,
    pub text: String,
}

/// Opens a regular file to read it; links are followed. Never waits, as opening a pipe would.
///
/// # Errors
/// Returns why it cannot be read, such as that it is no regular file.
pub fn open_plain(path: &Path) -> io::Result<File> {
    let refuse_special = |facts: &std::fs::Metadata| {
        if facts.is_file() {
            return Ok(());
        }
        Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"))
    };
    // Opening a device may already do something. What is open may be another thing by then.
    refuse_special(&path.metadata()?)?;
    let flags = nix::libc::O_NONBLOCK | nix::libc::O_NOCTTY;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    refuse_special(&file.metadata()?)?;
    Ok(file)
}

/// Reads a regular file of at most `max` bytes; links are followed.
///
/// # Errors
/// Returns why it cannot be read, such as that it is larger.
pub fn read_plain(path: &Path, max: u64) -> io::Result<Vec<u8>> {
    let file = open_plain(path)?;
    let length = file.metadata()?.len();
    let mut bytes = Vec::with_capacity(usize::try_from(length.min(max)).unwrap_or_default());
    if length <= max {
        file.take(max + 1).read_to_end(&mut bytes)?;
    }
    if length > max || bytes.len() as u64 > max {
        let most = if max >= 1 << 20 { format!("{} MiB", max >> 20) } else { format!("{} KiB", max >> 10) };
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("larger than {most}")));
    }
    Ok(bytes)
}

/// As [`read_plain`], for text.
///
/// # Errors
/// Returns why it cannot be read, such as that it is no UTF-8.
pub fn read_plain_text(path: &Path, max: u64) -> io::Result<String> {
    let text = String::from_utf8(read_plain(path, max)?);
    text.map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "not UTF-8 text"))
}

/// Writes a file whose folder exists. Blocks. Fails with the old file as it was.
pub fn replace_whole(path: &Path, bytes: &[u8], rights: FileRights) -> io::Result<()> {
    let mut new = Builder::new().prefix(PREFIX).tempfile_in(path.parent().unwrap_or(Path::new(".")))?;
    new.write_all(bytes)?;
    // The user's own files are on the disk before they have the name. What is the program's own, a crash may take back.
    if rights == FileRights::AsBefore {
        let old = path.symlink_metadata().ok().filter(std::fs::Metadata::is_file);
        let rights = old.map_or_else(|| Permissions::from_mode(0o644), |old| old.permissions());
        new.as_file().set_permissions(rights)?;
        new.as_file().sync_all()?;
    }
    new.persist(path).map(drop).map_err(|error| error.error)
}
