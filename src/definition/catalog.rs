//! All agents there are, found by name.
//!
//! Owns the matching of names and who shadows whom. Leaves reading files to `load`. Invariant: a reader sees one whole
//! state, the one before a replacement or the one after it.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use serde::{Deserialize, Serialize};

use super::{AgentDefinition, Parsed, Source, builtin, narrow};
use crate::message::{Diagnostic, loose_name};

/// The agents in force. Clones share one state, so that a replacement is seen by everyone.
#[derive(Debug, Clone)]
pub struct Catalog(Arc<RwLock<State>>);

#[derive(Debug, Clone)]
struct State {
    offered: Arc<[Arc<AgentDefinition>]>,
    listing: Listing,
}

/// Every agent there is, in force or not, in the order of tiers and, within one, of reading.
pub type Listing = Arc<[Listed]>;

/// One agent, or one file that should be one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// The agent; `None` if the file cannot be used.
    pub definition: Option<Arc<AgentDefinition>>,
    pub source: Source,
    /// Whether it is in force.
    pub standing: DefinitionState,
    pub diagnostics: Vec<Diagnostic>,
}

impl Listed {
    /// Returns the agent's name, or, of a file that cannot be used, the name of the file.
    pub fn name(&self) -> String {
        match &self.definition {
            Some(definition) => definition.name.clone(),
            None => self.source.file_stem().unwrap_or("?").to_owned(),
        }
    }
}

/// What came of one file, shared with its next reader.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) source: Source,
    pub(super) definition: Option<Arc<AgentDefinition>>,
    pub(super) diagnostics: Vec<Diagnostic>,
}

impl From<Parsed> for Entry {
    fn from(Parsed { source, definition, diagnostics, .. }: Parsed) -> Self {
        Self { source, definition: definition.map(Arc::new), diagnostics }
    }
}

/// Whether a definition is in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DefinitionState {
    InForce,
    /// Another one has its name and weighs more.
    Shadowed {
        by: Source,
    },
    /// Its file cannot be used.
    Broken,
}

/// What a replacement changed: names of agents, in order, and what is newly wrong.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CatalogChanges {
    /// In force now and not before.
    pub added: Vec<String>,
    /// In force before and now, with another content.
    pub changed: Vec<String>,
    /// In force no more.
    pub removed: Vec<String>,
    /// Faults that were not there before.
    pub errors: Vec<Diagnostic>,
}

impl CatalogChanges {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl Catalog {
    /// Returns a catalog of the agents that are part of the program.
    #[must_use]
    pub fn builtin() -> Self {
        Self(Arc::new(RwLock::new(State::of(builtin::parsed().into_iter().map(Entry::from).collect()))))
    }

    /// Returns a catalog of these agents and no others; see [`Catalog::replace`].
    #[must_use]
    pub fn of(definitions: Vec<AgentDefinition>) -> Self {
        Self(Arc::new(RwLock::new(State::of(definitions.into_iter().map(Parsed::from).map(Entry::from).collect()))))
    }

    /// Puts other agents in force. Of several with one name the one of the latest tier wins, and within a tier the
    /// last one. Agents at work keep the definition they started with.
    pub fn replace(&self, parsed: Vec<Parsed>) -> CatalogChanges {
        self.put(parsed.into_iter().map(Entry::from).collect())
    }

    /// As [`Catalog::replace`], with agents that may be in force already.
    pub(super) fn put(&self, entries: Vec<Entry>) -> CatalogChanges {
        let new = State::of(entries);
        let old = std::mem::replace(&mut *self.0.write().unwrap_or_else(PoisonError::into_inner), new.clone());
        new.since(&old)
    }

    pub fn listing(&self) -> Listing {
        self.0.read().unwrap_or_else(PoisonError::into_inner).listing.clone()
    }

    /// Finds an agent, without regard to case, spaces, `_` and `-`.
    pub fn get(&self, name: &str) -> Option<Arc<AgentDefinition>> {
        let wanted = loose_name(name);
        self.all().iter().find(|definition| loose_name(&definition.name) == wanted).map(Arc::clone)
    }

