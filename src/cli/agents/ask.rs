//! Questions on a terminal, one line each.
//!
//! Owns the dialogue on standard error and standard input. Leaves what is asked to the commands. Invariant: a question
//! ends with an answer that fits, or with the end of the input.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};

use anyhow::{Context as _, ensure};

/// Returns `true` if there is someone to ask.
pub(super) fn can_ask() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Asks until the answer fits; `check` says what is wrong with one. An empty answer is `otherwise`.
///
/// # Errors
/// The input ends or breaks.
pub(super) fn ask(
    question: &str,
    otherwise: &str,
    check: impl Fn(&str) -> Result<(), String>,
) -> anyhow::Result<String> {
    loop {
        let shown = if otherwise.is_empty() { String::new() } else { format!(" [{otherwise}]") };
        let mut err = io::stderr().lock();
        let _ = write!(err, "{question}{shown}: ").and_then(|()| err.flush());
        let mut line = String::new();
        let read = io::stdin().lock().read_line(&mut line).context("cannot read the terminal")?;
        ensure!(read > 0, "canceled; nothing was written");
        let answer = if line.trim().is_empty() { otherwise } else { line.trim() };
        match check(answer) {
            Ok(()) => return Ok(answer.to_owned()),
            Err(error) => {
                let _ = writeln!(err, "{error}");
            }
        }
    }
}
