//! What the screen knows of one agent, as a fold over its events.
//!
//! Owns the life of an agent as shown (its phase, counts, tools in flight) and the filling of its cells; main agent
//! and subagents fold alike. Leaves who exists to `agents`, and where a run ends and another begins to `runs`.
//! Invariants: whatever comes in whatever order, folding does not panic; once a subagent has ended, no event changes it
//! but the beginning of a later run.

mod calls;
mod runs;

use std::time::{Duration, Instant};

use self::runs::PreviousRuns;
use super::cells::{Cell, CellId, CellKind, Cells, Siblings, ToolCell, ToolState};
use super::report::TagReader;
use super::state::{Awaited, Phase};
use crate::agent::{AgentEvent, Bounds, ContextUse, EventKind, Outcome, RunMode, Spawn, Spent, Status, TurnEvent};
use crate::definition::Isolation;
use crate::message::{AgentId, AssistantMessage, Block, sanitize, sanitize_line};
use crate::provider::retry::MAX_ATTEMPTS;
use crate::tool::Todo;

/// Bytes of text kept of one subagent; the rest is in the session log.
const CHILD_CAP: usize = 256 * 1024;
/// Bytes of text kept of a subagent while all of it is looked at.
const OPEN_CAP: usize = 8 * 1024 * 1024;
/// Bytes of text kept of the main conversation.
const MAIN_CAP: usize = 8 * 1024 * 1024;
/// Bytes kept of a running tool's output.
const TAIL_CAP: usize = 4 * 1024;

#[derive(Debug, Clone)]
pub struct AgentView {
    pub id: AgentId,
    pub parent: Option<AgentId>,
    /// The cell of the parent that stands for it.
    pub(in crate::app) anchor: Option<CellId>,
    /// Its name, such as `explore-1`.
    pub name: String,
    pub agent_type: String,
    pub color: Option<String>,
    /// The pane's title.
    pub description: String,
    pub prompt: String,
    pub model: String,
    /// The launcher that runs it somewhere else.
    pub launcher: Option<String>,
    pub tool_names: Vec<String>,
    pub bounds: Bounds,
    pub run_mode: RunMode,
    /// Number of its present or last run, from 1.
    pub run: u32,
    previous: PreviousRuns,
    /// The status that the run will end with, once its last turn is granted.
    pub last_turn: Option<Status>,
    pub phase: Phase,
    /// Since when the phase lasts.
    pub since: Instant,
    /// When its last event arrived.
    pub last_event: Instant,
    /// Whether the place where it works does not answer.
    pub is_out_of_touch: bool,
    /// When it began to work in the present run.
    pub started: Option<Instant>,
    pub turns: u32,
    pub tools: u32,
    /// Tokens and cost of all runs so far.
    pub spent: Spent,
    spent_before: Spent,
    /// Size of its last request.
    pub context: u64,
    /// What fills it.
    pub filled: Option<ContextUse>,
    pub cells: Cells,
    todos: Vec<Todo>,
    pub outcome: Option<Outcome>,
    pub worktree: Option<crate::app::WorktreeView>,
    /// Calls in flight with their cells, oldest first.
    running: Vec<(String, CellId)>,
    /// Commands of the user's own that run, with their cells.
    own_commands: Vec<(String, CellId)>,
    /// Cells of text and thought of the present turn.
    turn: Vec<CellId>,
    /// Cells of what replies to the present request had said before they broke off.
    cut: Vec<CellId>,
    /// Reads the tags of a subagent's report out of the present turn.
    /// The first cell that the present turn may have.
    turn_from: CellId,
    tags: TagReader,
}

/// Stands under a reply that the model did not end.
const CUT_OFF: &str = "cut off: the reply is incomplete";

