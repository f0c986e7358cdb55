//! Where an agent works, if not among the project's own files.
//!
//! Owns the words for it in agent files, calls and logs. Leaves which launchers there are to `subagent`. Invariant: a word that
//! is understood here never comes to mean less: whoever cannot do it refuses the agent.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use crate::message::LauncherSettings;

const WORKTREE: &str = "worktree";

/// What keeps an agent apart from the files of the others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Isolation {
    /// A git worktree of its own, on a branch of its own.
    Worktree,
    /// It runs where a launcher of the user's starts it, by its name.
    Launcher(String),
}

impl Isolation {
    /// Returns what a word stands for; `None` if it can stand for nothing.
    #[must_use]
    pub fn named(word: &str) -> Option<Self> {
        let word = word.trim();
        if word.eq_ignore_ascii_case(WORKTREE) {
            return Some(Self::Worktree);
        }
        LauncherSettings::is_name(word).then(|| Self::Launcher(word.to_owned()))
    }

    /// Returns the word that agent files and calls use.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Worktree => WORKTREE,
            Self::Launcher(name) => name,
        }
    }

    /// Returns the launcher that it names.
    #[must_use]
    pub fn launcher(&self) -> Option<&str> {
        match self {
            Self::Worktree => None,
            Self::Launcher(name) => Some(name),
        }
    }
}

impl TryFrom<String> for Isolation {
    type Error = String;

    fn try_from(word: String) -> Result<Self, String> {
        Self::named(&word).ok_or_else(|| format!("`{WORKTREE}`, or the name of a launcher, is expected"))
    }
}

impl From<Isolation> for String {
    fn from(isolation: Isolation) -> Self {
        isolation.name().to_owned()
    }
}

impl JsonSchema for Isolation {
    fn schema_name() -> Cow<'static, str> {
        "Isolation".into()
    }

    fn inline_schema() -> bool {
        true
    }

    /// Names what is always there; the launchers are added where they are known.
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "enum": [WORKTREE]})
    }
}
