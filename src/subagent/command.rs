//! What a front end asks of the tree of agents.

use crate::agent::{RunMode, WorktreeAct};
use crate::message::{AgentId, BudgetLimit, Effort, FileDiff, MessageId, UserText};
use crate::permission::{Answer, ApprovalId, BroughtItem, Grant, Holder, PermissionMode};
use crate::sandbox::SandboxChange;
use crate::tool::FileRewind;

/// One request to the tree. Plain data: it is sent, and what comes of it arrives as events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Says something to the main agent. Said while it works, it waits until the present answer is complete.
    Send {
        id: MessageId,
        text: UserText,
    },
    /// Takes back a message that still waits, so that the user can edit it.
    Unsend {
        id: MessageId,
    },
    /// Says something to one subagent, which reads it before its next request. If its end comes first, nobody reads it.
    Message {
        agent: AgentId,
        id: MessageId,
        text: UserText,
    },
    /// Takes back a message that a subagent has not read yet, so that the user can edit it.
    Untell {
        agent: AgentId,
        id: MessageId,
    },
    /// Stops one subagent and what is below it; its siblings go on.
    Stop {
        agent: AgentId,
    },
    /// Stops every agent, the main one too, and every command in the background.
    StopAll,
    /// Runs a command of the user's own; its output comes with the next message.
    RunForUser {
        line: String,
    },
    /// Hands a message to an agent in the background.
    HandOff {
        task: UserText,
    },
    /// Stops a command that goes on by itself.
    StopCommand {
        id: String,
    },
    /// Stops the commands of the user's own.
    StopUserCommands,
    /// Asks one subagent to call no further tools and to report in one last turn.
    WrapUp {
        agent: AgentId,
    },
    /// Resumes an ended subagent with its transcript, in the background.
    Resume {
        agent: AgentId,
        /// The next message; `None` asks it to go on where it stopped.
        message: Option<(MessageId, UserText)>,
    },
    /// Resumes agents that were interrupted, in this order: those below others first, so that reports are waited for. The
    /// main agent goes on where it was, or once it gets the reports of its subagents.
    ResumeAll {
        agents: Vec<AgentId>,
    },
    Move {
        agent: AgentId,
        run_mode: RunMode,
    },
    Interrupt {
        /// What becomes of the subagents that it waits for.
        children: Children,
    },
    Answer {
        id: ApprovalId,
        answer: Answer,
    },
    SetMode(PermissionMode),
    /// Use what the folder brings: all of this, which the user has seen. With nothing, use none of it.
    TrustFolder {
        trusted: Vec<BroughtItem>,
    },
    /// Changes what all agents may use together, for every request from now on.
    SetBudget(BudgetLimit),
    /// Changes the sandbox for commands from now on.
    ChangeSandbox(SandboxChange),
    /// Asks what a command in the sandbox may do with a path, or whether it reaches a host.
    TestSandbox {
        what: String,
    },
    /// Signs the user in to an MCP server that wants it, by their browser.
    SignIn {
        server: String,
    },
    /// Says how the MCP servers are, and starts one anew if it is named.
    Servers {
        restart: Option<String>,
    },
    /// Lets another model answer the main agent from its next message on, or a subagent from its next run on.
    UseModel {
        agent: AgentId,
        /// Its name, as `--model` takes it.
        name: String,
    },
    /// Lets the models think so hard from the next message on; `None` goes back to what files and settings say.
    SetEffort(Option<Effort>),
    /// Lets models that are told a number of tokens think so many; `None` goes back to what the start has said.
    SetThinkingTokens(Option<u32>),
    /// Takes back what an answer allowed, in the project and in the session.
    Forget {
        grant: Grant,
        holder: Holder,
    },
    /// Starts a subagent that drafts a new agent file. The draft is in its events, and in no conversation.
    Draft {
        /// What the agent should do, in the user's words.
        wish: String,
    },
    /// Merges or discards a worktree that waits for the user.
    Worktree {
        branch: String,
        act: WorktreeAct,
    },
    Clear,
    /// Takes back the user's last messages, files, or both, while nothing runs.
    Rewind(RewindRequest),
    /// Puts a summary in the place of the main agent's conversation: at once if it rests, else before its next answer.
    Compact {
        /// What to keep above all, in the user's words.
        wish: Option<String>,
    },
}

/// What becomes of the subagents that an interrupted agent waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Children {
    /// They go on in the background, and report later.
    Keep,
    Stop,
}

/// What is to be taken back, as the user has seen it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RewindRequest {
    /// How many of the user's messages to the main agent, from the last one on, with all that followed; 0 is none.
    pub messages: usize,
    /// The first of them as the screen shows it, so that no other one is meant.
    pub said: String,
    pub files: Vec<FileRewind>,
}

/// A file that can be put back.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedFile {
    /// Its path, as shown.
    pub shown: String,
    pub rewind: FileRewind,
    /// What would change.
    pub diff: FileDiff,
}

/// What would come back with a message.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RewindPlan {
    pub files: Vec<PlannedFile>,
    /// Files that stay as they are, as shown, each with the reason.
    pub stays: Vec<(String, String)>,
    /// Commands that ran since and of which nothing was kept; what they did stays.
    pub commands: usize,
    /// Worktrees that were merged since; what they brought stays.
    pub merges: usize,
    /// What else of commands is not taken back, a line each.
    pub notes: Vec<String>,
}