impl AgentView {
    #[must_use]
    pub fn new(id: AgentId, now: Instant) -> Self {
        Self {
            id,
            parent: None,
            anchor: None,
            name: if id.is_main() { "main".to_owned() } else { format!("agent-{id}") },
            agent_type: String::new(),
            color: None,
            description: String::new(),
            prompt: String::new(),
            model: String::new(),
            launcher: None,
            tool_names: Vec::new(),
            bounds: Bounds::default(),
            run_mode: RunMode::default(),
            run: 1,
            previous: PreviousRuns::default(),
            last_turn: None,
            phase: if id.is_main() { Phase::Idle } else { Phase::Unknown },
            since: now,
            last_event: now,
            is_out_of_touch: false,
            started: None,
            turns: 0,
            tools: 0,
            spent: Spent::default(),
            spent_before: Spent::default(),
            context: 0,
            filled: None,
            cells: Cells::with_cap(if id.is_main() { MAIN_CAP } else { CHILD_CAP }),
            todos: Vec::new(),
            outcome: None,
            worktree: None,
            running: Vec::new(),
            own_commands: Vec::new(),
            turn: Vec::new(),
            turn_from: 0,
            cut: Vec::new(),
            tags: TagReader::default(),
        }
    }

    /// Returns `true` if nothing more will happen to it, unless it is resumed.
    pub fn has_ended(&self) -> bool {
        self.outcome.is_some() && !self.id.is_main()
    }

    /// Returns `true` if it is at work, or waits for its turn.
    pub fn is_active(&self) -> bool {
        !matches!(self.phase, Phase::Idle | Phase::Ended(_))
    }

    /// Returns its report: the last words, or why there are none.
    pub fn report(&self) -> Option<&str> {
        let outcome = self.outcome.as_ref()?;
        if outcome.text.trim().is_empty() { outcome.reason.as_deref() } else { Some(&outcome.text) }
    }

    pub fn todos(&self) -> &[Todo] {
        &self.todos
    }

    /// Returns the oldest call that runs, and since when.
    pub fn tool_in_flight(&self) -> Option<(&ToolCell, Instant)> {
        self.in_flight().find_map(|(_, kind)| match kind {
            CellKind::Tool(tool) => match tool.state {
                ToolState::Running { since } => Some((tool.as_ref(), since)),
                _ => None,
            },
            _ => None,
        })
    }

    /// Returns the tool of the oldest call that waits for an answer of the user.
    pub(in crate::app) fn asking_tool(&self) -> Option<&str> {
        self.in_flight().find_map(|(_, kind)| match kind {
            CellKind::Tool(tool) if tool.state == ToolState::Asking => Some(tool.name.as_str()),
            _ => None,
        })
    }

    /// Returns `true` if what it writes is its report.
    pub(in crate::app) fn is_reporting(&self) -> bool {
        self.tags.is_open()
    }

    /// Returns the cells of the calls in flight, oldest first.
    pub(in crate::app) fn in_flight(&self) -> impl Iterator<Item = (CellId, &CellKind)> {
        self.running.iter().filter_map(|(_, cell)| Some((*cell, &self.cells.get(*cell)?.kind)))
    }

    /// Returns `true` if only subagents it sent out keep it from going on.
    pub(in crate::app) fn waits_for_agents(&self) -> bool {
        !self.running.is_empty() && self.in_flight().all(|(_, kind)| matches!(kind, CellKind::Subagent { .. }))
    }

    /// Returns the oldest tool call that is kept, with its cell.
    pub(in crate::app) fn first_call(&self) -> Option<(CellId, String)> {
        self.cells.iter().find_map(|(id, cell)| match &cell.kind {
            CellKind::Tool(tool) if !tool.call_id.is_empty() => Some((id, tool.call_id.clone())),
            _ => None,
        })
    }

    /// Keeps more from now on: all of it is looked at.
    pub(in crate::app) fn hold_more(&mut self) {
        self.cells.set_cap(OPEN_CAP);
    }

    /// Keeps as much as ever.
    pub(in crate::app) fn hold_less(&mut self) {
        self.cells.set_cap(CHILD_CAP);
    }

