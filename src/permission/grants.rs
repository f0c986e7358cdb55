//! What was allowed by an answer to a question.
//!
//! Owns what a grant covers, how it is written, where each came from and whom it holds for. Leaves keeping them to `session`. Invariant: a
//! grant that is offered reads back, from its text, as the same grant.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::commands::base_name;
use super::{Access, AccessKind, Confinement, Holder, Project, git, options};
use crate::message::HostPort;

/// One permission given in advance, written as in Claude Code: `Tool`, `Bash(command)`, `Bash(prefix:*)`,
/// `WebFetch(domain:host)`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Grant {
    Tool(String),
    Command(String),
    /// Simple commands that start with these words.
    Prefix(String),
    /// Edits of project files, by any tool.
    Edits,
    /// Reading a file, or a folder and all that is below it.
    Below(PathBuf),
    /// Reaching a host from the sandbox.
    Host(HostPort),
    /// Pages of a host.
    Domain(String),
    /// Starting the program behind agents of a kind.
    Agent(String),
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a permission; write a tool name, `Bash(command)`, `Bash(prefix:*)` or `Read(/absolute/folder)`")]
pub struct GrantError(String);

impl Grant {
    /// Returns the narrowest grant that is still of use for `access`.
    pub(super) fn for_access(access: &Access, project: &Project) -> Option<Self> {
        let grant = match &access.kind {
            AccessKind::Read { path } => Self::Below(path.clone()),
            AccessKind::Write { path } if project.is_plain_file(path) => Self::Edits,
            AccessKind::Nothing | AccessKind::Write { .. } | AccessKind::Skill { .. } => return None,
            AccessKind::Reach { host, .. } => Self::Host(host.clone()),
            AccessKind::Execute { command, .. } => Self::Command(trimmed(command).to_owned()),
            AccessKind::Fetch { host, .. } => Self::Domain(host.clone()),
            AccessKind::Start { agent, .. } => Self::Agent(agent.clone()),
            AccessKind::Search { .. } | AccessKind::Call { .. } => Self::Tool(access.tool.clone()),
        };
        // A command that ends like a pattern, or a path that ends in a blank, would come back from a log as another
        // grant, and a wider one.
        (grant.to_string().parse().as_ref() == Ok(&grant)).then_some(grant)
    }

    /// Returns the rule of settings that allows as much; `None` if none does that allows no more.
    #[must_use]
    pub fn as_rule(&self) -> Option<String> {
        match self {
            Self::Command(command) if command.contains('*') => None,
            Self::Host(_) => None,
            Self::Edits => Some("Edit(/**)".to_owned()),
            Self::Below(top) => Some(format!("Read(/{})", globset::escape(top.to_str()?))),
            grant => Some(grant.to_string()),
        }
    }

    fn covers(&self, access: &Access, project: &Project) -> bool {
        match (self, &access.kind) {
            (Self::Tool(name), _) => name.eq_ignore_ascii_case(&access.tool),
            (Self::Command(granted), AccessKind::Execute { command, .. }) => granted == trimmed(command),
            (Self::Prefix(prefix), AccessKind::Execute { command, confinement }) => {
                starts_with_words(command, prefix, *confinement)
            }
            (Self::Edits, AccessKind::Write { path }) => project.is_plain_file(path),
            (Self::Below(top), AccessKind::Read { path }) => path.starts_with(top),
            (Self::Host(granted), AccessKind::Reach { host, .. }) => granted == host,
            (Self::Domain(domain), AccessKind::Fetch { host, .. }) => domain == host,
            (Self::Agent(granted), AccessKind::Start { agent, .. }) => granted == agent,
            _ => false,
        }
    }
}

/// Returns the command without the blanks around it that a shell does not see.
pub(super) fn trimmed(command: &str) -> &str {
    command.trim_matches([' ', '\t', '\n'])
}

/// Returns `true` if `command` is one simple command (nothing a shell would expand, chain or redirect) whose first words
/// are those of `prefix`, and whose others are harmless.
pub(super) fn starts_with_words(command: &str, prefix: &str, confinement: Confinement) -> bool {
    if !is_simple(command) {
        return false;
    }
    let (words, granted) = (shell_words(command), shell_words(prefix));
    words.strip_prefix(granted.as_slice()).is_some_and(|rest| others_are_harmless(command, &granted, rest, confinement))
}

/// Returns `true` if the words that follow the granted ones in a simple command leave it what it was allowed for.
pub(super) fn others_are_harmless(
    command: &str,
    granted: &[String],
    rest: &[String],
    confinement: Confinement,
) -> bool {
    let granted: Vec<&str> = granted.iter().map(String::as_str).collect();
    let rest: Vec<&str> = rest.iter().map(String::as_str).collect();
    if granted.iter().any(|word| base_name(word) == "git") {
        return git::is_covered(command, (&granted, &rest), confinement);
    }
    options::are_harmless(&granted, &rest)
}

