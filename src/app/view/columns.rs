//! Which column each pane stands in, where conversation and agents are beside each other.
//!
//! Owns the dealing of branches to columns. Leaves rectangles to `layout`. Invariants: a branch stands in one column, and
//! stays there until the next message; only the conversation, where it grows into a pane below it, moves that one away.

use std::collections::BTreeMap;

use super::View;
use super::layout::ColumnRoom;
use super::panes::{PANE_ROWS, PaneRequest};
use crate::app::outbox::Outbox;

/// The column below a conversation that leaves rows blank.
pub const BELOW_TALK: usize = 2;

/// Rows of a pane that has no need of the room below the conversation.
const AMPLE_ROWS: u16 = 12;

/// Agents that one agent leads, itself included.
struct Branch {
    number: usize,
    panes: u16,
    /// How many of its panes are open.
    open: u16,
}

impl Branch {
    fn all(wishes: &[PaneRequest]) -> Vec<Self> {
        let mut all: Vec<Self> = Vec::new();
        for wish in wishes {
            let open = u16::from(wish.wants_room());
            match all.last_mut().filter(|last| last.number == wish.branch) {
                Some(last) => (last.panes, last.open) = (last.panes + 1, last.open + open),
                None => all.push(Self { number: wish.branch, panes: 1, open }),
            }
        }
        all
    }

    /// Returns the rows with which its panes are worth looking at.
    fn rows(&self) -> u16 {
        self.panes.saturating_sub(self.open).saturating_add(self.open.saturating_mul(PANE_ROWS))
    }
}

/// What stands in the columns.
struct Deal<'a> {
    columns: &'a mut BTreeMap<usize, usize>,
    branches: &'a [Branch],
}

impl Deal<'_> {
    fn within(&self, column: usize) -> impl Iterator<Item = &Branch> {
        self.branches.iter().filter(move |branch| self.columns.get(&branch.number) == Some(&column))
    }

    fn open(&self, column: usize) -> u16 {
        self.within(column).map(|branch| branch.open).fold(0, u16::saturating_add)
    }

    fn rows(&self, column: usize) -> u16 {
        self.within(column).map(Branch::rows).fold(0, u16::saturating_add)
    }

    /// Puts a branch where the fewest panes of agents are open.
    fn put_beside(&mut self, branch: &Branch, columns: usize) {
        let column = (0..columns).min_by_key(|column| self.open(*column)).unwrap_or(0);
        self.columns.insert(branch.number, column);
    }
}

impl View {
    /// Deals the branches that stand in no column yet, and takes those from below the conversation that it needs the
    /// rows of.
    pub(in crate::app) fn deal_columns(&mut self, wishes: &[PaneRequest], room: ColumnRoom, out: &mut Outbox) {
        let blank = room.rows.saturating_sub(self.talk_rows.unwrap_or(room.rows).saturating_add(1));
        let before = self.columns.clone();
        let branches = Branch::all(wishes);
        let mut deal = Deal { columns: &mut self.columns, branches: &branches };
        while deal.rows(BELOW_TALK) > blank {
            let Some(first) = branches.iter().find(|branch| deal.columns.get(&branch.number) == Some(&BELOW_TALK))
            else {
                break;
            };
            deal.put_beside(first, room.columns);
        }
        let new: Vec<&Branch> = branches.iter().filter(|branch| !deal.columns.contains_key(&branch.number)).collect();
        let below = deal.fit_below(&new, room, blank);
        for (at, branch) in new.iter().enumerate() {
            if at + below < new.len() {
                deal.put_beside(branch, room.columns);
            } else {
                deal.columns.insert(branch.number, BELOW_TALK);
            }
        }
        out.redraw_if(self.columns != before);
    }
}

impl Deal<'_> {
    /// Returns how many of the new branches, from the last one on, have more room below the conversation than beside it.
    fn fit_below(&self, new: &[&Branch], room: ColumnRoom, blank: u16) -> usize {
        let columns = u16::try_from(room.columns).unwrap_or(1);
        let mut beside: u16 = (0..room.columns).map(|column| self.open(column)).sum();
        beside += new.iter().map(|branch| branch.open).sum::<u16>();
        let (mut open, mut rows) = (self.open(BELOW_TALK), self.rows(BELOW_TALK));
        let mut fit = 0;
        for branch in new.iter().rev() {
            (open, rows) = (open.saturating_add(branch.open), rows.saturating_add(branch.rows()));
            let share_beside = room.rows.saturating_mul(columns) / beside.max(1);
            if rows > blank || share_beside >= AMPLE_ROWS || blank / open.max(1) < share_beside {
                break;
            }
            beside = beside.saturating_sub(branch.open);
            fit += 1;
        }
        fit
    }
}
