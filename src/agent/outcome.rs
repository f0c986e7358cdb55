//! What came of a run: how it ended, what was said last, and what it took.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::message::Usage;
use crate::tool::{ChangeKind, FileChange};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopCause {
    User,
    Parent,
    /// Nothing came from model or tools for too long.
    Idle,
    Wall,
    Quit,
    /// A hook wants it to stop.
    Hook,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    pub status: Status,
    /// The agent's last words: its whole final reply, or the last text before a cut.
    pub text: String,
    /// Which of the two that is.
    #[serde(default)]
    pub words: LastWords,
    /// What went wrong, or what cut it short, in one sentence for people.
    pub reason: Option<String>,
    pub turns: u32,
    pub tool_calls: u32,
    pub usage: Usage,
    /// Cost of the whole run in US dollars, where prices are known.
    pub cost_usd: Option<f64>,
    /// How long it took, in milliseconds.
    pub elapsed_ms: u64,
    /// How often each tool really ran: without calls that were refused, or of tools it does not have.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tools_run: BTreeMap<String, u32>,
    /// Files its tools wrote.
    pub files: FileTally,
    /// Why its report may carry instructions to whoever reads it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doubt: Option<String>,
}

impl Outcome {
    pub fn elapsed(&self) -> Duration {
        Duration::from_millis(self.elapsed_ms)
    }

    /// Returns `true` if the agent was stopped from outside or broke, so that its last words are not a report.
    pub fn is_broken_off(&self) -> bool {
        self.words == LastWords::Partial
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LastWords {
    /// It knew that they were.
    #[default]
    Report,
    Partial,
}

/// How a run ended. The names are those of reports and of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    Completed,
    TurnLimit,
    ToolLimit,
    /// It was silent, or ran, for too long.
    TimedOut,
    Budget,
    /// It was asked to report before it was done.
    WrappedUp,
    Cancelled,
    Failed,
    /// It ended without a word.
    Empty,
    /// The program ended before it did.
    Interrupted,
}

impl Status {
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
            Self::Interrupted => "interrupted",
        }
    }

    /// Returns the word for it that people read.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Completed => "done",
            Self::TurnLimit => "turn limit",
            Self::ToolLimit => "tool limit",
            Self::TimedOut => "timed out",
            Self::Budget => "over budget",
            Self::WrappedUp => "wrapped up",
            Self::Cancelled => "stopped",
            Self::Failed => "failed",
            Self::Empty => "no report",
            Self::Interrupted => "interrupted",
        }
    }

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
                self.add(&FileChange { path: path.clone(), kind, versions: None });
            }
        }
    }
}
