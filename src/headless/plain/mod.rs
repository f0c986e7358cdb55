//! The front end of lines: what happens is appended to standard output, what is typed is read from standard input.
//!
//! Owns the order of reading, telling and leaving. Leaves what a line does to `session`, the words to `renderer`, and the
//! meaning of a typed line to `line_command`. Invariants: nothing that was written is changed, moved or coloured; input and
//! signals are obeyed also while nobody reads the output; once the input has ended, questions are answered with no.

mod asked;
mod choosing;
mod command_list;
mod continuing;
mod exports;
mod facts;
mod line_command;
mod renderer;
mod rewinding;
mod rows;
mod session;
mod slash;
mod task_list;
mod worktrees;

use std::io::{self, Write as _};
use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::mpsc;

use self::exports::Exporter;
use self::rows::lines;
use self::session::{NextStep, Session};
use super::exit;
use super::input::{self, TypedLine};
use super::leaving::leave;
use super::output::Output;
use crate::agent::LogEvent;
use crate::definition::Catalog;
use crate::definition::skill::SkillCatalog;
use crate::memory::MemoryReader;
use crate::message::UserText;
use crate::services::{SavedSession, Signals};
use crate::session::Store;
use crate::subagent::{Command, Conversation};

pub struct Plain {
    pub conversation: Conversation,
    pub events: mpsc::Receiver<Arc<LogEvent>>,
    /// Where requests to the tree of agents go, and where it gets them.
    pub commands: mpsc::UnboundedSender<Command>,
    pub orders: mpsc::UnboundedReceiver<Command>,
    pub catalog: Catalog,
    pub skills: SkillCatalog,
    /// The state directory and the project, whose sessions can be listed.
    pub sessions_of: Option<(PathBuf, PathBuf)>,
    /// What lists the memory files.
    pub memory: Option<MemoryReader>,
    /// The session that is continued.
    pub saved: Option<Arc<SavedSession>>,
    /// Where the session is kept, if it is, and where paths that are typed begin.
    pub store: Option<Store>,
    pub cwd: PathBuf,
    /// What is asked first.
    pub request: Option<String>,
}

/// Runs a session until the user leaves, or until the input has ended and everything is answered. Returns the exit
/// status.
pub async fn run(plain: Plain, signals: &mut Signals) -> u8 {
    let Plain { conversation, events, commands, orders, catalog, skills, .. } = plain;
    let Plain { sessions_of, memory, saved, store, cwd, request, .. } = plain;
    let started = input::lines(io::stdin()).and_then(|typed| Ok((typed, Output::start()?)));
    let (typed, output) = match started {
        Ok(started) => started,
        Err(error) => {
            let _ = writeln!(io::stderr(), "belvedere: {error:#}");
            return exit::FAILED;
        }
    };
    let engine = tokio::spawn(conversation.drive(orders));
    let mut session = Session::new(commands, catalog, Exporter::new(store, cwd)).listing(sessions_of, memory, skills);
    if let Some(saved) = saved {
        session.restore(&saved);
    }
    if let Some(text) = request {
        session.send(UserText::typed(text));
    }
    let mut sources = Sources { events, typed: Some(typed), signals };
    let code = run_loop(&mut session, &mut sources, &output).await;
    let Session { commands, mut renderer, waiting, .. } = session;
    drop(commands);
    let told = |event: &LogEvent| lines(renderer.apply(event)).collect();
    leave(waiting, told, (sources.events, sources.signals), output, engine).await.unwrap_or(code)
}

/// Where it comes from what happens.
struct Sources<'a> {
    events: mpsc::Receiver<Arc<LogEvent>>,
    /// None once the input has ended.
    typed: Option<mpsc::Receiver<TypedLine>>,
    signals: &'a mut Signals,
}

/// Writes, reads and obeys until it is time to leave. Returns the exit status.
async fn run_loop(session: &mut Session, sources: &mut Sources<'_>, output: &Output) -> u8 {
    let broken = output.broken();
    loop {
        if sources.typed.is_none() {
            session.refuse_all();
            if session.is_idle() && session.waiting.is_empty() {
                return exit::OK;
            }
        }
        session.prompt();
        session.note_asked();
        tokio::select! {
            biased;
            signal = sources.signals.next_end() => {
                let stays = signal.is_interrupt() && matches!(session.interrupted(), NextStep::GoOn);
                if !stays {
                    return signal.exit_status();
                }
            }
            () = broken.wait() => return broken.status().unwrap_or(exit::BROKEN_PIPE),
            () = output.pass(&mut session.waiting), if !session.waiting.is_empty() => {}
            said = session.exporter.ended() => session.notice(&said),
            line = next_line(&mut sources.typed) => match line {
                Some(line) => match session.typed(&line) {
                    NextStep::GoOn => {}
                    NextStep::Leave => return exit::OK,
                },
                None => sources.typed = None,
            },
            // What happens waits while nobody reads, so that memory is bounded.
            event = sources.events.recv(), if session.waiting.is_empty() => match event {
                Some(event) => session.apply(&event),
                None => return exit::FAILED,
            },
        }
    }
}

async fn next_line(typed: &mut Option<mpsc::Receiver<TypedLine>>) -> Option<TypedLine> {
    match typed {
        Some(lines) => lines.recv().await,
        None => std::future::pending().await,
    }
}
