//! `belvedere permissions`: which rules hold, and which of them decides on a call.
//!
//! Owns its flags, what it prints and its exit status. Leaves the decision to `services`. Invariant: nothing is run.

use std::fmt::Write as _;
use std::io::{self, Write as _};

use clap::{Args, Subcommand};

use crate::cli::agents::CommandFailure;
use crate::headless::exit;
use crate::message::sanitize_line;
use crate::permission::{Decision, FolderTrust};
use crate::services::{Bootstrap, check_permission, rules_in_force};

/// What follows `belvedere permissions`.
#[derive(Debug, Clone, Args)]
#[command(after_help = AFTER_HELP)]
pub struct PermissionsArgs {
    /// What to do (default: list).
    #[command(subcommand)]
    pub command: Option<PermissionsCommand>,
}

/// What can be done with permissions.
#[derive(Debug, Clone, Subcommand)]
pub enum PermissionsCommand {
    /// List the rules in force here, with the file of each.
    List,
    /// Say what would become of a call of the main agent, and which rule decides. Nothing is run.
    Check {
        /// The call, written as a rule: "Bash(git push)", "Edit(src/main.rs)", "Agent(explore)".
        call: String,
    },
}

const AFTER_HELP: &str = "\
Exit status of check: 0 allowed, 1 denied or failed, 2 no such call, 4 asks.

Examples:
  belvedere permissions                              list the rules
  belvedere permissions check \"Bash(git push)\"       which rule decides on this command";

/// Does what the command line asks for and returns the exit status.
///
/// # Errors
/// Returns the exit status and what to tell the user.
pub async fn run(bootstrap: Bootstrap, args: PermissionsArgs) -> Result<u8, CommandFailure> {
    let (text, status) = match args.command.unwrap_or(PermissionsCommand::List) {
        PermissionsCommand::List => (listed(&bootstrap), exit::OK),
        PermissionsCommand::Check { call } => {
            let checked = check_permission(&bootstrap, &call).await.map_err(|error| (exit::USAGE, error))?;
            let (word, status) = match checked.decision {
                Decision::Allow => ("allow", exit::OK),
                Decision::Ask => ("ask", exit::REFUSED),
                Decision::Deny(_) => ("deny", exit::FAILED),
            };
            let mut text = format!("{word}: {}\n", sanitize_line(&checked.because));
            for diagnostic in &bootstrap.diagnostics {
                let _ = writeln!(text, "! {}", sanitize_line(&diagnostic.to_string()));
            }
            (text, status)
        }
    };
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => Ok(status),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(exit::BROKEN_PIPE),
        Err(error) => Err((exit::FAILED, anyhow::anyhow!("cannot write to standard output: {error}"))),
    }
}

fn listed(bootstrap: &Bootstrap) -> String {
    let mut text = format!("mode: {}\n", bootstrap.config.permission_mode);
    for rule in rules_in_force(bootstrap) {
        let _ = writeln!(text, "{rule}");
    }
    let trust = &bootstrap.trust;
    if !trust.waiting().is_empty() {
        let _ = writeln!(text, "not trusted, and not used: {}", FolderTrust::summary_of(trust.waiting()));
    }
    for diagnostic in &bootstrap.diagnostics {
        let _ = writeln!(text, "! {}", sanitize_line(&diagnostic.to_string()));
    }
    text
}
