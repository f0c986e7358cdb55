//! Memory files in the middle of a conversation: those that have changed, and those about files that the agent reads.
//!
//! Owns when an agent looks, also at what skills are about. Leaves the files, and the words about them, to `memory`. Invariants: a change is read with the
//! user's next message and never before.

use super::{Driver, InboxMessage};
use crate::agent::{EventKind, read_from_disk};
use crate::memory::gives_memory;
use crate::message::Message;

impl Driver<'_> {
    /// Adds what is new in memory files to the transcript. A run begins with somebody's words.
    pub(super) async fn read_memory(&mut self, was_spoken_to: bool) {
        let agent = self.agent;
        let touched = agent.freshness.take_touched();
        if let Some(skills) = agent.skills.as_ref().filter(|_| !touched.is_empty()) {
            skills.note_touched(&agent.place.project, &touched);
        }
        let was_spoken_to = was_spoken_to || self.turns == 0;
        if !agent.memory.is_due(was_spoken_to, &touched) {
            return;
        }
        let was_told = self.transcript.messages().iter().any(|message| match &**message {
            Message::User { text } => gives_memory(text),
            _ => false,
        });
        let memory = agent.memory.clone();
        let look = move || memory.news(was_spoken_to, touched, was_told);
        let news = read_from_disk(&agent.work, "looking at memory files", look).await.unwrap_or_default();
        for text in news.messages {
            self.receive(InboxMessage::of_program(&agent.secrets.redact(&text))).await;
        }
        // Said once, by the agent that reads the project's files first.
        if agent.id.is_main() {
            for diagnostic in news.diagnostics {
                self.run.emit(EventKind::Notice { text: diagnostic.to_string() }).await;
            }
        }
    }
}
