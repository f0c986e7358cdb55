//! The front ends without a screen: one request with its answer on standard output, and a session line by line.
//!
//! Owns the three output formats, the progress lines and the exit status; `plain` is the session. Leaves everything
//! else to the tree. With one request there is nobody to ask: what would need an answer is refused, and the refusal
//! says which flag would allow it.

mod denials;
mod input;
mod json;
mod output;
mod panics;
mod plain;
mod text;

use std::io::{self, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use crate::agent::{AgentEvent, EventKind, KeptWorktree, LogEvent, Outcome, SessionEvent, Status};
use crate::message::{AgentId, UsageTable, UserText, escaped_json};
use crate::services::Signals;
use crate::subagent::Conversation;
use denials::Denials;
use output::Output;

pub use input::{FIRST_BYTE_TIMEOUT, with_piped};
pub use panics::report_panics;
pub use plain::{Plain, run as run_plain};
pub use text::ProgressLine;

/// What standard output gets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum OutputFormat {
    /// The answer.
    #[default]
    Text,
    /// One object with the answer and what it took.
    Json,
    /// Every event as one line of JSON as it happens, then the object of `json`.
    StreamJson,
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
}

/// Answers one request. Returns the exit status.
///
/// A first signal stops the agents and waits for their end; a second one does not wait.
pub async fn run(headless: Headless, prompt: UserText, signals: &mut Signals) -> u8 {
    let Headless { mut conversation, events, session, format } = headless;
    let output = match Output::start() {
        Ok(output) => output,
        Err(error) => {
            let _ = writeln!(io::stderr(), "belvedere: {error:#}");
            return exit::FAILED;
        }
    };
    let broken = output.broken();
    tokio::select! {
        biased;
        signal = signals.next_end() => {
            conversation.quit().await;
            return signal.exit_status();
        }
        () = conversation.await_servers() => {}
    }
    conversation.begin(prompt).await;
    let cancel = conversation.canceller();
    let (over, is_over) = oneshot::channel();
    let printing = tokio::spawn(print(
        events,
        Printer {
            format,
            progress: ProgressLine::default(),
            totals: UsageTable::default(),
            output,
            kept: Vec::new(),
            session,
            ended: None,
            denials: Denials::default(),
        },
        is_over,
    ));
    let status = tokio::select! {
        biased;
        signal = signals.next_end() => signal.exit_status(),
        () = broken.wait() => broken.status().unwrap_or(exit::BROKEN_PIPE),
        outcome = conversation.finish() => {
            // Nothing is waited for that goes on by itself; its end is still printed.
            conversation.end_commands().await;
            let _ = over.send(Some(outcome.clone()));
            let refused;
            tokio::select! {
                biased;
                signal = signals.next_end() => return signal.exit_status(),
                printed = printing => refused = printed.unwrap_or_default(),
            }
            conversation.quit().await;
            return broken.status().unwrap_or_else(|| match status(&outcome) {
                exit::OK if refused => exit::REFUSED,
                code => code,
            });
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

fn status(outcome: &Outcome) -> u8 {
    match outcome.status {
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
    mut is_over: oneshot::Receiver<Option<Outcome>>,
) -> bool {
    let answer = loop {
        tokio::select! {
            biased;
            Some(event) = events.recv() => printer.event(&event).await,
            answer = &mut is_over => break answer.ok().flatten(),
        }
    };
    // All of it was sent before the end.
    while let Ok(event) = events.try_recv() {
        printer.event(&event).await;
    }
    match answer {
        Some(outcome) => printer.answer(&outcome).await,
        None => printer.cut_short().await,
    }
    let refused = !printer.denials.list().is_empty();
    printer.output.finish().await;
    refused
}

struct Printer {
    format: OutputFormat,
    progress: ProgressLine,
    totals: UsageTable,
    output: Output,
    kept: Vec<KeptWorktree>,
    session: String,
    ended: Option<Outcome>,
    denials: Denials,
}

impl Printer {
    async fn event(&mut self, event: &LogEvent) {
        self.totals.apply(event);
        let refused = event.of_agent().and_then(|event| self.denials.apply(event));
        for line in self.progress.line(event, Instant::now()).into_iter().chain(refused) {
            eprintln_line(&line);
        }
        match event {
            LogEvent::Session { event: SessionEvent::Worktrees { kept }, .. } => self.kept.clone_from(kept),
            LogEvent::Agent(AgentEvent { agent: AgentId::MAIN, kind: EventKind::Ended { outcome }, .. }) => {
                self.ended = Some(outcome.clone());
            }
            _ => {}
        }
        if self.format == OutputFormat::StreamJson {
            self.json(json::event_line(event)).await;
        }
    }

    /// Says what a run took that was not waited for: its cost is no less for that.
    async fn cut_short(&self) {
        if let (Some(outcome), OutputFormat::Json | OutputFormat::StreamJson) = (&self.ended, self.format) {
            self.result(outcome).await;
        }
    }

    async fn result(&self, outcome: &Outcome) {
        self.json(json::result_line(outcome, &self.session, &self.totals, &self.kept, self.denials.list())).await;
    }

    async fn answer(&self, outcome: &Outcome) {
        for line in text::kept(&self.kept) {
            eprintln_line(&line);
        }
        match self.format {
            OutputFormat::Text => {
                if let Some(reason) = &outcome.reason {
                    eprintln_line(&format!("belvedere: {}", crate::message::sanitize_line(reason)));
                }
                let text = text::answer(outcome);
                if !text.is_empty() {
                    self.output.line(text).await;
                }
            }
            OutputFormat::Json | OutputFormat::StreamJson => self.result(outcome).await,
        }
    }

    async fn json(&self, line: serde_json::Result<String>) {
        match line {
            Ok(line) => self.output.line(escaped_json(line)).await,
            Err(error) => eprintln_line(&format!("belvedere: cannot write an event: {error}")),
        }
    }
}

/// Writes a line to standard error. Nobody listening there is no reason to stop.
pub fn eprintln_line(line: &str) {
    let _ = writeln!(io::stderr().lock(), "{line}");
}
