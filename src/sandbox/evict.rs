//! What has appeared at places that were vacant: finding it, and moving it aside.
//!
//! Owns the way of each thing to its new place. Leaves when to look, and whose a thing is, to `watch`. Invariants: nothing is
//! removed; everything is done relative to folders that were opened, as the commands that put things there may still run
//! and put links into their paths. Everything here blocks.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{File, Metadata, Permissions};
use std::hash::{BuildHasher as _, RandomState};
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Mode, mkdirat, renameat, symlinkat, unlinkat};
use rustix::io::Errno;

use super::{Intrusion, IntrusionFate};
use crate::nofollow::{in_folder, look_in, open_folder};

/// Names tried for the folder of something that is moved.
const MAX_NAMES: usize = 16;

/// A place where nothing lay that could be protected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct VacantPlace {
    pub(super) path: PathBuf,
    /// The target of the link that lay there.
    pub(super) link: Option<PathBuf>,
    /// The folder below which all of this may be.
    pub(super) top: PathBuf,
}

/// Something that is known not to come from a command in the sandbox, as it was when that was known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeptEntry {
    Folder {
        file: (u64, u64),
    },
    /// Anything else.
    File(PlaceStamp),
    /// A link that was taken away.
    Gone,
}

/// State of a file: its device and number, and the time of its last change of any kind, which no program can set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlaceStamp {
    pub file: (u64, u64),
    /// In seconds and nanoseconds.
    pub changed: (i64, i64),
}

impl PlaceStamp {
    pub(super) fn of(metadata: &Metadata) -> Self {
        Self { file: (metadata.dev(), metadata.ino()), changed: (metadata.ctime(), metadata.ctime_nsec()) }
    }
}

impl KeptEntry {
    pub(super) fn of(metadata: &Metadata) -> Self {
        let stamp = PlaceStamp::of(metadata);
        if metadata.is_dir() { Self::Folder { file: stamp.file } } else { Self::File(stamp) }
    }
}

/// What is known not to come from commands in the sandbox, by its path.
pub(super) type KeptEntries = BTreeMap<PathBuf, KeptEntry>;

impl VacantPlace {
    /// Returns what lies there and is not kept: all of the place, or entries below it.
    pub(super) fn strangers(&self, kept: &KeptEntries) -> Vec<PathBuf> {
        let found = self.path.symlink_metadata();
        match (&found, &self.link) {
            (Err(_), None) => return Vec::new(),
            (Err(_), Some(_)) if kept.get(&self.path) == Some(&KeptEntry::Gone) => return Vec::new(),
            (Ok(_), Some(target)) if self.path.read_link().ok().as_ref() == Some(target) => return Vec::new(),
            _ => {}
        }
        let mut strangers = Vec::new();
        match found {
            Ok(found) => add_strangers(&self.path, &found, kept, &mut strangers),
            Err(_) => strangers.push(self.path.clone()),
        }
        strangers
    }

    /// Returns `true` if a command line names it, such as `git init` does a `.git`.
    pub(super) fn is_named_in(&self, line: &str) -> bool {
        let name = self.path.file_name().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default();
        let stem = name.trim_start_matches('.').split('.').next().unwrap_or_default();
        !stem.is_empty() && line.to_lowercase().contains(stem)
    }

    /// Moves one of its strangers aside, so that no program obeys it, and puts a link back.
    pub(super) fn evict(&self, stranger: &Path) -> Intrusion {
        // A link to its folder has appeared with it, and would lead there again.
        let above = stranger.ancestors().skip(1).take_while(|part| part.starts_with(&self.top) && *part != self.top);
        let path = above.filter(|part| part.is_symlink()).last().unwrap_or(stranger).to_path_buf();
        let place = if self.path.starts_with(&path) { &path } else { &self.path };
        let moved = move_aside(&path, place);
        let is_back = self.link.as_ref().is_some_and(|target| put_back(&self.path, target).is_ok());
        let fate = match moved {
            Ok(to) => IntrusionFate::Moved(to),
            Err(_) if is_back => IntrusionFate::PutBack,
            Err(_) => IntrusionFate::Stuck,
        };
        Intrusion { path, fate }
    }
}

