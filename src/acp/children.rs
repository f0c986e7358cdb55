//! A subagent as the call that started it shows it: what it does now, and its report at the end.
//!
//! Pure. Owns how much is shown, and how often that changes. Invariant: what is kept of one is bounded.

use std::path::PathBuf;

use jiff::{SignedDuration, Timestamp};

use super::schema::ToolCallId;
use crate::agent::{EventKind, Outcome, Spawn, ToolEvent, TurnEvent, WorktreeNews};
use crate::message::{sanitize, sanitize_line};

/// Bytes of the latest that it said and did.
const MAX_TAIL: usize = 2_000;
/// Bytes of a report that is shown.
const MAX_REPORT: usize = 32 << 10;
/// Smallest time between two updates of one subagent.
const INTERVAL: SignedDuration = SignedDuration::from_millis(300);

pub(super) struct Child {
    pub(super) name: String,
    /// The call that started it.
    pub(super) call: ToolCallId,
    /// The worktree that it works in.
    pub(super) worktree: Option<PathBuf>,
    heading: String,
    tail: String,
    /// When it was last told of.
    told: Option<Timestamp>,
    has_ended: bool,
}

impl Child {
    pub(super) fn new(spawn: &Spawn, call: ToolCallId) -> Self {
        let heading = format!("{} · {}", sanitize_line(&spawn.agent_type), sanitize_line(&spawn.model));
        Self {
            name: spawn.name.clone(),
            call,
            worktree: None,
            heading,
            tail: String::new(),
            told: None,
            has_ended: false,
        }
    }

    /// Takes in what happens to it. Returns `true` if it is time to tell of it.
    pub(super) fn apply(&mut self, kind: &EventKind, at: Timestamp) -> bool {
        match kind {
            EventKind::Turn(TurnEvent::Text { text }) => self.add(&sanitize(text)),
            EventKind::Turn(TurnEvent::Started { .. }) => self.add("\n"),
            EventKind::Tool(ToolEvent::Started { call, title }) => {
                self.add(&format!("\n- {} {}\n", call.name, sanitize_line(title)));
            }
            EventKind::Worktree { news: WorktreeNews::Made { path, branch } } => {
                self.worktree = Some(path.clone());
                self.add(&format!("\n- worktree {}\n", sanitize_line(branch)));
            }
            EventKind::Notice { text } => self.add(&format!("\n> {}\n", sanitize_line(text))),
            EventKind::Resumed { .. } => {
                self.has_ended = false;
                self.tail.clear();
            }
            _ => return false,
        }
        let is_news = !self.has_ended && !self.tail.trim().is_empty();
        let is_due = is_news && self.told.is_none_or(|told| at.duration_since(told) >= INTERVAL);
        if is_due {
            self.told = Some(at);
        }
        is_due
    }

    fn add(&mut self, text: &str) {
        self.tail.push_str(text);
        let mut from = self.tail.len().saturating_sub(MAX_TAIL);
        while !self.tail.is_char_boundary(from) {
            from += 1;
        }
        self.tail.drain(..from);
    }

    /// Returns what is shown of it while it works.
    pub(super) fn words(&self) -> String {
        format!("{}\n\n{}", self.heading, self.tail.trim()).trim_end().to_owned()
    }

    /// Notes its end, and returns what is shown of it from then on.
    pub(super) fn end(&mut self, outcome: &Outcome) -> String {
        self.has_ended = true;
        self.tail.clear();
        let state = outcome.status.word();
        let why = outcome.reason.as_deref().map(|why| format!(": {}", sanitize_line(why))).unwrap_or_default();
        let mut upto = outcome.text.len().min(MAX_REPORT);
        while !outcome.text.is_char_boundary(upto) {
            upto -= 1;
        }
        let cut = if upto < outcome.text.len() { " …" } else { "" };
        format!("{} · {state}{why}\n\n{}{cut}", self.heading, sanitize(&outcome.text[..upto])).trim_end().to_owned()
    }
}
