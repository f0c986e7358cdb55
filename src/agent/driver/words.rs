//! What is said of how a run ends, to the model and to the user.
//!
//! Pure.

use std::time::Duration;

use crate::agent::budget::BudgetReservation;
use crate::agent::inbox::AtEnd;
use crate::agent::{Agent, Status, StopCause};

/// Words for the last turn of an agent that reached a limit.
const REPORT_NOW: &str = "You have reached the limit of this run. No more tools are available. Report now what you \
                          have found and done, and say what is missing.";

/// Words for the last turn of an agent that was asked to report early.
const WRAP_UP: &str = "Stop here and report now: no more tools are available. Say what you have found and done, and \
                       what is missing.";

/// Words for a model whose reply filled the context.
pub(super) const FULL: &str = "Your reply was cut off because the conversation filled the context. It was shortened. Go on exactly \
                               where you stopped.";

/// Returns the words for the last turn of an agent.
pub(in crate::agent) fn last_turn_words(limit: Status) -> &'static str {
    if limit == Status::WrappedUp { WRAP_UP } else { REPORT_NOW }
}

/// Returns how a run ends whose work was stopped for this cause.
pub(in crate::agent) fn early_status(cause: StopCause) -> Status {
    match cause {
        StopCause::Idle | StopCause::Wall => Status::TimedOut,
        StopCause::User | StopCause::Parent | StopCause::Quit | StopCause::Hook => Status::WrappedUp,
    }
}

/// Says what can be done about a conversation that the model cannot hold.
pub(super) fn shorter(agent: &Agent) -> &'static str {
    match (agent.depth, agent.at_end) {
        (0, AtEnd::Leave) => "Start a new one with /clear, or choose a model with a larger context.",
        // One request: there is no conversation to start anew.
        (0, AtEnd::WaitForReports) => "Ask for less in one request, or choose a model with a larger context.",
        _ => "Give it a shorter task, or split the task.",
    }
}

pub(super) fn limit_words(agent: &Agent, reservation: &BudgetReservation<'_>, status: Status) -> String {
    let count = |limit: Option<u32>| limit.map_or_else(String::new, |n| n.to_string());
    match status {
        Status::Budget => reservation.refusal(),
        Status::TurnLimit => format!("Reached the limit of {} turns.", count(agent.limits.max_turns)),
        Status::WrappedUp => "Wrapped up early by the user.".to_owned(),
        Status::TimedOut => stop_words(agent.work.cause().unwrap_or(StopCause::Idle), agent).1,
        _ => format!("Reached the limit of {} tool calls.", count(agent.limits.max_tool_calls)),
    }
}

pub(in crate::agent) fn stop_words(cause: StopCause, agent: &Agent) -> (Status, String) {
    let limits = &agent.limits;
    let of = |limit: Option<Duration>| limit.map_or_else(String::new, |limit| format!(" of {} s", limit.as_secs_f32()));
    let advice =
        if agent.depth == 0 { "Ask again, or ask for less at once" } else { "Break the task into smaller ones" };
    match cause {
        StopCause::User => (Status::Cancelled, "Stopped by the user.".to_owned()),
        StopCause::Parent => (Status::Cancelled, "Stopped together with its parent.".to_owned()),
        StopCause::Quit => (Status::Cancelled, "Stopped on exit.".to_owned()),
        StopCause::Hook => (Status::Cancelled, "Stopped by a hook.".to_owned()),
        StopCause::Idle => (
            Status::TimedOut,
            format!(
                "No output from the model or a tool: reached the idle time limit{}. {advice}.",
                of(limits.idle_timeout)
            ),
        ),
        StopCause::Wall => {
            (Status::TimedOut, format!("The run reached its time limit{}. {advice}.", of(limits.wall_timeout)))
        }
    }
}
