//! How hard the agents of a session think where neither a file nor a skill says it.
//!
//! Owns whose word counts: a choice in the session, then the agent's file, then the settings. Leaves what a model takes to
//! `provider`. Invariant: a project's file lets nobody think harder than the user's own settings do, or than a service does
//! unasked.

use std::sync::{Arc, Mutex, PoisonError};

use super::main_agent::MainAgentDefinition;
use super::main_agent::connection::Connecting;
use super::tree::Tree;
use crate::agent::SessionEvent;
use crate::definition::AgentDefinition;
use crate::message::{Effort, EffortWish, Reasoning, sanitize_line};
use crate::provider::Model;

/// The effort of services that are asked for none.
const USUAL_EFFORT: Effort = Effort::High;

/// How the models of a session think. Clones are the same choice.
#[derive(Debug, Clone, Default)]
pub struct SessionEffort(Arc<Mutex<Choice>>);

#[derive(Debug, Clone, Copy, Default)]
struct Choice {
    /// What the user has said at the start or in the session.
    chosen: Option<Effort>,
    /// What settings say.
    usual: Option<EffortWish>,
    tokens: Option<u32>,
    /// What was said of them in the session.
    chosen_tokens: Option<u32>,
}

impl Choice {
    fn tokens(self) -> Option<u32> {
        self.chosen_tokens.or(self.tokens)
    }
}

impl SessionEffort {
    /// Takes what the settings say, what the user says at the start, and how many tokens may be thought.
    #[must_use]
    pub fn new(usual: Option<EffortWish>, chosen: Option<Effort>, tokens: Option<u32>) -> Self {
        Self(Arc::new(Mutex::new(Choice { chosen, usual, tokens, chosen_tokens: None })))
    }

    /// Lets agents think so from their next run on; `None` goes back to what their files and the settings say.
    pub(in crate::subagent) fn choose(&self, effort: Option<Effort>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).chosen = effort;
    }

    /// Lets models that are told a number of tokens think so many from their next request on; `None` goes back to what
    /// the start has said.
    pub(in crate::subagent) fn choose_tokens(&self, tokens: Option<u32>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).chosen_tokens = tokens;
    }

    fn choice(&self) -> Choice {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns how hard an agent thinks of which no file says it.
    #[must_use]
    pub fn wish(&self) -> Option<EffortWish> {
        let Choice { chosen, usual, .. } = self.choice();
        chosen.map(|level| EffortWish { level, is_explicit: true }).or(usual)
    }

    /// Returns how the main agent thinks. A skill that its user has called says it first.
    pub(in crate::subagent) fn of_main(&self, skill: Option<Effort>, definition: &MainAgentDefinition) -> Reasoning {
        let choice = self.choice();
        let own = definition.as_deref().filter(|_| choice.chosen.is_none());
        Reasoning { effort: self.wish_of(skill, own), tokens: choice.tokens() }
    }

    /// Returns how a subagent thinks.
    pub(in crate::subagent) fn of_subagent(&self, skill: Option<Effort>, definition: &AgentDefinition) -> Reasoning {
        Reasoning { effort: self.wish_of(skill, Some(definition)), tokens: self.choice().tokens() }
    }

    fn wish_of(&self, skill: Option<Effort>, definition: Option<&AgentDefinition>) -> Option<EffortWish> {
        let of_file = || definition.and_then(|definition| self.effort_of(definition));
        skill.or_else(of_file).map(EffortWish::from).or_else(|| self.wish())
    }

    /// Returns how hard an agent of this definition thinks, if that says it.
    fn effort_of(&self, definition: &AgentDefinition) -> Option<Effort> {
        let most = self.wish().map_or(USUAL_EFFORT, |wish| wish.level);
        let is_of_project = definition.source.tier.is_of_project();
        definition.effort.map(|effort| if is_of_project { effort.min(most) } else { effort })
    }

    /// Says that an agent gets less effort than its definition asks for.
    #[must_use]
    pub fn note(&self, definition: &AgentDefinition, model: &Model) -> Option<String> {
        let wish = definition.effort?;
        let may = self.effort_of(definition)?;
        let taken = model.effort(may);
        if taken == Some(wish) {
            return None;
        }
        let words = taken.map_or_else(|| "no effort is set".to_owned(), |taken| format!("using `{taken}`"));
        let name = sanitize_line(&definition.name);
        Some(if may == wish || taken != Some(may) {
            format!("{name}: {} does not support effort `{may}`; {words}.", sanitize_line(&model.display))
        } else {
            format!("{name} is a project agent and may not raise effort to `{wish}`; {words}.")
        })
    }
}

impl Tree {
    /// Says how hard the main agent thinks, once it is known who answers; with `always`, also if nothing says it.
    pub(in crate::subagent) async fn announce_effort(
        self,
        connecting: Connecting,
        definition: MainAgentDefinition,
        always: bool,
    ) {
        let wish = self.setup().effort.of_main(None, &definition).effort;
        if wish.is_none() && !always {
            return;
        }
        let connection = connecting.await.ok();
        let sent = connection.zip(wish).and_then(|(connection, wish)| connection.model.effort(wish));
        let event = SessionEvent::EffortChosen { wish: wish.map(|wish| wish.level), sent };
        self.sink().emit_session(event).await;
    }
}
