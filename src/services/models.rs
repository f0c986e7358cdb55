//! The models that the user can choose from in a session.
//!
//! Owns when services are asked for them. Leaves the list to `provider::offer`. Invariant: the demonstration asks nobody.

use super::bootstrap::{Bootstrap, SessionKind};
use crate::offline;
use crate::provider::offer::{OfferedModel, Reachability, known, offered, reached};
use crate::provider::table::ProviderEnv;
use crate::provider::{Model, Price};

/// Asks the services at hand for their models. Returns for each, by name, whether it answers.
pub async fn reached_services(bootstrap: &Bootstrap) -> Vec<(String, Reachability)> {
    reached(&bootstrap.services).await
}

/// What finds the models to choose from.
#[derive(Clone)]
pub struct ModelOffers {
    /// `None` in the demonstration.
    env: Option<ProviderEnv>,
}

impl ModelOffers {
    #[must_use]
    pub fn of(bootstrap: &Bootstrap) -> Self {
        let is_live = bootstrap.options.kind == SessionKind::Live;
        Self { env: is_live.then(|| bootstrap.services.clone()) }
    }

    /// Returns the models that are known without a question to anybody.
    pub fn known(&self) -> Vec<OfferedModel> {
        let models = self.env.as_ref().map(known).unwrap_or_default();
        self.with_offline(models)
    }

    /// Asks the services what they have.
    pub async fn listed(&self) -> Vec<OfferedModel> {
        match &self.env {
            Some(env) => self.with_offline(offered(env).await),
            None => Vec::new(),
        }
    }

    fn with_offline(&self, mut models: Vec<OfferedModel>) -> Vec<OfferedModel> {
        if self.env.is_some() {
            let model = Model::built_in(offline::NAME);
            models.push(OfferedModel {
                provider: offline::NAME.to_owned(),
                id: model.id,
                display: model.display,
                context_window: None,
                price: Some(Price::FREE),
                is_listed: true,
            });
        }
        models
    }
}
