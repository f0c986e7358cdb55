//! What happens in a session, as updates for the client: a fold over its events.
//!
//! Owns which call of which agent has which id, and what is told of subagents. Leaves approvals to `approvals` and the
//! looks of a call to `shown`. Invariants: ids are never used twice; a subagent is told of in the call that started it,
//! within bounds; of a call that has ended nothing is kept.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use super::children::Child;
use super::schema::{
    ContentChunk, Cost, MessageId, SessionUpdate, ToolCall as ShownCall, ToolCallContent, ToolCallId, ToolCallStatus,
    ToolCallUpdate, ToolCallUpdateFields, ToolKind, UsageUpdate,
};
use super::shown;
use crate::agent::{AgentEvent, Author, EventKind, LogEvent, Outcome, SessionEvent, Spawn, ToolEvent, TurnEvent};
use crate::agent::{KeptWorktree, rewound_words};
use crate::message::{AgentId, AssistantMessage, Block, ToolCall, Usage, UsageTable, sanitize, sanitize_line};
use crate::tool::ToolView;

/// Whether what is told happens now, or happened before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Telling {
    Now,
    /// What the user said is told too.
    Again,
}

/// A call that runs.
struct RunningCall {
    id: ToolCallId,
    call: ToolCall,
}

pub(super) struct Updates {
    cwd: PathBuf,
    telling: Telling,
    calls: HashMap<(AgentId, String), RunningCall>,
    children: HashMap<AgentId, Child>,
    /// How many calls and messages were told of.
    numbered: u64,
    /// What was streamed of the main agent's present turn.
    streamed: Streamed,
    message: MessageId,
    usage: UsageTable,
    /// Tokens of the main agent's last request and its answer, and how many its model takes.
    filled: u64,
    context_window: Option<u64>,
    /// The branches that were told of.
    branches: BTreeSet<String>,
}

#[derive(Default)]
struct Streamed {
    text: bool,
    thinking: bool,
}

impl Updates {
    pub(super) fn new(cwd: PathBuf) -> Self {
        Self {
            cwd,
            telling: Telling::Now,
            calls: HashMap::new(),
            children: HashMap::new(),
            numbered: 0,
            streamed: Streamed::default(),
            message: MessageId::new("0"),
            usage: UsageTable::default(),
            filled: 0,
            context_window: None,
            branches: BTreeSet::new(),
        }
    }

    pub(super) fn telling(&mut self, telling: Telling) {
        self.telling = telling;
    }

    /// Takes in one event and returns what the client is told of it.
    pub(super) fn apply(&mut self, event: &LogEvent) -> Vec<SessionUpdate> {
        self.usage.apply(event);
        match event {
            LogEvent::Agent(event) if event.agent.is_main() => self.of_main(event),
            LogEvent::Agent(event) => self.of_child(event),
            LogEvent::Session { event, .. } => self.of_session(event),
        }
    }

    /// Returns a line of the program's own, set apart from what the model says.
    pub(super) fn notice(&mut self, text: &str) -> SessionUpdate {
        self.next_message();
        let quoted: Vec<String> = sanitize(text).lines().map(|line| format!("> {line}")).collect();
        let told = self.said(format!("{}\n\n", quoted.join("\n")));
        self.next_message();
        told
    }

    /// Returns the id of a call that runs, and the call.
    pub(super) fn running(&self, agent: AgentId, call_id: &str) -> Option<(&ToolCallId, &ToolCall)> {
        let running = self.calls.get(&(agent, call_id.to_owned()))?;
        Some((&running.id, &running.call))
    }

    /// Returns the name of a subagent.
    pub(super) fn name_of(&self, agent: AgentId) -> Option<&str> {
        self.children.get(&agent).map(|child| child.name.as_str())
    }

    /// Returns the folder that an agent works in.
    fn cwd_of(&self, agent: AgentId) -> &Path {
        let worktree = self.children.get(&agent).and_then(|child| child.worktree.as_deref());
        worktree.unwrap_or(&self.cwd)
    }

    /// Returns an id that no call has.
    pub(super) fn next_id(&mut self, what: &str) -> ToolCallId {
        self.numbered += 1;
        ToolCallId::new(format!("{what}-{}", self.numbered))
    }

    fn next_message(&mut self) {
        self.numbered += 1;
        self.message = MessageId::new(self.numbered.to_string());
    }

    fn chunk(&self, text: impl Into<String>) -> ContentChunk {
        let text: String = text.into();
        ContentChunk::new(text.into()).message_id(self.message.clone())
    }

