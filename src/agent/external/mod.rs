//! The run of an agent that is another program: what that program does becomes the same events as any agent's.
//!
//! Owns the order of a run: start, prompt, whatever interrupts it, last words, end. Leaves the protocol to `external`, tool
//! calls to `calls`, questions to `questions` and text to `steps`. There is no loop of ours here: the program has its own.
//! Invariants: whatever ends the run, nothing of the program is left running; what was cut short is never an answer.

mod calls;
mod exchange;
mod pictures;
mod questions;
mod recap;
mod remote;
mod steps;
mod synced;

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::json;

use self::exchange::{ExchangeEnd, Interruption};
pub use self::remote::RemoteAgent;
use self::steps::Steps;
use super::driver::{doubt, early_status, last_turn_words, stop_words, watched};
use super::inbox::{IdleState, InboxMessage};
use super::run::Run;
use super::{Agent, EventKind, FileTally, LastWords, Outcome, Status, StopCause};
use crate::external::{
    ExternalConnection, ExternalError, ExternalSession, ExternalStart, LaunchExternal, OfferedServer, PromptStop,
    SessionStart,
};
use crate::hook::HookEvent;
use crate::message::format::millis;
use crate::message::{ExternalProgram, Message, Transcript, sanitize_line, without_picture_marks};

/// How often in a row hooks may keep it from ending.
const MAX_KEPT_GOING: u32 = 8;

/// How long an agent somewhere else may take to end its commands and remove its folder, once its input has ended.
const REMOTE_END: Duration = Duration::from_secs(5);

/// What it takes to have another program do an agent's work.
#[derive(Clone)]
pub struct ExternalAgent {
    pub program: ExternalProgram,
    /// Whether a file of the project names it.
    pub is_projects: bool,
    pub launch: LaunchExternal,
    /// The session that the program keeps, by its own name for it. Clones share it.
    pub session: ExternalSessionName,
    /// The servers of tools that it is handed on.
    pub servers: Arc<[OfferedServer]>,
    /// What it takes if the program works somewhere else.
    pub remote: Option<RemoteAgent>,
}

impl fmt::Debug for ExternalAgent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExternalAgent").field("program", &self.program).finish_non_exhaustive()
    }
}

/// What a program calls the session that it keeps for an agent, once there is one.
#[derive(Debug, Clone, Default)]
pub struct ExternalSessionName(Arc<Mutex<Option<String>>>);

impl ExternalSessionName {
    pub fn get(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set(&self, name: &str) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(name.to_owned());
    }

    /// Takes the name from the events of an agent, if it is not known.
    pub fn recall(&self, events: &[EventKind]) {
        let last = events.iter().rev().find_map(|event| match event {
            EventKind::ExternalSession { name } => Some(name),
            _ => None,
        });
        if let (None, Some(name)) = (self.get(), last) {
            self.set(name);
        }
    }
}

/// How a run ends.
enum ExternalEnd {
    Answered,
    /// It was asked to report early; the text says why.
    Limited(Status, LastWords),
    Stopped,
    Failed(String),
    /// The connection to where it works was lost.
    Lost(String),
}

/// Has the program answer what a transcript ends in.
pub(super) async fn work(run: &Run<'_>, external: &ExternalAgent, transcript: Transcript) -> (Outcome, Transcript) {
    let mut talk = Talk::new(run, external, transcript);
    let end = Box::pin(watched(run, talk.drive(), |end| matches!(end, ExternalEnd::Stopped))).await;
    if let Some(connection) = talk.connection.take() {
        match &external.remote {
            Some(_) => connection.close(REMOTE_END).await,
            None => connection.end().await,
        }
    }
    talk.leave().await;
    run.agent.inbox.close();
    talk.conclude(end).await
}

