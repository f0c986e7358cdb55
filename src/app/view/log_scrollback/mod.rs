//! The steps of an agent that the screen let go of, read back from the session's log while its full view is open.
//!
//! Owns which stretch of the log is held, and how it joins the steps that are still kept. Leaves reading to `tui` and
//! folding to `agent_view`. Invariants: what is held is one stretch without a hole, around the place that is looked
//! at, and it goes with the view; a step keeps its number, so the view stays put when steps before it arrive.

mod log_search;

use std::collections::VecDeque;
use std::time::Instant;

use self::log_search::Seek;
use super::View;
use super::scroll::{Anchor, Motion, Scroll, ScrollTarget};
use crate::agent::{AgentEvent, EventKind, LogEvent, TurnEvent};
use crate::app::agents::agent_view::AgentView;
use crate::app::cells::{Cell, CellId, CellKind, Cells};
use crate::app::outbox::Outbox;
use crate::app::{Agents, Effect};
use crate::message::{AgentId, sanitize_line};

/// Steps that are held on both sides of what is looked at.
const MARGIN: CellId = 120;
/// Stretches held, if they hold many steps.
const MAX_PAGES: usize = 6;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LogSpan {
    /// What comes before the turn of this tool call.
    BeforeCall(String),
    /// What comes before its last report, and the report.
    BeforeReport,
    /// What ends at this byte.
    LoadedUpTo(u64),
    /// What begins at this byte.
    After(u64),
    /// The whole output of this tool call.
    Output(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogRequest {
    pub agent: AgentId,
    pub name: String,
    pub span: LogSpan,
}

#[derive(Debug, Clone, PartialEq)]
pub struct LogNews {
    pub agent: AgentId,
    pub span: LogSpan,
    pub found: LogMatch,
}

#[derive(Debug, Clone, PartialEq)]
pub enum LogMatch {
    Page(LogPage),
    Output(String),
    Unkept,
    /// It cannot be read; says why.
    Failed(String),
}

/// A part of an agent's log, whole turns only.
#[derive(Debug, Clone, PartialEq)]
pub struct LogPage {
    /// The byte it begins at.
    pub from: u64,
    /// The byte it ends at.
    pub to: u64,
    pub cells: Vec<CellKind>,
}

/// Folds records of a log into steps, as if they happened now. What cannot be read is a step that says so.
pub fn fold_log(
    agent: AgentId,
    from: u64,
    records: impl IntoIterator<Item = Result<LogEvent, String>>,
    now: Instant,
) -> Vec<CellKind> {
    let mut view = AgentView::new(agent, now);
    view.cells = Cells::with_cap(usize::MAX);
    if from > 0 {
        // Only what is said before the start is the task.
        view.started = Some(now);
    }
    let mut first = None;
    for record in records {
        match record {
            Ok(LogEvent::Agent(event)) if event.agent == agent => {
                let start = *first.get_or_insert(event.at);
                let since = event.at.duration_since(start).try_into().unwrap_or_default();
                view.fold(&event, now.checked_add(since).unwrap_or(now));
            }
            // Names may come again in another conversation.
            Ok(_) => {}
            Err(error) => {
                view.cells.push(CellKind::Error { text: format!("session log: {}", sanitize_line(&error)) });
            }
        }
    }
    view.cells.iter().map(|(_, cell)| cell.kind.clone()).collect()
}

/// Returns `true` if a turn begins with an event, so that what comes before can be understood by itself.
pub fn begins_turn(event: &AgentEvent) -> bool {
    matches!(event.kind, EventKind::Turn(TurnEvent::Started { .. }))
}

/// Why there are no steps before those that are held.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoadedUpTo {
    /// They are the first.
    Nothing,
    Coming,
    /// The session is not kept, or not in a way that can be joined.
    Unkept,
    Broken(String),
}

#[derive(Debug, Clone)]
struct Page {
    from: u64,
    to: u64,
    first: CellId,
    cells: Vec<Cell>,
}

impl Page {
    fn end(&self) -> CellId {
        self.first + self.cells.len() as CellId
    }
}

/// What stands both in the log and in the cells that were kept.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Join {
    Call(String),
    /// The last report: of an agent from before the session was continued nothing else may be kept.
    Report(String),
}

