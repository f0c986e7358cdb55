//! Every subagent of the conversation, living or ended, and where its report goes.
//!
//! Owns who waits for whom. Leaves runs to `life` and what is sent out to `errand`. Invariants: a report is handed over
//! once: to the call that waits for it, or to the inbox of the agent above; a number that was given is never given to
//! another agent.

use std::collections::BTreeMap;

use tokio::sync::oneshot;
use tokio::time::Instant;

use super::isolation::Moving;
use super::tree::{Parent, Tree};
use crate::agent::{Agent, Cancel, Debt, EventKind, Ground, Inbox, Letter, Outcome, Status, StopCause, Urgency};
use crate::message::AgentId;

/// All of them, by number.
pub(super) type Roster = BTreeMap<AgentId, Member>;

/// One subagent.
pub(super) struct Member {
    pub(super) name: String,
    pub(super) agent_type: String,
    /// The agent above it.
    pub(super) parent: AgentId,
    /// Whether that one waits for it.
    pub(super) ground: Ground,
    /// Whether any agent wants its report.
    pub(super) report: Report,
    /// Takes its report to the call that waits for it.
    pub(super) waiter: Option<oneshot::Sender<Delivered>>,
    pub(super) living: Option<Living>,
    /// How often it was begun.
    pub(super) runs: u32,
    /// What it takes to run it once more.
    pub(super) kit: Kit,
    /// What came of it last.
    pub(super) last: Option<Delivered>,
}

/// Whether any agent wants a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Report {
    Wanted,
    Unwanted,
}

/// How a living subagent is reached.
#[derive(Clone)]
pub(super) struct Living {
    pub(super) cancel: Cancel,
    pub(super) work: Cancel,
    pub(super) inbox: Inbox,
    pub(super) since: Instant,
}

impl Member {
    /// Returns what its parent's inbox notes of its report, where no call waits for it.
    pub(super) fn debt(&self) -> Debt {
        match self.ground {
            Ground::Foreground => Debt::Awaited,
            Ground::Background => Debt::Expected,
        }
    }
}

impl Living {
    pub(super) fn of(agent: &Agent) -> Self {
        Self {
            cancel: agent.cancel.clone(),
            work: agent.work.clone(),
            inbox: agent.inbox.clone(),
            since: Instant::now(),
        }
    }
}

/// What it takes to run a subagent once more.
pub(super) struct Kit {
    /// The agent as it was sent out, without its tools.
    pub(super) agent: Agent,
    /// What it can hand on.
    pub(super) own: Parent,
    /// What it takes to have it work apart, if it is to.
    pub(super) moving: Option<Moving>,
}

/// What comes back from a delegation.
#[derive(Debug, Clone)]
pub(super) struct Delivered {
    pub(super) report: String,
    pub(super) outcome: Outcome,
}

impl Tree {
    /// Stops one subagent and all below it.
    pub fn stop(&self, agent: AgentId, cause: StopCause) {
        if let Some(living) = self.living(agent) {
            living.cancel.stop(cause);
        }
    }

    /// Asks one subagent to report in one last turn without tools.
    pub fn wrap_up(&self, agent: AgentId) {
        if let Some(living) = self.living(agent) {
            living.work.stop(StopCause::User);
        }
    }

    /// Stops every subagent, and returns those that worked.
    pub fn stop_all(&self, cause: StopCause) -> Vec<AgentId> {
        let living = |(id, member): (&AgentId, &Member)| Some((*id, member.living.clone()?));
        let all: Vec<(AgentId, Living)> = self.roster().iter().filter_map(living).collect();
        let stop = |(id, living): (AgentId, Living)| {
            living.cancel.stop(cause);
            id
        };
        all.into_iter().map(stop).collect()
    }

    /// Stops a subagent for which nobody waits any more, if its call did until now.
    pub(super) fn stop_waited(&self, agent: AgentId) {
        let waited =
            self.roster().get(&agent).filter(|member| member.waiter.is_some()).map(|member| member.living.clone());
        if let Some(living) = waited.flatten() {
            living.cancel.stop(StopCause::Parent);
        }
    }

    /// Stops the subagents that an agent waits for although no call of it does: those that were moved back to the
    /// foreground.
    pub(super) fn stop_moved(&self, parent: AgentId) {
        let roster = self.roster();
        let waited = roster.values().filter(|member| member.parent == parent && member.ground == Ground::Foreground);
        for member in waited.filter(|member| member.waiter.is_none() && member.report == Report::Wanted) {
            if let Some(living) = &member.living {
                living.cancel.stop(StopCause::User);
            }
        }
    }

    /// Leaves a letter for one subagent. One that has ended does not read it; its end, told of before or after, is how
    /// the sender knows.
    pub(super) fn tell(&self, agent: AgentId, letter: Letter) {
        if let Some(living) = self.living(agent) {
            let _ = living.inbox.put(letter);
        }
    }

    /// Takes back a message of the user's that one subagent has not read.
    pub(super) fn untell(&self, agent: AgentId, text: &str) {
        if let Some(living) = self.living(agent) {
            living.inbox.take_back(text);
        }
    }

    /// Waits until no subagent lives.
    pub(super) async fn settled(&self) {
        loop {
            let mut ended = std::pin::pin!(self.ended().notified());
            ended.as_mut().enable();
            if self.roster().values().all(|member| member.living.is_none()) {
                return;
            }
            ended.await;
        }
    }

