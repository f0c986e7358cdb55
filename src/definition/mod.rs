//! Agents as files: Markdown with YAML frontmatter, whose body is the system prompt. Skills and commands are files alike.
//!
//! Owns the format, its recovery, the tiers and the catalog of agents; [`skill`] owns those of skills. Leaves the meaning of tool names to `tool` and
//! of models to `provider`. Invariant: no file is dropped in silence; what cannot be used is a [`Diagnostic`].

mod builtin;
mod cache;
mod catalog;
mod cli_agents;
mod cut;
mod dirs;
mod draft;
mod duplicate;
mod fields;
mod frontmatter;
mod isolation;
mod keys;
mod known;
mod library;
mod load;
mod narrow;
mod news;
mod plugin;
mod plugins;
mod program;
pub mod skill;
mod text_file;
mod tier;
mod tools;
mod walk;
mod watch;

use std::path::PathBuf;
use std::time::Duration;

use crate::message::{Diagnostic, Effort, ExternalProgram};
use crate::permission::PermissionMode;

pub use cache::read_file;
pub use catalog::{Catalog, CatalogChanges, DefinitionState, Listed, Listing, same_name};
pub use cli_agents::parse_cli_agents;
pub use dirs::{AgentDir, AgentDirs, AgentHome, DirBounds, HomeState, Roots};
pub use draft::{AgentDraft, DraftError, write_new};
pub use duplicate::{CopyError, duplicate};
pub use isolation::Isolation;
pub use known::KnownNames;
pub use library::Library;
pub use load::parse;
pub use plugin::{Plugin, PluginPlaces};
pub use plugins::PluginLibrary;
pub use tier::Tier;
pub use tools::knows_tool;
pub use watch::{Means, WatchedFiles, Watcher};

/// What makes one kind of subagent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentDefinition {
    /// Name, as written.
    pub name: String,
    /// When to use it, for the model that chooses.
    pub description: String,
    pub tools: ToolsField,
    /// Tools of the agent whose name it has taken: both lists have to let a use through. `None` if that one sets no
    /// bounds.
    pub bounded_by: Option<Vec<String>>,
    /// Tools it may not have even so, as written.
    pub disallowed_tools: Vec<String>,
    /// Model by alias or id; `None` inherits the parent's.
    pub model: Option<String>,
    /// Mode that this agent works in where that of the session gives it more leeway.
    pub permission_mode: Option<PermissionMode>,
    /// Colour by name or as `#rrggbb`, in lower case.
    pub color: Option<String>,
    /// Model calls of one run.
    pub max_turns: Option<u32>,
    /// Longest run.
    pub max_time: Option<Duration>,
    /// How hard the model shall think.
    pub effort: Option<Effort>,
    /// Whose notes it keeps from one run to the next.
    pub memory: Option<MemoryScope>,
    /// Where it works, if not among the project's own files.
    pub isolation: Option<Isolation>,
    /// The program that is this agent, if it is another one that speaks the Agent Client Protocol (`acp`).
    pub acp: Option<ExternalProgram>,
    /// Whether the agent that starts it goes on meanwhile.
    pub background: bool,
    /// Tokens of context that it works in before its conversation is shortened, where its model has more.
    pub auto_compact_window: Option<u64>,
    /// The MCP servers that it has; `None` if those of the agent that starts it.
    pub mcp_servers: Option<Vec<NamedServer>>,
    /// Whether it is given no memory files (`omitClaudeMd`).
    pub omits_memory: bool,
    /// Skills whose text is part of its prompt, as written.
    pub skills: Vec<String>,
    /// What is said first when it is the main agent (`--agent`).
    pub initial_prompt: Option<String>,
    /// Commands that run while it works, as in settings, each with the file that names it.
    pub hooks: Vec<(serde_json::Value, Source)>,
    /// Fields that are understood but not acted on yet, as written: name and value.
    pub idle_fields: Vec<(String, String)>,
    pub prompt: String,
    pub source: Source,
}

impl AgentDefinition {
    /// Returns `true` if a name means this agent: case, spaces, `_` and `-` make no difference.
    #[must_use]
    pub fn is_called(&self, name: &str) -> bool {
        same_name(&self.name, name)
    }
}

/// Which tools an agent may have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolsField {
    All,
    /// These, as written: names of other programs, scopes such as `Bash(npm test:*)` and patterns occur.
    List(Vec<String>),
}

/// An MCP server in an agent file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NamedServer {
    /// One that is configured elsewhere, by its name.
    Known(String),
    /// One that is configured here: its name, and what follows it.
    Inline(String, serde_json::Value),
}

impl NamedServer {
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Known(name) | Self::Inline(name, _) => name,
        }
    }
}

/// Whose notes an agent keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemoryScope {
    /// The user's, for all projects.
    User,
    /// The project's, shared with everyone who works on it.
    Project,
    /// The user's, for this project alone.
    Local,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// How much it weighs against others of the same name.
    pub tier: Tier,
    /// The file; `None` for what is built in or given on the command line.
    pub path: Option<PathBuf>,
}

impl Source {
    /// Returns what distinguishes this definition from others of its name: its file, or where else it comes from.
    #[must_use]
    pub fn identity(&self) -> String {
        self.path.as_ref().map_or_else(|| self.tier.id().to_owned(), |path| path.to_string_lossy().into_owned())
    }

    /// Returns the file's name without its ending.
    #[must_use]
    pub fn file_stem(&self) -> Option<&str> {
        self.path.as_ref()?.file_stem()?.to_str()
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parsed {
    pub source: Source,
    /// The agent, if the file can be used.
    pub definition: Option<AgentDefinition>,
    pub diagnostics: Vec<Diagnostic>,
    /// Lines of `tools`, `disallowedTools` and `model`.
    pub lines: [Option<usize>; 4],
}

impl Parsed {
    fn nothing(source: Source) -> Self {
        Self { source, definition: None, diagnostics: Vec::new(), lines: [None; 4] }
    }

    /// Returns what came of a source that cannot be used.
    fn broken(source: Source, error: Diagnostic) -> Self {
        Self { diagnostics: vec![error], ..Self::nothing(source) }
    }
}

impl From<AgentDefinition> for Parsed {
    fn from(definition: AgentDefinition) -> Self {
        Self { definition: Some(definition.clone()), ..Self::nothing(definition.source) }
    }
}