    pub(in crate::app) fn spawned(&mut self, spawn: &Spawn, now: Instant) {
        self.parent = Some(spawn.parent);
        self.name = sanitize_line(&spawn.name).into_owned();
        self.agent_type = sanitize_line(&spawn.agent_type).into_owned();
        self.color.clone_from(&spawn.color);
        self.description = sanitize_line(&spawn.description).into_owned();
        self.prompt = sanitize(&spawn.prompt).into_owned();
        self.model = sanitize_line(&spawn.model).into_owned();
        self.launcher = spawn.options.isolation.as_ref().and_then(Isolation::launcher).map(str::to_owned);
        self.tool_names.clone_from(&spawn.tools);
        self.bounds.clone_from(&spawn.bounds);
        if self.run == 1 {
            self.run_mode = spawn.run_mode;
        }
        if self.phase == Phase::Unknown {
            self.enter(Phase::Queued, now);
        }
    }

    /// Takes in one event. Approvals and models are the business of others.
    pub(in crate::app) fn fold(&mut self, event: &AgentEvent, now: Instant) {
        let kind = &event.kind;
        if self.has_ended() && !self.is_later_run(kind) {
            return;
        }
        self.is_out_of_touch = *kind == EventKind::OutOfTouch;
        if self.is_out_of_touch {
            // It is no less silent for that.
            self.cells.push(CellKind::Notice { text: Awaited::Place.word() });
            return;
        }
        self.last_event = now;
        match kind {
            EventKind::Started => {
                self.started = Some(now);
                self.outcome = None;
                self.last_turn = None;
                self.enter(Phase::Starting, now);
            }
            EventKind::UserMessage { text, by, .. } => self.receive(text, by),
            EventKind::Resumed { run, run_mode } if self.is_later_run(kind) => {
                self.resumed((*run, *run_mode), event.at, now);
            }
            EventKind::Moved { run_mode } => self.run_mode = *run_mode,
            EventKind::LastTurn { why } => self.last_turn = Some(*why),
            EventKind::Turn(TurnEvent::Started { turn }) => {
                self.turns = *turn;
                self.turn.clear();
                self.turn_from = self.cells.end();
                self.cut.clear();
                self.tags = TagReader::default();
                self.enter(Phase::Thinking, now);
            }
            EventKind::Turn(TurnEvent::Reading { read, total }) => self.reading(*read, *total, now),
            EventKind::Turn(TurnEvent::Text { text }) => {
                let text = if self.id.is_main() { text.clone() } else { self.tags.push(text) };
                self.delta(&text, |text| CellKind::Text { text }, now);
            }
            EventKind::Turn(TurnEvent::Thinking { text }) => self.delta(text, |text| CellKind::Thinking { text }, now),
            EventKind::Turn(TurnEvent::Retrying { attempt, wait_ms, rate_limited, reason }) => {
                let last = (!rate_limited).then_some(MAX_ATTEMPTS);
                self.cut_off_turn((*attempt, last.filter(|last| attempt <= last)));
                let until = now + Duration::from_millis(*wait_ms);
                let reason = sanitize_line(reason).into_owned();
                let cell = self.cells.push(CellKind::Retry { attempt: *attempt, until, reason });
                self.turn.push(cell);
                self.enter(if *rate_limited { Phase::limited(until) } else { Phase::Retrying { until } }, now);
            }
            EventKind::Held { why, wait_ms, ahead } => self.held(*why, *wait_ms, *ahead, now),
            EventKind::Turn(TurnEvent::Ended { message, usage, stop, .. }) => {
                self.turn_ended(message);
                if stop.is_none() && message.content.iter().any(|block| matches!(block, Block::Text { .. })) {
                    self.cells.push(CellKind::Notice { text: CUT_OFF.to_owned() });
                }
                self.context = usage.context();
                self.spent.apply(kind);
            }
            EventKind::Tool(event) => self.tool_event(event, now),
            EventKind::Stopping { .. } => self.enter(Phase::Stopping, now),
            EventKind::Ended { outcome } => self.ended(outcome, now),
            EventKind::Notice { text } => {
                self.cells.push(CellKind::Notice { text: sanitize_line(text).into_owned() });
            }
            EventKind::Hook { ran } => drop(ran.notice().map(|text| self.cells.push(CellKind::Notice { text }))),
            EventKind::Worktree { news } => self.worktree_news(news, now),
            EventKind::Context(event) => self.context_event(event, now),
            EventKind::Aside { .. } => self.spent.apply(kind),
            EventKind::Command(event) => self.command_event(event, now),
            EventKind::Spawned(_)
            | EventKind::Resumed { .. }
            | EventKind::ExternalSession { .. }
            | EventKind::OutOfTouch
            | EventKind::Alive => {}
        }
    }

