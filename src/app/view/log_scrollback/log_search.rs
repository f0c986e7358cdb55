//! A search that goes on in the session's log when what is held does not have the words.
//!
//! Owns how far such a search has come and the way back. Leaves reading to `log_scrollback` and looking at the steps to the
//! views. Invariants: the view goes with the search, so that no more is held than for one that is scrolled; what
//! comes to nothing leaves the view where it was.

use std::collections::VecDeque;

use super::{LoadedUpTo, LogScrollback, Page};
use crate::app::outbox::Outbox;
use crate::app::view::View;
use crate::app::view::scroll::{Anchor, Motion, Scroll};
use crate::app::{Agents, FlashSubject};

#[derive(Debug)]
pub(super) struct Seek {
    pub(super) motion: Motion,
    /// Where the view stood before.
    from: Scroll,
    /// What was held there.
    pages: VecDeque<Page>,
}

impl Seek {
    /// Follows numbers that grew.
    pub(super) fn shift(&mut self, grown: i64, join: u64) {
        self.from.shift(grown, join);
        for page in &mut self.pages {
            page.first = page.first.saturating_add_signed(grown);
        }
    }
}

impl Scroll {
    /// Follows numbers before a cell that grew.
    pub(super) fn shift(&mut self, grown: i64, join: u64) {
        for place in [&mut self.at, &mut self.found].into_iter().flatten().filter(|place| place.cell < join) {
            place.cell = place.cell.saturating_add_signed(grown);
        }
    }
}

impl LogScrollback {
    /// Makes ready for a search from a place.
    fn begin_seek(&mut self, motion: Motion, from: Scroll) {
        if !self.is_joined() && from.at.is_none_or(|at| at.cell >= self.join.0) {
            // What is held lies elsewhere: what comes right before is needed.
            self.pages.clear();
            self.reading = None;
        }
        self.seek = Some(Seek { motion, from, pages: self.pages.clone() });
    }
}

impl View {
    /// Takes in what a search in the full view came to, and lets it go on where there is more to look at.
    pub(in crate::app::view) fn on_searched(
        &mut self,
        wished: Option<Motion>,
        missed: bool,
        agents: &Agents,
        out: &mut Outbox,
    ) {
        let motion = match wished {
            Some(Motion::FindLast) => Some(Motion::FindUp),
            Some(Motion::FindFirst) => Some(Motion::FindDown),
            wished => wished.filter(|motion| matches!(motion, Motion::FindUp | Motion::FindDown)),
        };
        match (motion, missed) {
            (Some(_), false) => self.drop_seek(out),
            (Some(motion), true) if self.seek_further(motion, agents, out) => {
                out.inform_about(FlashSubject::LogSearch, "searching earlier steps…");
            }
            (_, true) => {
                self.end_seek(out);
                if !self.begin_anew(wished, out) {
                    out.warn("no match");
                }
            }
            (None, false) => {}
        }
    }

    /// Goes on at the other end once nothing is left in a direction. Returns `true` if there is a match at all.
    fn begin_anew(&mut self, wished: Option<Motion>, out: &mut Outbox) -> bool {
        let (motion, words) = match wished {
            Some(Motion::FindDown) => (Motion::FindFirst, "wrapped around to the first match"),
            Some(Motion::FindUp) => (Motion::FindLast, "wrapped around to the last match"),
            _ => return false,
        };
        let Some(id) = self.full else { return false };
        let scroll = &mut self.panes.entry(id).or_default().scroll;
        // Taken, so that a match that is gone is not looked for twice.
        if scroll.found.take().is_none() {
            return false;
        }
        scroll.motion = Some(motion);
        out.inform(words);
        true
    }

    /// Goes to the edge of what is held and reads on from there. Returns `true` if there is more to read.
    fn seek_further(&mut self, motion: Motion, agents: &Agents, out: &mut Outbox) -> bool {
        let Some(agent) = self.full.and_then(|id| agents.get(id)) else { return false };
        let (id, name) = (agent.id, agent.name.clone());
        let story = self.story(agent);
        let (more, edge) = match motion {
            Motion::FindUp => (self.before(agent) == LoadedUpTo::Coming, Anchor { cell: story.first(), line: 0 }),
            _ => (story.breaks_off(), Anchor { cell: story.end().saturating_sub(1), line: usize::MAX / 2 }),
        };
        let state = self.panes.entry(id).or_default();
        let sought = state.search.as_ref().is_some_and(|sought| !sought.is_empty());
        let Some(past) = self.past.as_mut().filter(|past| past.agent == id && more && sought) else { return false };
        if past.seek.is_none() {
            past.begin_seek(motion, Scroll { motion: None, ..state.scroll.clone() });
        }
        state.scroll.at = Some(Anchor { line: 0, ..edge });
        state.scroll.found = Some(edge);
        past.read_on(Some(edge.cell), name, out);
        past.reading.is_some()
    }

    /// Ends a search in the log and goes back to where it began. Returns `true` if there was one.
    pub(in crate::app) fn end_seek(&mut self, out: &mut Outbox) -> bool {
        let Some(past) = &mut self.past else { return false };
        let Some(seek) = past.seek.take() else { return false };
        past.pages = seek.pages;
        past.reading = None;
        self.panes.entry(past.agent).or_default().scroll = seek.from;
        out.clear_flash_about(&FlashSubject::LogSearch);
        true
    }

    /// Ends a search in the log where it has come to.
    pub(in crate::app) fn drop_seek(&mut self, out: &mut Outbox) {
        if self.past.as_mut().and_then(|past| past.seek.take()).is_some() {
            out.clear_flash_about(&FlashSubject::LogSearch);
        }
    }
}