/// Returns the words of a simple command as its program gets them, without quotes. Only what separates words for the
/// shell does so here: other blanks, such as a no-break space, are part of a word.
pub fn shell_words(command: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for c in command.chars() {
        match (quote, c) {
            (None, ' ' | '\t' | '\n') => words.extend(word.take()),
            (None, '"' | '\'') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (Some(open), _) if open == c => quote = None,
            _ => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

/// Returns `true` if a shell would expand, chain or redirect nothing in the command. Patterns and `~` stand for themselves
/// in quotes, all else nowhere.
pub(super) fn is_simple(command: &str) -> bool {
    if command.contains(['\n', ';', '&', '|', '<', '>', '`', '$', '(', ')', '{', '}', '\\'])
        || has_odd_controls(command)
    {
        return false;
    }
    let (mut quote, mut before) = (None, ' ');
    for c in command.chars() {
        match (quote, c) {
            (None, '"' | '\'') => quote = Some(c),
            (Some(open), _) if open == c => quote = None,
            (None, '*' | '?' | '[') => return false,
            (None, '~') if " \t=:".contains(before) => return false,
            _ => {}
        }
        before = c;
    }
    quote.is_none()
}

/// Returns `true` if a line holds control characters that no shell line needs: a terminal or a reader may take them for
/// something else than the shell does.
pub(super) fn has_odd_controls(line: &str) -> bool {
    line.chars().any(|c| c.is_control() && !matches!(c, '\t' | '\n'))
}

/// Returns `true` if a path has the form in which accesses are judged: absolute, without `.` and `..`.
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
            "WebFetch" => {
                let host = scope.strip_prefix("domain:").filter(|host| !host.contains(['*', ' ', '/']));
                host.filter(|host| !host.is_empty()).map(|host| Self::Domain(host.to_ascii_lowercase())).ok_or_else(bad)
            }
            "Agent" | "Task" => Ok(Self::Agent(scope.to_owned())),
            "Edit" if scope == "project files" => Ok(Self::Edits),
            "Host" => scope.parse().map(Self::Host).map_err(|_| bad()),
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
            Self::Host(host) => write!(f, "Host({host})"),
            Self::Domain(host) => write!(f, "WebFetch(domain:{host})"),
            Self::Agent(name) => write!(f, "Agent({name})"),
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

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GrantOrigin {
    Project,
    Session,
    /// The program itself, which lets agents read the reports of others. Older logs have others here, which are no
    /// answers either.
    #[serde(other)]
    Program,
}

impl GrantOrigin {
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Program => "program",
            Self::Project => "project",
            Self::Session => "session",
        }
    }

    /// Returns `true` if it can be taken back while the program runs: it was an answer.
    #[must_use]
    pub fn is_answer(self) -> bool {
        matches!(self, Self::Project | Self::Session)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActiveGrant {
    pub grant: Grant,
    pub origin: GrantOrigin,
    #[serde(default, skip_serializing_if = "Holder::is_everyone")]
    pub holder: Holder,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Grants(Vec<ActiveGrant>);

impl Grants {
    /// Adds a grant. One that was there already keeps its place, unless an answer now holds for longer.
    pub fn add(&mut self, new: ActiveGrant) {
        match self.0.iter_mut().find(|given| given.grant == new.grant && given.holder == new.holder) {
            Some(given) if given.origin == GrantOrigin::Session => given.origin = new.origin,
            Some(_) => {}
            None => self.0.push(new),
        }
    }

    /// Adds all of one origin, which hold for every agent.
    #[must_use]
    pub fn with(self, origin: GrantOrigin, grants: impl IntoIterator<Item = Grant>) -> Self {
        self.with_active(grants.into_iter().map(|grant| ActiveGrant { grant, origin, holder: Holder::Everyone }))
    }

    #[must_use]
    pub fn with_active(mut self, given: impl IntoIterator<Item = ActiveGrant>) -> Self {
        given.into_iter().for_each(|given| self.add(given));
        self
    }

    /// Takes back a grant that was an answer, and returns where it came from.
    pub(super) fn forget(&mut self, grant: &Grant, holder: &Holder) -> Option<GrantOrigin> {
        let is_meant =
            |given: &ActiveGrant| given.grant == *grant && given.holder == *holder && given.origin.is_answer();
        let at = self.0.iter().position(is_meant)?;
        Some(self.0.remove(at).origin)
    }

    pub fn cover(&self, access: &Access, project: &Project, asker: &Holder) -> bool {
        self.covering(access, project, asker).is_some()
    }

    /// Returns the first grant that covers an access.
    pub(super) fn covering(&self, access: &Access, project: &Project, asker: &Holder) -> Option<&ActiveGrant> {
        self.0.iter().find(|given| given.holder.includes(asker) && given.grant.covers(access, project))
    }

    /// Returns the hosts that somebody may reach from the sandbox.
    pub(super) fn hosts(&self, asker: &Holder) -> Vec<HostPort> {
        let held = self.0.iter().filter(|given| given.holder.includes(asker));
        let host = |given: &ActiveGrant| match &given.grant {
            Grant::Host(host) => Some(host.clone()),
            _ => None,
        };
        held.filter_map(host).collect()
    }

    pub fn all(&self) -> &[ActiveGrant] {
        &self.0
    }
}

impl FromIterator<Grant> for Grants {
    fn from_iter<T: IntoIterator<Item = Grant>>(grants: T) -> Self {
        Self::default().with(GrantOrigin::Session, grants)
    }
}
