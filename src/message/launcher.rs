//! A launcher, as the user has set it up: the command that runs an agent somewhere else.
//!
//! Owns what one is called and how many run at once. Leaves starting it to others. Invariant: only the user's own settings name
//! one, never those of a project, which may do no more than call it by its name.

use serde::Deserialize;

use super::ExternalProgram;

/// Agents that one launcher runs at the same time, unless its settings say otherwise.
const USUAL_AT_ONCE: usize = 8;
/// The most that settings may say.
const MOST_AT_ONCE: usize = 10_000;
/// Bytes of the longest name.
const MAX_NAME: usize = 40;
/// Words that mean something else where a name could stand.
const TAKEN: [&str; 4] = ["worktree", "none", "false", "true"];

/// How the files of the project get to where an agent runs, and back.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LauncherFolder {
    /// Not at all: it works with what it finds there.
    #[default]
    None,
    /// As a snapshot of git's, over the agent's own connection. What it changes comes back into a worktree.
    Git,
}

/// A launcher, as `[launchers.NAME]` describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LauncherSettings {
    /// What people call it: the name of the table.
    pub name: String,
    /// The command that becomes an agent of the Agent Client Protocol, such as `ssh host belvedere acp`.
    pub program: ExternalProgram,
    pub folder: LauncherFolder,
    /// How many of its agents run at the same time; the rest wait.
    pub at_once: usize,
}

impl LauncherSettings {
    /// Returns a launcher; else what is wrong with it.
    ///
    /// # Errors
    /// Returns what is wrong, for people.
    pub fn new(
        name: &str,
        program: ExternalProgram,
        folder: LauncherFolder,
        at_once: Option<usize>,
    ) -> Result<Self, String> {
        if !Self::is_name(name) {
            return Err(format!(
                "a name has letters, digits, `_` and `-`, at most {MAX_NAME}, and is not `{}`",
                TAKEN.join("`, `")
            ));
        }
        let words = std::iter::once(&program.command).chain(&program.args);
        if program.command.trim().is_empty() || words.into_iter().any(|word| word.contains('\0')) {
            return Err("`command` is the program and its arguments, such as \"ssh host belvedere acp\"".to_owned());
        }
        if program.command.contains('/') && !program.command.starts_with('/') {
            return Err("`command` begins with a name in PATH or an absolute path".to_owned());
        }
        let at_once = at_once.unwrap_or(USUAL_AT_ONCE);
        if !(1..=MOST_AT_ONCE).contains(&at_once) {
            return Err(format!("`at_once` is a number from 1 to {MOST_AT_ONCE}"));
        }
        Ok(Self { name: name.to_owned(), program, folder, at_once })
    }

    /// Returns `true` if a text can be the name of a launcher.
    #[must_use]
    pub fn is_name(text: &str) -> bool {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        (1..=MAX_NAME).contains(&text.len())
            && text.chars().all(is_plain)
            && text.starts_with(|c: char| c.is_ascii_alphanumeric())
            && !TAKEN.contains(&text.to_ascii_lowercase().as_str())
    }
}
