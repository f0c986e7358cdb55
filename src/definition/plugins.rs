//! The plugins in use, found anew whenever what says so has changed.
//!
//! Owns what has come, changed or gone. Leaves what a plugin is to `plugin`, the watching to `watch`, and putting their hooks
//! and servers in force to `services`. Invariant: a file that cannot be read, perhaps because it is being written, changes
//! nothing of what is in use.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use super::news::LibraryNews;
use super::{CatalogChanges, Plugin, PluginPlaces};
use crate::message::Diagnostic;

/// Where plugins are found, and which are in use. The default has none.
#[derive(Debug, Default)]
pub struct PluginLibrary {
    places: Option<PluginPlaces>,
    found: Mutex<Found>,
    /// Changes not yet returned by [`PluginLibrary::changes`].
    news: LibraryNews,
}

#[derive(Debug, Default)]
struct Found {
    plugins: Arc<[Plugin]>,
    errors: Vec<Diagnostic>,
}

impl PluginLibrary {
    /// Finds the plugins in use, and what is wrong with others. Blocks; these are small files.
    #[must_use]
    pub fn find(places: PluginPlaces) -> (Self, Vec<Diagnostic>) {
        let (plugins, errors) = Plugin::find(&places);
        let found = Found { plugins: plugins.into(), errors: errors.clone() };
        (Self { places: Some(places), found: Mutex::new(found), news: LibraryNews::default() }, errors)
    }

    /// Returns those in use.
    #[must_use]
    pub fn all(&self) -> Arc<[Plugin]> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner).plugins.clone()
    }

    /// Returns the files that say which plugins there are, and what their hooks and servers are.
    pub(super) fn files(&self) -> Vec<PathBuf> {
        let lists = self.places.iter().flat_map(PluginPlaces::files);
        lists.chain(self.all().iter().flat_map(Plugin::files).collect::<Vec<_>>()).collect()
    }

    /// Finds them anew, and returns what that changed, as [`PluginLibrary::changes`] does too. Blocks.
    pub fn reload(&self) -> CatalogChanges {
        let Some(places) = &self.places else { return CatalogChanges::default() };
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let unread = places.unread();
        let (plugins, errors) = if unread.is_empty() { Plugin::find(places) } else { (found.plugins.to_vec(), unread) };
        let plugins = kept_where_broken(&found.plugins, plugins, &errors);
        // What is wrong with settings is said where their rules are read.
        let is_settings = |error: &&Diagnostic| error.path.as_ref().is_some_and(|path| places.is_settings(path));
        let fresh = errors.iter().filter(|error| !found.errors.contains(error) && !is_settings(error));
        let changes = CatalogChanges { errors: fresh.cloned().collect(), ..since(&found.plugins, &plugins) };
        *found = Found { plugins: plugins.into(), errors };
        drop(found);
        self.news.tell(changes)
    }

    /// Waits for the next change. There is one listener: each change is returned once.
    pub async fn changes(&self) -> CatalogChanges {
        self.news.next().await
    }
}

/// Returns the plugins as they are now, but for those with a file that cannot be read any more.
fn kept_where_broken(old: &[Plugin], mut new: Vec<Plugin>, errors: &[Diagnostic]) -> Vec<Plugin> {
    let is_broken = |file: PathBuf| errors.iter().any(|error| error.path.as_deref() == Some(&file));
    for plugin in &mut new {
        let before = old.iter().find(|known| known.name == plugin.name && known.root == plugin.root);
        if let Some(before) = before.filter(|before| before.files().any(is_broken)) {
            *plugin = before.clone();
        }
    }
    new
}

fn since(old: &[Plugin], new: &[Plugin]) -> CatalogChanges {
    let named = |plugins: &[Plugin], name: &str| plugins.iter().position(|plugin| plugin.name == name);
    let missing = |here: &[Plugin], there: &[Plugin]| -> Vec<String> {
        let missing = here.iter().filter(|plugin| named(there, &plugin.name).is_none());
        missing.map(|plugin| plugin.name.clone()).collect()
    };
    let is_changed = |plugin: &&Plugin| named(old, &plugin.name).is_some_and(|at| old[at] != **plugin);
    CatalogChanges {
        added: missing(new, old),
        changed: new.iter().filter(is_changed).map(|plugin| plugin.name.clone()).collect(),
        removed: missing(old, new),
        errors: Vec::new(),
    }
}
