//! From the choice of a model to a connection, emitted as an event.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use futures::FutureExt;

use super::servers::{KnownServers, ServerIdentity};
use crate::agent::{SessionEvent, Sink};
use crate::config::{Aliases, Config};
use crate::definition::AgentDefinition;
use crate::offline::{self, Offline, Pace};
use crate::provider::choice::{ChoiceError, Endpoint, ModelChoice, ModelEndpoint, ModelPreferences, choose, connect};
use crate::provider::discover::{self, Miss, find_local_server};
use crate::provider::rate_limiter::RateLimiters;
use crate::provider::table::{ProviderEnv, ProviderTable, any_of};
use crate::provider::{Model, Provider, model, own_server};
use crate::subagent::{Connecting, Connection, ModelScope, Reconnect, ResolveModel, SessionEffort, lead_connection};

/// Returns what the first line of a session without a model says.
fn how_to_connect() -> String {
    let ways = ways_to_connect();
    format!(
        "No model connected. The built-in offline model can only explore code. To connect one, {ways}, or pass --model."
    )
}

/// Returns what is said where the offline model does not stand in.
fn how_to_answer() -> String {
    let ways = ways_to_connect();
    format!("To connect one, {ways}, or pass --model. (--model offline explores code without a language model.)")
}

fn ways_to_connect() -> String {
    let table = ProviderTable::default();
    format!("set {}, start {}", any_of(&table.main_keys()), any_of(&table.server_names()))
}

/// Returns `true` if the model that the user has chosen is answered by a service that may have models of any name.
pub(super) fn serves_any_model(config: &Config, services: &ProviderEnv) -> bool {
    match choose(&ModelPreferences {
        config: config.model.clone(),
        env: services.clone(),
        ..ModelPreferences::default()
    }) {
        Ok(ModelChoice::Connect(chosen)) => {
            let row = &chosen.endpoint.provider;
            row.local || row.any_model || row.set_up.is_gateway
        }
        Ok(ModelChoice::Probe { wish, .. }) => wish.is_some(),
        Ok(ModelChoice::Offline) | Err(_) => false,
    }
}

/// Starts to look for the model, without waiting for the first message, and emits when it is found.
pub(super) fn connecting(wishes: ModelPreferences, lead: LeadModel, means: ConnectMeans, sink: Sink) -> Connecting {
    let connecting = async move {
        let found = find(&wishes, &means, &sink).await.map_err(|error| error.to_string());
        let (found, note, notices) = match found {
            Ok(Found { connection, note, warning }) => {
                let (found, refused) = lead.of(connection, &means.effort);
                (found, note, [warning, refused])
            }
            Err(error) => (Err(error), None, [None, None]),
        };
        for text in notices.into_iter().flatten() {
            sink.notify(text).await;
        }
        let event = match &found {
            Ok(connection) => chosen(connection, note),
            Err(error) => SessionEvent::NoModel { reason: error.clone() },
        };
        sink.emit_session(event).await;
        found
    };
    let connecting = connecting.boxed().shared();
    tokio::spawn(connecting.clone().map(drop));
    connecting
}

/// Returns what finds the model that the user names in mid-session.
pub(super) fn reconnect(
    wishes: &ModelPreferences,
    aliases: Aliases,
    resolve: &ResolveModel,
    means: &ConnectMeans,
    sink: &Sink,
) -> Reconnect {
    let (wishes, resolve, means, sink) = (wishes.clone(), resolve.clone(), means.clone(), sink.clone());
    Arc::new(move |name| {
        let wishes = ModelPreferences { flag: meant(Some(name), &aliases), ..wishes.clone() };
        let lead = LeadModel { definition: None, resolve: resolve.clone() };
        connecting(wishes, lead, means.clone(), sink.clone())
    })
}

#[derive(Clone)]
pub(super) struct ConnectMeans {
    pub(super) pace: Pace,
    pub(super) rate_limiters: RateLimiters,
    pub(super) known: KnownServers,
    pub(super) effort: SessionEffort,
    /// Whether finding no model is an error, and the offline model answers only if it is asked for.
    pub(super) needs_model: bool,
}

