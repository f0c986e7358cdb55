//! The session as messages in the format of `stream-json`.
//!
//! Owns which events become messages, and their form. Leaves the last line, the result, to `json`. Source of the format: the
//! reference of the Claude Agent SDK, whose parsers read what is written here. Invariant: a message of a subagent names the
//! call that started it, in `parent_tool_use_id`.

mod partial;

use std::collections::HashMap;
use std::path::PathBuf;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::agent::{AgentEvent, ContextEvent, EventKind, LogEvent, Outcome, SessionEvent, Spawn, Status, TurnEvent};
use crate::agent::{Author, ToolEvent};
use crate::definition::Catalog;
use crate::definition::skill::{Skill, SkillCatalog};
use crate::mcp::{McpFacts, McpState, server_prefix};
use crate::message::format::sha256_hex;
use crate::message::{
    AgentId, AssistantMessage, Block, ResultPart, ToolInput, ToolResult, Usage, picture_mark, sanitize_line,
};
use crate::permission::PermissionMode;
use crate::provider::StopReason;
use crate::subagent::MainAgentFacts;
use partial::Partial;

/// What the messages say beside the events.
#[derive(Debug, Clone)]
pub struct MessageOptions {
    pub cwd: PathBuf,
    pub mode: PermissionMode,
    /// The kinds of agents there are.
    pub catalog: Catalog,
    /// What can be called by name.
    pub skills: SkillCatalog,
    /// Whether texts are also written while they arrive (`--include-partial-messages`).
    pub partial: bool,
    /// Whether the user's own messages are written too (`--replay-user-messages`).
    pub replay: bool,
}

/// Turns events into messages.
#[derive(Debug)]
pub(super) struct MessageWriter {
    options: MessageOptions,
    session: String,
    model: String,
    facts: MainAgentFacts,
    subagents: HashMap<AgentId, Spawn>,
    partial: HashMap<AgentId, Partial>,
    /// Whether the present run of the main agent was announced.
    is_announced: bool,
    written: u64,
}

/// Returns how many milliseconds the services took for the turns of the main agent.
#[derive(Debug, Default)]
pub(super) struct ServiceTime {
    since: Option<Timestamp>,
    pub(super) millis: u64,
}

impl ServiceTime {
    pub(super) fn apply(&mut self, event: &LogEvent) {
        let Some(AgentEvent { agent: AgentId::MAIN, at, kind }) = event.of_agent() else { return };
        match kind {
            EventKind::Started => *self = Self::default(),
            EventKind::Turn(TurnEvent::Started { .. }) => self.since = Some(*at),
            EventKind::Turn(TurnEvent::Ended { .. }) => {
                let millis = self.since.take().map_or(0, |since| at.duration_since(since).as_millis());
                self.millis += u64::try_from(millis).unwrap_or_default();
            }
            _ => {}
        }
    }
}

impl MessageWriter {
    pub(super) fn new(session: String, options: MessageOptions, facts: MainAgentFacts) -> Self {
        Self {
            options,
            session,
            model: String::new(),
            facts,
            subagents: HashMap::new(),
            partial: HashMap::new(),
            is_announced: false,
            written: 0,
        }
    }

    /// Returns the messages that an event makes.
    pub(super) fn apply(&mut self, event: &LogEvent) -> Vec<Value> {
        let bodies = match event {
            LogEvent::Agent(event) => self.of_agent(event),
            LogEvent::Session { event, .. } => self.of_session(event),
        };
        bodies.into_iter().map(|body| self.signed(body)).collect()
    }

    /// Adds what every message has. The id is made of the session and a count: as good as a random one to tell messages
    /// apart.
    pub(super) fn signed(&mut self, mut body: Value) -> Value {
        self.written += 1;
        let hash = sha256_hex(format!("{}/{}", self.session, self.written).as_bytes());
        body["session_id"] = self.session.clone().into();
        body["uuid"] =
            format!("{}-{}-8{}-a{}-{}", &hash[..8], &hash[8..12], &hash[13..16], &hash[17..20], &hash[20..32]).into();
        body
    }

    /// Takes note of a mode that a request has set.
    pub(super) fn set_mode(&mut self, mode: PermissionMode) {
        self.options.mode = mode;
    }

    /// Says how the MCP servers are, at length.
    pub(super) fn servers(&self) -> Vec<Value> {
        self.facts.servers().facts().iter().map(server_status).collect()
    }

