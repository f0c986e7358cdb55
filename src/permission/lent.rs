//! What an agent may do without a question while it carries out a skill.
//!
//! Owns the rules of `allowed-tools` and `disallowed-tools`, for one agent and for a while. Leaves reading and ending them to
//! `agent`. Invariant: those that allow answer a question that nothing else has asked for: what a rule denies or asks about
//! stays so, and so does what a mode refuses. Those that deny hold in every mode.

use std::sync::{Arc, PoisonError, RwLock};

use super::ruleset::{RuleSet, Ruling};
use super::{Access, Permissions, State};

/// The rules lent to one agent.
#[derive(Debug, Clone, Default)]
pub(super) struct Lent(Arc<RwLock<RuleSet>>);

impl Permissions {
    /// Returns the same permissions for an agent to which rules can be lent; no other agent has those.
    #[must_use]
    pub fn borrowing(mut self) -> Self {
        self.lent = Lent::default();
        self
    }

    /// Lends rules, in place of those that were lent before; an empty set ends it.
    pub fn lend(&self, ruleset: RuleSet) {
        *self.lent.0.write().unwrap_or_else(PoisonError::into_inner) = ruleset;
    }

    /// Returns the rules that are lent now.
    #[must_use]
    pub fn lent(&self) -> RuleSet {
        self.lent.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Says what a skill keeps the agent from meanwhile, whatever else it may, in words for the model.
    pub(super) fn refused_meanwhile(&self, state: &State, access: &Access) -> Option<String> {
        match self.lent().judge(access, &state.project, &self.lines) {
            Ruling::Denied(rule) => Some(format!("The skill denies that: {rule}. Continue without it.")),
            Ruling::Likely(rule, why) | Ruling::Unclear(rule, why) => {
                Some(format!("The skill denies {rule}, and this might do it: {why}. Use plain commands."))
            }
            Ruling::Asked(_) | Ruling::Allowed(_) | Ruling::Nothing => None,
        }
    }
}