/// The model of the definition that the main agent works as, unless the command line names one.
#[derive(Clone)]
pub(super) struct LeadModel {
    pub(super) definition: Option<Arc<AgentDefinition>>,
    pub(super) resolve: ResolveModel,
}

impl LeadModel {
    /// Returns who answers in the place of `found`, and what the user should know of it.
    fn of(self, found: Connection, effort: &SessionEffort) -> (Result<Connection, String>, Option<String>) {
        let Some(definition) = self.definition else { return (Ok(found), None) };
        match lead_connection(&definition, &found, &self.resolve) {
            Ok(connection) => {
                let note = effort.note(&definition, &connection.model);
                (Ok(connection), note)
            }
            Err(note) => (Ok(found), Some(note)),
        }
    }
}

struct Found {
    connection: Connection,
    /// The question about a server that was never named, or what is wrong with servers that could not be used.
    note: Option<String>,
    /// What the user should know of the way there.
    warning: Option<String>,
}

async fn find(wishes: &ModelPreferences, means: &ConnectMeans, sink: &Sink) -> Result<Found, ChoiceError> {
    let offline = |note| Found { connection: offline_connection(means.pace), note, warning: None };
    let instead = |reason| {
        if means.needs_model {
            Err(ChoiceError::NoModel { reason, advice: how_to_answer() })
        } else {
            Ok(offline(reason))
        }
    };
    let chosen = match choose(wishes)? {
        ModelChoice::Connect(chosen) => chosen,
        ModelChoice::Offline => return Ok(offline(None)),
        ModelChoice::Probe { endpoints, model, wish, left_out } => {
            if let Some(named) = endpoints.iter().find(|endpoint| endpoint.is_named) {
                sink.emit_session(SessionEvent::ModelSearch { place: named.place() }).await;
            }
            match wish {
                Some(wish) => find_local_server(&endpoints, model.as_deref(), discover::NAMED_TIMEOUT)
                    .await
                    .map_err(|misses| unusable(&misses, &left_out, (model.as_deref(), wish), &wishes.env.table))?,
                None => match guess(endpoints, &means.known).await {
                    Ok(chosen) => chosen,
                    Err(note) => return instead(joined(note, &left_out)),
                },
            }
        }
    };
    if chosen.endpoint.provider.local {
        means.known.remember(&identity_of(&chosen.endpoint));
    }
    let warning = chosen.endpoint.exposed_host().map(|host| {
        format!("The key goes to {host} unencrypted (http://): anyone on the way can read it. Use https:// if you can.")
    });
    let mut chosen = chosen;
    if let Some(window) = own_server::window_of(&chosen).await {
        wishes.env.keep_window(&chosen.endpoint.provider.name, &chosen.model, window);
        chosen.context_window = Some(window);
    }
    let (provider, model) = connect(chosen, &means.rate_limiters);
    Ok(Found { connection: Connection { provider, model: Arc::new(model) }, note: None, warning })
}

fn identity_of(endpoint: &Endpoint) -> ServerIdentity {
    ServerIdentity::of(&endpoint.provider.name, &endpoint.base)
}

/// Finds a server unasked. Any process can listen on a port: a server that was never named gets to see nothing
/// but the question for its models, and what to do about it is returned in its place.
async fn guess(endpoints: Vec<Endpoint>, known: &KnownServers) -> Result<ModelEndpoint, Option<String>> {
    let is_known = |endpoint: &Endpoint| endpoint.is_named || known.hold(&identity_of(endpoint));
    let (named, guessed): (Vec<_>, Vec<_>) = endpoints.into_iter().partition(is_known);
    let look = |endpoints| async move { find_local_server(endpoints, None, discover::BUDGET).await };
    match tokio::join!(look(&named), look(&guessed)) {
        (Ok(server), _) => Ok(server),
        (Err(_), Ok(server)) => Err(Some(identity_of(&server.endpoint).question(&server.model))),
        (Err(misses), Err(others)) => Err(words_of(&[misses, others].concat(), None)),
    }
}

