//! Taking back what agents and their commands have done to a file.
//!
//! Owns what comes of a row of changes to one file, and the rules for putting a version back. Leaves the copies to
//! `copies`, what commands have changed to `snapshot`, and which changes are meant to whoever asks. Invariant: only a
//! file that is, to the byte, as an agent or its command left it is put back; whatever anybody else has written stays.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use tokio_util::sync::CancellationToken;

use super::change::MAX_BYTES;
use super::copies::{FileCopies, FileVersions};
use super::diff::diff_files;
use super::path::one_line;
use super::replace::{create, link, remove, remove_folder, replace, set_runnable};
use super::{FileError, open_regular};
use crate::message::FileDiff;
use crate::nofollow;
use crate::tool::{CommandChange, Stamp, Writers};

/// Characters of a path or a reason.
const MAX_WORDS: usize = 300;
const FOREIGN: &str = "something other than an agent or its command has changed it too";
const RUNNABLE: u32 = 0o111;

/// One file that can be put back to what it was before some changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileRewind {
    pub path: PathBuf,
    /// What it becomes (`before`), and what it has to be now (`after`).
    versions: FileVersions,
    /// The topmost folder that was made for it, and goes with it if nothing else is in it.
    made: Option<PathBuf>,
}

/// What would come of putting one file back.
#[derive(Debug, Clone, PartialEq)]
pub enum FilePlan {
    /// It can be put back; this is what would change.
    Ready(FileRewind, FileDiff),
    /// It stays as it is, and why.
    Stays(PathBuf, String),
}

/// What agents and their commands have done to files since some moment, change by change.
#[derive(Debug, Default)]
pub struct ChangedFiles(BTreeMap<PathBuf, Changes>);

#[derive(Debug)]
struct Changes {
    /// From what to what, each change joined to the one before; or why that is not known.
    versions: Result<FileVersions, String>,
    made: Option<PathBuf>,
}

/// A file as a copy or the disk has it.
#[derive(Debug, PartialEq, Eq)]
enum FileState {
    Missing,
    File {
        bytes: Vec<u8>,
        /// Its rights. They make no other file of it.
        mode: u32,
    },
    /// A link, and where it leads.
    Link(Vec<u8>),
}

impl FileState {
    fn of_copy((number, is_link): (Option<u32>, bool), copies: &FileCopies) -> std::io::Result<Self> {
        let Some(number) = number else { return Ok(Self::Missing) };
        let (bytes, mode) = copies.open(number)?;
        Ok(if is_link { Self::Link(bytes) } else { Self::File { bytes, mode } })
    }

    /// Returns `true` if both hold the same.
    fn has_content_of(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::File { bytes: one, .. }, Self::File { bytes: two, .. }) => one == two,
            (one, two) => one == two,
        }
    }

    /// Returns `true` if both are the same for whoever reads or runs the file.
    fn is_as(&self, other: &Self) -> bool {
        self.has_content_of(other) && self.is_runnable() == other.is_runnable()
    }

    fn is_runnable(&self) -> Option<bool> {
        if let Self::File { mode, .. } = self { Some(mode & RUNNABLE != 0) } else { None }
    }

    /// Returns it as a difference shows it.
    fn text(&self) -> String {
        match self {
            Self::Missing => String::new(),
            Self::File { bytes, .. } => String::from_utf8_lossy(bytes).into_owned(),
            Self::Link(target) => format!("link to {}\n", String::from_utf8_lossy(target)),
        }
    }
}

fn before(versions: FileVersions) -> (Option<u32>, bool) {
    (versions.before, versions.links.0)
}

fn after(versions: FileVersions) -> (Option<u32>, bool) {
    (versions.after, versions.links.1)
}

impl ChangedFiles {
    /// Takes in the next change of a file; `None` is one of which no copy was kept. Blocks while it compares copies.
    pub fn add(&mut self, path: &Path, versions: Option<FileVersions>, copies: &FileCopies) {
        let Some(versions) = versions else {
            self.add_unkept(path, "no copy of it was kept");
            return;
        };
        let start = FileVersions { after: versions.before, links: (versions.links.0, versions.links.0), ..versions };
        let known = self.0.entry(path.to_path_buf()).or_insert_with(|| Changes { versions: Ok(start), made: None });
        if let Ok(earlier) = known.versions {
            known.versions = if same(after(earlier), before(versions), copies) {
                let links = (earlier.links.0, versions.links.1);
                Ok(FileVersions { after: versions.after, links, ..earlier })
            } else {
                Err(FOREIGN.to_owned())
            };
        }
    }

