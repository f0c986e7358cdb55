//! The front ends without a screen: one request with its answer on standard output, and a session line by line.
//!
//! Owns the three output formats, the progress lines and the exit status; `plain` is the session. Leaves everything
//! else to the tree. With one request there is nobody to ask: what would need an answer is refused, and the refusal
//! says which flag would allow it.

mod input;
mod json;
mod output;
mod plain;
mod text;

use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use crate::agent::{AgentEvent, EventKind, KeptWorktree, Outcome, Status};
use crate::subagent::Conversation;
use output::Output;

pub use input::{PATIENCE, with_piped};
pub use plain::{Plain, run as run_plain};
pub use text::Progress;

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

/// Exit statuses, as documented by `--help`.
pub mod exit {
    /// The request was answered.
    pub const OK: u8 = 0;
    /// It failed: no model, no connection, or the model declined.
    pub const FAILED: u8 = 1;
    /// The command line makes no sense; clap's own status too.
    pub const USAGE: u8 = 2;
    /// The answer was cut short by a limit.
    pub const CUT_SHORT: u8 = 3;
    /// Interrupted by Ctrl-C.
    pub const INTERRUPTED: u8 = 130;
    /// Nobody reads standard output any more.
    pub const BROKEN_PIPE: u8 = 141;
    /// Ended by SIGTERM or SIGHUP.
    pub const TERMINATED: u8 = 143;
}

/// Everything one request needs.
pub struct Headless {
    /// The main agent.
    pub conversation: Conversation,
    /// What happens in the tree.
    pub events: mpsc::Receiver<Arc<AgentEvent>>,
    /// Identity of the session, for the JSON formats.
    pub session: String,
    /// What standard output gets.
    pub format: OutputFormat,
}

/// Why the answer was not waited for.
#[derive(Debug, Clone, Copy)]
enum Cut {
    Interrupted,
    Terminated,
    BrokenPipe,
}

impl Cut {
    fn status(self) -> u8 {
        match self {
            Self::Interrupted => exit::INTERRUPTED,
            Self::Terminated => exit::TERMINATED,
            Self::BrokenPipe => exit::BROKEN_PIPE,
        }
    }
}

/// Answers one request. Returns the exit status.
///
/// A first signal stops the agents and waits for their end; a second one does not wait.
pub async fn run(headless: Headless, prompt: String) -> u8 {
    let Headless { mut conversation, events, session, format } = headless;
    let output = match Output::start() {
        Ok(output) => output,
        Err(fault) => {
            let _ = writeln!(io::stderr(), "belvedere: {fault}");
            return exit::FAILED;
        }
    };
    let broken = output.broken();
    let mut signals = Signals::new();
    conversation.begin(prompt);
    let cancel = conversation.canceller();
    let (over, is_over) = oneshot::channel();
    let printing = tokio::spawn(print(
        events,
        Printer { format, progress: Progress::default(), bill: json::Bill::default(), output, kept: Vec::new() },
        is_over,
    ));
    let cut = tokio::select! {
        biased;
        cut = signals.next() => cut,
        () = broken.wait() => Cut::BrokenPipe,
        outcome = conversation.finish() => {
            let _ = over.send(Some((outcome.clone(), session)));
            tokio::select! {
                biased;
                cut = signals.next() => return cut.status(),
                _ = printing => {}
            }
            conversation.quit().await;
            return broken.status().unwrap_or_else(|| status(&outcome));
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
        _ = signals.next() => {}
        () = ending => {}
    }
    match cut {
        Cut::BrokenPipe => broken.status().unwrap_or(exit::BROKEN_PIPE),
        cut => cut.status(),
    }
}

/// How long standard output may take for what is left after an interruption.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// The signals that ask to stop, as many as come.
struct Signals(Option<[Signal; 3]>);

impl Signals {
    fn new() -> Self {
        let listen = |kind| signal(kind).ok();
        let all = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()].map(listen);
        let [Some(interrupt), Some(terminate), Some(hangup)] = all else { return Self(None) };
        Self(Some([interrupt, terminate, hangup]))
    }

    async fn next(&mut self) -> Cut {
        let Some([interrupt, terminate, hangup]) = &mut self.0 else { return std::future::pending().await };
        tokio::select! {
            _ = interrupt.recv() => Cut::Interrupted,
            _ = terminate.recv() => Cut::Terminated,
            _ = hangup.recv() => Cut::Terminated,
        }
    }
}

fn status(outcome: &Outcome) -> u8 {
    match outcome.status {
        Status::Completed => exit::OK,
        Status::TurnLimit | Status::ToolLimit | Status::TimedOut | Status::Budget | Status::WrappedUp => {
            exit::CUT_SHORT
        }
        Status::Cancelled | Status::Failed | Status::Empty => exit::FAILED,
    }
}

/// What came of the request, and the session's name.
type Answer = (Outcome, String);

/// Writes what happens until it is over, then the answer, if there is one.
async fn print(
    mut events: mpsc::Receiver<Arc<AgentEvent>>,
    mut printer: Printer,
    mut is_over: oneshot::Receiver<Option<Answer>>,
) {
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
    if let Some((outcome, session)) = answer {
        printer.answer(&outcome, &session).await;
    }
    printer.output.finish().await;
}

/// Writes events and the answer where they belong.
struct Printer {
    format: OutputFormat,
    progress: Progress,
    bill: json::Bill,
    output: Output,
    /// Worktrees with changes that nobody has merged.
    kept: Vec<KeptWorktree>,
}

impl Printer {
    async fn event(&mut self, event: &AgentEvent) {
        self.bill.hear(event);
        if let Some(line) = self.progress.line(event) {
            complain(&line);
        }
        if let EventKind::Worktrees { kept } = &event.kind {
            self.kept.clone_from(kept);
        }
        if self.format == OutputFormat::StreamJson {
            self.json(json::event_line(event)).await;
        }
    }

    async fn answer(&self, outcome: &Outcome, session: &str) {
        for line in text::kept(&self.kept) {
            complain(&line);
        }
        match self.format {
            OutputFormat::Text => {
                if let Some(reason) = &outcome.reason {
                    complain(&format!("belvedere: {}", crate::message::plain_line(reason)));
                }
                let text = text::answer(outcome);
                if !text.is_empty() {
                    self.output.line(text).await;
                }
            }
            OutputFormat::Json | OutputFormat::StreamJson => {
                self.json(json::result_line(outcome, session, &self.bill, &self.kept)).await;
            }
        }
    }

    async fn json(&self, line: serde_json::Result<String>) {
        match line {
            Ok(line) => self.output.line(line).await,
            Err(fault) => complain(&format!("belvedere: an event cannot be written: {fault}")),
        }
    }
}

/// Writes to standard error. Nobody listening there is no reason to stop.
fn complain(line: &str) {
    let _ = writeln!(io::stderr().lock(), "{line}");
}
