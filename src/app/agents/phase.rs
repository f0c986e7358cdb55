//! The states of an agent as people see them: each has a word and a mood.
//!
//! Owns the difference between what is known ([`Phase`]) and what is shown ([`AgentState`]), which also depends on
//! open questions and on silence. Invariant: an unknown state is shown neutral, never as done.

use std::time::{Duration, Instant};

use super::agent_view::AgentView;
use super::cells::{CellKind, ToolState};
use crate::agent::{Hold, Status};
use crate::message::AgentId;

/// Silence after which a working agent counts as stalled.
pub(in crate::app) const STALLED_AFTER: Duration = Duration::from_mins(1);

/// Letters of `stalled` with the longest wait.
const STALLED_WORD: usize = 11;

/// What an agent is doing, as its events say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// The main agent waits for the user.
    Idle,
    /// Something was heard of it, but not what it is.
    Unknown,
    /// It waits for its turn.
    Queued,
    /// It has begun.
    Starting,
    /// The model works.
    Thinking,
    /// A tool runs.
    Tool,
    /// The service asked to wait, this agent or another one.
    RateLimited {
        /// Until then, where that is known.
        until: Option<Instant>,
        /// How many requests are to be sent before its own.
        ahead: u32,
    },
    /// Its next request waits until others have shown what they leave of the budget.
    AwaitsBudget {
        /// How many requests are to be sent before its own.
        ahead: u32,
    },
    /// The request failed and is sent again.
    Retrying {
        /// Then.
        until: Instant,
    },
    /// It is being stopped.
    Stopping,
    /// It is over.
    Ended(Status),
}

impl Phase {
    pub(in crate::app) fn is_ended(self) -> bool {
        matches!(self, Self::Ended(_))
    }

    /// Returns `true` if nothing is done and nothing waits.
    pub(in crate::app) fn is_at_rest(self) -> bool {
        matches!(self, Self::Idle | Self::Ended(_))
    }

    /// Returns the wait of an agent that was itself told to wait.
    pub(in crate::app) fn limited(until: Instant) -> Self {
        Self::RateLimited { until: Some(until), ahead: 0 }
    }
}

/// What an agent's title says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentState {
    /// Waits for the user.
    Idle,
    /// Nothing is known.
    Unknown,
    /// Waits for its turn.
    Queued,
    /// Has begun.
    Starting,
    /// The model works.
    Thinking,
    /// A tool runs.
    Tool {
        /// Which one.
        name: String,
        /// For how long.
        lasting: Duration,
    },
    /// Waits for the subagents it sent out.
    Waiting,
    /// Waits for permission.
    NeedsApproval,
    /// Waits because the service limits the rate.
    RateLimited {
        /// How much longer, where that is known.
        left: Option<Duration>,
        /// How many requests are to be sent before its own.
        ahead: u32,
    },
    /// Waits until others have shown what they leave of the budget.
    AwaitsBudget {
        /// How many requests are to be sent before its own.
        ahead: u32,
    },
    /// Waits before it tries again.
    Retrying {
        /// How much longer.
        left: Duration,
    },
    /// Has its last turn, to report in.
    LastTurn {
        /// The status that its run will end with.
        why: Status,
    },
    /// Silent for too long.
    Stalled {
        /// For how long.
        silent: Duration,
        /// What it waits for.
        waits_for: Awaited,
    },
    /// Is being stopped.
    Stopping,
    /// Is over.
    Ended(Status),
    /// Is over, and was asked to go on.
    Resuming,
}

/// What an agent waits for that is silent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Awaited {
    /// The model's answer.
    Model,
    /// A tool, by its name.
    Tool(String),
    /// One of its subagents.
    Agent(AgentId),
}

impl Awaited {
    /// Returns the oldest of what the agent waits for: calls in flight, else the model.
    fn of(agent: &AgentView) -> Self {
        let oldest = agent.in_flight().find_map(|(_, kind)| match kind {
            CellKind::Tool(tool) if matches!(tool.state, ToolState::Running { .. }) => {
                Some(Self::Tool(tool.name.clone()))
            }
            CellKind::Subagent { agent } => Some(Self::Agent(*agent)),
            _ => None,
        });
        oldest.unwrap_or(Self::Model)
    }

