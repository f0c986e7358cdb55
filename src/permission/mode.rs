//! Permission modes, with Claude Code's names.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The modes, the strictest first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum PermissionMode {
    Plan,
    /// Reading inside the project is free, all else asks.
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

    /// Says in a few words what happens without a question.
    #[must_use]
    pub fn about(self) -> &'static str {
        match self {
            Self::Default => "reading is allowed, everything else asks",
            Self::AcceptEdits => "edits in the project are allowed too",
            Self::Plan => "only reading is allowed",
            Self::BypassPermissions => "everything is allowed",
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
