//! The states of an agent as people see them, and the one table of them: words, sign, severity, what it counts as, and
//! which span it is in the timeline. Panes, lists, timeline and status line derive from it.
//!
//! Owns the difference between what is known ([`Phase`]) and what is shown ([`AgentState`]), which also depends on
//! open questions and on silence. Invariant: an unknown state is shown neutral, never as done.

use std::time::{Duration, Instant};

use super::agent_view::AgentView;
use super::cells::{CellKind, ToolState};
use crate::agent::{Hold, Status};
use crate::app::timeline::SpanKind;
use crate::message::AgentId;
use crate::message::columns::{fit, width};
use crate::message::format::tokens;

/// Silence after which a working agent counts as stalled.
pub(in crate::app) const STALLED_AFTER: Duration = Duration::from_mins(1);

/// Letters of `stalled` with the longest wait.
const STALLED_WORD: usize = 11;

/// What an agent is doing, as its events say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// The main agent waits for the user.
    Idle,
    /// An event of it arrived, but not what it is.
    Unknown,
    Queued,
    Starting,
    /// A server of the user's own reads the prompt, which can take minutes.
    Reading {
        since: Instant,
        read: u64,
        total: u64,
    },
    Thinking,
    /// A model summarizes its conversation.
    Compacting,
    /// Text of its reply arrives.
    Writing,
    Tool,
    /// The service asked to wait, this agent or another one.
    RateLimited {
        until: Option<Instant>,
        /// How many requests are to be sent before its own.
        ahead: u32,
    },
    /// Its next request waits until others have shown what they leave of the budget.
    AwaitsBudget {
        ahead: u32,
    },
    Retrying {
        until: Instant,
    },
    Stopping,
    Ended(Status),
}

impl Phase {
    pub(in crate::app) fn is_ended(self) -> bool {
        matches!(self, Self::Ended(_))
    }

    pub(in crate::app) fn spins(self) -> bool {
        self.is_work() || self == Self::Stopping || matches!(self, Self::Reading { .. })
    }

    /// Returns `true` if the model or a tool is at it.
    pub(in crate::app) fn is_work(self) -> bool {
        matches!(self, Self::Starting | Self::Thinking | Self::Compacting | Self::Writing | Self::Tool)
    }

    /// Returns `true` if its word holds a time that passes.
    pub(in crate::app) fn counts_down(self) -> bool {
        matches!(self, Self::RateLimited { .. } | Self::Retrying { .. })
    }

    /// Returns `true` if nothing is done and nothing waits.
    pub(in crate::app) fn is_at_rest(self) -> bool {
        matches!(self, Self::Idle | Self::Ended(_))
    }

    /// Returns the wait of an agent that itself has to wait.
    pub(in crate::app) fn limited(until: Instant) -> Self {
        Self::RateLimited { until: Some(until), ahead: 0 }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentState {
    Idle,
    Unknown,
    Queued,
    Starting,
    /// A server of the user's own reads the prompt.
    Reading {
        read: u64,
        total: u64,
        lasting: Duration,
    },
    Thinking,
    /// A model summarizes its conversation, which goes on with the summary.
    Compacting,
    Writing {
        /// Whether it is its report.
        report: bool,
    },
    Tool {
        name: String,
        /// What it works on, in a word or a line: a file, a command.
        object: String,
        lasting: Duration,
    },
    /// Waits for the subagents it sent out.
    Waiting,
    NeedsApproval {
        /// The tool that may not run yet; empty if it is not known.
        tool: String,
    },
    RateLimited {
        left: Option<Duration>,
        ahead: u32,
    },
    AwaitsBudget {
        ahead: u32,
    },
    Retrying {
        left: Duration,
    },
    LastTurn {
        /// The status that its run will end with.
        why: Status,
    },
    Stalled {
        silent: Duration,
        waits_for: Awaited,
    },
    Stopping,
    Ended(Status),
    /// Is over, and was asked to go on.
    Resuming,
}

/// What an agent waits for that is silent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Awaited {
    Model,
    Tool(String),
    Agent(AgentId),
    /// The place where it works.
    Place,
}

impl Awaited {
    /// Returns the oldest of what the agent waits for: calls in flight, else the model.
    fn of(agent: &AgentView) -> Self {
        if agent.is_out_of_touch {
            return Self::Place;
        }
        let oldest = agent.in_flight().find_map(|(_, kind)| match kind {
            CellKind::Tool(tool) if matches!(tool.state, ToolState::Running { .. }) => {
                Some(Self::Tool(tool.name.clone()))
            }
            CellKind::Subagent { agent, .. } => Some(Self::Agent(*agent)),
            _ => None,
        });
        oldest.unwrap_or(Self::Model)
    }

