//! `belvedere completions` and `belvedere man`: what a shell and `man` know of the command line.
//!
//! Owns their flags. Both are made from the one table of flags and subcommands, by clap's own crates. Invariant: nothing of
//! the user's is read.

use std::path::PathBuf;

use anyhow::Context as _;
use clap::{Arg, Args, Command, CommandFactory as _, ValueEnum};
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

/// Returns the command line as shells complete it: without the prompt, for which zsh would take a subcommand.
fn for_shells() -> Command {
    let whole = Cli::command();
    let flags = whole.get_arguments().filter(|arg| !arg.is_positional()).cloned();
    Command::new(NAME)
        .version(env!("CARGO_PKG_VERSION"))
        .args(flags.collect::<Vec<_>>())
        .subcommands(whole.get_subcommands().cloned().collect::<Vec<_>>())
}

/// How clap's script for `fish` reads the words before the one that is completed. A flag whose value that is makes it fail,
/// and nothing is offered.
const FISH_READS: &str = "argparse -s (__fish_belvedere_global_optspecs) -- $cmd 2>/dev/null\n";
/// The same, without that flag if need be.
const FISH_READS_AGAIN: &str = "argparse -s (__fish_belvedere_global_optspecs) -- $cmd 2>/dev/null\n    \
    or argparse -s (__fish_belvedere_global_optspecs) -- $cmd[1..-2] 2>/dev/null\n";

/// Returns what `fish` has to know of words that are no flags: clap's own script leaves them out.
fn fish_words(command: &Command) -> String {
    let lines = command.get_subcommands().filter_map(|sub| {
        let words = sub.get_positionals().flat_map(Arg::get_possible_values);
        let words: Vec<String> = words.map(|word| word.get_name().to_owned()).collect();
        let name = sub.get_name();
        (!words.is_empty()).then(|| {
            let when = format!("__fish_{NAME}_using_subcommand {name}");
            format!("complete -c {NAME} -n \"{when}\" -f -a \"{}\"\n", words.join(" "))
        })
    });
    lines.collect()
}

/// Writes completions to standard output.
///
/// # Errors
/// Returns the exit status and what to tell the user.
pub fn completions(args: &CompletionsArgs) -> Result<u8, CommandFailure> {
    let mut command = for_shells();
    let mut text = Vec::new();
    match args.shell {
        CompletionShell::Bash => generate(Shell::Bash, &mut command, NAME, &mut text),
        CompletionShell::Zsh => generate(Shell::Zsh, &mut command, NAME, &mut text),
        CompletionShell::Fish => {
            generate(Shell::Fish, &mut command, NAME, &mut text);
            let script = String::from_utf8_lossy(&text).replace(FISH_READS, FISH_READS_AGAIN) + &fish_words(&command);
            text = script.into_bytes();
        }
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
