//! Since when commands in the sandbox have been able to write in which folders, and so which files may be their work.
//!
//! Owns that, and which files our own tools have written since. Leaves what comes of a file that may be a command's to
//! those that would obey it. Invariant: what cannot be told counts as a command's.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use super::SandboxPolicy;
use super::kept::PlaceStamp;

/// The traces that the commands of a session may have left. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct CommandTraces(Arc<RwLock<Traces>>);

#[derive(Debug, Default)]
struct Traces {
    folders: BTreeMap<PathBuf, Trace>,
    /// Files that our own tools have left like this.
    own: BTreeMap<PathBuf, PlaceStamp>,
}

/// What may have been written in a folder.
#[derive(Debug)]
struct Trace {
    /// When the first command began, in seconds and nanoseconds.
    since: (i64, i64),
    /// Where no command can leave anything: what is protected, and what is watched.
    kept: BTreeSet<PathBuf>,
    /// Where one could all the same.
    notes: BTreeSet<PathBuf>,
}

impl CommandTraces {
    /// Notes that a command is about to run that may write what its policy says.
    pub(super) fn begin(&self, policy: &SandboxPolicy) {
        let since = now();
        let kept = policy.protected.iter().chain(policy.vacant.iter().map(|(path, _)| path));
        let kept: BTreeSet<PathBuf> = kept.cloned().collect();
        let mut traces = self.0.write().unwrap_or_else(PoisonError::into_inner);
        for folder in &policy.writable {
            let is_in = |path: &&PathBuf| path.starts_with(folder);
            let kept: BTreeSet<PathBuf> = kept.iter().filter(is_in).cloned().collect();
            let notes: BTreeSet<PathBuf> = policy.notes.iter().filter(is_in).cloned().collect();
            match traces.folders.get_mut(folder) {
                // What one command could write, it may have written, whatever is kept from the next.
                Some(trace) => {
                    trace.kept.retain(|path| kept.contains(path));
                    trace.notes.extend(notes);
                }
                None => {
                    traces.folders.insert(folder.clone(), Trace { since, kept, notes });
                }
            }
        }
    }

    /// Notes how one of our own tools has left a file.
    pub(super) fn leave(&self, path: &Path, stamp: PlaceStamp) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).own.insert(path.to_path_buf(), stamp);
    }

    /// Returns `true` if a command may have written or moved this file, or made the link that is there. To be asked once
    /// it has been read: what is written later shows, too.
    #[must_use]
    pub fn may_be_of_command(&self, path: &Path) -> bool {
        let traces = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let could = |(folder, trace): (&PathBuf, &Trace)| {
            let is_in = |places: &BTreeSet<PathBuf>| places.iter().any(|place| path.starts_with(place));
            let is_open = path.starts_with(folder) && (!is_in(&trace.kept) || is_in(&trace.notes));
            is_open.then_some(trace.since)
        };
        let Some(since) = traces.folders.iter().filter_map(could).min() else { return false };
        path.symlink_metadata().map_or(true, |facts| {
            (facts.ctime(), facts.ctime_nsec()) >= since && traces.own.get(path) != Some(&PlaceStamp::of(&facts))
        })
    }
}

/// Returns the time that a file would get that is written now: file systems count in the kernel's ticks.
#[cfg(target_os = "linux")]
fn now() -> (i64, i64) {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::RealtimeCoarse);
    (now.tv_sec, now.tv_nsec)
}

#[cfg(not(target_os = "linux"))]
fn now() -> (i64, i64) {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    (i64::try_from(now.as_secs()).unwrap_or(i64::MAX), i64::from(now.subsec_nanos()))
}
