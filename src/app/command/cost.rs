//! `/budget`: what all agents may use together, shown and changed.
//!
//! Owns the meaning of its words, and how a cost is spelled in words. Leaves keeping the limits to the engine. Invariant: what is said to be in
//! force is what the engine has emitted or was asked for.

use crate::app::Agents;
use crate::app::outbox::Outbox;
use crate::message::{BudgetLimit, Spent, grouped};
use crate::subagent::Command;

/// Shows the budget, or changes it.
pub(super) fn slash_budget(words: &str, agents: &Agents, out: &mut Outbox) {
    let (limit, spent) = (agents.budget(), agents.spent());
    if words.is_empty() {
        out.inform(budget_words(limit, &spent));
        return;
    }
    match change_budget(words, limit, &spent) {
        Ok((limit, said)) => {
            out.send(Command::SetBudget(limit));
            if is_used_up(limit, &spent) { out.warn(said) } else { out.inform(said) }
        }
        Err(error) => out.warn(error),
    }
}

/// Returns the budget that the words ask for, in the place of `limit`, and what to tell the user of it. On failure,
/// returns why the words ask for none, and what can be written instead.
pub fn change_budget(words: &str, limit: BudgetLimit, spent: &Spent) -> Result<(BudgetLimit, String), String> {
    let changed = limit.changed(words, spent.usage.total(), spent.cost_usd.unwrap_or(0.0));
    let limit = changed.map_err(|error| format!("{error}; /budget off removes it"))?;
    let stops = if is_used_up(limit, spent) { "; over budget: agents stop before their next request" } else { "" };
    Ok((limit, format!("{}{stops}", budget_words(limit, spent))))
}

fn is_used_up(limit: BudgetLimit, spent: &Spent) -> bool {
    share(limit, spent).is_some_and(|share| share >= 1.0)
}

/// Says what is in force and what is spent of it, such as `budget: 161,200 of 500,000 tokens spent`.
pub fn budget_words(limit: BudgetLimit, spent: &Spent) -> String {
    if limit.is_none() {
        "no budget; set one with /budget 500k or /budget $2".to_owned()
    } else {
        format!("budget: {}", spent_words(limit, spent, 2))
    }
}

/// Says what is spent of limits, such as `161,200 of 500,000 tokens spent`, dollars with so many decimals.
pub fn spent_words(limit: BudgetLimit, spent: &Spent, decimals: usize) -> String {
    let (used, mark) = (grouped(spent.usage.total()), spent.usage.mark());
    let tokens = limit.tokens.map(|limit| format!("{mark}{used} of {} tokens", grouped(limit)));
    let cost = spent.cost_usd.unwrap_or(0.0);
    let usd = limit.usd.map(|limit| format!("{}${cost:.decimals$} of {limit}", cost_mark(spent)));
    let parts: Vec<String> = [tokens, usd].into_iter().flatten().collect();
    let more = if spent.usage.unknown { "; what other programs used and did not say is not counted" } else { "" };
    format!("{} spent{more}", parts.join(" and "))
}

/// Spells a cost in words, such as `$0.2150`, `$0.2150 + unknown` or `unknown`; nothing where nothing was used.
pub fn cost_words(spent: &Spent) -> String {
    let exact = |cost: f64| if cost >= 10.0 { format!("${cost:.2}") } else { format!("${cost:.4}") };
    match spent.cost_usd {
        _ if spent.is_nothing() => String::new(),
        None => "unknown".to_owned(),
        Some(cost) if spent.is_partly_priced() => format!("{}{} + unknown", cost_mark(spent), exact(cost)),
        Some(cost) => format!("{}{}", cost_mark(spent), exact(cost)),
    }
}

/// Returns what stands before a cost: `~` if tokens that cost something were estimated.
pub fn cost_mark(spent: &Spent) -> &'static str {
    if spent.usage.estimated && spent.cost_usd.is_some_and(|cost| cost > 0.0) { "~" } else { "" }
}

/// Returns the part of the budget that is spent, of the limit that is nearer; `None` without a limit.
#[expect(clippy::cast_precision_loss, reason = "token counts are far below 2^52")]
pub fn share(limit: BudgetLimit, spent: &Spent) -> Option<f64> {
    let tokens = limit.tokens.map(|limit| spent.usage.total() as f64 / limit as f64);
    let usd = limit.usd.map(|limit| spent.cost_usd.unwrap_or(0.0) / f64::from(limit));
    [tokens, usd].into_iter().flatten().reduce(f64::max)
}
