//! A conversation that a program drives: messages, control requests and answers as lines of JSON on standard input.
//!
//! Owns the order of reading, writing and leaving. Leaves what a line means to `request`, and questions to `approvals`.
//! Source of the format: the Claude Agent SDK, whose transport speaks it. Invariants: a line that cannot be read ends the
//! program, for a message would be lost; once the input has ended, questions are answered with no.

mod approvals;
mod request;

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::lead::Lead;
use super::leaving::leave;
use super::output::Output;
use super::printer::{Printer, written};
use super::structured::{AnswerJudge, AnswerSchema};
use super::{MessageOptions, OutputFormat, eprintln_line, exit, input, judged};
use crate::agent::{AgentEvent, EventKind, LogEvent};
use crate::definition::Catalog;
use crate::definition::skill::SkillCatalog;
use crate::message::{AgentId, MessageId, UserText};
use crate::permission::PermissionMode;
use crate::services::Signals;
use crate::session::PictureStore;
use crate::subagent::{Children, Command, Conversation};
use approvals::PermissionRequests;
use request::{ControlRequest, ProgramLine, initialized};

/// Standard input, of which the first line may have been read before the session starts.
pub struct ControlInput {
    lines: mpsc::Receiver<Vec<u8>>,
    first: Option<Vec<u8>>,
}

impl ControlInput {
    /// Begins to read standard input.
    ///
    /// # Errors
    /// Returns an error if no thread can be started for it.
    pub fn open() -> anyhow::Result<Self> {
        Ok(Self { lines: input::json_lines(io::stdin())?, first: None })
    }

    /// Waits for the first line, and returns the agents that it defines, as `--agents` takes them. Blocks.
    ///
    /// # Errors
    /// Returns what it asks for that cannot be had here.
    pub fn agents(&mut self) -> anyhow::Result<Option<String>> {
        self.first = self.lines.blocking_recv();
        let first = self.first.as_deref().map(ProgramLine::read);
        match first {
            Some(Ok(ProgramLine::Control { request: ControlRequest::Initialize { hooks, agents }, .. })) => {
                let has_hooks = hooks.is_some_and(|hooks| hooks.as_object().is_none_or(|hooks| !hooks.is_empty()));
                anyhow::ensure!(!has_hooks, "hooks of the calling program are not run here; put them into --settings");
                Ok(agents.map(|agents| agents.to_string()))
            }
            _ => Ok(None),
        }
    }

    async fn next(&mut self) -> Option<Vec<u8>> {
        match self.first.take() {
            Some(first) => Some(first),
            None => self.lines.recv().await,
        }
    }
}

/// What such a conversation is made of.
pub struct Controlled {
    pub conversation: Conversation,
    pub events: mpsc::Receiver<Arc<LogEvent>>,
    pub input: ControlInput,
    pub session: String,
    pub messages: MessageOptions,
    /// The most that the program may allow.
    pub ceiling: PermissionMode,
    pub skills: SkillCatalog,
    pub pictures: PictureStore,
    pub schema: Option<AnswerSchema>,
}

/// Answers until the input has ended and everything is answered. Returns the exit status.
pub async fn run(controlled: Controlled, signals: &mut Signals) -> u8 {
    let Controlled { conversation, events, input, session, messages, ceiling, .. } = controlled;
    let Controlled { skills, pictures, schema, .. } = controlled;
    let catalog = messages.catalog.clone();
    let output = match Output::start() {
        Ok(output) => output,
        Err(error) => {
            eprintln_line(&format!("belvedere: {error:#}"));
            return exit::FAILED;
        }
    };
    let (commands, orders) = mpsc::unbounded_channel();
    let engine = tokio::spawn(conversation.drive(orders));
    let mut session = Session {
        commands,
        printer: Printer::new(OutputFormat::StreamJson, session, messages),
        approvals: PermissionRequests::default(),
        waiting: VecDeque::new(),
        ceiling,
        catalog,
        skills,
        pictures,
        judge: AnswerJudge::new(schema),
        last_sent: MessageId::default(),
        unanswered: 0,
        lead: Lead::default(),
        status: exit::OK,
    };
    let mut sources = Sources { events, input: Some(input), signals };
    let code = run_loop(&mut session, &mut sources, &output).await;
    let Session { commands, mut printer, waiting, .. } = session;
    drop(commands);
    let told = |event: &LogEvent| lines(printer.event(event)).collect();
    leave(waiting, told, (sources.events, sources.signals), output, engine).await.unwrap_or(code)
}

struct Sources<'a> {
    events: mpsc::Receiver<Arc<LogEvent>>,
    /// None once it has ended.
    input: Option<ControlInput>,
    signals: &'a mut Signals,
}

async fn run_loop(session: &mut Session, sources: &mut Sources<'_>, output: &Output) -> u8 {
    let broken = output.broken();
    loop {
        if sources.input.is_none() {
            session.refuse_all();
            if session.unanswered == 0 && session.lead == Lead::Rests && session.waiting.is_empty() {
                return session.status();
            }
        }
        tokio::select! {
            biased;
            signal = sources.signals.next_end() => return signal.exit_status(),
            () = broken.wait() => return broken.status().unwrap_or(exit::BROKEN_PIPE),
            () = output.pass(&mut session.waiting), if !session.waiting.is_empty() => {}
            line = next_line(&mut sources.input) => match line {
                None => sources.input = None,
                Some(line) => if let Err(why) = session.received(&line).await {
                    eprintln_line(&format!("belvedere: cannot use a line of standard input: {why}"));
                    return exit::USAGE;
                }
            },
            // What happens waits while nobody reads, so that memory is bounded.
            event = sources.events.recv(), if session.waiting.is_empty() => match event {
                Some(event) => session.apply(&event),
                None => return exit::FAILED,
            },
        }
    }
}

