//! Skills that the user calls: `/name` and what follows.
//!
//! Owns when a message is looked at. Leaves what a skill says to `agent::skill`. Invariant: only the user's own words call one
//! like this.

use std::sync::atomic::{AtomicU64, Ordering};

use super::{Driver, InboxMessage};
use crate::agent::skill::{SkillText, fork, read_skill};

impl Driver<'_> {
    /// Reads the skill that the user's words call with which the run begins.
    pub(super) async fn heed_opening(&mut self) {
        if let Some(words) = &self.agent.spoken {
            self.heed_skill(words).await;
        }
    }

    /// Adds a message to the transcript, and what a skill says that it calls. Returns `true` if the user has spoken.
    pub(super) async fn heed(&mut self, message: InboxMessage) -> bool {
        let words = message.by.is_user().then(|| message.text.clone());
        self.receive(message).await;
        if let Some(words) = &words {
            self.heed_skill(words).await;
        }
        words.is_some()
    }

    async fn heed_skill(&mut self, words: &str) {
        static CALLED: AtomicU64 = AtomicU64::new(1);
        let Some(skill) = self.agent.skills.as_ref().and_then(|host| host.called(words)) else { return };
        let id = format!("skill-{}", CALLED.fetch_add(1, Ordering::Relaxed));
        let text = read_skill(self.run, &skill, &id).await;
        let message = match fork(self.run, &skill, &text, &id).await {
            Some(Ok(report)) => SkillText::reported(&skill, &report),
            Some(Err(output)) => SkillText::refused(&skill, &output.summary),
            None => text.message(&skill),
        };
        self.receive(InboxMessage::of_program(&self.agent.secrets.redact(&message))).await;
    }
}
