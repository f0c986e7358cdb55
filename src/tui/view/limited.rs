//! The words for a wait for a rate limit or for the budget: in a title, in the head of a full view, and in the status line.
//!
//! Owns how much of it is said where. Leaves the wait to `app`. Invariant: a title gives it no more columns than it has.

use super::render_context::RenderContext;
use super::wrap::width;
use crate::app::{AgentState, AgentView};
use crate::message::format::counted;

/// Returns the fullest words for a wait in a queue that so many columns bear, such as `limited 3s · 2 ahead`; `None`
/// for any other state, and if there is no room to speak of the queue.
pub(super) fn queue(state: &AgentState, columns: usize, ctx: &RenderContext<'_>) -> Option<String> {
    let gap = ctx.glyphs.neutral;
    let (ahead, brief) = match state {
        AgentState::RateLimited { ahead: ahead @ 1.., .. } => {
            let wait = state.limit().map_or_else(String::new, |wait| format!("{wait} {gap} "));
            (ahead, format!("{wait}{ahead} ahead"))
        }
        // It has to fit where a wait in seconds does.
        AgentState::AwaitsBudget { ahead: ahead @ 1.. } => (ahead, format!("budget, {ahead} ahead")),
        _ => return None,
    };
    let full = format!("{} {gap} {ahead} ahead", state.word());
    [full, brief].into_iter().find(|words| width(words) <= columns)
}

/// Returns what a full view says of the wait, whole.
pub(super) fn whole(agent: &AgentView, ctx: &RenderContext<'_>) -> Option<String> {
    let (left, ahead) = match ctx.app.state_of(agent) {
        AgentState::RateLimited { left, ahead } => (left, ahead),
        AgentState::AwaitsBudget { ahead } => {
            let queue = in_line(ahead);
            return Some(format!("waiting for running requests to free budget: {queue}"));
        }
        _ => return None,
    };
    // Another model may be another service's.
    let model = ctx.app.status().model.chosen();
    let service = model.filter(|model| agent.id.is_main() || model.display == agent.model);
    let service = service.map_or_else(String::new, |model| format!(" of {}", model.provider));
    let queue = in_line(ahead);
    let left = left.filter(|left| left.as_secs() > 0);
    let wait = left.map_or_else(String::new, |left| format!("{} s, ", left.as_secs()));
    Some(format!("waiting for the rate limit{service}: {wait}{queue}"))
}

fn in_line(ahead: u32) -> String {
    match ahead {
        0 => "next in line".to_owned(),
        ahead => format!("{} ahead", counted(ahead as usize, "request")),
    }
}

/// Returns what the status line says once the whole tree is slowed.
pub(super) fn slowed(ctx: &RenderContext<'_>) -> Option<String> {
    let wait = ctx.app.slowed()?.limit();
    Some(wait.map_or_else(|| "rate limit".to_owned(), |wait| format!("rate limit {wait}")))
}
