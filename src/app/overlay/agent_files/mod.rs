//! The agents there are to be had, and the files that define them.
//!
//! Owns what the screen knows of them and what it asks to be done with the files. Leaves the doing to `tui::perform`
//! and the format to `definition`. Invariant: what is shown is what was read last, never what was asked for.

mod actions;
mod find;
mod place;
mod view;

use std::path::PathBuf;

pub use find::AgentFileRow;
pub use place::{AgentPlaces, FilesLayout};
pub use view::{AgentFilesPage, AgentFilesView, Standings};

use self::view::PendingWork;
use crate::app::{App, Effect};
use crate::definition::{AgentDraft, AgentHome, CatalogChanges, Listing, Source, Tier};
use crate::message::{Diagnostic, sanitize_line};

/// Something to be done with agent files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileRequest {
    /// Look at what is in force.
    List,
    /// Look at the folders in which new files belong.
    Homes,
    /// Read all files anew.
    Reload,
    /// Write a new file into the folder of a tier.
    Create {
        /// Where.
        tier: Tier,
        /// What.
        draft: Box<AgentDraft>,
    },
    /// Write the text of an agent into the folder of a tier.
    Duplicate {
        /// Where the agent comes from.
        source: Source,
        /// Its name.
        name: String,
        /// Where the copy goes.
        tier: Tier,
    },
    /// Open a file in `$EDITOR`.
    Edit(PathBuf),
    /// Delete a file.
    Delete(PathBuf),
}

/// What came of it.
#[derive(Debug, Clone, PartialEq)]
pub enum FileNews {
    /// Where files lie; told once.
    Places(AgentPlaces),
    /// Every agent there is.
    Listed(Listing),
    /// The folders in which new files belong, as they are now.
    Homes(Vec<AgentHome>),
    /// A file was written.
    Created(PathBuf),
    /// A file was open in the editor, which is closed.
    Edited(PathBuf),
    /// A file is gone.
    Deleted(PathBuf),
    /// It did not work; says why and what to do.
    Failed(String),
}

impl App {
    pub(in crate::app) fn on_agent_files(&mut self, news: FileNews, effects: &mut Vec<Effect>) {
        let Some(news) = self.wizard_files(news) else { return };
        match news {
            FileNews::Homes(_) => {}
            FileNews::Places(places) => self.agent_places = places,
            FileNews::Listed(listing) => self.listed(listing),
            FileNews::Created(path) => {
                if let Some(view) = &mut self.agent_files {
                    view.seek(&path, &self.listing);
                }
                self.inform(format!("written: {}", self.agent_places.shown(&path)));
            }
            FileNews::Edited(path) => {
                effects.push(Effect::AgentFiles(FileRequest::Reload));
                self.inform(format!("edited: {}", self.agent_places.shown(&path)));
                if let Some(view) = &mut self.agent_files {
                    view.awaited = PendingWork::Edited(path);
                }
            }
            FileNews::Deleted(path) => self.inform(format!("deleted: {}", self.agent_places.shown(&path))),
            FileNews::Failed(text) => match &mut self.agent_files {
                Some(view) => view.error = Some(sanitize_line(&text).into_owned()),
                None => self.warn(text),
            },
        }
    }

    fn listed(&mut self, listing: Listing) {
        self.composer.set_agents(&listing);
        self.listing = listing;
        let Some(view) = &mut self.agent_files else { return };
        view.refresh(&self.listing);
        match std::mem::replace(&mut view.awaited, PendingWork::Nothing) {
            PendingWork::Nothing => {}
            PendingWork::Reload => {
                let announced = view.standings().words();
                self.inform(format!("read again: {announced}"));
            }
            PendingWork::Edited(path) => {
                let edited = self.listing.iter().find(|listed| listed.source.path.as_ref() == Some(&path));
                view.error = edited.and_then(|listed| listed.diagnostics.first()).map(|error| {
                    let line = error.line.map_or_else(String::new, |line| format!("line {line}: "));
                    sanitize_line(&format!("{line}{}", error.message)).into_owned()
                });
            }
        }
    }

    /// Takes in that agent files have changed.
    pub(in crate::app) fn agents_changed(&mut self, changes: &CatalogChanges, effects: &mut Vec<Effect>) {
        effects.push(Effect::AgentFiles(FileRequest::List));
        // The view shows what changed, and its own words about what it did are not overwritten.
        match summary(changes).filter(|_| self.agent_files.is_none() && !self.wizard_told(changes)) {
            Some(text) if changes.errors.is_empty() => self.inform(text),
            Some(text) => self.warn(text),
            None => {}
        }
    }
}

/// Returns what changed in one line; `None` for nothing.
fn summary(changes: &CatalogChanges) -> Option<String> {
    let parts = [("+", &changes.added), ("~", &changes.changed), ("-", &changes.removed)];
    let words = parts.iter().filter(|(_, names)| !names.is_empty()).map(|(sign, names)| match names.as_slice() {
        [name] => format!("{sign}{name}"),
        names => format!("{sign}{}", names.len()),
    });
    let mut words: Vec<String> = words.collect();
    words.extend(errors(&changes.errors));
    (!words.is_empty()).then(|| format!("agents: {}", words.join("  ")))
}

/// Returns what is wrong: the fault itself where it is the only one, else in how many files.
fn errors(errors: &[Diagnostic]) -> Option<String> {
    let first = errors.first()?;
    let file = first.path.as_ref().and_then(|path| path.file_name()).map_or_else(String::new, |name| {
        let line = first.line.map_or_else(String::new, |line| format!(":{line}"));
        format!("{}{line}", name.to_string_lossy())
    });
    let text = match errors.len() - 1 {
        0 => format!("{file} {}", first.message),
        more => format!("{file} and {more} more faults, see /agents"),
    };
    Some(sanitize_line(text.trim_start()).into_owned())
}
