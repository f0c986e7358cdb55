//! Commands that go on while whoever started them does other things: servers, watchers, and the user's own.
//!
//! Owns who started which, what each has printed, and how many there can be. Leaves the processes to `process` and what
//! follows from an event to the [`CommandListener`]. Invariants: what is kept of a command's output is bounded, however
//! much it prints; its end is emitted once, when nothing of it runs any more; it ends with the program at the latest.

pub(super) mod follow;
mod lines;
mod user;

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::future::BoxFuture;
use regex::Regex;
use serde::{Deserialize, Serialize};
use tokio::sync::watch;
use tokio::time::Instant;

use super::process::output::Capture;
use crate::message::AgentId;

/// Commands of one agent, or of the user, that run at a time.
const MAX_RUNNING: usize = 8;
/// Commands of all agents that run at a time.
const MAX_OF_ALL: usize = 24;
/// Commands that have ended of which the output can still be read.
const MAX_ENDED: usize = 50;
/// Characters that are kept of all that a command prints.
const WHOLE_CHARS: usize = 40_000;

/// What happens to a command that goes on by itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum CommandEvent {
    #[serde(rename = "command_started")]
    Started {
        /// Its name, such as `bash_1`.
        command_id: String,
        /// The command line.
        command: String,
        /// Whether the user started it, and no agent.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        by_user: bool,
    },
    /// More of its output. Where it prints faster than anyone reads, a part of it is left out.
    #[serde(rename = "command_output")]
    Output { command_id: String, text: String },
    /// It has printed a line that its agent waits for.
    #[serde(rename = "command_matched")]
    Matched { command_id: String, line: String },
    /// It is over: nothing of it is left running.
    #[serde(rename = "command_ended")]
    Ended {
        command_id: String,
        /// How, in a few words, such as `exit 0`.
        how: String,
        is_error: bool,
        ended_by: EndedBy,
        /// The end of what it printed.
        tail: String,
        /// Lines that it printed in all.
        lines: usize,
    },
}

impl CommandEvent {
    /// Returns the name of the command.
    pub fn command_id(&self) -> &str {
        match self {
            Self::Started { command_id, .. }
            | Self::Output { command_id, .. }
            | Self::Matched { command_id, .. }
            | Self::Ended { command_id, .. } => command_id,
        }
    }
}

/// Who ended a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndedBy {
    /// The command itself, or its time limit.
    Itself,
    User,
    /// The agent that started it.
    Agent,
    /// The end of its agent, or of the session.
    Owner,
}

/// Who is told what happens to a command.
pub trait CommandListener: Send + Sync {
    fn on_command(&self, event: CommandEvent) -> BoxFuture<'_, ()>;
}

/// Where the calls of one agent leave commands that go on.
#[derive(Clone)]
pub struct CommandHost {
    pub commands: BackgroundCommands,
    pub owner: AgentId,
    pub listener: Arc<dyn CommandListener>,
}

impl fmt::Debug for CommandHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CommandHost({})", self.owner)
    }
}

/// Tells nobody.
struct NoListener;

impl CommandListener for NoListener {
    fn on_command(&self, _: CommandEvent) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}

impl Default for CommandHost {
    /// Returns a place where commands of nobody are left, of which nobody hears.
    fn default() -> Self {
        Self { commands: BackgroundCommands::default(), owner: AgentId::MAIN, listener: Arc::new(NoListener) }
    }
}

/// The commands of one session that go on by themselves; clones share them.
#[derive(Debug, Clone, Default)]
pub struct BackgroundCommands(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    started: u32,
    /// In the order of their start.
    entries: VecDeque<Entry>,
}

#[derive(Debug)]
struct Entry {
    id: String,
    line: String,
    owner: AgentId,
    by_user: bool,
    since: Instant,
    /// Who asked for its end, first.
    stop: watch::Sender<Option<EndedBy>>,
    whole: Capture,
    unread: Capture,
    /// How it ended; `None` while it runs.
    ending: Option<Ending>,
    /// Whether its end was told, too. Notified also of each output.
    is_over: watch::Sender<bool>,
}

