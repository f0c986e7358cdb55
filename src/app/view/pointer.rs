//! The pointer: what it is over, what it drags, and which clicks count together.
//!
//! Owns hit tests against the regions and what the last frame showed. Leaves what a click means to `input`. Invariant: a
//! place that shows nothing is a hit on nothing.

use std::time::{Duration, Instant};

use ratatui::layout::{Position, Rect};

use super::layout::{LayoutForm, PaneRect, Regions};
use super::selection::Unit;
use crate::app::action::Action;
use crate::message::AgentId;

/// Columns at the end of a title that stop its agent: the sign.
const STOP_COLUMNS: u16 = 3;
/// Narrowest title that has the sign.
pub const STOP_FROM: u16 = 44;
/// How soon clicks at one place count together.
const TOGETHER: Duration = Duration::from_millis(400);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::app) enum Dragging {
    Nothing,
    Border,
    /// The end of a selection in this agent's transcript.
    Text {
        agent: AgentId,
        /// Whether a click there, without a drag, opens what it is on.
        opens: bool,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::app) enum HitTarget {
    /// The row that stands for ended agents.
    Filed,
    Nothing,
    Border,
    Composer,
    /// The open question, and the answer that stands there.
    Approvals(Option<Action>),
    Conversation,
    Timeline,
    /// A row of the region of commands, from its top, and whether at its end, where the sign stops the command.
    Command(u16, bool),
    Pane(PaneRect, PanePart),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::app) enum PanePart {
    Body,
    Fold,
    /// The sign behind the title that stops the agent, while it runs.
    Stop,
    Title,
}

#[derive(Debug)]
pub(in crate::app) struct Pointer {
    dragging: Dragging,
    /// Where it was clicked last, when, and how often.
    clicked: (Position, Instant, usize),
    /// The answers to the open question, as the last frame showed them.
    answers: Vec<(Rect, Action)>,
    list: Vec<(Rect, usize)>,
}

impl Pointer {
    pub(in crate::app) fn new(now: Instant) -> Self {
        let clicked = (Position::default(), now, 0);
        Self { dragging: Dragging::Nothing, clicked, answers: Vec::new(), list: Vec::new() }
    }

    /// Takes in what of a frame can be clicked on.
    pub(in crate::app) fn set_targets(&mut self, answers: Vec<(Rect, Action)>, list: Vec<(Rect, usize)>) {
        (self.answers, self.list) = (answers, list);
    }

    pub(in crate::app) fn is_dragging(&self) -> bool {
        self.dragging != Dragging::Nothing
    }

    pub(in crate::app) fn dragging(&self) -> Dragging {
        self.dragging
    }

    pub(in crate::app) fn drag(&mut self, what: Dragging) {
        self.dragging = what;
    }

    /// Lets go of what was dragged and returns it.
    pub(in crate::app) fn release(&mut self) -> Dragging {
        std::mem::replace(&mut self.dragging, Dragging::Nothing)
    }

    /// Counts a click and returns what it selects; after three it begins anew.
    pub(in crate::app) fn click(&mut self, at: Position, now: Instant) -> Unit {
        let (place, last, count) = self.clicked;
        let goes_on = place == at && now.saturating_duration_since(last) < TOGETHER;
        let count = if goes_on { count % 3 + 1 } else { 1 };
        self.clicked = (at, now, count);
        match count {
            1 => Unit::Character,
            2 => Unit::Word,
            _ => Unit::Line,
        }
    }

    /// Returns the entry of the list in front that stands at a place.
    pub(in crate::app) fn entry(&self, at: Position) -> Option<usize> {
        self.list.iter().find(|(place, _)| place.contains(at)).map(|(_, entry)| *entry)
    }

    /// Returns what stands at a place, with no popup in front.
    pub(in crate::app) fn target(&self, regions: &Regions, at: Position) -> HitTarget {
        let border = match regions.form {
            LayoutForm::Side => regions.divider,
            LayoutForm::Below => regions.agents_head,
            _ => Rect::default(),
        };
        if border.contains(at) {
            HitTarget::Border
        } else if regions.composer.contains(at) {
            HitTarget::Composer
        } else if regions.approvals.contains(at) {
            HitTarget::Approvals(self.answers.iter().find(|(place, _)| place.contains(at)).map(|(_, action)| *action))
        } else if regions.conversation.contains(at) {
            HitTarget::Conversation
        } else if regions.commands.contains(at) {
            HitTarget::Command(at.y - regions.commands.y, at.x + STOP_COLUMNS >= regions.commands.right())
        } else if regions.timeline.contains(at) {
            HitTarget::Timeline
        } else if regions.filed.contains(at) {
            HitTarget::Filed
        } else if let Some(pane) = regions.panes.iter().find(|pane| pane.area.contains(at)) {
            HitTarget::Pane(*pane, part_of(pane, at))
        } else {
            HitTarget::Nothing
        }
    }
}

fn part_of(pane: &PaneRect, at: Position) -> PanePart {
    if at.y != pane.area.y {
        PanePart::Body
    } else if pane.area.width >= STOP_FROM && at.x + STOP_COLUMNS >= pane.area.right() {
        PanePart::Stop
    } else if at.x < pane.area.x + pane.descent.columns() + 2 {
        PanePart::Fold
    } else {
        PanePart::Title
    }
}

/// Returns the share of the agents in per cent if their border is dragged to a place.
pub(in crate::app) fn share_at(regions: &Regions, screen: Rect, at: Position) -> u32 {
    let (from_end, whole) = match regions.form {
        LayoutForm::Side => (screen.width.saturating_sub(at.x), screen.width),
        _ => (regions.rule.y.saturating_sub(at.y), regions.rule.y),
    };
    u32::from(from_end) * 100 / u32::from(whole.max(1))
}
