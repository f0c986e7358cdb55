//! What one agent did when: thinking, in a tool, or waiting, as spans of time.
//!
//! Owns the fold of an agent's events into spans and counts. Leaves drawing to the formats. Invariants: spans are in
//! order and never overlap; the number of both is bounded, and what is joined for that stays even over time.

use std::collections::BTreeSet;

use crate::agent::{EventKind, Hold, Status, ToolEvent, TurnEvent};
use crate::message::Spent;

/// Spans, and counts, of one agent; beyond that, each two neighbors become one.
const MAX_SPANS: usize = 2_000;

/// What an agent does in a span of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ActivityKind {
    /// The model is at it.
    Thinking,
    Tool,
    /// For the user, for other agents, for the service.
    Waiting,
}

impl ActivityKind {
    pub const ALL: [Self; 3] = [Self::Thinking, Self::Tool, Self::Waiting];

    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Thinking => "thinking",
            Self::Tool => "tool",
            Self::Waiting => "waiting",
        }
    }
}

/// A stretch of time in which an agent did one thing. Times are milliseconds since the session began.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActivitySpan {
    pub kind: ActivityKind,
    pub from: u64,
    pub to: u64,
    /// What exactly, in words.
    pub label: String,
}

/// What an agent had come to at some time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CountsAt {
    pub at: u64,
    pub tools: u32,
    pub tokens: u64,
}

/// How a run ended, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunEnd {
    pub at: u64,
    pub status: Status,
}

/// What an agent did, as a fold over its events.
#[derive(Debug, Clone, Default)]
pub struct Activity {
    pub spans: Vec<ActivitySpan>,
    pub counts: Vec<CountsAt>,
    pub ends: Vec<RunEnd>,
    pub turns: u32,
    pub tools: u32,
    pub spent: Spent,
    open: Option<(ActivityKind, u64, String)>,
    is_queued: bool,
    is_running: bool,
    /// Why it waits, if it does.
    held: Option<&'static str>,
    /// Calls in flight, oldest first, with what to call them.
    calls: Vec<(String, String)>,
    /// Those of them that are subagents.
    delegated: BTreeSet<String>,
    /// Those of them that wait for the user.
    asked: BTreeSet<String>,
}

impl Activity {
    /// Returns `true` if it is at work, or about to be.
    pub fn is_open(&self) -> bool {
        self.is_running || self.is_queued
    }

    /// Takes in that a call is a subagent.
    pub(super) fn delegate(&mut self, call_id: &str, at: u64) {
        self.delegated.insert(call_id.to_owned());
        self.settle(at);
    }

    pub(super) fn apply(&mut self, kind: &EventKind, at: u64) {
        self.spent.apply(kind);
        match kind {
            EventKind::Spawned(_) | EventKind::Resumed { .. } => self.is_queued = true,
            EventKind::Started => (self.is_queued, self.is_running) = (false, true),
            EventKind::Held { wait_ms: Some(0), ahead: 0, .. } => self.held = None,
            EventKind::Held { why: Hold::RateLimit, .. } => self.held = Some("rate limited"),
            EventKind::Held { why: Hold::Budget, .. } => self.held = Some("waiting for budget"),
            EventKind::Turn(TurnEvent::Retrying { rate_limited, .. }) => {
                self.held = Some(if *rate_limited { "rate limited" } else { "retry" });
            }
            EventKind::Turn(TurnEvent::Started { .. }) => {
                self.turns += 1;
                self.held = None;
            }
            EventKind::Turn(TurnEvent::Ended { .. }) => {
                self.held = None;
                self.count(at);
            }
            EventKind::Tool(ToolEvent::Started { call, title }) => {
                self.tools += 1;
                self.calls.push((call.id.clone(), format!("{} {title}", call.name)));
                self.count(at);
            }
            EventKind::Tool(ToolEvent::Ended { result, .. }) => {
                self.calls.retain(|(id, _)| *id != result.call_id);
                self.delegated.remove(&result.call_id);
                self.asked.remove(&result.call_id);
            }
            EventKind::Tool(ToolEvent::ApprovalRequested { request }) => {
                self.asked.insert(request.id.call_id.clone());
            }
            EventKind::Tool(ToolEvent::ApprovalResolved { id, .. }) => {
                self.asked.remove(&id.call_id);
            }
            EventKind::Ended { outcome } => {
                (self.is_queued, self.is_running, self.held) = (false, false, None);
                self.calls.clear();
                self.asked.clear();
                self.delegated.clear();
                self.ends.push(RunEnd { at, status: outcome.status });
                self.count(at);
            }
            _ => {}
        }
        self.settle(at);
    }

    /// Ends what lasts, at the end of the session.
    pub(super) fn finish(&mut self, at: u64) {
        self.close(at);
    }

    fn count(&mut self, at: u64) {
        self.counts.push(CountsAt { at, tools: self.tools, tokens: self.spent.usage.total() });
        if self.counts.len() > MAX_SPANS {
            let mut number = 0;
            self.counts.retain(|_| {
                number += 1;
                number % 2 == 0
            });
        }
    }

    /// Returns what it does now; `None` while it rests.
    fn doing(&self) -> Option<(ActivityKind, &str)> {
        let is_own = |id: &str| !self.delegated.contains(id);
        let waits = |why| Some((ActivityKind::Waiting, why));
        if !self.asked.is_empty() {
            return waits("waiting for you");
        }
        if self.is_queued {
            return waits("queued");
        }
        if let Some((_, label)) = self.calls.iter().find(|(id, _)| is_own(id)) {
            return Some((ActivityKind::Tool, label));
        }
        match self.held {
            _ if !self.is_running => None,
            _ if !self.calls.is_empty() => waits("waiting for agents"),
            Some(why) => waits(why),
            None => Some((ActivityKind::Thinking, "thinking")),
        }
    }

    fn settle(&mut self, at: u64) {
        let does = self.doing().map(|(kind, label)| (kind, label.to_owned()));
        let same = match (&self.open, &does) {
            (Some((kind, _, label)), Some((now, name))) => kind == now && label == name,
            (None, None) => true,
            _ => false,
        };
        if !same {
            self.close(at);
            self.open = does.map(|(kind, label)| (kind, at, label));
        }
    }

    fn close(&mut self, at: u64) {
        let Some((kind, from, label)) = self.open.take() else { return };
        if from < at {
            self.spans.push(ActivitySpan { kind, from, to: at, label });
        }
        if self.spans.len() > MAX_SPANS {
            self.spans = join_neighbors(std::mem::take(&mut self.spans));
        }
    }
}

/// Makes one span of each two that follow each other without a gap. The longer one names both.
fn join_neighbors(spans: Vec<ActivitySpan>) -> Vec<ActivitySpan> {
    let mut joined: Vec<ActivitySpan> = Vec::with_capacity(spans.len() / 2 + 1);
    let mut is_joined = true;
    for span in spans {
        if let Some(last) = joined.last_mut().filter(|last| !is_joined && last.to == span.from) {
            let length = |span: &ActivitySpan| span.to - span.from;
            let (from, to) = (last.from, span.to);
            if length(&span) > length(last) {
                *last = span;
            }
            (last.from, last.to) = (from, to);
            is_joined = true;
        } else {
            joined.push(span);
            is_joined = false;
        }
    }
    // Spans with gaps between them cannot be joined; the oldest are forgotten.
    let excess = joined.len().saturating_sub(MAX_SPANS * 3 / 4);
    joined.drain(..excess);
    joined
}
