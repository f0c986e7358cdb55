//! The agent files of a session: read at its start, watched to its end.
//!
//! Owns who hears of changes. Leaves the reading and the watching to `definition`. Invariant: nothing is emitted when
//! nothing changed, so not for what the start found in order.

use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use tokio::time::timeout;

use super::worktrees::AbortOnDrop;
use crate::agent::{SessionEvent, Sink};
use crate::definition::{CatalogChanges, Library, Means, Watcher};

/// How long a session waits for its agent files.
const LOAD_TIMEOUT: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub(super) struct AgentFiles {
    _watcher: Watcher,
    _announcer: AbortOnDrop,
}

impl AgentFiles {
    /// Reads the files before it returns, so that the first request offers all agents. The watches are set later. Files
    /// that a slow disk brings after the session has begun are emitted as a change.
    pub(super) async fn read(library: &Arc<Library>, sink: &Sink) -> Self {
        let reader = Arc::clone(library);
        let reading = tokio::task::spawn_blocking(move || reader.reload());
        let mut errors = Vec::new();
        if timeout(LOAD_TIMEOUT, reading).await.is_ok() {
            // What was there before the session is no change. What is wrong with it has to be known.
            while let Some(found) = library.changes().now_or_never() {
                errors.extend(found.errors);
            }
        } else {
            tracing::warn!("reading the agent files timed out");
        }
        let watcher = Watcher::start(Arc::clone(library), Means::Events);
        let (library, sink) = (Arc::clone(library), sink.clone());
        let announcer = tokio::spawn(async move {
            let mut changes = CatalogChanges { errors, ..CatalogChanges::default() };
            loop {
                if !changes.is_empty() {
                    sink.emit_session(SessionEvent::AgentsChanged { changes }).await;
                }
                changes = library.changes().await;
            }
        });
        Self { _watcher: watcher, _announcer: AbortOnDrop(announcer) }
    }
}
