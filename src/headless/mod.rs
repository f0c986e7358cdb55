//! The front end without a screen: one request, its answer on standard output, progress on standard error.
//!
//! Owns the three output formats, the progress lines and the exit status. Leaves everything else to the tree. There
//! is nobody to ask: what would need an answer is refused, and the refusal says which flag would allow it.

mod json;
mod text;

use std::io::{self, Write};
use std::sync::Arc;

use tokio::sync::mpsc;

use crate::agent::{AgentEvent, Cancel, Outcome, Status};
use crate::subagent::Conversation;

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
enum Cut {
    Interrupted,
    Terminated,
    BrokenPipe,
}

/// Answers one request. Returns the exit status.
pub async fn run(headless: Headless, prompt: String) -> u8 {
    let Headless { mut conversation, events, session, format } = headless;
    let mut printer = Printer { format, progress: Progress::default() };
    conversation.begin(prompt);
    let cancel = conversation.canceller();
    let (outcome, cut) = answer(&mut conversation, events, &mut printer, cancel.as_ref()).await;
    conversation.quit().await;
    if let Some(cut) = cut {
        return match cut {
            Cut::Interrupted => exit::INTERRUPTED,
            Cut::Terminated => exit::TERMINATED,
            Cut::BrokenPipe => exit::BROKEN_PIPE,
        };
    }
    match printer.finish(&outcome, &session) {
        Ok(()) => status(&outcome),
        Err(_) => exit::BROKEN_PIPE,
    }
}

/// Waits for the answer while printing what happens; a signal or a broken pipe stops the agents first.
async fn answer(
    conversation: &mut Conversation,
    mut events: mpsc::Receiver<Arc<AgentEvent>>,
    printer: &mut Printer,
    cancel: Option<&Cancel>,
) -> (Outcome, Option<Cut>) {
    let mut cut = None;
    let stop = |cause: Cut, cut: &mut Option<Cut>| {
        if let Some(cancel) = cancel {
            cancel.stop(crate::agent::StopCause::Quit);
        }
        cut.get_or_insert(cause);
    };
    let ended = conversation.finish();
    tokio::pin!(ended);
    let signals = signals();
    tokio::pin!(signals);
    let outcome = loop {
        tokio::select! {
            biased;
            signal = &mut signals, if cut.is_none() => stop(signal, &mut cut),
            Some(event) = events.recv() => {
                if printer.event(&event).is_err() {
                    stop(Cut::BrokenPipe, &mut cut);
                }
            }
            outcome = &mut ended => break outcome,
        }
    };
    while let Ok(event) = events.try_recv() {
        if printer.event(&event).is_err() {
            cut.get_or_insert(Cut::BrokenPipe);
            break;
        }
    }
    (outcome, cut)
}

/// Waits for a signal that asks to stop.
async fn signals() -> Cut {
    let terminated = async {
        #[cfg(unix)]
        {
            use tokio::signal::unix::{SignalKind, signal};
            let (term, hangup) = (signal(SignalKind::terminate()), signal(SignalKind::hangup()));
            if let (Ok(mut term), Ok(mut hangup)) = (term, hangup) {
                tokio::select! {
                    _ = term.recv() => {}
                    _ = hangup.recv() => {}
                }
                return;
            }
        }
        std::future::pending::<()>().await;
    };
    tokio::select! {
        Ok(()) = tokio::signal::ctrl_c() => Cut::Interrupted,
        () = terminated => Cut::Terminated,
    }
}

fn status(outcome: &Outcome) -> u8 {
    match outcome.status {
        Status::Completed => exit::OK,
        Status::TurnLimit | Status::ToolLimit | Status::TimedOut | Status::Budget => exit::CUT_SHORT,
        Status::Cancelled | Status::Failed | Status::Empty => exit::FAILED,
    }
}

/// Writes events and the answer where they belong.
struct Printer {
    format: OutputFormat,
    progress: Progress,
}

impl Printer {
    fn event(&mut self, event: &AgentEvent) -> io::Result<()> {
        if let Some(line) = self.progress.line(event) {
            // Nobody listening on standard error is no reason to stop.
            let _ = writeln!(io::stderr().lock(), "{line}");
        }
        if self.format == OutputFormat::StreamJson {
            print(&json::event_line(event)?)?;
        }
        Ok(())
    }

    fn finish(&self, outcome: &Outcome, session: &str) -> io::Result<()> {
        match self.format {
            OutputFormat::Text => {
                if let Some(reason) = &outcome.reason {
                    let _ = writeln!(io::stderr().lock(), "belvedere: {}", crate::message::plain_line(reason));
                }
                print(&text::answer(outcome))
            }
            OutputFormat::Json | OutputFormat::StreamJson => print(&json::result_line(outcome, session)?),
        }
    }
}

fn print(text: &str) -> io::Result<()> {
    if text.is_empty() {
        return Ok(());
    }
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.write_all(b"\n")?;
    out.flush()
}