/// One run and what is known of it.
struct Talk<'a> {
    run: &'a Run<'a>,
    agent: &'a Agent,
    external: &'a ExternalAgent,
    connection: Option<ExternalConnection>,
    steps: Steps<'a>,
    calls: calls::OpenCalls,
    files: FileTally,
    /// What the session has cost in US dollars, as the program says.
    session_cost: Option<f64>,
    /// What of that is counted.
    counted_cost: f64,
    /// While a prompt is open, the tokens of context that the program has spoken of.
    owed: Option<u64>,
    kept_going: u32,
    /// Its folder, if that is somewhere else.
    carrying: Option<remote::Carrying<'a>>,
}

impl<'a> Talk<'a> {
    fn new(run: &'a Run<'a>, external: &'a ExternalAgent, transcript: Transcript) -> Self {
        Self {
            run,
            agent: run.agent,
            external,
            connection: None,
            steps: Steps::new(run, called(external), transcript),
            calls: calls::OpenCalls::default(),
            files: FileTally::default(),
            session_cost: None,
            counted_cost: 0.0,
            owed: None,
            kept_going: 0,
            carrying: None,
        }
    }

    async fn drive(&mut self) -> ExternalEnd {
        let opening = match self.open().await {
            Ok(opening) => opening,
            Err(end) => return end,
        };
        let mut next = opening;
        loop {
            // How much a prompt will use nobody knows.
            if self.agent.budget.used_up().is_some() {
                return ExternalEnd::Limited(Status::Budget, LastWords::Partial);
            }
            let ended = self.exchange(&next, false).await;
            match ended {
                ExchangeEnd::Ended(PromptStop::Done) => match self.more().await {
                    Some(text) => next = text,
                    None => return ExternalEnd::Answered,
                },
                ExchangeEnd::Interrupted(Interruption::Steered) => next = self.read_inbox().await,
                ExchangeEnd::Interrupted(Interruption::Early(status)) => return self.last_words(status).await,
                ExchangeEnd::Interrupted(Interruption::Stopped) => return ExternalEnd::Stopped,
                ExchangeEnd::Ended(stop) => return unfinished(stop),
                ExchangeEnd::Failed(why) => return ExternalEnd::Failed(why),
                ExchangeEnd::Lost(why) => return ExternalEnd::Lost(why),
            }
        }
    }

    /// Starts the program. Returns what it is asked first.
    async fn open(&mut self) -> Result<String, ExternalEnd> {
        let agent = self.agent;
        let mut words = Vec::new();
        let about = agent.hooks.agent_type().to_owned();
        words.extend(self.run.notify_hooks(HookEvent::SubagentStart, &about, json!({})).await);
        let start = ExternalStart {
            program: self.external.program.clone(),
            is_projects: self.external.is_projects,
            cwd: agent.place.cwd.as_ref().clone(),
        };
        let stop = agent.work.token();
        let opened = ExternalConnection::open(&self.external.launch, start, &stop).await;
        self.connection = Some(opened.map_err(|error| self.failed(&error))?);
        let session = self.begin().await.map_err(|error| self.failed(&error))?;
        self.run.watchdog.heartbeat();
        if !session.left_out.is_empty() {
            let (program, names) = (sanitize_line(called(self.external)), session.left_out.join(", "));
            let text = format!("{program} cannot reach these MCP servers and does without: {}.", sanitize_line(&names));
            self.run.emit(EventKind::Notice { text }).await;
        }
        self.external.session.set(&session.id);
        self.run.emit(EventKind::ExternalSession { name: session.id.clone() }).await;
        let mut parts = Vec::new();
        if session.is_again {
            parts.extend(last_message(self.steps.transcript()));
        } else {
            // What it is told of itself shows no picture.
            parts.extend(self.introduction().iter().map(|part| without_picture_marks(part)));
            parts.extend(remote::again(self.steps.transcript(), self.carrying.is_some()));
            parts.extend(recap::opening(self.steps.transcript()));
        }
        for text in words {
            parts.push(self.receive(InboxMessage::of_program(&text)).await);
        }
        for message in agent.inbox.take() {
            parts.push(self.receive(message).await);
        }
        Ok(parts.join("\n\n"))
    }

