//! Which files an agent has read, and in what state.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

/// What an agent knows of files: it may only overwrite what it has read and what has not changed since.
#[derive(Debug, Default)]
pub struct Freshness(Mutex<HashMap<PathBuf, Stamp>>);

/// State of a file when it was last read or written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    /// Size in bytes.
    pub len: u64,
    /// Time of the last change.
    pub modified: Option<SystemTime>,
}

impl Stamp {
    /// Takes the stamp from a file's metadata.
    #[must_use]
    pub fn of(metadata: &std::fs::Metadata) -> Self {
        Self { len: metadata.len(), modified: metadata.modified().ok() }
    }
}

/// Whether an agent knows a file's present content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Knowledge {
    /// It never read the file.
    Unread,
    /// The file changed since it was read.
    Stale,
    /// The file is as it was read.
    Fresh,
}

impl Freshness {
    /// Notes that the agent has seen the file in this state.
    pub fn note(&self, path: &Path, stamp: Stamp) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(path.to_path_buf(), stamp);
    }

    /// Compares the file's present state with the one the agent saw.
    #[must_use]
    pub fn knowledge(&self, path: &Path, now: Stamp) -> Knowledge {
        match self.0.lock().unwrap_or_else(PoisonError::into_inner).get(path) {
            None => Knowledge::Unread,
            Some(seen) if *seen == now => Knowledge::Fresh,
            Some(_) => Knowledge::Stale,
        }
    }
}
