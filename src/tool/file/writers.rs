//! Who wrote which file last, and who may write it now: one register for all agents that share their files.
//!
//! Owns the order of writes and one gate for each file. Leaves what an agent has seen to `freshness` and the writing to
//! `change`. Invariants: every write gets a number of its own, so that a change is noticed however alike the two states
//! of the file are; a gate is held by one call at a time, and nobody waits at one while holding another.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::{Mutex as Gate, OwnedMutexGuard};
use tokio::time::{Instant, timeout};

use super::copies::FileCopies;
use super::path::{ResolvedPath, relative};
use crate::message::INTERRUPTED;
use crate::sandbox::PlaceWatch;
use crate::tool::blocking::off_thread;
use crate::tool::snapshot::ProjectStates;
use crate::tool::{Stamp, ToolContext, ToolOutput};

/// How long a call waits for another agent's write of the same file, which is a matter of milliseconds unless the file
/// system does not answer.
const LOCK_TIMEOUT: Duration = Duration::from_mins(2);

/// The writes of all agents that work on the same files. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct Writers {
    shared: Arc<Shared>,
    /// Where files are copied to before and after a write.
    pub(super) copies: FileCopies,
    /// Who moves aside what commands in the sandbox write where they may not.
    watch: PlaceWatch,
}

#[derive(Debug, Default)]
struct Shared {
    writes: Mutex<Writes>,
    gates: Mutex<HashMap<PathBuf, Weak<Gate<()>>>>,
}

#[derive(Debug, Default)]
struct Writes {
    count: u64,
    last: HashMap<PathBuf, Written>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    pub by: Arc<str>,
    pub tool: &'static str,
    pub at: Instant,
    /// Number of the write among all of the session, from 1.
    pub number: u64,
}

impl Writers {
    /// Returns a register that keeps copies of what is written.
    #[must_use]
    pub fn keeping(copies: FileCopies) -> Self {
        Self { copies, ..Self::default() }
    }

    /// Returns the states of the project that commands work in, if they are kept.
    pub(in crate::tool) fn states(&self) -> Option<&ProjectStates> {
        self.copies.states()
    }

    /// Returns where files are copied to.
    pub(in crate::tool) fn copies(&self) -> &FileCopies {
        &self.copies
    }

    /// Returns the same, of whose writes this watch is told.
    #[must_use]
    pub fn beside(mut self, watch: PlaceWatch) -> Self {
        self.watch = watch;
        self
    }

    /// Returns what commands in the sandbox see as the folder for temporary files, if that is not the system's.
    pub(super) fn tmp(&self) -> Option<&Path> {
        self.watch.tmp()
    }

    /// Writes this content to a file with nobody taking it for the work of a command.
    pub(super) fn write<E>(
        &self,
        path: &Path,
        content: &[u8],
        write: impl FnOnce(&[u8]) -> Result<Stamp, E>,
    ) -> Result<Stamp, E> {
        let writing = self.watch.writing(path);
        let stamp = write(content)?;
        writing.done(path, content);
        Ok(stamp)
    }

    /// Notes that an agent has written a file, and returns the number of the write.
    pub(super) fn note(&self, path: &Path, by: &Arc<str>, tool: &'static str) -> u64 {
        let mut writes = lock(&self.shared.writes);
        writes.count += 1;
        let number = writes.count;
        writes.last.insert(path.to_path_buf(), Written { by: by.clone(), tool, at: Instant::now(), number });
        number
    }

    /// Returns the last write of a file, if an agent wrote it.
    pub fn last(&self, path: &Path) -> Option<Written> {
        lock(&self.shared.writes).last.get(path).cloned()
    }

    /// Waits until nobody else writes the file. Nobody does until what is returned is dropped.
    async fn hold(&self, path: &Path) -> OwnedMutexGuard<()> {
        let gate = {
            let mut gates = lock(&self.shared.gates);
            gates.retain(|_, gate| gate.strong_count() > 0);
            gates.get(path).and_then(Weak::upgrade).unwrap_or_else(|| {
                let gate = Arc::default();
                gates.insert(path.to_path_buf(), Arc::downgrade(&gate));
                gate
            })
        };
        gate.lock_owned().await
    }
}

impl Written {
    /// Says with what and when, such as `Edit, 12 s ago`.
    pub(super) fn how(&self) -> String {
        let ago = self.at.elapsed().as_secs();
        let when = match ago {
            0 => "just now".to_owned(),
            1..120 => format!("{ago} s ago"),
            120..7_200 => format!("{} min ago", ago / 60),
            _ => format!("{} h ago", ago / 3_600),
        };
        format!("{}, {when}", self.tool)
    }
}

/// Does `work` off the threads that drive agents, as the only writer of the file: what it checks before it writes still
/// holds when it writes.
///
/// # Errors
/// Fails as `work` does, and if the call is cancelled, the path leads elsewhere by now or the file is not to be had.
pub(super) async fn as_only_writer<T, F>(path: ResolvedPath, context: &ToolContext, work: F) -> Result<T, ToolOutput>
where
    T: Send + 'static,
    F: FnOnce(&Path, &ToolContext) -> Result<T, ToolOutput> + Send + 'static,
{
    let hold = tokio::select! {
        biased;
        () = context.cancel.cancelled() => return Err(ToolOutput::error(INTERRUPTED)),
        hold = timeout(LOCK_TIMEOUT, context.freshness.writers.hold(path.place())) => hold,
    };
    let hold = hold.map_err(|_| {
        ToolOutput::error(format!(
            "Another agent has been writing {} for {} s. Do something else first, then read the file again.",
            relative(path.place(), &context.cwd),
            LOCK_TIMEOUT.as_secs()
        ))
    })?;
    off_thread(context, move |context| {
        // With the thread and not with the call: one that is given up on may still be about to write.
        let _hold = hold;
        work(path.confirmed(context)?, context)
    })
    .await
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
