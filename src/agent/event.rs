//! Everything that happens, as data. The log of these events is the session; every view is a fold over it.
//!
//! Owns what happens to an agent, what happens to the session, and their form as lines. Invariant: a line is flat, with
//! `agent`, `at` and `event` in front, however the kinds are grouped here; what happens to the session is written as an
//! event of the main agent.

use std::path::PathBuf;

use jiff::Timestamp;
use serde::{Deserialize, Serialize, Serializer};

use super::author::Author;
use super::context::ContextEvent;
use super::outcome::{Outcome, Status, StopCause};
use super::spawn::Spawn;
use super::worktrees::{KeptWorktree, WorktreeNews};
use crate::definition::CatalogChanges;
use crate::hook::{HookEnd, HookNotice, HookRun};
use crate::mcp::McpFacts;
use crate::message::format::counted;
use crate::message::{
    AgentId, AssistantMessage, BudgetLimit, Effort, MessageId, ToolCall, ToolResult, Usage, reveal_line, sanitize_line,
};
use crate::permission::{ActiveGrant, Answer, ApprovalId, ApprovalRequest, PermissionMode};
use crate::permission::{FolderTrust, Preview, REPORT_QUESTION, RuleNotice};
use crate::provider::StopReason;
use crate::sandbox::SandboxFacts;
use crate::tool::{CommandEvent, FileChange, FileVersions, ToolView};

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum LogEvent {
    Agent(AgentEvent),
    Session {
        at: Timestamp,
        #[serde(flatten)]
        event: SessionEvent,
    },
}

impl Serialize for LogEvent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct SessionLine<'a> {
            agent: AgentId,
            at: Timestamp,
            #[serde(flatten)]
            event: &'a SessionEvent,
        }
        match self {
            Self::Agent(event) => event.serialize(serializer),
            Self::Session { at, event } => SessionLine { agent: AgentId::MAIN, at: *at, event }.serialize(serializer),
        }
    }
}

impl LogEvent {
    /// When it happened, by the wall clock.
    pub fn at(&self) -> Timestamp {
        match self {
            Self::Agent(event) => event.at,
            Self::Session { at, .. } => *at,
        }
    }

    pub fn of_agent(&self) -> Option<&AgentEvent> {
        match self {
            Self::Agent(event) => Some(event),
            Self::Session { .. } => None,
        }
    }

    pub fn of_session(&self) -> Option<&SessionEvent> {
        match self {
            Self::Agent(_) => None,
            Self::Session { event, .. } => Some(event),
        }
    }

    /// Returns `true` if the index of the session holds this event: which agents there are, how each run of them ended, what
    /// was asked for, and which reports may be read.
    pub fn is_landmark(&self) -> bool {
        match self {
            Self::Session { .. } => true,
            Self::Agent(event) => match &event.kind {
                EventKind::UserMessage { by, .. } => event.agent.is_main() && by.is_user(),
                EventKind::Spawned(_)
                | EventKind::Started
                | EventKind::Resumed { .. }
                | EventKind::Moved { .. }
                | EventKind::Ended { .. }
                | EventKind::Worktree { .. } => true,
                EventKind::Tool(event) => event.is_review(),
                _ => false,
            },
        }
    }

