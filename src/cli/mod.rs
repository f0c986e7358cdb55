//! The command line.
//!
//! Owns flags, subcommands and their help. Leaves carrying out to `main` and, for what `belvedere agents` does, to
//! `agents`. Invariant: what cannot be meant is refused before anything starts.

pub mod agents;
pub mod config;
pub mod doctor;
pub mod export;
pub mod import;
pub mod keys;
pub mod mcp;
pub mod models;
pub mod permissions;
pub mod program_flags;
pub mod replay;
pub mod setup_flags;
pub mod shell;
mod words;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, CommandFactory as _, Parser, Subcommand, ValueHint};

use words::one_of;

use crate::definition::{Parsed, parse_cli_agents};
use crate::headless::OutputFormat;
use crate::message::{Dollars, Effort, parse_tokens, split_list};
use crate::permission::{PermissionMode, Rule};
use crate::provider::table::ProviderTable;

/// A coding agent in a full-screen terminal, with every subagent live in its own pane.
#[derive(Debug, Parser)]
#[command(
    name = "belvedere",
    version,
    args_conflicts_with_subcommands = true,
    max_term_width = 100,
    after_help = after_help()
)]
pub struct Cli {
    /// What to ask. The screen sends it at once; with -p, the answer goes to standard output.
    pub prompt: Option<String>,

    /// Print the answer and exit: the answer on standard output, progress on standard error. Piped input is appended
    /// to the prompt; with a prompt, only if it starts to arrive within 3 seconds.
    #[arg(short = 'p', long = "print", conflicts_with = "plain")]
    pub print: bool,

    /// Line mode, without a full screen (for screen readers and logs): writes lines to standard output, reads messages
    /// and answers from standard input. /help lists the commands.
    #[arg(long, global = true)]
    pub plain: bool,

    #[command(flatten)]
    pub earlier: EarlierSession,

    /// Format of the answer with -p.
    #[arg(long, value_enum)]
    pub output_format: Option<OutputFormat>,

    #[command(flatten)]
    pub program: program_flags::ProgramFlags,

    #[command(flatten)]
    pub session: SessionFlags,

    /// Use the agents, rules, folders and MCP servers that this folder brings, without asking whether you trust it.
    #[arg(long, global = true)]
    pub trust: bool,

    /// Limit the turns, with -p; after them the model gets one more, without tools, to answer.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub max_turns: Option<u32>,

    /// Work in this folder instead of the current one.
    #[arg(short = 'C', long = "cd", value_name = "DIR", value_hint = ValueHint::DirPath, global = true)]
    pub directory: Option<PathBuf>,

    #[command(flatten)]
    pub setup: setup_flags::SetupFlags,

    /// Use the plugin in this folder, as if it were installed. May be repeated.
    #[arg(long = "plugin-dir", value_name = "DIR", value_hint = ValueHint::DirPath, global = true)]
    pub plugins: Vec<PathBuf>,

    /// Add agents, which win over agent files: {"name": {"description": "…", "prompt": "…"}}. Other fields are those of
    /// agent files.
    #[arg(long, value_name = "JSON", value_parser = GivenAgents::read, global = true)]
    pub agents: Option<GivenAgents>,

    /// What to do instead of answering.
    #[command(subcommand)]
    pub command: Option<Subcommands>,
}

/// How the agents of a session work.
#[derive(Debug, Clone, Args)]
pub struct SessionFlags {
    /// Model to use: provider/name such as anthropic/sonnet or ollama/qwen3, an alias such as opus, or offline.
    #[arg(long, value_name = "PROVIDER/NAME")]
    pub model: Option<String>,

    /// Model that answers a turn if the other one is overloaded or not there; up to three, with commas between them.
    #[arg(long, value_name = "PROVIDER/NAME")]
    pub fallback_model: Option<String>,

    /// How hard the models think: low, medium, high, xhigh or max. Models that know it are told.
    #[arg(long, value_name = "LEVEL", value_parser = one_of::<Effort>(Effort::ALL.map(Effort::name)), hide_possible_values = true)]
    pub effort: Option<Effort>,