impl Join {
    /// Finds where the log and the kept cells of an agent meet.
    fn of(agent: &AgentView) -> Option<(CellId, Self)> {
        let call = agent.first_call().map(|(cell, call)| (cell, Self::Call(call)));
        call.or_else(|| {
            agent.cells.iter().rev().find_map(|(cell, kept)| match &kept.kind {
                CellKind::Report { text } => Some((cell, Self::Report(text.clone()))),
                _ => None,
            })
        })
    }

    fn is_in(&self, kind: &CellKind) -> bool {
        match (self, kind) {
            (Self::Call(call), CellKind::Tool(tool)) => tool.call_id == *call,
            (Self::Report(report), CellKind::Report { text }) => text == report,
            _ => false,
        }
    }
}

/// What is held of the log of the agent that is looked at.
#[derive(Debug)]
pub(in crate::app) struct LogScrollback {
    agent: AgentId,
    /// The kept cell that the past ends at, and what stands in it.
    join: (CellId, Join),
    pages: VecDeque<Page>,
    reading: Option<LogSpan>,
    error: Option<LoadedUpTo>,
    seek: Option<Seek>,
    /// Differs from the epochs of cells that had the same numbers.
    epoch: u32,
}

/// All steps of an agent that can be shown: those of the log that are held, and those that were kept.
#[derive(Debug, Clone, Copy)]
pub struct StepView<'a> {
    cells: &'a Cells,
    past: Option<&'a LogScrollback>,
    first: CellId,
    end: CellId,
}

impl<'a> StepView<'a> {
    /// Returns the steps that were kept, alone.
    #[must_use]
    pub fn kept(cells: &'a Cells) -> Self {
        Self { cells, past: None, first: cells.first(), end: cells.end() }
    }

    pub fn first(&self) -> CellId {
        self.first
    }

    /// Returns the number after the last step.
    pub fn end(&self) -> CellId {
        self.end
    }

    /// Returns `true` if steps follow that are not held.
    pub fn breaks_off(&self) -> bool {
        self.end < self.cells.end()
    }

    pub fn get(&self, id: CellId) -> Option<&'a Cell> {
        match self.past.filter(|past| id < past.join.0) {
            Some(past) => past.get(id),
            None => self.cells.get(id),
        }
    }
}

impl LogScrollback {
    fn new(agent: AgentId, join: (CellId, Join)) -> Self {
        Self { agent, join, pages: VecDeque::new(), reading: None, error: None, seek: None, epoch: 1 << 16 }
    }

    fn first(&self) -> CellId {
        self.pages.front().map_or(self.join.0, |page| page.first)
    }

    fn end(&self) -> CellId {
        self.pages.back().map_or(self.join.0, Page::end)
    }

    fn is_joined(&self) -> bool {
        self.end() == self.join.0
    }

    fn get(&self, id: CellId) -> Option<&Cell> {
        let page = self.pages.get(self.pages.partition_point(|page| page.end() <= id))?;
        page.cells.get(usize::try_from(id.checked_sub(page.first)?).ok()?)
    }

    /// Returns what to read next for a view that stands here.
    fn wants(&self, at: Option<CellId>) -> Option<LogSpan> {
        if self.reading.is_some() || self.error.is_some() {
            return None;
        }
        let (Some(front), Some(back)) = (self.pages.front(), self.pages.back()) else {
            return Some(match &self.join.1 {
                Join::Call(call) => LogSpan::BeforeCall(call.clone()),
                Join::Report(_) => LogSpan::BeforeReport,
            });
        };
        let at = at.unwrap_or(self.join.0);
        if at < self.first() + MARGIN && front.from > 0 && self.is_held_around(at) {
            Some(LogSpan::LoadedUpTo(front.from))
        } else if !self.is_joined() && at + MARGIN >= self.end() {
            Some(LogSpan::After(back.to))
        } else {
            None
        }
    }

