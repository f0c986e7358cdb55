//! From the choice of a model to a connection, told as an event.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use futures::FutureExt;

use crate::agent::{EventKind, Sink};
use crate::config::Aliases;
use crate::definition::AgentDefinition;
use crate::message::AgentId;
use crate::provider::choice::{Choice, ChoiceError, ProviderEnv, Wishes, choose, connect};
use crate::provider::discover::{self, LocalEndpoint, find_local_server};
use crate::provider::gate::Gates;
use crate::provider::offline::{self, Offline, Pace};
use crate::provider::{Provider, model};
use crate::subagent::{Connecting, Connection, Reach, ResolveModel, lead_connection};

/// What the first line of a session without a model says.
const HOW_TO_CONNECT: &str = "No model is connected: the built-in offline model explores code by rules. For more, set \
                              ANTHROPIC_API_KEY or OPENAI_API_KEY, start Ollama, LM Studio or llama.cpp, or use --model.";

/// Starts to look for the model, without waiting for the first message, and tells when it is found.
pub(super) fn connecting(wishes: Wishes, lead: LeadModel, pace: Pace, gates: Gates, sink: Sink) -> Connecting {
    let connecting = async move {
        let found = find(&wishes, pace, &gates).await.map_err(|fault| fault.to_string());
        let (found, note) = match found {
            Ok(found) => lead.of(found),
            Err(fault) => (Err(fault), None),
        };
        if let Some(text) = note {
            sink.send(AgentId::MAIN, EventKind::Notice { text }).await;
        }
        let kind = match &found {
            Ok(connection) => chosen(connection),
            Err(fault) => EventKind::Notice { text: fault.clone() },
        };
        sink.send(AgentId::MAIN, kind).await;
        found
    };
    let connecting = connecting.boxed().shared();
    tokio::spawn(connecting.clone().map(drop));
    connecting
}

/// The model of the definition that the main agent works as, unless the command line names one.
pub(super) struct LeadModel {
    pub(super) definition: Option<Arc<AgentDefinition>>,
    pub(super) resolve: ResolveModel,
}

impl LeadModel {
    /// Returns who answers in the place of `found`, and what the user should know of it.
    fn of(self, found: Connection) -> (Result<Connection, String>, Option<String>) {
        let Some(definition) = self.definition else { return (Ok(found), None) };
        match lead_connection(&definition, &found, &self.resolve) {
            Ok(connection) => (Ok(connection), None),
            Err(note) => (Ok(found), Some(note)),
        }
    }
}

async fn find(wishes: &Wishes, pace: Pace, gates: &Gates) -> Result<Connection, ChoiceError> {
    let endpoint = match choose(wishes)? {
        Choice::Connect(endpoint) => endpoint,
        Choice::Offline => return Ok(offline_connection(pace)),
        Choice::Probe { endpoints, model, wish } => match (probe(&endpoints, model.as_deref()).await, wish) {
            (Some(server), _) => server,
            (None, Some(wish)) => return Err(ChoiceError::NoServer { wish }),
            (None, None) => return Ok(offline_connection(pace)),
        },
    };
    let (provider, model) = connect(endpoint, gates);
    Ok(Connection { provider, model: Arc::new(model) })
}

async fn probe(endpoints: &[LocalEndpoint], model: Option<&str>) -> Option<crate::provider::choice::Endpoint> {
    find_local_server(endpoints, model, discover::BUDGET).await.map(Into::into)
}

fn offline_connection(pace: Pace) -> Connection {
    let provider: Arc<dyn Provider> = Arc::new(Offline::new(pace));
    Connection { provider, model: Arc::new(model::lookup(offline::NAME, offline::NAME)) }
}

fn chosen(connection: &Connection) -> EventKind {
    let provider = connection.provider.name().to_owned();
    let note = (provider == offline::NAME).then(|| HOW_TO_CONNECT.to_owned());
    let model = &connection.model;
    EventKind::ModelChosen { provider, display: model.display.clone(), context_window: model.context_window, note }
}

/// Returns what finds the model that someone names: the user's aliases, then what the service of the agent above has,
/// then other services, as far as the wish may reach.
pub(super) fn resolver(env: ProviderEnv, aliases: Aliases, gates: Gates) -> ResolveModel {
    // A service is connected once, however many agents it answers.
    let others: Mutex<HashMap<String, Connection>> = Mutex::default();
    Arc::new(move |wish| {
        let (name, reach) = match aliases.get(&wish.name.to_lowercase()) {
            Some(meant) => (meant.trim(), Reach::Anywhere),
            None => (wish.name, wish.reach),
        };
        if name.eq_ignore_ascii_case("main") {
            return Ok(wish.main.clone());
        }
        let provider = wish.parent.provider.name();
        let is_unplanned = model::is_size(name) && has_models_of_its_owner(provider, &env);
        if name.eq_ignore_ascii_case("task") || is_unplanned || provider == offline::NAME {
            return Ok(wish.parent.clone());
        }
        if let Some(model) = model::resolve(provider, name) {
            return Ok(Connection { provider: wish.parent.provider.clone(), model: Arc::new(model) });
        }
        let unknown = || format!("{provider} has no model `{name}`. Leave `model` out to use the parent's.");
        if reach == Reach::Here {
            return Err(unknown());
        }
        let mut others = others.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = others.get(name) {
            return Ok(known.clone());
        }
        let wishes = Wishes { flag: Some(name.to_owned()), config: None, env: env.clone() };
        let Ok(Choice::Connect(endpoint)) = choose(&wishes) else { return Err(unknown()) };
        let (provider, model) = connect(endpoint, &gates);
        let found = Connection { provider, model: Arc::new(model) };
        others.insert(name.to_owned(), found.clone());
        Ok(found)
    })
}

/// Tells whether the service has the models that its owner has set up, and no others.
fn has_models_of_its_owner(provider: &str, env: &ProviderEnv) -> bool {
    let is_own = |base: &String| base.contains("://api.openai.com");
    match provider {
        "openai" => env.openai_base.as_ref().is_some_and(|base| !is_own(base)),
        provider => !model::has_sizes(provider),
    }
}

/// Returns the name that an alias of the user stands for, or the name itself.
pub(super) fn meant(name: Option<String>, aliases: &Aliases) -> Option<String> {
    name.map(|name| aliases.get(&name.trim().to_lowercase()).cloned().unwrap_or(name))
}
