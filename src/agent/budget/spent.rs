//! What the events of a session say was used.
//!
//! Owns which events count. Leaves the sums to `message`.

use crate::agent::{AgentEvent, EventKind, LogEvent, SessionEvent, TurnEvent};
use crate::message::{Spent, UsageTable};

impl Spent {
    /// Adds what an event says was used.
    pub fn apply(&mut self, kind: &EventKind) {
        if let EventKind::Turn(TurnEvent::Ended { usage, cost_usd, .. }) = kind {
            self.add(&Self::new(*usage, *cost_usd));
        }
    }
}

impl UsageTable {
    /// Takes in who begins, what an event says was used, and what may be.
    pub fn apply(&mut self, event: &LogEvent) {
        match event {
            LogEvent::Session { event: SessionEvent::BudgetChanged { limit }, .. } => self.set_limit(*limit),
            LogEvent::Agent(AgentEvent { agent, kind: EventKind::Started, .. }) => self.begin(*agent),
            LogEvent::Agent(AgentEvent {
                agent,
                kind: EventKind::Turn(TurnEvent::Ended { usage, cost_usd, .. }),
                ..
            }) => self.add(*agent, &Spent::new(*usage, *cost_usd)),
            _ => {}
        }
    }
}
