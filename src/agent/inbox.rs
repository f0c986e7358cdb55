//! What reaches an agent while it works: messages, and reports of subagents that nobody waited for.
//!
//! Owns their order, how urgent they are, and the moment after which none can be left. Leaves adding them to a
//! transcript to `run`. Invariants: a message is handed out once: to the agent, to the user who takes it back, or to
//! nobody once the inbox is closed, but for reports, which go on to the agent above; a pending report keeps an agent
//! that waits for reports from ending.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use super::Author;
use crate::message::{AgentId, MessageId, reminder, without_picture_marks};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InboxMessage {
    pub text: String,
    pub by: Author,
    pub urgency: Urgency,
    /// Which message of the user it is.
    pub id: Option<MessageId>,
}

/// When a message is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Urgency {
    /// With whatever comes next; it wakes nobody.
    Later,
    /// Before the next request; it wakes an agent that rests.
    NextStep,
    /// Before the next tool call.
    Now,
}

impl InboxMessage {
    /// Returns what the user says to an agent at work.
    #[must_use]
    pub fn of_user(id: MessageId, text: String) -> Self {
        Self { text, by: Author::User, urgency: Urgency::Now, id: Some(id) }
    }

    #[must_use]
    pub fn of_parent(text: String) -> Self {
        Self { text, by: Author::Parent, urgency: Urgency::Now, id: None }
    }

    /// Returns what this program says to an agent.
    #[must_use]
    pub fn of_program(text: &str) -> Self {
        Self { text: text.to_owned(), by: Author::Program, urgency: Urgency::Now, id: None }
    }

    #[must_use]
    pub fn report(agent: AgentId, text: String, urgency: Urgency) -> Self {
        Self { text, by: Author::Subagents(vec![agent]), urgency, id: None }
    }

    fn is_report(&self) -> bool {
        matches!(self.by, Author::Subagents(_))
    }

    pub(super) fn model_text(&self) -> String {
        self.by.model_text(&self.text)
    }
}

impl Author {
    pub fn model_text(&self, text: &str) -> String {
        match self {
            // What others quote shows no picture anew.
            Self::Program => without_picture_marks(text),
            Self::User => format!("{text}\n\n{}", reminder(STEERED)),
            Self::Parent => format!("{text}\n\n{}", reminder(DIRECTED)),
            Self::Subagents(_) => format!("{}\n\n{}", reminder(REPORTED), without_picture_marks(text)),
        }
    }
}

/// Words behind a message that reaches an agent at work. Its parent gets its last reply and nothing before it.
const STEERED: &str = "The user sent you this while you work. Heed it from here on. Whoever waits for you gets \
                       your last reply alone: repeat in it what still holds of what you said before.";

/// Words behind a message of the agent above.
const DIRECTED: &str = "The agent that sent you out tells you this while you work. Heed it from here on. It gets your \
                        last reply alone: repeat in it what still holds of what you said before.";

/// Words before reports that arrive as a message.
const REPORTED: &str = "Subagents that worked in the background have reported. The user does not see these reports. Go \
                        on with them in mind, and tell the user what matters.";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PendingReport {
    /// The agent goes on meanwhile.
    Expected,
    /// The agent asks its model nothing before it has come.
    Awaited,
}

/// What waits for one agent; clones share it.
#[derive(Debug, Clone, Default)]
pub struct Inbox(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct State {
    waiting: VecDeque<InboxMessage>,
    expected: usize,
    awaited: usize,
    access: InboxState,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum InboxState {
    #[default]
    Open,
    /// It stays open from run to run.
    Lasting,
    Closed,
}

/// What a look at the end of a run found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum IdleState {
    Nothing,
    More,
    ReportsPending,
}

/// What an agent does that has answered while subagents still work for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AtEnd {
    WaitForReports,
    /// It ends, and the reports wake it. It waits for those alone that it asks nothing before.
    Leave,
}

impl Inbox {
    /// Returns an inbox that outlives the runs of its agent.
    #[must_use]
    pub fn lasting() -> Self {
        let inbox = Self::default();
        inbox.state().access = InboxState::Lasting;
        inbox
    }

    /// Adds a message. One added after the last request of a run is never read, and comes back. Returns the message if
    /// the inbox is closed.
    pub fn push(&self, message: InboxMessage) -> Result<(), InboxMessage> {
        let mut state = self.state();
        if state.access == InboxState::Closed {
            return Err(message);
        }
        state.waiting.push_back(message);
        drop(state);
        self.0.changed.notify_waiters();
        Ok(())
    }

    /// Returns `true` if its agent has said its last word.
    pub fn is_closed(&self) -> bool {
        self.state().access == InboxState::Closed
    }

    /// Takes back a message of the user's, if nobody has read it.
    pub fn take_back(&self, id: MessageId) {
        self.state().waiting.retain(|message| message.id != Some(id));
    }