    pub fn word(&self) -> String {
        match self {
            Self::Model => "model".to_owned(),
            Self::Tool(name) => name.clone(),
            Self::Agent(id) => format!("agent {id}"),
            Self::Place => "no answer from there".to_owned(),
        }
    }

    /// Returns the words for a sentence.
    pub fn words(&self) -> String {
        match self {
            Self::Model => "the model's answer".to_owned(),
            Self::Place => "an answer from there".to_owned(),
            Self::Tool(_) | Self::Agent(_) => self.word(),
        }
    }
}

/// How a state is to be felt; themes give it a colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    Neutral,
    Busy,
    Attention,
    Good,
    Bad,
}

/// The sign before a state's word; glyphs draw it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StateSign {
    Spinner,
    Neutral,
    Queued,
    Attention,
    Stopped,
    Done,
    Failed,
}

/// What a state counts as, and how soon the user should know of it: what matters most first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum StateGroup {
    NeedsYou,
    RateLimited,
    /// It waits for the budget, or before another attempt.
    HeldUp,
    Stalled,
    Working,
    /// It waits for others.
    Resting,
    Queued,
    Failed,
    Stopped,
    Done,
}

impl StateGroup {
    /// Every group, in the order in which they are counted on the screen.
    pub const COUNTED: [Self; 9] = [
        Self::Working,
        Self::NeedsYou,
        Self::RateLimited,
        Self::HeldUp,
        Self::Stalled,
        Self::Queued,
        Self::Done,
        Self::Failed,
        Self::Stopped,
    ];

    /// Returns the word behind a count, and how it is to be felt.
    #[must_use]
    pub fn counted(self) -> (&'static str, Severity) {
        match self {
            Self::Working | Self::Resting => ("running", Severity::Busy),
            Self::NeedsYou => ("waiting for you", Severity::Attention),
            Self::RateLimited => ("rate limited", Severity::Attention),
            Self::HeldUp => ("waiting", Severity::Attention),
            Self::Stalled => ("stalled", Severity::Attention),
            Self::Queued => ("queued", Severity::Neutral),
            Self::Done => ("done", Severity::Good),
            Self::Failed => ("failed", Severity::Bad),
            Self::Stopped => ("stopped", Severity::Neutral),
        }
    }
}

/// What is said alike of a state, whatever its times and names are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StateRow {
    pub word: &'static str,
    /// The word where there is little room.
    pub short: &'static str,
    pub sign: StateSign,
    pub severity: Severity,
    pub group: StateGroup,
    /// What it is in the timeline; `None` while nothing is done.
    pub span: Option<SpanKind>,
}

