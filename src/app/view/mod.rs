//! What part of the agents is on screen: focus, layout, panes, scrolling, selection.
//!
//! Owns where the user looks and what each pane shows. Leaves the agents to `agents` and drawing to `tui::view`.
//! Invariant: nothing here changes what an agent is or does.

pub mod columns;
pub(super) mod folding;
pub mod layout;
pub(super) mod log_scrollback;
pub(super) mod pane_state;
pub mod panes;
pub(super) mod pointer;
pub(super) mod scroll;
pub(super) mod selection;

use std::collections::BTreeMap;

use ratatui::layout::Rect;

use self::layout::LayoutMode;
use self::log_scrollback::LogScrollback;
use self::pane_state::PaneState;
use self::panes::PaneSize;
use self::scroll::{Drawn, Motion};
use super::outbox::Outbox;
use super::{Agents, Arrangement, CellId};
use crate::message::AgentId;

/// Rows that the conversation gets at least where it outgrows those it keeps, so that not every line moves the border.
const TALK_STEP: u16 = 3;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Focus {
    Composer,
    Conversation,
    Agents,
    Approvals,
    /// The commands in the background.
    Commands,
    Timeline,
}

/// Where the user looks.
#[derive(Debug)]
pub(super) struct View {
    size: Rect,
    focus: Focus,
    chosen: Option<AgentId>,
    /// The agent that was clicked on last; the keyboard stays where it is.
    clicked: Option<AgentId>,
    full: Option<AgentId>,
    arrangement: Arrangement,
    /// The layout that is tried while it is chosen.
    tried: Option<LayoutMode>,
    panes: BTreeMap<AgentId, PaneState>,
    visible: Vec<(AgentId, PaneSize)>,
    /// Rows that the conversation keeps where others want those that it leaves blank.
    talk_rows: Option<u16>,
    /// The columns of the branches that were dealt to one.
    columns: BTreeMap<usize, usize>,
    /// Whether it may keep fewer from the next frame on.
    is_talk_measured_anew: bool,
    /// Whether the panes of ended agents are shown that were folded into one row.
    shows_filed: bool,
    /// What was read back of the agent that has the whole screen.
    past: Option<Box<LogScrollback>>,
}

impl View {
    pub(super) fn new(size: Rect, arrangement: Arrangement) -> Self {
        Self {
            size,
            focus: Focus::Composer,
            chosen: None,
            clicked: None,
            full: None,
            arrangement,
            tried: None,
            panes: BTreeMap::new(),
            visible: Vec::new(),
            talk_rows: None,
            columns: BTreeMap::new(),
            is_talk_measured_anew: false,
            shows_filed: false,
            past: None,
        }
    }

    pub(super) fn size(&self) -> Rect {
        self.size
    }

    pub(super) fn resize(&mut self, width: u16, height: u16) {
        // Its columns are those of rows that are no more.
        self.clear_selection();
        self.is_talk_measured_anew = true;
        self.size = Rect::new(0, 0, width, height);
    }

    pub(super) fn focus(&self) -> Focus {
        self.focus
    }

    pub(super) fn set_focus(&mut self, focus: Focus) {
        self.focus = focus;
    }

    pub(super) fn chosen(&self) -> Option<AgentId> {
        self.chosen
    }

    pub(super) fn choose(&mut self, agent: Option<AgentId>) {
        self.chosen = agent;
    }

    pub(super) fn focus_agent(&mut self, agent: AgentId) {
        self.focus = Focus::Agents;
        self.chosen = Some(agent);
        self.clicked = None;
    }

    /// Gives the keys to the agents: to the one chosen last, else to one at work.
    pub(super) fn focus_agents(&mut self, agents: &Agents) {
        self.focus = Focus::Agents;
        self.clicked = None;
        let known = self.chosen.filter(|id| agents.get(*id).is_some());
        self.chosen = known
            .or_else(|| agents.running().next().map(|agent| agent.id))
            .or_else(|| agents.children().next().map(|agent| agent.id));
    }

    pub(super) fn full(&self) -> Option<AgentId> {
        self.full
    }

    pub(super) fn set_full(&mut self, agent: Option<AgentId>) {
        self.full = agent;
    }

    /// Gives an agent the keys and the whole screen.
    pub(super) fn open_full(&mut self, agent: AgentId) {
        self.focus = Focus::Agents;
        self.chosen = Some(agent);
        self.full = Some(agent);
    }

    pub(super) fn click(&mut self, agent: AgentId) {
        self.clicked = Some(agent);
    }

    pub(super) fn take_clicked(&mut self) -> Option<AgentId> {
        self.clicked.take()
    }

    pub(super) fn arrangement(&self) -> Arrangement {
        self.arrangement
    }

    pub(super) fn arrange(&mut self, mode: LayoutMode) {
        self.is_talk_measured_anew = true;
        self.arrangement.mode = mode;
        if mode == LayoutMode::Auto {
            // The one way back from a dragged border.
            self.arrangement.split = None;
        }
    }

