//! A launcher, as the user has set it up: the command that runs an agent somewhere else.
//!
//! Owns what one is called and how many run at once. Leaves starting it to others. Invariant: only the user's own settings name
//! one, never those of a project, which may do no more than call it by its name.

use std::path::{Component, Path};

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
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum LauncherFolder {
    /// Not at all: it works with what it finds there.
    #[default]
    None,
    /// As a snapshot of git's, over the agent's own connection. What it changes comes back into a worktree.
    Git,
    /// By rsync, whatever program works there. What it changes comes back into a worktree.
    Rsync(RsyncFolder),
}

/// Where rsync puts the folders of agents, and what of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RsyncFolder {
    /// A folder for theirs, as rsync names it: `host:/path`, or a path of this machine.
    pub to: String,
    /// What goes along besides, though git ignores it: paths from the root of the project. It does not come back.
    pub include: Vec<String>,
    /// What neither goes there nor comes back, as rsync's own patterns.
    pub exclude: Vec<String>,
}

impl RsyncFolder {
    /// Returns where the folders lie; else what is wrong with it.
    ///
    /// # Errors
    /// Returns what is wrong, for people.
    pub fn new(to: &str, include: Vec<String>, exclude: Vec<String>) -> Result<Self, String> {
        let to = to.trim_end_matches('/');
        let (host, path) = Self::split(to);
        let is_clean = |text: &str| !text.chars().any(char::is_control);
        let is_host = host.is_none_or(|host| !host.is_empty() && !host.starts_with('-') && !host.contains('/'));
        let is_place = path.starts_with('/') && Path::new(path).components().all(|part| part != Component::ParentDir);
        if !is_host || !is_place || !is_clean(to) {
            return Err("`to` is a folder over there, such as \"big:/tmp\"".to_owned());
        }
        let is_inside = |path: &String| {
            let is_plain = Path::new(path).components().all(|part| matches!(part, Component::Normal(_)));
            is_plain && !path.is_empty() && is_clean(path)
        };
        if let Some(path) = include.iter().find(|path| !is_inside(path)) {
            return Err(format!(
                "`include` has paths from the root of the project, which `{}` is not",
                path.escape_debug()
            ));
        }
        if let Some(pattern) = exclude.iter().find(|pattern| pattern.is_empty() || !is_clean(pattern)) {
            return Err(format!("`exclude` has patterns of rsync's, which `{}` is not", pattern.escape_debug()));
        }
        Ok(Self { to: to.to_owned(), include, exclude })
    }

    /// Returns the path over there.
    #[must_use]
    pub fn path(&self) -> &Path {
        Path::new(Self::split(&self.to).1)
    }

    /// Splits the name of a host off, if there is one.
    fn split(to: &str) -> (Option<&str>, &str) {
        match to.split_once(':') {
            Some((host, path)) if !to.starts_with('/') => (Some(host), path),
            _ => (None, to),
        }
    }
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
