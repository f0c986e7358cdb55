//! Which models can be named: those that are known of the services at hand, and those that the services list themselves.
//!
//! Owns the list to choose from. Leaves what is known of a model to `model` and asking one server to `discover`.
//! Invariants: a service without access is not asked, nor one whose key would have to be fetched for that; what it does
//! not answer in time is left out, never waited for.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use futures::stream::FuturesUnordered;

use super::choice::{ChoiceError, Endpoint};
use super::discover::{ListedModel, Miss, Why, listed};
use super::table::ProviderEnv;
use super::{ErrorKind, Price, model};
use crate::message::{ProviderRow, WireFormat};

/// How long services are waited for.
const TIMEOUT: Duration = Duration::from_secs(8);
/// The same where only the answer counts.
const REACH_TIMEOUT: Duration = Duration::from_secs(3);
/// Most models of one service: one that resells has hundreds.
const MAX_OF_ONE: usize = 400;

/// A model that can be chosen.
#[derive(Debug, Clone, PartialEq)]
pub struct OfferedModel {
    pub provider: String,
    /// The service's own id.
    pub id: String,
    pub display: String,
    pub context_window: Option<u64>,
    /// `None` if it is not known.
    pub price: Option<Price>,
    /// Whether the service has listed it.
    pub is_listed: bool,
}

impl OfferedModel {
    /// Returns the name by which it is chosen.
    pub fn name(&self) -> String {
        if self.id == self.provider { self.id.clone() } else { format!("{}/{}", self.provider, self.id) }
    }

    fn listed(row: &ProviderRow, listed: &ListedModel, env: &ProviderEnv) -> Self {
        let known = Self::of(row, &listed.id, env, true);
        Self { context_window: listed.context_window.or(known.context_window), ..known }
    }

    fn of(row: &ProviderRow, id: &str, env: &ProviderEnv, is_listed: bool) -> Self {
        let known = model::lookup(row, id);
        let price = known.price.filter(|_| row.local || !env.is_behind_gateway(&row.name));
        let (provider, context_window) = (row.name.clone(), known.context_window);
        Self { provider, id: known.id, display: known.display, context_window, price, is_listed }
    }
}

/// Returns the models that are known of the services that can be asked, without asking them.
pub fn known(env: &ProviderEnv) -> Vec<OfferedModel> {
    env.table
        .rows()
        .filter(|row| !row.local && env.has_place(row) && env.has_access(row))
        .flat_map(|row| known_of(row, env))
        .collect()
}

fn known_of(row: &ProviderRow, env: &ProviderEnv) -> Vec<OfferedModel> {
    let mut ids: Vec<&str> = row.model.as_deref().into_iter().collect();
    if let Some(sizes) = &row.sizes {
        ids.extend([&*sizes.small, &*sizes.medium, &*sizes.large]);
    }
    for id in model::aliases_of(row) {
        ids.push(id);
    }
    let mut seen = BTreeSet::new();
    ids.into_iter().filter(|id| seen.insert(*id)).map(|id| OfferedModel::of(row, id, env, false)).collect()
}

/// Asks all services at hand what they have, and returns it in their order; of one that does not answer, what is known.
pub async fn offered(env: &ProviderEnv) -> Vec<OfferedModel> {
    let rows: Vec<_> = env.table.rows().filter(|row| env.has_place(row) && env.has_access(row)).cloned().collect();
    let mut answers: FuturesUnordered<_> = rows
        .iter()
        .enumerate()
        .map(|(at, row)| async move {
            let endpoint = Endpoint::at_hand(row, env).ok().filter(|endpoint| endpoint.credential.is_at_hand())?;
            let listed = tokio::time::timeout(TIMEOUT, listed(&endpoint)).await.ok()?.ok()?;
            env.keep_listed(row, &listed);
            let models: Vec<_> =
                listed.iter().take(MAX_OF_ONE).map(|model| OfferedModel::listed(row, model, env)).collect();
            Some((at, models))
        })
        .collect();
    let mut found: Vec<Option<Vec<OfferedModel>>> = vec![None; rows.len()];
    while let Some(answer) = answers.next().await {
        if let Some((at, models)) = answer {
            found[at] = Some(models);
        }
    }
    let known = known(env);
    let of = |(row, found): (_, Option<Vec<OfferedModel>>)| {
        let row: &Arc<ProviderRow> = row;
        found
            .filter(|found| !found.is_empty())
            .unwrap_or_else(|| known.iter().filter(|model| model.provider == row.name).cloned().collect())
    };
    rows.iter().zip(found).flat_map(of).collect()
}

/// Whether a service answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reachability {
    /// It has listed so many models.
    Reachable(usize),
    /// It was not asked, for this reason.
    Unasked(String),
    /// What is wrong, and what to do.
    Unreachable(String),
}

/// Asks each service at hand what it has, all at once, and returns by name whether it answers. A server on this machine
/// that nobody has named and that does not answer is not there.
pub async fn reached(env: &ProviderEnv) -> Vec<(String, Reachability)> {
    let rows = env.table.rows().filter(|row| env.has_access(row));
    let asking = rows.map(|row| async move { Some((row.name.clone(), reach(row, env).await?)) });
    futures::future::join_all(asking).await.into_iter().flatten().collect()
}

async fn reach(row: &Arc<ProviderRow>, env: &ProviderEnv) -> Option<Reachability> {
    let endpoint = match Endpoint::at_hand(row, env) {
        Ok(endpoint) => endpoint,
        // Whoever has a key has not said where such a service is; that is no error yet.
        Err(ChoiceError::MissingPlace { .. }) => return None,
        Err(error) => return Some(Reachability::Unreachable(error.to_string())),
    };
    if row.wire == WireFormat::AnthropicVertex {
        return Some(Reachability::Unasked("it lists no models".to_owned()));
    }
    if !endpoint.credential.is_at_hand() {
        return Some(Reachability::Unasked("its key is fetched when it is first asked".to_owned()));
    }
    if let Some(host) = endpoint.exposed_host() {
        let why = format!("its key would go to {host} unencrypted; start its address with https://");
        return Some(Reachability::Unasked(why));
    }
    let answer = tokio::time::timeout(REACH_TIMEOUT, listed(&endpoint)).await.unwrap_or(Err(Why::Late));
    let why = match answer {
        Ok(models) => return Some(Reachability::Reachable(models.len())),
        Err(why) => why,
    };
    let miss = Miss { endpoint, why };
    if !miss.endpoint.is_named && !miss.is_server() {
        return None;
    }
    let key = miss.endpoint.service().key_hint();
    Some(Reachability::Unreachable(match &miss.why {
        Why::Refused(error, Some(status)) if error.kind == ErrorKind::Authentication => {
            format!("refused the key ({status}): check {key}")
        }
        Why::Refused(error, Some(status)) if error.kind == ErrorKind::MissingKey => {
            format!("wants a key ({status}): set {key}")
        }
        Why::Refused(error, None) => format!("cannot be reached: {error}"),
        Why::Late => {
            let seconds = REACH_TIMEOUT.as_secs();
            format!("cannot be reached: no answer within {seconds} s; check the network, and HTTPS_PROXY")
        }
        _ => miss.words(None),
    }))
}
