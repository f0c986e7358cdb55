//! A conversation that a program drives: messages, control requests and answers as lines of JSON on standard input.
//!
//! Owns the order of reading, writing and leaving. Leaves what a line means to `request`, and questions to `approvals`.
//! Source of the format: the Claude Agent SDK, whose transport speaks it. Invariants: a line that cannot be read ends the
//! program, for a message would be lost; once the input has ended, questions are answered with no.

mod approvals;
mod questions;
mod request;

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;

use super::lead::Lead;
use super::leaving::leave;
use super::output::Output;
use super::printer::{Printer, written};
use super::structured::{AnswerJudge, AnswerSchema};
use super::{MessageOptions, OutputFormat, eprintln_line, exit, input, judged};
use crate::agent::{AgentEvent, EventKind, LogEvent, SessionEvent};
use crate::definition::Catalog;
use crate::definition::skill::SkillCatalog;
use crate::hook::HookHandler;
use crate::launched::{CallingProgram, ProgramRequest};
use crate::message::{AgentId, Effort, MessageId, UserText, sanitize_line};
use crate::permission::PermissionMode;
use crate::services::Signals;
use crate::session::PictureStore;
use crate::subagent::{Children, Command, Conversation};
use approvals::PermissionRequests;
use questions::ProgramQuestions;
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

    /// Waits for the first line, and returns what the session begins with, as it says. Blocks.
    ///
    /// # Errors
    /// Returns what of it cannot be used.
    pub fn beginning(&mut self) -> anyhow::Result<Beginning> {
        self.first = self.lines.blocking_recv();
        match self.first.as_deref().map(ProgramLine::read) {
            Some(Ok(ProgramLine::Control { request: ControlRequest::Initialize(request), .. })) => {
                request.beginning().map_err(|why| anyhow::anyhow!("cannot use `initialize`: {}", sanitize_line(&why)))
            }
            _ => Ok(Beginning::default()),
        }
    }

    async fn next(&mut self) -> Option<Vec<u8>> {
        match self.first.take() {
            Some(first) => Some(first),
            None => self.lines.recv().await,
        }
    }
}

/// What a program says of a session before it starts.
#[derive(Debug, Default)]
pub struct Beginning {
    /// Agents, as `--agents` takes them.
    pub agents: Option<String>,
    /// The hooks that it runs, and what is said of those that never run.
    pub hooks: Vec<HookHandler>,
    pub said: Vec<String>,
    /// The MCP servers that live in it.
    pub servers: Vec<(String, Value)>,
    /// A system prompt for the main agent, and more for it.
    pub prompt: Option<String>,
    pub appended: Option<String>,
    /// What answers have to fit, as `--json-schema` takes it.
    pub schema: Option<String>,
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
    pub pictures: PictureStore,
    pub schema: Option<AnswerSchema>,
    /// What the program is asked beside permissions.
    pub requests: mpsc::UnboundedReceiver<ProgramRequest>,
    pub program: CallingProgram,
    /// Whether its hooks run.
    pub hooks_applied: bool,
}

/// Answers until the input has ended and everything is answered. Returns the exit status.
pub async fn run(controlled: Controlled, signals: &mut Signals) -> u8 {
    let Controlled { conversation, events, input, session, messages, ceiling, .. } = controlled;
    let Controlled { pictures, schema, requests, program, hooks_applied, .. } = controlled;
    let (catalog, skills) = (messages.catalog.clone(), messages.skills.clone());
    let facts = conversation.facts();
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
        printer: Printer::new(OutputFormat::StreamJson, session, messages, facts.clone()),
        approvals: PermissionRequests::default(),
        questions: ProgramQuestions::default(),
        program,
        hooks_applied,
        has_begun: false,
        usual_model: None,
        waiting: VecDeque::new(),
        ceiling,
        catalog,
        skills,
        pictures,
        judge: AnswerJudge::new(schema),
        last_sent: MessageId::default(),
        unanswered: 0,
        held: Some(Vec::new()),
        lead: Lead::default(),
        status: exit::OK,
    };
    let ready = async move { facts.servers().ready_for_one_request().await };
    let mut sources = Sources { events, input: Some(input), requests: Some(requests), ready: ready.boxed(), signals };
    let code = run_loop(&mut session, &mut sources, &output).await;
    // Nobody answers any more.
    session.questions.end();
    sources.requests = None;
    let Session { commands, mut printer, waiting, .. } = session;
    drop(commands);
    let told = |event: &LogEvent| lines(printer.event(event)).collect();
    leave(waiting, told, (sources.events, sources.signals), output, engine).await.unwrap_or(code)
}

struct Sources<'a> {
    events: mpsc::Receiver<Arc<LogEvent>>,
    /// None once it has ended.
    input: Option<ControlInput>,
    /// What the program is asked; none once it cannot answer.
    requests: Option<mpsc::UnboundedReceiver<ProgramRequest>>,
    /// Until MCP servers have started, for a short time.
    ready: BoxFuture<'static, ()>,
    signals: &'a mut Signals,
}

