//! Where worktrees lie, and whose they are: a folder for each session, with a lock that lives as long as its program.
//!
//! Owns names, the lock and the record of each worktree. Leaves git to the others. Invariants: nothing is on the disk
//! before the first worktree; everything here is for the user alone; a lock that is free means that its program is gone,
//! because the system frees it, whatever the end was. Everything here blocks.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::WorktreeError;
use crate::temporary::remove_tree;
use crate::whole_file::{FileRights, read_plain, replace_whole};

/// Most characters of a name; two of them and a branch's prefix stay well below what a file system takes.
const NAME_CHARS: usize = 40;
/// How many folders of one session are tried: its program may have been started twice.
const TRIES: usize = 100;
/// How long a lock is waited for: every program that we start holds ours for the moment before it becomes itself.
const LOCK_TRIES: u32 = 10;
const LOCK_PAUSE: Duration = Duration::from_millis(10);
const RECORD: &str = "json";
/// Bytes of a record that are read at most.
const MAX_RECORD: u64 = 16 << 20;
const LOCK: &str = "lock";

#[derive(Debug, Clone)]
pub(super) struct Claim {
    /// The folder, with symlinks resolved.
    pub(super) folder: PathBuf,
    _alive: Arc<File>,
}

/// What is kept of a worktree, so that another run of the program can go on with it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct WorktreeRecord {
    pub(super) repository: PathBuf,
    /// Working directory below the root.
    pub(super) inside: PathBuf,
    pub(super) branch: String,
    pub(super) base: String,
    /// What the branch in the project was last brought to, if that was not the base.
    #[serde(default)]
    pub(super) tip: Option<String>,
    /// git's folder for it; absent while it is being made.
    pub(super) git_dir: Option<PathBuf>,
}

impl WorktreeRecord {
    /// Returns the whole name of the branch.
    pub(super) fn reference(&self) -> String {
        format!("refs/heads/{}", self.branch)
    }
}

impl Claim {
    /// Makes and locks a folder for this session. Where another program holds it, one with a number is taken.
    pub(super) fn new(dir: &Path, session: &str) -> Result<Self, WorktreeError> {
        private_dir(dir).map_err(WorktreeError::disk(dir, "created"))?;
        let dir = dir.canonicalize().map_err(WorktreeError::disk(dir, "found"))?;
        let session = file_name(session, "session");
        for number in 1..=TRIES {
            let name = if number == 1 { session.clone() } else { format!("{session}-{number}") };
            if let Some(claim) = Self::held(&dir, &name)? {
                private_dir(&claim.folder).map_err(WorktreeError::disk(&claim.folder, "created"))?;
                return Ok(claim);
            }
        }
        Err(WorktreeError::Disk { path: dir.join(session), act: "locked", source: io::ErrorKind::ResourceBusy.into() })
    }

    /// Locks the folder of this name unless a program holds it.
    pub(super) fn held(dir: &Path, name: &str) -> Result<Option<Self>, WorktreeError> {
        let path = dir.join(format!("{name}.{LOCK}"));
        for _ in 0..TRIES {
            let mut options = OpenOptions::new();
            let file = options.write(true).create(true).truncate(false).mode(0o600).open(&path);
            let file = file.map_err(WorktreeError::disk(&path, "opened"))?;
            if !is_locked(&file).map_err(WorktreeError::disk(&path, "locked"))? {
                return Ok(None);
            }
            // Whoever cleaned up here may have removed the file after it was opened; then the lock tells nobody anything.
            if is_at(&file, &path) {
                return Ok(Some(Self { folder: dir.join(name), _alive: Arc::new(file) }));
            }
        }
        Ok(None)
    }

    /// Lists the sessions below `dir` by their locks.
    pub(super) fn sessions(dir: &Path) -> Vec<String> {
        names(dir, LOCK)
    }

    pub(super) fn worktrees(&self) -> Vec<String> {
        names(&self.folder, RECORD)
    }

    /// Returns the first free name that begins with this one.
    pub(super) fn free_name(&self, wish: &str, is_free: impl Fn(&str) -> bool) -> String {
        let wish = file_name(wish, "agent");
        let numbered = (2_usize..).map(|number| format!("{wish}-{number}"));
        let is_there =
            |name: &str| [self.record_of(name), self.root_of(name), self.clone_of(name)].iter().any(|at| at.exists());
        let is_free = |name: &String| !is_there(name) && is_free(name);
        std::iter::once(wish.clone()).chain(numbered).find(is_free).unwrap_or_default()
    }