    /// Takes in what a command has done to a file.
    pub fn add_of_command(&mut self, change: &CommandChange, copies: &FileCopies) {
        let path = Path::new(&change.path);
        self.add(path, Some(change.versions), copies);
        if let (Some(changes), Some(made)) = (self.0.get_mut(path), &change.made) {
            changes.made.get_or_insert_with(|| PathBuf::from(made));
        }
    }

    /// Takes in a change of which nothing was kept, and why.
    pub fn add_unkept(&mut self, path: &Path, why: &str) {
        self.0.insert(path.to_path_buf(), Changes { versions: Err(why.to_owned()), made: None });
    }

    /// Says what would come of putting each file back, in the order of their paths. Files that are already as they were
    /// are left out, and those whose folder is gone. Blocks.
    pub fn plan(self, copies: &FileCopies) -> Vec<FilePlan> {
        self.0.into_iter().filter_map(|(path, changes)| plan(path, changes, copies)).collect()
    }
}

/// Returns `true` if two versions have the same content.
fn same(one: (Option<u32>, bool), other: (Option<u32>, bool), copies: &FileCopies) -> bool {
    one == other
        || match (FileState::of_copy(one, copies), FileState::of_copy(other, copies)) {
            (Ok(one), Ok(other)) => one.has_content_of(&other),
            _ => false,
        }
}

/// Returns `true` if a file is again what it was.
fn is_unchanged(versions: FileVersions, copies: &FileCopies) -> bool {
    before(versions) == after(versions)
        || match (FileState::of_copy(before(versions), copies), FileState::of_copy(after(versions), copies)) {
            (Ok(was), Ok(is)) => was.is_as(&is),
            _ => false,
        }
}

fn plan(path: PathBuf, changes: Changes, copies: &FileCopies) -> Option<FilePlan> {
    let versions = match changes.versions {
        Ok(versions) if is_unchanged(versions, copies) => return None,
        Ok(versions) => versions,
        Err(why) => return Some(FilePlan::Stays(path, why)),
    };
    if versions.after.is_some() && !path.parent().is_some_and(Path::is_dir) {
        // Such as a worktree that is gone.
        return None;
    }
    let rewind = FileRewind { path: path.clone(), versions, made: changes.made };
    match rewind.check(copies) {
        Ok(None) => None,
        Ok(Some(Checked { now, wanted, .. })) => {
            Some(FilePlan::Ready(rewind, diff_files(&path, &now.text(), &wanted.text())))
        }
        Err(why) => Some(FilePlan::Stays(path, why)),
    }
}

/// A file that may be put back.
struct Checked {
    /// Its facts; `None` if there is no regular file.
    stamp: Option<Stamp>,
    now: FileState,
    /// What an agent has left there.
    left: FileState,
    wanted: FileState,
}

impl FileRewind {
    /// Returns what takes a file from one version back to another.
    #[must_use]
    pub fn new(path: PathBuf, versions: FileVersions) -> Self {
        Self { path, versions, made: None }
    }

    /// Puts files back: what was made goes first, so that what it took the place of finds its own free. Returns for
    /// each the change, which can be taken back in turn, or why it stays as it is. Blocks.
    #[must_use]
    pub fn put_back_all(files: &[Self], writers: &Writers) -> Vec<(PathBuf, Result<FileVersions, String>)> {
        let (mut made, mut others): (Vec<&Self>, Vec<&Self>) =
            files.iter().partition(|file| file.versions.before.is_none());
        made.sort_by(|one, two| two.path.cmp(&one.path));
        others.sort_by(|one, two| one.path.cmp(&two.path));
        made.into_iter().chain(others).map(|file| (file.path.clone(), file.put_back(writers))).collect()
    }

