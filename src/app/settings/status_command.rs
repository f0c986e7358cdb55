//! The rows that a command of the user's settings writes below the composer.
//!
//! Owns when it has to run again: when something that it is told has changed, one run at a time. Leaves running it to
//! `services`, and its words with it.

use crate::app::{App, Effect};
use crate::message::Spent;
use crate::message::format::millis;
use crate::permission::PermissionMode;

/// What the command is told of the session.
#[derive(Debug, Clone, PartialEq)]
pub struct StatusLineFacts {
    /// How the service names the model.
    pub model_id: String,
    /// How the screen does.
    pub model: String,
    pub mode: PermissionMode,
    /// Tokens that the main conversation holds.
    pub context: u64,
    /// Tokens that it can hold, where known.
    pub window: Option<u64>,
    pub spent: Spent,
    /// Whether what the folder brings is trusted.
    pub is_trusted: bool,
    /// Age of the session in milliseconds.
    pub ms: u64,
}

#[derive(Debug, Default)]
pub(in crate::app) struct StatusCommand {
    has_command: bool,
    /// What it was told last, with no age.
    told: Option<StatusLineFacts>,
    is_running: bool,
    rows: Vec<String>,
}

impl StatusCommand {
    pub(in crate::app) fn new(has_command: bool) -> Self {
        Self { has_command, ..Self::default() }
    }

    pub(in crate::app) fn rows(&self) -> &[String] {
        &self.rows
    }

    /// Takes in what a run has written.
    pub(in crate::app) fn written(&mut self, rows: Vec<String>) {
        (self.rows, self.is_running) = (rows, false);
    }

    /// Returns what the command is to be told now, if it has to run.
    pub(in crate::app) fn due(&mut self, facts: impl FnOnce() -> StatusLineFacts) -> Option<StatusLineFacts> {
        if !self.has_command || self.is_running {
            return None;
        }
        let facts = facts();
        let ageless = StatusLineFacts { ms: 0, ..facts.clone() };
        let is_due = self.told.as_ref() != Some(&ageless);
        (self.is_running, self.told) = (is_due, Some(ageless));
        is_due.then_some(facts)
    }
}

/// Has the command run, if what it is told has changed.
pub(in crate::app) fn tell(app: &mut App) {
    let model = app.status.model.chosen();
    let facts = || StatusLineFacts {
        model_id: model.map(|model| model.id.clone()).unwrap_or_default(),
        model: model.map(|model| model.display.clone()).unwrap_or_default(),
        mode: app.status.mode,
        context: app.agents.main().context,
        window: model.and_then(|model| model.context_window),
        spent: app.agents.spent(),
        is_trusted: app.status.trust.as_ref().is_none_or(|trust| trust.waiting().is_empty()),
        ms: millis(app.clock.age(app.out.now())),
    };
    if let Some(facts) = app.status_command.due(facts) {
        app.out.push(Effect::RunStatusLine(facts));
    }
}
