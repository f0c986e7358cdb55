//! The runs of one agent: where one ends, where the next begins, what they took together, and who speaks to it.
//!
//! Owns the sums over runs and the cells that mark their borders. Leaves what happens within a run to `agent_view`.
//! Invariants: a run has exactly one report; only a run with a greater number than the present one begins, so that an
//! event that comes late or twice brings nobody back to life; counts go on and never fall.

use std::time::{Duration, Instant};

use jiff::Timestamp;

use super::AgentView;
use crate::agent::{Author, EventKind, Outcome, RunMode, Spent, shown_of_program};
use crate::app::cells::{Cell, CellId, CellKind, ToolState};
use crate::app::report::{TagReader, ending_note};
use crate::app::state::Phase;
use crate::message::{report_markdown, sanitize, sanitize_line};

/// What the runs before the present one came to.
#[derive(Debug, Clone, Default)]
pub(super) struct PreviousRuns {
    elapsed: Duration,
    tools: u32,
    /// What came of the last of them.
    outcome: Option<Outcome>,
}

impl AgentView {
    /// Returns how long it has worked, in all of its runs together; the time in between is none of it.
    pub fn elapsed(&self, now: Instant) -> Duration {
        let present = match (&self.outcome, self.started) {
            (Some(outcome), _) if !self.is_active() => outcome.elapsed(),
            (_, Some(started)) => now.saturating_duration_since(started),
            _ => Duration::ZERO,
        };
        self.previous.elapsed + present
    }

    /// Returns `true` if it has ever worked, or will have when it goes on.
    pub fn has_begun(&self) -> bool {
        self.started.is_some() || self.run > 1
    }

    /// Returns the tool calls begun in the present run, to which limits apply.
    pub fn tools_of_run(&self) -> u32 {
        self.tools.saturating_sub(self.previous.tools)
    }

    /// Returns what came of its last run that has ended.
    pub fn last_outcome(&self) -> Option<&Outcome> {
        self.outcome.as_ref().or(self.previous.outcome.as_ref())
    }

    /// Returns `true` if an event begins a run after the present one.
    pub(in crate::app) fn is_later_run(&self, kind: &EventKind) -> bool {
        matches!(kind, EventKind::Resumed { run, .. } if *run > self.run && !self.id.is_main())
    }

    /// Takes in that it goes on with its transcript: the number of the run, and whether its parent waits.
    pub(super) fn resumed(&mut self, (run, run_mode): (u32, RunMode), at: Timestamp, now: Instant) {
        self.cut_off_calls();
        self.turn.clear();
        self.tags = TagReader::default();
        self.previous = PreviousRuns {
            elapsed: self.elapsed(now),
            tools: self.tools,
            outcome: self.outcome.take().or_else(|| self.previous.outcome.take()),
        };
        self.cells.push(CellKind::Resumed { run, at });
        (self.run, self.run_mode) = (run, run_mode);
        self.last_turn = None;
        self.started = None;
        self.spent_before = self.spent;
        self.turns = 0;
        // A run that was being stopped is over all the same.
        (self.phase, self.since) = (Phase::Queued, now);
    }

    /// Takes in a message, as its author wants it to be read.
    pub(super) fn receive(&mut self, text: &str, by: &Author) {
        // What a subagent receives before it starts is its task, which `p` shows.
        if !self.id.is_main() && !self.has_begun() {
            return;
        }
        self.cells.push(match by {
            Author::User => CellKind::User { text: sanitize(text).into_owned() },
            Author::Parent => CellKind::FromParent { to: self.id, text: sanitize(text).into_owned() },
            Author::Program => CellKind::Notice { text: sanitize_line(shown_of_program(text)).into_owned() },
            Author::Subagents(agents) => CellKind::Reports { of: agents.clone() },
        });
    }

    /// Takes back the last messages of the user's, with all that followed them; all there is if more than is held. Returns
    /// where they began, and the first, if it is held.
    pub(in crate::app) fn rewind(&mut self, messages: usize) -> Option<(CellId, Option<String>)> {
        let first = self.cells.said_by_user().nth(messages.checked_sub(1)?);
        let said = first.map(|(_, said)| said.to_owned());
        let first = first.map_or(self.cells.first(), |(first, _)| first);
        for id in first..self.cells.end() {
            self.cells.change(id, |kind| *kind = CellKind::Void);
        }
        (self.context, self.filled) = (0, None);
        self.todos.clear();
        Some((first, said))
    }

    /// Takes in the end of a run.
    pub(super) fn ended(&mut self, outcome: &Outcome, now: Instant) {
        self.cut_off_calls();
        self.mark_cut(None);
        self.cut.clear();
        self.turn.clear();
        self.last_turn = None;
        let mut outcome = outcome.clone();
        outcome.text = sanitize(&outcome.text).into_owned();
        outcome.reason = outcome.reason.map(|reason| sanitize(&reason).into_owned());
        if self.id.is_main() {
            if let Some(kind) = ending_note(&outcome) {
                self.cells.push(kind);
            }
        } else {
            // What the run cost is counted once, by the outcome, in case events of turns were missed.
            let previous = &self.previous;
            let mut whole = self.spent_before;
            whole.add(&Spent::new(outcome.usage, outcome.cost_usd));
            if whole.usage.total() >= self.spent.usage.total() {
                self.spent = whole;
            }
            self.tools = self.tools.max(previous.tools.saturating_add(outcome.tool_calls));
            self.turns = self.turns.max(outcome.turns);
            self.report_cell(&outcome);
        }
        self.enter(Phase::Ended(outcome.status), now);
        self.outcome = Some(outcome);
    }

    /// Shows calls in flight as what they are once nobody waits for them.
    fn cut_off_calls(&mut self) {
        for (_, cell) in std::mem::take(&mut self.running) {
            let is_tool = self.cells.get(cell).is_some_and(|cell| matches!(cell.kind, CellKind::Tool(_)));
            if is_tool {
                self.cells.change(cell, |kind| {
                    if let CellKind::Tool(tool) = kind {
                        tool.state = ToolState::CutOff;
                        tool.tail = String::new();
                    }
                });
            }
        }
    }

    /// Puts the report in place of the last text, which it usually is. What an agent said in an earlier step, before it was
    /// cut off, is not shown again as its last words.
    fn report_cell(&mut self, outcome: &Outcome) {
        let shown = self.shown(&outcome.text);
        let is_it = |cell: &Cell| matches!(&cell.kind, CellKind::Text { text } if text.trim() == shown);
        let last = self.cells.iter().next_back().filter(|(_, cell)| is_it(cell));
        let mut text = report_markdown(&outcome.text);
        if let Some(reason) = outcome.reason.as_ref().filter(|_| !outcome.status.is_complete()) {
            let is_above = last.is_none() && self.last_text().is_some_and(|text| text.trim() == shown);
            if is_above {
                text.clear();
            }
            let gap = if text.is_empty() { "" } else { "\n\n" };
            text = format!("{text}{gap}*{reason}*");
        }
        if text.is_empty() {
            "*no report*".clone_into(&mut text);
        }
        match last.map(|(id, _)| id) {
            Some(id) => self.cells.change(id, |kind| *kind = CellKind::Report { text }),
            None => {
                self.cells.push(CellKind::Report { text });
            }
        }
    }
}
