//! Putting a new file, or a new version of one, into place, and removing one.
//!
//! Owns temporary files, from the first byte to the sweeping up of those that a crash has left, and what a new version
//! takes over from the old one. Invariants: a file is replaced as a whole or not at all; a new version has neither more
//! nor fewer rights than the old one, at any moment; everything is done relative to the folder that was opened, so that
//! nothing that is put into its path meanwhile counts.

use std::ffi::{OsStr, OsString};
use std::fs::{File, TryLockError};
use std::hash::{BuildHasher as _, RandomState};
use std::io::{self, Read as _, Write as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, fchown};
use std::path::Path;

use rustix::fs::{AtFlags, Dir, Mode, OFlags, linkat, openat, readlinkat, renameat, symlinkat, unlinkat};
use rustix::io::Errno;
use tokio_util::sync::CancellationToken;

use super::attributes::take_over_attributes;
use super::{FileError, open_regular, refuse_special};
use crate::nofollow::{look_in, make_folder, open, open_folder, open_in, rename_to_free};
use crate::tool::Stamp;

/// How the names of temporary files begin and end.
const AFFIXES: (&str, &str) = (".belvedere-", ".tmp");
/// Bytes of a file that is given a copy to itself.
const MAX_RENEWED: u64 = 16 << 20;
/// Names tried for a temporary file.
const MAX_NAMES: usize = 64;

/// Writes `bytes` to a file of its own and moves it to `path`, which is resolved.
///
/// With `expected`, replaces a file that must still be in that state, and keeps its rights and attributes; without,
/// creates a file that must not exist. Returns the state of the new file.
pub(super) fn replace(
    path: &Path,
    shown: &str,
    bytes: &[u8],
    expected: Option<Stamp>,
    cancel: &CancellationToken,
) -> Result<Stamp, FileError> {
    place(path, shown, bytes, (expected, 0o666), cancel)
}

/// As [`replace`] for a file that must not exist, which gets exactly these rights.
pub(super) fn create(path: &Path, shown: &str, bytes: &[u8], mode: u32) -> Result<Stamp, FileError> {
    place(path, shown, bytes, (None, mode), &CancellationToken::new())?;
    let (file, _) = open_regular(path, shown)?;
    let system = |error| FileError::system(shown, error);
    file.set_permissions(std::fs::Permissions::from_mode(mode)).map_err(system)?;
    Ok(Stamp::of(&file.metadata().map_err(system)?))
}

fn place(
    path: &Path,
    shown: &str,
    bytes: &[u8],
    (expected, new): (Option<Stamp>, u32),
    cancel: &CancellationToken,
) -> Result<Stamp, FileError> {
    let system = |error| FileError::System(shown.to_owned(), error);
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(FileError::Folder(shown.to_owned()));
    };
    let folder = &make_folder(folder).map_err(|error| FileError::system(shown, error))?;
    let old = expected.map(|stamp| open_old(folder, name, shown, stamp)).transpose()?;
    // A new version is for nobody else until it has its rights; a new file has them from the start.
    let mode = if old.is_some() { 0o600 } else { new };
    let mut temporary = Temporary::new(folder, Mode::from_raw_mode(mode)).map_err(system)?;
    sweep(folder, &temporary);
    temporary.file.write_all(bytes).map_err(system)?;
    if let Some(old) = &old {
        take_over(old, &temporary.file, shown)?;
    }
    temporary.file.sync_all().map_err(system)?;
    if cancel.is_cancelled() {
        return Err(FileError::Cancelled);
    }
    match expected {
        Some(stamp) => {
            unchanged(folder, name, shown, stamp)?;
            temporary.replace(name)
        }
        None => temporary.create(name),
    }
    .map_err(|error| match error {
        Errno::EXIST => FileError::Appeared(shown.to_owned()),
        error => system(error.into()),
    })?;
    // The new name is on the disk as well; where a folder cannot be read, the system sees to it in its own time.
    if let Ok(folder) = open_in(folder, OsStr::new("."), OFlags::DIRECTORY) {
        let _ = folder.sync_all();
    }
    temporary.file.metadata().map(|metadata| Stamp::of(&metadata)).map_err(system)
}

/// Gives a file that has other names a copy to itself, with its content, rights, attributes and time.
pub(in crate::tool) fn renew(path: &Path) -> Result<(), FileError> {
    let shown = &path.to_string_lossy();
    let system = |error| FileError::system(shown, error);
    let (file, before) = open_regular(path, shown)?;
    if before.uid() != nix::unistd::geteuid().as_raw() {
        return Err(system(io::ErrorKind::PermissionDenied.into()));
    }
    if before.len() > MAX_RENEWED {
        return Err(system(io::ErrorKind::FileTooLarge.into()));
    }
    let mut bytes = Vec::new();
    file.take(MAX_RENEWED).read_to_end(&mut bytes).map_err(system)?;
    let new = replace(path, shown, &bytes, Some(Stamp::of(&before)), &CancellationToken::new())?;
    let file = open(path, OFlags::WRONLY | OFlags::NONBLOCK | OFlags::NOCTTY).map_err(system)?;
    if Stamp::of(&file.metadata().map_err(system)?) != new || new.names() > 1 {
        return Err(FileError::Changed(shown.to_string()));
    }
    before.modified().and_then(|time| file.set_modified(time)).map_err(system)
}

