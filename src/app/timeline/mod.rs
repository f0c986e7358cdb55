//! The timeline: every agent as a bar over time, with a cursor.
//!
//! Owns what each agent did when, whether the view is open, its cursor and its zoom. Leaves a track's spans to `track`,
//! columns and rows to `window`, and drawing to the views. Invariants: looking at the past changes no agent; the view
//! follows the present while the cursor is at its right end, and stays put otherwise.

mod playback;
mod span_kind;
mod track;
mod window;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use ratatui::layout::Rect;

pub use playback::{Playback, PlaybackRequest, PlaybackSpeed};
pub(in crate::app) use playback::{is_allowed, is_harmless};
pub use track::{SLICES, Span, TOP_LEVEL, Track, TrackSeen};

pub use span_kind::{SpanFill, SpanKind, SpanTone};
pub use window::{TimelineRow, TimelineWindow};

use self::window::{DESCRIBED, Scale, WindowRequest, window};
use super::action::Action;
use super::agents::tree::AgentTree;
use super::cells::{CellId, CellKind, ToolState};
use super::outbox::Outbox;
use super::scroll::{Anchor, Scroll};
use super::state::Phase;
use super::{AgentState, AgentView, Agents};
use crate::message::AgentId;
use crate::message::columns::width;

/// Bytes kept of what a span was about.
const LABEL: usize = 120;
/// Deepest level of agents that is indented further.
const DEEPEST: u16 = 4;

/// What every agent did when, and the view of it.
#[derive(Debug, Clone, Default)]
pub(super) struct Timeline {
    tracks: BTreeMap<AgentId, Track>,
    /// When the first span began.
    origin: Option<Instant>,
    /// Where a recorded session ends, whose spans are all known: no event adds to them.
    recorded_until: Option<Instant>,
    view: Option<View>,
}

#[derive(Debug, Clone, Copy)]
struct View {
    chosen: AgentId,
    /// Where the cursor is, as time since the beginning; `None` follows the present.
    at: Option<Duration>,
    /// The chosen scale; `None` shows everything.
    scale: Option<Scale>,
    /// First column and first row.
    first: (u64, usize),
}

impl Timeline {
    /// Returns where time ends: in the present, or with the last agent.
    fn end(&self, now: Instant) -> Instant {
        if let Some(end) = self.recorded_until {
            return end;
        }
        if self.tracks.values().any(Track::is_open) {
            return now;
        }
        let ends = self.tracks.values().filter_map(|track| track.spans().last()?.to);
        ends.max().unwrap_or(now)
    }
}

/// Returns what an agent does, and the cell that shows it.
fn doing(agent: &AgentView, asking: usize) -> Option<(SpanKind, CellId)> {
    // A question may be open of an agent that rests; it does nothing all the same.
    if agent.phase.is_at_rest() {
        return None;
    }
    let last = agent.cells.end().saturating_sub(1);
    let kind = AgentState::but_for_silence(agent, asking, agent.last_event).row().span?;
    let tool = |is: fn(ToolState) -> bool| {
        agent.in_flight().find(|(_, kind)| matches!(kind, CellKind::Tool(tool) if is(tool.state)))
    };
    let cell = match kind {
        SpanKind::Approval => tool(|state| state == ToolState::Asking),
        SpanKind::Thinking | SpanKind::Writing | SpanKind::Tool | SpanKind::Agents => {
            // A tool of its own says more than that it also waits for others.
            return Some(match tool(|_| true).or_else(|| agent.in_flight().next()) {
                Some((cell, CellKind::Tool(_))) if agent.phase != Phase::Starting => (SpanKind::Tool, cell),
                Some((cell, _)) if agent.phase != Phase::Starting => (SpanKind::Agents, cell),
                _ => (kind, last),
            });
        }
        _ => None,
    };
    Some((kind, cell.map_or(last, |(cell, _)| cell)))
}

/// Returns what to keep of a cell, in case the transcript lets go of it.
fn label(agent: &AgentView, cell: CellId) -> Box<str> {
    let text = match agent.cells.get(cell).map(|cell| &cell.kind) {
        Some(CellKind::Tool(tool)) => format!("{} {}", tool.name, tool.title),
        Some(CellKind::Retry { reason, .. }) => reason.clone(),
        _ => String::new(),
    };
    text[..text.floor_char_boundary(LABEL)].into()
}

