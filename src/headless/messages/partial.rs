//! Texts as they arrive, as the events of Anthropic's stream: `message_start`, blocks of deltas, `message_stop`.
//!
//! Invariant: what was begun is ended, also when a request is sent again.

use serde_json::{Value, json};

use crate::agent::TurnEvent;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Thinking,
}

/// What of a turn has been written.
#[derive(Debug, Default)]
pub(super) struct Partial {
    is_begun: bool,
    /// The block that is written, and its number.
    open: Option<Kind>,
    index: usize,
}

impl Partial {
    /// Returns the events that follow from this one.
    pub(super) fn apply(&mut self, event: &TurnEvent, model: &str) -> Vec<Value> {
        match event {
            TurnEvent::Started { .. } | TurnEvent::Reading { .. } => Vec::new(),
            TurnEvent::Text { text } => self.delta(Kind::Text, text, model),
            TurnEvent::Thinking { text } => self.delta(Kind::Thinking, text, model),
            TurnEvent::Retrying { .. } | TurnEvent::Ended { .. } => self.end(),
        }
    }

    fn delta(&mut self, kind: Kind, text: &str, model: &str) -> Vec<Value> {
        let mut events = Vec::new();
        if !std::mem::replace(&mut self.is_begun, true) {
            let message = json!({"type": "message", "role": "assistant", "model": model, "content": []});
            events.push(json!({"type": "message_start", "message": message}));
        }
        if self.open != Some(kind) {
            events.extend(self.close());
            self.open = Some(kind);
            let block = match kind {
                Kind::Text => json!({"type": "text", "text": ""}),
                Kind::Thinking => json!({"type": "thinking", "thinking": "", "signature": ""}),
            };
            events.push(json!({"type": "content_block_start", "index": self.index, "content_block": block}));
        }
        let delta = match kind {
            Kind::Text => json!({"type": "text_delta", "text": text}),
            Kind::Thinking => json!({"type": "thinking_delta", "thinking": text}),
        };
        events.push(json!({"type": "content_block_delta", "index": self.index, "delta": delta}));
        events
    }

    fn close(&mut self) -> Option<Value> {
        self.open.take()?;
        self.index += 1;
        Some(json!({"type": "content_block_stop", "index": self.index - 1}))
    }

    fn end(&mut self) -> Vec<Value> {
        let begun = std::mem::take(&mut self.is_begun);
        let mut events: Vec<Value> = self.close().into_iter().collect();
        events.extend(begun.then(|| json!({"type": "message_stop"})));
        self.index = 0;
        events
    }
}