    fn of_session(&mut self, event: &SessionEvent) -> Vec<Value> {
        match event {
            SessionEvent::ModelChosen { id, .. } => self.model.clone_from(id),
            SessionEvent::ModeChanged { mode } => self.options.mode = *mode,
            SessionEvent::NoModel { reason } => return vec![informational("error", reason)],
            _ => {}
        }
        Vec::new()
    }

    fn of_agent(&mut self, event: &AgentEvent) -> Vec<Value> {
        let agent = event.agent;
        match &event.kind {
            EventKind::Started if agent.is_main() && !self.is_announced => {
                self.is_announced = true;
                vec![self.init()]
            }
            EventKind::Spawned(spawn) => {
                let started = task(agent, "task_started", Some(spawn), json!({"description": spawn.description}));
                self.subagents.insert(agent, spawn.clone());
                vec![started]
            }
            EventKind::UserMessage { text, by, .. } => self.user(agent, text, by).into_iter().collect(),
            EventKind::Ended { .. } if agent.is_main() => {
                self.is_announced = false;
                Vec::new()
            }
            EventKind::Ended { outcome } => vec![task_notification(agent, self.subagents.get(&agent), outcome)],
            EventKind::Notice { text } => vec![informational("info", text)],
            EventKind::Turn(event) => self.turn(agent, event),
            EventKind::Tool(ToolEvent::Ended { result, .. }) => {
                vec![
                    self.of(
                        agent,
                        json!({"type": "user", "message": {"role": "user", "content": [tool_result(result)]}}),
                    ),
                ]
            }
            EventKind::Context(ContextEvent::Compacted { before, .. }) => {
                let metadata = json!({"trigger": "auto", "pre_tokens": before});
                let boundary = json!({"type": "system", "subtype": "compact_boundary", "compact_metadata": metadata});
                vec![self.of(agent, boundary)]
            }
            _ => Vec::new(),
        }
    }

    /// The first message of a run.
    fn init(&self) -> Value {
        let MessageOptions { cwd, mode, catalog, skills, .. } = &self.options;
        let servers: Vec<Value> = self.facts.servers().facts().iter().map(server).collect();
        let named = |is_meant: fn(&Skill) -> bool| -> Vec<String> {
            skills.all().into_iter().filter(|skill| is_meant(skill)).map(|skill| skill.name.clone()).collect()
        };
        json!({
            "type": "system",
            "subtype": "init",
            "cwd": cwd.to_string_lossy(),
            "model": self.model,
            "permissionMode": mode.name(),
            "tools": self.facts.tools(),
            "mcp_servers": servers,
            "agents": catalog.names(),
            "slash_commands": named(|skill| skill.is_for_users),
            "skills": named(|skill| skill.is_for_models),
            "output_style": "default",
        })
    }

    fn user(&self, agent: AgentId, text: &str, by: &Author) -> Option<Value> {
        let body = json!({"type": "user", "message": {"role": "user", "content": text}});
        match by {
            Author::User if agent.is_main() => self.options.replay.then_some(body),
            Author::User | Author::Parent => Some(self.of(agent, body)),
            Author::Program | Author::Subagents(_) => {
                let mut body = self.of(agent, body);
                body["isSynthetic"] = true.into();
                Some(body)
            }
        }
    }

    fn turn(&mut self, agent: AgentId, event: &TurnEvent) -> Vec<Value> {
        let mut all = Vec::new();
        if self.options.partial {
            let model = self.model_of(agent).to_owned();
            let events = self.partial.entry(agent).or_default().apply(event, &model);
            let streamed = events.into_iter().map(|event| json!({"type": "stream_event", "event": event}));
            all.extend(streamed.map(|body| self.of(agent, body)));
        }
        match event {
            TurnEvent::Ended { message, usage, stop, .. } if !message.is_empty() => {
                let message = self.assistant(agent, message, *usage, stop.as_ref());
                all.push(self.of(agent, json!({"type": "assistant", "message": message})));
            }
            TurnEvent::Retrying { attempt, wait_ms, reason, .. } => all.push(self.of(
                agent,
                json!({"type": "system", "subtype": "api_retry", "attempt": attempt, "retry_delay_ms": wait_ms, "error": reason}),
            )),
            _ => {}
        }
        all
    }