impl Timeline {
    /// Notes what an agent does now, after an event of it. Who waits for it is not silent either.
    pub(super) fn record_activity(&mut self, id: AgentId, tree: &AgentTree<'_>) {
        if self.recorded_until.is_some() {
            return;
        }
        let now = tree.now;
        let Some(agent) = tree.agents.get(id) else { return };
        let Self { tracks, origin, .. } = self;
        let does = doing(agent, tree.approvals.of(id));
        if does.is_some() || !id.is_main() {
            origin.get_or_insert(now);
        }
        let track = tracks.entry(id).or_insert_with(|| Track::new(now));
        track.apply(now);
        track.count(now);
        match (does, agent.phase) {
            (Some((kind, cell)), _) => track.enter(kind, cell, now, || label(agent, cell)),
            (None, Phase::Ended(status)) => track.rest(Some(status), agent.cells.end().saturating_sub(1), now),
            (None, _) => track.rest(None, 0, now),
        }
        let mut at = agent.parent;
        // A cycle cannot come from the engine, but events may be anything.
        for _ in 0..16 {
            let Some(parent) = at else { break };
            let (Some(agent), Some(track)) = (tree.agents.get(parent), tracks.get_mut(&parent)) else { break };
            track.apply(now);
            // With the birth of a child, the call that asked for it is a wait.
            if let Some((kind, cell)) = doing(agent, tree.approvals.of(parent)) {
                track.enter(kind, cell, now, || label(agent, cell));
            }
            at = agent.parent;
        }
    }

    pub(super) fn track(&self, agent: AgentId) -> Option<&Track> {
        self.tracks.get(&agent)
    }

    /// Takes all of it as known, up to the end of the session.
    pub(super) fn recorded_until(self, end: Instant) -> Self {
        Self { recorded_until: Some(end), view: None, ..self }
    }

    /// Returns the moment that an action of the cursor leads to, as time since `base`.
    pub(super) fn target(&self, action: Action, now: &TimelineWindow, base: Instant) -> Option<Duration> {
        let page = u64::from(now.bars.width.max(2)) - 1;
        let column = match action {
            Action::Earlier => now.cursor.saturating_sub(1),
            Action::Later => now.cursor + 1,
            Action::PageEarlier => now.cursor.saturating_sub(page),
            Action::PageLater => now.cursor + page,
            _ => return None,
        };
        self.moment_of(now, column, base)
    }

    /// Returns the moment of a column, as time since `base`.
    fn moment_of(&self, now: &TimelineWindow, column: u64, base: Instant) -> Option<Duration> {
        let end = self.recorded_until?;
        Some((now.time_of(column).0.min(end)).saturating_duration_since(base))
    }

    /// Returns the moment under the pointer, as time since `base`.
    pub(super) fn moment_at(&self, now: &TimelineWindow, x: u16, base: Instant) -> Option<Duration> {
        let (_, column) = now.columns().find(|(at, _)| *at == x)?;
        self.moment_of(now, column, base)
    }

    pub(super) fn is_open(&self) -> bool {
        self.view.is_some()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.origin.is_none()
    }

    /// Returns the kinds of spans there are, in the order of the legend.
    pub(super) fn span_kinds(&self, window: &TimelineWindow, now: Instant) -> Vec<SpanKind> {
        let tracks = || window.rows.iter().filter_map(|row| self.track(row.agent));
        let seen = |kind: SpanKind| {
            let silent = |track: &Track| kind == SpanKind::Stalled && track.is_silent(now);
            tracks().any(|track| silent(track) || track.has(kind))
        };
        SpanKind::ALL.into_iter().filter(|kind| seen(*kind)).collect()
    }

    pub(super) fn open(&mut self, chosen: AgentId) {
        self.view.get_or_insert(View { chosen, at: None, scale: None, first: (0, 0) });
    }

    pub(super) fn close(&mut self) {
        self.view = None;
    }

    /// Returns which part of time the timeline shows in an area; `None` while it is closed.
    pub(super) fn window(&self, area: Rect, agents: &Agents, now: Instant) -> Option<TimelineWindow> {
        let rows = rows(agents);
        let name = |row: &TimelineRow| {
            let agent = agents.get(row.agent);
            let columns = agent.map_or(0, |agent| width(&row_name(agent, area.width)));
            u16::try_from(columns).unwrap_or(u16::MAX).saturating_add(2 * row.depth)
        };
        let name_columns = rows.iter().map(name).max().unwrap_or(0);
        let View { chosen, at, scale, first } = self.view?;
        let time = (self.origin?, self.end(now));
        // The cursor of a recorded session stands at the moment that is shown.
        let shown = self.recorded_until.map(|_| now.saturating_duration_since(time.0));
        let at = shown.or(at);
        Some(window(WindowRequest { area, time, rows, chosen, name_columns, at, scale, first }))
    }

