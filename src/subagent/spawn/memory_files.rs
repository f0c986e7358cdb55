//! Memory files on their way into an agent's prompt.
//!
//! Owns which agents are given them, and from which checkout. Leaves the files to `memory`, and what has changed since to
//! `agent`. Invariants: an agent is on screen before its
//! files are read.

use std::sync::Arc;

use crate::agent::{Agent, Cancel, read_from_disk};
use crate::definition::AgentDefinition;
use crate::memory::{GivenMemory, MemoryReader};
use crate::message::Diagnostic;
use crate::subagent::spawn::prompt;
use crate::subagent::tree::Tree;
use crate::subagent::workspace::Workspace;

impl Tree {
    /// Returns a subagent with the memory files in its prompt, as it was given them first.
    pub(in crate::subagent) async fn briefed(&self, agent: &Agent) -> Agent {
        // What is wrong with the files was said when the main agent read them.
        let (section, _) = self.memory_section(&agent.memory, &agent.cancel).await;
        Agent { system: prompt::joined([&agent.system, &section]), ..agent.clone() }
    }

    /// Returns the memory of an agent that has been given nothing yet.
    pub(in crate::subagent) fn memory_for(
        &self,
        definition: Option<&AgentDefinition>,
        workspace: Option<&Workspace>,
    ) -> GivenMemory {
        let setup = self.setup();
        if setup.memory.is_empty() || definition.is_some_and(|definition| definition.omits_memory) {
            return GivenMemory::default();
        }
        let place = self.place_of(workspace);
        let permissions = match workspace {
            Some(workspace) => self.fenced(setup.permissions.clone(), workspace),
            None => setup.permissions.clone(),
        };
        let sources = setup.memory.clone();
        GivenMemory::new(MemoryReader { sources, cwd: place.cwd, project: place.project, permissions })
    }

    /// Returns the section of a prompt with the memory files, and what could not be read.
    pub(in crate::subagent) async fn memory_section(
        &self,
        memory: &GivenMemory,
        cancel: &Cancel,
    ) -> (Arc<str>, Vec<Diagnostic>) {
        if memory.is_none() {
            return Default::default();
        }
        let given = memory.clone();
        let read = read_from_disk(cancel, "reading memory files", move || given.section()).await;
        let (section, diagnostics) = read.unwrap_or_default();
        (self.setup().secrets.redact(&section).into(), diagnostics)
    }
}
