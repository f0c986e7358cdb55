//! The questions of the whole tree that wait for the user, in the order of their agents.
//!
//! Owns the queue, and what of each question has been on the screen. Leaves deciding to the engine and the guard against
//! hasty keys to `guard`. Invariants: a question is asked once, whatever events say again later; a question stands only
//! while drawn frames show it.

pub(super) mod answer;
pub mod diff_rows;
pub(super) mod guard;
pub mod question;
pub mod terms;

use std::collections::{HashSet, VecDeque};
use std::time::Instant;

use self::guard::{GUARD, TypeAhead};
use self::question::{MAX_NOTE, QuestionSeen, SeenRows};
use crate::message::{AgentId, reveal, reveal_line, sanitize_line};
use crate::permission::RuleNotice;
use crate::permission::{ActiveGrant, ApprovalId, ApprovalRequest, Preview};

#[derive(Debug, Clone, Default)]
pub struct Approvals {
    queue: VecDeque<Open>,
    settled: HashSet<ApprovalId>,
    at: usize,
    /// Since when frames show it; `None` while they do not.
    since: Option<Instant>,
    last: Option<QuestionSeen>,
    guard: TypeAhead,
    /// Whether a key for a yes has shown more of the question instead, and no frame has yet.
    expanding: bool,
    expanded: Expanded,
    /// First visible line of its details.
    scroll: usize,
    /// What is allowed in advance, by origin.
    grants: Vec<ActiveGrant>,
    rules: Vec<RuleNotice>,
    /// The question whose report is in `$EDITOR`.
    editing: Option<ApprovalId>,
    /// How often that was done.
    edits: usize,
    /// How many questions an answer settled besides its own, and until when more count as its doing.
    also_allowed: Option<(usize, Instant)>,
}

#[derive(Debug, Clone)]
struct Open {
    request: ApprovalRequest,
    seen: SeenRows,
    /// What the user has written in the place of the report that it is about.
    edited: Option<String>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Expanded {
    /// What changes, and of a long command its head and its tail.
    #[default]
    No,
    /// All of it, to scroll through where the screen is too small.
    Yes,
}

/// What stands between a question and a yes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hidden {
    Nothing,
    /// Rows that can be shown.
    Rows,
    /// A screen that cannot show a row.
    Everything,
}

impl Approvals {
    pub fn shown(&self) -> Option<&ApprovalRequest> {
        self.queue.get(self.at).map(|open| &open.request)
    }

    /// Returns what of the shown question has been on the screen.
    pub fn seen(&self) -> Option<&SeenRows> {
        self.queue.get(self.at).map(|open| &open.seen)
    }

    /// Returns how often a question has come back with another text.
    pub fn edits(&self) -> usize {
        self.edits
    }

    pub fn expanded(&self) -> Expanded {
        self.expanded
    }

    pub fn scroll(&self) -> usize {
        self.scroll
    }

    /// Returns the place of the question that is shown, from 0.
    pub fn place(&self) -> usize {
        self.at
    }

    fn since(&self) -> Option<Instant> {
        self.since
    }

    /// Takes in what a frame showed of the question. Returns how many rows of it were never seen, where that is new.
    fn drawn(&mut self, shown: Option<QuestionSeen>, now: Instant) -> Option<usize> {
        let open = self.queue.get_mut(self.at)?;
        let Some(shown) = shown.filter(|shown| shown.id == open.request.id) else {
            (self.since, self.last) = (None, None);
            return None;
        };
        self.since.get_or_insert(now);
        open.seen.add(&shown);
        let unseen = shown.unseen;
        let before = self.last.replace(shown).map(|last| last.unseen);
        (before != Some(unseen)).then_some(unseen)
    }

    /// Returns what of the question is still hidden.
    fn hidden(&self) -> Hidden {
        match (self.seen(), &self.last) {
            (Some(seen), _) if seen.is_complete() => Hidden::Nothing,
            (_, Some(last)) if !last.has_room => Hidden::Everything,
            _ => Hidden::Rows,
        }
    }

    /// Shows all of the question, or more of it.
    fn show_more(&mut self) {
        // What was hidden comes first, and not what stands around it.
        self.expand();
        if let Some(last) = &self.last {
            self.scroll = last.next;
        }
    }

