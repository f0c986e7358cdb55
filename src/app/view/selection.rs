//! Text that is chosen with the mouse, within one transcript.
//!
//! Owns the two ends of the choice and when it is copied. Leaves the lines to the views, which know where a place of
//! the screen lies in a transcript: as with scrolling they are asked in one frame and have answered in the next.
//! Invariant: an end that was found stays at its text, whatever arrives or scrolls.

use ratatui::layout::Position;

use super::View;
use super::scroll::{Anchor, Motion};
use crate::app::outbox::Outbox;
use crate::app::{Agents, CellId, Effect};
use crate::message::AgentId;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Point {
    pub at: Anchor,
    /// The column within it, from 0.
    pub column: u16,
}

impl Point {
    /// Returns the place below the last line.
    #[must_use]
    pub fn below(at: Anchor) -> Self {
        Self { at, column: u16::MAX }
    }

    fn is_below(self) -> bool {
        self.column == u16::MAX
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SelectionEnd {
    /// Where the pointer was; the next frame finds the text there.
    Screen(Position),
    Text(Point),
}

/// What a selection is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    Character,
    /// Words: a double click.
    Word,
    /// Lines, as their author ended them: a triple click.
    Line,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Selection {
    pub from: SelectionEnd,
    pub to: SelectionEnd,
    pub unit: Unit,
    pub stage: SelectionStage,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SelectionStage {
    Growing,
    /// It was a mere click; the next frame finds what stands there.
    Clicked,
    /// The next frame hands over its text.
    Wanted,
    /// It was copied, and is shown until the next click.
    Copied,
}

impl Selection {
    /// Returns both ends in the order of the text, once they are known. A single click selects nothing.
    pub fn range(&self) -> Option<(Point, Point)> {
        match (self.from, self.to) {
            (SelectionEnd::Text(from), SelectionEnd::Text(to)) if from != to || self.unit != Unit::Character => {
                Some((from.min(to), from.max(to)))
            }
            _ => None,
        }
    }
}

impl View {
    /// Begins a selection in a transcript, in the place of any other.
    pub(in crate::app) fn begin_selection(&mut self, agent: AgentId, at: Position, unit: Unit) {
        self.clear_selection();
        let end = SelectionEnd::Screen(at);
        self.pane_mut(agent).selection = Some(Selection { from: end, to: end, unit, stage: SelectionStage::Growing });
    }

    /// Moves the end of the selection; past an edge of the view the text moves too.
    pub(in crate::app) fn grow_selection(
        &mut self,
        agent: AgentId,
        at: Position,
        edges: (u16, u16),
        agents: &Agents,
        out: &mut Outbox,
    ) {
        let (top, bottom) = edges;
        if let Some(selection) = &mut self.pane_mut(agent).selection {
            selection.to = SelectionEnd::Screen(at);
        }
        if at.y < top {
            self.request_scroll(agents, agent, Motion::Lines(-1), out);
        } else if at.y >= bottom {
            self.request_scroll(agents, agent, Motion::Lines(1), out);
        }
    }

    /// Ends the selection: it is copied. A mere click opens what it is on, where `opens` says so, and else is forgotten.
    pub(in crate::app) fn end_selection(&mut self, agent: AgentId, opens: bool) {
        let state = self.pane_mut(agent);
        let is_click = |selection: &Selection| selection.from == selection.to && selection.unit == Unit::Character;
        state.selection.take_if(|selection| is_click(selection) && !opens);
        if let Some(selection) = &mut state.selection {
            selection.stage = if is_click(selection) { SelectionStage::Clicked } else { SelectionStage::Wanted };
        }
    }

    /// Returns the cell that was clicked on, once a frame has found it, and forgets the click.
    pub(super) fn take_click(&mut self) -> Option<(AgentId, CellId)> {
        self.panes.iter_mut().find_map(|(agent, state)| {
            let click = state.selection.take_if(|selection| selection.stage == SelectionStage::Clicked)?;
            match click.from {
                SelectionEnd::Text(point) if !point.is_below() => Some((*agent, point.at.cell)),
                _ => None,
            }
        })
    }

    pub(in crate::app) fn clear_selection(&mut self) {
        for state in self.panes.values_mut() {
            state.selection = None;
        }
    }

    pub(super) fn copy_selection(&mut self, text: String, out: &mut Outbox) {
        for selection in self.panes.values_mut().filter_map(|state| state.selection.as_mut()) {
            selection.stage = SelectionStage::Copied;
        }
        out.inform(format!("copied {} characters", text.chars().count()));
        out.push(Effect::Copy(text));
    }
}
