//! The limits of a tree of agents, and what is refused because of them, in words the model can act on.

use std::time::Duration;

use crate::agent::Limits;

/// Limits of the whole tree. Defaults are those of the configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeLimits {
    /// Subagents that work at the same time at one depth; the rest wait.
    pub max_parallel: usize,
    /// Subagents spawned while one user message is answered.
    pub max_per_request: u32,
    /// How deep agents may nest; at 1 the main agent's children have no children.
    pub max_depth: u32,
    pub min_task_chars: usize,
    /// Longest report that reaches the parent, in characters.
    pub report_chars: usize,
    /// The most tool calls that a call of `Agent` may ask for; `None` is the number without it.
    pub max_tool_calls_ceiling: Option<u32>,
    pub child: Limits,
}

impl TreeLimits {
    /// Returns the most tool calls that one run may make.
    #[must_use]
    pub fn tool_calls_ceiling(&self) -> Option<u32> {
        self.max_tool_calls_ceiling.or(self.child.max_tool_calls)
    }

    /// Returns how many tool calls a run may make for which so many were asked.
    #[must_use]
    pub fn tool_calls(&self, asked: Option<u32>) -> Option<u32> {
        let wanted = asked.map(|calls| calls.max(1)).or(self.child.max_tool_calls);
        [wanted, self.tool_calls_ceiling()].into_iter().flatten().min()
    }
}

impl Default for TreeLimits {
    fn default() -> Self {
        Self {
            max_parallel: 8,
            max_per_request: 20,
            max_depth: 1,
            min_task_chars: 30,
            report_chars: 8_000,
            max_tool_calls_ceiling: None,
            child: Limits {
                max_turns: Some(50),
                max_tool_calls: Some(100),
                idle_timeout: Some(Duration::from_mins(10)),
                wall_timeout: None,
                result_chars: 50_000,
                auto_compact_percent: 85,
                context_window: None,
            },
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("There is no agent `{wanted}`. Available: {available}.")]
    UnknownType { wanted: String, available: String },
    /// A definition that the lists of the agent above leave out.
    #[error("This agent may not use `{wanted}`. Available: {available}.")]
    ForbiddenType { wanted: String, available: String },
    #[error(
        "The task is too brief ({chars} characters; write at least {least}). Say WHAT to look into, WHERE, and WHAT \
        TO RETURN; \
         the agent sees none of this conversation."
    )]
    TooBrief { chars: usize, least: usize },
    /// Filtering left nothing.
    #[error("`{agent}` would have no tools: {reasons}. Allow a tool that exists, or omit the list.")]
    NoTools {
        agent: String,
        /// Each entry and why it fell away.
        reasons: String,
    },
    #[error("Limit of {limit} subagents per request reached. Use your own tools instead.")]
    TooMany { limit: u32 },
    #[error("Subagents may nest at most {limit} deep. Use your own tools instead.")]
    TooDeep { limit: u32 },
    #[error("Cannot create a worktree: {why}. Omit `isolation`, and let only one agent change each file.")]
    NoWorktrees {
        /// Why, for people and models.
        why: &'static str,
    },
    /// A restriction that another program would not keep.
    #[error("`{agent}` is another program: `{what}` cannot restrict it. Omit `{what}`, or use another agent.")]
    NotKept { agent: String, what: &'static str },
    #[error("There is no launcher `{wanted}` to run an agent with. Available for `isolation`: {known}.")]
    UnknownLauncher { wanted: String, known: String },
    #[error("`{agent}` is another program, whose own file says how it starts: omit `isolation`, or use another agent.")]
    NotLaunched { agent: String },
    #[error("`{agent}` is another program, and skills start none. Call it with Agent instead.")]
    NotForSkills { agent: String },
    #[error("You have no subagent `{wanted}`. You have: {known}.")]
    NoSuchAgent { wanted: String, known: String },
    /// It cannot be resumed, because it has not ended.
    #[error("{name} is still running. Message it with SendMessage, or stop it with TaskStop.")]
    StillWorks { name: String },
    /// It worked in an earlier run of the program, and nobody made it ready.
    #[error("{name} cannot resume: no model is connected. Choose one with /model.")]
    NotReady { name: String },
    /// The model that was asked for cannot be used; the text says why.
    #[error("{0}")]
    UnknownModel(String),
}
