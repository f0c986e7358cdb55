//! What the command of the user's own status line is told of the session.
//!
//! Source of the format: the reference of Claude Code's status line. What nobody counts here is left out of it.

use serde_json::{Map, Value, json};

use crate::app::StatusLineFacts;

/// Tokens from which a conversation counts as very long.
const LONG: u64 = 200_000;

/// Returns the fields that change while a session goes on.
pub(super) fn told(facts: &StatusLineFacts) -> Map<String, Value> {
    let usage = &facts.spent.usage;
    let used = |window: u64| (facts.context.saturating_mul(100) / window.max(1)).min(100);
    let percent = facts.window.map(used);
    let input = usage.input.saturating_add(usage.cache_read).saturating_add(usage.cache_write);
    let told = json!({
        "model": {"id": facts.model_id, "display_name": facts.model},
        "permission_mode": facts.mode.id(),
        "exceeds_200k_tokens": facts.context > LONG,
        "cost": {"total_cost_usd": facts.spent.cost_usd.unwrap_or(0.0), "total_duration_ms": facts.ms},
        "context_window": {
            "total_input_tokens": input,
            "total_output_tokens": usage.output,
            "context_window_size": facts.window,
            "used_percentage": percent,
            "remaining_percentage": percent.map(|percent| 100 - percent),
        },
    });
    if let Value::Object(fields) = told { fields } else { Map::new() }
}
