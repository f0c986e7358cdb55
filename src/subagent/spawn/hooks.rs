//! The hooks of agents: those of the session, and those that their files name.
//!
//! Owns which hooks an agent gets. Leaves reading them to `hook`. Invariant: what an agent's file checks, it checks for the
//! agents below it too.

use crate::definition::AgentDefinition;
use crate::hook::{HookHandler, HookSource};
use crate::message::sanitize_line;

/// Reads the hooks of a definition.
pub(in crate::subagent) fn hooks_of(definition: &AgentDefinition) -> Vec<HookHandler> {
    let read = definition.hooks.iter().flat_map(|(hooks, source)| {
        let is_projects = source.tier.is_of_project();
        let source = HookSource { place: source.identity().into(), is_projects, is_managed: false, plugin: None };
        // What is wrong with them, `agents check` says.
        HookHandler::read(hooks, &source).0
    });
    read.collect()
}

/// Says that a hook of an agent's file waits for the user.
pub(in crate::subagent) fn untrusted_note(definition: &AgentDefinition, hook: &str) -> String {
    let (name, hook) = (sanitize_line(&definition.name), sanitize_line(hook));
    format!("{name}: a hook of its file is not trusted and does not run: {hook} (/trust)")
}
