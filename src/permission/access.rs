//! What a tool call would touch.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::message::HostPort;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Access {
    pub tool: String,
    #[serde(flatten)]
    pub kind: AccessKind,
    /// Whether it also reads the files below the folder that it names. No log needs it: nothing is decided from one.
    #[serde(skip)]
    pub looks_below: bool,
    /// The path as it was written, absolute, with links unresolved, where it is about one.
    #[serde(skip)]
    pub named: Option<PathBuf>,
    /// What it destroys that nothing brings back, if it is known to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lasting: Option<String>,
}

impl Access {
    #[must_use]
    pub fn new(tool: impl Into<String>, kind: AccessKind) -> Self {
        Self { tool: tool.into(), kind, looks_below: false, named: None, lasting: None }
    }

    /// Returns the same command outside of the sandbox; `None` if this is no command that runs inside.
    #[must_use]
    pub fn unconfined(&self) -> Option<Self> {
        let AccessKind::Execute { command, confinement } = &self.kind else { return None };
        let is_inside = matches!(confinement, Confinement::Sandbox | Confinement::ReadOnlySandbox);
        let kind = AccessKind::Execute { command: command.clone(), confinement: Confinement::None };
        is_inside.then(|| Self { kind, ..self.clone() })
    }

    /// Returns the same command in the sandbox, with a way to a host; `None` if this is no command.
    #[must_use]
    pub fn reaching(&self, host: HostPort) -> Option<Self> {
        let AccessKind::Execute { command, .. } = &self.kind else { return None };
        Some(Self { kind: AccessKind::Reach { command: command.clone(), host }, ..self.clone() })
    }

    /// Returns the same command in the sandbox without a way to a host; `None` if this one has none.
    pub(super) fn unreaching(&self) -> Option<Self> {
        let AccessKind::Reach { command, .. } = &self.kind else { return None };
        let kind = AccessKind::Execute { command: command.clone(), confinement: Confinement::Sandbox };
        Some(Self { kind, ..self.clone() })
    }

    /// Returns the access to a path that was written like this.
    #[must_use]
    pub fn named(self, named: Option<PathBuf>) -> Self {
        Self { named, ..self }
    }

    /// Returns the access of a call that destroys this for good.
    #[must_use]
    pub fn lasting(self, lasting: Option<String>) -> Self {
        Self { lasting, ..self }
    }

    /// Returns the access of a call of a tool of this kind.
    #[must_use]
    pub fn of_kind(self, tool: ToolKind) -> Self {
        Self { looks_below: tool == ToolKind::Search, ..self }
    }
}

/// The kinds of acts. Paths are absolute with symlinks resolved, so that a link cannot lead out of the project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum AccessKind {
    /// Touches nothing outside the conversation.
    Nothing,
    /// Reads a file or a folder and what is below it.
    Read {
        #[serde(serialize_with = "crate::message::serialize_path")]
        path: PathBuf,
    },
    Write {
        #[serde(serialize_with = "crate::message::serialize_path")]
        path: PathBuf,
    },
    Execute {
        command: String,
        #[serde(default)]
        confinement: Confinement,
    },
    /// Runs a command in the sandbox once more, with a way to a host that was refused to it.
    Reach { command: String, host: HostPort },
    /// Loads a skill.
    Skill { name: String },
    /// Starts a program that works as an agent of its own, beyond what is decided here.
    Start {
        /// The kind of agent.
        agent: String,
        /// What is run, with nothing left out.
        program: String,
    },
    /// Gets a page of the web.
    Fetch {
        url: String,
        /// Its host as rules name it: in lower case, a name in other letters as in the network (`xn--…`).
        host: String,
    },
    /// Searches the web. The words leave this machine.
    Search { query: String },
    /// Calls a tool of an MCP server, which can do what that server can.
    Call {
        server: String,
        /// Whether the server says that the tool only reads. It is a stranger's word.
        only_reads: bool,
    },
}

impl AccessKind {
    /// Returns the path of an access to files, and whether it is written to.
    pub(super) fn path(&self) -> Option<(&Path, bool)> {
        match self {
            Self::Read { path } => Some((path, false)),
            Self::Write { path } => Some((path, true)),
            Self::Nothing
            | Self::Execute { .. }
            | Self::Reach { .. }
            | Self::Fetch { .. }
            | Self::Search { .. }
            | Self::Call { .. }
            | Self::Start { .. }
            | Self::Skill { .. } => None,
        }
    }
}

/// What a command is kept to when it runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Confinement {
    /// Nothing: it can do what the user can.
    #[default]
    None,
    /// Its programs are found by their place and, if it is git, it runs without the repository's programs and inside the
    /// project.
    Guard,
    /// The sandbox, in which it can write its own temporary files only.
    ReadOnlySandbox,
    /// The sandbox, in which it can write in the project too.
    Sandbox,
}

/// What a tool does. It decides what a scope in a list of tools is about, as in `Read(src/**)` or `Bash(npm test:*)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolKind {
    /// Reads a file, or the names in a folder. Scopes are paths.
    Read,
    /// Reads files below the folder that it is given. Scopes are paths.
    Search,
    /// Creates or changes files. Scopes are paths.
    Write,
    /// Runs commands. Scopes are commands.
    Execute,
    /// Starts subagents. Scopes are kinds of agents.
    Delegate,
    /// Gets pages of the web. Scopes are hosts, as in `domain:example.com`.
    Fetch,
    /// Loads skills. Scopes are their names.
    Skill,
    Other,
}