    /// Reads what a view that stands here needs next.
    fn read_on(&mut self, at: Option<CellId>, name: String, out: &mut Outbox) {
        if let Some(span) = self.wants(at) {
            self.read(span, name, out);
        }
    }

    fn read(&mut self, span: LogSpan, name: String, out: &mut Outbox) {
        self.reading = Some(span.clone());
        out.push(Effect::ReadLog(LogRequest { agent: self.agent, name, span }));
    }

    /// Returns `true` if the place lies in what is held, or after it where nothing is missing in between.
    fn is_held_around(&self, at: CellId) -> bool {
        self.is_joined() || at < self.end()
    }

    /// Takes in what was read. Returns by how much the numbers of what was held grew.
    fn take(&mut self, span: &LogSpan, page: LogPage, at: CellId) -> i64 {
        self.epoch = self.epoch.wrapping_add(1);
        let ends_at = page.cells.iter().position(|kind| self.join.1.is_in(kind));
        let epoch = self.epoch;
        let whole = page.cells.len();
        let kinds = page.cells.into_iter().take(ends_at.unwrap_or(whole));
        let cells: Vec<Cell> = kinds.map(|kind| Cell { epoch, kind }).collect();
        let count = cells.len() as CellId;
        let first = match span {
            LogSpan::After(0) => {
                self.pages.clear();
                0
            }
            LogSpan::After(_) => self.end(),
            LogSpan::LoadedUpTo(_) | LogSpan::BeforeCall(_) | LogSpan::BeforeReport | LogSpan::Output(_) => {
                self.first().saturating_sub(count)
            }
        };
        let page = Page { from: page.from, to: page.to, first, cells };
        match span {
            LogSpan::After(_) => self.pages.push_back(page),
            _ => self.pages.push_front(page),
        }
        let far = |edge: CellId| edge.abs_diff(at) > 2 * MARGIN;
        while self.pages.len() > MAX_PAGES {
            match span {
                LogSpan::After(_) if self.pages.front().is_some_and(|page| far(page.end())) => self.pages.pop_front(),
                LogSpan::LoadedUpTo(_) if self.pages.back().is_some_and(|page| far(page.first)) => {
                    self.pages.pop_back()
                }
                _ => break,
            };
        }
        if ends_at.is_some() && matches!(span, LogSpan::After(_)) { self.meet() } else { 0 }
    }

    /// Counts anew from the join back: a reply that was cut off and sent again left marks that the log does not have.
    fn meet(&mut self) -> i64 {
        let grown = self.join.0.cast_signed() - self.end().cast_signed();
        let floor = self.first().cast_signed();
        let grown = grown.max(-floor);
        for page in &mut self.pages {
            page.first = page.first.saturating_add_signed(grown);
        }
        grown
    }
}

impl View {
    /// Returns all steps of an agent that can be shown.
    pub(in crate::app) fn story<'a>(&'a self, agent: &'a AgentView) -> StepView<'a> {
        let kept = StepView::kept(&agent.cells);
        let Some(past) = self.past.as_deref().filter(|past| past.agent == agent.id && !past.pages.is_empty()) else {
            return kept;
        };
        let at = self.panes.get(&agent.id).and_then(|state| state.scroll.at);
        if past.is_joined() {
            return StepView { past: Some(past), first: past.first(), ..kept };
        }
        match at.filter(|at| (past.first()..past.end()).contains(&at.cell)) {
            Some(_) => StepView { past: Some(past), first: past.first(), end: past.end(), ..kept },
            // What is held lies elsewhere.
            None => StepView { past: Some(past), first: past.join.0, ..kept },
        }
    }

