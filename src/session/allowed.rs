//! What the user has allowed for one project, by answering questions.
//!
//! Owns the file below the state directory. Leaves what a grant covers to `permission`. Invariants: nothing of it lies
//! in the project, so that no cloned repository can allow itself anything; a file counts only for the project whose
//! path it names; an entry that cannot be read is kept as it is and allows nothing.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::store::{SessionError, create_private_dir, keep_file, open_private, project_dir};
use crate::message::Diagnostic;
use crate::permission::{Grant, GrantChange};

/// The most bytes of a file that is read.
const MAX_BYTES: u64 = 1 << 20;
/// The most faults of one file that are told.
const MAX_FAULTS: usize = 5;

/// The file of what is allowed in one project.
#[derive(Debug, Clone)]
pub struct Allowed {
    path: PathBuf,
    project: String,
}

/// The file as it is written.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Record {
    /// The folder's name has only a short hash of the path.
    project: String,
    /// Grants, as in the configuration.
    #[serde(default)]
    allowed_tools: Vec<String>,
}

impl Allowed {
    /// Returns the file for the project below `project`.
    #[must_use]
    pub fn new(state_dir: &Path, project: &Path) -> Self {
        let path = project_dir(state_dir, project).join("permissions.toml");
        Self { path, project: project.to_string_lossy().into_owned() }
    }

    /// Returns what is allowed, and what is wrong with the file.
    #[must_use]
    pub fn read(&self) -> (Vec<Grant>, Vec<Diagnostic>) {
        let mut faults = Vec::new();
        let entries = self.entries().unwrap_or_else(|why| {
            faults.push(Diagnostic::in_file(&self.path, format!("{why}. The file is left out.")));
            Vec::new()
        });
        let mut grants = Vec::new();
        for entry in &entries {
            match entry.parse() {
                Ok(grant) => grants.push(grant),
                Err(fault) => faults.push(Diagnostic::in_file(&self.path, format!("{fault}. The entry is left out."))),
            }
        }
        faults.truncate(MAX_FAULTS);
        (grants, faults)
    }

    /// Writes a change down. Blocks. Another program that works in the same project is waited for, and what it wrote
    /// stays.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn change(&self, change: &GrantChange) -> Result<(), SessionError> {
        let fault = |source| SessionError::new(&self.path, "locked", source);
        if let Some(folder) = self.path.parent() {
            create_private_dir(folder).map_err(fault)?;
        }
        let lock: File = open_private(&self.path.with_extension("lock")).map_err(fault)?;
        lock.lock().map_err(fault)?;
        // A file that cannot be used is replaced: what it said was not in force.
        let mut allowed_tools = self.entries().unwrap_or_default();
        let (GrantChange::Keep(grant) | GrantChange::Forget(grant)) = change;
        allowed_tools.retain(|entry| entry.parse().as_ref() != Ok(grant));
        if let GrantChange::Keep(grant) = change {
            allowed_tools.push(grant.to_string());
        }
        let record = Record { project: self.project.clone(), allowed_tools };
        let text = toml::to_string(&record)
            .map_err(|fault| SessionError::new(&self.path, "written", io::Error::other(fault)))?;
        keep_file(&self.path, &text)
    }

    /// Returns the entries of the file; none if there is no file.
    fn entries(&self) -> Result<Vec<String>, String> {
        let mut text = String::new();
        match File::open(&self.path) {
            Err(fault) if fault.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            opened => opened
                .and_then(|file| file.take(MAX_BYTES).read_to_string(&mut text))
                .map_err(|fault| format!("cannot be read: {fault}"))?,
        };
        let record: Record = toml::from_str(&text).map_err(|fault| fault.message().to_owned())?;
        if record.project != self.project {
            return Err("it is about another project".to_owned());
        }
        Ok(record.allowed_tools)
    }
}
