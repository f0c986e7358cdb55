//! Taking back what agents have written to a file.
//!
//! Owns what comes of a row of changes to one file, and the rules for putting a version back. Leaves the copies to
//! `copies`, and which changes are meant to whoever asks. Invariant: only a file that is, to the byte, as an agent left
//! it is put back; whatever anybody else has written stays.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use tokio_util::sync::CancellationToken;

use super::change::MAX_BYTES;
use super::copies::{FileCopies, FileVersions};
use super::diff::diff_files;
use super::path::one_line;
use super::replace::{remove, replace};
use super::{FileError, look_at, open_regular};
use crate::message::FileDiff;
use crate::tool::{Stamp, Writers};

/// Characters of a path or a reason.
const MAX_WORDS: usize = 300;
const FOREIGN: &str = "something other than an agent's edit has changed it too";

/// One file that can be put back to what it was before some changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileRewind {
    pub path: PathBuf,
    /// What it becomes (`before`), and what it has to be now (`after`).
    versions: FileVersions,
}

/// What would come of putting one file back.
#[derive(Debug, Clone, PartialEq)]
pub enum FilePlan {
    /// It can be put back; this is what would change.
    Ready(FileRewind, FileDiff),
    /// It stays as it is, and why.
    Stays(PathBuf, String),
}

/// What agents have done to files since some moment, change by change.
#[derive(Debug, Default)]
pub struct ChangedFiles(BTreeMap<PathBuf, Changes>);

#[derive(Debug)]
enum Changes {
    /// From what to what, each change joined to the one before.
    Known(FileVersions),
    /// Something between them is not known.
    Broken(&'static str),
}

impl ChangedFiles {
    /// Takes in the next change of a file; `None` is one of which no copy was kept. Blocks while it compares copies.
    pub fn add(&mut self, path: &Path, versions: Option<FileVersions>, copies: &FileCopies) {
        let Some(versions) = versions else {
            self.0.insert(path.to_path_buf(), Changes::Broken("no copy of it was kept"));
            return;
        };
        let known = self
            .0
            .entry(path.to_path_buf())
            .or_insert(Changes::Known(FileVersions { before: versions.before, after: versions.before }));
        if let Changes::Known(before) = known {
            *known = if same(before.after, versions.before, copies) {
                Changes::Known(FileVersions { after: versions.after, ..*before })
            } else {
                Changes::Broken(FOREIGN)
            };
        }
    }

    /// Says what would come of putting each file back, in the order of their paths. Files that are already as they were
    /// are left out, and those whose folder is gone. Blocks.
    pub fn plan(self, copies: &FileCopies) -> Vec<FilePlan> {
        self.0.into_iter().filter_map(|(path, changes)| plan(path, &changes, copies)).collect()
    }
}

/// Returns `true` if two versions have the same content.
fn same(one: Option<u32>, other: Option<u32>, copies: &FileCopies) -> bool {
    one == other
        || one.zip(other).is_some_and(|(one, other)| match (copies.read(one), copies.read(other)) {
            (Ok(one), Ok(other)) => one == other,
            _ => false,
        })
}

fn plan(path: PathBuf, changes: &Changes, copies: &FileCopies) -> Option<FilePlan> {
    if !path.parent().is_some_and(Path::is_dir) {
        // Such as a worktree that is gone.
        return None;
    }
    let versions = match changes {
        Changes::Known(versions) if same(versions.before, versions.after, copies) => return None,
        Changes::Known(versions) => *versions,
        Changes::Broken(why) => return Some(FilePlan::Stays(path, (*why).to_owned())),
    };
    let rewind = FileRewind::new(path.clone(), versions);
    Some(match rewind.check(copies) {
        Ok(Checked { now, wanted, .. }) => {
            let text =
                |bytes: &Option<Vec<u8>>| String::from_utf8_lossy(bytes.as_deref().unwrap_or_default()).into_owned();
            FilePlan::Ready(rewind, diff_files(&path, &text(&now), &text(&wanted)))
        }
        Err(why) => FilePlan::Stays(path, why),
    })
}

/// A file that may be put back.
struct Checked {
    /// Its state; `None` if there is no file.
    stamp: Option<Stamp>,
    now: Option<Vec<u8>>,
    wanted: Option<Vec<u8>>,
}

impl FileRewind {
    /// Returns what takes a file from one version back to another.
    #[must_use]
    pub fn new(path: PathBuf, versions: FileVersions) -> Self {
        Self { path, versions }
    }

    /// Puts the file back, if it still is as an agent has left it. Returns the change, which can be taken back in turn.
    /// Blocks.
    ///
    /// # Errors
    /// Says why it stays as it is.
    pub fn put_back(&self, writers: &Writers) -> Result<FileVersions, String> {
        let Checked { stamp, wanted, .. } = self.check(&writers.copies)?;
        let shown = self.path.to_string_lossy();
        match (&wanted, stamp) {
            (Some(bytes), stamp) => {
                let write = |bytes: &[u8]| replace(&self.path, &shown, bytes, stamp, &CancellationToken::new());
                writers.write(&self.path, bytes, write).map_err(|error| words(&error))?;
            }
            (None, Some(stamp)) => remove(&self.path, &shown, stamp).map_err(|error| words(&error))?,
            (None, None) => {}
        }
        Ok(FileVersions { before: self.versions.after, after: self.versions.before })
    }

    /// Compares the file with what an agent has left there.
    fn check(&self, copies: &FileCopies) -> Result<Checked, String> {
        let copy = |number: Option<u32>| match number {
            Some(number) => copies.read(number).map(Some).map_err(|error| format!("its copy cannot be read: {error}")),
            None => Ok(None),
        };
        let (wanted, left) = (copy(self.versions.before)?, copy(self.versions.after)?);
        let shown = self.path.to_string_lossy();
        let (stamp, now) = match look_at(&self.path, &shown) {
            Err(FileError::Missing(_)) => (None, None),
            Err(error) => return Err(words(&error)),
            Ok(found) if found.nlink() > 1 => return Err(words(&FileError::Linked(shown.into_owned(), found.nlink()))),
            Ok(_) => {
                let (file, metadata) = open_regular(&self.path, &shown).map_err(|error| words(&error))?;
                let mut bytes = Vec::new();
                file.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
                (Some(Stamp::of(&metadata)), Some(bytes))
            }
        };
        match (&now, &left) {
            (None, Some(_)) => Err("it was deleted since".to_owned()),
            _ if now != left => Err(FOREIGN.to_owned()),
            _ => Ok(Checked { stamp, now, wanted }),
        }
    }
}

fn words(error: &FileError) -> String {
    one_line(&error.to_string(), MAX_WORDS)
}
