//! Who answers an agent, and how a model that someone named is found.
//!
//! Owns the order call > environment > definition > parent. Leaves knowing models to whoever makes the [`ResolveModel`].
//! Invariant: only a model that the call itself names can refuse a spawn; else the parent's answers, and it is said.

use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::{BoxFuture, Shared};

use crate::agent::{HookJudges, SideModel};
use crate::definition::{AgentDefinition, Tier};
use crate::message::sanitize_line;
use crate::provider::model::list_price;
use crate::provider::{Model, Provider};
use crate::subagent::limits::Refusal;
use crate::subagent::tree::Tree;

#[derive(Clone)]
pub struct Connection {
    pub provider: Arc<dyn Provider>,
    pub model: Arc<Model>,
}

/// The connection of the main agent, which may take a moment to be found. `Err` says what the user can do.
pub type Connecting = Shared<BoxFuture<'static, Result<Connection, String>>>;

/// Finds the model that the user names in mid-session.
pub type Reconnect = Arc<dyn Fn(String) -> Connecting + Send + Sync>;

/// Returns a connection that is known from the start.
pub fn connected(connection: Connection) -> Connecting {
    async move { Ok(connection) }.boxed().shared()
}

/// A model that someone named.
pub struct ModelRequest<'a> {
    /// The alias or id.
    pub name: &'a str,
    pub scope: ModelScope,
    pub parent: &'a Connection,
    /// Who answers the main agent.
    pub main: &'a Connection,
}

/// Which services may answer. They get to see the project's files, so a stranger's file, or a model, cannot choose one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelScope {
    /// The service that answers already, and what the user's own aliases name.
    Here,
    /// Every service that can be reached.
    Anywhere,
}

impl ModelScope {
    /// Returns how far the wish of a definition reaches: as far as the user's own wishes if the user wrote it.
    #[must_use]
    pub fn of(tier: Tier) -> Self {
        match tier {
            tier if tier.is_of_project() => Self::Here,
            _ => Self::Anywhere,
        }
    }
}

/// Finds the connection for a named model; `Err` says what is wrong with the name.
pub type ResolveModel = Arc<dyn Fn(&ModelRequest<'_>) -> Result<Connection, String> + Send + Sync>;

/// What is chosen from.
pub(in crate::subagent) struct ModelSources<'a> {
    pub(in crate::subagent) call: Option<&'a str>,
    pub(in crate::subagent) environment: Option<&'a str>,
    pub(in crate::subagent) definition: &'a AgentDefinition,
    pub(in crate::subagent) parent: &'a Connection,
    pub(in crate::subagent) main: &'a Connection,
}

impl ModelSources<'_> {
    /// Finds the connection, and what the user should know of how it came about.
    pub(in crate::subagent) fn connect(&self, resolve: &ResolveModel) -> Result<(Connection, Option<String>), Refusal> {
        let find = |name: &str, scope| {
            if name.eq_ignore_ascii_case("inherit") {
                return Ok(self.parent.clone());
            }
            resolve(&ModelRequest { name, scope, parent: self.parent, main: self.main })
        };
        if let Some(name) = named(self.call) {
            return find(name, ModelScope::Here).map(|found| (found, None)).map_err(Refusal::UnknownModel);
        }
        let wish = match (named(self.environment), named(self.definition.model.as_deref())) {
            (Some(name), _) => Some((name, ModelScope::Anywhere)),
            (None, Some(name)) => Some((name, ModelScope::of(self.definition.source.tier))),
            (None, None) => None,
        };
        let Some((name, scope)) = wish else { return Ok((self.parent.clone(), None)) };
        Ok(match find(name, scope) {
            Ok(found) if scope == ModelScope::Here && may_cost_more(&found.model, &self.main.model) => {
                let note = format!(
                    "{} is a project agent and may not choose a model ({}) that may cost more than yours. Using {} \
                     instead.",
                    sanitize_line(&self.definition.name),
                    found.model.display,
                    self.parent.model.display
                );
                (self.parent.clone(), Some(note))
            }
            Ok(found) => (found, None),
            Err(why) => {
                let note = format!("{} Using {} instead.", sanitize_line(&why), self.parent.model.display);
                (self.parent.clone(), Some(note))
            }
        })
    }
}

impl Connection {
    /// Finds those of these names, each as [`Self::side_model`] does.
    pub(in crate::subagent) fn side_models(
        &self,
        named: &[String],
        main: &Self,
        resolve: &ResolveModel,
    ) -> Arc<[SideModel]> {
        named.iter().filter_map(|name| self.side_model(Some(name), main, resolve)).collect()
    }

    /// Finds who is asked beside the conversations of an agent that this connection answers; `None` if nobody is named.
    pub(in crate::subagent) fn side_model(
        &self,
        named: Option<&str>,
        main: &Self,
        resolve: &ResolveModel,
    ) -> Option<SideModel> {
        let wish = ModelRequest { name: named?, scope: ModelScope::Anywhere, parent: self, main };
        Some(resolve(&wish).map(|found| (found.provider, found.model)))
    }
}

/// The model that judges for hooks that name none: a small one of the same service.
const HOOK_MODEL: &str = "quick";
/// Tools of an agent that judges for a hook.
const LOOKING: [&str; 4] = ["Read", "Grep", "Glob", "LS"];

impl Tree {
    /// Returns who answers the questions of hooks of an agent that this connection answers.
    pub(in crate::subagent) fn hook_judges(&self, connection: &Connection, main: &Connection) -> HookJudges {
        let (parent, main, resolve) = (connection.clone(), main.clone(), self.setup().resolve_model.clone());
        let find = move |named: Option<&str>, is_projects: bool| {
            let name = named.unwrap_or(HOOK_MODEL);
            let scope = if is_projects { ModelScope::Here } else { ModelScope::Anywhere };
            let found = match resolve(&ModelRequest { name, scope, parent: &parent, main: &main }) {
                Err(_) if named.is_none() => parent.clone(),
                found => found?,
            };
            if is_projects && named.is_some() && may_cost_more(&found.model, &main.model) {
                let display = &found.model.display;
                return Err(format!("a hook of the project may not choose {display}, which may cost more than yours"));
            }
            Ok((found.provider, found.model))
        };
        let tools = self.setup().tools.filtered(|tool| LOOKING.contains(&tool));
        HookJudges { find: Arc::new(find), tools }
    }
}

/// Finds who answers a main agent that works as `definition`, in the place of `found`. An error is for the user.
/// Returns an error if the definition's model cannot be had.
pub fn lead_connection(
    definition: &AgentDefinition,
    found: &Connection,
    resolve: &ResolveModel,
) -> Result<Connection, String> {
    let wishes = ModelSources { call: None, environment: None, definition, parent: found, main: found };
    match wishes.connect(resolve) {
        Ok((connection, None)) => Ok(connection),
        Ok((_, Some(note))) => Err(note),
        Err(refusal) => Err(refusal.to_string()),
    }
}

/// Returns `true` unless the model is known to cost no more than the other. What a gateway asks is not known; which of two
/// models is the dearer is the same there as at home.
fn may_cost_more(model: &Model, other: &Model) -> bool {
    let price = |model: &Model| model.price.or_else(|| list_price(&model.id));
    model.id != other.id
        && match (price(model), price(other)) {
            (Some(price), Some(usual)) => price.input > usual.input || price.output > usual.output,
            _ => true,
        }
}

fn named(name: Option<&str>) -> Option<&str> {
    name.map(str::trim).filter(|name| !name.is_empty())
}