    /// Returns the word for a title.
    #[must_use]
    pub fn word(&self) -> String {
        match self {
            Self::Model => "model".to_owned(),
            Self::Tool(name) => name.clone(),
            Self::Agent(id) => format!("agent {id}"),
        }
    }

    /// Returns the words for a sentence.
    #[must_use]
    pub fn words(&self) -> String {
        match self {
            Self::Model => "the model's answer".to_owned(),
            Self::Tool(_) | Self::Agent(_) => self.word(),
        }
    }
}

/// How a state is to be felt; themes give it a colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// Nothing to say.
    Neutral,
    /// At work.
    Busy,
    /// Someone should look.
    Attention,
    /// Went well.
    Good,
    /// Went wrong.
    Bad,
}

impl AgentState {
    /// Returns the state of an agent that has `asking` open questions.
    #[must_use]
    pub fn of(agent: &AgentView, asking: usize, now: Instant) -> Self {
        let left = |until: Instant| until.saturating_duration_since(now);
        let silent = now.saturating_duration_since(agent.heard);
        match agent.phase {
            Phase::Ended(status) => Self::Ended(status),
            Phase::Stopping => Self::Stopping,
            _ if asking > 0 => Self::NeedsApproval,
            Phase::Idle => Self::Idle,
            Phase::Unknown => Self::Unknown,
            Phase::Queued => Self::Queued,
            Phase::RateLimited { until, ahead } => Self::RateLimited { left: until.map(left), ahead },
            Phase::AwaitsBudget { ahead } => Self::AwaitsBudget { ahead },
            Phase::Retrying { until } => Self::Retrying { left: left(until) },
            // Its own silence means nothing: what they do, their panes say.
            Phase::Tool if agent.waits_for_agents() => Self::Waiting,
            Phase::Starting | Phase::Thinking | Phase::Tool if silent >= STALLED_AFTER => {
                Self::Stalled { silent, waits_for: Awaited::of(agent) }
            }
            Phase::Starting | Phase::Thinking | Phase::Tool => Self::at_work(agent, now),
        }
    }

    fn at_work(agent: &AgentView, now: Instant) -> Self {
        match (agent.last_turn, agent.tool_in_flight()) {
            (Some(why), _) => Self::LastTurn { why },
            (None, _) if agent.phase == Phase::Starting => Self::Starting,
            (None, Some((name, since))) => {
                Self::Tool { name: name.to_owned(), lasting: now.saturating_duration_since(since) }
            }
            (None, None) => Self::Thinking,
        }
    }

    /// Returns the word, with the wait where there is one.
    #[must_use]
    pub fn word(&self) -> String {
        match self {
            Self::Idle => "idle".to_owned(),
            Self::Unknown => "unknown".to_owned(),
            Self::Queued => "queued".to_owned(),
            Self::Starting => "starting".to_owned(),
            Self::Thinking => "thinking".to_owned(),
            Self::Tool { name, lasting } if lasting.as_secs() >= 2 => format!("{name} {}", short(*lasting)),
            Self::Tool { name, .. } => name.clone(),
            Self::Waiting => "waits".to_owned(),
            Self::NeedsApproval => "needs you".to_owned(),
            Self::RateLimited { .. } => {
                self.limit().map_or_else(|| "limited".to_owned(), |wait| format!("limited {wait}"))
            }
            Self::AwaitsBudget { .. } => "waits for budget".to_owned(),
            Self::Retrying { left } => format!("retry {}", short(*left)),
            Self::Stalled { silent, waits_for } => format!("stalled {} {}", short(*silent), waits_for.word()),
            Self::LastTurn { why: Status::WrappedUp } => "wrapping up".to_owned(),
            Self::LastTurn { .. } => "last turn".to_owned(),
            Self::Stopping => "stopping".to_owned(),
            Self::Resuming => "resuming".to_owned(),
            Self::Ended(status) => match status {
                Status::Completed => "done",
                Status::TurnLimit => "turn limit",
                Status::ToolLimit => "tool limit",
                Status::TimedOut => "timed out",
                Status::Budget => "over budget",
                Status::WrappedUp => "wrapped up",
                Status::Cancelled => "cancelled",
                Status::Failed => "failed",
                Status::Empty => "no report",
            }
            .to_owned(),
        }
    }

