//! Temporary folders and files, for the user alone.
//!
//! Owns making them, and removing them with all that is in them. Invariants: nobody else can look into one, whatever the umask is;
//! removing one follows no link and takes the same room however deep its folders are; one whose program was killed is removed
//! by a program that comes later, and one that is in use is not.

use std::ffi::{CStr, CString, OsStr};
use std::fs::{File, OpenOptions, Permissions};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use nix::sys::stat::{FchmodatFlags, Mode as NixMode, fchmodat};
use rustix::fs::{AtFlags, Dir, Mode, OFlags, openat, renameat, unlinkat};
use rustix::io::Errno;
pub use tempfile::NamedTempFile as TemporaryFile;
use tempfile::{Builder, TempDir};

/// The file in a folder that is held as long as the folder is in use.
const HELD: &str = ".in-use";
/// Begins the names of folders on their way to being empty.
const GOING: &str = ".belvedere-going-";
/// Begins the names of what lies in the system's folder.
const OURS: &str = "belvedere-";
/// Tries to name a folder that is going.
const NAME_TRIES: usize = 1_000;

/// A folder that is gone with this value.
#[derive(Debug)]
pub struct TemporaryFolder {
    path: PathBuf,
    is_removed: bool,
    /// The file that is held.
    _held: Option<File>,
}

impl TemporaryFolder {
    /// Makes one in the system's folder for such. `kind` is a part of its name.
    pub fn new(kind: &str) -> io::Result<Self> {
        let folder = private_dir(&std::env::temp_dir(), &format!("{OURS}{kind}-"))?;
        // Nobody finds the file before it is held.
        let (held, unheld) = (folder.path().join(HELD), folder.path().join(".in-use.new"));
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&unheld)?;
        file.lock()?;
        std::fs::rename(unheld, held)?;
        Ok(Self { path: folder.keep(), is_removed: false, _held: Some(file) })
    }

    /// Makes one in a folder of ours, which nobody looks through for what is left.
    pub fn within(place: &Path, prefix: &str) -> io::Result<Self> {
        Ok(Self { path: private_dir(place, prefix)?.keep(), is_removed: false, _held: None })
    }

    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Removes the folder.
    ///
    /// # Errors
    /// Returns why something of it is still there.
    pub fn remove(mut self) -> io::Result<()> {
        self.is_removed = true;
        remove_tree(&self.path)
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        if !self.is_removed {
            // What cannot be removed lies where the system cleans up.
            let _ = remove_tree(&self.path);
        }
    }
}

fn private_dir(place: &Path, prefix: &str) -> io::Result<TempDir> {
    let rights = Permissions::from_mode(0o700);
    let folder = Builder::new().prefix(prefix).permissions(rights.clone()).tempdir_in(place)?;
    // A umask takes rights away, the user's own, too.
    std::fs::set_permissions(folder.path(), rights)?;
    Ok(folder)
}

/// Makes a file in the system's folder, which is gone with this value.
pub fn file(suffix: &str) -> io::Result<TemporaryFile> {
    file_within(&std::env::temp_dir(), OURS, suffix)
}

/// Makes a file in a folder, to be put in the place of another.
pub fn file_within(place: &Path, prefix: &str, suffix: &str) -> io::Result<TemporaryFile> {
    let rights = Permissions::from_mode(0o600);
    let file = Builder::new().prefix(prefix).suffix(suffix).permissions(rights.clone()).tempfile_in(place)?;
    file.as_file().set_permissions(rights)?;
    Ok(file)
}

/// Removes the folders of these kinds whose programs were killed. Blocks.
pub fn sweep(kinds: &[&str]) {
    let ours = nix::unistd::geteuid().as_raw();
    for entry in std::env::temp_dir().read_dir().into_iter().flatten().filter_map(Result::ok) {
        let name = entry.file_name();
        let is_of = |kind: &&str| {
            let rest = name.to_str().and_then(|name| name.strip_prefix(OURS)?.strip_prefix(kind)?.strip_prefix('-'));
            rest.is_some_and(|rest| !rest.is_empty() && rest.chars().all(char::is_alphanumeric))
        };
        if !kinds.iter().any(is_of) || !entry.metadata().is_ok_and(|facts| facts.is_dir() && facts.uid() == ours) {
            continue;
        }
        // One without the file is being made, or is none of this.
        let held = entry.path().join(HELD);
        let file =
            OpenOptions::new().write(true).custom_flags(nix::libc::O_NOFOLLOW | nix::libc::O_NONBLOCK).open(held);
        if file.is_ok_and(|file| file.metadata().is_ok_and(|facts| facts.is_file()) && file.try_lock().is_ok()) {
            let _ = remove_tree(&entry.path());
        }
    }
}

