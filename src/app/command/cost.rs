//! `/budget`: what all agents may use together, shown and changed.
//!
//! Owns the meaning of its words on the screen. Leaves keeping the limits to the engine. Invariant: what is said to be in
//! force is what the engine has told or was asked for.

use super::super::{App, Effect};
use crate::agent::Spent;
use crate::message::{BudgetLimit, grouped};
use crate::subagent::Command;

impl App {
    /// Shows the budget, or has it changed.
    pub(super) fn slash_budget(&mut self, words: &str, effects: &mut Vec<Effect>) {
        let (limit, spent) = (self.agents.budget(), self.agents.spent());
        if words.is_empty() {
            self.inform(budget_words(limit, &spent));
            return;
        }
        match limit.changed(words, spent.usage.total(), spent.cost_usd.unwrap_or(0.0)) {
            Ok(limit) => {
                effects.push(Effect::Engine(Command::SetBudget(limit)));
                if share(limit, &spent).is_some_and(|share| share >= 1.0) {
                    self.warn(format!("{}: every agent stops at its next request", budget_words(limit, &spent)));
                } else {
                    self.inform(budget_words(limit, &spent));
                }
            }
            Err(fault) => self.warn(format!("{fault}; /budget off lifts it")),
        }
    }
}

/// Says what is in force and what is spent of it, such as `budget: 161,200 of 500,000 tokens spent`.
fn budget_words(limit: BudgetLimit, spent: &Spent) -> String {
    let tokens = limit.tokens.map(|limit| format!("{} of {} tokens", grouped(spent.usage.total()), grouped(limit)));
    let usd = limit.usd.map(|limit| format!("${:.2} of {limit}", spent.cost_usd.unwrap_or(0.0)));
    let parts: Vec<String> = [tokens, usd].into_iter().flatten().collect();
    if parts.is_empty() {
        "no budget; set one with /budget 500k or /budget $2".to_owned()
    } else {
        format!("budget: {} spent", parts.join(" and "))
    }
}

/// Returns the part of the budget that is spent, of the limit that is nearer; `None` without a limit.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "token counts are far below 2^52")]
pub fn share(limit: BudgetLimit, spent: &Spent) -> Option<f64> {
    let tokens = limit.tokens.map(|limit| spent.usage.total() as f64 / limit as f64);
    let usd = limit.usd.map(|limit| spent.cost_usd.unwrap_or(0.0) / f64::from(limit));
    [tokens, usd].into_iter().flatten().reduce(f64::max)
}
