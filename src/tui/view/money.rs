//! How tokens and cost are spelled in few columns.
//!
//! Owns the signs for a price that is not known, and for a budget. Leaves the sums, and whole words, to `app`.
//! Invariant: what is not known is never spelled as nothing, and a sum that leaves something out, or is an estimate, says so.

use ratatui::style::Style;

use super::render_context::RenderContext;
use crate::app::{budget_share, cost_mark};
use crate::message::format::tokens;
use crate::message::{BudgetLimit, Spent};

/// Spells a cost in few columns, such as `$0.21`, `$0.21+?` or `$?`; nothing where nothing was used.
pub(super) fn short(spent: &Spent) -> String {
    match spent.cost_usd {
        _ if spent.is_nothing() => String::new(),
        None => "$?".to_owned(),
        Some(cost) if spent.is_partly_priced() => format!("{}{}+?", cost_mark(spent), cents(cost)),
        Some(cost) => format!("{}{}", cost_mark(spent), cents(cost)),
    }
}

/// Less than a cent is more than nothing.
fn cents(cost: f64) -> String {
    if cost > 0.0 && cost < 0.005 { "<$0.01".to_owned() } else { format!("${cost:.2}") }
}

/// Returns what is left of a budget, such as `38.8k tok left`, and its colour; `None` without one.
pub(super) fn left(limit: BudgetLimit, spent: &Spent, ctx: &RenderContext<'_>) -> Option<(String, Style)> {
    let share = budget_share(limit, spent)?;
    let style = match share {
        _ if share >= 1.0 => ctx.theme.error,
        _ if share >= 0.8 => ctx.theme.warning,
        _ => ctx.theme.muted,
    };
    let (count, usd) = spent.left_of(limit);
    let mark = if spent.usage.unknown { "≤" } else { spent.usage.mark() };
    let count = count.map(|count| format!("{mark}{} tok", tokens(count)));
    let usd = usd.map(|usd| format!("{}${usd:.2}", cost_mark(spent)));
    let parts: Vec<String> = [count, usd].into_iter().flatten().collect();
    Some((format!("{} left", parts.join(", ")), style))
}
