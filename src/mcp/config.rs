//! A server as it is configured.

use std::fmt;
use std::time::Duration;

use crate::message::{ServerPlace, reveal_line};

/// Longest call of a tool, unless the server's entry or `MCP_TOOL_TIMEOUT` says otherwise.
pub(super) const CALL_TIMEOUT: Duration = Duration::from_mins(5);
/// Longest start of a server, unless `MCP_TIMEOUT` says otherwise. `npx` may have to fetch it first.
pub(super) const START_TIMEOUT: Duration = Duration::from_mins(1);

/// A server that can be started or reached.
#[derive(Clone, PartialEq, Eq)]
pub struct McpConfig {
    pub name: String,
    pub scope: McpScope,
    pub way: McpWay,
    /// The command or the address as written, with its variables: for people.
    pub shown: String,
    /// Whether it comes with the project.
    pub is_projects: bool,
    /// Whether it runs outside of the sandbox, or inside, if its entry says so.
    pub outside: Option<bool>,
    pub call_timeout: Duration,
    pub start_timeout: Duration,
    /// Why it is not started, if it is not to be.
    pub off: Option<String>,
    pub sign_in: SignInSettings,
}

/// What an entry says of signing in (`oauth`): what a service gave the user, where it does not register by itself.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct SignInSettings {
    pub client_id: Option<String>,
    pub client_secret: Option<String>,
    /// The port on this machine that the browser comes back to.
    pub port: Option<u16>,
    /// What is asked for, instead of what the server proposes.
    pub scopes: Vec<String>,
}

/// How a server is reached. Values may be secrets.
#[derive(Clone, PartialEq, Eq)]
pub enum McpWay {
    /// A process of ours, over its standard input and output.
    Stdio { command: String, args: Vec<String>, env: Vec<(String, String)> },
    /// Streamable HTTP.
    Http { url: String, headers: Vec<(String, String)> },
    /// HTTP with server-sent events, which streamable HTTP has replaced.
    Sse { url: String, headers: Vec<(String, String)> },
    /// In the program that drives this one.
    Calling,
}

impl McpWay {
    /// Returns where the server is, as lists of settings ask for it.
    pub(super) fn place(&self) -> ServerPlace<'_> {
        match self {
            Self::Stdio { command, args, .. } => ServerPlace::Command(command, args),
            Self::Http { url, .. } | Self::Sse { url, .. } => ServerPlace::Url(url),
            Self::Calling => ServerPlace::Caller,
        }
    }

    /// Returns `true` if it goes over the network.
    #[must_use]
    pub fn is_remote(&self) -> bool {
        matches!(self, Self::Http { .. } | Self::Sse { .. })
    }

    /// Names it as configurations do.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Stdio { .. } => "stdio",
            Self::Http { .. } => "http",
            Self::Sse { .. } => "sse",
            Self::Calling => "sdk",
        }
    }
}

/// Leaves out what may be secret.
impl fmt::Debug for McpConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}): {}", self.name, self.scope.word(), reveal_line(&self.shown))
    }
}

/// Whose word it is that there is a server. Of two with one name the first counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum McpScope {
    /// An agent file's, for that agent.
    Agent,
    /// Given on the command line, or by the program that this one works for.
    Given,
    /// `config.toml` of this program.
    Own,
    /// The user's for this project, in `~/.claude.json`.
    Local,
    /// The user's for all projects, there.
    User,
    /// A plugin's.
    Plugin,
    /// `.mcp.json` of the project.
    Project,
}

impl McpScope {
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Given => "command line",
            Self::Own => "config.toml",
            Self::Local => "local",
            Self::User => "user",
            Self::Plugin => "plugin",
            Self::Project => "project",
        }
    }
}