    /// What is allowed without asking: default (reading the project, and commands in the sandbox; where there is none,
    /// commands ask), acceptEdits (also changing the project's files), plan (nothing of the project changes),
    /// bypassPermissions (everything, outside the sandbox).
    #[arg(long, value_name = "MODE", value_parser = one_of::<PermissionMode>(PermissionMode::ALL.map(PermissionMode::name)), hide_possible_values = true)]
    pub permission_mode: Option<PermissionMode>,

    /// Allow everything, as --permission-mode bypassPermissions does.
    #[arg(long, conflicts_with = "permission_mode")]
    pub dangerously_skip_permissions: bool,

    /// Allow these without asking, separated by commas: Edit,Write,"Bash(cargo test:*)". May be repeated.
    #[arg(long = "allowedTools", visible_alias = "allowed-tools", value_name = "RULES", value_parser = parse_rules)]
    pub allowed_tools: Vec<RuleTexts>,

    /// Deny these in every mode: WebFetch,"Read(./.env)","Bash(git push:*)". May be repeated.
    #[arg(long = "disallowedTools", visible_alias = "disallowed-tools", value_name = "RULES", value_parser = parse_rules)]
    pub disallowed_tools: Vec<RuleTexts>,

    /// Limit the tokens of all agents together, cached ones included: 500000, 500k or 1.5M. Before a request that would
    /// exceed it, each agent reports in one last turn and stops.
    #[arg(long, value_name = "N", value_parser = parse_tokens)]
    pub budget_tokens: Option<u64>,

    /// Limit the US dollars of all agents together, such as 2.50. Models without a known price are not counted; you are
    /// told so.
    #[arg(long, visible_alias = "max-budget-usd", value_name = "X")]
    pub budget_usd: Option<Dollars>,

    /// Run the main agent as this agent: with its prompt, tools and model.
    #[arg(long, value_name = "NAME")]
    pub agent: Option<String>,
}

/// What an editor starts its agent with.
#[derive(Debug, Clone, Args)]
pub struct AcpArgs {
    #[command(flatten)]
    pub session: SessionFlags,
}

/// Which earlier session to go on with.
#[derive(Debug, Clone, Args)]
pub struct EarlierSession {
    /// Go on with the last session of this project: its conversation, its agents, what it may do.
    #[arg(short = 'c', long = "continue", conflicts_with = "resume")]
    pub continue_last: bool,

    /// Go on with this session: its id, the beginning of it, or words of its first or last message. Without one, the
    /// screen lists the sessions to choose from.
    #[arg(short = 'r', long, value_name = "ID", num_args = 0..=1)]
    pub resume: Option<Option<String>>,

    /// Go on in a copy; the session itself stays as it is. With --continue or --resume.
    #[arg(long)]
    pub fork_session: bool,
}

/// Things to do other than to answer.
#[derive(Debug, Clone, Subcommand)]
pub enum Subcommands {
    /// Serve an editor: the Agent Client Protocol on standard input and output
    Acp(AcpArgs),
    /// List, show, check or create agents (default: list)
    Agents(agents::AgentsArgs),
    /// List the permission rules, or check which of them decides on a call
    Permissions(permissions::PermissionsArgs),
    /// Print completions for a shell
    Completions(shell::CompletionsArgs),
    /// Print, change or edit settings, or print their JSON Schema
    Config(config::ConfigArgs),
    /// Check terminal, configuration, agents, servers, services, sandbox and more, and say what is wrong
    Doctor(doctor::DoctorArgs),
    /// Write a session to a file to read or to share: Markdown, JSON, or one page for a browser
    Export(export::ExportArgs),
    /// Show what Claude Code, Codex, Gemini CLI and Kode have configured, and take over what you choose
    Import(import::ImportArgs),
    /// List where services have their keys, and store keys in the system's keyring
    Keys(keys::KeysArgs),
    /// List, add, remove or test MCP servers (default: list)
    Mcp(mcp::McpArgs),
    /// Print the man page, or write one for each subcommand into a folder
    Man(shell::ManArgs),
    /// List the models of the services that can be reached, with context and price
    Models(models::ModelsArgs),
    /// Play a session on the screen as it went; nothing is sent, run or changed
    Replay(replay::ReplayArgs),
    /// Play a scripted main agent with eight subagents on the real screen. Touches nothing, needs no model.
    Demo,
}

