//! What the agents of a session have used, and their budget, as lines of text.
//!
//! Owns the sums and the lines. Leaves the words for cost and budget to `app`, and keeping the budget to the engine.
//! Invariants: the limit is what the engine has told; what is kept is one sum for each agent.

use std::collections::BTreeMap;

use crate::agent::{AgentEvent, EventKind, LogEvent, SessionEvent, Spent, TurnEvent};
use crate::app::{budget_words, change_budget, cost_words};
use crate::message::{AgentId, BudgetLimit, grouped};

/// What was used, and what may be.
#[derive(Debug, Default)]
pub(super) struct Spending {
    agents: BTreeMap<AgentId, Spent>,
    limit: BudgetLimit,
}

impl Spending {
    /// Takes in what an event says was used or is allowed.
    pub(super) fn apply(&mut self, event: &LogEvent) {
        match event {
            LogEvent::Session { event: SessionEvent::BudgetChanged { limit }, .. } => self.limit = *limit,
            LogEvent::Agent(AgentEvent { agent, kind: kind @ EventKind::Turn(TurnEvent::Ended { .. }), .. }) => {
                self.agents.entry(*agent).or_default().apply(kind);
            }
            _ => {}
        }
    }

    /// Says what is in force and what is spent of it.
    pub(super) fn budget(&self) -> String {
        budget_words(self.limit, &self.all())
    }

    /// Returns the budget that the words ask for, and what to say of it; else why they ask for none.
    pub(super) fn change(&self, words: &str) -> Result<(BudgetLimit, String), String> {
        change_budget(words, self.limit, &self.all())
    }

    /// Returns what everyone has used: all together, then each.
    pub(super) fn table(&self, name: impl Fn(AgentId) -> String) -> Vec<String> {
        let each = self.agents.iter().map(|(id, spent)| row(&name(*id), spent));
        [self.budget(), row("all agents", &self.all())].into_iter().chain(each).collect()
    }

    fn all(&self) -> Spent {
        let mut all = Spent::default();
        self.agents.values().for_each(|spent| all.add(spent));
        all
    }
}

fn row(who: &str, spent: &Spent) -> String {
    let cost = cost_words(spent);
    let cost = if cost.is_empty() { cost } else { format!(", cost {cost}") };
    format!("{who}: {}{} tokens{cost}", spent.usage.mark(), grouped(spent.usage.total()))
}
