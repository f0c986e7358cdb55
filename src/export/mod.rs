//! A session for others: as Markdown, as JSON, as one page for a browser.
//!
//! Owns what of a session's files is shown, and how it is written in each format. Leaves the files to `session` and who
//! asks for it to the command line and the front ends. Invariants: what is held in memory grows with the agents, not
//! with what they said; every text passes [`Clean`], which masks secrets and takes out what a terminal or a browser would
//! obey; nothing that exists is written over.

mod activity;
mod clean;
mod contain;
mod facts;
mod html;
mod json;
mod markdown;
mod recording;
mod steps;

use std::io;
use std::path::{Path, PathBuf};

use jiff::Zoned;

pub use activity::{ActivityKind, ActivitySpan};
pub use clean::{Clean, cut};
pub use contain::{contained, fenced, inline, quoted};
pub use html::prose;
pub use recording::{RecordedAgent, Recording};

use crate::config::Environment;
use crate::message::ExportFormat;
use crate::session::{SessionError, Store};

/// Why a session cannot be exported.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    #[error("nothing to export yet: the session has no records")]
    Empty,
    #[error("this session is not saved: there is no folder for it. Set HOME and restart.")]
    Unkept,
    #[error(transparent)]
    Session(#[from] SessionError),
}

/// Writes the session in `dir` to a new file and returns its path. `store` says where exports go and what is masked.
/// Blocks. Returns an error if there is nothing to export, or the file is there already or cannot be written.
pub fn export(store: &Store, dir: &Path, format: ExportFormat, place: Option<&Path>) -> Result<PathBuf, ExportError> {
    // The folder appears with the first record.
    if !dir.exists() {
        return Err(ExportError::Empty);
    }
    let recording = Recording::read(dir)?;
    if recording.is_empty() {
        return Err(ExportError::Empty);
    }
    let name = Zoned::now().strftime("session-%Y-%m-%d-%H%M%S%.3f").to_string();
    let clean = Clean::new(store);
    let write = |out: &mut dyn io::Write| match format {
        ExportFormat::Markdown => markdown::write(&recording, &clean, out),
        ExportFormat::Json => json::write(&recording, &clean, out),
        ExportFormat::Html => html::write(&recording, &clean, out),
    };
    Ok(store.export(&format!("{name}.{format}"), place, write)?)
}

/// Returns the path that the user has named, seen from `cwd`.
#[must_use]
pub fn place_of(cwd: &Path, place: &str) -> PathBuf {
    match (place.strip_prefix("~/"), Environment::of_process().home()) {
        (Some(below), Some(home)) => home.join(below),
        _ => cwd.join(place),
    }
}
