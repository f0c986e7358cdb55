//! Everything that happens, as data. The log of these events is the session; every view is a fold over it.

use std::path::PathBuf;
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::worktrees::{KeptWorktree, WorktreeNews};
use crate::definition::CatalogChanges;
use crate::message::{AgentId, AssistantMessage, BudgetLimit, ToolCall, ToolResult, Usage};
use crate::permission::{ActiveGrant, Answer, ApprovalId, ApprovalRequest, PermissionMode};
use crate::provider::StopReason;
use crate::tool::{ChangeKind, FileChange, ToolView};

/// One thing that happened to one agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AgentEvent {
    /// Whom it happened to.
    pub agent: AgentId,
    /// When, by the wall clock.
    pub at: Timestamp,
    /// What.
    #[serde(flatten)]
    pub kind: EventKind,
}

/// What happened.
///
/// A subagent's life is `Spawned`, (`Started`, turns, tools …), `Ended`. The main agent is never spawned and has one
/// `Started … Ended` per user message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum EventKind {
    /// A subagent exists; it waits for its turn to start.
    Spawned(Spawn),
    /// It begins to work.
    Started,
    /// A user message joined its transcript: the user's, its task, or what others had to say.
    UserMessage {
        /// The text, as it was written.
        text: String,
        /// Who wrote it.
        #[serde(default, skip_serializing_if = "Author::is_user")]
        by: Author,
    },
    /// A subagent that had ended goes on with its transcript. What follows is another run, up to another `Ended`.
    Resumed {
        /// Number of the run, from 2.
        run: u32,
        /// Whether its parent waits for it.
        ground: RunMode,
    },
    /// Whether its parent waits for it has changed.
    Moved {
        /// What holds from now on.
        ground: RunMode,
    },
    /// One turn is left, without tools, to report in.
    LastTurn {
        /// The status that the run will end with.
        why: Status,
    },
    /// The next request waits before it is sent, for the sake of all agents. Told again when that changes; with a wait of
    /// 0 and nobody before it, the wait is over.
    Held {
        /// What for.
        why: Hold,
        /// Milliseconds until it may be sent, where that is known.
        wait_ms: Option<u64>,
        /// How many requests are to be sent before it.
        ahead: u32,
    },
    /// A request goes to the model.
    TurnStarted {
        /// Number of the turn in this run, from 1.
        turn: u32,
    },
    /// More text of the current turn.
    Text {
        /// What to append.
        text: String,
    },
    /// More reasoning of the current turn.
    Thinking {
        /// What to append.
        text: String,
    },
    /// The request failed and will be sent again; what arrived since `TurnStarted` is void.
    Retrying {
        /// Number of the coming attempt, from 2.
        attempt: u32,
        /// Milliseconds until then.
        wait_ms: u64,
        /// Whether the wait is for a rate limit.
        rate_limited: bool,
        /// Why.
        reason: String,
    },
    /// The model's reply is whole (or as whole as it will be); it replaces the deltas.
    TurnEnded {
        /// The reply.
        message: AssistantMessage,
        /// Tokens of this request, attempts that failed included.
        usage: Usage,
        /// Cost of this request in US dollars, where the price is known.
        cost_usd: Option<f64>,
        /// Why the model stopped; `None` if it was cut off.
        stop: Option<StopReason>,
    },
    /// A tool runs.
    ToolStarted {
        /// The call.
        call: ToolCall,
        /// What a screen shows behind the tool's name.
        title: String,
    },
    /// A running tool shows the tail of its output.
    ToolProgress {
        /// The call.
        call_id: String,
        /// The latest lines.
        tail: String,
    },
    /// It is at work with nothing to show for it: a command that prints nothing computes, or the model writes the input
    /// of a call. Told every few seconds at most, and only if nothing else is.
    Alive,
    /// A tool has ended, in whatever way.
    ToolEnded {
        /// What the model reads.
        result: ToolResult,
        /// What a screen shows behind the title.
        summary: String,
        /// More for the screen.
        view: Option<ToolView>,
        /// Files the call created or changed.
        changes: Vec<FileChange>,
    },
    /// A tool call waits for the user.
    ApprovalRequested {
        /// The question.
        request: ApprovalRequest,
    },
    /// The wait is over.
    ApprovalResolved {
        /// Which question.
        id: ApprovalId,
        /// The answer; `None` if the question was withdrawn.
        answer: Option<Answer>,
        /// Whether the answer to another question allowed this one too.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        by_grant: bool,
    },
    /// A tool call is not allowed, and nobody was asked: the mode, or a rule, decides.
    ToolRefused {
        /// The tool.
        tool: String,
        /// One line that names the act.
        title: String,
        /// Why, as the model reads it.
        reason: String,
    },
    /// A stop was asked for and is being carried out.
    Stopping {
        /// Why.
        cause: StopCause,
    },
    /// Agent files have changed, and what they say is in force now.
    AgentsChanged {
        /// What is new.
        changes: CatalogChanges,
    },
    /// The run is over: nothing of it is left running. Exactly one per run, and nothing after it but `Resumed`, a
    /// `Notice` on why that cannot be, and what happens to its worktree.
    Ended {
        /// What came of it.
        outcome: Outcome,
    },
    /// What is allowed in advance has changed; this is all of it.
    GrantsChanged {
        /// Every grant in force.
        grants: Vec<ActiveGrant>,
    },
    /// What all agents may use together has changed.
    BudgetChanged {
        /// The limits in force.
        limit: BudgetLimit,
    },
    /// Something happened to its worktree, which outlives it: this may come after its end.
    Worktree {
        /// What.
        news: WorktreeNews,
    },
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
        /// What the status line shows.
        display: String,
        /// Size of the context window in tokens, where known.
        context_window: Option<u64>,
        /// One line on how the choice came about, or how to connect a model.
        note: Option<String>,
    },
    /// The conversation with the main agent begins anew: what came before belongs to another one.
    Cleared,
    /// Something the user should know that changes nothing.
    Notice {
        /// One line.
        text: String,
    },
}