    fn assistant(&self, agent: AgentId, message: &AssistantMessage, usage: Usage, stop: Option<&StopReason>) -> Value {
        let content: Vec<Value> = message.content.iter().filter_map(block).collect();
        json!({
            "id": format!("msg_{}", self.written + 1),
            "type": "message",
            "role": "assistant",
            "model": self.model_of(agent),
            "content": content,
            "stop_reason": stop,
            "usage": {
                "input_tokens": usage.input,
                "output_tokens": usage.output,
                "cache_read_input_tokens": usage.cache_read,
                "cache_creation_input_tokens": usage.cache_write,
            },
        })
    }

    fn model_of(&self, agent: AgentId) -> &str {
        self.subagents.get(&agent).map_or(self.model.as_str(), |spawn| spawn.model.as_str())
    }

    /// Says whose message it is.
    fn of(&self, agent: AgentId, mut body: Value) -> Value {
        body["parent_tool_use_id"] = self.subagents.get(&agent).map(|spawn| spawn.call_id.as_str()).into();
        body
    }
}

fn server(facts: &McpFacts) -> Value {
    json!({"name": facts.name, "status": status_word(&facts.state)})
}

/// Says how a server is, and what it offers.
fn server_status(facts: &McpFacts) -> Value {
    let mut body = server(facts);
    let prefix = server_prefix(&facts.name);
    let tools = facts.tools.iter().map(|name| json!({"name": name.strip_prefix(&prefix).unwrap_or(name)}));
    body["scope"] = facts.scope.as_str().into();
    body["tools"] = tools.collect();
    if let Some(why) = facts.state.why() {
        body["error"] = sanitize_line(why).into();
    }
    body
}

/// Returns how a server is in the words of the Claude Agent SDK.
fn status_word(state: &McpState) -> &'static str {
    match state {
        McpState::Off(_) => "disabled",
        McpState::Starting | McpState::Waiting(_) => "pending",
        McpState::Connected => "connected",
        McpState::Failed(_) => "failed",
        McpState::SignIn(_) | McpState::SigningIn(_) => "needs-auth",
    }
}

fn informational(level: &str, text: &str) -> Value {
    json!({"type": "system", "subtype": "informational", "level": level, "content": text})
}

/// Returns a message about a subagent as a task.
fn task(agent: AgentId, subtype: &str, spawn: Option<&Spawn>, mut more: Value) -> Value {
    more["type"] = "system".into();
    more["subtype"] = subtype.into();
    more["task_id"] = agent.to_string().into();
    more["task_type"] = "local_agent".into();
    more["tool_use_id"] = spawn.map(|spawn| spawn.call_id.as_str()).into();
    more
}

fn task_notification(agent: AgentId, spawn: Option<&Spawn>, outcome: &Outcome) -> Value {
    let status = match outcome.status {
        Status::Completed => "completed",
        Status::Cancelled | Status::Interrupted => "stopped",
        _ => "failed",
    };
    let usage = json!({
        "total_tokens": (!outcome.usage.is_unknown()).then(|| outcome.usage.total()),
        "tool_uses": outcome.tool_calls,
        "duration_ms": outcome.elapsed_ms,
    });
    let more = json!({"status": status, "output_file": "", "summary": outcome.text, "usage": usage});
    task(agent, "task_notification", spawn, more)
}

fn block(block: &Block) -> Option<Value> {
    match block {
        Block::Text { text } => Some(json!({"type": "text", "text": text})),
        Block::Thinking { text, signature } => {
            Some(json!({"type": "thinking", "thinking": text, "signature": signature.as_deref().unwrap_or_default()}))
        }
        Block::RedactedThinking { data } => Some(json!({"type": "redacted_thinking", "data": data})),
        Block::ToolCall(call) => {
            let input = match &call.input {
                ToolInput::Object(input) => Value::Object(input.clone()),
                ToolInput::Malformed(text) => json!({"malformed": text}),
            };
            Some(json!({"type": "tool_use", "id": call.id, "name": call.name, "input": input}))
        }
        Block::Served(_) => None,
    }
}

fn tool_result(result: &ToolResult) -> Value {
    let content: Vec<Value> = result.content.iter().map(part).collect();
    json!({"type": "tool_result", "tool_use_id": result.call_id, "content": content, "is_error": result.is_error})
}

fn part(part: &ResultPart) -> Value {
    match part {
        ResultPart::Text { text } => json!({"type": "text", "text": text}),
        ResultPart::Image { media_type, data } => {
            json!({"type": "image", "source": {"type": "base64", "media_type": media_type, "data": data}})
        }
        ResultPart::Attached { number } => json!({"type": "text", "text": picture_mark(*number)}),
    }
}