/// Returns the error for a search that has found no model.
fn unusable(
    misses: &[Miss],
    left_out: &[ChoiceError],
    (model, wish): (Option<&str>, String),
    table: &ProviderTable,
) -> ChoiceError {
    match joined(words_of(misses, model), left_out) {
        Some(words) => ChoiceError::Unusable { words },
        None => ChoiceError::no_server(wish, table),
    }
}

/// Returns what is wrong with servers, and with what is set up in part; `None` if there is nothing to say.
fn joined(words: Option<String>, left_out: &[ChoiceError]) -> Option<String> {
    let all: Vec<String> = words.into_iter().chain(left_out.iter().map(ToString::to_string)).collect();
    (!all.is_empty()).then(|| all.join(" "))
}

/// Says what is wrong with the servers that were named, or that are there.
fn words_of(misses: &[Miss], model: Option<&str>) -> Option<String> {
    let worth_a_word = misses.iter().filter(|miss| miss.endpoint.is_named || miss.is_server());
    let words: Vec<String> = worth_a_word.map(|miss| miss.words(model)).collect();
    (!words.is_empty()).then(|| words.join(" "))
}

fn offline_connection(pace: Pace) -> Connection {
    let provider: Arc<dyn Provider> = Arc::new(Offline::new(pace));
    Connection { provider, model: Arc::new(Model::built_in(offline::NAME)) }
}

fn chosen(connection: &Connection, note: Option<String>) -> SessionEvent {
    let provider = connection.provider.name().to_owned();
    let is_offline = provider == offline::NAME;
    let note = match note {
        Some(words) if is_offline => Some(format!("{words} Until then, the built-in offline model answers.")),
        _ => is_offline.then(how_to_connect),
    };
    let model = &connection.model;
    let (id, display, context_window) = (model.id.clone(), model.display.clone(), model.context_window);
    SessionEvent::ModelChosen { provider, id, display, context_window, note }
}

/// Returns what finds the model that someone names: the user's aliases, then what the service of the agent above has,
/// then other services, as far as the wish may reach.
pub(super) fn resolver(env: ProviderEnv, aliases: Aliases, rate_limiters: RateLimiters) -> ResolveModel {
    // A service is connected once, however many agents it answers.
    let others: Mutex<HashMap<String, Connection>> = Mutex::default();
    Arc::new(move |wish| {
        let (name, scope) = match aliases.get(&wish.name.to_lowercase()) {
            Some(meant) => (meant.trim(), ModelScope::Anywhere),
            None => (wish.name, wish.scope),
        };
        if name.eq_ignore_ascii_case("main") {
            return Ok(wish.main.clone());
        }
        let provider = wish.parent.provider.name();
        let is_unplanned = model::is_size(name) && env.has_models_of_its_owner(provider);
        if name.eq_ignore_ascii_case("task") || is_unplanned || provider == offline::NAME {
            return Ok(wish.parent.clone());
        }
        let own = env.table.get(provider).and_then(|row| model::resolve(&env.table, row, name));
        if let Some(mut model) = own {
            if env.is_behind_gateway(provider) {
                model.price = None;
            }
            model.context_window = env.listed_window(provider, &model.id).or(model.context_window);
            return Ok(Connection { provider: wish.parent.provider.clone(), model: Arc::new(model) });
        }
        let unknown = || format!("{provider} has no model `{name}`. Leave `model` out to use the parent's.");
        if scope == ModelScope::Here {
            return Err(unknown());
        }
        let mut others = others.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = others.get(name) {
            return Ok(known.clone());
        }
        let wishes = ModelPreferences { flag: Some(name.to_owned()), env: env.clone(), ..ModelPreferences::default() };
        let Ok(ModelChoice::Connect(chosen)) = choose(&wishes) else { return Err(unknown()) };
        let (provider, model) = connect(chosen, &rate_limiters);
        let found = Connection { provider, model: Arc::new(model) };
        others.insert(name.to_owned(), found.clone());
        Ok(found)
    })
}

/// Returns the name that an alias of the user stands for, or the name itself.
pub(super) fn meant(name: Option<String>, aliases: &Aliases) -> Option<String> {
    name.map(|name| aliases.get(&name.trim().to_lowercase()).cloned().unwrap_or(name))
}
