//! What the user has allowed for one project, by answering questions.
//!
//! Owns the file below the state directory. Leaves what a grant covers to `permission`. Invariants: nothing of it lies
//! in the project, so that no cloned repository can allow itself anything; a file counts only for the project whose
//! path it names; an entry that cannot be read is kept as it is and allows nothing.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::store::{SessionError, create_private_dir, keep_file, open_private, project_dir};
use crate::message::Diagnostic;
use crate::permission::{ActiveGrant, Grant, GrantChange, GrantOrigin, Holder};
use crate::whole_file::read_plain_text;

/// The most bytes of a file that is read.
const MAX_BYTES: u64 = 1 << 20;
/// The most faults of one file that are reported.
const MAX_FAULTS: usize = 5;

#[derive(Debug, Clone)]
pub struct Allowed {
    path: PathBuf,
    project: String,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Record {
    /// The folder's name has only a short hash of the path.
    project: String,
    /// Grants for every agent, as in the configuration. Answers were written so before they had a holder.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    allowed_tools: Vec<String>,
    /// Grants for one kind of agent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    allowed: Vec<Entry>,
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Entry {
    /// The grant, as in the configuration.
    tool: String,
    /// Name of the kind; `None` is the main agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<String>,
    /// Where the kind is defined. An entry that names an agent without it holds for nobody.
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<String>,
}

impl Record {
    /// Returns every entry with whom it holds for.
    fn entries(&self) -> impl Iterator<Item = (&str, Holder)> {
        let all = self.allowed_tools.iter().map(|tool| (tool.as_str(), Holder::Everyone));
        all.chain(self.allowed.iter().map(|entry| (entry.tool.as_str(), entry.holder())))
    }

    fn remove(&mut self, given: &ActiveGrant) {
        let is_meant = |tool: &str| tool.parse().as_ref() == Ok(&given.grant);
        if given.holder.is_everyone() {
            self.allowed_tools.retain(|tool| !is_meant(tool));
        }
        self.allowed.retain(|entry| entry.holder() != given.holder || !is_meant(&entry.tool));
    }

    fn add(&mut self, given: &ActiveGrant) {
        let tool = given.grant.to_string();
        match &given.holder {
            Holder::Everyone => self.allowed_tools.push(tool),
            Holder::Main => self.allowed.push(Entry { tool, agent: None, source: None }),
            Holder::Agents { name, source } => {
                self.allowed.push(Entry { tool, agent: Some(name.clone()), source: Some(source.clone()) });
            }
        }
    }
}

impl Entry {
    fn holder(&self) -> Holder {
        match &self.agent {
            None => Holder::Main,
            Some(name) => Holder::Agents { name: name.clone(), source: self.source.clone().unwrap_or_default() },
        }
    }
}

impl Allowed {
    /// Returns the file for the project below `project`.
    #[must_use]
    pub fn new(state_dir: &Path, project: &Path) -> Self {
        let path = project_dir(state_dir, project).join("permissions.toml");
        Self { path, project: project.to_string_lossy().into_owned() }
    }

    /// Returns what is allowed, and what is wrong with the file.
    pub fn read(&self) -> (Vec<ActiveGrant>, Vec<Diagnostic>) {
        let mut errors = Vec::new();
        let record = self.record().unwrap_or_else(|why| {
            errors.push(Diagnostic::in_file(&self.path, format!("{why}. The file is skipped.")));
            Record::default()
        });
        let mut grants = Vec::new();
        for (tool, holder) in record.entries() {
            match tool.parse::<Grant>() {
                Ok(grant) => grants.push(ActiveGrant { grant, origin: GrantOrigin::Project, holder }),
                Err(error) => errors.push(Diagnostic::in_file(&self.path, format!("{error}. The entry is skipped."))),
            }
        }
        errors.truncate(MAX_FAULTS);
        (grants, errors)
    }

    /// Writes a change down. Blocks. Another program that works in the same project is waited for, and what it wrote
    /// stays. Fails if the file cannot be written.
    pub fn change(&self, change: &GrantChange) -> Result<(), SessionError> {
        let error = |source| SessionError::new(&self.path, "locked", source);
        if let Some(folder) = self.path.parent() {
            create_private_dir(folder).map_err(error)?;
        }
        let lock: File = open_private(&self.path.with_extension("lock")).map_err(error)?;
        lock.lock().map_err(error)?;
        // A file that cannot be used is replaced: what it said was not in force.
        let mut record = self.record().unwrap_or_default();
        record.project.clone_from(&self.project);
        let (GrantChange::Keep(given) | GrantChange::Forget(given)) = change;
        record.remove(given);
        if let GrantChange::Keep(given) = change {
            record.add(given);
        }
        let text = toml::to_string(&record)
            .map_err(|error| SessionError::new(&self.path, "written", io::Error::other(error)))?;
        keep_file(&self.path, &text)
    }

    /// Returns what the file says; nothing if there is no file.
    fn record(&self) -> Result<Record, String> {
        let text = match read_plain_text(&self.path, MAX_BYTES) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Record::default()),
            read => read.map_err(|error| format!("cannot read it: {error}"))?,
        };
        let record: Record = toml::from_str(&text).map_err(|error| error.message().to_owned())?;
        if record.project != self.project {
            return Err("it is about another project".to_owned());
        }
        Ok(record)
    }
}
