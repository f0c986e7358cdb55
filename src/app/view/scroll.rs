//! Where the view into a transcript stands.
//!
//! Owns the wish to move and the place that was found. Leaves heights of cells, which only a drawn frame knows, to
//! the views: they carry out the wish and answer with [`Drawn`]. Invariant: a view follows the tail until it is
//! moved, and stays put from then on, whatever arrives.

use ratatui::layout::Rect;

use super::selection::Point;
use crate::app::action::Action;
use crate::app::cells::CellId;
use crate::app::panes::PaneSize;
use crate::app::question::QuestionSeen;
use crate::message::AgentId;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Anchor {
    pub cell: CellId,
    /// The line within it, from 0.
    pub line: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Motion {
    /// By lines, down if positive.
    Lines(i32),
    /// By heights of the view, down if positive.
    Pages(i32),
    Top,
    /// To the next line that holds the sought text.
    FindDown,
    /// To the previous line that holds the sought text.
    FindUp,
    /// To the last line of all that holds the sought text.
    FindLast,
    /// To the first line of all that holds the sought text.
    FindFirst,
    /// As [`Self::FindLast`], for a text that is still being typed: only what is held is looked at.
    FindTyped,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Scroll {
    /// The first visible line; `None` follows the tail.
    pub at: Option<Anchor>,
    pub found: Option<Anchor>,
    /// What to do at the next frame.
    pub motion: Option<Motion>,
    /// How much had arrived when the view left the tail.
    pub left_at: u64,
}

impl Scroll {
    /// Asks for a move. Moves by lines add up until a frame carries them out.
    pub fn request(&mut self, motion: Motion, arrived: u64) {
        if self.at.is_none() {
            self.left_at = arrived;
        }
        self.motion = Some(match (self.motion, motion) {
            (Some(Motion::Lines(before)), Motion::Lines(more)) => Motion::Lines(before.saturating_add(more)),
            (Some(Motion::Pages(before)), Motion::Pages(more)) => Motion::Pages(before.saturating_add(more)),
            (_, motion) => motion,
        });
    }

    /// Goes back to the tail and follows it.
    pub fn follow(&mut self) {
        *self = Self::default();
    }

    /// Returns `true` if the view stays put.
    pub fn is_held(&self) -> bool {
        self.at.is_some() || self.motion.is_some()
    }

    /// Returns how many lines arrived since the view left the tail.
    pub fn news(&self, arrived: u64) -> u64 {
        if self.at.is_some() { arrived.saturating_sub(self.left_at) } else { 0 }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScrollTarget {
    pub agent: AgentId,
    pub at: Option<Anchor>,
    pub found: Option<Anchor>,
    pub selected: Option<(Point, Point)>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Drawn {
    /// The transcripts that were drawn, and where their views stand now.
    pub places: Vec<ScrollTarget>,
    pub panes: Vec<(AgentId, PaneSize)>,
    /// How many rows the bodies of panes would fill, up to some more than they have.
    pub contents: Vec<(AgentId, u16)>,
    pub reports: Vec<AgentId>,
    /// The selected text, where it was wanted.
    pub copied: Option<String>,
    /// Whether a search found nothing.
    pub not_found: bool,
    /// What of the open question was on screen, with nothing in front of it.
    pub question: Option<QuestionSeen>,
    /// How many rows the conversation can fill.
    pub talk_rows: Option<u16>,
    pub answers: Vec<(Rect, Action)>,
    /// Where the entries of the list in front stand, and which they are.
    pub list: Vec<(Rect, usize)>,
    /// Last line a popup or the open question can scroll to.
    pub popup_end: usize,
    /// Lines of a popup that are seen at once.
    pub popup_rows: usize,
}