    pub(super) fn root_of(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Returns the folder of git's for a worktree. No name of a worktree has a dot.
    pub(super) fn clone_of(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.git"))
    }

    /// Returns `true` if a worktree is linked to the repository of the project, as those of earlier versions are.
    pub(super) fn is_linked(&self, name: &str, record: &WorktreeRecord) -> bool {
        let clone = self.clone_of(name);
        record.git_dir.as_ref().map_or_else(|| !clone.exists(), |git_dir| *git_dir != clone)
    }

    /// Returns the index as it was when a worktree was made.
    pub(super) fn index_of(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.index"))
    }

    fn record_of(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.{RECORD}"))
    }

    /// Returns the session's part of a branch's name.
    pub(super) fn session(&self) -> String {
        self.folder.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// Keeps a record in the place of the one that was there.
    pub(super) fn keep(&self, name: &str, record: &WorktreeRecord) -> Result<(), WorktreeError> {
        let path = self.record_of(name);
        let json = serde_json::to_vec(record)
            .map_err(|_| WorktreeError::NotUnicode { path: record.repository.join(&record.inside) })?;
        replace_whole(&path, &json, FileRights::Private).map_err(WorktreeError::disk(&path, "written"))
    }

    pub(super) fn record(&self, name: &str) -> Result<WorktreeRecord, WorktreeError> {
        let path = self.record_of(name);
        let json = read_plain(&path, MAX_RECORD).map_err(WorktreeError::disk(&path, "read"))?;
        serde_json::from_slice(&json).map_err(|error| WorktreeError::disk(&path, "understood")(error.into()))
    }

    pub(super) fn forget(&self, name: &str) {
        // What stays leads to nothing, and is cleaned up at the next start.
        for path in [self.index_of(name), self.record_of(name)] {
            let _ = std::fs::remove_file(path);
        }
    }

    /// Removes the folder and its lock if no worktree is left in it. The folder of a session goes with its program's
    /// next start, since the lock has to stay as long as the program may make another worktree.
    pub(super) fn clear(&self) {
        if self.worktrees().is_empty() {
            let _ = std::fs::remove_dir_all(&self.folder);
            let _ = std::fs::remove_file(self.folder.with_extension(LOCK));
        }
    }
}

/// Makes a name for a folder and a part of a branch of a text that may hold anything.
pub(super) fn file_name(text: &str, otherwise: &str) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c.to_ascii_lowercase() } else { '-' };
    let name: String = text.trim().chars().take(NAME_CHARS).map(safe).collect();
    match name.trim_matches('-') {
        "" => otherwise.to_owned(),
        name => name.to_owned(),
    }
}

/// Removes a folder with all that is in it; one that is not there is removed already.
pub(super) fn remove_folder(path: &Path) -> Result<(), WorktreeError> {
    remove_tree(path).map_err(WorktreeError::disk(path, "removed"))
}

fn private_dir(dir: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(dir)
}

/// Locks a file unless another program holds it.
fn is_locked(file: &File) -> io::Result<bool> {
    for _ in 0..LOCK_TRIES {
        match file.try_lock() {
            Ok(()) => return Ok(true),
            Err(TryLockError::WouldBlock) => std::thread::sleep(LOCK_PAUSE),
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
    Ok(false)
}

fn is_at(file: &File, path: &Path) -> bool {
    let (Ok(open), Ok(there)) = (file.metadata(), std::fs::metadata(path)) else { return false };
    (open.dev(), open.ino()) == (there.dev(), there.ino())
}

/// Lists the files with this ending by what stands before it, in the order of their names.
fn names(dir: &Path, ending: &str) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(dir) else { return Vec::new() };
    let mut names: Vec<String> = entries
        .filter_map(|entry| {
            let name = entry.ok()?.file_name().into_string().ok()?;
            let stem = name.strip_suffix(ending)?.strip_suffix('.')?;
            // Our own names only: anything else would lead out of the folder, or was never ours.
            (file_name(stem, "") == stem || stem.len() > NAME_CHARS).then(|| stem.to_owned())
        })
        .collect();
    names.sort();
    names
}