    /// Forgets all subagents but those that were `stopped` for it, which can be resumed. Nobody wants their reports, nor
    /// those of any that is still on its way to its end.
    pub(super) fn forget(&self, stopped: &[AgentId]) {
        let mut roster = self.roster();
        roster.retain(|id, member| member.living.is_some() || stopped.contains(id));
        roster.values_mut().for_each(|member| member.report = Report::Unwanted);
        self.inbox().clear();
    }

    pub(super) fn living(&self, agent: AgentId) -> Option<Living> {
        self.roster().get(&agent)?.living.clone()
    }

    /// Moves one living subagent to the background or back. Whoever waits for it goes on, or waits before it goes on.
    pub(super) async fn move_to(&self, agent: AgentId, ground: Ground) {
        if self.place_on(agent, ground) == Moved::Yes {
            self.sink().send_unhindered(agent, EventKind::Moved { ground }).await;
        }
    }

    /// Moves the subagents that an agent waits for to the background.
    pub(super) async fn release(&self, parent: AgentId) {
        let waited: Vec<AgentId> = {
            let roster = self.roster();
            let of = roster.iter().filter(|(_, member)| member.parent == parent && member.living.is_some());
            of.filter(|(_, member)| member.ground == Ground::Foreground).map(|(id, _)| *id).collect()
        };
        for agent in waited {
            self.move_to(agent, Ground::Background).await;
        }
    }

    fn place_on(&self, agent: AgentId, ground: Ground) -> Moved {
        let mut roster = self.roster();
        let Some(parent) = roster.get(&agent).map(|member| member.parent) else { return Moved::No };
        let inbox = self.inbox_in(&roster, parent);
        let Some(member) = roster.get_mut(&agent).filter(|member| member.living.is_some()) else { return Moved::No };
        let may = member.ground != ground && member.report == Report::Wanted;
        let Some(inbox) = inbox.filter(|_| may) else { return Moved::No };
        match (ground, member.waiter.take()) {
            // Its call returns when nobody can send to it any more.
            (Ground::Background, Some(_)) => inbox.owe(Debt::Expected),
            (Ground::Background, None) => {
                inbox.owe(Debt::Expected);
                inbox.settle(Debt::Awaited);
            }
            (Ground::Foreground, _) => {
                inbox.owe(Debt::Awaited);
                inbox.settle(Debt::Expected);
            }
        }
        member.ground = ground;
        Moved::Yes
    }

    /// Returns the inbox of a living agent.
    pub(super) fn inbox_in(&self, roster: &Roster, agent: AgentId) -> Option<Inbox> {
        if agent.is_main() {
            return Some(self.inbox().clone());
        }
        roster.get(&agent)?.living.as_ref().map(|living| living.inbox.clone())
    }

    /// Hands over what came of a run, and counts the subagent as living no more.
    pub(super) fn deliver(&self, agent: AgentId, delivered: Delivered) {
        let mut roster = self.roster();
        let Some(member) = roster.get_mut(&agent) else { return };
        let living = member.living.take();
        let cause = living.as_ref().and_then(|living| living.cancel.cause());
        let unread = living.map(|living| living.inbox.unread_reports()).filter(|_| member.report == Report::Wanted);
        member.last = Some(delivered.clone());
        let (parent, debt) = (member.parent, member.debt());
        if let Some(waiter) = member.waiter.take() {
            // Whoever does not wait any more was stopped with all below it.
            let _ = waiter.send(delivered);
        } else if member.report == Report::Wanted {
            self.post(&roster, (agent, parent), (delivered, cause), debt);
        }
        unread.into_iter().flatten().for_each(|letter| self.hand_up(&roster, parent, letter));
        drop(roster);
        self.ended().notify_waiters();
    }

    /// Leaves a report with the nearest agent above that can still read it.
    fn post(
        &self,
        roster: &Roster,
        (agent, parent): (AgentId, AgentId),
        (delivered, cause): (Delivered, Option<StopCause>),
        debt: Debt,
    ) {
        let letter = match (delivered.outcome.status, cause) {
            (Status::Cancelled, Some(StopCause::Quit)) => None,
            (Status::Cancelled, Some(StopCause::Parent)) if went_down(roster, parent) => None,
            // Whom the user has stopped nobody needs to be woken for.
            (Status::Cancelled, _) => Some(Letter::report(agent, delivered.report, Urgency::Later)),
            _ => Some(Letter::report(agent, delivered.report, Urgency::NextStep)),
        };
        if let Some(letter) = letter {
            self.hand_up(roster, parent, letter);
        }
        if let Some(inbox) = self.inbox_in(roster, parent) {
            inbox.settle(debt);
        }
    }

    /// Leaves a letter with this agent, or with the nearest above it that can still read it.
    fn hand_up(&self, roster: &Roster, mut above: AgentId, mut letter: Letter) {
        loop {
            letter = match self.inbox_in(roster, above).map(|inbox| inbox.put(letter.clone())) {
                Some(Ok(())) => return,
                Some(Err(unread)) => unread,
                None => letter,
            };
            if above.is_main() {
                return;
            }
            above = roster.get(&above).map_or(AgentId::MAIN, |member| member.parent);
        }
    }
}

/// Tells whether an agent was stopped itself, so that it is nobody who would want to know what it took with it.
fn went_down(roster: &Roster, parent: AgentId) -> bool {
    let above = roster.get(&parent);
    above.is_some_and(|above| above.living.as_ref().is_none_or(|living| living.cancel.cause().is_some()))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Moved {
    Yes,
    No,
}