impl Cli {
    /// Reads a command line, whose first word is the program.
    ///
    /// # Errors
    /// Returns what is wrong with it, or the help that it asks for.
    pub fn of(arguments: impl IntoIterator<Item = OsString>) -> Result<Self, clap::Error> {
        Self::try_parse_from(command_first(arguments.into_iter().collect()))
    }
}

/// Puts a subcommand before the flags that hold for every command. clap takes no subcommand after a flag, which keeps
/// prompts such as `-p agents` possible.
fn command_first(mut arguments: Vec<OsString>) -> Vec<OsString> {
    let mut at = 1;
    while let Some(word) = arguments.get(at).and_then(|word| word.to_str()) {
        at += match word {
            "-C" | "--cd" | "--agents" | "--plugin-dir" => 2,
            _ if ["-C", "--cd=", "--agents=", "--plugin-dir="].iter().any(|flag| word.starts_with(flag)) => 1,
            _ => break,
        };
    }
    let is_command = |word: &OsString| Cli::command().get_subcommands().any(|command| *word == *command.get_name());
    if at > 1 && arguments.get(at).is_some_and(is_command) {
        let command = arguments.remove(at);
        arguments.insert(1, command);
    }
    arguments
}

/// Agents given in `--agents`.
#[derive(Debug, Clone, Default)]
pub struct GivenAgents(pub Vec<Parsed>);

impl GivenAgents {
    /// Reads the JSON of `--agents`.
    ///
    /// # Errors
    /// Returns what is wrong with it.
    pub fn read(json: &str) -> Result<Self, String> {
        parse_cli_agents(json).map(Self)
    }
}

/// Rules given in one flag.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleTexts(pub Vec<String>);

/// Returns what follows the flags in the help.
fn after_help() -> String {
    let table = ProviderTable::default();
    format!(
        "Models: the one of --model, else the one in the configuration, else the service whose key is set ({}), else a \
         local server ({}), else the built-in offline model, which can only explore code and needs nothing.\n\n\
         {AFTER_MODELS}",
        table.key_variables().join(", "),
        table.server_names().join(", "),
    )
}

const AFTER_MODELS: &str = "\
Settings: ~/.config/belvedere/config.toml, and .belvedere/config.toml in the project. Sessions and
the log are kept in ~/.local/state/belvedere.

Custom agents are files in ~/.claude/agents and ~/.kode/agents, and in .claude/agents and
.kode/agents of the project; on a name clash the later one wins.

Exit status with -p: 0 answered, 1 failed, 2 wrong usage, 3 cut short by a limit, 4 answered, but a
tool call was denied, 130 interrupted, 141 nobody reads standard output, 143 terminated. A second Ctrl-C
does not wait for what runs.

Examples:
  belvedere                                     open the screen in the current folder
  belvedere -p \"where is the config parsed?\"    answer on standard output
  git diff | belvedere -p \"review this\"         append standard input
  belvedere --plain                             line by line, without a screen
  belvedere --model ollama/qwen3                use a model on this machine
  belvedere --agent reviewer                    talk to one of your agents
  belvedere -c                                  go on where you left off, with every agent
  belvedere agents check                        check agent files
  belvedere keys set anthropic                  store a key in the system's keyring
  belvedere demo                                show what it looks like";

fn parse_rules(text: &str) -> Result<RuleTexts, String> {
    let entries = split_list(text, ['(', ')'], |c| c == ',');
    let rules = entries.map(|entry| Rule::check(entry).map(|()| entry.to_owned()).map_err(|error| error.to_string()));
    rules.collect::<Result<Vec<String>, String>>().map(RuleTexts)
}
