//! From the log of a subagent back to its conversation.
//!
//! Pure. Owns which events make a transcript. Leaves reading the log to whoever makes the [`ReadBack`]. Invariants: what
//! comes out is valid, whatever the events are; a call whose result is missing counts as interrupted; of a log that is
//! whole it is, to the byte, what the agent's last run ended with.

use std::sync::Arc;

use futures::future::BoxFuture;

use crate::agent::{Author, EventKind, ToolEvent, TurnEvent};
use crate::message::{ToolResult, Transcript};
use crate::subagent::main_agent::rewind::Checkpoint;

/// Reads the log of the subagent of this name, which has ended so many times. `Err` says in a sentence why it cannot.
pub type ReadBack = Arc<dyn Fn(String, u32) -> BoxFuture<'static, Result<Vec<EventKind>, String>> + Send + Sync>;

/// Returns the conversation that an agent's events describe.
pub fn transcript_of(events: &[EventKind]) -> Transcript {
    with_checkpoints(events).0
}

/// Returns the conversation that an agent's events describe, and what it was before each message of the user.
pub fn with_checkpoints(events: &[EventKind]) -> (Transcript, Vec<Checkpoint>) {
    let mut transcript = Transcript::default();
    let mut checkpoints = Vec::new();
    let mut results: Vec<ToolResult> = Vec::new();
    // What a run begins with comes before its start.
    let mut opening = true;
    // The task of an agent whose program was killed before the task was noted as its first message.
    let mut task: Option<&str> = None;
    // The usage of a request that was sent again is not the size of the conversation.
    let mut retried = false;
    for event in events {
        match event {
            EventKind::Spawned(spawn) => task = Some(&spawn.prompt),
            EventKind::Resumed { .. } => {
                opening = true;
                if let Some(task) = task.take() {
                    transcript.push_user(task);
                }
            }
            EventKind::Ended { .. } => opening = true,
            EventKind::Started => opening = false,
            EventKind::Tool(ToolEvent::Ended { result, .. }) => results.push(result.clone()),
            EventKind::UserMessage { text, by, .. } => {
                task = None;
                transcript.push_results(std::mem::take(&mut results));
                if *by == Author::User {
                    checkpoints.push(Checkpoint::new(text, &transcript));
                }
                // It is read as it was written, all else with a word on where it comes from.
                let text = if std::mem::take(&mut opening) { text.clone() } else { by.model_text(text) };
                transcript.push_user(text);
            }
            EventKind::Turn(TurnEvent::Started { .. }) => retried = false,
            EventKind::Turn(TurnEvent::Retrying { .. }) => retried = true,
            EventKind::Turn(TurnEvent::Ended { message, usage, .. }) => {
                transcript.push_results(std::mem::take(&mut results));
                transcript.push_assistant(message.clone());
                let is_counted = usage.context() > 0 && !usage.estimated && !retried;
                transcript.set_counted(is_counted.then(|| usage.total()));
            }
            EventKind::Context(event) => {
                transcript.push_results(std::mem::take(&mut results));
                event.apply(&mut transcript);
            }
            _ => {}
        }
    }
    transcript.push_results(results);
    if let Some(task) = task {
        transcript.push_user(task);
    }
    transcript.interrupt_pending();
    (transcript, checkpoints)
}