    /// Moves the cursor, looks closer or wider, or goes to another row, as an action says. Returns `false` for any other.
    pub(super) fn act(&mut self, action: Action, now: &TimelineWindow, agents: &Agents, time: Instant) -> bool {
        let page = u64::from(now.bars.width.max(2)) - 1;
        match action {
            Action::Earlier => self.put_cursor(now, now.cursor.saturating_sub(1)),
            Action::Later => self.put_cursor(now, now.cursor + 1),
            Action::PageEarlier => self.put_cursor(now, now.cursor.saturating_sub(page)),
            Action::PageLater => self.put_cursor(now, now.cursor + page),
            Action::Beginning => self.put_cursor(now, 0),
            Action::Present => self.put_cursor(now, now.last),
            Action::ZoomIn => self.zoom(now, Some(now.scale.step(-1)), agents, time),
            Action::ZoomOut => self.zoom(now, Some(now.scale.step(1)), agents, time),
            Action::ZoomFit => self.zoom(now, None, agents, time),
            Action::MoveUp => self.choose_row(now, -1, agents),
            Action::MoveDown => self.choose_row(now, 1, agents),
            Action::MoveLeft | Action::MoveRight => {}
            _ => return false,
        }
        true
    }

    fn choose_row(&mut self, now: &TimelineWindow, step: isize, agents: &Agents) {
        let rows = rows(agents);
        let at = rows.iter().position(|row| row.agent == now.chosen).unwrap_or(0);
        let to = rows.get(at.saturating_add_signed(step).min(rows.len().saturating_sub(1)));
        if let (Some(view), Some(row)) = (&mut self.view, to) {
            view.chosen = row.agent;
            view.first.1 = now.top;
        }
    }

    fn put_cursor(&mut self, now: &TimelineWindow, column: u64) {
        if let Some(view) = &mut self.view {
            view.at = (column < now.last).then(|| now.since(column));
            view.first = (now.first, now.top);
        }
    }

    /// Looks closer or wider; the cursor's moment stays in the middle. Wider than everything there is not.
    fn zoom(&mut self, now: &TimelineWindow, scale: Option<Scale>, agents: &Agents, time: Instant) {
        let Some(view) = &mut self.view else { return };
        view.scale = scale;
        let Some(after) = self.window(now.area, agents, time) else { return };
        let whole = scale.is_some_and(|scale| after.scale < scale || after.last < u64::from(after.bars.width));
        if let Some(view) = &mut self.view {
            if whole && scale > Some(now.scale) {
                view.scale = None;
            }
            view.first = (after.cursor.saturating_sub(u64::from(after.bars.width / 2)), now.top);
        }
    }

    /// Returns the chosen agent and where its view stood at the cursor; `None`, with words, if it had not begun.
    pub(super) fn moment(&self, now: &TimelineWindow, agents: &Agents, out: &mut Outbox) -> Option<(AgentId, Scroll)> {
        let id = now.chosen;
        let (from, to) = now.time_of(now.cursor);
        let seen = self.track(id).and_then(|track| track.seen(from, to, out.now()));
        let follows = self.view.is_some_and(|view| view.at.is_none());
        let agent = agents.get(id)?;
        let (end, arrived) = (agent.cells.end(), agent.cells.arrived());
        let begun = self.track(id).and_then(|track| track.spans().first()).is_some_and(|span| span.from < to);
        let at = match seen {
            Some(seen) if !follows && end > 0 => Some(Anchor { cell: seen.span.cell.min(end - 1), line: 0 }),
            None if !begun => {
                out.inform(format!("{} had not started then", agent.name));
                return None;
            }
            _ => None,
        };
        Some((id, Scroll { at, left_at: arrived, ..Scroll::default() }))
    }

    pub(super) fn point_at(&mut self, now: &TimelineWindow, x: u16, y: u16) {
        let row = y.checked_sub(now.bars.y).and_then(|row| now.rows.get(usize::from(row)));
        if let Some((_, column)) = now.columns().find(|(at, _)| *at == x) {
            self.put_cursor(now, column);
        }
        if let (Some(view), Some(row)) = (&mut self.view, row) {
            view.chosen = row.agent;
        }
    }
}

/// Returns every agent, each below its parent.
fn rows(agents: &Agents) -> Vec<TimelineRow> {
    let all = agents.order().all().iter();
    let below = all.map(|kin| TimelineRow { agent: kin.agent, depth: kin.depth.min(DEEPEST) });
    std::iter::once(TimelineRow { agent: AgentId::MAIN, depth: 0 }).chain(below).collect()
}

/// Returns what stands before an agent's bar: its name and, where there is room, what it is for.
#[must_use]
pub fn row_name(agent: &AgentView, columns: u16) -> String {
    if agent.id.is_main() || columns < DESCRIBED.0 {
        agent.name.clone()
    } else {
        format!("{}  {}", agent.name, agent.description)
    }
}
