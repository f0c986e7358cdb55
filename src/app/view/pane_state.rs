//! How one agent's transcript is shown: its size, where its view stands, what is sought in it.
//!
//! Owns the user's choices about a pane and the folding of ended ones. Leaves sharing of room to `panes`.
//! Invariant: a pane folds by itself only after its report was on screen for a while, and never under the focus.

use std::time::{Duration, Instant};

use crate::app::log_scrollback::NotFound;
use crate::app::mouse::Pointed;
use crate::app::panes::PaneSize;
use crate::app::scroll::{Drawn, Scroll};
use crate::app::selection::{Selection, SelectionEnd};
use crate::app::{App, Effect, Phase};
use crate::message::AgentId;

/// How long a report is on screen before its pane folds.
pub(in crate::app) const LINGER: Duration = Duration::from_secs(3);

/// How much of the work is shown besides the words.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Detail {
    /// One line for each tool call, diffs in brief, thoughts folded.
    #[default]
    Brief,
    /// Everything.
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

/// How one transcript is shown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PaneState {
    /// The size the user chose.
    pub chosen: Option<PaneSize>,
    /// Whether the panes below it are shown.
    pub subtree: Subtree,
    /// Where the view stands.
    pub scroll: Scroll,
    /// How much is shown.
    pub detail: Detail,
    /// What is sought.
    pub search: Option<String>,
    /// What is chosen with the mouse.
    pub selection: Option<Selection>,
    /// Since when its report has been on screen.
    pub seen_at: Option<Instant>,
}

impl App {
    /// Returns how an agent's transcript is shown, to be changed.
    pub(in crate::app) fn pane_mut(&mut self, agent: AgentId) -> &mut PaneState {
        self.panes.entry(agent).or_default()
    }

    /// Returns `true` if an ended agent's pane has folded by itself.
    pub(in crate::app) fn is_folded_away(&self, agent: AgentId) -> bool {
        let seen = self.panes.get(&agent).and_then(|state| state.seen_at);
        seen.is_some_and(|at| self.now.saturating_duration_since(at) >= LINGER) && self.focused_agent() != Some(agent)
    }

    /// Returns when the next pane folds by itself.
    pub(in crate::app) fn next_fold(&self) -> Option<Instant> {
        self.panes.values().filter_map(|state| state.seen_at).map(|at| at + LINGER).filter(|at| *at > self.now).min()
    }

    /// Takes in what a frame showed.
    pub(in crate::app) fn on_drawn(&mut self, drawn: Drawn, effects: &mut Vec<Effect>) {
        let full = self.full.and_then(|id| self.panes.get(&id));
        let wished = full.and_then(|state| state.scroll.motion);
        self.follow_past(&drawn.places, wished, effects);
        for place in drawn.places {
            let state = self.pane_mut(place.agent);
            if let (Some(selection), Some((from, to))) = (&mut state.selection, place.selected) {
                (selection.from, selection.to) = (SelectionEnd::Text(from), SelectionEnd::Text(to));
            }
            let scroll = &mut state.scroll;
            scroll.at = place.at;
            scroll.found = place.found;
            scroll.motion = None;
        }
        for agent in drawn.reports {
            let now = self.now;
            let ended = self.agents.get(agent).is_some_and(|agent| matches!(agent.phase, Phase::Ended(_)));
            if ended {
                self.pane_mut(agent).seen_at.get_or_insert(now);
            }
        }
        if let Some(text) = drawn.copied {
            self.copy_selection(text, effects);
        }
        self.popup_end = drawn.popup_end;
        self.on_question_drawn(drawn.question, drawn.talk_rows);
        self.pointed = Pointed { answers: drawn.answers, list: drawn.list };
        self.visible = drawn.panes;
        self.on_searched(wished, if drawn.not_found { NotFound::Yes } else { NotFound::No }, effects);
    }
}
