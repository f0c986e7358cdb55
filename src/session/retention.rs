//! How long sessions are kept.
//!
//! Owns which sessions go, and their removal. Invariants: a session that a program has open never goes, and neither does
//! the one that is named; the latest stay longest.

use std::fs::File;
use std::path::Path;
use std::time::{Duration, SystemTime};

use super::catalog::{SessionFolder, sessions};

/// How long, and how much; `None` is no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    pub age: Option<Duration>,
    /// Bytes of all sessions together.
    pub bytes: Option<u64>,
}

/// Removes the sessions that are too old, and the oldest ones while all together are too large. Blocks.
pub fn remove_old(state_dir: &Path, retention: &Retention, own: Option<&Path>) {
    let now = SystemTime::now();
    let sessions = sessions(state_dir, None);
    let is_past = |session: &SessionFolder, age| now.duration_since(session.changed).is_ok_and(|past| past > age);
    // Where even the latest is too old, the clock may be wrong. With the next session that is settled.
    let latest = sessions.iter().find(|session| !session.is_at(own));
    let age = retention.age.filter(|age| latest.is_some_and(|latest| !is_past(latest, *age)));
    let mut bytes = 0_u64;
    for session in sessions {
        let size = size_of(&session.dir);
        let is_old = age.is_some_and(|age| is_past(&session, age));
        let is_too_much = retention.bytes.is_some_and(|limit| bytes.saturating_add(size) > limit);
        let is_removed = (is_old || is_too_much) && !session.is_at(own) && remove(&session);
        if !is_removed {
            bytes = bytes.saturating_add(size);
        }
    }
}

/// Returns the bytes of the files of a session.
fn size_of(dir: &Path) -> u64 {
    let files = |dir: &Path| -> u64 {
        let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
        entries
            .filter_map(|entry| entry.metadata().ok())
            .filter(std::fs::Metadata::is_file)
            .map(|facts| facts.len())
            .sum()
    };
    ["", "reports", "files"].iter().map(|folder| files(&dir.join(folder))).sum()
}

/// Removes a session unless a program has it open.
fn remove(session: &SessionFolder) -> bool {
    // Held until it is gone, so that nobody opens it meanwhile.
    let Ok(folder) = File::open(&session.dir) else { return false };
    if folder.try_lock().is_err() {
        return false;
    }
    match std::fs::remove_dir_all(&session.dir) {
        Ok(()) => true,
        Err(error) => {
            tracing::warn!(dir = %session.dir.display(), "an old session cannot be removed: {error}");
            false
        }
    }
}