    /// Returns why there are no steps before those that can be shown.
    pub(in crate::app) fn before(&self, agent: &AgentView) -> LoadedUpTo {
        if !agent.cells.is_cut() {
            return LoadedUpTo::Nothing;
        }
        let Some(past) = self.past.as_deref().filter(|past| past.agent == agent.id) else {
            return if Join::of(agent).is_some() { LoadedUpTo::Coming } else { LoadedUpTo::Unkept };
        };
        if let Some(error) = &past.error {
            return error.clone();
        }
        let begun = past.pages.front().is_some_and(|page| page.from == 0);
        if begun && self.story(agent).first() == past.first() { LoadedUpTo::Nothing } else { LoadedUpTo::Coming }
    }

    /// Reads what is about to be looked at, and lets go of what no longer is.
    pub(super) fn follow_past(
        &mut self,
        places: &[ScrollTarget],
        wished: Option<Motion>,
        agents: &mut Agents,
        out: &mut Outbox,
    ) {
        let full = self.full.and_then(|id| agents.get(id)).filter(|agent| agent.cells.is_cut());
        let Some(agent) = full.filter(|agent| agents.get(agent.id).is_some()) else {
            self.forget_past(agents);
            return;
        };
        let (id, name) = (agent.id, agent.name.clone());
        let same = self.past.as_ref().is_some_and(|past| past.agent == id && past.join.0 >= agent.cells.first());
        if !same {
            let join = Join::of(agent);
            self.forget_past(agents);
            let Some(join) = join else { return };
            self.past = Some(Box::new(LogScrollback::new(id, join)));
        }
        if let Some(agent) = agents.get_mut(id) {
            // What joins the past must not go while it is looked at.
            agent.hold_more();
        }
        let at = places.iter().find(|place| place.agent == id).and_then(|place| place.at);
        let Some(past) = &mut self.past else { return };
        if at.is_none() && !past.is_joined() && past.reading.is_none() {
            // Back at the end: what is held lies far from it.
            past.pages.clear();
        }
        let begun = past.pages.front().is_none_or(|page| page.from == 0);
        if wished == Some(Motion::Top) && !begun && past.error.is_none() {
            past.read(LogSpan::After(0), name, out);
        } else {
            past.read_on(at.map(|at| at.cell), name, out);
        }
    }

    fn forget_past(&mut self, agents: &mut Agents) {
        if let Some(past) = self.past.take()
            && let Some(agent) = agents.get_mut(past.agent)
        {
            agent.hold_less();
        }
    }

    pub(in crate::app) fn on_log_read(&mut self, news: LogNews) {
        let Some(past) = self.past.as_mut().filter(|past| past.agent == news.agent) else { return };
        // Something else was asked for since.
        if past.reading.as_ref() != Some(&news.span) {
            return;
        }
        past.reading = None;
        let scroll: &mut Scroll = &mut self.panes.entry(news.agent).or_default().scroll;
        if let Some(seek) = &past.seek {
            // Also if nothing was read: the frame says that the search is over.
            scroll.motion = Some(seek.motion);
        }
        let page = match news.found {
            LogMatch::Page(page) if page.from < page.to => page,
            LogMatch::Page(_) => {
                past.error = Some(LoadedUpTo::Broken("the session log is truncated".to_owned()));
                return;
            }
            LogMatch::Output(_) => return,
            LogMatch::Unkept => {
                past.error = Some(LoadedUpTo::Unkept);
                return;
            }
            LogMatch::Failed(reason) => {
                past.error = Some(LoadedUpTo::Broken(sanitize_line(&reason).into_owned()));
                return;
            }
        };
        let at = scroll.at.map_or(past.join.0, |at| at.cell);
        let top = news.span == LogSpan::After(0);
        let grown = past.take(&news.span, page, if top { 0 } else { at });
        if top {
            scroll.at = Some(Anchor { cell: past.first(), line: 0 });
        } else {
            scroll.shift(grown, past.join.0);
        }
        if let Some(seek) = &mut past.seek {
            seek.shift(grown, past.join.0);
        }
    }
}
