//! The questions of the whole tree that wait for the user, in the order they were asked.
//!
//! Owns the queue and the guard between two questions. Leaves deciding to the engine. Invariants: a question is
//! asked once, whatever events say again later; a key or a click within a moment of a question's appearance answers
//! nothing, because it was meant for what stood there before.

use std::collections::{HashSet, VecDeque};
use std::time::{Duration, Instant};

use crate::message::{AgentId, plain_line};
use crate::permission::{ApprovalId, ApprovalRequest, Preview};

/// How long a question stands before a key can answer it.
pub const GUARD: Duration = Duration::from_millis(100);

/// All open questions.
#[derive(Debug, Clone)]
pub struct Approvals {
    queue: VecDeque<ApprovalRequest>,
    settled: HashSet<ApprovalId>,
    /// Place of the question that is shown.
    at: usize,
    /// Since when it stands there.
    since: Instant,
    /// Whether all of it is shown.
    pub expanded: Expanded,
    /// First visible line of its details.
    pub scroll: usize,
}

/// How much of a question is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expanded {
    /// A few lines.
    No,
    /// As much as the screen holds.
    Yes,
}

impl Approvals {
    /// Returns an empty queue.
    #[must_use]
    pub fn new(now: Instant) -> Self {
        Self { queue: VecDeque::new(), settled: HashSet::new(), at: 0, since: now, expanded: Expanded::No, scroll: 0 }
    }

    /// Returns the question that is shown.
    #[must_use]
    pub fn shown(&self) -> Option<&ApprovalRequest> {
        self.queue.get(self.at)
    }

    /// Returns the place of the question that is shown, from 0.
    #[must_use]
    pub fn place(&self) -> usize {
        self.at
    }

    /// Shows the question `step` places on, around the ends.
    pub(super) fn turn(&mut self, step: isize, now: Instant) {
        let count = self.queue.len();
        if count > 1 {
            self.at = self.at.checked_add_signed(step).unwrap_or(count - 1) % count;
            self.appeared(now);
        }
    }

    /// Tells whether the question has stood long enough for an answer to be meant for it.
    #[must_use]
    pub fn is_ripe(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.since) >= GUARD
    }

    /// Tells whether a question is open.
    pub(super) fn is_open(&self, id: &ApprovalId) -> bool {
        self.queue.iter().any(|request| request.id == *id)
    }

    /// Returns the number of open questions.
    #[must_use]
    pub fn len(&self) -> usize {
        self.queue.len()
    }

    /// Tells whether no question is open.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Returns how many questions of one agent are open.
    #[must_use]
    pub fn of(&self, agent: AgentId) -> usize {
        self.queue.iter().filter(|request| request.id.agent == agent).count()
    }

    /// Returns how many subagents wait for an answer.
    #[must_use]
    pub fn agents(&self) -> usize {
        let asking: HashSet<AgentId> = self.queue.iter().map(|request| request.id.agent).collect();
        asking.iter().filter(|agent| !agent.is_main()).count()
    }

    /// Adds a question. Returns whether it is new.
    pub(super) fn ask(&mut self, request: &ApprovalRequest, now: Instant) -> bool {
        if self.settled.contains(&request.id) || self.queue.iter().any(|known| known.id == request.id) {
            return false;
        }
        let mut request = request.clone();
        request.title = request.act().into_owned();
        if let Some(Preview::Note { text }) = &mut request.preview {
            *text = plain_line(text).into_owned();
        }
        request.reason = plain_line(&request.reason).into_owned();
        self.queue.push_back(request);
        if self.queue.len() == 1 {
            self.appeared(now);
        }
        true
    }

    /// Takes the question that is shown out of the queue in order to answer it, unless it has only just appeared.
    pub(super) fn take_shown(&mut self, now: Instant) -> Option<ApprovalRequest> {
        let request = self.shown().filter(|_| self.is_ripe(now))?.clone();
        self.settle(&request.id, now);
        Some(request)
    }

    /// Closes a question.
    pub(super) fn settle(&mut self, id: &ApprovalId, now: Instant) {
        self.settled.insert(id.clone());
        self.remove(now, |request| request.id == *id);
    }

    /// Withdraws all questions of an agent.
    pub(super) fn withdraw(&mut self, agent: AgentId, now: Instant) {
        let settled: Vec<ApprovalId> =
            self.queue.iter().filter(|request| request.id.agent == agent).map(|request| request.id.clone()).collect();
        self.settled.extend(settled);
        self.remove(now, |request| request.id.agent == agent);
    }

    /// Withdraws everything, as at the start of a new conversation.
    pub(super) fn clear(&mut self, now: Instant) {
        self.settled.extend(self.queue.iter().map(|request| request.id.clone()));
        self.queue.clear();
        self.at = 0;
        self.appeared(now);
    }

    fn remove(&mut self, now: Instant, goes: impl Fn(&ApprovalRequest) -> bool) {
        let shown_goes = self.shown().is_some_and(&goes);
        let before = self.queue.iter().take(self.at).filter(|request| goes(request)).count();
        self.queue.retain(|request| !goes(request));
        if shown_goes {
            // The one that waits longest comes next.
            self.at = 0;
            self.appeared(now);
        } else {
            self.at -= before.min(self.at);
        }
    }

    fn appeared(&mut self, now: Instant) {
        self.since = now;
        self.expanded = Expanded::No;
        self.scroll = 0;
    }
}