    /// Puts a subagent's line in place of the call that made it, and returns the line's cell.
    pub(in crate::app) fn child_spawned(&mut self, call_id: &str, agent: AgentId) -> CellId {
        let cell = self.running.iter().find(|(id, _)| id == call_id).map(|(_, cell)| *cell);
        let of_message = self.turn_from..self.cells.end();
        let mut cells = of_message.filter_map(|id| Some((id, self.cells.get(id)?)));
        let first = cells.find(|(_, cell)| matches!(cell.kind, CellKind::Subagent { .. })).map(|(id, _)| id);
        let siblings = if first.is_some() { Siblings::Before } else { Siblings::After(Vec::new()) };
        if let Some(first) = first {
            self.cells.change(first, |kind| {
                if let CellKind::Subagent { siblings: Siblings::After(others), .. } = kind {
                    others.push(agent);
                }
            });
        }
        match cell {
            Some(cell) => {
                self.cells.change(cell, |kind| *kind = CellKind::Subagent { agent, siblings });
                cell
            }
            None => self.cells.push(CellKind::Subagent { agent, siblings }),
        }
    }

    pub(in crate::app) fn enter(&mut self, phase: Phase, now: Instant) {
        if self.phase == Phase::Stopping && !matches!(phase, Phase::Ended(_)) && !self.id.is_main() {
            return;
        }
        if self.phase != phase {
            self.phase = phase;
            self.since = now;
        }
    }

    /// Appends to the cell of the same sort if it is the last one, else begins a new one.
    fn delta(&mut self, text: &str, cell: impl Fn(String) -> CellKind, now: Instant) {
        if text.is_empty() {
            return;
        }
        let text = sanitize(text);
        let wanted = std::mem::discriminant(&cell(String::new()));
        let last = self.cells.end().checked_sub(1).filter(|last| self.turn.last() == Some(last));
        let last =
            last.filter(|id| self.cells.get(*id).is_some_and(|cell| std::mem::discriminant(&cell.kind) == wanted));
        if let Some(id) = last {
            self.cells.append(id, &text);
        } else if !text.trim_start_matches('\n').is_empty() {
            let id = self.cells.push(cell(text.trim_start_matches('\n').to_owned()));
            self.turn.push(id);
        }
        let writes = matches!(cell(String::new()), CellKind::Text { .. });
        self.enter(if writes { Phase::Writing } else { Phase::Thinking }, now);
    }

    /// Returns a text of a reply as it is shown: cleaned, the tags of a subagent's report as headings.
    fn shown(&self, text: &str) -> String {
        let text = sanitize(text);
        let text = if self.id.is_main() { text.into_owned() } else { TagReader::whole(&text) };
        text.trim().to_owned()
    }