/// Removes a folder with all that is in it; one that is not there is removed already. Blocks.
///
/// # Errors
/// Returns the first reason for which something is still there.
pub fn remove_tree(path: &Path) -> io::Result<()> {
    let (Some(above), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let above = if above.as_os_str().is_empty() { Path::new(".") } else { above };
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let above = match openat(rustix::fs::CWD, above, flags, Mode::empty()) {
        Err(Errno::NOENT) => return Ok(()),
        opened => File::from(opened?),
    };
    let name = c_name(name)?;
    let root = match open(&above, &name) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        opened => opened?,
    };
    let mut going = Going { root, waiting: Vec::new(), count: 0, failure: None };
    going.empty(None);
    while let Some(name) = going.waiting.pop() {
        match open(&going.root, &name) {
            Ok(folder) => {
                going.empty(Some(&folder));
                let removed = unlinkat(&going.root, &name, AtFlags::REMOVEDIR);
                going.note(removed.map_err(Into::into));
            }
            Err(error) => going.note(Err(error)),
        }
    }
    let removed = unlinkat(&above, &name, AtFlags::REMOVEDIR).map_err(Into::into);
    going.failure.map_or(removed, Err)
}

fn c_name(name: &OsStr) -> io::Result<CString> {
    CString::new(name.as_bytes()).map_err(|_| io::ErrorKind::InvalidInput.into())
}

/// Opens a folder in another one, no link, if need be after taking the right to.
fn open(above: &File, name: &CStr) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = match openat(above, name, flags, Mode::empty()) {
        Err(Errno::ACCESS) => {
            take_rights(above, name)?;
            openat(above, name, flags, Mode::empty())
        }
        opened => opened,
    };
    let folder = File::from(opened?);
    // What is in it cannot go without these.
    let rights = folder.metadata()?.permissions().mode();
    if rights & 0o700 != 0o700 {
        let _ = folder.set_permissions(Permissions::from_mode(0o700));
    }
    Ok(folder)
}

fn take_rights(above: &File, name: &CStr) -> io::Result<()> {
    Ok(fchmodat(above, name, NixMode::S_IRWXU, FchmodatFlags::NoFollowSymlink)?)
}

/// A folder that is being emptied. Folders in it come up to it one by one, so that none is ever deep.
struct Going {
    root: File,
    /// Names of folders right in it that are not empty yet.
    waiting: Vec<CString>,
    count: usize,
    failure: Option<io::Error>,
}

impl Going {
    fn note(&mut self, done: io::Result<()>) {
        if let Err(error) = done {
            self.failure.get_or_insert(error);
        }
    }

    /// Removes the files of a folder, and takes its folders up; without one, it is the root.
    fn empty(&mut self, folder: Option<&File>) {
        let entries = Dir::read_from(folder.unwrap_or(&self.root)).and_then(|entries| {
            let names = entries.map(|entry| entry.map(|entry| entry.file_name().to_owned()));
            names.collect::<Result<Vec<CString>, Errno>>()
        });
        let names = match entries {
            Ok(names) => names,
            Err(error) => return self.note(Err(error.into())),
        };
        for name in names.into_iter().filter(|name| !matches!(name.to_bytes(), b"." | b"..")) {
            match (unlinkat(folder.unwrap_or(&self.root), &name, AtFlags::empty()), folder) {
                (Ok(()) | Err(Errno::NOENT), _) => {}
                (Err(Errno::ISDIR | Errno::PERM | Errno::ACCESS), None) => self.waiting.push(name),
                (Err(Errno::ISDIR | Errno::PERM | Errno::ACCESS), Some(folder)) => self.take_up(folder, &name),
                (Err(error), _) => self.note(Err(error.into())),
            }
        }
    }

    /// Moves a folder right below the root.
    fn take_up(&mut self, folder: &File, name: &CStr) {
        for _ in 0..NAME_TRIES {
            self.count += 1;
            let Ok(new) = CString::new(format!("{GOING}{}", self.count)) else { return };
            let moved = match renameat(folder, name, &self.root, &new) {
                Err(Errno::ACCESS) if take_rights(folder, name).is_ok() => renameat(folder, name, &self.root, &new),
                moved => moved,
            };
            match moved {
                Ok(()) => return self.waiting.push(new),
                Err(Errno::NOTEMPTY | Errno::EXIST | Errno::NOTDIR | Errno::ISDIR) => {}
                Err(error) => return self.note(Err(error.into())),
            }
        }
        self.note(Err(io::ErrorKind::AlreadyExists.into()));
    }
}