impl AgentState {
    /// Returns the row of a state: the one table that every view of states derives from.
    pub fn row(&self) -> StateRow {
        use Severity::{Attention, Bad, Busy, Good, Neutral};
        use StateGroup::{Done, Failed, HeldUp, NeedsYou, Queued, RateLimited, Resting, Stalled, Stopped, Working};
        use StateSign as Sign;
        let row = |word, short, sign, severity, group, span| StateRow { word, short, sign, severity, group, span };
        let work = |word, span| row(word, word, Sign::Spinner, Busy, Working, Some(span));
        let wait = |word, short, group, span| row(word, short, Sign::Attention, Attention, group, Some(span));
        match self {
            Self::Idle => row("idle", "idle", Sign::Neutral, Neutral, Resting, None),
            Self::Unknown => row("unknown", "unknown", Sign::Neutral, Neutral, Working, Some(SpanKind::Unknown)),
            Self::Queued => row("queued", "queued", Sign::Queued, Neutral, Queued, Some(SpanKind::Queued)),
            Self::Starting => work("starting", SpanKind::Thinking),
            Self::Reading { .. } => work("reading", SpanKind::Thinking),
            Self::Thinking => work("thinking", SpanKind::Thinking),
            Self::Compacting => work("compacting", SpanKind::Thinking),
            Self::Writing { .. } => work("writing", SpanKind::Writing),
            Self::Tool { .. } => work("tool", SpanKind::Tool),
            Self::LastTurn { why: Status::WrappedUp } => {
                StateRow { short: "wrapping", ..work("wrapping up", SpanKind::Thinking) }
            }
            Self::LastTurn { .. } => StateRow { short: "wrapping", ..work("last turn", SpanKind::Thinking) },
            Self::Waiting => {
                row("waiting for agents", "waiting", Sign::Neutral, Neutral, Resting, Some(SpanKind::Agents))
            }
            Self::NeedsApproval { .. } => wait("waiting for you", "for you", NeedsYou, SpanKind::Approval),
            Self::RateLimited { .. } => wait("rate limited", "limited", RateLimited, SpanKind::RateLimited),
            Self::AwaitsBudget { .. } => wait("waiting for budget", "budget", HeldUp, SpanKind::Budget),
            Self::Retrying { .. } => wait("retry", "retry", HeldUp, SpanKind::Retrying),
            Self::Stalled { .. } => wait("stalled", "stalled", Stalled, SpanKind::Stalled),
            Self::Stopping => row("stopping", "stopping", Sign::Stopped, Busy, Working, Some(SpanKind::Stopping)),
            Self::Resuming => row("resuming", "resuming", Sign::Queued, Busy, Working, None),
            Self::Ended(status) => {
                let end = |short, sign, severity, group| row(status.word(), short, sign, severity, group, None);
                match status {
                    Status::Completed => end("done", Sign::Done, Good, Done),
                    Status::Failed => end("failed", Sign::Failed, Bad, Failed),
                    Status::TimedOut => end("timed out", Sign::Failed, Bad, Failed),
                    Status::Empty => end("no report", Sign::Neutral, Neutral, Failed),
                    // What the user asked for needs no second look.
                    Status::Cancelled => end("stopped", Sign::Stopped, Neutral, Stopped),
                    Status::Interrupted => end("interrupted", Sign::Stopped, Attention, Stopped),
                    Status::WrappedUp => end("wrapped", Sign::Done, Good, Done),
                    Status::TurnLimit | Status::ToolLimit => end("cut off", Sign::Stopped, Attention, Stopped),
                    Status::Budget => end("budget", Sign::Stopped, Attention, Stopped),
                }
            }
        }
    }
}

impl AgentState {
    /// Returns the state of an agent that has `asking` open questions.
    #[must_use]
    pub fn of(agent: &AgentView, asking: usize, now: Instant) -> Self {
        let silent = now.saturating_duration_since(agent.last_event);
        let state = Self::but_for_silence(agent, asking, now);
        // Its own silence means nothing while it waits for others: what they do, their panes say.
        let waits = matches!(state, Self::Waiting | Self::NeedsApproval { .. });
        if agent.phase.is_work() && (silent >= STALLED_AFTER || agent.is_out_of_touch) && !waits {
            return Self::Stalled { silent, waits_for: Awaited::of(agent) };
        }
        state
    }

    /// Returns the state of an agent as if it had just sent an event.
    pub(in crate::app) fn but_for_silence(agent: &AgentView, asking: usize, now: Instant) -> Self {
        let left = |until: Instant| until.saturating_duration_since(now);
        match agent.phase {
            Phase::Ended(status) => Self::Ended(status),
            Phase::Stopping => Self::Stopping,
            _ if asking > 0 => Self::NeedsApproval { tool: agent.asking_tool().unwrap_or_default().to_owned() },
            Phase::Idle => Self::Idle,
            Phase::Unknown => Self::Unknown,
            Phase::Queued => Self::Queued,
            Phase::RateLimited { until, ahead } => Self::RateLimited { left: until.map(left), ahead },
            Phase::AwaitsBudget { ahead } => Self::AwaitsBudget { ahead },
            Phase::Retrying { until } => Self::Retrying { left: left(until) },
            Phase::Tool if agent.waits_for_agents() => Self::Waiting,
            Phase::Compacting => Self::Compacting,
            Phase::Reading { since, read, total } => {
                Self::Reading { read, total, lasting: now.saturating_duration_since(since) }
            }
            Phase::Starting | Phase::Thinking | Phase::Writing | Phase::Tool => Self::at_work(agent, now),
        }
    }

