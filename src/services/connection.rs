//! From the choice of a model to a connection, told as an event.

use std::sync::Arc;

use futures::FutureExt;

use crate::agent::{EventKind, Sink};
use crate::message::AgentId;
use crate::provider::choice::{Choice, ChoiceError, ProviderEnv, Wishes, choose, connect};
use crate::provider::discover::{self, LocalEndpoint, find_local_server};
use crate::provider::offline::{self, Offline, Pace};
use crate::provider::{Provider, model};
use crate::subagent::{Connecting, Connection, ResolveModel};

/// What the first line of a session without a model says.
const HOW_TO_CONNECT: &str = "No model is connected: the built-in offline model explores code by rules. For more, set \
                              ANTHROPIC_API_KEY or OPENAI_API_KEY, start Ollama, LM Studio or llama.cpp, or use --model.";

/// Starts to look for the model, without waiting for the first message, and tells when it is found.
pub(super) fn connecting(
    flag: Option<String>,
    config: Option<String>,
    env: ProviderEnv,
    pace: Pace,
    sink: Sink,
) -> Connecting {
    let wishes = Wishes { flag, config, env };
    let connecting = async move {
        let found = find(&wishes, pace).await.map_err(|fault| fault.to_string());
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

async fn find(wishes: &Wishes, pace: Pace) -> Result<Connection, ChoiceError> {
    let endpoint = match choose(wishes)? {
        Choice::Connect(endpoint) => endpoint,
        Choice::Offline => return Ok(offline_connection(pace)),
        Choice::Probe { endpoints, model, wish } => match (probe(&endpoints, model.as_deref()).await, wish) {
            (Some(server), _) => server,
            (None, Some(wish)) => return Err(ChoiceError::NoServer { wish }),
            (None, None) => return Ok(offline_connection(pace)),
        },
    };
    let (provider, model) = connect(endpoint);
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

/// Returns what finds the model that a call or a definition names, at the service of its parent.
pub(super) fn resolver() -> ResolveModel {
    Arc::new(|wish, parent| {
        let provider = parent.provider.name();
        if provider == offline::NAME {
            return Ok(parent.clone());
        }
        match model::resolve(provider, wish) {
            Some(model) => Ok(Connection { provider: parent.provider.clone(), model: Arc::new(model) }),
            None => Err(format!("{provider} has no model `{wish}`. Leave `model` out to use the parent's.")),
        }
    })
}
