//! How one agent's transcript is shown: its size, where its view stands, what is sought in it.
//!
//! Owns the user's choices about a pane and the folding of ended ones. Leaves sharing of room to `panes`.
//! Invariant: a pane folds by itself only after its report was on screen for a while, and never under the focus.

use std::time::{Duration, Instant};

use super::View;
use super::panes::PaneSize;
use super::scroll::{Motion, Scroll, ScrollTarget};
use super::selection::{Selection, SelectionEnd};
use crate::app::{AgentView, Agents};
use crate::message::AgentId;

/// How long a report is on screen before its pane folds.
const LINGER: Duration = Duration::from_secs(3);

/// How much of the work is shown besides the words.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Detail {
    /// One line for each tool call, diffs in brief, thoughts folded.
    #[default]
    Brief,
    Whole,
}

/// Whether the panes below one are shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Subtree {
    /// They are, as far as there is room.
    #[default]
    Shown,
    /// They are folded into its title.
    Hidden,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PaneState {
    pub chosen: Option<PaneSize>,
    /// Rows that the user has added to it.
    pub grown: u16,
    /// Rows that its body filled or would have filled when it was drawn last, and how much had arrived by then.
    pub content: Option<(u16, u64)>,
    pub subtree: Subtree,
    pub scroll: Scroll,
    pub detail: Detail,
    pub search: Option<String>,
    pub selection: Option<Selection>,
    pub seen_at: Option<Instant>,
    /// The run after which the agent's pane was folded away with others that have ended.
    pub filed_after: Option<u32>,
}

impl View {
    pub(in crate::app) fn pane(&self, agent: AgentId) -> PaneState {
        self.panes.get(&agent).cloned().unwrap_or_default()
    }

    /// Looks for what is being typed, from where the view stood before; without a text it stands there again.
    pub(in crate::app) fn search_typed(&mut self, agent: AgentId, text: &str, from: &Scroll) {
        let state = self.pane_mut(agent);
        state.search = Some(text.to_owned()).filter(|text| !text.is_empty());
        let motion = state.search.as_ref().map(|_| Motion::FindTyped);
        state.scroll = Scroll { found: None, motion, ..from.clone() };
    }

    pub(in crate::app) fn pane_mut(&mut self, agent: AgentId) -> &mut PaneState {
        self.panes.entry(agent).or_default()
    }

    /// Returns `true` if an ended agent's pane has folded by itself.
    pub(super) fn is_folded_away(&self, agent: AgentId, now: Instant) -> bool {
        let seen = self.panes.get(&agent).and_then(|state| state.seen_at);
        seen.is_some_and(|at| now.saturating_duration_since(at) >= LINGER) && self.focused_agent() != Some(agent)
    }

    /// Begins with a new message: folds the panes of all agents that have ended into one row.
    pub(in crate::app) fn file_ended(&mut self, agents: &Agents) {
        self.is_talk_measured_anew = true;
        for agent in agents.children().filter(|agent| agent.has_ended()) {
            self.pane_mut(agent.id).filed_after = Some(agent.run);
        }
        self.shows_filed = false;
    }

    /// Shows the panes that were folded into one row, or folds them again.
    pub(in crate::app) fn toggle_filed(&mut self) {
        self.shows_filed = !self.shows_filed;
    }

    pub(in crate::app) fn shows_filed(&self) -> bool {
        self.shows_filed
    }

    /// Returns `true` if an agent's pane was folded into the row of those that have ended.
    pub(in crate::app) fn is_filed(&self, agent: &AgentView) -> bool {
        let after = self.panes.get(&agent.id).and_then(|state| state.filed_after);
        agent.has_ended() && after == Some(agent.run)
    }

    pub(in crate::app) fn next_fold(&self, now: Instant) -> Option<Instant> {
        self.panes.values().filter_map(|state| state.seen_at).map(|at| at + LINGER).filter(|at| *at > now).min()
    }

    /// Returns `true` if a pane has folded by itself within the time before `now`.
    pub(in crate::app) fn has_just_folded(&self, now: Instant, within: Duration) -> bool {
        let folds = |at: Instant| at + LINGER <= now && now < at + LINGER + within;
        self.panes.values().filter_map(|state| state.seen_at).any(folds)
    }

    pub(super) fn apply_places(&mut self, places: &[ScrollTarget]) {
        for place in places {
            let state = self.pane_mut(place.agent);
            if let (Some(selection), Some((from, to))) = (&mut state.selection, place.selected) {
                (selection.from, selection.to) = (SelectionEnd::Text(from), SelectionEnd::Text(to));
            }
            let scroll = &mut state.scroll;
            scroll.at = place.at;
            scroll.found = place.found;
            scroll.motion = None;
        }
    }
}
