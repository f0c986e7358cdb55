//! What a program is told of a conversation that it does not remember.
//!
//! Pure. Invariant: bounded; the last message stands by itself, so that it is answered and the rest is not.

use std::fmt::Write as _;

use crate::message::{Message, Transcript, without_picture_marks};
use crate::tool::bound_text;

/// Characters of what went before.
const MAX_BEFORE: usize = 24_000;

/// Returns what is said first: the task or, after earlier runs, what they said and did, and then the last message.
pub(super) fn opening(transcript: &Transcript) -> Vec<String> {
    let messages = transcript.messages();
    let last = messages.iter().rposition(|message| matches!(message.as_ref(), Message::User { .. }));
    let Some(last) = last else { return Vec::new() };
    let mut before = String::new();
    for message in &messages[..last] {
        match message.as_ref() {
            Message::User { text } => drop(write!(before, "\n[You were told]\n{text}\n")),
            Message::Assistant(reply) => {
                let text = reply.text();
                if !text.trim().is_empty() {
                    let _ = write!(before, "\n[You said]\n{}\n", without_picture_marks(&text));
                }
                for call in reply.tool_calls() {
                    let _ = writeln!(before, "[You used {}]", call.name);
                }
            }
            Message::ToolResults { .. } => {}
        }
    }
    let mut parts = Vec::new();
    if !before.is_empty() {
        parts.push(format!(
            "You worked on this before, in a conversation that you no longer have. What was said in it:\n{}\nIt goes on \
             with this message.",
            bound_text(&before, MAX_BEFORE)
        ));
    }
    if let Message::User { text } = messages[last].as_ref() {
        parts.push(text.clone());
    }
    parts
}
