//! All agents of all tiers: reads the files and puts what they say in force.
//!
//! Owns their order. Leaves finding files to `walk`, reading them to `cache` and who wins to `catalog`. Invariants: every
//! agent file below a folder of agents becomes an agent or a diagnostic, but for those of the project that are not
//! trusted; what is in force of these is what was trusted, byte by byte.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use tokio::sync::watch;

use super::cache::{Cache, FileOf};
use super::catalog::Entry;
use super::news::LibraryNews;
use super::{AgentDir, AgentDirs, Catalog, CatalogChanges, KnownNames, Parsed, Plugin, Source, Tier, builtin, walk};
use crate::permission::{BroughtItem, ItemTrust};

/// Where agents come from, and the catalog that they are put into.
#[derive(Debug)]
pub struct Library {
    catalog: Catalog,
    dirs: AgentDirs,
    /// Where the agents of plugins lie, each with the name of its plugin.
    plugins: RwLock<Vec<(String, AgentDir)>>,
    built_in: Vec<Entry>,
    /// Agents of the command line.
    given: Vec<Entry>,
    known: KnownNames,
    /// Which agent files of the project count.
    trust: ItemTrust,
    /// What was read before.
    cache: Mutex<Cache>,
    /// Changes not yet returned by [`Library::changes`].
    news: LibraryNews,
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
        let (trust, cache, news) = (ItemTrust::default(), Mutex::default(), LibraryNews::default());
        let plugins = RwLock::default();
        Self { catalog, dirs, plugins, built_in, given, known, trust, cache, news }
    }

    /// Returns the same library with the agents of these plugins, whose names begin with that of the plugin.
    #[must_use]
    pub fn with_plugins(self, plugins: &[Plugin]) -> Self {
        self.use_plugins(plugins);
        self
    }

    /// Offers the agents of these plugins and of no others, from the next [`Library::reload`] on.
    pub fn use_plugins(&self, plugins: &[Plugin]) {
        let mut dirs = Vec::new();
        for plugin in plugins {
            let dir =
                |path: &PathBuf| AgentDir { tier: Tier::Plugin, path: path.clone(), bounds: plugin.bounds.clone() };
            dirs.extend(plugin.agents.iter().map(|path| (plugin.name.clone(), dir(path))));
        }
        *self.plugins.write().unwrap_or_else(PoisonError::into_inner) = dirs;
    }

    fn of_plugins(&self) -> Vec<(String, AgentDir)> {
        self.plugins.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns all folders that agent files may lie in.
    pub(super) fn folders(&self) -> Vec<PathBuf> {
        let of_plugins = self.of_plugins().into_iter().map(|(_, dir)| dir.path);
        self.dirs.iter().map(|dir| dir.path.clone()).chain(of_plugins).collect()
    }

    /// Returns which agent files of the project count. A change holds from the next [`Library::reload`] on.
    pub fn trust(&self) -> &ItemTrust {
        &self.trust
    }

    /// Reads the agent files of the project, whether they count or not. Blocks.
    pub fn brought(&self) -> Vec<BroughtItem> {
        let of_plugins = self.of_plugins();
        let all = self.dirs.iter().chain(of_plugins.iter().map(|(_, dir)| dir));
        let theirs = all.filter(|dir| dir.bounds.is_some());
        let files = theirs.flat_map(|dir| found_in(dir).files.into_iter().map(move |path| FileOf { dir, path }));
        let mut items: Vec<BroughtItem> = files.filter_map(|file| file.read_brought()).collect();
        items.sort();
        items
    }

    /// Returns where the agent files of the project are seen, whether they count or not, after each reload.
    pub fn brought_changes(&self) -> watch::Receiver<Vec<BroughtItem>> {
        self.news.brought()
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
        // The plugins of the first files.
        let mut owners = Vec::new();
        let of_plugins = self.of_plugins();
        for (plugin, dir) in &of_plugins {
            let found = found_in(dir).files;
            owners.extend(std::iter::repeat_n(plugin, found.len()));
            files.extend(found.into_iter().map(|path| FileOf { dir, path }));
        }
        for dir in self.dirs.iter() {
            let found = found_in(dir);
            let unread = found.errors.into_iter().map(|error| {
                let source = Source { tier: dir.tier, path: error.path.clone() };
                Entry::from(Parsed::broken(source, error))
            });
            entries.extend(unread);
            files.extend(found.files.into_iter().map(|path| FileOf { dir, path }));
        }
        let mut owners = owners.into_iter();
        for mut known in cache.read(files, &self.known) {
            if let (Some(plugin), Some(definition)) = (owners.next(), &mut known.entry.definition) {
                let definition = Arc::make_mut(definition);
                definition.name = format!("{plugin}:{}", definition.name);
            }
            if known.brought.as_ref().is_none_or(|item| self.trust.has(item)) {
                entries.push(known.entry);
            }
            brought.extend(known.brought);
        }
        entries.extend(self.given.iter().cloned());
        self.news.bring(brought);
        let changes = self.catalog.put(entries);
        self.news.tell(changes)
    }

    /// Waits for the next change. There is one listener: each change is returned once.
    pub async fn changes(&self) -> CatalogChanges {
        self.news.next().await
    }
}

fn found_in(dir: &AgentDir) -> walk::FoundFile {
    // Plugins may name single files.
    if dir.tier == Tier::Plugin && dir.path.is_file() {
        return walk::FoundFile { files: vec![dir.path.clone()], ..walk::FoundFile::default() };
    }
    walk::find(&dir.path, dir.bounds.as_ref(), "~/.claude/agents")
}