    /// Opens a session where the agent works.
    async fn begin(&mut self) -> Result<ExternalSession, ExternalError> {
        let cwd = self.arrive().await?;
        let Some(connection) = self.connection.as_mut() else {
            return Err(ExternalError::Closed("not connected".to_owned()));
        };
        // A folder that was sent is another one each time.
        let known = self.external.session.get().filter(|_| self.carrying.is_none());
        let start = known.map_or(SessionStart::New, SessionStart::Again);
        let described = self.external.remote.as_ref().map(|remote| &remote.described);
        let described = described.filter(|_| connection.takes_agents);
        tokio::select! {
            biased;
            () = self.agent.work.cancelled() => Err(ExternalError::Stopped),
            began = connection.begin(&cwd, &start, described, &self.external.servers) => began,
        }
    }

    /// Says why there is no connection.
    fn failed(&self, error: &ExternalError) -> ExternalEnd {
        match (error, self.agent.cancel.cause()) {
            (ExternalError::Stopped, Some(_)) => ExternalEnd::Stopped,
            (ExternalError::Stopped, None) => {
                let cause = self.agent.work.cause().unwrap_or(StopCause::User);
                ExternalEnd::Limited(early_status(cause), LastWords::Partial)
            }
            (ExternalError::Closed(why), _) if self.external.remote.is_some() && self.connection.is_some() => {
                ExternalEnd::Lost(self.lost_words(why))
            }
            (error, _) => ExternalEnd::Failed(self.words_of(error)),
        }
    }

    fn words_of(&self, error: &ExternalError) -> String {
        format!("{}: {error}.", sanitize_line(called(self.external)))
    }

    /// Adds a message to the conversation, and returns it as the program reads it.
    async fn receive(&mut self, message: InboxMessage) -> String {
        let text = message.model_text();
        self.steps.heard(&text);
        self.run.emit(EventKind::UserMessage { text: message.text, by: message.by, id: message.id }).await;
        text
    }

    async fn read_inbox(&mut self) -> String {
        let mut texts = Vec::new();
        for message in self.agent.inbox.take() {
            texts.push(self.receive(message).await);
        }
        texts.join("\n\n")
    }

    /// Returns what it is to be asked next, if hooks or messages want more of it.
    async fn more(&mut self) -> Option<String> {
        let agent = self.agent;
        if agent.inbox.is_idle(agent.at_end) && agent.work.cause().is_none() {
            let (last, is_again) = (self.steps.answer().to_owned(), self.kept_going > 0);
            let words = self.run.before_end(&last, is_again).await.filter(|_| agent.cancel.cause().is_none());
            if let Some(words) = words.filter(|_| self.kept_going < MAX_KEPT_GOING) {
                self.kept_going += 1;
                return Some(self.receive(InboxMessage::of_program(&words)).await);
            }
        }
        self.kept_going = 0;
        match agent.inbox.close_if_idle(agent.at_end) {
            IdleState::More => Some(self.read_inbox().await),
            IdleState::Nothing | IdleState::ReportsPending => None,
        }
    }

    /// Asks for a report, after what it did was cut short.
    async fn last_words(&mut self, status: Status) -> ExternalEnd {
        let status = self.run.emit_last_turn(status).await;
        let text = self.receive(InboxMessage::of_program(last_turn_words(status))).await;
        self.steps.begin_answer();
        match self.exchange(&text, true).await {
            ExchangeEnd::Ended(PromptStop::Done) => ExternalEnd::Limited(status, LastWords::Report),
            ExchangeEnd::Interrupted(Interruption::Stopped) => ExternalEnd::Stopped,
            ExchangeEnd::Ended(_) | ExchangeEnd::Interrupted(_) => ExternalEnd::Limited(status, LastWords::Partial),
            ExchangeEnd::Lost(why) => ExternalEnd::Lost(why),
            ExchangeEnd::Failed(why) => {
                tracing::warn!(agent = %self.agent.id, %why, "no report at a limit");
                ExternalEnd::Limited(status, LastWords::Partial)
            }
        }
    }

