//! What was allowed in advance: by `--allowedTools`, or by "always (this session)".

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::access::is_plain_project_file;
use super::{Access, AccessKind};

/// One permission given in advance, written as in Claude Code: `Tool`, `Bash(command)`, `Bash(prefix:*)`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Grant {
    /// Every use of the tool.
    Tool(String),
    /// Exactly this command.
    Command(String),
    /// Simple commands that start with these words.
    Prefix(String),
    /// Edits of project files, by any tool.
    Edits,
    /// Reading a file, or a folder and all that is below it.
    Below(PathBuf),
}

/// A grant that cannot be understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a permission; write a tool's name, `Bash(command)`, `Bash(prefix:*)` or `Read(/absolute/folder)`"
)]
pub struct GrantError(String);

impl Grant {
    /// Returns the narrowest grant that is still of use for `access`.
    pub(super) fn for_access(access: &Access, project: &Path) -> Option<Self> {
        let grant = match &access.kind {
            AccessKind::Read { path } => Self::Below(path.clone()),
            AccessKind::Write { path } if is_plain_project_file(path, project) => Self::Edits,
            AccessKind::Nothing | AccessKind::Write { .. } => return None,
            AccessKind::Execute { command } => Self::Command(trimmed(command).to_owned()),
        };
        // A command that ends like a pattern, or a path that ends in a blank, would come back from a log as another
        // grant, and a wider one.
        (grant.to_string().parse().as_ref() == Ok(&grant)).then_some(grant)
    }

    fn covers(&self, access: &Access, project: &Path) -> bool {
        match (self, &access.kind) {
            (Self::Tool(name), _) => name.eq_ignore_ascii_case(&access.tool),
            (Self::Command(granted), AccessKind::Execute { command }) => granted == trimmed(command),
            (Self::Prefix(prefix), AccessKind::Execute { command }) => starts_with_words(command, prefix),
            (Self::Edits, AccessKind::Write { path }) => is_plain_project_file(path, project),
            (Self::Below(top), AccessKind::Read { path }) => path.starts_with(top),
            _ => false,
        }
    }
}

/// Returns the command without the blanks around it that a shell does not see.
pub(super) fn trimmed(command: &str) -> &str {
    command.trim_matches([' ', '\t', '\n'])
}

/// Tells whether `command` is one simple command (nothing a shell would expand, chain or redirect) whose first words
/// are those of `prefix`.
pub(super) fn starts_with_words(command: &str, prefix: &str) -> bool {
    if !is_simple(command) {
        return false;
    }
    // Only what separates words for the shell: other blanks, such as a no-break space, are part of a program's name.
    let words_of = |text| str::split(text, [' ', '\t']).filter(|word: &&str| !word.is_empty());
    let mut words = words_of(command);
    words_of(prefix).all(|expected| words.next() == Some(expected))
}

/// Tells whether a shell would expand, chain or redirect nothing in the command.
pub(super) fn is_simple(command: &str) -> bool {
    !command.contains(['\n', ';', '&', '|', '<', '>', '`', '$', '(', ')', '{', '}', '\\'])
}

/// Tells whether a path has the form in which accesses are judged: absolute, without `.` and `..`.
fn is_resolved(path: &Path) -> bool {
    use std::path::Component;
    path.is_absolute() && path.components().all(|part| matches!(part, Component::RootDir | Component::Normal(_)))
}

impl FromStr for Grant {
    type Err = GrantError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = text.trim();
        let bad = || GrantError(text.to_owned());
        let Some((tool, rest)) = text.split_once('(') else {
            let is_name = !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-');
            return match text {
                "Task" => Ok(Self::Tool("Agent".to_owned())),
                _ if is_name => Ok(Self::Tool(text.to_owned())),
                _ => Err(bad()),
            };
        };
        let scope = rest.strip_suffix(')').map(str::trim).filter(|scope| !scope.is_empty()).ok_or_else(bad)?;
        match tool.trim() {
            "Bash" if scope == "*" => Ok(Self::Tool("Bash".to_owned())),
            "Bash" => match scope.strip_suffix(":*").or_else(|| scope.strip_suffix(" *")).map(str::trim) {
                Some("") => Err(bad()),
                Some(prefix) => Ok(Self::Prefix(prefix.to_owned())),
                None => Ok(Self::Command(scope.to_owned())),
            },
            "Edit" if scope == "project files" => Ok(Self::Edits),
            "Read" if is_resolved(Path::new(scope)) => Ok(Self::Below(PathBuf::from(scope))),
            _ => Err(bad()),
        }
    }
}

impl fmt::Display for Grant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tool(name) => f.write_str(name),
            Self::Command(command) => write!(f, "Bash({command})"),
            Self::Prefix(prefix) => write!(f, "Bash({prefix}:*)"),
            Self::Edits => f.write_str("Edit(project files)"),
            Self::Below(top) => write!(f, "Read({})", top.display()),
        }
    }
}

impl TryFrom<String> for Grant {
    type Error = GrantError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<Grant> for String {
    fn from(grant: Grant) -> Self {
        grant.to_string()
    }
}

/// All grants of a session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Grants(Vec<Grant>);

impl Grants {
    /// Adds a grant.
    pub fn add(&mut self, grant: Grant) {
        if !self.0.contains(&grant) {
            self.0.push(grant);
        }
    }

    /// Tells whether any grant covers the access.
    #[must_use]
    pub fn cover(&self, access: &Access, project: &Path) -> bool {
        self.0.iter().any(|grant| grant.covers(access, project))
    }
}

impl FromIterator<Grant> for Grants {
    fn from_iter<T: IntoIterator<Item = Grant>>(grants: T) -> Self {
        let mut all = Self::default();
        grants.into_iter().for_each(|grant| all.add(grant));
        all
    }
}
