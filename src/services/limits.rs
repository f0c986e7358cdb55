//! From the configuration to the limits of the tree, of the main agent, of what all of them may use, and of what they read.

use std::time::Duration;

use super::SessionSettings;
use crate::agent::{Budget, Limits, SessionEvent, Sink};
use crate::config::{Config, Environment};
use crate::message::{Effort, EffortWish};
use crate::session::Retention;
use crate::subagent::{ReportReview, SessionEffort, TreeLimits};

pub(super) fn of_tree(config: &Config) -> TreeLimits {
    let limits = &config.limits;
    TreeLimits {
        max_parallel: limits.max_parallel as usize,
        max_per_request: limits.max_per_request,
        max_depth: limits.max_depth,
        min_task_chars: limits.min_task_chars,
        report_chars: limits.report_chars,
        max_tool_calls_ceiling: limits.max_tool_calls_ceiling,
        child: Limits {
            max_turns: Some(limits.max_turns),
            max_tool_calls: Some(limits.max_tool_calls),
            idle_timeout: Some(Duration::from_secs(limits.idle_timeout_secs)),
            wall_timeout: limits.wall_timeout_secs.map(Duration::from_secs),
            result_chars: limits.result_chars,
            auto_compact_percent: limits.auto_compact_percent,
            context_window: None,
        },
    }
}

/// Returns what happens to reports before they are read.
pub(super) fn review(config: &Config) -> ReportReview {
    ReportReview { asks: config.asks_reports, judge: config.judge_model.clone() }
}

/// Returns the limits of the main agent. It works for someone who watches it: only silence and an explicit wish end its
/// run.
pub(super) fn of_main(config: &Config, max_turns: Option<u32>) -> Limits {
    Limits {
        max_turns,
        max_tool_calls: None,
        idle_timeout: Some(Duration::from_secs(config.limits.idle_timeout_secs)),
        wall_timeout: None,
        result_chars: config.limits.result_chars,
        auto_compact_percent: config.limits.auto_compact_percent,
        context_window: None,
    }
}

/// Returns how the models think: what the flag says, else the user's configuration, else what is set for Claude Code.
pub(super) fn effort(
    config: &Config,
    settings: &SessionSettings,
    (flag, tokens): (Option<Effort>, Option<u32>),
    environment: &Environment,
) -> SessionEffort {
    let own = config.effort.map(|level| EffortWish { level, is_explicit: true });
    let variable = || environment.get("CLAUDE_CODE_EFFORT_LEVEL").and_then(|word| Effort::choice(word).ok().flatten());
    let usual = own.or_else(|| variable().or_else(|| settings.effort()).map(EffortWish::from));
    let variable = || environment.get("MAX_THINKING_TOKENS").and_then(|text| text.trim().parse().ok());
    let none = settings.keeps_from_thinking().then_some(0);
    SessionEffort::new(usual, flag, tokens.or(config.limits.thinking_tokens).or_else(variable).or(none))
}

/// Opens the books, and emits the limits if there are any.
pub(super) async fn budget(config: &Config, sink: &Sink) -> Budget {
    let limit = config.limits.budget;
    if !limit.is_none() {
        sink.emit_session(SessionEvent::BudgetChanged { limit }).await;
    }
    Budget::new(limit)
}

/// Returns how long sessions are kept.
pub(super) fn retention(config: &Config) -> Retention {
    const DAY: Duration = Duration::from_hours(24);
    Retention {
        age: config.limits.keep_days.map(|days| DAY * days),
        bytes: config.limits.keep_mb.map(|mb| u64::from(mb) * 1_000_000),
    }
}
