//! Files of the project: how they are found, compared, changed and replaced.
//!
//! Owns opening them without being held up, and what can be wrong with one. Leaves the way to a descriptor to `nofollow`
//! and writing to `replace`. Invariant: only regular files are opened, and never in a way that waits for another process.

mod attributes;
pub(super) mod change;
pub(super) mod copies;
pub(super) mod diff;
pub(super) mod freshness;
pub(super) mod missing;
pub(super) mod nearest;
pub(super) mod path;
mod replace;
pub(super) mod rewind;
pub(super) mod writers;

pub(super) use replace::renew;

use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::FileTypeExt as _;
use std::path::Path;

use rustix::fs::OFlags;
use rustix::io::Errno;

use super::ToolOutput;
use crate::nofollow;

/// Why a file cannot be read or written. The messages are for the model.
#[derive(Debug, thiserror::Error)]
pub(super) enum FileError {
    #[error("{0} does not exist. Find the right path with Glob or LS.")]
    Missing(String),
    #[error("{0} is a folder. List it with LS.")]
    Folder(String),
    /// It is a pipe, a socket or a device: reading could wait for ever.
    #[error("{0} is {1}, not a regular file; not opened. Use another file.")]
    Special(String, &'static str),
    /// Another program changed it meanwhile.
    #[error("{0} just changed on disk. Read it again before you edit it.")]
    Changed(String),
    /// Another program made it meanwhile.
    #[error("{0} was just created on disk. Read it before you change it.")]
    Appeared(String),
    /// A link was put into its path after the path was judged.
    #[error("{0}: a symbolic link in the path changed meanwhile; nothing was done. Check the path and try again.")]
    Turned(String),
    /// It has other names, which would keep the old content.
    #[error(
        "{0} has {1} names (hard links); replacing the file would leave the others with the old content. Ask the \
         user; `cat new > file` in Bash changes them all."
    )]
    Linked(String, u64),
    /// Something about it cannot be given to a new version.
    #[error("{0} has {1}, which rewriting would lose; nothing was written. Ask the user how to change the file.")]
    Unkept(String, String),
    #[error("{0} is write-protected. Ask the user before changing that.")]
    Protected(String),
    /// The agent was stopped before anything was written.
    #[error("interrupted")]
    Cancelled,
    #[error("{0}: {1}.")]
    System(String, io::Error),
}

impl FileError {
    pub(super) fn system(shown: &str, error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound => Self::Missing(shown.to_owned()),
            io::ErrorKind::IsADirectory => Self::Folder(shown.to_owned()),
            _ if error.raw_os_error() == Some(Errno::LOOP.raw_os_error()) => Self::Turned(shown.to_owned()),
            _ => Self::System(shown.to_owned(), error),
        }
    }
}

impl From<FileError> for ToolOutput {
    fn from(error: FileError) -> Self {
        Self::error(error.to_string())
    }
}

/// Returns the metadata of a regular file at a resolved path; `shown` names it in errors.
pub(super) fn look_at(path: &Path, shown: &str) -> Result<Metadata, FileError> {
    let metadata = nofollow::look(path).map_err(|error| FileError::system(shown, error))?;
    refuse_special(&metadata, shown)?;
    Ok(metadata)
}

pub(super) fn refuse_special(metadata: &Metadata, shown: &str) -> Result<(), FileError> {
    let kind = metadata.file_type();
    if kind.is_file() {
        return Ok(());
    }
    if kind.is_dir() {
        return Err(FileError::Folder(shown.to_owned()));
    }
    if kind.is_symlink() {
        return Err(FileError::Turned(shown.to_owned()));
    }
    let word = if kind.is_fifo() {
        "a named pipe (FIFO)"
    } else if kind.is_socket() {
        "a socket"
    } else if kind.is_char_device() || kind.is_block_device() {
        "a device"
    } else {
        "a special file"
    };
    Err(FileError::Special(shown.to_owned(), word))
}

pub(super) fn open_regular(path: &Path, shown: &str) -> Result<(File, Metadata), FileError> {
    look_at(path, shown)?;
    // The file may have been swapped for a pipe since: never wait while opening, and look again at what is open.
    let file = nofollow::open(path, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY)
        .map_err(|error| FileError::system(shown, error))?;
    let metadata = file.metadata().map_err(|error| FileError::system(shown, error))?;
    refuse_special(&metadata, shown)?;
    Ok((file, metadata))
}