impl EventKind {
    /// Returns `true` if a later event of the same agent makes this one needless: what streams, and signs of life.
    #[must_use]
    pub fn is_passing(&self) -> bool {
        matches!(self, Self::Text { .. } | Self::Thinking { .. } | Self::ToolProgress { .. } | Self::Alive)
    }

    /// Returns `true` if the log is whole without this event: what passes, and what the next start finds out anew.
    #[must_use]
    pub fn is_unkept(&self) -> bool {
        self.is_passing() || matches!(self, Self::Worktrees { .. })
    }
}

/// What a subagent was created with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Spawn {
    /// Who asked for it.
    pub parent: AgentId,
    /// The parent's tool call.
    pub call_id: String,
    /// Its name, such as `explore-1`.
    pub name: String,
    /// Name of its definition, such as `explore`.
    pub agent_type: String,
    /// Colour of its definition: a name or `#rrggbb`.
    pub color: Option<String>,
    /// Three to five words: the pane's title.
    pub description: String,
    /// The whole task, context included.
    pub prompt: String,
    /// The model's name as shown.
    pub model: String,
    /// Names of its tools.
    pub tools: Vec<String>,
    /// How far it may go.
    #[serde(default)]
    pub bounds: Bounds,
    /// Whether its parent waits for it.
    #[serde(default)]
    pub ground: RunMode,
}

/// Who wrote a message that joined a transcript.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Author {
    /// The user; of a subagent's first message, whoever sent it out.
    #[default]
    User,
    /// The agent above.
    Parent,
    /// This program, such as at a limit.
    Program,
    /// The subagents whose reports these are.
    Subagents(Vec<AgentId>),
}

impl Author {
    fn is_user(&self) -> bool {
        *self == Self::User
    }
}

/// Whether an agent's parent waits for it.
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
    /// The service limits the rate, and another agent has heard of it.
    RateLimit,
    /// What requests under way may use up leaves too little of the budget until they are done.
    Budget,
}