    /// Returns `true` if the log is whole without this event: what a later one replaces, and what the next start finds
    /// out anew.
    pub fn is_unkept(&self) -> bool {
        match self {
            Self::Agent(event) => event.kind.is_passing(),
            Self::Session { event, .. } => {
                matches!(event, SessionEvent::Worktrees { .. } | SessionEvent::ServersChanged { .. })
            }
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum SessionEvent {
    /// Agent files have changed, and what they say is in force now.
    AgentsChanged { changes: CatalogChanges },
    /// Skills or commands have changed, and what they say is in force now.
    SkillsChanged { changes: CatalogChanges },
    /// What is allowed in advance has changed; this is all of it.
    GrantsChanged { grants: Vec<ActiveGrant> },
    /// Which rules of the settings hold, at the start and when that has changed.
    RulesChanged { rules: Vec<RuleNotice> },
    /// What the folder brings, and whether the user trusts it.
    FolderTrust { trust: FolderTrust },
    /// Which hooks the settings name, at the start and when that has changed.
    HooksChanged { hooks: Vec<HookNotice> },
    /// What holds for commands in the sandbox, at the start and when it has changed.
    SandboxChanged { facts: SandboxFacts },
    /// How the MCP servers are, at the start and when that has changed; this is all of them.
    ServersChanged { servers: Vec<McpFacts> },
    /// A yes to a plan has changed the permission mode.
    ModeChanged { mode: PermissionMode },
    /// What all agents may use together has changed.
    BudgetChanged { limit: BudgetLimit },
    /// Which worktrees wait for the user has changed; this is all of them.
    Worktrees {
        /// In the order of their agents; those of earlier runs come last.
        kept: Vec<KeptWorktree>,
    },
    /// A model is looked for where the user says that its server is.
    ModelSearch {
        /// The server, as errors call it.
        place: String,
    },
    /// No model can answer the main agent.
    NoModel {
        /// Why, and what to do.
        reason: String,
    },
    /// It is settled who answers the main agent.
    ModelChosen {
        /// The service, such as `anthropic` or `offline`.
        provider: String,
        /// How the service names it; empty in old logs.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        id: String,
        /// What the status line shows.
        display: String,
        /// In tokens, where known.
        context_window: Option<u64>,
        /// One line on how the choice came about, or how to connect a model.
        note: Option<String>,
    },
    /// How hard the main agent's model shall think.
    EffortChosen {
        /// What was asked for; `None` leaves it to the service.
        wish: Option<Effort>,
        /// What the model takes of it, and is told.
        sent: Option<Effort>,
    },
    /// The conversation with the main agent begins anew: what came before belongs to another one.
    Cleared,
    /// The user took back a part of the conversation, or what agents had written to files, or both.
    Rewound {
        /// How many of the user's last messages were taken back, with all that followed them.
        messages: usize,
        /// Files that were put back.
        files: Vec<RewoundFile>,
        /// Files that stayed as they were, each with the reason.
        left: Vec<(String, String)>,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RewoundFile {
    #[serde(serialize_with = "crate::message::serialize_path")]
    pub path: PathBuf,
    /// What it was, and what it is again.
    #[serde(flatten)]
    pub versions: FileVersions,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AgentEvent {
    pub agent: AgentId,
    /// By the wall clock.
    pub at: Timestamp,
    #[serde(flatten)]
    pub kind: EventKind,
}

/// What happens to an agent.
///
/// A subagent's life is `Spawned`, (`Started`, turns, tools …), `Ended`. The main agent is never spawned and has one
/// `Started … Ended` per user message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum EventKind {
    /// A subagent exists; it waits for its turn to start.
    Spawned(Spawn),
    Started,
    /// A user message joined its transcript: the user's, its task, or what others had to say.
    UserMessage {
        /// As it was written.
        text: String,
        #[serde(default, skip_serializing_if = "Author::is_user")]
        by: Author,
        /// Which message of this run of the program it was; the log does not keep that.
        #[serde(skip)]
        id: Option<MessageId>,
    },
    /// A subagent that had ended goes on with its transcript. What follows is another run, up to another `Ended`.
    Resumed {
        /// Number of the run, from 2.
        run: u32,
        #[serde(rename = "ground")]
        run_mode: RunMode,
    },
    Moved {
        #[serde(rename = "ground")]
        run_mode: RunMode,
    },
    /// One turn is left, without tools, to report in.
    LastTurn {
        /// The status that the run will end with.
        why: Status,
    },
    /// The next request waits before it is sent, for the sake of all agents. Emitted again when that changes; with a wait
    /// of 0 and nobody before it, the wait is over.
    Held {
        why: Hold,
        /// Milliseconds until it may be sent, where that is known.
        wait_ms: Option<u64>,
        /// How many requests are to be sent before it.
        ahead: u32,
    },
    /// It is at work with nothing to show for it: a command that prints nothing computes, or the model writes the input
    /// of a call. Emitted every few seconds at most, and only if nothing else is.
    Alive,
    /// Where it works does not answer: the connection may be cut. Any other event says that it does again.
    OutOfTouch,
    /// A stop was asked for and is being carried out.
    Stopping {
        cause: StopCause,
    },
    /// The run is over: nothing of it is left running. Exactly one per run, and nothing after it but `Resumed`, a
    /// `Notice` on why that cannot be, and what happens to its worktree.
    Ended {
        outcome: Outcome,
    },
    /// Something happened to its worktree, which outlives it: this may come after its end.
    Worktree {
        news: WorktreeNews,
    },
    /// A request beside its turns was answered, such as a search of the service's own.
    Aside {
        usage: Usage,
        /// In US dollars, where the price is known.
        cost_usd: Option<f64>,
    },
    /// Something the user should know that changes nothing. Of the main agent also what concerns the whole session.
    Notice {
        /// One line.
        text: String,
    },
    /// The program that does its work keeps a session by this name, with which a later run goes on.
    ExternalSession {
        name: String,
    },
    /// A hook has run for it.
    Hook {
        ran: HookRun,
    },
    #[serde(untagged)]
    Turn(TurnEvent),
    #[serde(untagged)]
    Tool(ToolEvent),
    #[serde(untagged)]
    Context(ContextEvent),
    /// Something happened to a command that goes on by itself: of the main agent, also between its answers.
    #[serde(untagged)]
    Command(CommandEvent),
}

/// What happens in a turn, but for its tools.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum TurnEvent {
    #[serde(rename = "turn_started")]
    Started {
        /// Number of the turn in this run, from 1.
        turn: u32,
    },
    /// A server of the user's own reads the prompt.
    #[serde(rename = "prompt_read")]
    Reading {
        /// Tokens so far; 0 where the server does not say.
        read: u64,
        total: u64,
    },
    /// More text of the turn.
    Text { text: String },
    /// More reasoning of the turn.
    Thinking { text: String },
    /// The request failed and will be sent again; what arrived since `Started` is void.
    Retrying {
        /// Number of the coming attempt, from 2.
        attempt: u32,
        /// Milliseconds until then.
        wait_ms: u64,
        /// Whether the wait is for a rate limit.
        rate_limited: bool,
        reason: String,
    },
    /// The model's reply is whole (or as whole as it will be); it replaces the deltas.
    #[serde(rename = "turn_ended")]
    Ended {
        message: AssistantMessage,
        /// Tokens of this request, attempts that failed included.
        usage: Usage,
        /// In US dollars, where the price is known.
        cost_usd: Option<f64>,
        /// Why the model stopped; `None` if it was cut off.
        stop: Option<StopReason>,
        /// Milliseconds from the request to the first of the reply, where the agent's own model has answered.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        latency_ms: Option<u64>,
    },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum ToolEvent {
    #[serde(rename = "tool_started")]
    Started {
        call: ToolCall,
        /// What a screen shows behind the tool's name.
        title: String,
    },
    #[serde(rename = "tool_progress")]
    Progress {
        call_id: String,
        tail: String,
    },
    ApprovalRequested {
        request: ApprovalRequest,
    },
    ApprovalResolved {
        id: ApprovalId,
        /// `None` if the question was withdrawn.
        answer: Option<Answer>,
        /// Whether the answer to another question allowed this one too.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        by_grant: bool,
    },
    /// It is not allowed, and nobody was asked: the mode, or a rule, decides.
    #[serde(rename = "tool_refused")]
    Refused {
        tool: String,
        /// One line that names the act.
        title: String,
        /// Why, as the model reads it.
        reason: String,
    },
    /// A hook has put another input in the place of the model's: this is what is judged, asked about and run.
    #[serde(rename = "tool_changed")]
    Changed {
        call: ToolCall,
        title: String,
        /// Whether it is no hook, but the program which makes the call that says more of it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        by_program: bool,
    },
    /// What a command has changed in the project is kept, so that it can be taken back.
    #[serde(rename = "command_taken_down")]
    TakenDown {
        call_id: String,
        /// The copy that tells it; none if nothing has changed.
        changes: Option<u32>,
    },
    #[serde(rename = "tool_ended")]
    Ended {
        result: ToolResult,
        /// What a screen shows behind the title.
        summary: String,
        view: Option<ToolView>,
        changes: Vec<FileChange>,
    },
}

impl ToolEvent {
    /// Returns `true` if it tells whether somebody's report may be read.
    fn is_review(&self) -> bool {
        match self {
            Self::ApprovalRequested { request } => matches!(request.preview, Some(Preview::Report { .. })),
            Self::ApprovalResolved { id, .. } => id.call_id.starts_with(REPORT_QUESTION),
            _ => false,
        }
    }
}

impl EventKind {
    /// Returns `true` if the log is whole without this event: what streams, signs of life, and hooks that had nothing to
    /// say.
    pub fn is_passing(&self) -> bool {
        matches!(
            self,
            Self::Turn(TurnEvent::Text { .. } | TurnEvent::Thinking { .. } | TurnEvent::Reading { .. })
                | Self::Tool(ToolEvent::Progress { .. })
                | Self::Command(CommandEvent::Output { .. })
                | Self::Alive
                | Self::OutOfTouch
                | Self::Hook { ran: HookRun { end: HookEnd::Done, .. } }
        )
    }
}

impl From<TurnEvent> for EventKind {
    fn from(event: TurnEvent) -> Self {
        Self::Turn(event)
    }
}

impl From<ContextEvent> for EventKind {
    fn from(event: ContextEvent) -> Self {
        Self::Context(event)
    }
}

impl From<CommandEvent> for EventKind {
    fn from(event: CommandEvent) -> Self {
        Self::Command(event)
    }
}

impl From<ToolEvent> for EventKind {
    fn from(event: ToolEvent) -> Self {
        Self::Tool(event)
    }
}

/// Returns how a call is shown of which more is known now.
pub fn changed_words(title: &str, by_program: bool) -> String {
    format!("{}{}", reveal_line(title), if by_program { "" } else { " (changed by hook)" })
}

/// Says what was rewound, in a line.
pub fn rewound_words(messages: usize, files: &[RewoundFile], left: &[(String, String)]) -> String {
    let counts = [(messages, "message", "undone"), (files.len(), "file", "restored")];
    let done = counts.iter().filter(|(count, ..)| *count > 0);
    let done = done.map(|(count, what, act)| format!("{} {act}", counted(*count, what)));
    let stays = left.iter().map(|(path, why)| format!("{} kept: {}", sanitize_line(path), sanitize_line(why)));
    let words: Vec<String> = done.chain(stays).collect();
    if words.is_empty() { "nothing was rewound".to_owned() } else { format!("rewound: {}", words.join(", ")) }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunMode {
    /// Its parent waits, and gets its report as the result of the call.
    #[default]
    Foreground,
    /// Its parent goes on, and gets its report as a message.
    Background,
}

/// What a request waits for that could be sent otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Hold {
    /// The service limits the rate, and another agent was refused.
    RateLimit,
    /// What requests under way may use up leaves too little of the budget until they are done.
    Budget,
}