#[derive(Debug, Clone)]
struct Ending {
    how: String,
    is_error: bool,
    at: Instant,
}

/// A command that has its name and place, and is still to be started.
pub(super) struct AdmittedCommand {
    pub(super) id: String,
    stop: watch::Receiver<Option<EndedBy>>,
}

/// What a look at a command found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandLook {
    pub command: String,
    /// How it ended; `None` while it runs.
    pub ended: Option<String>,
    pub is_error: bool,
    /// How long it has run.
    pub elapsed_ms: u64,
    /// What it printed since the last look, as far as that was kept and asked for.
    pub output: String,
}

impl BackgroundCommands {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives a command a name and a place. On failure, says what to do instead.
    pub(super) fn admit(&self, owner: AgentId, line: &str, by_user: bool) -> Result<AdmittedCommand, String> {
        let mut state = self.state();
        let running = state.entries.iter().filter(|entry| entry.is_running());
        let all = running.clone().count();
        let own = running.filter(|entry| entry.owner == owner && entry.by_user == by_user).count();
        if own >= MAX_RUNNING || all >= MAX_OF_ALL {
            let running = if own >= MAX_RUNNING { own } else { all };
            return Err(format!("{running} commands already run in the background, the most allowed. Stop one first."));
        }
        while state.entries.len() - all > MAX_ENDED {
            let Some(oldest) = state.entries.iter().position(|entry| !entry.is_running()) else { break };
            state.entries.remove(oldest);
        }
        state.started += 1;
        let id = format!("bash_{}", state.started);
        let (stop, stopped) = watch::channel(None);
        state.entries.push_back(Entry {
            id: id.clone(),
            line: line.to_owned(),
            owner,
            by_user,
            since: Instant::now(),
            stop,
            whole: Capture::new(WHOLE_CHARS),
            unread: Capture::new(WHOLE_CHARS),
            ending: None,
            is_over: watch::channel(false).0,
        });
        Ok(AdmittedCommand { id, stop: stopped })
    }

    /// Forgets a command that could not be started.
    pub(super) fn withdraw(&self, id: &str) {
        self.state().entries.retain(|entry| entry.id != id);
    }

    fn push(&self, id: &str, bytes: &[u8]) {
        if let Some(entry) = self.state().find(id) {
            entry.whole.push(bytes);
            entry.unread.push(bytes);
            entry.is_over.send_modify(|_| {});
        }
    }

    /// Notes how a command ended, unless that is known.
    fn end(&self, id: &str, how: &str, is_error: bool) {
        if let Some(entry) = self.state().find(id).filter(|entry| entry.is_running()) {
            entry.ending = Some(Ending { how: how.to_owned(), is_error, at: Instant::now() });
        }
    }

    /// Releases those who wait for the end of a command: everyone was told.
    fn release(&self, id: &str) {
        if let Some(entry) = self.state().find(id) {
            entry.is_over.send_replace(true);
        }
    }

    /// Returns the last lines of what a command has printed, and how many lines it has printed in all.
    fn tail(&self, id: &str, lines: usize) -> (String, usize) {
        let mut state = self.state();
        state.find(id).map(|entry| (entry.whole.last_lines(lines), entry.whole.lines())).unwrap_or_default()
    }

    /// Returns the exact name of a command of this agent, if it has one that is called so.
    pub fn own(&self, owner: AgentId, wanted: &str) -> Option<String> {
        let state = self.state();
        let is_own = |entry: &&Entry| entry.owner == owner && !entry.by_user && entry.id == wanted.trim();
        state.entries.iter().find(is_own).map(|entry| entry.id.clone())
    }

