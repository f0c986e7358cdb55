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

use super::choice::Endpoint;
use super::discover::{ListedModel, Miss, Why, listed};
use super::table::ProviderEnv;
use super::{Price, model};
use crate::message::ProviderRow;

/// How long services are waited for.
const TIMEOUT: Duration = Duration::from_secs(8);
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

/// Asks each service at hand what it has, and returns how many models that are, or what is wrong and what to do. A server
/// on this machine that nobody has named and that does not answer is not there.
pub async fn reached(env: &ProviderEnv) -> Vec<(String, Result<usize, String>)> {
    let rows = env.table.rows().filter(|row| env.has_place(row) && env.has_access(row));
    let asking = rows.map(|row| async move {
        let endpoint = match Endpoint::at_hand(row, env) {
            Ok(endpoint) => endpoint,
            Err(error) => return Some((row.name.clone(), Err(error.to_string()))),
        };
        if !endpoint.credential.is_at_hand() {
            return Some((row.name.clone(), Err("its key is fetched when it is first asked".to_owned())));
        }
        let answer = tokio::time::timeout(TIMEOUT, listed(&endpoint)).await.unwrap_or(Err(Why::Late));
        let miss = |why| Miss { endpoint: endpoint.clone(), why };
        match answer.map_err(miss) {
            Ok(models) => Some((row.name.clone(), Ok(models.len()))),
            Err(miss) => {
                (miss.endpoint.is_named || miss.is_server()).then(|| (row.name.clone(), Err(miss.words(None))))
            }
        }
    });
    futures::future::join_all(asking).await.into_iter().flatten().collect()
}