    /// Puts the file back, if it still is as an agent has left it. Returns the change, which can be taken back in turn.
    /// Blocks.
    ///
    /// # Errors
    /// Says why it stays as it is.
    pub fn put_back(&self, writers: &Writers) -> Result<FileVersions, String> {
        let FileVersions { before, after, links } = self.versions;
        let done = FileVersions { before: after, after: before, links: (links.1, links.0) };
        let Some(Checked { stamp, now, left, wanted }) = self.check(&writers.copies)? else { return Ok(done) };
        let shown = &self.path.to_string_lossy();
        let error = |error: FileError| words(&error);
        let is_turned = |was: &FileState| matches!((was, &wanted), (FileState::Link(_), _) | (_, FileState::Link(_)));
        let stamp = match (&now, &wanted) {
            (FileState::Missing, _) => None,
            (now, FileState::Missing) => {
                remove(&self.path, shown, stamp, link_of(now)).map_err(error)?;
                None
            }
            (now, _) if is_turned(now) => {
                remove(&self.path, shown, stamp, link_of(now)).map_err(error)?;
                None
            }
            _ => stamp,
        };
        match &wanted {
            FileState::File { bytes, mode } => {
                let write = |bytes: &[u8]| match stamp {
                    None => create(&self.path, shown, bytes, *mode),
                    stamp => replace(&self.path, shown, bytes, stamp, &CancellationToken::new()),
                };
                if !now.has_content_of(&wanted) {
                    writers.write(&self.path, bytes, write).map_err(error)?;
                }
                if stamp.is_some() && left.is_runnable() != wanted.is_runnable() {
                    set_runnable(&self.path, shown, mode & RUNNABLE != 0).map_err(error)?;
                }
            }
            FileState::Link(target) => {
                link(&self.path, shown, &std::ffi::OsString::from_vec(target.clone())).map_err(error)?;
            }
            FileState::Missing => self.remove_made(),
        }
        Ok(done)
    }

    /// Removes the folders that were made for the file, as far as nothing is in them.
    fn remove_made(&self) {
        let Some(made) = &self.made else { return };
        let folders = self.path.ancestors().skip(1).take_while(|folder| folder.starts_with(made));
        for folder in folders {
            if remove_folder(folder).is_err() {
                return;
            }
        }
    }

    /// Compares the file with what an agent has left there. Returns nothing if it is as it was before that.
    fn check(&self, copies: &FileCopies) -> Result<Option<Checked>, String> {
        let copy =
            |version| FileState::of_copy(version, copies).map_err(|error| format!("its copy cannot be read: {error}"));
        let (wanted, left) = (copy(before(self.versions))?, copy(after(self.versions))?);
        let shown = self.path.to_string_lossy();
        let (stamp, now) = now(&self.path, &shown).map_err(|error| words(&error))?;
        match (&now, &left) {
            _ if now.is_as(&wanted) => Ok(None),
            (FileState::Missing, FileState::File { .. } | FileState::Link(_)) => Err("it was deleted since".to_owned()),
            _ if !now.has_content_of(&left) => Err(FOREIGN.to_owned()),
            _ => Ok(Some(Checked { stamp, now, left, wanted })),
        }
    }
}

/// Returns what lies at a path. A folder is no file: what was made in it may go before.
fn now(path: &Path, shown: &str) -> Result<(Option<Stamp>, FileState), FileError> {
    let facts = match nofollow::look(path) {
        Err(error) => {
            return match FileError::system(shown, error) {
                FileError::Missing(_) => Ok((None, FileState::Missing)),
                FileError::System(_, error) if error.kind() == std::io::ErrorKind::NotADirectory => {
                    Ok((None, FileState::Missing))
                }
                FileError::Turned(_) => link_at(path, shown),
                error => Err(error),
            };
        }
        Ok(facts) => facts,
    };
    if facts.is_dir() {
        return Ok((None, FileState::Missing));
    }
    if facts.is_file() && facts.nlink() > 1 {
        return Err(FileError::Linked(shown.to_owned(), facts.nlink()));
    }
    if facts.is_symlink() {
        return link_at(path, shown);
    }
    let (file, metadata) = open_regular(path, shown)?;
    let mut bytes = Vec::new();
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(|error| FileError::system(shown, error))?;
    Ok((Some(Stamp::of(&metadata)), FileState::File { bytes, mode: metadata.mode() & 0o777 }))
}

/// Returns the link at a path. Where another part of it is a link, or no folder, there is nothing: what took the folder's
/// place may go before.
fn link_at(path: &Path, shown: &str) -> Result<(Option<Stamp>, FileState), FileError> {
    let system = |error| FileError::system(shown, error);
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(FileError::Folder(shown.to_owned()));
    };
    let folder = match nofollow::open_folder(folder).map_err(system) {
        Err(FileError::Turned(_) | FileError::Missing(_)) => return Ok((None, FileState::Missing)),
        Err(FileError::System(_, error)) if error.kind() == std::io::ErrorKind::NotADirectory => {
            return Ok((None, FileState::Missing));
        }
        opened => opened?,
    };
    match rustix::fs::readlinkat(&folder, name, Vec::new()) {
        Ok(target) => Ok((None, FileState::Link(target.into_bytes()))),
        Err(_) => Err(FileError::Turned(shown.to_owned())),
    }
}

fn link_of(state: &FileState) -> Option<&[u8]> {
    if let FileState::Link(target) = state { Some(target) } else { None }
}

fn words(error: &FileError) -> String {
    one_line(&error.to_string(), MAX_WORDS)
}
