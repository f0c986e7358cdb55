//! What the mouse does: clicks choose, the wheel scrolls what is under the pointer, the border can be dragged.
//!
//! Owns hit tests against the regions. Leaves what is selected to `selection`. Invariants: a click that hits nothing
//! changes nothing; none takes the keyboard away from the message but to what then has the whole screen.

use std::time::{Duration, Instant};

use ratatui::layout::{Position, Rect};

use crate::app::action::Action;
use crate::app::key::{Mouse, MouseKind};
use crate::app::layout::{LayoutForm, Regions};
use crate::app::{App, Effect, Focus, Motion, Unit};
use crate::message::AgentId;

/// Lines that one turn of the wheel moves.
const WHEEL: i32 = 3;
/// Columns at the end of a title that stop its agent: a space and the sign.
const STOP_COLUMNS: u16 = 2;
/// Narrowest title that has the sign.
pub const STOP_FROM: u16 = 28;

/// What is being dragged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::app) enum Dragging {
    /// Nothing.
    Nothing,
    /// The border between conversation and agents.
    Border,
    /// The end of a selection in this agent's transcript.
    Text(AgentId),
}

/// How soon clicks at one place count together.
const TOGETHER: Duration = Duration::from_millis(400);

/// Clicks at one place, one soon after the other.
#[derive(Debug)]
pub(in crate::app) struct Clicks {
    at: Position,
    last: Instant,
    count: usize,
}

impl Clicks {
    pub(in crate::app) fn none(now: Instant) -> Self {
        Self { at: Position::default(), last: now, count: 0 }
    }

    /// Counts a click and returns what it selects; after three it begins anew.
    fn count(&mut self, at: Position, now: Instant) -> Unit {
        let goes_on = self.at == at && now.saturating_duration_since(self.last) < TOGETHER;
        let count = if goes_on { self.count % 3 + 1 } else { 1 };
        *self = Self { at, last: now, count };
        match count {
            1 => Unit::Character,
            2 => Unit::Word,
            _ => Unit::Line,
        }
    }
}

/// What a frame showed that can be clicked on.
#[derive(Debug, Default)]
pub(in crate::app) struct Pointed {
    /// The answers to the open question.
    pub(in crate::app) answers: Vec<(Rect, Action)>,
    /// The entries of the list in front.
    pub(in crate::app) list: Vec<(Rect, usize)>,
}

impl App {
    /// Takes an act of the mouse.
    pub(in crate::app) fn on_mouse(&mut self, mouse: Mouse, effects: &mut Vec<Effect>) {
        if mouse.kind == MouseKind::Press {
            self.before_other_input(false, effects);
            self.offered = self.armed.take();
        }
        self.on_mouse_in_front(mouse, effects);
        self.withdraw_offer();
    }

    fn on_mouse_in_front(&mut self, mouse: Mouse, effects: &mut Vec<Effect>) {
        if mouse.kind == MouseKind::Press && self.press_in_list(Position { x: mouse.column, y: mouse.row }, effects) {
            return;
        }
        if self.agent_files.is_some() {
            if self.popup.is_none() {
                self.mouse_in_agent_files(mouse);
                return;
            }
            if mouse.kind == MouseKind::Press {
                self.popup = None;
                return;
            }
        }
        let regions = self.regions();
        let at = Position { x: mouse.column, y: mouse.row };
        match mouse.kind {
            MouseKind::WheelUp => self.wheel(&regions, at, -WHEEL),
            MouseKind::WheelDown => self.wheel(&regions, at, WHEEL),
            MouseKind::Press => self.press(&regions, at, effects),
            MouseKind::Drag => self.drag(&regions, at),
            MouseKind::Release => {
                if let Dragging::Text(agent) = std::mem::replace(&mut self.dragging, Dragging::Nothing) {
                    self.end_selection(agent);
                }
            }
        }
    }

    fn wheel(&mut self, regions: &Regions, at: Position, lines: i32) {
        if self.popup == Some(super::Popup::Wizard) {
            self.wheel_in_wizard(lines);
            return;
        }
        if self.popup.is_some() {
            let end = self.popup_end;
            if let Some(scroll) = self.popup.as_mut().and_then(super::Popup::scroll) {
                *scroll = scroll.saturating_add_signed(isize::try_from(lines).unwrap_or(0)).min(end);
            }
            return;
        }
        if regions.timeline.contains(at) {
            self.act_in_timeline(if lines < 0 { Action::ZoomIn } else { Action::ZoomOut });
            return;
        }
        if regions.approvals.contains(at) {
            if self.approvals.expand() {
                return;
            }
            let scroll = self.approvals.scroll.saturating_add_signed(isize::try_from(lines).unwrap_or(0));
            self.approvals.scroll = scroll.min(self.popup_end);
            return;
        }
        let pane = regions.panes.iter().find(|pane| pane.area.contains(at)).map(|pane| pane.agent);
        let target = pane.or_else(|| regions.conversation.contains(at).then_some(AgentId::MAIN));
        if let Some(target) = target {
            self.request_scroll(target, Motion::Lines(lines));
        }
    }