    /// Takes out the latest report of one agent, which was handed over another way.
    pub fn take_report(&self, agent: AgentId) {
        let by = Author::Subagents(vec![agent]);
        let mut state = self.state();
        if let Some(at) = state.waiting.iter().rposition(|message| message.by == by) {
            state.waiting.remove(at);
        }
    }

    /// Takes out the reports that its agent did not read before its end.
    pub fn unread_reports(&self) -> Vec<InboxMessage> {
        let waiting = std::mem::take(&mut self.state().waiting);
        waiting.into_iter().filter(InboxMessage::is_report).collect()
    }

    pub fn expect(&self, pending: PendingReport) {
        *self.state().count(pending) += 1;
    }

    /// Notes that a report has come, or will not.
    pub fn resolve(&self, pending: PendingReport) {
        let mut state = self.state();
        let count = state.count(pending);
        *count = count.saturating_sub(1);
        drop(state);
        self.0.changed.notify_waiters();
    }

    /// Forgets all messages and all expected reports.
    pub fn clear(&self) {
        let mut state = self.state();
        *state = State { access: state.access, ..State::default() };
        drop(state);
        self.0.changed.notify_waiters();
    }

    /// Forgets the reports of these agents and those after them.
    pub fn forget_reports_from(&self, first: AgentId) {
        let is_late = |message: &InboxMessage| matches!(&message.by, Author::Subagents(of) if of.iter().all(|agent| *agent >= first));
        self.state().waiting.retain(|message| !is_late(message));
    }

    /// Lets nothing that waits now wake its agent.
    pub fn mute(&self) {
        self.state().waiting.iter_mut().for_each(|message| message.urgency = Urgency::Later);
    }

    /// Waits until something waits that an agent at rest is woken for.
    pub async fn woken(&self) {
        self.until(|state| state.waiting.iter().any(|message| message.urgency > Urgency::Later)).await;
    }

    /// Waits until no awaited report is missing.
    pub(super) async fn ready(&self) {
        self.until(|state| state.awaited == 0).await;
    }

    /// Waits until something can be read, or no report is missing that the agent would wait for.
    pub(super) async fn arrival(&self, at_end: AtEnd) {
        self.until(|state| !state.waiting.is_empty() || state.pending_reports(at_end) == 0).await;
    }

    /// Returns `true` if something is to be read before the next tool call.
    pub(super) fn is_urgent(&self) -> bool {
        self.state().waiting.iter().any(|message| message.urgency == Urgency::Now)
    }

    /// Takes what waits, oldest first. Reports that stand together come as one message.
    pub(super) fn take(&self) -> Vec<InboxMessage> {
        let mut messages: Vec<InboxMessage> = Vec::new();
        for message in self.state().waiting.drain(..) {
            match (messages.last_mut(), &message.by) {
                (Some(InboxMessage { text, by: Author::Subagents(all), .. }), Author::Subagents(more)) => {
                    text.push_str("\n\n");
                    text.push_str(&message.text);
                    all.extend(more);
                }
                _ => messages.push(message),
            }
        }
        messages
    }

    /// Closes it if nothing waits and no report is missing, in one step: no message slips in between the look and the
    /// end of the run.
    pub(super) fn close_if_idle(&self, at_end: AtEnd) -> IdleState {
        let mut state = self.state();
        if !state.waiting.is_empty() {
            return IdleState::More;
        }
        if state.pending_reports(at_end) > 0 {
            return IdleState::ReportsPending;
        }
        state.close();
        IdleState::Nothing
    }

    /// Returns `true` if something waits that an agent at rest is woken for.
    pub(super) fn has_news(&self) -> bool {
        self.state().waiting.iter().any(|message| message.urgency > Urgency::Later)
    }

    /// Returns `true` if nothing waits and no report is missing.
    pub(super) fn is_idle(&self, at_end: AtEnd) -> bool {
        let state = self.state();
        state.waiting.is_empty() && state.pending_reports(at_end) == 0
    }

    /// Closes it, whatever waits.
    pub(super) fn close(&self) {
        self.state().close();
    }

    async fn until(&self, mut done: impl FnMut(&State) -> bool) {
        loop {
            let mut changed = std::pin::pin!(self.0.changed.notified());
            // From before the look, so that no change after it is missed.
            changed.as_mut().enable();
            if done(&self.state()) {
                return;
            }
            changed.await;
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn count(&mut self, pending: PendingReport) -> &mut usize {
        match pending {
            PendingReport::Expected => &mut self.expected,
            PendingReport::Awaited => &mut self.awaited,
        }
    }

    /// Returns how many reports an agent that has answered would wait for.
    fn pending_reports(&self, at_end: AtEnd) -> usize {
        match at_end {
            AtEnd::WaitForReports => self.expected + self.awaited,
            AtEnd::Leave => self.awaited,
        }
    }

    fn close(&mut self) {
        if self.access == InboxState::Open {
            let mut waiting = std::mem::take(&mut self.waiting);
            // Somebody further up can still read these.
            waiting.retain(InboxMessage::is_report);
            *self = Self { access: InboxState::Closed, waiting, ..Self::default() };
        }
    }
}