    fn said(&self, text: impl Into<String>) -> SessionUpdate {
        SessionUpdate::AgentMessageChunk(self.chunk(text))
    }

    fn thought(&self, text: &str) -> SessionUpdate {
        SessionUpdate::AgentThoughtChunk(self.chunk(sanitize(text)))
    }

    fn of_session(&mut self, event: &SessionEvent) -> Vec<SessionUpdate> {
        match event {
            SessionEvent::ModelChosen { note, context_window, .. } => {
                self.context_window = *context_window;
                note.iter().map(|note| self.notice(note)).collect()
            }
            SessionEvent::NoModel { reason } => vec![self.notice(reason)],
            SessionEvent::Rewound { messages, files, left } => {
                vec![self.notice(&rewound_words(*messages, files, left))]
            }
            SessionEvent::Worktrees { kept } => {
                let fresh =
                    kept.iter().filter(|kept| kept.agent.is_some() && self.branches.insert(kept.branch.clone()));
                let words: Vec<String> = fresh.map(kept_words).collect();
                words.iter().map(|words| self.notice(words)).collect()
            }
            _ => Vec::new(),
        }
    }

    fn of_main(&mut self, event: &AgentEvent) -> Vec<SessionUpdate> {
        match &event.kind {
            EventKind::UserMessage { text, by: Author::User, .. } if self.telling == Telling::Again => {
                self.next_message();
                vec![SessionUpdate::UserMessageChunk(self.chunk(sanitize(text)))]
            }
            EventKind::Notice { text } => vec![self.notice(text)],
            EventKind::Turn(turn) => self.of_turn(turn),
            EventKind::Tool(tool) => self.of_tool(event, tool),
            EventKind::Ended { .. } => self.used(),
            _ => Vec::new(),
        }
    }

    fn of_turn(&mut self, turn: &TurnEvent) -> Vec<SessionUpdate> {
        match turn {
            TurnEvent::Started { .. } => {
                self.next_message();
                self.streamed = Streamed::default();
                Vec::new()
            }
            TurnEvent::Reading { .. } => Vec::new(),
            TurnEvent::Text { text } => {
                self.streamed.text = true;
                vec![self.said(sanitize(text))]
            }
            TurnEvent::Thinking { text } => {
                self.streamed.thinking = true;
                vec![self.thought(text)]
            }
            TurnEvent::Retrying { reason, .. } => {
                let is_void = self.streamed.text;
                self.streamed = Streamed::default();
                let void = if is_void { "; the answer begins anew" } else { "" };
                vec![self.notice(&format!("The request failed and is sent again{void}: {reason}"))]
            }
            TurnEvent::Ended { message, usage, .. } => {
                self.filled = usage.context();
                self.whole(message)
            }
        }
    }

    /// Returns what was not streamed of a reply.
    fn whole(&mut self, message: &AssistantMessage) -> Vec<SessionUpdate> {
        let mut told = Vec::new();
        for block in &message.content {
            match block {
                Block::Thinking { text, .. } if !self.streamed.thinking && !text.is_empty() => {
                    told.push(self.thought(text));
                }
                Block::Text { text } if !self.streamed.text && !text.is_empty() => told.push(self.said(sanitize(text))),
                _ => {}
            }
        }
        told
    }

    /// Returns the tokens that all agents have used.
    pub(super) fn used_by_all(&self) -> Usage {
        self.usage.total().usage
    }

    /// Says how full the context is, and what all agents have cost.
    fn used(&self) -> Vec<SessionUpdate> {
        let Some(size) = self.context_window.filter(|_| self.telling == Telling::Now) else { return Vec::new() };
        let cost = self.usage.total().cost_usd.map(|amount| Cost::new(amount, "USD"));
        vec![SessionUpdate::UsageUpdate(UsageUpdate::new(self.filled, size).cost(cost))]
    }

