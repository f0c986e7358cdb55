//! Proofs of origin of a model's reasoning, told apart by the wire format that gave them.
//!
//! Owns the mark that a proof carries in a transcript. Invariant: no service is sent the proof of another one, which it
//! would refuse with the whole request; those of the Messages API carry no mark, as older sessions have none.

use crate::message::WireFormat;

/// Returns a proof as the transcript keeps it.
pub(super) fn mark(format: WireFormat, proof: &str) -> String {
    match word(format) {
        Some(word) => format!("{word}:{proof}"),
        None => proof.to_owned(),
    }
}

/// Returns the proof as the service gave it; `None` if one of another format gave it.
pub(super) fn of_format(format: WireFormat, kept: &str) -> Option<&str> {
    match word(format) {
        Some(word) => kept.strip_prefix(word)?.strip_prefix(':'),
        // Proofs are base64, which has no colon.
        None => (!kept.contains(':')).then_some(kept),
    }
}

fn word(format: WireFormat) -> Option<&'static str> {
    match format {
        WireFormat::Anthropic | WireFormat::AnthropicVertex => None,
        WireFormat::OpenAi => Some("chat"),
        WireFormat::Responses => Some("responses"),
        WireFormat::Gemini => Some("gemini"),
    }
}
