//! Walking folders: which entries count, and when to give up.
//!
//! Invariants: links are never followed, so no walk leaves its root or runs in a circle; every walk watches its cancel
//! token and a deadline.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ignore::{DirEntry, WalkBuilder};
use tokio_util::sync::CancellationToken;

use super::ignores::Sieve;

/// How long a walk may take.
const DEADLINE: Duration = Duration::from_secs(30);
/// Threads of one walk; several agents may walk at once.
const THREADS: usize = 4;

/// Tells a walk when to stop.
#[derive(Debug, Clone)]
pub(super) struct Watch {
    cancel: CancellationToken,
    deadline: Instant,
}

impl Watch {
    /// Starts the clock.
    pub(super) fn new(cancel: &CancellationToken) -> Self {
        Self { cancel: cancel.clone(), deadline: Instant::now() + DEADLINE }
    }

    /// Tells whether the walk has to end.
    pub(super) fn is_over(&self) -> bool {
        self.cancel.is_cancelled() || self.is_late()
    }

    /// Tells whether time has run out.
    pub(super) fn is_late(&self) -> bool {
        Instant::now() >= self.deadline
    }
}

/// Words for a result that a deadline has cut short.
pub(super) const LATE: &str = "[The search was ended after 30 s; the result is not complete. Narrow it with path.]";

/// Returns a walk below `root` that leaves out what the sieve drops, with or without a repository, and shows hidden
/// files but not what is inside `.git`.
pub(super) fn walk(root: &Path, sieve: &Arc<Sieve>) -> WalkBuilder {
    let mut builder = WalkBuilder::new(root);
    let sieve = Arc::clone(sieve);
    builder
        .standard_filters(false)
        .follow_links(false)
        .threads(std::thread::available_parallelism().map_or(1, usize::from).min(THREADS))
        .filter_entry(move |entry| {
            entry.depth() == 0 || !is_repository_folder(entry) && !sieve.drops(entry.path(), is_folder(entry))
        });
    builder
}

fn is_folder(entry: &DirEntry) -> bool {
    entry.file_type().is_some_and(|kind| kind.is_dir())
}

fn is_repository_folder(entry: &DirEntry) -> bool {
    entry.file_name() == ".git" && is_folder(entry)
}