    fn of_tool(&mut self, event: &AgentEvent, tool: &ToolEvent) -> Vec<SessionUpdate> {
        let agent = event.agent;
        let key = |call_id: &str| (agent, call_id.to_owned());
        match tool {
            ToolEvent::Started { call, title } => {
                let id = self.next_id("call");
                let title = shown::title_of(self.name_of(agent), &call.name, title);
                let told = ShownCall::new(id.clone(), title)
                    .kind(shown::kind_of(&call.name))
                    .status(ToolCallStatus::InProgress)
                    .locations(shown::locations_of(call, self.cwd_of(agent)))
                    .raw_input(shown::raw_input_of(call));
                self.calls.insert(key(&call.id), RunningCall { id, call: call.clone() });
                vec![SessionUpdate::ToolCall(told)]
            }
            ToolEvent::Changed { call, title, .. } => {
                let fields = ToolCallUpdateFields::new()
                    .title(shown::title_of(self.name_of(agent), &call.name, title))
                    .locations(shown::locations_of(call, self.cwd_of(agent)))
                    .raw_input(shown::raw_input_of(call));
                let Some(running) = self.calls.get_mut(&key(&call.id)) else { return Vec::new() };
                running.call = call.clone();
                vec![updated(&running.id, fields)]
            }
            ToolEvent::Progress { call_id, tail } => {
                let running = self.calls.get(&key(call_id));
                let content = |running: &RunningCall| {
                    updated(&running.id, ToolCallUpdateFields::new().content(vec![shown::block(tail)]))
                };
                running.map(content).into_iter().collect()
            }
            ToolEvent::Refused { title, reason, .. } => {
                vec![self.notice(&format!("Not allowed: {}: {}", sanitize_line(title), sanitize_line(reason)))]
            }
            ToolEvent::Ended { result, view, .. } => {
                let mut told = Vec::new();
                if let (Some(ToolView::Todos { items }), true) = (view, agent.is_main()) {
                    told.push(SessionUpdate::Plan(shown::plan(items)));
                }
                let Some(running) = self.calls.remove(&key(&result.call_id)) else { return told };
                let RunningCall { id, call } = running;
                // What came of a subagent is told by its end, which may come later.
                if self.children.values().any(|child| child.call == id) {
                    return told;
                }
                let status = if result.is_error { ToolCallStatus::Failed } else { ToolCallStatus::Completed };
                let content = shown::content_of(Some(&call), result, view.as_ref());
                told.push(updated(&id, with(content).status(status)));
                told
            }
            ToolEvent::ApprovalRequested { .. } | ToolEvent::ApprovalResolved { .. } | ToolEvent::TakenDown { .. } => {
                Vec::new()
            }
        }
    }

    fn of_child(&mut self, event: &AgentEvent) -> Vec<SessionUpdate> {
        let id = event.agent;
        let mut told = match &event.kind {
            EventKind::Spawned(spawn) => return self.spawned(id, spawn),
            EventKind::Tool(tool) => self.of_tool(event, tool),
            _ => Vec::new(),
        };
        let Some(child) = self.children.get_mut(&id) else { return told };
        if let EventKind::Ended { outcome } = &event.kind {
            told.push(ended(child, outcome));
        } else if child.apply(&event.kind, event.at) {
            let fields = ToolCallUpdateFields::new().status(ToolCallStatus::InProgress);
            told.push(updated(&child.call, fields.content(vec![shown::text(child.words())])));
        }
        told
    }

    fn spawned(&mut self, id: AgentId, spawn: &Spawn) -> Vec<SessionUpdate> {
        let running = self.running(spawn.parent, &spawn.call_id).map(|(id, _)| id.clone());
        let title = shown::title_of(self.name_of(spawn.parent), &spawn.name, &spawn.description);
        let is_known = running.is_some();
        let call = running.unwrap_or_else(|| self.next_id("agent"));
        let child = Child::new(spawn, call.clone());
        let content = vec![shown::text(child.words())];
        self.children.insert(id, child);
        if is_known {
            return vec![updated(&call, ToolCallUpdateFields::new().title(title).content(content))];
        }
        let told =
            ShownCall::new(call, title).kind(ToolKind::Think).status(ToolCallStatus::InProgress).content(content);
        vec![SessionUpdate::ToolCall(told)]
    }
}

fn with(content: Vec<ToolCallContent>) -> ToolCallUpdateFields {
    let fields = ToolCallUpdateFields::new();
    if content.is_empty() { fields } else { fields.content(content) }
}

/// Tells of the end of a subagent: its report is what its call shows from now on.
fn ended(child: &mut Child, outcome: &Outcome) -> SessionUpdate {
    let status = if outcome.status.is_complete() { ToolCallStatus::Completed } else { ToolCallStatus::Failed };
    let content = vec![shown::text(child.end(outcome))];
    updated(&child.call, ToolCallUpdateFields::new().status(status).content(content))
}

pub(super) fn updated(id: &ToolCallId, fields: ToolCallUpdateFields) -> SessionUpdate {
    SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(id.clone(), fields))
}

fn kept_words(kept: &KeptWorktree) -> String {
    format!(
        "{} has changes in a worktree that are not merged: {}, branch {}, {}. Start `belvedere --continue` to see and merge them.",
        sanitize_line(&kept.name),
        kept.size(),
        sanitize_line(&kept.branch),
        sanitize_line(&kept.path.to_string_lossy()),
    )
}
