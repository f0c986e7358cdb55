//! Drafting a new agent with the model, at the user's request.
//!
//! Owns the definition that drafts, which is part of the program and offered to no model, and its task. Leaves the run
//! to the tree: a draft is a subagent like any other, in a pane, stoppable. Invariant: it enters no conversation; what
//! it writes is in its own events alone.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::agent::{Bounds, Cancel, EventKind, Outcome, RunMode, Spawn, Status};
use crate::definition::{AgentDefinition, Source, Tier, parse};
use crate::message::AgentId;
use crate::subagent::main_agent::connection::Connecting;
use crate::subagent::main_agent::main_parent;
use crate::subagent::spawn::SpawnRequest;
use crate::subagent::tree::Tree;

/// What stands in the place of a tool call at a subagent that no model asked for: the user wants a draft.
pub const DRAFT_CALL: &str = "draft";

const DEFINITION: &str = include_str!("../../../assets/prompts/draft-agent.md");
const TASK: &str = include_str!("../../../assets/prompts/draft-task.md");

/// Returns the agent that drafts agents; a test holds its file to be faultless.
pub fn drafting_agent() -> Option<AgentDefinition> {
    parse(DEFINITION, Source { tier: Tier::BuiltIn, path: None }).definition
}

impl Tree {
    /// Starts an agent that drafts an agent file. Its result is in the events of the subagent whose call is
    /// [`DRAFT_CALL`], also if there is no model to ask.
    pub(in crate::subagent) async fn draft(self, connecting: Connecting, wish: String) {
        let Some(definition) = drafting_agent().map(Arc::new) else { return };
        let request = SpawnRequest {
            call_id: DRAFT_CALL,
            description: "Draft a new agent",
            run_mode: RunMode::Foreground,
            wants_report: false,
            options: Box::default(),
            task: TASK.trim_end().replace("{{request}}", wish.trim()),
        };
        let unable = match connecting.await {
            Ok(connection) => {
                let parent = main_parent(connection, self.all_capabilities(), Arc::default());
                match self.admit_drafter(&parent, &definition) {
                    Ok(admitted) => {
                        // Its events are all that anyone wants of it.
                        let _ = self.spawn(&parent, admitted, request).await.wait(CancellationToken::new()).await;
                        return;
                    }
                    Err(refusal) => refusal.to_string(),
                }
            }
            Err(reason) => reason,
        };
        self.excuse(&definition, request, &unable).await;
    }

    /// Emits the end of a subagent that could not begin, with the reason.
    async fn excuse(&self, definition: &AgentDefinition, request: SpawnRequest<'_>, reason: &str) {
        let cancel = Cancel::default();
        let (id, name) = self.next_name(&definition.name);
        let spawn = Spawn {
            parent: AgentId::MAIN,
            call_id: request.call_id.to_owned(),
            name,
            agent_type: definition.name.clone(),
            color: definition.color.clone(),
            description: request.description.to_owned(),
            prompt: request.task,
            model: "none".to_owned(),
            tools: Vec::new(),
            bounds: Bounds::default(),
            run_mode: RunMode::Foreground,
            options: Box::default(),
        };
        self.sink().emit_until(id, EventKind::Spawned(spawn), &cancel).await;
        let outcome = Outcome::unstarted(Status::Failed, reason);
        self.sink().emit_until(id, EventKind::Ended { outcome }, &cancel).await;
    }
}
