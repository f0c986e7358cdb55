//! The agent files, skills, commands and plugins of a session: read at its start, watched to its end.
//!
//! Owns who hears of changes of all but plugins. Leaves the reading and the watching to `definition`. Invariant: nothing
//! is emitted when nothing changed, so not for what the start found in order.

use std::time::Duration;

use futures::FutureExt as _;
use tokio::time::timeout;

use super::say;
use super::worktrees::AbortOnDrop;
use crate::agent::{SessionEvent, Sink};
use crate::definition::{CatalogChanges, Means, WatchedFiles, Watcher};
use crate::message::Diagnostic;

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
    pub(super) async fn read(files: WatchedFiles, sink: &Sink) -> Self {
        let WatchedFiles { library, skills, .. } = files.clone();
        let (reader, of_skills) = (library.clone(), skills.clone());
        let reading = tokio::task::spawn_blocking(move || {
            reader.reload();
            of_skills.reload();
        });
        let mut errors = Vec::new();
        if timeout(LOAD_TIMEOUT, reading).await.is_ok() {
            // What was there before the session is no change. What is wrong with it has to be known.
            while let Some(found) = library.changes().now_or_never() {
                errors.extend(found.errors);
            }
            // Those of skills are listed by /skills: there are many of them, and most of files that work all the same.
            let mut of_skills = Vec::new();
            while let Some(found) = skills.changes().now_or_never() {
                of_skills.extend(found.errors);
            }
            // What is given up because of a limit that cannot be told is said wherever the session is.
            let lost: Vec<Diagnostic> =
                errors.iter().chain(&of_skills).filter(|error| error.loses_guard).cloned().collect();
            say(&lost, sink).await;
            if !errors.is_empty() {
                let changes = CatalogChanges { errors, ..CatalogChanges::default() };
                sink.emit_session(SessionEvent::AgentsChanged { changes }).await;
            }
        } else {
            tracing::warn!("reading the agent files timed out");
        }
        let watcher = Watcher::start(files, Means::Events);
        let sink = sink.clone();
        let announcer = tokio::spawn(async move {
            loop {
                let event = tokio::select! {
                    changes = library.changes() => SessionEvent::AgentsChanged { changes },
                    changes = skills.changes() => SessionEvent::SkillsChanged { changes },
                };
                sink.emit_session(event).await;
            }
        });
        Self { _watcher: watcher, _announcer: AbortOnDrop(announcer) }
    }
}
