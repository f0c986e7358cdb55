//! Agents as files: Markdown with YAML frontmatter, whose body is the system prompt.
//!
//! Owns the format, its recovery, the tiers and the catalog of agents. Leaves the meaning of tool names to `tool` and
//! of models to `provider`. Invariant: no file is dropped in silence; what cannot be used is a [`Diagnostic`].

mod builtin;
mod catalog;
mod frontmatter;
mod load;
mod tier;

use std::path::PathBuf;

use crate::message::Diagnostic;
use crate::permission::PermissionMode;

pub use catalog::Catalog;
pub use load::parse;
pub use tier::Tier;

/// What makes one kind of subagent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentDefinition {
    /// Name, as written.
    pub name: String,
    /// When to use it, for the model that chooses.
    pub description: String,
    /// The tools it may have.
    pub tools: ToolsField,
    /// Tools it may not have even so, as written.
    pub disallowed_tools: Vec<String>,
    /// Model by alias or id; `None` inherits the parent's.
    pub model: Option<String>,
    /// Mode that this agent works in; only `plan`, which makes it stricter than the session, is acted on.
    pub permission_mode: Option<PermissionMode>,
    /// Colour by name or as `#rrggbb`, in lower case.
    pub color: Option<String>,
    /// Model calls of one run.
    pub max_turns: Option<u32>,
    /// The system prompt.
    pub prompt: String,
    /// Where it comes from.
    pub source: Source,
}

impl AgentDefinition {
    /// Tells whether the agent only reads, whatever the session's mode allows.
    #[must_use]
    pub fn reads_only(&self) -> bool {
        self.permission_mode == Some(PermissionMode::Plan)
    }
}

/// Which tools an agent may have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolsField {
    /// All that there are.
    All,
    /// These, as written: names of other programs, scopes such as `Bash(npm test:*)` and patterns occur.
    List(Vec<String>),
}

/// Where a definition comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// How much it weighs against others of the same name.
    pub tier: Tier,
    /// The file; `None` for what is built in or given on the command line.
    pub path: Option<PathBuf>,
}

/// What came of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parsed {
    /// The agent, if the file can be used.
    pub definition: Option<AgentDefinition>,
    /// What is wrong with the file.
    pub diagnostics: Vec<Diagnostic>,
}
