//! Walking folders: which entries count, and when to give up.
//!
//! Invariants: links are never followed, so no walk leaves its root or runs in a circle; every walk watches its cancel
//! token and a deadline.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use ignore::{DirEntry, WalkBuilder, WalkState};
use tokio_util::sync::CancellationToken;

use super::ignores::Sieve;
use crate::tool::ToolOutput;

const DEADLINE: Duration = Duration::from_secs(30);
/// Threads of one walk; several agents may walk at once.
const THREADS: usize = 4;

#[derive(Debug, Clone)]
pub(in crate::tool) struct Watch {
    cancel: CancellationToken,
    deadline: Instant,
}

impl Watch {
    pub(in crate::tool) fn new(cancel: &CancellationToken) -> Self {
        Self { cancel: cancel.clone(), deadline: Instant::now() + DEADLINE }
    }

    pub(in crate::tool) fn is_over(&self) -> bool {
        self.cancel.is_cancelled() || self.is_late()
    }

    pub(in crate::tool) fn is_late(&self) -> bool {
        Instant::now() >= self.deadline
    }
}

/// Words for a result that a deadline has cut short.
pub(in crate::tool) const LATE: &str = "[Search stopped after 30 s; the result is incomplete. Narrow it with path.]";

/// Returns a walk below `root` that leaves out what the sieve drops, with or without a repository, and shows hidden
/// files but not what is inside `.git`.
pub(in crate::tool) fn walk(root: &Path, sieve: &Arc<Sieve>) -> WalkBuilder {
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

/// Checks that the system lends so many threads. Some libraries have no words for it, but panic.
///
/// # Errors
/// Returns what the system says where it lends fewer.
pub fn check_threads(count: usize) -> io::Result<()> {
    let gate = Mutex::new(());
    let closed = gate.lock();
    std::thread::scope(|scope| {
        let wait = || drop(gate.lock());
        let started = (0..count).try_for_each(|_| std::thread::Builder::new().spawn_scoped(scope, wait).map(drop));
        drop(closed);
        started
    })
}

/// Checks that the system lends the threads of a walk.
pub(in crate::tool) fn check_walk_threads() -> Result<(), ToolOutput> {
    check_threads(THREADS).map_err(|error| {
        ToolOutput::error(format!(
            "Cannot start search threads: {error}. Too much is running at once; try again later."
        ))
    })
}

/// Looks at the entries of a walk on several threads, and returns what is found, in no order and up to `most`. Each
/// thread has a finder of its own. `unread` counts the places that cannot be looked into.
pub(in crate::tool) fn find_all<T: Send, F: FnMut(DirEntry) -> Option<T> + Send>(
    files: &WalkBuilder,
    watch: &Watch,
    most: usize,
    unread: &AtomicUsize,
    finder: impl Fn() -> F,
) -> Result<Vec<T>, ToolOutput> {
    check_walk_threads()?;
    let all = Mutex::new(Vec::new());
    files.build_parallel().run(|| {
        let (mut find, all) = (finder(), &all);
        Box::new(move |entry| {
            if watch.is_over() {
                return WalkState::Quit;
            }
            let Ok(entry) = entry else {
                unread.fetch_add(1, Ordering::Relaxed);
                return WalkState::Continue;
            };
            let Some(found) = find(entry) else { return WalkState::Continue };
            let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
            all.push(found);
            if all.len() < most { WalkState::Continue } else { WalkState::Quit }
        })
    });
    Ok(all.into_inner().unwrap_or_else(PoisonError::into_inner))
}

fn is_folder(entry: &DirEntry) -> bool {
    entry.file_type().is_some_and(|kind| kind.is_dir())
}

fn is_repository_folder(entry: &DirEntry) -> bool {
    entry.file_name() == ".git" && is_folder(entry)
}