    fn at_work(agent: &AgentView, now: Instant) -> Self {
        match (agent.last_turn, agent.tool_in_flight()) {
            (Some(why), _) => Self::LastTurn { why },
            (None, _) if agent.phase == Phase::Starting => Self::Starting,
            (None, Some((tool, since))) => Self::Tool {
                name: tool.name.clone(),
                object: object_of(&tool.title).to_owned(),
                lasting: now.saturating_duration_since(since),
            },
            (None, None) if agent.phase == Phase::Writing => Self::Writing { report: agent.is_reporting() },
            (None, None) => Self::Thinking,
        }
    }

    /// Returns the word, with the wait where there is one.
    pub fn word(&self) -> String {
        match self {
            Self::Tool { name, object, lasting } => joined(&[name, object, &after_a_while(*lasting)]),
            // What takes no time needs no word of its own.
            Self::Reading { lasting, .. } if *lasting < NOT_WORTH_A_TIME => Self::Thinking.word(),
            Self::Reading { read: 0, total, lasting } => {
                joined(&["reading", &tokens(*total), "tokens", &after_a_while(*lasting)])
            }
            Self::Reading { read, total, .. } => format!("reading {}%", read.saturating_mul(100) / (*total).max(1)),
            Self::Writing { report: true } => "writing report".to_owned(),
            Self::NeedsApproval { tool } if tool == "AskUserQuestion" => "waiting for your answer".to_owned(),
            Self::NeedsApproval { tool } if tool == "ExitPlanMode" => "approve the plan?".to_owned(),
            Self::NeedsApproval { tool } if !tool.is_empty() => format!("allow {tool}?"),
            Self::RateLimited { .. } => joined(&["rate limited", &self.limit().unwrap_or_default()]),
            Self::Retrying { left } => format!("retrying in {}", short(*left)),
            Self::Stalled { silent, waits_for } => format!("stalled {} {}", short(*silent), waits_for.word()),
            _ => self.row().word.to_owned(),
        }
    }

    /// Returns the word for a place of `columns` letters: without what is waited for, or the wait, where it does not fit.
    pub fn word_within(&self, columns: usize) -> String {
        let word = self.word();
        if width(&word) <= columns {
            return word;
        }
        match self {
            Self::Tool { name, object, lasting } => {
                let time = after_a_while(*lasting);
                let taken = width(name) + width(&time) + usize::from(!time.is_empty()) + 1;
                match columns.checked_sub(taken).filter(|left| *left >= SHORTEST_OBJECT) {
                    Some(left) => joined(&[name, &fit(object, left), &time]),
                    None => Some(joined(&[name, &time])).filter(|word| width(word) <= columns).unwrap_or(name.clone()),
                }
            }
            Self::RateLimited { .. } => {
                let wait = joined(&["limited", &self.limit().unwrap_or_default()]);
                if width(&wait) <= columns { wait } else { self.row().short.to_owned() }
            }
            Self::Retrying { left } if columns >= 9 => format!("retry {}", short(*left)),
            Self::NeedsApproval { tool } if !tool.is_empty() && width(tool) < columns => format!("{tool}?"),
            Self::Stalled { silent, .. } if columns >= STALLED_WORD => format!("stalled {}", short(*silent)),
            _ => self.row().short.to_owned(),
        }
    }

    /// Returns how much longer the rate limit lasts, such as `3s`, where that is known.
    pub fn limit(&self) -> Option<String> {
        match self {
            Self::RateLimited { left, .. } => left.filter(|left| left.as_secs() > 0).map(short),
            _ => None,
        }
    }
}

/// Columns below which what a tool works on is left out.
const SHORTEST_OBJECT: usize = 4;
/// A call that takes less says nothing of its time.
const NOT_WORTH_A_TIME: Duration = Duration::from_secs(2);

/// Returns what a call works on, from its title: the file of a path, else the title.
fn object_of(title: &str) -> &str {
    let is_path = !title.contains(char::is_whitespace) && !title.contains("://");
    match title.rsplit_once('/') {
        Some((_, file)) if is_path && !file.is_empty() => file,
        _ => title,
    }
}

fn after_a_while(lasting: Duration) -> String {
    if lasting < NOT_WORTH_A_TIME { String::new() } else { short(lasting) }
}

fn joined(words: &[&str]) -> String {
    words.iter().copied().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
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
    /// Takes in how far a server has read the prompt.
    pub(super) fn reading(&mut self, read: u64, total: u64, now: Instant) {
        let since = if let Phase::Reading { since, .. } = self.phase { since } else { now };
        self.enter(Phase::Reading { since, read: read.min(total), total }, now);
    }

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
