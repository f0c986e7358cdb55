//! The command line.
//!
//! Owns flags, subcommands and their help. Leaves carrying out to `main` and, for what `belvedere agents` does, to
//! `agents`. Invariant: what cannot be meant is refused before anything starts.

pub mod agents;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{CommandFactory as _, Parser, Subcommand};

use crate::definition::{Parsed, parse_cli_agents};
use crate::headless::OutputFormat;
use crate::message::split_list;
use crate::message::{Dollars, parse_tokens};
use crate::permission::{Grant, PermissionMode};
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
    /// What to ask. On the screen it is sent at once; with -p it is answered on standard output.
    pub prompt: Option<String>,

    /// Answers without a screen: the answer on standard output, progress on standard error. Standard input, if it is
    /// not a terminal, is added to the prompt; with a prompt, only if it begins to arrive within 3 seconds.
    #[arg(short = 'p', long = "print", conflicts_with = "plain")]
    pub print: bool,

    /// Works without a screen of its own: lines are appended to standard output, messages and answers are read from
    /// standard input. For screen readers and logs; /help there lists what can be typed.
    #[arg(long, global = true)]
    pub plain: bool,

    /// The form of the answer with -p.
    #[arg(long, value_enum, default_value_t, requires = "print")]
    pub output_format: OutputFormat,

    /// Who answers: provider/name such as anthropic/sonnet or ollama/qwen3, an alias such as opus, or offline.
    #[arg(long, value_name = "PROVIDER/NAME")]
    pub model: Option<String>,

    /// What happens without asking: default (reading the project), acceptEdits (changing its files too), plan (reading
    /// only; the rest is refused), bypassPermissions (everything).
    #[arg(long, value_name = "MODE", value_parser = parse_mode)]
    pub permission_mode: Option<PermissionMode>,

    /// What is allowed in advance, separated by commas: Edit,Write,"Bash(cargo test:*)". May be repeated.
    #[arg(long = "allowedTools", visible_alias = "allowed-tools", value_name = "TOOLS", value_parser = parse_grants)]
    pub allowed_tools: Vec<GrantList>,

    /// Most turns for the request, with -p; past them the model gets one more, without tools, to answer.
    #[arg(long, value_name = "N", requires = "print", value_parser = clap::value_parser!(u32).range(1..))]
    pub max_turns: Option<u32>,

    /// Most tokens that all agents of the session may use together, cached ones included: 500000, 500k or 1.5M. Before a
    /// request that would pass it, each agent reports in one last turn and stops.
    #[arg(long, value_name = "N", value_parser = parse_tokens)]
    pub budget_tokens: Option<u64>,

    /// Most US dollars that all agents of the session may spend together, such as 2.50. Models whose price is not known
    /// are not counted, which is said.
    #[arg(long, value_name = "X", value_parser = parse_dollars)]
    pub budget_usd: Option<Dollars>,

    /// Works in this folder instead of the current one.
    #[arg(short = 'C', long = "cd", value_name = "DIR", global = true)]
    pub directory: Option<PathBuf>,

    /// More agents, which win over those of files: {"name": {"description": "…", "prompt": "…"}}. Further fields are
    /// those of agent files.
    #[arg(long, value_name = "JSON", value_parser = parse_agents, global = true)]
    pub agents: Option<GivenAgents>,

    /// Lets the main agent work as this agent: with its prompt, tools and model.
    #[arg(long, value_name = "NAME")]
    pub agent: Option<String>,

    /// Another thing to do than to answer.
    #[command(subcommand)]
    pub command: Option<Subcommands>,
}

/// Things to do other than to answer.
#[derive(Debug, Clone, Subcommand)]
pub enum Subcommands {
    /// Lists, shows, checks and makes agents. Without another word it lists them.
    Agents(agents::AgentsArgs),
    /// Plays a scripted main agent with eight subagents on the real screen. Touches nothing, needs no model.
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
            "-C" | "--cd" | "--agents" => 2,
            _ if ["-C", "--cd=", "--agents="].iter().any(|flag| word.starts_with(flag)) => 1,
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
#[derive(Debug, Clone)]
pub struct GivenAgents(pub Vec<Parsed>);

/// Grants given in one flag.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GrantList(pub Vec<Grant>);

/// Returns what follows the flags in the help.
fn after_help() -> String {
    let table = ProviderTable::default();
    format!(
        "Models: the one of --model, else the one of the configuration, else the service whose key is set ({}), else a \
         local server ({}), else the built-in offline model, which explores code by rules and needs nothing.\n\n\
         {AFTER_MODELS}",
        table.key_variables().join(", "),
        table.server_names().join(", "),
    )
}

const AFTER_MODELS: &str = "\
Settings: ~/.config/belvedere/config.toml, and .belvedere/config.toml in the project. Sessions and
the log are kept in ~/.local/state/belvedere.

Agents of your own are files: ~/.claude/agents, ~/.kode/agents, and .claude/agents and .kode/agents
in the project, each over the one before.

Exit status with -p: 0 answered, 1 failed, 2 wrong usage, 3 cut short by a limit, 130 interrupted,
141 nobody reads standard output, 143 terminated. A second Ctrl-C does not wait for what runs.

Examples:
  belvedere                                     opens the screen in the current folder
  belvedere -p \"where is the config parsed?\"    answers on standard output
  git diff | belvedere -p \"review this\"         with standard input
  belvedere --plain                             line by line, without a screen
  belvedere --model ollama/qwen3                with a model on this machine
  belvedere --agent reviewer                    talks to one of your agents
  belvedere agents check                        says what is wrong with agent files
  belvedere demo                                shows what it looks like";

fn parse_mode(name: &str) -> Result<PermissionMode, String> {
    name.parse()
}

fn parse_dollars(text: &str) -> Result<Dollars, String> {
    text.parse()
}

fn parse_agents(json: &str) -> Result<GivenAgents, String> {
    parse_cli_agents(json).map(GivenAgents)
}

fn parse_grants(text: &str) -> Result<GrantList, String> {
    let entries = split_list(text, ['(', ')'], |c| c == ',');
    let grants = entries.map(|entry| entry.parse::<Grant>().map_err(|error| error.to_string()));
    grants.collect::<Result<Vec<Grant>, String>>().map(GrantList)
}
