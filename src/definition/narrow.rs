//! A project's agent in the place of a built-in one or of the user's own: it has the rights of both, and no others.
//!
//! Owns which rights those are. Leaves tools to `subagent`, which holds every list against each use. Invariant: what
//! comes of it may do nothing that the agent whose name it has may not.

use std::time::Duration;

use super::{AgentDefinition, ToolsField};

/// Returns `own` within the rights of `other`, in whose place it stands.
pub(super) fn narrowed(own: &AgentDefinition, other: &AgentDefinition) -> AgentDefinition {
    let (tools, bounded_by) = match (&own.tools, &other.tools) {
        (tools, ToolsField::All) => (tools.clone(), None),
        (ToolsField::All, bound) => (bound.clone(), None),
        (tools, bound) if tools == bound => (tools.clone(), None),
        (tools, ToolsField::List(bound)) => (tools.clone(), Some(bound.clone())),
    };
    let mut disallowed_tools = own.disallowed_tools.clone();
    let more = other.disallowed_tools.iter().filter(|tool| !own.disallowed_tools.contains(tool));
    disallowed_tools.extend(more.cloned());
    let permission_mode = match (own.permission_mode, other.permission_mode) {
        (Some(own), Some(other)) => Some(own.stricter(other)),
        (own, other) => own.or(other),
    };
    AgentDefinition {
        tools,
        bounded_by,
        disallowed_tools,
        permission_mode,
        max_turns: least(own.max_turns, other.max_turns),
        max_time: least::<Duration>(own.max_time, other.max_time),
        auto_compact_window: least(own.auto_compact_window, other.auto_compact_window),
        // To start a program is no right of the other's, unless it starts the same one.
        acp: own.acp.clone().filter(|program| other.acp.as_ref() == Some(program)),
        isolation: own.isolation.clone().or_else(|| other.isolation.clone()),
        // The other's may be guards.
        hooks: other.hooks.iter().chain(&own.hooks).cloned().collect(),
        ..own.clone()
    }
}

/// Returns the smaller of two limits, where `None` is no limit.
fn least<T: Ord>(one: Option<T>, other: Option<T>) -> Option<T> {
    [one, other].into_iter().flatten().min()
}
