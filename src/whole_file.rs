//! Putting a small file in the place of another, as a whole or not at all.
//!
//! Owns the way there, by a file beside it. Leaves what agents change in files of the
//! project to `tool`, which has more to keep: what the file was when it was read, its owner, its attributes. Invariants: a
//! reader sees the old file or the new one; a link in its place is replaced, and not followed.

use std::fs::Permissions;
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
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
