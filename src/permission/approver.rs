//! The question put to the user, and who puts it.

use std::borrow::Cow;
use std::sync::atomic::{AtomicU64, Ordering};

use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Access, AccessKind, Grant, QuestionAnswer, UserQuestion};
use crate::message::{AgentId, FileDiff, reveal};

/// What stands in the place of a call's id in a question about a report, before the number of the subagent.
pub const REPORT_QUESTION: &str = "report-of-";

/// Identity of a question. Ids of calls come from a service, which may use one twice; the number is never used twice.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ApprovalId {
    pub agent: AgentId,
    pub call_id: String,
    #[serde(default)]
    pub number: u64,
}

impl ApprovalId {
    #[must_use]
    pub fn new(agent: AgentId, call_id: impl Into<String>) -> Self {
        static ASKED: AtomicU64 = AtomicU64::new(1);
        Self { agent, call_id: call_id.into(), number: ASKED.fetch_add(1, Ordering::Relaxed) }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ApprovalRequest {
    pub id: ApprovalId,
    pub access: Access,
    /// One line that names the act, such as the command or the path relative to the project.
    pub title: String,
    /// More to look at before answering.
    pub preview: Option<Preview>,
    /// What an answer for the session or the project would allow.
    pub grant: Option<Grant>,
    /// Why it is asked, for people: the mode in force and what it lets pass only with a yes.
    #[serde(default)]
    pub reason: String,
}

impl ApprovalRequest {
    /// Returns what would be done, with nothing left out and nothing hidden: the whole command, or else the title.
    pub fn act(&self) -> Cow<'_, str> {
        match &self.access.kind {
            AccessKind::Execute { command, .. } | AccessKind::Reach { command, .. } => reveal(command),
            AccessKind::Start { program, .. } => reveal(program),
            AccessKind::Search { query } => reveal(query),
            _ => reveal(&self.title),
        }
    }

    /// Returns the reason if a rule of the settings asks: no other rule is of use then.
    pub fn rule(&self) -> Option<&str> {
        Some(self.reason.as_str()).filter(|reason| reason.starts_with("rule: "))
    }

    /// Returns `true` if this is about a report, which is sent or withheld.
    pub fn is_of_report(&self) -> bool {
        matches!(self.preview, Some(Preview::Report { .. }))
    }

    /// Returns `true` if this is about a plan, which is approved or worked on.
    pub fn is_of_plan(&self) -> bool {
        matches!(self.preview, Some(Preview::Plan { .. }))
    }

    /// Returns the questions that this asks, if it does not ask for a permission.
    pub fn questions(&self) -> Option<&[UserQuestion]> {
        match &self.preview {
            Some(Preview::Questions { questions }) => Some(questions),
            _ => None,
        }
    }

    pub fn is_shown_whole(&self) -> bool {
        self.preview.as_ref().is_none_or(|preview| preview.omitted() == 0)
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Preview {
    Diff(FileDiff),
    /// The model's own words on what the command is for, or why it is asked anew.
    Note {
        text: String,
    },
    /// What a subagent says to the agent that asks to read it.
    Report {
        text: String,
    },
    /// What the main agent will do once the user says yes, Markdown.
    Plan {
        text: String,
    },
    /// What the main agent wants to know.
    Questions {
        questions: Vec<UserQuestion>,
    },
}

impl Preview {
    pub fn omitted(&self) -> usize {
        match self {
            Self::Diff(diff) => diff.omitted,
            Self::Note { .. } | Self::Report { .. } | Self::Plan { .. } | Self::Questions { .. } => 0,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum Answer {
    Once,
    /// Yes, and everything the offered grant covers until the session ends.
    Always,
    /// As `Always`, and for every agent, not only for those of the kind that asked.
    Everyone,
    /// Yes, and everything the offered grant covers in this project, also in later sessions.
    Project,
    /// Yes, with this text in the place of the one that was shown.
    Edited {
        text: String,
    },
    /// Yes to the call with this input in the place of its own, which is judged anew.
    Changed {
        input: Map<String, Value>,
    },
    /// Yes to a plan, with this text in its place if the user has edited it.
    Plan {
        /// Whether files of the project may be edited from now on.
        accepts_edits: bool,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
    },
    /// What was chosen, for each question in its order.
    Choices {
        answers: Vec<QuestionAnswer>,
    },
    No {
        comment: Option<String>,
    },
    /// No, for nobody is there to answer; the advice is for the model.
    Nobody {
        advice: String,
    },
}

impl Answer {
    #[must_use]
    pub fn is_yes(&self) -> bool {
        let is_once = matches!(
            self,
            Self::Once | Self::Edited { .. } | Self::Changed { .. } | Self::Plan { .. } | Self::Choices { .. }
        );
        is_once || self.is_lasting()
    }

    /// Returns `true` if it allows more than what was asked about.
    #[must_use]
    pub fn is_lasting(&self) -> bool {
        matches!(self, Self::Always | Self::Everyone | Self::Project)
    }
}

/// Puts questions to the user. There is one for a whole tree of agents.
pub trait Approver: Send + Sync {
    /// Asks and waits for the answer. An answer counts from the call on, not only once the future is polled;
    /// dropping the future withdraws the question.
    fn ask(&self, request: ApprovalRequest) -> BoxFuture<'_, Answer>;
}
