//! Opening and replacing files without being held up or leaving half of one behind.
//!
//! Invariants: only regular files are opened, and never in a way that waits for another process; a file is replaced
//! as a whole or not at all.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

use tokio_util::sync::CancellationToken;

use super::Stamp;

/// Why a file cannot be read or written. The messages are for the model.
#[derive(Debug, thiserror::Error)]
pub(super) enum FileFault {
    /// There is no such file.
    #[error("{0} does not exist. Find the right path with Glob or LS.")]
    Missing(String),
    /// It is a folder.
    #[error("{0} is a folder. List it with LS.")]
    Folder(String),
    /// It is a pipe, a socket or a device: reading could wait for ever.
    #[error("{0} is {1}, not a regular file; it is not opened.")]
    Special(String, &'static str),
    /// Another program changed it meanwhile.
    #[error("{0} was changed outside of this session's edits just now. Read it again before you edit it.")]
    Changed(String),
    /// Another program made it meanwhile.
    #[error("{0} was made outside of this session's edits just now. Read it before you change it.")]
    Appeared(String),
    /// Its permission bits forbid writing.
    #[error("{0} is write-protected. Ask the user before changing that.")]
    Protected(String),
    /// The agent was stopped before anything was written.
    #[error("interrupted")]
    Cancelled,
    /// The system refused.
    #[error("{0}: {1}.")]
    System(String, io::Error),
}

impl FileFault {
    /// Puts a fault of the system into words.
    pub(super) fn system(shown: &str, fault: io::Error) -> Self {
        match fault.kind() {
            io::ErrorKind::NotFound => Self::Missing(shown.to_owned()),
            io::ErrorKind::IsADirectory => Self::Folder(shown.to_owned()),
            _ => Self::System(shown.to_owned(), fault),
        }
    }
}

/// Returns the metadata of a regular file; `shown` names it in errors.
pub(super) fn look_at(path: &Path, shown: &str) -> Result<Metadata, FileFault> {
    let metadata = std::fs::metadata(path).map_err(|fault| FileFault::system(shown, fault))?;
    refuse_special(&metadata, shown)?;
    Ok(metadata)
}

fn refuse_special(metadata: &Metadata, shown: &str) -> Result<(), FileFault> {
    let kind = metadata.file_type();
    if kind.is_file() {
        return Ok(());
    }
    if kind.is_dir() {
        return Err(FileFault::Folder(shown.to_owned()));
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
    Err(FileFault::Special(shown.to_owned(), word))
}

/// Opens a regular file for reading.
pub(super) fn open_regular(path: &Path, shown: &str) -> Result<(File, Metadata), FileFault> {
    look_at(path, shown)?;
    // The file may have been swapped for a pipe since: never wait while opening, and look again at what is open.
    // All links of the path were followed before it was judged; one that is there now has come since.
    let flags = nix::libc::O_NONBLOCK | nix::libc::O_NOCTTY | nix::libc::O_NOFOLLOW;
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(flags)
        .open(path)
        .map_err(|fault| FileFault::system(shown, fault))?;
    let metadata = file.metadata().map_err(|fault| FileFault::system(shown, fault))?;
    refuse_special(&metadata, shown)?;
    Ok((file, metadata))
}

/// Writes `bytes` to a new file beside `path` and moves it into place.
///
/// With `expected`, replaces a file that must still be in that state, and keeps its permission bits and, where
/// allowed, its owner; without, creates a file that must not exist. Returns the state of the new file.
pub(super) fn replace(
    path: &Path,
    shown: &str,
    bytes: &[u8],
    expected: Option<Stamp>,
    cancel: &CancellationToken,
) -> Result<Stamp, FileFault> {
    let system = |fault| FileFault::System(shown.to_owned(), fault);
    let folder = path.parent().unwrap_or(Path::new("/"));
    std::fs::create_dir_all(folder).map_err(system)?;
    let mut temporary = tempfile::Builder::new()
        .prefix(".belvedere-")
        .suffix(".tmp")
        .permissions(std::fs::Permissions::from_mode(0o666))
        .tempfile_in(folder)
        .map_err(system)?;
    temporary.write_all(bytes).map_err(system)?;
    if expected.is_some() {
        take_over_rights(path, shown, temporary.as_file())?;
    }
    temporary.as_file().sync_data().map_err(system)?;
    if cancel.is_cancelled() {
        return Err(FileFault::Cancelled);
    }
    let file = match expected {
        Some(stamp) => {
            let now = std::fs::metadata(path).map_err(|_| FileFault::Changed(shown.to_owned()))?;
            if Stamp::of(&now) != stamp {
                return Err(FileFault::Changed(shown.to_owned()));
            }
            temporary.persist(path).map_err(|fault| system(fault.error))?
        }
        None => temporary.persist_noclobber(path).map_err(|fault| match fault.error.kind() {
            io::ErrorKind::AlreadyExists => FileFault::Appeared(shown.to_owned()),
            _ => system(fault.error),
        })?,
    };
    file.metadata().map(|metadata| Stamp::of(&metadata)).map_err(system)
}

/// Gives the new file the rights of the one it replaces, which must be writable itself: replacing it by renaming would
/// need only a writable folder.
fn take_over_rights(path: &Path, shown: &str, new: &File) -> Result<(), FileFault> {
    use std::os::unix::fs::MetadataExt as _;
    let system = |fault| FileFault::system(shown, fault);
    let old = look_at(path, shown)?;
    if old.permissions().readonly() {
        return Err(FileFault::Protected(shown.to_owned()));
    }
    OpenOptions::new().write(true).custom_flags(nix::libc::O_NONBLOCK).open(path).map_err(system)?;
    // Only a privileged user may give files away; for everyone else the owner is the same already.
    let _ = std::os::unix::fs::fchown(new, Some(old.uid()), Some(old.gid()));
    new.set_permissions(old.permissions()).map_err(system)
}
