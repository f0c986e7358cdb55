//! All agents of all tiers: reads the files and puts what they say in force.
//!
//! Owns their order. Leaves finding files to `walk`, reading them to `cache` and who wins to `catalog`. Invariants: every
//! agent file below a folder of agents becomes an agent or a diagnostic, but for those of the project that are not
//! trusted; what is in force of these is what was trusted, byte by byte.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use tokio::sync::{Notify, watch};

use super::cache::{Cache, FileOf};
use super::catalog::Entry;
use super::{AgentDirs, Catalog, CatalogChanges, KnownNames, Parsed, builtin, walk};
use crate::permission::{BroughtItem, ItemTrust};

/// Where agents come from, and the catalog that they are put into.
#[derive(Debug)]
pub struct Library {
    catalog: Catalog,
    dirs: AgentDirs,
    built_in: Vec<Entry>,
    /// Agents of the command line.
    given: Vec<Entry>,
    known: KnownNames,
    /// Which agent files of the project count.
    trust: ItemTrust,
    /// The agent files of the project, as they were read last.
    brought: watch::Sender<Vec<BroughtItem>>,
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
        let (trust, brought) = (ItemTrust::default(), watch::Sender::default());
        Self { catalog, dirs, built_in, given, known, trust, brought, cache, news, told: Notify::new() }
    }

    /// Returns which agent files of the project count. A change holds from the next [`Library::reload`] on.
    pub fn trust(&self) -> &ItemTrust {
        &self.trust
    }

    /// Reads the agent files of the project, whether they count or not. Blocks.
    pub fn brought(&self) -> Vec<BroughtItem> {
        let theirs = self.dirs.iter().filter(|dir| dir.bounds.is_some());
        let files = theirs.flat_map(|dir| walk::find(dir).files.into_iter().map(move |path| FileOf { dir, path }));
        let mut items: Vec<BroughtItem> = files.filter_map(|file| file.read_brought()).collect();
        items.sort();
        items
    }

    /// Returns where the agent files of the project are seen, whether they count or not, after each reload.
    pub fn brought_changes(&self) -> watch::Receiver<Vec<BroughtItem>> {
        self.brought.subscribe()
    }

    /// Trusts a file of the project as it is: the user has just written it. Blocks.
    pub fn vouch(&self, path: &Path) {
        let dir = self.dirs.iter().find(|dir| path.starts_with(&dir.path));
        let item = dir.and_then(|dir| FileOf { dir, path: path.to_path_buf() }.read_brought());
        self.trust.add(item);
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
        let (mut files, mut brought) = (Vec::new(), Vec::new());
        let mut entries = self.built_in.clone();
        for dir in self.dirs.iter() {
            let found = walk::find(dir);
            entries.extend(found.errors.into_iter().map(Entry::from));
            files.extend(found.files.into_iter().map(|path| FileOf { dir, path }));
        }
        for known in cache.read(files, &self.known) {
            if known.brought.as_ref().is_none_or(|item| self.trust.has(item)) {
                entries.push(known.entry);
            }
            brought.extend(known.brought);
        }
        entries.extend(self.given.iter().cloned());
        brought.sort();
        self.brought.send_if_modified(|last| {
            let is_new = *last != brought;
            *last = brought;
            is_new
        });
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
