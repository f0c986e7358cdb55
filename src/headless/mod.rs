//! The front ends without a screen: one request with its answer on standard output, and a session line by line.
//!
//! Owns the three output formats, the progress lines and the exit status; `plain` is the session. Leaves everything
//! else to the tree. With one request there is nobody to ask: what would need an answer is refused, and the refusal
//! says which flag would allow it.

mod control;
mod denials;
mod input;
mod json;
mod lead;
mod leaving;
mod messages;
mod output;
mod panics;
mod plain;
mod printer;
mod structured;
mod text;

use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use crate::agent::{LogEvent, Outcome, Status};
use crate::message::UserText;
use crate::services::Signals;
use crate::subagent::Conversation;
use output::Output;
use printer::Printer;
use structured::{AnswerJudge, NextTry};

pub use control::{Beginning, ControlInput, Controlled, run as run_controlled};
pub use input::{FIRST_BYTE_TIMEOUT, with_piped};
pub use messages::MessageOptions;
pub use panics::report_panics;
pub use plain::{Plain, run as run_plain};
pub use structured::AnswerSchema;
pub use text::ProgressLine;

/// What standard input holds with one request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum InputFormat {
    /// More of the prompt.
    #[default]
    Text,
    /// A whole conversation: messages and control requests of a program, each as one line of JSON.
    StreamJson,
}

/// What standard output gets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum OutputFormat {
    /// The answer.
    #[default]
    Text,
    /// One object with the answer and what it took.
    Json,
    /// Messages in the format of the Claude Agent SDK, each as one line of JSON, then the object of `json`.
    StreamJson,
    /// Every event of the session as one line of JSON as it happens, then the object of `json`.
    Events,
}

/// Exit statuses, as documented by `--help`. Those of signals belong to [`crate::services::EndSignal`].
pub mod exit {
    /// The request was answered.
    pub const OK: u8 = 0;
    /// It failed: no model, no connection, or the model declined.
    pub const FAILED: u8 = 1;
    /// The command line makes no sense; clap's own status too.
    pub const USAGE: u8 = 2;
    pub const CUT_SHORT: u8 = 3;
    /// With one request: it was answered, and a tool call was refused on the way.
    pub const REFUSED: u8 = 4;
    /// Nobody reads standard output any more.
    pub const BROKEN_PIPE: u8 = 141;
}

pub struct Headless {
    pub conversation: Conversation,
    pub events: mpsc::Receiver<Arc<LogEvent>>,
    pub session: String,
    pub format: OutputFormat,
    pub messages: MessageOptions,
    /// What the answer has to fit.
    pub schema: Option<AnswerSchema>,
}

/// Answers one request. Returns the exit status.
///
/// A first signal stops the agents and waits for their end; a second one does not wait.
pub async fn run(headless: Headless, prompt: UserText, signals: &mut Signals) -> u8 {
    let Headless { mut conversation, events, session, format, messages, schema } = headless;
    let output = match Output::start() {
        Ok(output) => output,
        Err(error) => {
            let _ = writeln!(io::stderr(), "belvedere: {error:#}");
            return exit::FAILED;
        }
    };
    let (broken, facts) = (output.broken(), conversation.facts());
    tokio::select! {
        biased;
        signal = signals.next_end() => {
            conversation.quit().await;
            return signal.exit_status();
        }
        () = facts.servers().ready_for_one_request() => {}
    }
    conversation.begin(prompt).await;
    let (over, is_over) = oneshot::channel();
    let printer = Printer::new(format, session, messages, facts);
    let printing = tokio::spawn(print(events, printer, output, is_over));
    let mut judge = AnswerJudge::new(schema);
    let (status, cancel) = loop {
        let cancel = conversation.canceller();
        tokio::select! {
            biased;
            signal = signals.next_end() => break (signal.exit_status(), cancel),
            () = broken.wait() => break (broken.status().unwrap_or(exit::BROKEN_PIPE), cancel),
            outcome = conversation.finish() => {
                let answer = match judged(&mut judge, outcome) {
                    Ok(answer) => answer,
                    Err(again) => {
                        conversation.begin(again).await;
                        continue;
                    }
                };
                // Nothing is waited for that goes on by itself; its end is still printed.
                conversation.end_commands().await;
                let code = answer.status();
                let _ = over.send(Some(answer));
                let refused;
                tokio::select! {
                    biased;
                    signal = signals.next_end() => return signal.exit_status(),
                    printed = printing => refused = printed.unwrap_or_default(),
                }
                conversation.quit().await;
                return broken.status().unwrap_or(if code == exit::OK && refused { exit::REFUSED } else { code });
            }
        }
    };
    if let Some(cancel) = cancel {
        cancel.stop(crate::agent::StopCause::Quit);
    }
    let ending = async {
        conversation.quit().await;
        let _ = over.send(None);
        // Nobody may be reading.
        let _ = timeout(LAST_WORDS, printing).await;
    };
    tokio::select! {
        biased;
        _ = signals.next_end() => {}
        () = ending => {}
    }
    status
}

/// How long standard output may take for what is left after an interruption.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// An answer as it is printed.
#[derive(Debug)]
struct PrintedAnswer {
    outcome: Outcome,
    /// The answer, read, if it had to fit a schema.
    structured: Option<Value>,
    /// Why it does not fit.
    unfit: Option<String>,
}

impl PrintedAnswer {
    /// The exit status.
    fn status(&self) -> u8 {
        if self.unfit.is_some() { exit::FAILED } else { status(self.outcome.status) }
    }
}

/// Judges an answer. What the model is to be told comes back instead of one that does not fit.
fn judged(judge: &mut AnswerJudge, outcome: Outcome) -> Result<PrintedAnswer, UserText> {
    if outcome.status != Status::Completed {
        return Ok(PrintedAnswer { outcome, structured: None, unfit: None });
    }
    match judge.judge(&outcome.text) {
        NextTry::Done(structured) => Ok(PrintedAnswer { outcome, structured, unfit: None }),
        NextTry::Failed(why) => Ok(PrintedAnswer { outcome, structured: None, unfit: Some(why) }),
        NextTry::Again(message) => Err(message),
    }
}

fn status(status: Status) -> u8 {
    match status {
        Status::Completed => exit::OK,
        Status::TurnLimit | Status::ToolLimit | Status::TimedOut | Status::Budget | Status::WrappedUp => {
            exit::CUT_SHORT
        }
        Status::Cancelled | Status::Interrupted | Status::Failed | Status::Empty => exit::FAILED,
    }
}

/// Writes what happens until it is over, then the answer, if there is one. Returns `true` if a tool call was refused.
async fn print(
    mut events: mpsc::Receiver<Arc<LogEvent>>,
    mut printer: Printer,
    output: Output,
    mut is_over: oneshot::Receiver<Option<PrintedAnswer>>,
) -> bool {
    let answer = loop {
        tokio::select! {
            biased;
            Some(event) = events.recv() => output.lines(printer.event(&event)).await,
            answer = &mut is_over => break answer.ok().flatten(),
        }
    };
    // All of it was sent before the end.
    while let Ok(event) = events.try_recv() {
        output.lines(printer.event(&event)).await;
    }
    let last = match answer {
        Some(answer) => printer.answer(&answer),
        None => printer.cut_short(),
    };
    output.lines(last).await;
    output.finish().await;
    printer.has_refused()
}

/// Writes a line to standard error. Nobody listening there is no reason to stop.
pub fn eprintln_line(line: &str) {
    let _ = writeln!(io::stderr().lock(), "{line}");
}