    async fn conclude(mut self, end: ExternalEnd) -> (Outcome, Transcript) {
        if self.owed.is_some() {
            self.finish(None, false).await;
        }
        self.interrupt_calls().await;
        let (answer, last) = self.steps.texts();
        let text = if answer.trim().is_empty() { last } else { answer.clone() };
        let text = self.agent.secrets.redact(&text).into_owned();
        let (doubt, judged) = doubt(self.run, &self.files, &text).await;
        let has_answer = !answer.trim().is_empty();
        let agent = self.agent;
        let (status, words, reason) = match self.unless_missing(end) {
            ExternalEnd::Answered if has_answer => (Status::Completed, LastWords::Report, None),
            ExternalEnd::Answered => {
                (Status::Empty, LastWords::Report, Some("The program ended its turn without an answer.".to_owned()))
            }
            ExternalEnd::Limited(status, words) => {
                let words = if has_answer { words } else { LastWords::Partial };
                (status, words, Some(self.limit_words(status)))
            }
            ExternalEnd::Stopped => {
                let (status, reason) = stop_words(agent.cancel.cause().unwrap_or(StopCause::User), agent);
                (status, LastWords::Partial, Some(reason))
            }
            ExternalEnd::Failed(reason) => (Status::Failed, LastWords::Partial, Some(reason)),
            ExternalEnd::Lost(reason) => (Status::Interrupted, LastWords::Partial, Some(reason)),
        };
        let (turns, usage, cost_usd, transcript) = self.steps.into_parts();
        let mut usage = usage + judged.map(|(used, _)| used).unwrap_or_default();
        self.run.take_asides().into_iter().for_each(|(used, _)| usage += used);
        let outcome = Outcome {
            status,
            text,
            words,
            reason,
            turns,
            tool_calls: self.calls.begun,
            usage,
            cost_usd,
            elapsed_ms: millis(self.run.started.elapsed()),
            tools_run: self.run.tools_run(),
            files: self.files,
            doubt,
        };
        (outcome, transcript)
    }

    fn limit_words(&self, status: Status) -> String {
        let limits = &self.agent.limits;
        match status {
            Status::WrappedUp => "Wrapped up early by the user.".to_owned(),
            Status::TimedOut => stop_words(self.agent.work.cause().unwrap_or(StopCause::Idle), self.agent).1,
            Status::Budget => self.agent.budget.used_up().unwrap_or_else(|| "The budget was used up.".to_owned()),
            Status::TurnLimit => {
                let program = sanitize_line(self.external.program.name());
                format!("{program} reached its own limit on requests to its model.")
            }
            _ => format!("Reached the limit of {} tool calls.", limits.max_tool_calls.unwrap_or_default()),
        }
    }
}

/// Returns what the user calls the program.
fn called(external: &ExternalAgent) -> &str {
    external.remote.as_ref().map_or(external.program.name(), |remote| &remote.launcher)
}

/// Says how a run ends whose program has stopped before it was done.
fn unfinished(stop: PromptStop) -> ExternalEnd {
    match stop {
        PromptStop::MaxRequests => ExternalEnd::Limited(Status::TurnLimit, LastWords::Partial),
        PromptStop::MaxTokens => {
            ExternalEnd::Failed("Its reply was cut off by the output token limit. Ask for less at once.".to_owned())
        }
        PromptStop::Refused => ExternalEnd::Failed("The model declined to answer. Rephrase the request.".to_owned()),
        PromptStop::Done | PromptStop::Cancelled | PromptStop::Unknown => {
            ExternalEnd::Failed("The program has broken off its turn by itself.".to_owned())
        }
    }
}

/// Returns what was said last to the agent.
fn last_message(transcript: &Transcript) -> Option<String> {
    transcript.messages().iter().rev().find_map(|message| match message.as_ref() {
        Message::User { text } => Some(text.clone()),
        _ => None,
    })
}
