//! Changing the budget of a running session.
//!
//! Owns telling of it. Leaves the books to `agent`. Invariant: whoever listens knows the limits in force.

use super::tree::Tree;
use crate::agent::SessionEvent;
use crate::message::BudgetLimit;

impl Tree {
    /// Changes what all agents may use together. Requests that wait for it are looked at again.
    pub(super) async fn set_budget(&self, limit: BudgetLimit) {
        self.setup().budget.set_limit(limit);
        self.sink().emit_session_unhindered(SessionEvent::BudgetChanged { limit }).await;
    }
}
