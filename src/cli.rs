//! The command line.

use std::path::PathBuf;

use clap::{Parser, Subcommand};

use crate::headless::OutputFormat;
use crate::permission::{Grant, PermissionMode};

/// A coding agent in a full-screen terminal, with every subagent live in its own pane.
#[derive(Debug, Parser)]
#[command(
    name = "belvedere",
    version,
    args_conflicts_with_subcommands = true,
    max_term_width = 100,
    after_help = AFTER_HELP
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

    /// Works in this folder instead of the current one.
    #[arg(short = 'C', long = "cd", value_name = "DIR")]
    pub directory: Option<PathBuf>,

    /// Another thing to do than to answer.
    #[command(subcommand)]
    pub command: Option<Subcommands>,
}

/// Things to do other than to answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Subcommand)]
pub enum Subcommands {
    /// Plays a scripted main agent with eight subagents on the real screen. Touches nothing, needs no model.
    Demo,
}

/// Grants given in one flag.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GrantList(pub Vec<Grant>);

const AFTER_HELP: &str = "\
Models: the one of --model, else the one of the configuration, else the service whose key is set
(ANTHROPIC_API_KEY, OPENAI_API_KEY, OPENROUTER_API_KEY, DEEPSEEK_API_KEY), else a local server
(Ollama, LM Studio, llama.cpp), else the built-in offline model, which explores code by rules and
needs nothing.

Settings: ~/.config/belvedere/config.toml, and .belvedere/config.toml in the project. Sessions and
the log are kept in ~/.local/state/belvedere.

Exit status with -p: 0 answered, 1 failed, 2 wrong usage, 3 cut short by a limit, 130 interrupted,
141 nobody reads standard output, 143 terminated. A second Ctrl-C does not wait for what runs.

Examples:
  belvedere                                     opens the screen in the current folder
  belvedere -p \"where is the config parsed?\"    answers on standard output
  git diff | belvedere -p \"review this\"         with standard input
  belvedere --plain                             line by line, without a screen
  belvedere --model ollama/qwen3                with a model on this machine
  belvedere demo                                shows what it looks like";

fn parse_mode(name: &str) -> Result<PermissionMode, String> {
    name.parse()
}

/// Splits at commas outside of parentheses, because commands hold commas too.
fn parse_grants(text: &str) -> Result<GrantList, String> {
    let mut depth = 0_usize;
    let entries = text.split(|c: char| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    });
    let grants = entries
        .map(str::trim)
        .filter(|entry| !entry.is_empty())
        .map(|entry| entry.parse::<Grant>().map_err(|fault| fault.to_string()));
    grants.collect::<Result<Vec<Grant>, String>>().map(GrantList)
}
