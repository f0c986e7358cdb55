//! `belvedere agents`: lists, shows, checks and makes agents.
//!
//! Owns its flags, what it prints and its exit status. Leaves files and who wins to `definition`. Invariants: standard
//! output holds what was asked for and nothing else; no terminal is needed; nobody reading is no fault.

mod ask;
mod check;
mod facts;
mod list;
mod new;
mod page;
mod show;

use std::io::{self, Write as _};
use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde::Serialize;

use crate::definition::Listing;
use crate::headless::exit;
use crate::message::escaped_json;
use crate::services::Bootstrap;
use page::Page;

pub use new::{NewArgs, Where};

/// What follows `belvedere agents`.
#[derive(Debug, Clone, Args)]
#[command(after_help = AFTER_HELP)]
pub struct AgentsArgs {
    /// Write JSON to standard output instead of text.
    #[arg(long, global = true)]
    pub json: bool,

    /// What to do.
    #[command(subcommand)]
    pub command: Option<AgentsCommand>,
}

/// What can be done with agents.
#[derive(Debug, Clone, Subcommand)]
pub enum AgentsCommand {
    /// List all agents by source, with those that are shadowed or cannot be used.
    List,
    /// Show everything about one agent, and its prompt.
    Show {
        /// Its name; case, spaces, _ and - make no difference.
        name: String,
    },
    /// Check agent files; problems are printed as file:line: severity: what and what to do.
    Check {
        /// A file, or a folder with everything below it, instead of the files that are active here.
        path: Option<PathBuf>,
    },
    /// Create an agent file. The prompt comes from --prompt, else from piped input, else from $EDITOR.
    New(NewArgs),
}

const AFTER_HELP: &str = "\
Exit status: 0 done, 1 an agent cannot be found, used or written, 2 wrong usage, 141 nobody reads
standard output.

Examples:
  belvedere agents                                        list them
  belvedere agents show reviewer                          show everything about one
  belvedere agents check .claude/agents                   check these files
  belvedere agents new tester --description \"Runs the tests\" --tools Read,Bash < prompt.md";

/// An exit status, and why.
pub(super) type CommandFailure = (u8, anyhow::Error);

/// In which form standard output is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Text,
    Json,
}

/// Does what the command line asks for and returns the exit status.
///
/// # Errors
/// Returns the exit status and what to tell the user.
pub async fn run(bootstrap: Bootstrap, args: AgentsArgs) -> Result<u8, CommandFailure> {
    let form = if args.json { Form::Json } else { Form::Text };
    match args.command.unwrap_or(AgentsCommand::List) {
        AgentsCommand::List => list::run(&bootstrap, form),
        AgentsCommand::Show { name } => show::run(&bootstrap, &name, form),
        AgentsCommand::Check { path } => check::run(&bootstrap, path.as_deref(), form),
        AgentsCommand::New(args) => new::run(&bootstrap, args, form).await,
    }
}

/// Reads all agent files.
fn read(bootstrap: &Bootstrap) -> Listing {
    bootstrap.library.reload();
    bootstrap.library.catalog().listing()
}

/// Writes to standard output, the text in one form or the value in the other, and returns `status`.
fn put(form: Form, value: &impl Serialize, page: Page, status: u8) -> Result<u8, CommandFailure> {
    let failed = |error: anyhow::Error| (exit::FAILED, error);
    let text = match form {
        Form::Json => escaped_json(serde_json::to_string_pretty(value).map_err(|error| failed(error.into()))?) + "\n",
        Form::Text => page.into_text(),
    };
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => Ok(status),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(exit::BROKEN_PIPE),
        Err(error) => Err(failed(anyhow::anyhow!("cannot write to standard output: {error}"))),
    }
}