/// Removes a file that must still be in this state, or a link that must still lead there.
pub(super) fn remove(path: &Path, shown: &str, expected: Option<Stamp>, link: Option<&[u8]>) -> Result<(), FileError> {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(FileError::Folder(shown.to_owned()));
    };
    let folder = open(folder, OFlags::RDONLY | OFlags::DIRECTORY).map_err(|error| FileError::system(shown, error))?;
    match (expected, link) {
        (Some(expected), _) => unchanged(&folder, name, shown, expected)?,
        (None, Some(link)) if readlinkat(&folder, name, Vec::new()).is_ok_and(|target| target.to_bytes() == link) => {}
        _ => return Err(FileError::Changed(shown.to_owned())),
    }
    unlinkat(&folder, name, AtFlags::empty()).map_err(|error| FileError::system(shown, error.into()))
}

/// Makes a link, where nothing may be yet.
pub(super) fn link(path: &Path, shown: &str, target: &OsStr) -> Result<(), FileError> {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(FileError::Folder(shown.to_owned()));
    };
    let folder = make_folder(folder).map_err(|error| FileError::system(shown, error))?;
    symlinkat(target, &folder, name).map_err(|error| match error {
        Errno::EXIST => FileError::Appeared(shown.to_owned()),
        error => FileError::system(shown, error.into()),
    })
}

/// Lets a file be run by all who may read it, or by nobody.
pub(super) fn set_runnable(path: &Path, shown: &str, is_runnable: bool) -> Result<(), FileError> {
    let (file, facts) = open_regular(path, shown)?;
    let mode = facts.mode() & 0o7777;
    let wanted = if is_runnable { mode | (mode & 0o444) >> 2 } else { mode & !0o111 };
    let rights = std::fs::Permissions::from_mode(wanted);
    if wanted == mode { Ok(()) } else { file.set_permissions(rights).map_err(|error| FileError::system(shown, error)) }
}

/// Removes a folder in which nothing is.
pub(super) fn remove_folder(path: &Path) -> io::Result<()> {
    let (Some(above), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::ErrorKind::NotFound.into());
    };
    Ok(unlinkat(&open_folder(above)?, name, AtFlags::REMOVEDIR)?)
}

fn unchanged(folder: &File, name: &OsStr, shown: &str, expected: Stamp) -> Result<(), FileError> {
    let now = look_in(folder, name).map_err(|_| FileError::Changed(shown.to_owned()))?;
    refuse_special(&now, shown)?;
    if Stamp::of(&now).has_content_of(&expected) { Ok(()) } else { Err(FileError::Changed(shown.to_owned())) }
}

/// Opens the file that is to be replaced. It must be writable itself: replacing it by renaming would need only a
/// writable folder.
fn open_old(folder: &File, name: &OsStr, shown: &str, expected: Stamp) -> Result<File, FileError> {
    unchanged(folder, name, shown, expected)?;
    let is_protected = look_in(folder, name).is_ok_and(|metadata| metadata.permissions().readonly());
    if is_protected {
        return Err(FileError::Protected(shown.to_owned()));
    }
    open_in(folder, name, OFlags::WRONLY | OFlags::NONBLOCK | OFlags::NOCTTY)
        .map_err(|error| FileError::system(shown, error))
}

/// Gives the new file what the old one has besides its content. The rights come last: until then it is for nobody else.
fn take_over(old: &File, new: &File, shown: &str) -> Result<(), FileError> {
    let system = |error| FileError::system(shown, error);
    let unkept = |what: String| FileError::Unkept(shown.to_owned(), what);
    let (before, now) = (old.metadata().map_err(system)?, new.metadata().map_err(system)?);
    // Only a privileged user may give files away; for everyone else the owner is the same, or changes with the content.
    if fchown(new, Some(before.uid()), Some(before.gid())).is_err()
        && before.gid() != now.gid()
        && fchown(new, None, Some(before.gid())).is_err()
    {
        return Err(unkept("a group you do not belong to".to_owned()));
    }
    take_over_attributes(old, new).map_err(|name| unkept(format!("the attribute {name}")))?;
    let mut rights = before.permissions();
    if new.metadata().map_err(system)?.uid() != before.uid() {
        // Whoever runs it must not become another user by it than before.
        rights.set_mode(rights.mode() & 0o777);
    }
    new.set_permissions(rights).map_err(system)
}

