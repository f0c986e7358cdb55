//! The main agent, which may work as a definition of the catalog.
//!
//! Owns what a definition means for the main agent. Leaves its conversation to `conversation`. Invariant: as a definition
//! it has at most the tools and rights that it has without one.

mod answer;
pub(super) mod connection;
pub(super) mod conversation;
pub(super) mod draft;
pub(super) mod facts;
mod hand_off;
pub(super) mod hooks;
pub mod mention;
mod pictures;
mod preparing;
pub(super) mod rewind;
mod running;

use std::sync::Arc;

use crate::agent::{Agent, AtEnd, Cancel, EventKind, Limits};
use crate::definition::AgentDefinition;
use crate::hook::OwnHooks;
use crate::memory::GivenMemory;
use crate::message::AgentId;
use crate::subagent::limits::Refusal;
use crate::subagent::main_agent::connection::Connection;
use crate::subagent::main_agent::hooks::SessionHooks;
use crate::subagent::spawn::capabilities::Capabilities;
use crate::subagent::spawn::hooks::hooks_of;
use crate::subagent::spawn::memory::AgentMemory;
use crate::subagent::tools::offer::Offers;
use crate::subagent::tree::{Parent, Tree};
use crate::tool::Freshness;

/// What the main agent works as; `None` is the program's own.
pub(in crate::subagent) type MainAgentDefinition = Option<Arc<AgentDefinition>>;

/// What a run of the main agent is made of besides the tree.
pub(in crate::subagent) struct MainAgent {
    pub(in crate::subagent) definition: MainAgentDefinition,
    pub(in crate::subagent) limits: Limits,
    pub(in crate::subagent) freshness: Arc<Freshness>,
    pub(in crate::subagent) memory: GivenMemory,
    pub(in crate::subagent) hooks: SessionHooks,
    pub(in crate::subagent) offers: Arc<Offers>,
    /// What the user has said that it answers.
    pub(in crate::subagent) spoken: Option<Arc<str>>,
    pub(in crate::subagent) at_end: AtEnd,
    pub(in crate::subagent) cancel: Cancel,
}

/// Returns what the main agent hands on to its subagents.
pub(in crate::subagent) fn main_parent(
    connection: Connection,
    capabilities: Capabilities,
    offers: Arc<Offers>,
) -> Parent {
    Parent {
        id: AgentId::MAIN,
        depth: 0,
        main: connection.clone(),
        connection,
        capabilities,
        offers,
        // Its subagents outlive a run that is interrupted, if the user wants.
        cancel: Cancel::default(),
        workspace: None,
    }
}

impl Tree {
    pub(in crate::subagent) fn main_capabilities(
        &self,
        definition: &MainAgentDefinition,
        memory: Option<&AgentMemory>,
    ) -> Result<Capabilities, Refusal> {
        let whole = self.all_capabilities();
        let Some(definition) = definition else { return Ok(whole) };
        let lists = self.lists(definition, None);
        // What its file defines runs with the session, under its name.
        let servers = whole.servers.named_by(definition);
        let whole = Capabilities { servers, ..whole };
        let mut own = whole.narrowed(&lists, definition.permission_mode, &self.setup().tools, whole.delegation)?;
        own.hooks = OwnHooks::new(hooks_of(definition));
        Ok(match memory {
            Some(memory) => memory.kept_by(own, &whole, &lists),
            None => own,
        })
    }

    pub(in crate::subagent) async fn lead(&self, lead: &MainAgent, connection: Connection) -> Result<Agent, Refusal> {
        let setup = self.setup();
        let (connection, effort, note) = self.answering(lead.spoken.as_deref(), connection);
        if let Some(text) = note {
            self.sink().emit_until(AgentId::MAIN, EventKind::Notice { text }, &lead.cancel).await;
        }
        let notes = match &lead.definition {
            Some(definition) => self.recall(definition, &lead.cancel).await,
            None => None,
        };
        let capabilities = self.main_capabilities(&lead.definition, notes.as_ref())?;
        let notes = notes.map(|notes| notes.section(&capabilities));
        let notes = match &lead.definition {
            Some(definition) => self.with_skills(definition, notes.as_deref()),
            None => notes,
        };
        let (files, diagnostics) = self.memory_section(&lead.memory, &lead.cancel).await;
        for diagnostic in diagnostics {
            self.sink()
                .emit_until(AgentId::MAIN, EventKind::Notice { text: diagnostic.to_string() }, &lead.cancel)
                .await;
        }
        let system = match &lead.definition {
            Some(definition) => {
                setup.environment.lead_prompt(definition, (notes.as_deref(), &files), capabilities.delegation)
            }
            None => setup.environment.main_prompt(&files, capabilities.delegation),
        };
        let permissions = capabilities.permissions.clone().borrowing();
        let agent_type = lead.definition.as_ref().map(|definition| definition.name.as_str());
        let hooks = setup.hooks.of_agent(&capabilities.hooks, None, agent_type);
        let own = main_parent(connection.clone(), capabilities, lead.offers.clone());
        Ok(Agent {
            id: AgentId::MAIN,
            depth: 0,
            system,
            fallbacks: connection.side_models(&setup.fallback_models, &connection, &setup.resolve_model),
            summarizer: connection.side_model(setup.compact_model.as_deref(), &connection, &setup.resolve_model),
            // Its answer is for the user.
            judge: None,
            judges: self.hook_judges(&connection, &connection),
            provider: connection.provider,
            model: connection.model,
            reasoning: setup.effort.of_main(effort, &lead.definition),
            tools: self.offered_tools(own.clone()),
            place: setup.place.clone(),
            permissions,
            approver: setup.approver.clone(),
            freshness: lead.freshness.clone(),
            memory: lead.memory.clone(),
            hooks,
            skills: Some(self.skill_host(&own)),
            spoken: lead.spoken.clone(),
            limits: lead.limits.clone(),
            pictures: setup.pictures.clone(),
            external: None,
            budget: setup.budget.clone(),
            sink: setup.sink.clone(),
            secrets: setup.secrets.clone(),
            // What the user says to the main agent waits in its conversation.
            inbox: self.inbox().clone(),
            commands: self.commands().clone(),
            at_end: lead.at_end,
            work: lead.cancel.child(),
            cancel: lead.cancel.clone(),
        })
    }
}
