//! All agents of all tiers: reads the files and puts what they say in force.
//!
//! Owns their order. Leaves finding files to `walk`, reading them to `cache` and who wins to `catalog`. Invariant: every
//! agent file below a folder of agents becomes an agent or a diagnostic.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use tokio::sync::Notify;

use super::cache::Cache;
use super::catalog::Entry;
use super::{AgentDir, AgentDirs, Catalog, CatalogChanges, KnownNames, Parsed, Source, builtin, walk};

/// Where agents come from, and the catalog that they are put into.
#[derive(Debug)]
pub struct Library {
    catalog: Catalog,
    dirs: AgentDirs,
    built_in: Vec<Entry>,
    /// Agents of the command line.
    given: Vec<Entry>,
    known: KnownNames,
    /// Whether the agents of the project count.
    trusts_project: AtomicBool,
    /// What was read before.
    cache: Mutex<Cache>,
    /// Changes not yet returned by [`Library::changes`].
    news: Mutex<VecDeque<CatalogChanges>>,
    told: Notify,
}

impl Library {
    /// Returns a library that offers the built-in agents and those of the command line; [`Library::reload`] adds the
    /// files. `known` says which names there are.
    #[must_use]
    pub fn new(dirs: AgentDirs, mut given: Vec<Parsed>, known: KnownNames) -> Self {
        for parsed in &mut given {
            known.check(parsed);
        }
        let entries = |parsed: Vec<Parsed>| -> Vec<Entry> { parsed.into_iter().map(Entry::from).collect() };
        let (built_in, given) = (entries(builtin::parsed()), entries(given));
        // Faults are told by the first reading, when there is someone to hear of them.
        let no_error = given.iter().map(|entry| Entry { diagnostics: Vec::new(), ..entry.clone() });
        let catalog = Catalog::of(Vec::new());
        catalog.put(built_in.iter().cloned().chain(no_error).collect());
        let (cache, news) = (Mutex::default(), Mutex::default());
        let trusts_project = AtomicBool::new(true);
        Self { catalog, dirs, built_in, given, known, trusts_project, cache, news, told: Notify::new() }
    }

    /// Says whether the agents of the project count from the next [`Library::reload`] on.
    pub fn trust_project(&self, is_trusted: bool) {
        self.trusts_project.store(is_trusted, Ordering::SeqCst);
    }

    /// Returns the agent files of the project, whether they count or not. Blocks.
    pub fn project_files(&self) -> Vec<PathBuf> {
        self.dirs.iter().filter(|dir| dir.bounds.is_some()).flat_map(|dir| walk::find(dir).files).collect()
    }

    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    pub fn dirs(&self) -> &AgentDirs {
        &self.dirs
    }

    pub fn tools(&self) -> &[String] {
        &self.known.tools
    }

    /// Reads all files that changed, puts what they say in force and returns what that changed, as [`Library::changes`]
    /// does too. Blocks.
    pub fn reload(&self) -> CatalogChanges {
        // Held to the end: of two at once, the one that ends last must not be the one that read first.
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        let mut sources = Vec::new();
        let mut entries = self.built_in.clone();
        let counts = |dir: &&AgentDir| dir.bounds.is_none() || self.trusts_project.load(Ordering::SeqCst);
        for dir in self.dirs.iter().filter(counts) {
            let found = walk::find(dir);
            entries.extend(found.errors.into_iter().map(Entry::from));
            sources.extend(found.files.into_iter().map(|path| Source { tier: dir.tier, path: Some(path) }));
        }
        entries.extend(cache.read(sources, &self.known));
        entries.extend(self.given.iter().cloned());
        let changes = self.catalog.put(entries);
        if !changes.is_empty() {
            self.news.lock().unwrap_or_else(PoisonError::into_inner).push_back(changes.clone());
            self.told.notify_one();
        }
        changes
    }

    /// Waits for the next change. There is one listener: each change is returned once.
    pub async fn changes(&self) -> CatalogChanges {
        loop {
            let next = self.news.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
            match next {
                Some(changes) => return changes,
                None => self.told.notified().await,
            }
        }
    }
}
