//! Memory files: what the user, the project and the organization have written down about how to work.
//!
//! Owns which files these are, what of them a model reads, what they import, and what of that one agent has been given.
//! Leaves notes that agents keep themselves to `subagent`, and when an agent is given what to `agent`. Source of the names
//! and of the order: the documentation of Claude Code, and <https://agents.md>. Invariants: a file of a project leads
//! nowhere out of it unless the user trusts that; what holds keys is never read; sizes are bounded; what cannot be read
//! is said.

mod find;
mod given;
mod list;
mod read;
mod rule;
mod text;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use tokio::sync::watch;

use crate::message::Diagnostic;
use crate::permission::{
    BroughtItem, BroughtKind, Grants, ItemTrust, Owner, PermissionMode, Permissions, Project, RuleSet,
};
use crate::sandbox::CommandTraces;

pub use given::{GivenMemory, MEMORY_TAG, MemoryNews, gives_memory};
pub use list::{ListedMemory, MemoryAnswer, MemoryRequest};

/// Whose words a file holds. The order is the one in which files are given; what comes later counts more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum MemoryOwner {
    /// The organization's.
    Managed,
    /// The user's for all projects.
    User,
    /// The user's, in a folder above the project.
    Above,
    /// The project's, for everyone who works on it.
    Project,
    /// The user's for this project, in it.
    Local,
}

impl MemoryOwner {
    /// Returns the words for it.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Managed => "the organization's instructions",
            Self::User => "the user's own, for all projects",
            Self::Above => "the user's own, from a folder above the project",
            Self::Project => "the project's, checked in",
            Self::Local => "the user's own, for this project",
        }
    }

    /// Returns `true` if the file comes with the project, perhaps from a stranger.
    #[must_use]
    pub fn is_projects(self) -> bool {
        matches!(self, Self::Project | Self::Local)
    }
}

/// One file, as a model reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryFile {
    /// Absolute, as it was found: a link is named by its own name.
    pub path: PathBuf,
    pub owner: MemoryOwner,
    /// Without comments, and without the head of a rule.
    pub text: Arc<str>,
    /// Whether it belongs to certain files, and is given once one of them was read.
    pub is_nested: bool,
}

/// Where memory files are looked for. Without a folder, nothing is read there.
#[derive(Debug, Clone, Default)]
pub struct MemorySources {
    /// The organization's folder.
    pub managed: Option<PathBuf>,
    /// `~/.claude`, or what stands for it.
    pub claude: Option<PathBuf>,
    /// The program's own folder of settings.
    pub own: Option<PathBuf>,
    /// The user's home, with links resolved.
    pub home: Option<PathBuf>,
    /// Whose files above the project count.
    pub user: Option<Owner>,
    /// Whether the agents work in a project.
    pub is_project: bool,
    /// Whether the project's own files are left out, and whether the user's for this project are (`CLAUDE.local.md`).
    pub skips_project: bool,
    pub skips_local: bool,
    /// What of the project the user trusts; clones share it.
    pub trust: MemoryTrust,
}

impl MemorySources {
    /// Returns `true` if there is nowhere to look.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        !self.is_project && [&self.managed, &self.claude, &self.own].iter().all(|folder| folder.is_none())
    }
}

/// What of a project's memory files the user trusts; clones share it.
#[derive(Debug, Clone, Default)]
pub struct MemoryTrust {
    state: Arc<RwLock<TrustState>>,
    /// What the user has said yes to.
    items: ItemTrust,
    /// What commands may have written.
    traces: CommandTraces,
    /// Files that are not read because of that.
    held: Arc<watch::Sender<Vec<BroughtItem>>>,
}

#[derive(Debug, Default)]
struct TrustState {
    /// Whether the project's files wait until the user has said that they trust the folder.
    waits: bool,
    /// Files outside of the project that its files may import.
    imports: BTreeSet<PathBuf>,
}

impl MemoryTrust {
    /// Returns one that holds back what commands may have written, unless the user trusts the file as it is.
    #[must_use]
    pub fn over(traces: CommandTraces, items: ItemTrust) -> Self {
        Self { items, traces, ..Self::default() }
    }

    /// Returns the files that are held back, as they change.
    pub fn held_changes(&self) -> watch::Receiver<Vec<BroughtItem>> {
        self.held.subscribe()
    }

    /// Returns `true` for a file that the user has to look at first: it has this name, lies there, and holds this.
    fn holds(&self, name: &Path, real: &Path, project: &Path, content: &str) -> bool {
        if !self.traces.may_be_of_command(name) && !self.traces.may_be_of_command(real) {
            return false;
        }
        let shown = name.strip_prefix(project).unwrap_or(name).to_string_lossy();
        let item = BroughtItem::of_file(BroughtKind::Memory, shown, content.as_bytes());
        if self.items.has(&item) {
            return false;
        }
        self.held.send_if_modified(|held| {
            let is_new = !held.contains(&item);
            if is_new {
                held.retain(|other| other.text != item.text);
                held.push(item);
            }
            is_new
        });
        true
    }

    /// Holds the project's files back, or no longer, and names what they may import from elsewhere: resolved paths.
    pub fn set(&self, waits: bool, imports: BTreeSet<PathBuf>) {
        *self.state.write().unwrap_or_else(PoisonError::into_inner) = TrustState { waits, imports };
    }

    fn waits(&self) -> bool {
        self.state.read().unwrap_or_else(PoisonError::into_inner).waits
    }

    fn allows(&self, path: &Path) -> bool {
        self.state.read().unwrap_or_else(PoisonError::into_inner).imports.contains(path)
    }
}

/// Reads the memory files for agents that work in one place.
#[derive(Debug, Clone)]
pub struct MemoryReader {
    pub sources: MemorySources,
    /// The working directory, absolute, links resolved.
    pub cwd: Arc<PathBuf>,
    /// Root of the project, absolute, links resolved.
    pub project: Arc<PathBuf>,
    /// What rules keep from every agent is kept from these files, too.
    pub permissions: Permissions,
}

impl MemoryReader {
    /// Returns a reader for no agent: nothing but `rules` is kept from it.
    #[must_use]
    pub fn under(sources: MemorySources, cwd: Arc<PathBuf>, project: Arc<PathBuf>, rules: RuleSet) -> Self {
        let ground = Project::at(project.as_ref().clone());
        let permissions = Permissions::new(ground, PermissionMode::Default, Grants::default()).under(rules);
        Self { sources, cwd, project, permissions }
    }
}

/// What was found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MemoryRead {
    /// In the order in which they are given.
    pub files: Vec<MemoryFile>,
    /// What could not be read, or only in part.
    pub diagnostics: Vec<Diagnostic>,
    /// What files of the project would import from elsewhere, resolved, if the user trusted that.
    pub outside: BTreeSet<PathBuf>,
}