/// Adds what is not kept of what lies at a path. Of a folder in which something is kept, that is looked for below it.
fn add_strangers(path: &Path, found: &Metadata, kept: &KeptEntries, strangers: &mut Vec<PathBuf>) {
    let is_kept = kept.get(path) == Some(&KeptEntry::of(found));
    let holds_kept = || kept.keys().any(|entry| entry.starts_with(path) && entry != path);
    if !found.is_dir() || !is_kept && !holds_kept() {
        strangers.extend((!is_kept).then(|| path.to_path_buf()));
        return;
    }
    let Ok(entries) = path.read_dir() else {
        strangers.push(path.to_path_buf());
        return;
    };
    for entry in entries.filter_map(Result::ok) {
        if let Ok(found) = entry.path().symlink_metadata() {
            add_strangers(&entry.path(), &found, kept, strangers);
        }
    }
}

/// Renames what lies at a path, which is a place or lies below it, into a new folder beside the place. Returns its new
/// path. Fails where a link leads to it now.
fn move_aside(path: &Path, place: &Path) -> io::Result<PathBuf> {
    let invalid = || io::Error::from(io::ErrorKind::InvalidInput);
    let (top, name) = (place.parent().ok_or_else(invalid)?, path.file_name().ok_or_else(invalid)?);
    let from_folder = open_folder(path.parent().ok_or_else(invalid)?)?;
    look_in(&from_folder, name)?;
    let top_folder = open_folder(top)?;
    let prefix = place.file_name().ok_or_else(invalid)?;
    let (aside, mut folder) = new_folder(&top_folder, &prefix.to_string_lossy())?;
    let inside = path.parent().and_then(|above| above.strip_prefix(top).ok()).ok_or_else(invalid)?;
    let moved = inside
        .iter()
        .try_for_each(|part| {
            mkdirat(&folder, part, Mode::RWXU)?;
            folder = in_folder(&folder, part)?;
            io::Result::Ok(())
        })
        .and_then(|()| match renameat(&from_folder, name, &folder, name) {
            // A folder that is moved to another one is written in itself, too.
            Err(Errno::ACCESS) => {
                for closed in [Ok(from_folder.try_clone()?), in_folder(&from_folder, name)].into_iter().flatten() {
                    open_up(&closed)?;
                }
                Ok(renameat(&from_folder, name, &folder, name)?)
            }
            renamed => Ok(renamed?),
        });
    if let Err(error) = moved {
        // Nobody needs an empty one.
        let _ = unlinkat(&top_folder, &aside, AtFlags::REMOVEDIR);
        return Err(error);
    }
    Ok(top.join(aside).join(inside).join(name))
}

/// Makes a folder whose name nobody can have taken before.
fn new_folder(above: &File, prefix: &str) -> io::Result<(OsString, File)> {
    for _ in 0..MAX_NAMES {
        let name = OsString::from(format!("{prefix}.blocked-{:08x}", RandomState::new().hash_one(()) & 0xffff_ffff));
        match mkdirat(above, &name, Mode::RWXU) {
            Ok(()) => return in_folder(above, &name).map(|folder| (name, folder)),
            Err(Errno::EXIST) => {}
            Err(Errno::ACCESS) => open_up(above)?,
            Err(error) => return Err(error.into()),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// Lets its owner write in a folder that was opened.
fn open_up(folder: &File) -> io::Result<()> {
    let mode = folder.metadata()?.mode() & 0o7777;
    // By its descriptor, which is one to look only.
    std::fs::set_permissions(format!("/proc/self/fd/{}", folder.as_raw_fd()), Permissions::from_mode(mode | 0o300))
}

fn put_back(place: &Path, target: &Path) -> io::Result<()> {
    let invalid = || io::Error::from(io::ErrorKind::InvalidInput);
    let folder = open_folder(place.parent().ok_or_else(invalid)?)?;
    Ok(symlinkat(target, &folder, place.file_name().ok_or_else(invalid)?)?)
}