    fn press(&mut self, regions: &Regions, at: Position, effects: &mut Vec<Effect>) {
        if self.popup.take().is_some() {
            // What lies behind was covered, and is not what was meant.
            return;
        }
        self.clear_selection();
        let clicked = self.clicked.take();
        let unit = self.clicks.count(at, self.now);
        let border = match regions.form {
            LayoutForm::Side => regions.divider,
            LayoutForm::Below => regions.agents_head,
            _ => Rect::default(),
        };
        if border.contains(at) {
            self.dragging = Dragging::Border;
        } else if regions.composer.contains(at) {
            self.focus = Focus::Composer;
        } else if regions.approvals.contains(at) {
            self.press_in_approvals(at, effects);
        } else if regions.conversation.contains(at) {
            self.focus = Focus::Composer;
            self.dragging = Dragging::Text(AgentId::MAIN);
            self.begin_selection(AgentId::MAIN, at, unit);
        } else if regions.timeline.contains(at) {
            self.point_in_timeline(at.x, at.y);
        } else if let Some(pane) = regions.panes.iter().find(|pane| pane.area.contains(at)) {
            let was_chosen = self.focused_agent().or(clicked) == Some(pane.agent);
            if self.focus != Focus::Agents {
                self.focus = Focus::Composer;
                self.clicked = Some(pane.agent);
            }
            self.chosen = Some(pane.agent);
            let on_title = at.y == pane.area.y;
            if !on_title {
                self.dragging = Dragging::Text(pane.agent);
                self.begin_selection(pane.agent, at, unit);
            }
            let running = self.agents.get(pane.agent).is_some_and(|agent| !agent.has_ended());
            let on_sign = pane.area.width >= STOP_FROM && at.x + STOP_COLUMNS >= pane.area.right();
            if on_title && running && on_sign {
                self.stop_agent(pane.agent, effects);
            } else if on_title && at.x < pane.area.x + pane.descent.columns() + 2 {
                self.toggle_fold(pane.agent, pane.size);
            } else if on_title && was_chosen {
                self.full = if self.full.is_some() { None } else { Some(pane.agent) };
                self.focus = if self.full.is_some() { Focus::Agents } else { Focus::Composer };
            }
        }
    }

    /// Takes the entry of the list in front that was clicked on. Where choosing shows something already, the second
    /// click takes it.
    fn press_in_list(&mut self, at: Position, effects: &mut Vec<Effect>) -> bool {
        let hit = self.pointed.list.iter().find(|(place, _)| place.contains(at)).map(|(_, entry)| *entry);
        if self.popup == Some(super::Popup::Wizard) {
            // What is filled in is not left for a click beside it.
            if let Some(entry) = hit {
                self.click_in_wizard(entry, effects);
            }
            return true;
        }
        let Some(entry) = hit else { return false };
        let shows = matches!(self.popup, Some(super::Popup::Themes { .. } | crate::app::Popup::Permissions { .. }));
        match self.popup.as_mut().map(super::Popup::chosen) {
            Some(Some(chosen)) => {
                let known = std::mem::replace(chosen, entry) == entry;
                if known || !shows {
                    let _ = self.act(Action::Accept, effects);
                }
                true
            }
            None if self.composer.completion().is_some() => {
                self.composer.take_completion(entry);
                self.edited(effects);
                true
            }
            Some(None) | None => false,
        }
    }

    /// Answers the question, or gives it the keys where it says so.
    fn press_in_approvals(&mut self, at: Position, effects: &mut Vec<Effect>) {
        let hit = self.pointed.answers.iter().find(|(place, _)| place.contains(at)).map(|(_, action)| *action);
        match hit {
            Some(Action::FocusNext) => self.focus = Focus::Approvals,
            None => {}
            Some(action) => {
                let _ = self.act(action, effects);
            }
        }
    }

    fn drag(&mut self, regions: &Regions, at: Position) {
        if let Dragging::Text(agent) = self.dragging {
            let area = regions.pane(agent).map_or(regions.conversation, |pane| pane.area);
            let title = u16::from(!agent.is_main());
            self.grow_selection(agent, at, (area.y + title, area.bottom()));
            return;
        }
        if self.dragging != Dragging::Border || self.size.is_empty() {
            return;
        }
        let (from_end, whole) = match regions.form {
            LayoutForm::Side => (self.size.width.saturating_sub(at.x), self.size.width),
            _ => (regions.rule.y.saturating_sub(at.y), regions.rule.y),
        };
        let percent = u32::from(from_end) * 100 / u32::from(whole.max(1));
        self.split = Some(u16::try_from(percent).unwrap_or(50).clamp(20, 80));
    }
}
