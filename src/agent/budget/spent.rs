//! What agents have used, added up from the events of a session.
//!
//! Owns the sum, and that a price that is not known makes no sum look whole. Leaves how it is spelled to the front ends.

use crate::agent::{EventKind, TurnEvent};
use crate::message::Usage;

#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Spent {
    pub usage: Usage,
    /// US dollars of what has a known price; `None` if nothing of it has.
    pub cost_usd: Option<f64>,
    /// Tokens whose price is not known.
    pub unpriced: u64,
}

impl Spent {
    /// Returns what one request, or one run, has used.
    #[must_use]
    pub fn new(usage: Usage, cost_usd: Option<f64>) -> Self {
        let unpriced = if cost_usd.is_none() { usage.total() } else { 0 };
        Self { usage, cost_usd, unpriced }
    }

    pub fn add(&mut self, other: &Self) {
        self.usage += other.usage;
        self.cost_usd = match (self.cost_usd, other.cost_usd) {
            (None, None) => None,
            (one, more) => Some(one.unwrap_or(0.0) + more.unwrap_or(0.0)),
        };
        self.unpriced += other.unpriced;
    }

    /// Adds what an event says was used.
    pub fn apply(&mut self, kind: &EventKind) {
        if let EventKind::Turn(TurnEvent::Ended { usage, cost_usd, .. }) = kind {
            self.add(&Self::new(*usage, *cost_usd));
        }
    }

    pub fn is_nothing(&self) -> bool {
        self.usage.total() == 0
    }

    /// Returns the money where it is known of all that was used.
    pub fn whole_cost(&self) -> Option<f64> {
        self.cost_usd.filter(|_| self.unpriced == 0)
    }
}
