//! Moving aside what has appeared at places that were vacant.
//!
//! Owns the way of each thing to its new name. Leaves when to look to `watch`, and whose a thing is to `kept`. Invariants:
//! nothing is removed; everything is done relative to folders that were opened, as the commands that put things there may
//! still run and put links into their paths. Everything here blocks.

use std::ffi::{OsStr, OsString};
use std::fs::{File, Permissions};
use std::hash::{BuildHasher as _, RandomState};
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, linkat, renameat, symlinkat, unlinkat};
use rustix::io::Errno;

use super::{Intrusion, IntrusionFate};
use crate::nofollow::{in_folder, look_in, open_folder, put_file_in, rename_to_free};

/// Names tried for something that is moved.
const MAX_NAMES: usize = 16;
/// Stands between the name of a place and the number of what is moved from it.
const ASIDE: &str = ".blocked-";
/// Bytes of the name of a place in that of what is moved from it.
const MAX_PREFIX: usize = 200;

/// A place where nothing lay that could be protected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct VacantPlace {
    pub(super) path: PathBuf,
    /// The target of the link that lay there.
    pub(super) link: Option<PathBuf>,
    /// The folder below which all of this may be.
    pub(super) top: PathBuf,
}

impl VacantPlace {
    /// Returns `true` if a word of a command line is the path of it, of a folder above it, or of something below it, such as
    /// `git init` makes a `.git`.
    pub(super) fn is_named_in(&self, words: &[String]) -> bool {
        let inside = self.path.strip_prefix(&self.top).unwrap_or(&self.path);
        let is_init = words.iter().any(|word| word == "git") && words.iter().any(|word| word == "init");
        let is_path = |word: &String| {
            let word = Path::new(word);
            let word: PathBuf = word
                .strip_prefix(&self.top)
                .unwrap_or(word)
                .components()
                .filter(|part| *part != Component::CurDir)
                .collect();
            word.iter().next().is_some() && (inside.starts_with(&word) || word.starts_with(inside))
        };
        is_init && self.path.ends_with(".git") || words.iter().any(is_path)
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
            // It was taken away, or has another way to it by now.
            Err(error) if matches!(Errno::from_io_error(&error), Some(Errno::NOENT | Errno::LOOP | Errno::NOTDIR)) => {
                IntrusionFate::Gone
            }
            Err(_) => IntrusionFate::Stuck,
        };
        Intrusion { path, fate }
    }
}

/// Renames what lies at a path, which is a place or lies below it, to a new name beside the place, for which the file system
/// needs no more than a name. Returns its new path. Fails where a link leads to it now.
fn move_aside(path: &Path, place: &Path) -> io::Result<PathBuf> {
    let invalid = || io::Error::from(io::ErrorKind::InvalidInput);
    let (top, name) = (place.parent().ok_or_else(invalid)?, path.file_name().ok_or_else(invalid)?);
    let from = open_folder(path.parent().ok_or_else(invalid)?)?;
    look_in(&from, name)?;
    let to = open_folder(top)?;
    let prefix = place.file_name().ok_or_else(invalid)?;
    for aside in aside_names(prefix) {
        let renamed = match rename_to_free((&from, name), (&to, &aside)) {
            // Not every file system can ask for a free one; nobody can have guessed this one.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => renameat(&from, name, &to, &aside),
            // A folder that is moved to another one is written in itself, too.
            Err(Errno::ACCESS) => {
                for closed in [to.try_clone(), from.try_clone(), in_folder(&from, name)].into_iter().flatten() {
                    open_up(&closed)?;
                }
                rename_to_free((&from, name), (&to, &aside))
            }
            renamed => renamed,
        };
        match renamed {
            Ok(()) => return Ok(top.join(aside)),
            Err(Errno::EXIST | Errno::NOTEMPTY) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// Puts a file with this content in the place of one, which gets another name beside `place`. At no time is there none: a git
/// that works there meanwhile would begin with an empty one. Returns the new name.
pub(super) fn replace(path: &Path, place: &Path, (content, rights): (&[u8], u32)) -> io::Result<PathBuf> {
    let invalid = || io::Error::from(io::ErrorKind::InvalidInput);
    let (top, name) = (place.parent().ok_or_else(invalid)?, path.file_name().ok_or_else(invalid)?);
    let (folder, beside) = (open_folder(path.parent().ok_or_else(invalid)?)?, open_folder(top)?);
    let mut names = aside_names(place.file_name().ok_or_else(invalid)?);
    let (aside, new) = (names.next().ok_or_else(invalid)?, names.next().ok_or_else(invalid)?);
    put_file_in(&folder, &new, content, rights)?;
    let replaced =
        linkat(&folder, name, &beside, &aside, AtFlags::empty()).and_then(|()| renameat(&folder, &new, &folder, name));
    if let Err(error) = replaced {
        unlinkat(&folder, &new, AtFlags::empty())?;
        return Err(error.into());
    }
    Ok(top.join(aside))
}

/// Returns `true` for a name that something was given when it was moved aside: git and its like look for none such.
pub(super) fn is_aside(name: &OsStr) -> bool {
    let number = name.to_str().and_then(|name| name.rsplit_once(ASIDE));
    number.is_some_and(|(_, number)| number.len() == 8 && number.chars().all(|c| c.is_ascii_hexdigit()))
}

/// Returns names that nobody can have taken before.
fn aside_names(place: &OsStr) -> impl Iterator<Item = OsString> {
    let mut prefix = place.to_string_lossy().into_owned();
    while prefix.len() > MAX_PREFIX {
        prefix.pop();
    }
    (0..MAX_NAMES).map(move |_| format!("{prefix}{ASIDE}{:08x}", RandomState::new().hash_one(()) & 0xffff_ffff).into())
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
