//! What the events of a session say was used.
//!
//! Owns which events count. Leaves the sums to `message`.

use crate::agent::{AgentEvent, EventKind, LogEvent, SessionEvent, TurnEvent};
use crate::message::{Spent, UsageTable};

impl EventKind {
    /// Returns what an event says was used; `None` if it is not about that.
    pub fn spent(&self) -> Option<Spent> {
        let (usage, cost_usd) = match self {
            Self::Turn(TurnEvent::Ended { usage, cost_usd, .. }) | Self::Aside { usage, cost_usd } => {
                (*usage, *cost_usd)
            }
            Self::Context(event) => event.spent()?,
            _ => return None,
        };
        Some(Spent::new(usage, cost_usd))
    }
}

impl Spent {
    /// Adds what an event says was used.
    pub fn apply(&mut self, kind: &EventKind) {
        if let Some(spent) = kind.spent() {
            self.add(&spent);
        }
    }
}

impl UsageTable {
    /// Takes in who begins, what an event says was used, and what may be.
    pub fn apply(&mut self, event: &LogEvent) {
        match event {
            LogEvent::Session { event: SessionEvent::BudgetChanged { limit }, .. } => self.set_limit(*limit),
            LogEvent::Agent(AgentEvent { agent, kind: EventKind::Started, .. }) => self.begin(*agent),
            LogEvent::Agent(AgentEvent { agent, kind, .. }) => {
                if let Some(spent) = kind.spent() {
                    self.add(*agent, &spent);
                }
            }
            LogEvent::Session { .. } => {}
        }
    }
}