    /// Returns all agents in the order in which they are offered.
    pub fn all(&self) -> Arc<[Arc<AgentDefinition>]> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).offered.clone()
    }

    /// Returns the names of all agents in the order in which they are offered.
    pub fn names(&self) -> Vec<String> {
        self.all().iter().map(|definition| definition.name.clone()).collect()
    }
}

impl State {
    /// A winner takes the place of the first agent of its name, so that shadowing does not change the order.
    fn of(mut parsed: Vec<Entry>) -> Self {
        parsed.sort_by_key(|entry| entry.source.tier);
        let mut order: Vec<String> = Vec::new();
        let mut winners: BTreeMap<String, usize> = BTreeMap::new();
        for (index, definition) in
            parsed.iter().enumerate().filter_map(|(at, one)| Some((at, one.definition.as_ref()?)))
        {
            let name = loose_name(&definition.name);
            if winners.insert(name.clone(), index).is_none() {
                order.push(name);
            }
        }
        for index in winners.values() {
            narrow(&mut parsed, *index);
        }
        let sources: Vec<Source> = parsed.iter().map(|parsed| parsed.source.clone()).collect();
        let listing: Listing = parsed
            .into_iter()
            .enumerate()
            .map(|(index, Entry { source, definition, diagnostics })| {
                let winner = definition.as_ref().and_then(|definition| winners.get(&loose_name(&definition.name)));
                let standing = match winner {
                    None => DefinitionState::Broken,
                    Some(winner) if *winner == index => DefinitionState::InForce,
                    Some(winner) => DefinitionState::Shadowed { by: sources[*winner].clone() },
                };
                Listed { definition, source, standing, diagnostics }
            })
            .collect();
        let offered = order.iter().filter_map(|name| listing[*winners.get(name)?].definition.clone()).collect();
        Self { offered, listing }
    }

    fn since(&self, old: &Self) -> CatalogChanges {
        let by_name = |state: &Self| -> BTreeMap<String, Arc<AgentDefinition>> {
            state.offered.iter().map(|definition| (loose_name(&definition.name), definition.clone())).collect()
        };
        let (before, now) = (by_name(old), by_name(self));
        let mut changes = CatalogChanges::default();
        for (key, definition) in &now {
            match before.get(key) {
                None => changes.added.push(definition.name.clone()),
                Some(former) if !Arc::ptr_eq(former, definition) && former != definition => {
                    changes.changed.push(definition.name.clone());
                }
                Some(_) => {}
            }
        }
        let gone = before.iter().filter(|(key, _)| !now.contains_key(*key));
        changes.removed = gone.map(|(_, definition)| definition.name.clone()).collect();
        let known: std::collections::HashSet<&Diagnostic> = old.errors().collect();
        changes.errors = self.errors().filter(|error| !known.contains(error)).cloned().collect();
        changes
    }

    fn errors(&self) -> impl Iterator<Item = &Diagnostic> {
        self.listing.iter().flat_map(|listed| &listed.diagnostics)
    }
}

/// Keeps a project's agent that is in force within the rights of the one that would be without it.
fn narrow(entries: &mut [Entry], winner: usize) {
    let Some(own) = entries[winner].definition.clone().filter(|own| own.source.tier.is_of_project()) else { return };
    let mut others = entries.iter().filter_map(|entry| entry.definition.as_ref());
    let is_in_its_place =
        |other: &&Arc<AgentDefinition>| !other.source.tier.is_of_project() && other.is_called(&own.name);
    let Some(other) = others.rfind(is_in_its_place) else { return };
    let narrowed = narrow::narrowed(&own, other);
    if narrowed != *own {
        let message = format!(
            "replaces `{}` ({}), so it is limited to what that agent may do. Rename this agent to lift the limit.",
            other.name,
            other.source.tier.label()
        );
        let path = own.source.path.clone();
        entries[winner].diagnostics.push(Diagnostic { path, ..Diagnostic::new(message) });
        entries[winner].definition = Some(Arc::new(narrowed));
    }
}

/// Returns `true` if two names are one to the catalog: without regard to case, spaces, `_` and `-`.
pub fn same_name(one: &str, other: &str) -> bool {
    loose_name(one) == loose_name(other)
}