    /// Shows all of the question. Returns `true` if it did not before.
    pub(in crate::app) fn expand(&mut self) -> bool {
        let was_brief = self.expanded == Expanded::No;
        if was_brief {
            (self.expanded, self.scroll) = (Expanded::Yes, 0);
        }
        was_brief
    }

    /// Shows the question `step` places on, around the ends.
    fn turn(&mut self, step: isize) {
        let count = self.queue.len();
        if count > 1 {
            self.at = self.at.checked_add_signed(step).unwrap_or(count - 1) % count;
            self.appeared();
        }
    }

    pub(in crate::app) fn is_open(&self, id: &ApprovalId) -> bool {
        self.find(id).is_some()
    }

    fn find(&self, id: &ApprovalId) -> Option<&ApprovalRequest> {
        self.queue.iter().map(|open| &open.request).find(|request| request.id == *id)
    }

    pub fn len(&self) -> usize {
        self.queue.len()
    }

    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Returns how many questions of one agent are open.
    pub fn of(&self, agent: AgentId) -> usize {
        self.queue.iter().filter(|open| open.request.id.agent == agent).count()
    }

    /// Returns the first open question of an agent.
    pub(in crate::app) fn first_of(&self, agent: AgentId) -> Option<&ApprovalRequest> {
        self.queue.iter().map(|open| &open.request).find(|request| request.id.agent == agent)
    }

    /// Returns how many subagents wait for an answer.
    pub fn agents(&self) -> usize {
        let asking: HashSet<AgentId> = self.queue.iter().map(|open| open.request.id.agent).collect();
        asking.iter().filter(|agent| !agent.is_main()).count()
    }

    /// Adds a question. Returns whether it is new. It stands before those of later agents, as if all had been asked at once,
    /// but for one that is being read.
    pub(in crate::app) fn ask(&mut self, request: &ApprovalRequest, now: Instant) -> bool {
        if self.settled.contains(&request.id) || self.is_open(&request.id) {
            return false;
        }
        let mut request = request.clone();
        request.title = request.act().into_owned();
        match &mut request.preview {
            Some(Preview::Note { text }) => *text = reveal_line(text).chars().take(MAX_NOTE).collect(),
            Some(Preview::Report { text } | Preview::Plan { text }) => *text = reveal(text).into_owned(),
            Some(Preview::Diff(_) | Preview::Questions { .. }) | None => {}
        }
        request.reason = sanitize_line(&request.reason).into_owned();
        let is_read = self.expanded == Expanded::Yes || self.since.is_some_and(|since| now >= since + GUARD);
        let first = if is_read && !self.queue.is_empty() { self.at + 1 } else { 0 };
        let later = |open: &Open| open.request.id.agent > request.id.agent;
        let place = self.queue.iter().skip(first).position(later).map_or(self.queue.len(), |at| first + at);
        self.queue.insert(place, Open { request, seen: SeenRows::default(), edited: None });
        if place <= self.at {
            self.at = place;
            self.appeared();
        }
        true
    }

    pub(in crate::app) fn settle(&mut self, id: &ApprovalId) {
        self.settled.insert(id.clone());
        self.remove(|request| request.id == *id);
    }

    pub(in crate::app) fn withdraw(&mut self, agent: AgentId) {
        let ids = self.queue.iter().map(|open| &open.request.id);
        self.settled.extend(ids.filter(|id| id.agent == agent).cloned());
        self.remove(|request| request.id.agent == agent);
    }

    /// Withdraws everything, as at the start of a new conversation.
    pub(in crate::app) fn clear(&mut self) {
        self.settled.extend(self.queue.iter().map(|open| open.request.id.clone()));
        self.queue.clear();
        self.at = 0;
        self.appeared();
    }

    fn remove(&mut self, goes: impl Fn(&ApprovalRequest) -> bool) {
        let shown_goes = self.shown().is_some_and(&goes);
        let before = self.queue.iter().take(self.at).filter(|open| goes(&open.request)).count();
        self.queue.retain(|open| !goes(&open.request));
        if shown_goes {
            // The one of the earliest agent comes next.
            self.at = 0;
            self.appeared();
        } else {
            self.at -= before.min(self.at);
        }
    }

    fn appeared(&mut self) {
        (self.since, self.last) = (None, None);
        self.expanded = Expanded::No;
        self.expanding = false;
        self.scroll = 0;
    }
}