async fn run_loop(session: &mut Session, sources: &mut Sources<'_>, output: &Output) -> u8 {
    let broken = output.broken();
    loop {
        if sources.input.is_none() {
            session.refuse_all();
            if session.unanswered == 0 && session.lead == Lead::Rests && session.waiting.is_empty() {
                return session.status;
            }
        }
        tokio::select! {
            biased;
            signal = sources.signals.next_end() => return signal.exit_status(),
            () = broken.wait() => return broken.status().unwrap_or(exit::BROKEN_PIPE),
            () = output.pass(&mut session.waiting), if !session.waiting.is_empty() => {}
            Some(request) = next_request(&mut sources.requests) => {
                let line = session.questions.ask(request);
                session.write(&line);
            }
            line = session.questions.given_up() => session.write(&line),
            () = &mut sources.ready, if session.held.is_some() => session.release(),
            line = next_line(&mut sources.input) => match line {
                None => {
                    (sources.input, sources.requests) = (None, None);
                    session.questions.end();
                }
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

async fn next_request(requests: &mut Option<mpsc::UnboundedReceiver<ProgramRequest>>) -> Option<ProgramRequest> {
    match requests {
        Some(requests) => requests.recv().await,
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
    questions: ProgramQuestions,
    program: CallingProgram,
    hooks_applied: bool,
    /// Whether the program has introduced itself.
    has_begun: bool,
    /// The model that the session began with, as `--model` takes it.
    usual_model: Option<String>,
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
    /// What waits for MCP servers to start: what connects later is of no use to it. `None` once they have.
    held: Option<Vec<Command>>,
    lead: Lead,
    /// How the last answer ended.
    status: u8,
}

impl Session {
    fn apply(&mut self, event: &LogEvent) {
        let made = self.printer.event(event);
        self.waiting.extend(lines(made));
        if let LogEvent::Session { event: SessionEvent::ModelChosen { provider, id, .. }, .. } = event {
            self.usual_model.get_or_insert_with(|| format!("{provider}/{id}"));
        }
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

    fn write(&mut self, message: &Value) {
        self.waiting.extend(lines(written(serde_json::to_string(message))));
    }

    fn send(&mut self, text: UserText) {
        self.unanswered += 1;
        self.last_sent = MessageId(self.last_sent.0 + 1);
        let command = Command::Send { id: self.last_sent, text };
        match &mut self.held {
            Some(held) => held.push(command),
            None => self.order(command),
        }
    }

    /// Hands on what has waited for MCP servers.
    fn release(&mut self) {
        for command in self.held.take().unwrap_or_default() {
            self.order(command);
        }
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
                let other = self.questions.answer(&request_id, response);
                let answered = other.and_then(|response| self.approvals.answer(&request_id, response));
                if let Some((id, answer)) = answered {
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
            ControlRequest::Initialize(_) if std::mem::replace(&mut self.has_begun, true) => {
                return Err("the session has begun already".to_owned());
            }
            // What it brings was taken in before the start.
            ControlRequest::Initialize(_) => {
                return Ok(initialized(&self.catalog, &self.skills, self.hooks_applied));
            }
            ControlRequest::Interrupt => self.order(Command::Interrupt { children: Children::Stop }),
            ControlRequest::SetPermissionMode { mode } => {
                let mode: PermissionMode = mode.parse()?;
                if mode == PermissionMode::BypassPermissions && self.ceiling != mode {
                    return Err("bypassPermissions has to be chosen at the start: --permission-mode".to_owned());
                }
                self.printer.messages.set_mode(mode);
                self.order(Command::SetMode(mode));
            }
            ControlRequest::SetModel { model } => {
                let name = model.or_else(|| self.usual_model.clone()).ok_or("say which model")?;
                self.order(Command::UseModel { agent: AgentId::MAIN, name });
            }
            ControlRequest::SetMaxThinkingTokens { max_thinking_tokens: tokens } => {
                self.order(Command::SetThinkingTokens(tokens));
            }
            ControlRequest::ApplyFlagSettings { settings } => self.apply_settings(&settings)?,
            ControlRequest::McpReconnect { server } => self.order(Command::Servers { restart: Some(server) }),
            ControlRequest::McpMessage { server_name, message } => {
                let is_heard = self.program.hand_on(&server_name, message);
                return if is_heard {
                    Ok(json!({}))
                } else {
                    Err(format!("no server {server_name} of yours is in use"))
                };
            }
            ControlRequest::McpStatus => return Ok(json!({"mcpServers": self.printer.messages.servers()})),
            ControlRequest::StopTask { task_id } => {
                let agent = task_id.parse().map(AgentId).map_err(|_| format!("no task {task_id}"))?;
                self.order(Command::Stop { agent });
            }
            ControlRequest::Unknown => return Err("Belvedere does not know this request".to_owned()),
        }
        Ok(json!({}))
    }

    /// Changes what can be changed in a session of what settings files say.
    fn apply_settings(&mut self, settings: &Map<String, Value>) -> Result<(), String> {
        let mut commands = Vec::new();
        for (key, value) in settings {
            let text = value.as_str();
            commands.push(match (key.as_str(), text) {
                ("effortLevel", Some(level)) => Command::SetEffort(Effort::choice(level)?),
                ("effortLevel", None) if value.is_null() => Command::SetEffort(None),
                ("model", Some(name)) => Command::UseModel { agent: AgentId::MAIN, name: name.to_owned() },
                _ => return Err(format!("`{key}` cannot be changed in a session")),
            });
        }
        for command in commands {
            self.order(command);
        }
        Ok(())
    }

    /// Answers every question with no, because nobody is there any more.
    fn refuse_all(&mut self) {
        for (id, answer) in self.approvals.refuse_all() {
            self.order(Command::Answer { id, answer });
        }
    }
}
