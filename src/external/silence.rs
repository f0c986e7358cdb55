//! The silence of a program that answers when it is asked whether it is there.
//!
//! Owns how long it may be silent, and what follows. Leaves asking it to `connection`. Invariant: one that is at work and says nothing
//! is not lost, for it answers; one that does not answer is not waited for without end.

use std::time::Duration;

use serde_json::json;
use tokio::time::{Instant, sleep_until};

use super::connection::{ExternalConnection, FromExternal};
use crate::message::extension;

/// Silence after which it is asked whether it is there, and after which it should have answered.
const ASK_AFTER: Duration = Duration::from_secs(15);
const ANSWER_AFTER: Duration = Duration::from_secs(30);
/// Silence after which it counts as gone.
const LOST_AFTER: Duration = Duration::from_mins(2);

/// What is due once it has been silent for so long.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum SilenceStep {
    #[default]
    Ask,
    /// To say that it does not answer.
    Say,
    GiveUp,
}

/// How long it has been silent, and what was done about that.
#[derive(Debug)]
pub(super) struct SilenceWatch {
    heard: Instant,
    next: SilenceStep,
}

impl Default for SilenceWatch {
    fn default() -> Self {
        Self { heard: Instant::now(), next: SilenceStep::Ask }
    }
}

impl SilenceWatch {
    /// Notes that something has come. Returns `true` if it was said that nothing does.
    pub(super) fn hear(&mut self) -> bool {
        std::mem::take(self).next == SilenceStep::GiveUp
    }

    /// Waits until something is due. May be given up and called again.
    pub(super) async fn due(&self) -> SilenceStep {
        let after = match self.next {
            SilenceStep::Ask => ASK_AFTER,
            SilenceStep::Say => ANSWER_AFTER,
            SilenceStep::GiveUp => LOST_AFTER,
        };
        sleep_until(self.heard + after).await;
        self.next
    }

    /// Notes that a step was taken.
    pub(super) fn took(&mut self, step: SilenceStep) {
        self.next = match step {
            SilenceStep::Ask => SilenceStep::Say,
            SilenceStep::Say | SilenceStep::GiveUp => SilenceStep::GiveUp,
        };
    }
}

impl ExternalConnection {
    /// Does what is due about its silence. Returns what is to be said of it.
    pub(super) fn about_silence(&mut self, step: SilenceStep) -> Option<FromExternal> {
        if let Some(silence) = &mut self.silence {
            silence.took(step);
        }
        match step {
            SilenceStep::Ask => self.send_request(extension::PING, &json!({})).err().map(FromExternal::Closed),
            SilenceStep::Say => Some(FromExternal::Silent),
            SilenceStep::GiveUp => {
                let why = format!("no answer for {} s", LOST_AFTER.as_secs());
                Some(FromExternal::Closed(self.closed(&why)))
            }
        }
    }
}

/// Waits until something is due about its silence; for ever if it is no matter.
pub(super) async fn due(silence: Option<&SilenceWatch>) -> SilenceStep {
    match silence {
        Some(silence) => silence.due().await,
        None => std::future::pending().await,
    }
}