async fn next_line(input: &mut Option<ControlInput>) -> Option<Vec<u8>> {
    match input {
        Some(input) => input.next().await,
        None => std::future::pending().await,
    }
}

fn lines(lines: impl IntoIterator<Item = String>) -> impl Iterator<Item = String> {
    lines.into_iter().map(|line| line + "\n")
}

struct Session {
    commands: mpsc::UnboundedSender<Command>,
    printer: Printer,
    approvals: PermissionRequests,
    /// What is still to be written.
    waiting: VecDeque<String>,
    ceiling: PermissionMode,
    catalog: Catalog,
    skills: SkillCatalog,
    pictures: PictureStore,
    judge: AnswerJudge,
    last_sent: MessageId,
    /// Messages that were sent and not yet answered to the end.
    unanswered: usize,
    lead: Lead,
    /// How the last answer ended.
    status: u8,
}

impl Session {
    fn apply(&mut self, event: &LogEvent) {
        let made = self.printer.event(event);
        self.waiting.extend(lines(made));
        let Some(AgentEvent { agent, kind, .. }) = event.of_agent() else { return };
        if let EventKind::Tool(event) = kind {
            let asked = self.approvals.apply(*agent, event);
            if let Some(line) = asked {
                self.write(&line);
            }
        }
        if !agent.is_main() {
            return;
        }
        self.unanswered = self.unanswered.saturating_sub(self.lead.apply(kind));
        if let EventKind::Ended { outcome } = kind {
            match judged(&mut self.judge, outcome.clone()) {
                Ok(answer) => {
                    self.status = answer.status();
                    let result = self.printer.answer(&answer);
                    self.waiting.extend(lines(result));
                }
                Err(again) => self.send(again),
            }
        }
    }

    fn status(&self) -> u8 {
        if self.status == exit::OK && self.printer.has_refused() { exit::REFUSED } else { self.status }
    }

    fn write(&mut self, message: &Value) {
        self.waiting.extend(lines(written(serde_json::to_string(message))));
    }

    fn send(&mut self, text: UserText) {
        self.unanswered += 1;
        self.last_sent = MessageId(self.last_sent.0 + 1);
        self.order(Command::Send { id: self.last_sent, text });
    }

    fn order(&mut self, command: Command) {
        // It fails only at the end of the session.
        let _ = self.commands.send(command);
    }

    /// Does what a line asks for.
    ///
    /// # Errors
    /// Returns why it cannot be used at all.
    async fn received(&mut self, line: &[u8]) -> Result<(), String> {
        match ProgramLine::read(line)? {
            ProgramLine::Nothing => {}
            ProgramLine::User(message) => {
                let text = message.said(&self.pictures).await?;
                self.send(text);
            }
            ProgramLine::Answer { request_id, response } => {
                if let Some((id, answer)) = self.approvals.answer(&request_id, response) {
                    self.order(Command::Answer { id, answer });
                }
            }
            ProgramLine::Control { request_id, request } => {
                let response = match self.control(request) {
                    Ok(response) => json!({"subtype": "success", "request_id": request_id, "response": response}),
                    Err(error) => json!({"subtype": "error", "request_id": request_id, "error": error}),
                };
                self.write(&json!({"type": "control_response", "response": response}));
            }
        }
        Ok(())
    }

    fn control(&mut self, request: ControlRequest) -> Result<Value, String> {
        match request {
            // What it defines was taken in before the start.
            ControlRequest::Initialize { .. } => return Ok(initialized(&self.catalog, &self.skills)),
            ControlRequest::Interrupt => self.order(Command::Interrupt { children: Children::Stop }),
            ControlRequest::SetPermissionMode { mode } => {
                let mode: PermissionMode = mode.parse()?;
                if mode == PermissionMode::BypassPermissions && self.ceiling != mode {
                    return Err("bypassPermissions has to be chosen at the start: --permission-mode".to_owned());
                }
                self.printer.messages.set_mode(mode);
                self.order(Command::SetMode(mode));
            }
            ControlRequest::SetModel { model: Some(name) } => {
                self.order(Command::UseModel { agent: AgentId::MAIN, name });
            }
            ControlRequest::SetModel { model: None } => return Err("say which model".to_owned()),
            ControlRequest::McpStatus => return Ok(json!({"mcpServers": self.printer.messages.servers()})),
            ControlRequest::StopTask { task_id } => {
                let agent = task_id.parse().map(AgentId).map_err(|_| format!("no task {task_id}"))?;
                self.order(Command::Stop { agent });
            }
            ControlRequest::Unknown => return Err("Belvedere does not know this request".to_owned()),
        }
        Ok(json!({}))
    }

    /// Answers every question with no, because nobody is there any more.
    fn refuse_all(&mut self) {
        for (id, answer) in self.approvals.refuse_all() {
            self.order(Command::Answer { id, answer });
        }
    }
}
