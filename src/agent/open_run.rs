//! The last run of an agent as its log leaves it: over, or broken off in the middle.
//!
//! Pure. Owns what a run that broke off came to, as far as its log knows, and the events that its log lacks. Invariant: of
//! a run that has ended nothing is said.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::{AgentEvent, Author, EventKind, FileTally, LastWords, Outcome, Spent, Status, ToolEvent, TurnEvent};
use crate::message::ToolCall;

/// Why a run has no end in its log.
const BROKE_OFF: &str = "Interrupted: Belvedere ended before this run did.";

/// The last run of an agent, folded from its events.
#[derive(Debug, Clone, Default)]
pub struct LastRun {
    open: Option<OpenRun>,
    /// How often it was begun.
    pub runs: u32,
    /// What came of the last run that ended.
    pub outcome: Option<Outcome>,
}

#[derive(Debug, Clone)]
struct OpenRun {
    since: Timestamp,
    last: Timestamp,
    text: String,
    turns: u32,
    spent: Spent,
    pending: Vec<ToolCall>,
    tool_calls: u32,
    tools_run: BTreeMap<String, u32>,
    files: FileTally,
}

impl OpenRun {
    fn since(at: Timestamp) -> Self {
        Self {
            since: at,
            last: at,
            text: String::new(),
            turns: 0,
            spent: Spent::default(),
            pending: Vec::new(),
            tool_calls: 0,
            tools_run: BTreeMap::new(),
            files: FileTally::default(),
        }
    }

    fn apply(&mut self, event: &AgentEvent) {
        self.last = event.at;
        match &event.kind {
            EventKind::Turn(TurnEvent::Started { turn }) => self.turns = *turn,
            EventKind::Turn(TurnEvent::Ended { message, .. }) => {
                self.spent.apply(&event.kind);
                let text = message.text();
                if !text.trim().is_empty() {
                    self.text = text;
                }
            }
            EventKind::Tool(ToolEvent::Started { call, .. }) => {
                self.tool_calls += 1;
                self.pending.push(call.clone());
            }
            EventKind::Tool(ToolEvent::Ended { result, changes, .. }) => {
                if let Some(at) = self.pending.iter().position(|call| call.id == result.call_id) {
                    let call = self.pending.remove(at);
                    *self.tools_run.entry(call.name).or_default() += 1;
                }
                for change in changes {
                    self.files.add(change);
                }
            }
            _ => {}
        }
    }
}

impl LastRun {
    /// Takes in the next event of the agent.
    pub fn apply(&mut self, event: &AgentEvent) {
        let begins = match &event.kind {
            EventKind::Spawned(_) => {
                self.runs = self.runs.max(1);
                true
            }
            EventKind::Resumed { run, .. } => {
                self.runs = self.runs.max(*run);
                true
            }
            // The main agent has no other beginning.
            EventKind::UserMessage { by: Author::User, .. } => event.agent.is_main() && self.open.is_none(),
            EventKind::Started => self.open.is_none(),
            _ => false,
        };
        if begins {
            self.open = Some(OpenRun::since(event.at));
        }
        if let EventKind::Ended { outcome } = &event.kind {
            self.open = None;
            self.outcome = Some(outcome.clone());
        } else if let Some(open) = &mut self.open {
            open.apply(event);
        }
    }

    /// Returns `true` if the log has no end for it.
    pub fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Returns the calls that the log has no result for.
    pub fn pending(&self) -> &[ToolCall] {
        self.open.as_ref().map_or(&[], |open| &open.pending)
    }

    /// Returns what came of the run, also if it broke off.
    pub fn result(&self) -> Option<Outcome> {
        self.interrupted().or_else(|| self.outcome.clone())
    }

    /// Returns what the run came to if it broke off.
    pub fn interrupted(&self) -> Option<Outcome> {
        let open = self.open.as_ref()?;
        Some(Outcome {
            status: Status::Interrupted,
            text: open.text.clone(),
            words: LastWords::Partial,
            reason: Some(BROKE_OFF.to_owned()),
            turns: open.turns,
            tool_calls: open.tool_calls,
            usage: open.spent.usage,
            cost_usd: open.spent.cost_usd,
            elapsed_ms: u64::try_from(open.last.duration_since(open.since).as_millis()).unwrap_or(0),
            tools_run: open.tools_run.clone(),
            files: open.files.clone(),
            doubt: None,
        })
    }
}
