//! Where definitions come from, and who wins.

/// An origin of definitions. A later one wins over an earlier one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tier {
    /// Part of the program.
    BuiltIn,
    /// A plugin.
    Plugin,
    /// `~/.claude/agents`
    UserClaude,
    /// `~/.kode/agents`
    UserKode,
    /// `.claude/agents` of the project.
    ProjectClaude,
    /// `.kode/agents` of the project.
    ProjectKode,
    /// `--agents` on the command line.
    CommandLine,
}

impl Tier {
    /// All tiers, weakest first.
    pub const ALL: [Self; 7] = [
        Self::BuiltIn,
        Self::Plugin,
        Self::UserClaude,
        Self::UserKode,
        Self::ProjectClaude,
        Self::ProjectKode,
        Self::CommandLine,
    ];

    /// Returns `true` if the definition comes with the project, perhaps from a stranger.
    #[must_use]
    pub fn is_of_project(self) -> bool {
        matches!(self, Self::ProjectClaude | Self::ProjectKode)
    }

    /// Returns the name that scripts and the command line know it by.
    #[must_use]
    pub fn id(self) -> &'static str {
        self.names().0
    }

    /// Returns the words shown to the user.
    #[must_use]
    pub fn label(self) -> &'static str {
        self.names().1
    }

    fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::BuiltIn => ("built-in", "built-in"),
            Self::Plugin => ("plugin", "plugin"),
            Self::UserClaude => ("user", "user (.claude)"),
            Self::UserKode => ("user-kode", "user (.kode)"),
            Self::ProjectClaude => ("project", "project (.claude)"),
            Self::ProjectKode => ("project-kode", "project (.kode)"),
            Self::CommandLine => ("command-line", "command line"),
        }
    }
}
