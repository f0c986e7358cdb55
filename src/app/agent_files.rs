//! The agents there are to be had, and the files that define them.
//!
//! Owns what the screen knows of them and what it asks to be done with the files. Leaves the doing to `tui::perform`
//! and the format to `definition`. Invariant: what is shown is what was read last, never what was asked for.

use std::path::PathBuf;

use super::{App, Effect};
use crate::definition::{AgentDraft, AgentHome, Changes, Listing, Tier};

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
    /// Open a file in `$EDITOR`.
    Edit(PathBuf),
    /// Delete a file.
    Delete(PathBuf),
}

/// What came of it.
#[derive(Debug, Clone, PartialEq)]
pub enum FileNews {
    /// Every agent there is.
    Listed(Listing),
    /// The folders in which new files belong.
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
    pub(super) fn on_agent_files(&mut self, news: FileNews, effects: &mut Vec<Effect>) {
        let Some(news) = self.wizard_files(news) else { return };
        match news {
            FileNews::Homes(_) => {}
            FileNews::Listed(listing) => self.listing = listing,
            FileNews::Created(path) => self.inform(format!("written: {}", path.display())),
            FileNews::Edited(path) => {
                effects.push(Effect::AgentFiles(FileRequest::Reload));
                self.inform(format!("edited: {}", path.display()));
            }
            FileNews::Deleted(path) => self.inform(format!("deleted: {}", path.display())),
            FileNews::Failed(text) => self.warn(text),
        }
    }

    /// Takes in that agent files have changed.
    pub(super) fn agents_changed(&mut self, changes: &Changes, effects: &mut Vec<Effect>) {
        effects.push(Effect::AgentFiles(FileRequest::List));
        if let Some(text) = summary(changes).filter(|_| !self.wizard_told(changes)) {
            self.inform(text);
        }
    }
}

/// Returns what changed in one line; `None` for nothing.
fn summary(changes: &Changes) -> Option<String> {
    let parts = [("+", &changes.added), ("~", &changes.changed), ("-", &changes.removed)];
    let words = parts.iter().filter(|(_, names)| !names.is_empty()).map(|(sign, names)| match names.as_slice() {
        [name] => format!("{sign}{name}"),
        names => format!("{sign}{}", names.len()),
    });
    let mut words: Vec<String> = words.collect();
    if !changes.faults.is_empty() {
        words.push(format!("{} faults, see /agents", changes.faults.len()));
    }
    (!words.is_empty()).then(|| format!("agents: {}", words.join("  ")))
}
