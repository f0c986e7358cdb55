//! All agents there are, found by name.
//!
//! Owns the matching of names and who shadows whom. Leaves reading files to `load`. Invariant: a reader sees one whole
//! state, the one before a replacement or the one after it.

use std::sync::{Arc, PoisonError, RwLock};

use super::{AgentDefinition, builtin};

/// The agents in force. Clones share one state, so that a replacement is seen by everyone.
#[derive(Debug, Clone)]
pub struct Catalog(Arc<RwLock<Entries>>);

type Entries = Arc<[Arc<AgentDefinition>]>;

impl Catalog {
    /// Returns a catalog of the agents that are part of the program.
    #[must_use]
    pub fn builtin() -> Self {
        Self::of(builtin::definitions())
    }

    /// Returns a catalog of these agents and no others; see [`Catalog::replace`].
    #[must_use]
    pub fn of(definitions: Vec<AgentDefinition>) -> Self {
        Self(Arc::new(RwLock::new(resolve(definitions))))
    }

    /// Puts other agents in force. Of several with one name the one of the latest tier wins, and within a tier the
    /// last one. Agents at work keep the definition they started with.
    pub fn replace(&self, definitions: Vec<AgentDefinition>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = resolve(definitions);
    }

    /// Finds an agent, without regard to case, spaces, `_` and `-`.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Arc<AgentDefinition>> {
        let wanted = normalised(name);
        self.all().iter().find(|definition| normalised(&definition.name) == wanted).map(Arc::clone)
    }

    /// Returns all agents in the order in which they are offered.
    #[must_use]
    pub fn all(&self) -> Arc<[Arc<AgentDefinition>]> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns the names of all agents in the order in which they are offered.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        self.all().iter().map(|definition| definition.name.clone()).collect()
    }
}

/// A winner takes the place of the first agent of its name, so that shadowing does not change the order.
fn resolve(mut definitions: Vec<AgentDefinition>) -> Entries {
    definitions.sort_by_key(|definition| definition.source.tier);
    let mut entries: Vec<(String, Arc<AgentDefinition>)> = Vec::new();
    for definition in definitions {
        let name = normalised(&definition.name);
        let definition = Arc::new(definition);
        match entries.iter_mut().find(|(taken, _)| *taken == name) {
            Some(entry) => entry.1 = definition,
            None => entries.push((name, definition)),
        }
    }
    entries.into_iter().map(|(_, definition)| definition).collect()
}

fn normalised(name: &str) -> String {
    name.chars().filter(|c| !c.is_whitespace() && !matches!(c, '_' | '-')).flat_map(char::to_lowercase).collect()
}