/// How far a subagent may go. `None` means no limit, or none that is known.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bounds {
    /// Model calls.
    pub max_turns: Option<u32>,
    /// Tool calls.
    pub max_tool_calls: Option<u32>,
    /// Tokens that its model's context holds.
    pub context_window: Option<u64>,
    /// The mode it works in where the session's gives it more leeway.
    pub mode: Option<PermissionMode>,
    /// What single uses of its tools are held against, such as `Bash(npm test:*)` or `not Bash(rm:*)`.
    pub scopes: Vec<String>,
}

/// Why a stop was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopCause {
    /// The user stopped this agent.
    User,
    /// The agent above it was stopped.
    Parent,
    /// Nothing came from model or tools for too long.
    Idle,
    /// The run took too long.
    Wall,
    /// The program quits.
    Quit,
}

/// What came of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// How it ended.
    pub status: Status,
    /// The agent's last words: its whole final reply, or the last text before a cut.
    pub text: String,
    /// Which of the two that is.
    #[serde(default)]
    pub words: LastWords,
    /// What went wrong, or what cut it short, in one sentence for people.
    pub reason: Option<String>,
    /// Model calls made.
    pub turns: u32,
    /// Tool calls made.
    pub tool_calls: u32,
    /// Tokens of the whole run.
    pub usage: Usage,
    /// Cost of the whole run in US dollars, where prices are known.
    pub cost_usd: Option<f64>,
    /// How long it took, in milliseconds.
    pub elapsed_ms: u64,
    /// Files its tools wrote.
    pub files: FileTally,
}

impl Outcome {
    /// Returns how long the run took.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        Duration::from_millis(self.elapsed_ms)
    }

    /// Returns `true` if the agent was stopped from outside or broke, so that its last words are not a report.
    #[must_use]
    pub fn is_broken_off(&self) -> bool {
        self.words == LastWords::Partial
    }
}

/// What an agent's last words are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LastWords {
    /// It knew that they were.
    #[default]
    Report,
    /// It was cut off.
    Partial,
}

/// How a run ended. The names are those of reports and of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// It said all it had to say.
    Completed,
    /// It reached its number of turns.
    TurnLimit,
    /// It reached its number of tool calls.
    ToolLimit,
    /// It was silent, or ran, for too long.
    TimedOut,
    /// The tree's budget was used up.
    Budget,
    /// It was asked to report before it was done.
    WrappedUp,
    /// Someone stopped it.
    Cancelled,
    /// It could not go on.
    Failed,
    /// It ended without a word.
    Empty,
}

impl Status {
    /// Returns the name used in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::TurnLimit => "turn_limit",
            Self::ToolLimit => "tool_limit",
            Self::TimedOut => "timed_out",
            Self::Budget => "budget",
            Self::WrappedUp => "wrapped_up",
            Self::Cancelled => "cancelled",
            Self::Failed => "failed",
            Self::Empty => "empty",
        }
    }

    /// Returns `true` if the agent said all it had to say.
    #[must_use]
    pub fn is_complete(self) -> bool {
        self == Self::Completed
    }
}

/// The files that a run wrote, each named once.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileTally {
    /// Files that did not exist before the run.
    #[serde(serialize_with = "crate::message::serialize_paths")]
    pub created: Vec<PathBuf>,
    /// Files that did.
    #[serde(serialize_with = "crate::message::serialize_paths")]
    pub modified: Vec<PathBuf>,
}

impl FileTally {
    /// Counts a change. A file created in this run stays created however often it is changed.
    pub fn add(&mut self, change: &FileChange) {
        if self.created.contains(&change.path) || self.modified.contains(&change.path) {
            return;
        }
        match change.kind {
            ChangeKind::Created => self.created.push(change.path.clone()),
            ChangeKind::Modified => self.modified.push(change.path.clone()),
        }
    }

    /// Counts all changes of another run.
    pub fn merge(&mut self, other: &Self) {
        for (paths, kind) in [(&other.created, ChangeKind::Created), (&other.modified, ChangeKind::Modified)] {
            for path in paths {
                self.add(&FileChange { path: path.clone(), kind });
            }
        }
    }
}
