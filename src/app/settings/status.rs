//! What the status line knows, and the passing words beside it.
//!
//! Owns facts about the session and messages that pass by themselves. Leaves drawing to the views. Invariant: what
//! passes by itself has a time at which it does.

use std::time::{Duration, Instant};

use jiff::tz::TimeZone;

use crate::hook::HookLog;
use crate::message::AgentId;
use crate::permission::FolderTrust;
use crate::permission::PermissionMode;
use crate::sandbox::SandboxFacts;

/// How long a passing message stays.
const FLASH: Duration = Duration::from_secs(4);
/// How long a first press waits for the second.
pub(in crate::app) const CONFIRM: Duration = Duration::from_secs(2);

#[derive(Debug, Clone, PartialEq)]
pub struct StatusLine {
    /// The working directory, as shown.
    pub folder: String,
    pub branch: Option<String>,
    /// Who answers.
    pub model: ModelState,
    pub mode: PermissionMode,
    /// What holds for commands; `None` until that is known.
    pub sandbox: Option<SandboxFacts>,
    /// What the folder brings; `None` if nothing.
    pub trust: Option<FolderTrust>,
    /// Which hooks run, and what they last did.
    pub hooks: HookLog,
    /// Where the clocks on the wall are read.
    pub zone: TimeZone,
}

impl StatusLine {
    pub fn place(&self) -> String {
        self.branched(&self.folder)
    }

    /// Returns the last part of the working directory and the branch.
    pub fn short_place(&self) -> String {
        let last = self.folder.rsplit(['/', '\\']).next().filter(|name| !name.is_empty());
        self.branched(last.unwrap_or(&self.folder))
    }

    fn branched(&self, folder: &str) -> String {
        self.branch.as_ref().map_or_else(|| folder.to_owned(), |branch| format!("{folder} ({branch})"))
    }
}

/// Whether it is settled who answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelState {
    /// Not yet; holds the server that is asked, if the user named one.
    Searching(Option<String>),
    Missing(String),
    Chosen(ModelFact),
}

impl ModelState {
    /// Returns the line on how the choice came about.
    pub fn note(&self) -> Option<&str> {
        self.chosen()?.note.as_deref()
    }

    pub fn chosen(&self) -> Option<&ModelFact> {
        match self {
            Self::Chosen(model) => Some(model),
            Self::Searching(_) | Self::Missing(_) => None,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelFact {
    pub provider: String,
    /// How the service names it; empty in old logs.
    pub id: String,
    /// What the status line shows.
    pub display: String,
    /// Size of the context window in tokens.
    pub context_window: Option<u64>,
    pub note: Option<String>,
}

/// Whether a passing message is good news.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    Info,
    Warning,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flash {
    /// One line.
    pub text: String,
    pub tone: Tone,
    pub until: Instant,
    /// What it is about, where something else depends on that.
    pub about: FlashSubject,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum FlashSubject {
    #[default]
    Nothing,
    /// The search in the log that is under way.
    LogSearch,
    /// The file of a new agent of this name.
    NewAgent(String),
}

impl Flash {
    #[must_use]
    pub fn about(self, about: FlashSubject) -> Self {
        Self { about, ..self }
    }

    #[must_use]
    pub fn info(text: impl Into<String>, now: Instant) -> Self {
        Self { text: text.into(), tone: Tone::Info, until: now + FLASH, about: FlashSubject::Nothing }
    }

    #[must_use]
    pub fn warning(text: impl Into<String>, now: Instant) -> Self {
        Self { text: text.into(), tone: Tone::Warning, until: now + FLASH, about: FlashSubject::Nothing }
    }

    /// Returns a request to press once more.
    #[must_use]
    pub fn confirm(text: impl Into<String>, now: Instant) -> Self {
        Self { text: text.into(), tone: Tone::Warning, until: now + CONFIRM, about: FlashSubject::Nothing }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Armed {
    Interrupt,
    Quit,
    Clear,
    /// Clear what is being written.
    ClearText,
    /// Choose a message to go back to.
    Rewind,
    /// Give up what an agent did in its worktree, or write what other programs act on.
    Worktree,
    /// Have this agent report, although a tool runs.
    WrapUp(AgentId),
}
