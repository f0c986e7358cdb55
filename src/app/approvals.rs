//! The questions of the whole tree that wait for the user, in the order they were asked.
//!
//! Owns the queue and the guard between two questions. Leaves deciding to the engine. Invariants: a question is
//! asked once, whatever events say again later; a key pressed within a moment of a question's appearance answers
//! nothing, because it was meant for what stood there before.

use std::collections::{HashSet, VecDeque};
use std::time::{Duration, Instant};

use crate::message::{AgentId, plain, plain_line};
use crate::permission::{ApprovalId, ApprovalRequest, Preview};

/// How long a question stands before a key can answer it.
pub const GUARD: Duration = Duration::from_millis(100);

/// All open questions.
#[derive(Debug, Clone)]
pub struct Approvals {
    queue: VecDeque<ApprovalRequest>,
    settled: HashSet<ApprovalId>,
    /// Since when the first question stands.
    since: Instant,
    /// Whether all of the first question is shown.
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
        Self { queue: VecDeque::new(), settled: HashSet::new(), since: now, expanded: Expanded::No, scroll: 0 }
    }

    /// Returns the question that is shown.
    #[must_use]
    pub fn top(&self) -> Option<&ApprovalRequest> {
        self.queue.front()
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
        request.title = plain(&request.title).into_owned();
        if let Some(Preview::Note { text }) = &mut request.preview {
            *text = plain_line(text).into_owned();
        }
        self.queue.push_back(request);
        if self.queue.len() == 1 {
            self.shown(now);
        }
        true
    }

    /// Takes the question that is shown out of the queue in order to answer it, unless it has only just appeared.
    pub(super) fn take_top(&mut self, now: Instant) -> Option<ApprovalRequest> {
        if now.saturating_duration_since(self.since) < GUARD {
            return None;
        }
        let request = self.queue.pop_front()?;
        self.settled.insert(request.id.clone());
        self.shown(now);
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
        self.shown(now);
    }

    fn remove(&mut self, now: Instant, goes: impl Fn(&ApprovalRequest) -> bool) {
        let top_goes = self.queue.front().is_some_and(&goes);
        self.queue.retain(|request| !goes(request));
        if top_goes {
            self.shown(now);
        }
    }

    fn shown(&mut self, now: Instant) {
        self.since = now;
        self.expanded = Expanded::No;
        self.scroll = 0;
    }
}
