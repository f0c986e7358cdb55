//! All agents of all tiers: reads the files and puts what they say in force.
//!
//! Owns walking the folders. Leaves the format to `load` and who wins to `catalog`. Invariant: every file with the
//! ending `.md` below a folder of agents becomes an agent or a diagnostic.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use tokio::sync::Notify;

use super::{AgentDir, AgentDirs, Catalog, Changes, Parsed, Source, builtin, load};
use crate::message::Diagnostic;

/// Where agents come from, and the catalog that they are put into.
#[derive(Debug)]
pub struct Library {
    catalog: Catalog,
    dirs: AgentDirs,
    /// Agents of the command line.
    given: Vec<Parsed>,
    /// Names of the tools there are.
    tools: Vec<String>,
    /// Held while files are read.
    reading: Mutex<()>,
    /// What was not told yet.
    news: Mutex<VecDeque<Changes>>,
    told: Notify,
}

impl Library {
    /// Returns a library that offers the built-in agents and those of the command line; [`Library::reload`] adds the
    /// files. `tools` names the tools there are.
    #[must_use]
    pub fn new(dirs: AgentDirs, given: Vec<Parsed>, tools: Vec<String>) -> Self {
        let catalog = Catalog::builtin();
        catalog.replace(builtin::parsed().into_iter().chain(given.iter().cloned()).collect());
        Self { catalog, dirs, given, tools, reading: Mutex::default(), news: Mutex::default(), told: Notify::new() }
    }

    /// Returns the catalog.
    #[must_use]
    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// Returns the folders.
    #[must_use]
    pub fn dirs(&self) -> &AgentDirs {
        &self.dirs
    }

    /// Returns the names of the tools there are.
    #[must_use]
    pub fn tools(&self) -> &[String] {
        &self.tools
    }

    /// Reads all files, puts what they say in force and returns what that changed, which [`Library::changes`] tells
    /// too. Blocks.
    pub fn reload(&self) -> Changes {
        // Of two at once, the one that ends last must not be the one that read first.
        let _turn = self.reading.lock().unwrap_or_else(PoisonError::into_inner);
        let mut all = builtin::parsed();
        for dir in self.dirs.iter() {
            all.extend(read_dir(dir));
        }
        all.extend(self.given.iter().cloned());
        for parsed in &mut all {
            load::check_tools(parsed, &self.tools);
        }
        let changes = self.catalog.replace(all);
        if !changes.is_empty() {
            self.news.lock().unwrap_or_else(PoisonError::into_inner).push_back(changes.clone());
            self.told.notify_one();
        }
        changes
    }

    /// Waits for the next change. There is one listener: what it is told, no other hears.
    pub async fn changes(&self) -> Changes {
        loop {
            let next = self.news.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
            match next {
                Some(changes) => return changes,
                None => self.told.notified().await,
            }
        }
    }
}

/// Reads all agent files below a folder, in the order of their paths.
fn read_dir(dir: &AgentDir) -> Vec<Parsed> {
    let mut files = Vec::new();
    find(&dir.path, &mut files);
    files.sort();
    files.into_iter().map(|path| read_file(Source { tier: dir.tier, path: Some(path) })).collect()
}

fn find(folder: &Path, files: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for path in entries.flatten().map(|entry| entry.path()) {
        if path.is_dir() {
            find(&path, files);
        } else if path.extension().is_some_and(|ending| ending == "md") {
            files.push(path);
        }
    }
}

/// Reads one agent file. Blocks.
#[must_use]
pub fn read_file(source: Source) -> Parsed {
    let Some(path) = source.path.clone() else { return Parsed { source, definition: None, diagnostics: Vec::new() } };
    match std::fs::read_to_string(&path) {
        Ok(text) => load::parse(&text, source),
        Err(fault) => {
            let diagnostic = Diagnostic::in_file(path, format!("cannot be read: {fault}. The file is left out."));
            Parsed { source, definition: None, diagnostics: vec![diagnostic] }
        }
    }
}
