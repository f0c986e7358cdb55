//! Flags for what is otherwise written in files: settings, folders, MCP servers, prompts.
//!
//! Owns their names, which are those of Claude Code, and reading what they name. Invariant: what cannot be used ends the
//! start, for whoever writes a flag counts on it.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::{Args, ValueEnum, ValueHint};

use crate::config::{SettingSources, given_json, given_settings};
use crate::mcp::given_servers;
use crate::message::Diagnostic;
use crate::services::GivenSetup;
use crate::subagent::GivenPrompts;
use crate::tool::{BuiltInTools, EditorFiles};

/// What a start is given that is otherwise written in files.
#[derive(Debug, Clone, Default, Args)]
pub struct SetupFlags {
    /// Use these settings too, before those of the project and your own: a file like ~/.claude/settings.json, or its JSON.
    #[arg(long, value_name = "FILE|JSON", value_hint = ValueHint::FilePath)]
    settings: Option<String>,

    /// Work in these folders too, besides the project. May be repeated.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, num_args = 1..)]
    add_dir: Vec<PathBuf>,

    /// Use these MCP servers too: a file like .mcp.json, or its JSON. May be repeated.
    #[arg(long, value_name = "FILE|JSON", value_hint = ValueHint::FilePath, num_args = 1..)]
    mcp_config: Vec<String>,

    /// Use no MCP servers but those of --mcp-config.
    #[arg(long)]
    strict_mcp_config: bool,

    /// Read settings, memory files, agents and skills of these only: user, project, local, with commas between them.
    #[arg(long, value_name = "SOURCES", default_value = "user,project,local", hide_default_value = true)]
    setting_sources: SettingSources,

    /// Offer agents these built-in tools only, with commas between them; "" is none, default is all. Tools of MCP servers
    /// stay.
    #[arg(long, value_name = "TOOLS", default_value = "default", hide_default_value = true)]
    tools: BuiltInTools,

    /// Give the new session this id, a UUID. With --continue or --resume, only for a copy (--fork-session).
    #[arg(long, value_name = "UUID", value_parser = session_id)]
    session_id: Option<String>,

    /// Let models that are told a number of tokens think so many at most; 0 is none.
    #[arg(long, value_name = "N")]
    max_thinking_tokens: Option<u32>,

    /// Let models think (adaptive), or not at all (disabled).
    #[arg(long, value_enum, value_name = "HOW", conflicts_with = "max_thinking_tokens")]
    thinking: Option<ThinkingChoice>,

    /// Give the main agent this system prompt in the place of Belvedere's words on tone and work.
    #[arg(long, value_name = "TEXT", conflicts_with = "agent")]
    system_prompt: Option<String>,

    /// The same, from a file.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["system_prompt", "agent"])]
    system_prompt_file: Option<PathBuf>,

    /// Add this to the end of the main agent's system prompt.
    #[arg(long, value_name = "TEXT")]
    append_system_prompt: Option<String>,

    /// The same, from a file.
    #[arg(long, value_name = "FILE", conflicts_with = "append_system_prompt")]
    append_system_prompt_file: Option<PathBuf>,
}

/// Whether models think.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ThinkingChoice {
    Adaptive,
    Disabled,
}

impl SetupFlags {
    /// Reads what the flags name; paths begin in `directory`.
    ///
    /// # Errors
    /// Returns which file or JSON cannot be used, and why.
    pub fn read(self, directory: &Path) -> anyhow::Result<GivenSetup> {
        let settings = self.settings.map(|given| given_settings(&given, directory)).transpose();
        let mut servers = Vec::new();
        for given in &self.mcp_config {
            let (path, text) =
                given_json(given, directory, "--mcp-config").map_err(|diagnostic| unusable(&diagnostic))?;
            servers.extend(given_servers(&text).map_err(|why| anyhow::anyhow!("{}: {why}", path.display()))?);
        }
        let directories = self.add_dir.iter().map(|dir| {
            let dir = directory.join(dir);
            std::fs::canonicalize(&dir).with_context(|| format!("cannot use {} (--add-dir)", dir.display()))
        });
        Ok(GivenSetup {
            settings: settings.map_err(|diagnostic| unusable(&diagnostic))?,
            directories: directories.collect::<anyhow::Result<_>>()?,
            servers,
            only_these_servers: self.strict_mcp_config,
            prompts: GivenPrompts {
                instead: text(self.system_prompt, self.system_prompt_file, directory)?,
                appended: text(self.append_system_prompt, self.append_system_prompt_file, directory)?,
            },
            editor: EditorFiles::default(),
            sources: self.setting_sources,
            tools: self.tools,
            session_id: self.session_id,
            thinking_tokens: match self.thinking {
                Some(ThinkingChoice::Disabled) => Some(0),
                Some(ThinkingChoice::Adaptive) | None => self.max_thinking_tokens,
            },
            program: None,
            hooks: Vec::new(),
        })
    }
}

/// Reads the id of a session, as its folder is called.
fn session_id(text: &str) -> Result<String, String> {
    let lengths = [8, 4, 4, 4, 12];
    let is_part = |(part, length): (&str, usize)| part.len() == length && part.chars().all(|c| c.is_ascii_hexdigit());
    let is_uuid = text.split('-').count() == lengths.len() && text.split('-').zip(lengths).all(is_part);
    is_uuid.then(|| text.to_ascii_lowercase()).ok_or_else(|| "it is no UUID such as 3fa01c9e-…".to_owned())
}

fn unusable(diagnostic: &Diagnostic) -> anyhow::Error {
    anyhow::anyhow!("{diagnostic}")
}

fn text(given: Option<String>, file: Option<PathBuf>, directory: &Path) -> anyhow::Result<Option<String>> {
    let Some(file) = file else { return Ok(given) };
    let path = directory.join(file);
    std::fs::read_to_string(&path).map(Some).with_context(|| format!("cannot read {}", path.display()))
}
