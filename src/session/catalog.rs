//! Which sessions there are, and which of them somebody means.
//!
//! Owns the names of folders. Leaves what happened in a session to those who read its records. Invariant: nothing but
//! names and times is read, so that thousands of sessions cost no more than a look into their folders.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::store::project_sessions;
use crate::message::Spent;

/// Name of the main agent's file, without its ending.
pub const MAIN: &str = "main";
/// Name of the index: the records that say which agents there are and how each run of them ended.
pub const INDEX: &str = "index";

/// The folder of one session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionFolder {
    /// Its name, such as `2026-11-21T06-30-00Z-3fa01c`.
    pub id: String,
    pub dir: PathBuf,
    /// When its main agent was last heard of.
    pub changed: SystemTime,
}

/// What people know a session by.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionSummary {
    pub id: String,
    /// The first message.
    pub title: String,
    /// The last message, or the beginning of the last answer.
    pub last_words: String,
    /// The folder it worked in.
    pub folder: PathBuf,
    /// How long ago its main agent was last heard of.
    pub age: Duration,
    /// How many subagents it had.
    pub agents: usize,
    pub spent: Spent,
    /// Whether it broke off while its main agent worked.
    pub is_interrupted: bool,
    /// Whether a program has it open.
    pub is_open: bool,
}

impl SessionFolder {
    /// Returns `true` if it is the session in this folder, by whatever links the path leads there.
    pub fn is_at(&self, dir: Option<&Path>) -> bool {
        dir.is_some_and(|dir| dir.ends_with(&self.id))
    }

    /// Returns the last part of its name, by which people call it.
    pub fn short_id(&self) -> &str {
        short(&self.id)
    }
}

impl SessionSummary {
    pub fn short_id(&self) -> &str {
        short(&self.id)
    }

    /// Returns `true` if it has these words, in lower case, in what people know it by.
    pub fn contains(&self, words: &str) -> bool {
        let folder = self.folder.to_string_lossy();
        let all = format!("{} {} {} {folder}", self.id, self.title, self.last_words).to_lowercase();
        words.split_whitespace().all(|word| all.contains(word))
    }
}

fn short(id: &str) -> &str {
    id.rsplit('-').next().unwrap_or(id)
}

/// Lists the sessions of a project, or of all projects, the latest first. A folder without records is none. Blocks.
pub fn sessions(state_dir: &Path, project: Option<&Path>) -> Vec<SessionFolder> {
    let below = |dir: PathBuf| std::fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path());
    let projects: Vec<PathBuf> = match project {
        Some(project) => vec![project_sessions(state_dir, project)],
        None => below(state_dir.join("sessions")).collect(),
    };
    let mut found: Vec<SessionFolder> = projects.into_iter().flat_map(below).filter_map(folder).collect();
    found.sort_by(|one, other| (other.changed, &other.id).cmp(&(one.changed, &one.id)));
    found
}

/// Returns `true` if a session of any project has this name. Blocks.
pub fn is_taken(state_dir: &Path, id: &str) -> bool {
    let projects = std::fs::read_dir(state_dir.join("sessions")).into_iter().flatten().flatten();
    projects.into_iter().any(|project| project.path().join(id).exists())
}

fn folder(dir: PathBuf) -> Option<SessionFolder> {
    let changed = dir.join(format!("{MAIN}.jsonl")).metadata().ok()?.modified().ok()?;
    let id = dir.file_name()?.to_str()?.to_owned();
    Some(SessionFolder { id, dir, changed })
}

/// Finds the one session whose name is, begins with or ends in `wanted`.
///
/// # Errors
/// Returns those that could be meant if it is not one.
pub fn find<'a>(sessions: &'a [SessionFolder], wanted: &str) -> Result<&'a SessionFolder, Vec<&'a SessionFolder>> {
    let wanted = wanted.trim();
    let exact = |session: &&SessionFolder| session.id == wanted || session.short_id() == wanted;
    if let Some(session) = sessions.iter().find(exact) {
        return Ok(session);
    }
    let fits = |session: &&SessionFolder| {
        !wanted.is_empty() && (session.id.starts_with(wanted) || session.short_id().starts_with(wanted))
    };
    let found: Vec<&SessionFolder> = sessions.iter().filter(fits).collect();
    match found.as_slice() {
        [one] => Ok(one),
        _ => Err(found),
    }
}

/// Returns `true` if a program has the session open. Blocks.
pub fn is_open(dir: &Path) -> bool {
    File::open(dir).is_ok_and(|folder| folder.try_lock().is_err())
}
