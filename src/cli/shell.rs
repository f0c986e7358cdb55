//! `belvedere completions` and `belvedere man`: what a shell and `man` know of the command line.
//!
//! Owns their flags. Both are made from the one table of flags and subcommands, by clap's own crates. Invariant: nothing of
//! the user's is read.

use std::path::PathBuf;

use anyhow::Context as _;
use clap::{Args, CommandFactory as _, ValueEnum};
use clap_complete::{Shell, generate};

use super::Cli;
use crate::cli::agents::CommandFailure;
use crate::cli::keys::say;
use crate::headless::exit;

const NAME: &str = "belvedere";

/// What follows `belvedere completions`.
#[derive(Debug, Clone, Args)]
#[command(after_help = COMPLETIONS_HELP)]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    pub shell: CompletionShell,
}

const COMPLETIONS_HELP: &str = "\
Where they go:
  bash        belvedere completions bash > ~/.local/share/bash-completion/completions/belvedere
  zsh         belvedere completions zsh > \"${fpath[1]}/_belvedere\"
  fish        belvedere completions fish > ~/.config/fish/completions/belvedere.fish
  nushell     belvedere completions nushell | save belvedere.nu; then `use belvedere.nu *` in config.nu
  powershell  belvedere completions powershell >> $PROFILE";

/// A shell that completes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CompletionShell {
    Bash,
    Zsh,
    Fish,
    Nushell,
    Powershell,
}

/// What follows `belvedere man`.
#[derive(Debug, Clone, Args)]
pub struct ManArgs {
    /// Write a page for each subcommand too, into this folder; otherwise the page of belvedere goes to standard output
    pub folder: Option<PathBuf>,
}

/// Writes completions to standard output.
///
/// # Errors
/// Returns the exit status and what to tell the user.
pub fn completions(args: &CompletionsArgs) -> Result<u8, CommandFailure> {
    let mut command = Cli::command();
    let mut text = Vec::new();
    match args.shell {
        CompletionShell::Bash => generate(Shell::Bash, &mut command, NAME, &mut text),
        CompletionShell::Zsh => generate(Shell::Zsh, &mut command, NAME, &mut text),
        CompletionShell::Fish => generate(Shell::Fish, &mut command, NAME, &mut text),
        CompletionShell::Nushell => generate(clap_complete_nushell::Nushell, &mut command, NAME, &mut text),
        CompletionShell::Powershell => generate(Shell::PowerShell, &mut command, NAME, &mut text),
    }
    say(&String::from_utf8_lossy(&text)).map_err(|error| (exit::FAILED, error))
}

/// Writes man pages.
///
/// # Errors
/// Returns the exit status and what to tell the user.
pub fn man(args: &ManArgs) -> Result<u8, CommandFailure> {
    let written = || -> anyhow::Result<u8> {
        match &args.folder {
            None => {
                let mut text = Vec::new();
                clap_mangen::Man::new(Cli::command()).render(&mut text)?;
                say(&String::from_utf8_lossy(&text))
            }
            Some(folder) => {
                let written =
                    std::fs::create_dir_all(folder).and_then(|()| clap_mangen::generate_to(Cli::command(), folder));
                let shown = folder.display();
                written.with_context(|| format!("cannot write to {shown}"))?;
                say(&format!("Wrote the man pages to {shown}. To read one: man -l {shown}/belvedere.1\n"))
            }
        }
    };
    written().map_err(|error| (exit::FAILED, error))
}
