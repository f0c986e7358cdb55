//! What a command is watched for while it runs: what appears where commands in the sandbox may not write.
//!
//! Owns the way from a command to the watch of the session, off the threads that drive agents. Leaves what counts as whose
//! to `sandbox`.

use std::sync::Arc;

use tokio::task::spawn_blocking;

use super::Shell;
use crate::permission::shell_words;
use crate::sandbox::{Intrusion, OutsideRun, SandboxedRun};

/// What ends a word beside blanks. In quotes it does not, and a name is the worse for it.
const OPERATORS: [char; 10] = [';', '&', '|', '<', '>', '(', ')', '{', '}', ','];

/// How a command that runs is watched.
#[derive(Debug)]
pub(in crate::tool) enum CommandWatch {
    /// It can write nothing of the project, or there is no sandbox.
    Unwatched,
    Inside(Arc<SandboxedRun>),
    /// What it makes is told from what those inside make.
    Outside(Arc<OutsideRun>),
}

impl CommandWatch {
    /// Begins for a command outside of the sandbox, before it is started.
    pub(in crate::tool) async fn outside(shell: &Shell, line: &str) -> Self {
        let Some(watch) = shell.sandbox().map(|sandbox| sandbox.watch().clone()) else { return Self::Unwatched };
        let (line, words) = (line.to_owned(), line_words(line));
        let stepping = spawn_blocking(move || Arc::new(watch.step_outside(&line, words)));
        stepping.await.map_or(Self::Unwatched, Self::Outside)
    }

    /// Waits until the command is to be ended for what appears. Never for one that is not in the sandbox.
    pub(in crate::tool) async fn goes_too_far(&self) {
        match self {
            Self::Inside(run) => run.goes_too_far().await,
            Self::Unwatched | Self::Outside(_) => std::future::pending().await,
        }
    }

    /// Takes what has appeared while the command ran, each with what else ran in the sandbox.
    pub(in crate::tool) fn take_found(&self) -> Vec<(Intrusion, Vec<String>)> {
        match self {
            Self::Inside(run) => run.take_found(),
            Self::Unwatched | Self::Outside(_) => Vec::new(),
        }
    }

    /// Looks for the last time, once nothing of the command runs any more.
    pub(in crate::tool) async fn end(&self) {
        // They fail only as the program ends.
        match self {
            Self::Unwatched => {}
            Self::Inside(run) => {
                let run = run.clone();
                let _ = spawn_blocking(move || run.end()).await;
            }
            Self::Outside(run) => {
                let run = run.clone();
                let _ = spawn_blocking(move || run.end()).await;
            }
        }
    }
}

/// Returns the words of a command line, of all the commands in it.
fn line_words(line: &str) -> Vec<String> {
    let words = shell_words(line).into_iter();
    words.flat_map(|word| word.split(OPERATORS).map(str::to_owned).collect::<Vec<_>>()).collect()
}

/// Moves aside what has appeared, before something of the user's own is started that could obey it.
pub(in crate::tool) async fn look_before(shell: &Shell) {
    if let Some(watch) = shell.sandbox().map(|sandbox| sandbox.watch().clone()) {
        // It fails only as the program ends.
        let _ = spawn_blocking(move || watch.look_at_all()).await;
    }
}
