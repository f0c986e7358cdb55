//! Permission modes, with Claude Code's names.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The modes, the strictest first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum PermissionMode {
    /// Nothing of the project changes.
    Plan,
    /// Reading inside the project is free, and so are commands in the sandbox that can be taken back; all else asks.
    #[default]
    Default,
    /// As `default`, and files of the project may be edited.
    AcceptEdits,
    BypassPermissions,
}

impl PermissionMode {
    pub const ALL: [Self; 4] = [Self::Default, Self::AcceptEdits, Self::Plan, Self::BypassPermissions];

    /// Returns the mode that `shift+tab` goes on to. It is never `bypassPermissions`, which is chosen by its name.
    #[must_use]
    pub fn next(self) -> Self {
        match self {
            Self::Default => Self::AcceptEdits,
            Self::AcceptEdits => Self::Plan,
            Self::Plan | Self::BypassPermissions => Self::Default,
        }
    }

    /// Returns how much the mode lets happen: 0 is the strictest.
    #[must_use]
    pub fn leeway(self) -> u8 {
        self as u8
    }

    #[must_use]
    pub fn stricter(self, other: Self) -> Self {
        self.min(other)
    }

    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::AcceptEdits => "acceptEdits",
            Self::Plan => "plan",
            Self::BypassPermissions => "bypassPermissions",
        }
    }

    /// Returns its name in settings and on the command line.
    #[must_use]
    pub fn id(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::AcceptEdits => "acceptEdits",
            Self::Plan => "plan",
            Self::BypassPermissions => "bypassPermissions",
        }
    }

    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Default => "ask",
            Self::AcceptEdits => "accept edits",
            Self::Plan => "plan",
            Self::BypassPermissions => "bypass",
        }
    }

    /// Says in a few words what happens without a question, whether commands run in a sandbox or not.
    #[must_use]
    pub fn about(self) -> &'static str {
        match self {
            Self::Default => "commands run in the sandbox, or ask where there is none; edits and all else ask",
            Self::AcceptEdits => "as ask, but files of the project may be edited",
            Self::Plan => "nothing of the project changes",
            Self::BypassPermissions => "everything is allowed, outside the sandbox",
        }
    }

    /// Says it for a session whose commands run in a sandbox, or do not.
    #[must_use]
    pub fn about_here(self, has_sandbox: bool) -> &'static str {
        match (self, has_sandbox) {
            (Self::Default, true) => "commands run in the sandbox; edits and all else ask",
            (Self::Default, false) => "reading the project is free; commands, edits and all else ask",
            (Self::AcceptEdits, true) => "edits and sandboxed commands run; all else asks",
            (Self::AcceptEdits, false) => "edits in the project are free; commands and all else ask",
            (Self::BypassPermissions, false) => "everything is allowed",
            (Self::Plan | Self::BypassPermissions, _) => self.about(),
        }
    }
}

impl fmt::Display for PermissionMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for PermissionMode {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|mode| mode.name().eq_ignore_ascii_case(name)).ok_or_else(|| {
            let names: Vec<&str> = Self::ALL.iter().map(|mode| mode.name()).collect();
            format!("unknown permission mode `{name}` (use one of {})", names.join(", "))
        })
    }
}
