//! Programs that take over the terminal: the editor, the pager, and the shell behind `ctrl+z`.
//!
//! Owns running them and the files handed to them. Leaves the terminal's modes to `terminal`. Invariant: the
//! temporary file is gone when the program has ended.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::Stdio;

use anyhow::{Context as _, Result};

use crate::app::Event;
use crate::app::agent_files::FileNews;
use crate::memory::MemoryAnswer;
use crate::temporary::{self, TemporaryFile};

#[derive(Debug)]
pub(super) enum Program {
    /// The editor, with a text.
    Editor(String),
    /// The editor, with a file.
    File(PathBuf),
    /// The editor, with a memory file.
    MemoryFile(PathBuf),
    /// The pager, with a text.
    Pager(String),
    Shell,
}

impl Program {
    /// Runs it to its end and returns what came of it.
    pub(super) async fn run(self) -> Event {
        match self {
            Self::Shell => stop_here(),
            Self::Editor(text) => Event::Edited(edit(&text).await.ok()),
            Self::File(path) => match run_with(&editor(), &path).await {
                Ok(()) => Event::AgentFiles(FileNews::Edited(path)),
                Err(error) => {
                    let advice = "Set $EDITOR to a text editor.";
                    Event::AgentFiles(FileNews::Failed(format!("{error:#}. {advice}")))
                }
            },
            Self::MemoryFile(path) => Event::Memory(match run_with(&editor(), &path).await {
                Ok(()) => MemoryAnswer::Changed(path.file_name().unwrap_or_default().to_string_lossy().into_owned()),
                Err(error) => MemoryAnswer::Failed(format!("{error:#}. Set $EDITOR to a text editor.")),
            }),
            Self::Pager(text) => match page(&text).await {
                Ok(()) => Event::Refresh,
                Err(error) => Event::Error(format!("{error:#}. Set $PAGER to a program that shows a file.")),
            },
        }
    }
}

/// Opens a text in the user's editor and returns what it became. Fails if the editor cannot be started or fails, or its
/// file cannot be written or read.
pub async fn edit(text: &str) -> Result<String> {
    let file = file_with(text, ".md")?;
    run_with(&editor(), file.path()).await?;
    let text = tokio::fs::read_to_string(file.path()).await.context("cannot read the edited text")?;
    Ok(text.trim_end_matches('\n').to_owned())
}

/// Opens a file in the user's editor, and waits until that ends.
///
/// # Errors
/// Returns an error if the editor cannot be started, or fails.
pub async fn open_in_editor(path: &std::path::Path) -> Result<()> {
    run_with(&editor(), path).await
}

async fn page(text: &str) -> Result<()> {
    let file = file_with(text, ".txt")?;
    run_with(&command(&["PAGER"], "less"), file.path()).await
}

fn file_with(text: &str, suffix: &str) -> Result<TemporaryFile> {
    let mut file = temporary::file(suffix).context("cannot create a temporary file")?;
    file.write_all(text.as_bytes()).context("cannot write the temporary file")?;
    Ok(file)
}

fn editor() -> Vec<String> {
    command(&["VISUAL", "EDITOR"], "vi")
}

/// Returns the first of the variables that is set, in words, else the program that is always there.
fn command(variables: &[&str], otherwise: &str) -> Vec<String> {
    let line = variables.iter().find_map(|name| std::env::var(name).ok().filter(|value| !value.trim().is_empty()));
    line.unwrap_or_else(|| otherwise.to_owned()).split_whitespace().map(str::to_owned).collect()
}

async fn run_with(words: &[String], path: &std::path::Path) -> Result<()> {
    let (program, arguments) = words.split_first().context("no program given")?;
    let status = tokio::process::Command::new(program)
        .args(arguments)
        .arg(path)
        .stdin(Stdio::inherit())
        .stdout(Stdio::inherit())
        .stderr(Stdio::inherit())
        .status()
        .await
        .with_context(|| format!("cannot start {program}"))?;
    anyhow::ensure!(status.success(), "{program} ended with {status}");
    Ok(())
}

/// Stops this process as the shell's job control does, and returns when it goes on.
///
/// Not by TSTP, which is caught. This one stops under the same rule: not if no shell is there that could continue it.
pub(super) fn stop_here() -> Event {
    match nix::sys::signal::raise(nix::sys::signal::Signal::SIGTTIN) {
        Ok(()) => Event::Refresh,
        Err(error) => Event::Error(format!("Cannot suspend: {error}")),
    }
}
