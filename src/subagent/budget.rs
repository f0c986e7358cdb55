//! Changing the budget of a running session.
//!
//! Owns telling of it. Leaves the books to `agent`. Invariant: whoever listens knows the limits in force.

use super::tree::Tree;
use crate::agent::{Cancel, EventKind, StopCause};
use crate::message::{AgentId, BudgetLimit};

impl Tree {
    /// Changes what all agents may use together. Requests that wait for it are looked at again.
    pub(super) async fn set_budget(&self, limit: BudgetLimit) {
        self.setup().budget.set_limit(limit);
        // The commands of the user do not wait for a slow listener.
        let over = Cancel::default();
        over.stop(StopCause::User);
        self.sink().send_until(AgentId::MAIN, EventKind::BudgetChanged { limit }, &over).await;
    }
}
