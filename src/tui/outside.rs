//! Programs that take over the terminal: the editor, the pager, and the shell behind `ctrl+z`.
//!
//! Owns running them and the files handed to them. Leaves the terminal's modes to `terminal`. Invariant: the
//! temporary file is gone when the program has ended.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::Stdio;

use anyhow::{Context as _, Result};
use tempfile::NamedTempFile;

use crate::app::Event;
use crate::app::agent_files::FileNews;

#[derive(Debug)]
pub(super) struct Program {
    kind: Kind,
    text: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Kind {
    Editor,
    File(PathBuf),
    Pager,
    Shell,
}

impl Program {
    pub(super) fn editor(text: String) -> Self {
        Self { kind: Kind::Editor, text }
    }

    pub(super) fn edit_file(path: PathBuf) -> Self {
        Self { kind: Kind::File(path), text: String::new() }
    }

    pub(super) fn pager(text: String) -> Self {
        Self { kind: Kind::Pager, text }
    }

    pub(super) fn shell() -> Self {
        Self { kind: Kind::Shell, text: String::new() }
    }

    /// Runs it to its end and returns what came of it.
    pub(super) async fn run(self) -> Event {
        match self.kind.clone() {
            Kind::Shell => stop_here(),
            Kind::Editor => match self.edit().await {
                Ok(text) => Event::Edited(Some(text)),
                Err(_) => Event::Edited(None),
            },
            Kind::File(path) => match run_with(&editor(), &path).await {
                Ok(()) => Event::AgentFiles(FileNews::Edited(path)),
                Err(error) => {
                    let advice = "Set $EDITOR to a program that edits a file.";
                    Event::AgentFiles(FileNews::Failed(format!("{error:#}. {advice}")))
                }
            },
            Kind::Pager => match self.page().await {
                Ok(()) => Event::Refresh,
                Err(error) => Event::Error(format!("{error:#}. Set $PAGER to a program that shows a file.")),
            },
        }
    }

    async fn edit(self) -> Result<String> {
        let file = self.file(".md")?;
        run_with(&editor(), file.path()).await?;
        let text = tokio::fs::read_to_string(file.path()).await.context("the edited text cannot be read")?;
        Ok(text.trim_end_matches('\n').to_owned())
    }

    async fn page(self) -> Result<()> {
        let file = self.file(".txt")?;
        run_with(&command(&["PAGER"], "less"), file.path()).await
    }

    fn file(&self, suffix: &str) -> Result<NamedTempFile> {
        let mut file = tempfile::Builder::new()
            .prefix("belvedere-")
            .suffix(suffix)
            .tempfile()
            .context("no temporary file can be made")?;
        file.write_all(self.text.as_bytes()).context("the temporary file cannot be written")?;
        Ok(file)
    }
}

/// Opens a text in the user's editor and returns what it became. Fails if the editor cannot be started or fails, or its
/// file cannot be written or read.
pub async fn edit(text: String) -> Result<String> {
    Program::editor(text).edit().await
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
    let (program, arguments) = words.split_first().context("no program is named")?;
    let status = tokio::process::Command::new(program)
        .args(arguments)
        .arg(path)
        .stdin(Stdio::inherit())
        .stdout(Stdio::inherit())
        .stderr(Stdio::inherit())
        .status()
        .await
        .with_context(|| format!("{program} cannot be started"))?;
    anyhow::ensure!(status.success(), "{program} ended with {status}");
    Ok(())
}

/// Stops this process as the shell's job control does, and returns when it goes on.
///
/// Not by TSTP, which is caught. This one stops under the same rule: not if no shell is there that could continue it.
pub(super) fn stop_here() -> Event {
    match nix::sys::signal::raise(nix::sys::signal::Signal::SIGTTIN) {
        Ok(()) => Event::Refresh,
        Err(error) => Event::Error(format!("The program cannot be suspended: {error}")),
    }
}