    /// Returns the word for a place of `columns` letters: without what is waited for, or the wait, where it does not fit.
    #[must_use]
    pub fn word_within(&self, columns: usize) -> String {
        let word = self.word();
        if word.chars().count() <= columns {
            return word;
        }
        match self {
            Self::Tool { name, .. } => name.clone(),
            Self::RateLimited { .. } => "limited".to_owned(),
            Self::Retrying { .. } => "retry".to_owned(),
            Self::Stalled { silent, .. } if columns >= STALLED_WORD => format!("stalled {}", short(*silent)),
            Self::Stalled { .. } => "stalled".to_owned(),
            Self::Ended(Status::TurnLimit | Status::ToolLimit) => "cut off".to_owned(),
            Self::AwaitsBudget { .. } | Self::Ended(Status::Budget) => "budget".to_owned(),
            Self::Ended(Status::WrappedUp) => "wrapped".to_owned(),
            Self::LastTurn { .. } => "wrapping".to_owned(),
            _ => word,
        }
    }

    /// Returns how many letters the word takes where there is room, if it says more than most: how long it takes does
    /// not depend on the time it tells.
    #[must_use]
    pub fn long_word(&self) -> Option<usize> {
        match self {
            Self::AwaitsBudget { .. } | Self::Ended(Status::Budget) => Some(self.word().chars().count()),
            Self::Stalled { waits_for, .. } => Some(STALLED_WORD + 1 + waits_for.word().chars().count()),
            _ => None,
        }
    }

    /// Returns how much longer the rate limit lasts, such as `3s`, where that is known.
    #[must_use]
    pub fn limit(&self) -> Option<String> {
        match self {
            Self::RateLimited { left, .. } => left.filter(|left| left.as_secs() > 0).map(short),
            _ => None,
        }
    }

    /// Returns how the state is to be felt.
    #[must_use]
    pub fn severity(&self) -> Severity {
        match self {
            Self::Idle | Self::Unknown | Self::Queued | Self::Waiting => Severity::Neutral,
            Self::Starting
            | Self::Thinking
            | Self::Tool { .. }
            | Self::LastTurn { .. }
            | Self::Stopping
            | Self::Resuming => Severity::Busy,
            Self::NeedsApproval
            | Self::RateLimited { .. }
            | Self::AwaitsBudget { .. }
            | Self::Retrying { .. }
            | Self::Stalled { .. } => Severity::Attention,
            Self::Ended(status) => match status {
                Status::Completed => Severity::Good,
                Status::Failed | Status::TimedOut => Severity::Bad,
                // What the user asked for needs no second look.
                Status::Cancelled | Status::Empty | Status::WrappedUp => Severity::Neutral,
                Status::TurnLimit | Status::ToolLimit | Status::Budget => Severity::Attention,
            },
        }
    }
}

/// Spells a wait in at most three letters.
fn short(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..100 => format!("{seconds}s"),
        seconds @ 100..6_000 => format!("{}m", seconds / 60),
        seconds => format!("{}h", seconds / 3_600),
    }
}

impl AgentView {
    /// Takes in that its next request waits, or, with a wait of 0 and nobody before it, that it goes.
    pub(super) fn held(&mut self, why: Hold, wait_ms: Option<u64>, ahead: u32, now: Instant) {
        let phase = match (why, wait_ms, ahead) {
            (_, Some(0), 0) => Phase::Thinking,
            (Hold::Budget, ..) => Phase::AwaitsBudget { ahead },
            (Hold::RateLimit, ..) => {
                Phase::RateLimited { until: wait_ms.map(|wait| now + Duration::from_millis(wait)), ahead }
            }
        };
        self.enter(phase, now);
    }
}