/// A file that is being written. What is not moved into place is gone when it is dropped.
///
/// It is locked as long as its program runs, whichever way that ends.
struct Temporary<'f> {
    folder: &'f File,
    file: File,
    /// Its name in the folder; none as long as it needs none.
    name: Option<OsString>,
}

impl<'f> Temporary<'f> {
    fn new(folder: &'f File, mode: Mode) -> io::Result<Self> {
        if let Some(file) = nameless(folder, mode) {
            // Nobody else can hold it.
            let _ = file.try_lock();
            return Ok(Self { folder, file, name: None });
        }
        for name in names() {
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let file = match openat(folder, &name, flags, mode) {
                Err(Errno::EXIST) => continue,
                opened => File::from(opened?),
            };
            // Another program may have swept it up before it was locked.
            let swept = matches!(file.try_lock(), Err(TryLockError::WouldBlock)) || file.metadata()?.nlink() == 0;
            if !swept {
                return Ok(Self { folder, file, name: Some(name) });
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    /// Gives the file a name of its own if it has none.
    fn named(&mut self) -> Result<&OsStr, Errno> {
        if self.name.is_none() {
            let mut names = names();
            self.name = loop {
                let name = names.next().ok_or(Errno::EXIST)?;
                match self.link(&name) {
                    Err(Errno::EXIST) => {}
                    linked => break linked.map(|()| Some(name))?,
                }
            };
        }
        Ok(self.name.as_deref().unwrap_or_default())
    }

    /// Gives the file one more name.
    fn link(&self, to: &OsStr) -> Result<(), Errno> {
        match &self.name {
            Some(name) => linkat(self.folder, name.as_os_str(), self.folder, to, AtFlags::empty()),
            None => linkat(rustix::fs::CWD, own_path(&self.file), self.folder, to, AtFlags::SYMLINK_FOLLOW),
        }
    }

    /// Moves the file to the place of another.
    fn replace(&mut self, to: &OsStr) -> Result<(), Errno> {
        let folder = self.folder;
        renameat(folder, self.named()?, folder, to)?;
        self.name = None;
        Ok(())
    }

    /// Moves the file to a name that must be free.
    fn create(&mut self, to: &OsStr) -> Result<(), Errno> {
        match self.link(to) {
            // A file system without hard links.
            Err(Errno::PERM | Errno::NOTSUP | Errno::NOSYS) => {
                let folder = self.folder;
                rename_to_free((folder, self.named()?), (folder, to))?;
                self.name = None;
                Ok(())
            }
            linked => linked,
        }
    }
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        if let Some(name) = &self.name {
            let _ = unlinkat(self.folder, name, AtFlags::empty());
        }
    }
}

/// Makes a file without a name, which no crash can leave behind, where the file system can.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn nameless(folder: &File, mode: Mode) -> Option<File> {
    let file = openat(folder, ".", OFlags::WRONLY | OFlags::TMPFILE | OFlags::CLOEXEC, mode).ok().map(File::from)?;
    // It is named by this path later.
    Path::new(&own_path(&file)).exists().then_some(file)
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn nameless(_folder: &File, _mode: Mode) -> Option<File> {
    None
}

/// Returns the path by which a process finds a file that it has open.
fn own_path(file: &File) -> String {
    format!("/proc/self/fd/{}", file.as_raw_fd())
}

fn names() -> impl Iterator<Item = OsString> {
    let (start, end) = AFFIXES;
    (0..MAX_NAMES).map(move |at| format!("{start}{:016x}{end}", RandomState::new().hash_one(at)).into())
}

/// Removes temporary files that a crash has left in a folder: they are the user's own and locked by nobody.
fn sweep(folder: &File, own: &Temporary<'_>) {
    let Ok(owner) = own.file.metadata().map(|metadata| metadata.uid()) else { return };
    let Ok(entries) = open_in(folder, OsStr::new("."), OFlags::DIRECTORY).and_then(|all| Ok(Dir::read_from(all)?))
    else {
        return;
    };
    for entry in entries.flatten() {
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        let is_ours =
            name.as_bytes().starts_with(AFFIXES.0.as_bytes()) && name.as_bytes().ends_with(AFFIXES.1.as_bytes());
        if !is_ours || own.name.as_deref() == Some(name) {
            continue;
        }
        let left = look_in(folder, name).is_ok_and(|metadata| metadata.is_file() && metadata.uid() == owner);
        if left
            && let Ok(file) = open_in(folder, name, OFlags::RDONLY | OFlags::NONBLOCK)
            && file.try_lock().is_ok()
        {
            let _ = unlinkat(folder, name, AtFlags::empty());
        }
    }
}
