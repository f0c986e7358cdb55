//! The subagents of a session, as `/tasks` lists them and commands name them.
//!
//! Pure. Owns what each is called and does. Leaves the lines about what happens to `renderer`. Invariant: it grows with
//! the number of agents only.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;

use super::super::text::tools;
use crate::agent::{RunMode, Spawn, Status};
use crate::message::format::{millis, seconds};
use crate::message::{AgentId, sanitize_line, shown_name};

#[derive(Debug, Default)]
pub(super) struct TaskList(BTreeMap<AgentId, ListedTask>);

#[derive(Debug)]
pub(super) struct ListedTask {
    name: String,
    pub(super) description: String,
    pub(super) parent: AgentId,
    pub(super) mode: RunMode,
    pub(super) run: u32,
    pub(super) state: TaskState,
    pub(super) tools: u32,
    pub(super) since: Timestamp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TaskState {
    Queued,
    Running,
    Stopping,
    Ended(Status),
}

impl ListedTask {
    fn has_ended(&self) -> bool {
        matches!(self.state, TaskState::Ended(_))
    }
}

impl TaskList {
    pub(super) fn insert(&mut self, id: AgentId, spawn: &Spawn, at: Timestamp) {
        let task = ListedTask {
            name: shown_name(&spawn.name).into_owned(),
            description: sanitize_line(&spawn.description).into_owned(),
            parent: spawn.parent,
            mode: spawn.run_mode,
            run: 1,
            state: TaskState::Queued,
            tools: 0,
            since: at,
        };
        self.0.insert(id, task);
    }

    pub(super) fn get(&self, id: AgentId) -> Option<&ListedTask> {
        self.0.get(&id)
    }

    pub(super) fn get_mut(&mut self, id: AgentId) -> Option<&mut ListedTask> {
        self.0.get_mut(&id)
    }

    pub(super) fn name(&self, id: AgentId) -> String {
        if id.is_main() {
            return "main".to_owned();
        }
        self.get(id).map_or_else(|| format!("agent {id}"), |agent| agent.name.clone())
    }

    pub(super) fn running(&self) -> usize {
        self.0.values().filter(|agent| !agent.has_ended()).count()
    }

    /// Returns how many the main agent waits for.
    pub(super) fn waited_for(&self) -> usize {
        let waits = |agent: &&ListedTask| agent.parent.is_main() && agent.mode == RunMode::Foreground;
        self.0.values().filter(waits).filter(|agent| !agent.has_ended()).count()
    }

    /// Finds an agent that is at work by its number or name.
    pub(super) fn find(&self, wanted: &str) -> Option<AgentId> {
        self.named(wanted).filter(|(_, agent)| !agent.has_ended()).map(|(id, _)| id)
    }

    /// Finds an agent that has ended by its number or name, and how it did.
    pub(super) fn find_ended(&self, wanted: &str) -> Option<(AgentId, Status)> {
        self.named(wanted).and_then(|(id, agent)| match agent.state {
            TaskState::Ended(status) => Some((id, status)),
            _ => None,
        })
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns those that the end of the program interrupted, those below others first.
    pub(super) fn interrupted(&self) -> Vec<AgentId> {
        let was_interrupted = |task: &ListedTask| task.state == TaskState::Ended(Status::Interrupted);
        self.0.iter().rev().filter(|(_, task)| was_interrupted(task)).map(|(id, _)| *id).collect()
    }

    pub(super) fn named(&self, wanted: &str) -> Option<(AgentId, &ListedTask)> {
        let is_it = |(id, agent): &(&AgentId, &ListedTask)| wanted.parse() == Ok(id.0) || agent.name == wanted;
        self.0.iter().find(is_it).map(|(id, agent)| (*id, agent))
    }

    /// Returns where an agent is to be moved that leaves where it is.
    pub(super) fn other_mode(&self, id: AgentId) -> RunMode {
        match self.get(id).map(|agent| agent.mode) {
            Some(RunMode::Background) => RunMode::Foreground,
            _ => RunMode::Background,
        }
    }

    /// Returns a row for each. `asks` says whether an agent waits for the user.
    pub(super) fn rows(&self, now: Timestamp, asks: impl Fn(AgentId) -> bool) -> Vec<String> {
        let row = |(id, agent): (&AgentId, &ListedTask)| {
            let state = match agent.state {
                TaskState::Queued => "queued",
                TaskState::Running if asks(*id) => "asks",
                TaskState::Running => "running",
                TaskState::Stopping => "stopping",
                TaskState::Ended(Status::Completed) => "done",
                TaskState::Ended(status) => status.name(),
            };
            // The clock may have been set back meanwhile.
            let lasting = Duration::try_from(now.duration_since(agent.since)).unwrap_or_default();
            let time = match agent.state {
                TaskState::Running | TaskState::Stopping => format!(", {}", seconds(millis(lasting))),
                _ => String::new(),
            };
            let mode = if agent.mode == RunMode::Background && !agent.has_ended() { ", background" } else { "" };
            format!("{id} {}: {}, {state}{mode}, {}{time}", agent.name, agent.description, tools(agent.tools))
        };
        self.0.iter().map(row).collect()
    }
}
