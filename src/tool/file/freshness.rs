//! Which files an agent has read, and in what state.
//!
//! Owns what one agent has seen. Leaves what all of them have written to `writers`. Invariant: what counts as fresh is
//! what the agent saw last, unless the file's stamp has changed since or another agent has written it.

use std::collections::{BTreeSet, HashMap};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use crate::tool::{Writers, Written};

/// What an agent knows of files: it may only overwrite what it has read and what has not changed since.
#[derive(Debug)]
pub struct Freshness {
    /// By what name other agents hear of this one.
    name: Arc<str>,
    pub(in crate::tool) writers: Writers,
    seen: Mutex<HashMap<PathBuf, Seen>>,
    /// What was read or written since somebody asked for it.
    touched: Mutex<BTreeSet<PathBuf>>,
}

#[derive(Debug, Clone, Copy)]
struct Seen {
    stamp: Stamp,
    /// Number of the last write that had happened; 0 if no agent had written.
    write: u64,
}

/// State of a file when it was last read or written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    pub len: u64,
    /// Time of the last change of its content, as far as programs have not set it.
    pub modified: Option<SystemTime>,
    /// Time of the last change of any kind, in seconds and nanoseconds; no program can set it.
    pub changed: (i64, i64),
    /// Device and number: a file that was put in the place of another is another one.
    pub file: (u64, u64),
    /// Mode, owner, group and number of names.
    pub rights: (u32, u32, u32, u64),
}

impl Stamp {
    #[must_use]
    pub fn of(metadata: &std::fs::Metadata) -> Self {
        Self {
            len: metadata.len(),
            modified: metadata.modified().ok(),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
            file: (metadata.dev(), metadata.ino()),
            rights: (metadata.mode(), metadata.uid(), metadata.gid(), metadata.nlink()),
        }
    }

    /// Returns how many names the file has.
    #[must_use]
    pub fn names(&self) -> u64 {
        self.rights.3
    }

    /// Returns `true` if the file has the content that it had: a change of its rights alone is none.
    pub fn has_content_of(&self, other: &Self) -> bool {
        (self.len, self.modified, self.file) == (other.len, other.modified, other.file)
            && (self.changed == other.changed || self.rights != other.rights)
    }
}

/// Whether an agent knows a file's present content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Knowledge {
    /// It never read the file. Holds the last write, if that was another agent's.
    Unread(Option<Written>),
    /// The file changed since it was read. Holds the write, if it was another agent's; a command, the user and other
    /// programs leave none.
    Stale(Option<Written>),
    Fresh,
}

impl Default for Freshness {
    /// Returns the knowledge of an agent that shares its files with nobody.
    fn default() -> Self {
        Self::new("main", &Writers::default())
    }
}

impl Freshness {
    /// Returns the knowledge of an agent that has read nothing. `name` is how other agents hear of what it writes.
    #[must_use]
    pub fn new(name: &str, writers: &Writers) -> Self {
        Self { name: name.into(), writers: writers.clone(), seen: Mutex::default(), touched: Mutex::default() }
    }

    /// Returns the number of the file's last write by any agent, to be asked for before the file is opened.
    pub(in crate::tool) fn last_write(&self, path: &Path) -> u64 {
        self.writers.last(path).map_or(0, |written| written.number)
    }

    /// Notes that the agent has seen the file in this state, `write` being what [`Self::last_write`] said before.
    pub(in crate::tool) fn note_read(&self, path: &Path, stamp: Stamp, write: u64) {
        self.seen().insert(path.to_path_buf(), Seen { stamp, write });
        self.touch(path);
    }

    /// Notes that the agent has brought the file into this state.
    pub(in crate::tool) fn note_write(&self, path: &Path, stamp: Stamp, tool: &'static str) {
        let write = self.writers.note(path, &self.name, tool);
        self.seen().insert(path.to_path_buf(), Seen { stamp, write });
        self.touch(path);
    }

    /// Compares the file's present state with the one the agent saw.
    pub fn knowledge(&self, path: &Path, now: Stamp) -> Knowledge {
        let written = self.writers.last(path);
        let seen = self.seen().get(path).copied();
        let Some(seen) = seen else {
            return Knowledge::Unread(written.filter(|written| written.by != self.name));
        };
        match written {
            Some(written) if written.number != seen.write => Knowledge::Stale(Some(written)),
            _ if !seen.stamp.has_content_of(&now) => Knowledge::Stale(None),
            _ => Knowledge::Fresh,
        }
    }

    /// Returns the files that were read or written since this was asked last, by their resolved paths.
    pub fn take_touched(&self) -> BTreeSet<PathBuf> {
        std::mem::take(&mut *self.touched.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn touch(&self, path: &Path) {
        self.touched.lock().unwrap_or_else(PoisonError::into_inner).insert(path.to_path_buf());
    }

    fn seen(&self) -> MutexGuard<'_, HashMap<PathBuf, Seen>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