    /// Takes what a command has printed since the last look: with a filter, those lines of it that match.
    pub fn look(&self, id: &str, filter: Option<&Regex>) -> Option<CommandLook> {
        let mut state = self.state();
        let entry = state.find(id)?;
        let unread = std::mem::replace(&mut entry.unread, Capture::new(WHOLE_CHARS)).text();
        let output = match filter {
            Some(filter) => unread.lines().filter(|line| filter.is_match(line)).collect::<Vec<_>>().join("\n"),
            None => unread,
        };
        let ending = entry.ending.clone();
        let until = ending.as_ref().map_or_else(Instant::now, |ending| ending.at);
        let elapsed = until.saturating_duration_since(entry.since).as_millis();
        Some(CommandLook {
            command: entry.line.clone(),
            ended: ending.as_ref().map(|ending| ending.how.clone()),
            is_error: ending.is_some_and(|ending| ending.is_error),
            elapsed_ms: u64::try_from(elapsed).unwrap_or(u64::MAX),
            output,
        })
    }

    /// Waits until a command has ended or, with `or_output`, has printed something that no look has taken yet and that the
    /// filter lets through.
    pub async fn news(&self, id: &str, or_output: bool, filter: Option<&Regex>) {
        let Some(mut changes) = self.state().find(id).map(|entry| entry.is_over.subscribe()) else { return };
        loop {
            if *changes.borrow_and_update() || or_output && self.has_unread(id, filter) {
                return;
            }
            if changes.changed().await.is_err() {
                return;
            }
        }
    }

    fn has_unread(&self, id: &str, filter: Option<&Regex>) -> bool {
        let mut state = self.state();
        let Some(entry) = state.find(id) else { return true };
        match filter {
            Some(filter) => entry.unread.text().lines().any(|line| filter.is_match(line)),
            None => entry.unread.lines() > 0,
        }
    }

    /// Asks for the end of a command; the first who asks counts. Returns `false` if it does not run.
    pub fn stop(&self, id: &str, by: EndedBy) -> bool {
        self.state().find(id).is_some_and(|entry| entry.ask_to_end(by))
    }

    /// Asks for the end of all commands of the user.
    pub fn stop_of_user(&self) {
        self.stop_where(EndedBy::User, |entry| entry.by_user);
    }

    /// Asks for the end of every command.
    pub fn stop_all(&self, by: EndedBy) {
        self.stop_where(by, |_| true);
    }

    fn stop_where(&self, by: EndedBy, is_meant: impl Fn(&Entry) -> bool) {
        for entry in self.state().entries.iter().filter(|entry| is_meant(entry)) {
            entry.ask_to_end(by);
        }
    }

    /// Ends the commands of an agent and waits until nothing of them runs.
    pub async fn end_of(&self, owner: AgentId) {
        self.stop_where(EndedBy::Owner, |entry| entry.owner == owner);
        self.settled(|entry| entry.owner == owner).await;
    }

    /// Waits until no command runs.
    pub async fn all_ended(&self) {
        self.settled(|_| true).await;
    }

    async fn settled(&self, is_meant: impl Fn(&Entry) -> bool) {
        let running: Vec<_> = {
            let state = self.state();
            let meant = state.entries.iter().filter(|entry| !*entry.is_over.borrow() && is_meant(entry));
            meant.map(|entry| entry.is_over.subscribe()).collect()
        };
        for mut ended in running {
            // It fails only if the command is forgotten, which an ended one is.
            let _ = ended.wait_for(|is_over| *is_over).await;
        }
    }
}

impl State {
    fn find(&mut self, id: &str) -> Option<&mut Entry> {
        self.entries.iter_mut().find(|entry| entry.id == id)
    }
}

impl Entry {
    fn is_running(&self) -> bool {
        self.ending.is_none()
    }

    fn ask_to_end(&self, by: EndedBy) -> bool {
        let runs = self.is_running();
        if runs {
            self.stop.send_if_modified(|asked| asked.is_none().then(|| *asked = Some(by)).is_some());
        }
        runs
    }
}