    /// Keeps what a reply had said before it broke off, until another one is complete.
    fn cut_off_turn(&mut self, again: (u32, Option<u32>)) {
        let has_said = self.turn.iter().any(|id| self.cells.get(*id).is_some_and(|cell| cell.said().is_some()));
        if has_said {
            self.forget_cut();
        }
        self.tags = TagReader::default();
        for id in std::mem::take(&mut self.turn) {
            let said = self.cells.get(id).and_then(Cell::said).filter(|said| !said.is_empty()).map(str::to_owned);
            if said.is_some() {
                self.cut.push(id);
            }
            self.cells.change(id, |kind| {
                *kind = said.map_or(CellKind::Void, |text| CellKind::CutOff { text, again: Some(again) });
            });
        }
        self.mark_cut(Some(again));
    }

    /// Takes back what a reply had said before it broke off: a whole one stands in its place.
    fn forget_cut(&mut self) {
        for id in std::mem::take(&mut self.cut) {
            self.cells.change(id, |kind| *kind = CellKind::Void);
        }
    }

    /// Says of what broke off whether it is asked for again.
    fn mark_cut(&mut self, attempt: Option<(u32, Option<u32>)>) {
        for id in &self.cut {
            self.cells.change(*id, |kind| {
                if let CellKind::CutOff { again, .. } = kind {
                    *again = attempt;
                }
            });
        }
    }

    /// Takes back that a request was sent again which is no turn.
    pub(in crate::app::agents) fn forget_retries(&mut self) {
        for cell in std::mem::take(&mut self.turn) {
            let is_retry = self.cells.get(cell).is_some_and(|cell| matches!(cell.kind, CellKind::Retry { .. }));
            if is_retry {
                self.cells.change(cell, |kind| *kind = CellKind::Void);
            }
        }
    }

    fn void_turn(&mut self) {
        self.tags = TagReader::default();
        for cell in std::mem::take(&mut self.turn) {
            self.cells.change(cell, |kind| *kind = CellKind::Void);
        }
    }

    /// Compares what arrived in pieces with the whole reply, and puts the whole in place where they differ.
    fn turn_ended(&mut self, message: &AssistantMessage) {
        self.forget_cut();
        let said: String = self.turn.iter().filter_map(|id| self.cells.get(*id)).filter_map(Cell::said).collect();
        let thought: String = self.turn.iter().filter_map(|id| self.cells.get(*id)).filter_map(Cell::thought).collect();
        let mut whole = (String::new(), String::new());
        for block in &message.content {
            match block {
                Block::Text { text } => whole.0.push_str(&self.shown(text)),
                Block::Thinking { text, .. } => whole.1.push_str(sanitize(text).trim()),
                _ => {}
            }
        }
        let same = whole == (said, thought);
        let retried = self
            .turn
            .iter()
            .any(|id| self.cells.get(*id).is_some_and(|cell| matches!(cell.kind, CellKind::Retry { .. })));
        if same && !retried {
            self.turn.clear();
            return;
        }
        if same {
            for id in std::mem::take(&mut self.turn) {
                self.cells.change(id, |kind| {
                    if matches!(kind, CellKind::Retry { .. }) {
                        *kind = CellKind::Void;
                    }
                });
            }
            return;
        }
        self.void_turn();
        for block in &message.content {
            match block {
                Block::Text { text } if !text.trim().is_empty() => {
                    self.cells.push(CellKind::Text { text: self.shown(text) });
                }
                Block::Thinking { text, .. } if !text.trim().is_empty() => {
                    self.cells.push(CellKind::Thinking { text: sanitize(text).trim().to_owned() });
                }
                _ => {}
            }
        }
    }

    pub fn last_text(&self) -> Option<&str> {
        self.cells.iter().rev().find_map(|(_, cell)| match &cell.kind {
            CellKind::Text { text } | CellKind::Report { text } => Some(text.as_str()),
            _ => None,
        })
    }
}

/// Returns how many lines of an output stand before its end that is shown.
fn lines_before(whole: &str, end: &str) -> usize {
    let at = whole.rfind(end.trim_end()).unwrap_or(0);
    whole[..at].lines().count()
}
