//! Skills and commands as files: what the user, a project or a plugin has written down to be done on request.
//!
//! Owns the format, where such files lie, which of one name wins, and what a model reads when one is called. Leaves running
//! what it names to `agent`, and offering it to `subagent`. Source of the format: the documentation of Claude Code, and
//! <https://agentskills.io>. Invariants: no file is dropped in silence; a file of the project never takes the place of one of
//! the user's own; what stands in arguments is never read as a part of the file.

mod command;
mod dirs;
mod expand;
mod library;
mod limits;
mod load;
mod programs;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use globset::{GlobBuilder, GlobSetBuilder};

use crate::message::{Diagnostic, Effort, SkillHooks};

pub use dirs::{SkillDir, SkillDirs};
pub use library::{SkillCatalog, SkillLibrary};
pub use limits::SkillLimits;
pub use load::hooks_of_file;

/// Something to do on request, as a file says it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skill {
    /// What is typed behind the slash: `deploy`, `frontend:deploy`.
    pub name: String,
    pub kind: SkillKind,
    /// What it does, and when it is of use.
    pub description: String,
    /// More on when it is of use, for the model that chooses.
    pub when_to_use: Option<String>,
    /// What may follow its name, for people.
    pub argument_hint: Option<String>,
    /// Names of its arguments, in their order.
    pub arguments: Vec<String>,
    /// What it may do without a question while it is carried out, as written.
    pub allowed_tools: Vec<String>,
    /// What it may not do while it is carried out, as written.
    pub disallowed_tools: Vec<String>,
    /// Model by alias or id; `None` leaves it to the session.
    pub model: Option<String>,
    pub effort: Option<Effort>,
    /// Who carries it out, if not the agent that calls it.
    pub fork: Option<SkillFork>,
    /// Whether a model may call it.
    pub is_for_models: bool,
    /// Whether the user can.
    pub is_for_users: bool,
    /// Patterns of the files that it is about, as written.
    pub paths: Vec<String>,
    /// What it says of hooks.
    pub hooks: Option<SkillHooks>,
    /// Fields that are understood but that nothing acts on, as written: name and value.
    pub idle_fields: Vec<(String, String)>,
    pub body: Arc<str>,
    pub origin: SkillOrigin,
    pub path: PathBuf,
    /// The folder of the plugin that it is part of.
    pub plugin_root: Option<PathBuf>,
}

impl Skill {
    /// Returns `true` if it is about one of these files of a project. Patterns that cannot be read are about all.
    #[must_use]
    pub fn is_about<'p>(&self, project: &Path, mut files: impl Iterator<Item = &'p Path>) -> bool {
        let mut set = GlobSetBuilder::new();
        for pattern in &self.paths {
            let plain = pattern.trim_start_matches("./").trim_start_matches('/').trim_end_matches('/');
            // A folder stands for what is below it.
            for glob in [plain.to_owned(), format!("{plain}/**")] {
                let Ok(glob) = GlobBuilder::new(&glob).literal_separator(true).build() else { return true };
                set.add(glob);
            }
        }
        let Ok(set) = set.build() else { return true };
        files.any(|file| file.strip_prefix(project).is_ok_and(|file| set.is_match(file)))
    }

    /// Returns the folder in which the files lie that it names.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(&self.path)
    }
}

/// Who carries a skill out in a conversation of its own (`context: fork`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillFork {
    /// The kind of agent; `None` is `general-purpose`.
    pub agent: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SkillKind {
    /// A folder with `SKILL.md` and what that needs.
    Skill,
    /// One file, `commands/name.md`.
    Command,
}

impl SkillKind {
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Skill => "skill",
            Self::Command => "command",
        }
    }
}

/// Whose file it is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum SkillOrigin {
    User,
    Project,
    /// A plugin, by its name.
    Plugin(String),
}

impl SkillOrigin {
    /// Returns the words shown to the user.
    #[must_use]
    pub fn label(&self) -> String {
        match self {
            Self::User => "user".to_owned(),
            Self::Project => "project".to_owned(),
            Self::Plugin(name) => format!("plugin {name}"),
        }
    }

    /// Returns `true` if it comes with the project, perhaps from a stranger.
    #[must_use]
    pub fn is_projects(&self) -> bool {
        *self == Self::Project
    }
}

/// A file as it is listed, whether it can be used or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedSkill {
    pub name: String,
    pub kind: SkillKind,
    pub origin: SkillOrigin,
    pub path: PathBuf,
    /// What it says; `None` if it cannot be used.
    pub skill: Option<Arc<Skill>>,
    /// The file that has its name and counts more.
    pub shadowed_by: Option<PathBuf>,
    /// Whether the user has to trust it first; of such a file, nothing but its name is used.
    pub awaits_trust: bool,
    pub diagnostics: Vec<Diagnostic>,
}

impl ListedSkill {
    /// Returns what it says, if that is in force.
    #[must_use]
    pub fn in_force(&self) -> Option<&Arc<Skill>> {
        self.skill.as_ref().filter(|_| self.shadowed_by.is_none())
    }
}

/// Returns `true` if a file of this name waits for the user's trust.
#[must_use]
pub fn awaits_trust(listing: &[ListedSkill], name: &str) -> bool {
    listing.iter().any(|listed| listed.awaits_trust && listed.name == name)
}

/// Returns the name and what follows it, if a text begins as a command does: a slash and a word.
#[must_use]
pub fn called_in(text: &str) -> Option<(&str, &str)> {
    let written = text.trim().strip_prefix('/')?;
    let (name, rest) = written.split_once(char::is_whitespace).unwrap_or((written, ""));
    (!name.is_empty()).then(|| (name, rest.trim()))
}
