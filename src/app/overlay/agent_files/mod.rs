//! The agents there are to be had, and the files that define them.
//!
//! Owns what the screen knows of them and what it asks to be done with the files. Leaves the doing to `tui::effect_runner`
//! and the format to `definition`. Invariant: what is shown is what was read last, never what was asked for.

mod actions;
mod find;
mod place;
mod view;

use std::path::PathBuf;

pub(in crate::app) use actions::FilesAct;
pub use find::AgentFileRow;
pub use place::{AgentPlaces, FilesLayout};
pub use view::{AgentFilesPage, AgentFilesView, Standings};

use self::view::PendingWork;
use crate::app::outbox::Outbox;
use crate::app::{Effect, FlashSubject};
use crate::definition::{AgentDraft, AgentHome, CatalogChanges, Listed, Listing, Source, Tier};
use crate::message::{Diagnostic, sanitize_line};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileRequest {
    List,
    /// Look at the folders in which new files belong.
    Homes,
    Reload,
    /// Write a new file into the folder of a tier.
    Create {
        tier: Tier,
        draft: Box<AgentDraft>,
    },
    /// Write the text of an agent into the folder of a tier.
    Duplicate {
        source: Source,
        name: String,
        tier: Tier,
    },
    Edit(PathBuf),
    /// Read all files anew, of which the user has edited this one.
    Edited(PathBuf),
    Delete(PathBuf),
}

#[derive(Debug, Clone, PartialEq)]
pub enum FileNews {
    /// Where files lie; sent once.
    Places(AgentPlaces),
    Listed(Listing),
    Homes(Vec<AgentHome>),
    Created(PathBuf),
    /// A file was open in the editor, which is closed.
    Edited(PathBuf),
    Deleted(PathBuf),
    /// It did not work; says why and what to do.
    Failed(String),
}

#[derive(Debug, Default)]
pub(in crate::app) struct AgentFilesPanel {
    listing: Listing,
    places: AgentPlaces,
    /// The view of all of them, in front of everything but popups.
    view: Option<AgentFilesView>,
    copying: Option<(Source, String)>,
}

impl AgentFilesPanel {
    pub(in crate::app) fn copying(&self) -> Option<&(Source, String)> {
        self.copying.as_ref()
    }

    pub(in crate::app) fn listing(&self) -> &Listing {
        &self.listing
    }

    pub(in crate::app) fn places(&self) -> &AgentPlaces {
        &self.places
    }

    pub(in crate::app) fn view(&self) -> Option<&AgentFilesView> {
        self.view.as_ref()
    }

    pub(in crate::app) fn chosen(&self) -> Option<&Listed> {
        self.view.as_ref()?.chosen(&self.listing)
    }

    pub(in crate::app) fn is_typing(&self) -> bool {
        self.view.as_ref().is_some_and(AgentFilesView::is_typing)
    }

    pub(in crate::app) fn open(&mut self, out: &mut Outbox) {
        self.view = Some(AgentFilesView::new(&self.listing));
        out.push(Effect::AgentFiles(FileRequest::List));
    }

    /// Closes the view. Returns `true` if it was open.
    pub(in crate::app) fn close(&mut self) -> bool {
        self.view.take().is_some()
    }

    pub(in crate::app) fn apply(&mut self, news: FileNews, out: &mut Outbox) {
        match news {
            FileNews::Homes(_) => {}
            FileNews::Places(places) => self.places = places,
            FileNews::Listed(listing) => self.listed(listing, out),
            FileNews::Created(path) => {
                if let Some(view) = &mut self.view {
                    view.seek(&path, &self.listing);
                }
                out.inform(format!("written: {}", self.places.shown(&path)));
            }
            FileNews::Edited(path) => {
                out.push(Effect::AgentFiles(FileRequest::Edited(path.clone())));
                out.inform(format!("edited: {}", self.places.shown(&path)));
                if let Some(view) = &mut self.view {
                    view.awaited = PendingWork::Edited(path);
                }
            }
            FileNews::Deleted(path) => out.inform(format!("deleted: {}", self.places.shown(&path))),
            FileNews::Failed(text) => match &mut self.view {
                Some(view) => view.error = Some(sanitize_line(&text).into_owned()),
                None => out.warn(text),
            },
        }
    }

    fn listed(&mut self, listing: Listing, out: &mut Outbox) {
        self.listing = listing;
        let Some(view) = &mut self.view else { return };
        view.refresh(&self.listing);
        match std::mem::replace(&mut view.awaited, PendingWork::Nothing) {
            PendingWork::Nothing => {}
            PendingWork::Reload => out.inform(format!("reloaded: {}", view.standings().words())),
            PendingWork::Edited(path) => {
                let edited = self.listing.iter().find(|listed| listed.source.path.as_ref() == Some(&path));
                view.error = edited.and_then(|listed| listed.diagnostics.first()).map(|error| {
                    let line = error.line.map_or_else(String::new, |line| format!("line {line}: "));
                    sanitize_line(&format!("{line}{}", error.message)).into_owned()
                });
            }
        }
    }

    /// Says that agent files have changed, and has them listed.
    pub(in crate::app) fn on_changes(&self, changes: &CatalogChanges, out: &mut Outbox) {
        out.push(Effect::AgentFiles(FileRequest::List));
        // The view shows what changed, and words about a file that was just written are not overwritten.
        match summary(changes).filter(|_| self.view.is_none() && !is_announced(changes, out)) {
            Some(text) if changes.errors.is_empty() => out.inform(text),
            Some(text) => out.warn(text),
            None => {}
        }
    }
}

/// Returns `true` if these changes are the file that the wizard has just written, of which the user reads already.
fn is_announced(changes: &CatalogChanges, out: &Outbox) -> bool {
    let [name] = changes.added.as_slice() else { return false };
    let about = FlashSubject::NewAgent(name.clone());
    out.flash().is_some_and(|flash| flash.about == about)
        && *changes == CatalogChanges { added: changes.added.clone(), ..CatalogChanges::default() }
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
        more => format!("{file} and {more} more problems, see /agents"),
    };
    Some(sanitize_line(text.trim_start()).into_owned())
}