    /// Places the agents in another way as long as it is tried.
    pub(super) fn try_layout(&mut self, mode: Option<LayoutMode>, out: &mut Outbox) {
        out.redraw_if(self.tried != mode);
        self.is_talk_measured_anew |= self.tried != mode;
        self.tried = mode;
    }

    /// Returns how the agents are placed now.
    pub(super) fn shown_arrangement(&self) -> Arrangement {
        match self.tried {
            Some(LayoutMode::Auto) => Arrangement::default(),
            Some(mode) => Arrangement { mode, ..self.arrangement },
            None => self.arrangement,
        }
    }

    /// Gives the agents this share of the room, in per cent.
    pub(super) fn drag_border(&mut self, percent: u32) {
        self.is_talk_measured_anew = true;
        self.arrangement.split = Some(u16::try_from(percent).unwrap_or(50).clamp(20, 80));
    }

    pub(super) fn focused_agent(&self) -> Option<AgentId> {
        self.full.or_else(|| self.chosen.filter(|_| self.focus == Focus::Agents))
    }

    /// Returns the agent that has the focus or, while one writes, was clicked on.
    pub(super) fn marked_agent(&self, agents: &Agents) -> Option<AgentId> {
        self.focused_agent().or_else(|| self.clicked.filter(|id| agents.get(*id).is_some()))
    }

    pub(super) fn scrolled(&self) -> AgentId {
        self.focused_agent().unwrap_or(AgentId::MAIN)
    }

    /// Returns `true` if the last frame showed more of a subagent than its title.
    pub(super) fn shows_pane(&self, agent: AgentId) -> bool {
        self.visible.iter().any(|(shown, size)| *shown == agent && *size > PaneSize::Row)
    }

    /// Requests a move through a transcript, and gives up a search that waits there.
    pub(super) fn request_scroll(&mut self, agents: &Agents, id: AgentId, motion: Motion, out: &mut Outbox) {
        self.drop_seek(out);
        let arrived = agents.get(id).map_or(0, |agent| agent.cells.arrived());
        self.pane_mut(id).scroll.request(motion, arrived);
    }

    /// Takes in what a frame showed of the transcripts. Returns the cell that was clicked on.
    pub(super) fn on_drawn(
        &mut self,
        drawn: &mut Drawn,
        agents: &mut Agents,
        out: &mut Outbox,
    ) -> Option<(AgentId, CellId)> {
        let full = self.full.and_then(|id| self.panes.get(&id));
        let wished = full.and_then(|state| state.scroll.motion);
        self.follow_past(&drawn.places, wished, agents, out);
        self.apply_places(&drawn.places);
        for agent in drawn.reports.drain(..) {
            if agents.get(agent).is_some_and(|agent| agent.phase.is_ended()) {
                self.pane_mut(agent).seen_at.get_or_insert(out.now());
            }
        }
        if let Some(text) = drawn.copied.take() {
            self.copy_selection(text, out);
        }
        for (agent, rows) in drawn.contents.drain(..) {
            let arrived = agents.get(agent).map_or(0, |agent| agent.cells.arrived());
            let content = Some((rows, arrived));
            let before = std::mem::replace(&mut self.pane_mut(agent).content, content);
            out.redraw_if(before.map(|(rows, _)| rows) != Some(rows));
        }
        if let Some(rows) = drawn.talk_rows {
            self.measure_talk(rows, out);
        }
        self.visible = std::mem::take(&mut drawn.panes);
        self.on_searched(wished, drawn.not_found, agents, out);
        self.take_click()
    }

    /// Takes in how many rows the conversation can fill. What it once had beside agents it keeps until the next message, as
    /// panes keep their columns.
    fn measure_talk(&mut self, rows: u16, out: &mut Outbox) {
        // In the frame before, nobody stood beside it.
        let is_anew = std::mem::take(&mut self.is_talk_measured_anew) || self.visible.is_empty();
        if is_anew {
            self.columns.clear();
        }
        let kept = self.talk_rows.filter(|_| !is_anew);
        let rows = match kept {
            Some(kept) if rows > kept => rows.max(kept.saturating_add(TALK_STEP)),
            _ => kept.unwrap_or(rows),
        };
        out.redraw_if(self.talk_rows.replace(rows) != Some(rows));
    }

    pub(super) fn talk_rows(&self) -> Option<u16> {
        self.talk_rows
    }

    /// Forgets what events have folded; what the user has chosen stays.
    pub(super) fn forget_events(&mut self) {
        for pane in self.panes.values_mut() {
            (pane.seen_at, pane.filed_after) = (None, None);
        }
    }

    /// Forgets the agents of a conversation that is over.
    pub(super) fn clear(&mut self) {
        self.panes.clear();
        self.is_talk_measured_anew = true;
        self.full = None;
        self.chosen = None;
        self.focus = Focus::Composer;
    }
}
