//! A prompt as a program reads it, and what it says of its end.
//!
//! Pure. Owns what an answer says was used. Invariant: numbers are bounded, and what is not said stays unknown.

use agent_client_protocol_schema::v1 as acp;
use serde_json::Value;

use super::update::MAX_TOKENS;
use crate::message::{Attachment, Usage, extension};

/// How a prompt has ended.
#[derive(Debug, Clone, PartialEq)]
pub struct PromptEnd {
    pub stop: PromptStop,
    /// What it has used, where the program says so.
    pub usage: Option<Usage>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromptStop {
    Done,
    /// The model's reply was cut off.
    MaxTokens,
    /// The program lets itself ask its model no more.
    MaxRequests,
    Refused,
    Cancelled,
    /// Something that the protocol does not know.
    Unknown,
}

/// Returns the parts of a prompt.
pub(super) fn prompt_blocks(text: &str, images: &[Attachment]) -> Vec<acp::ContentBlock> {
    let image = |image: &Attachment| acp::ContentBlock::Image(acp::ImageContent::new(&*image.data, image.media_type));
    std::iter::once(acp::ContentBlock::from(text)).chain(images.iter().map(image)).collect()
}

pub(super) fn prompt_end(answer: &Value) -> PromptEnd {
    let stop = match answer.get("stopReason").and_then(Value::as_str) {
        Some("max_tokens") => PromptStop::MaxTokens,
        Some("max_turn_requests") => PromptStop::MaxRequests,
        Some("refusal") => PromptStop::Refused,
        Some("cancelled") => PromptStop::Cancelled,
        Some("end_turn") => PromptStop::Done,
        _ => PromptStop::Unknown,
    };
    let count = |usage: &Value, key: &str| usage.get(key).and_then(Value::as_u64).unwrap_or_default().min(MAX_TOKENS);
    let told = answer.get("usage").filter(|usage| usage.is_object()).map(|usage| Usage {
        input: count(usage, "inputTokens"),
        output: count(usage, "outputTokens"),
        cache_read: count(usage, "cachedReadTokens"),
        cache_write: count(usage, "cachedWriteTokens"),
        unknown: usage.get("_meta").is_some_and(|meta| meta.get(extension::UNKNOWN_USAGE).is_some()),
        ..Usage::default()
    });
    // Gemini CLI says it in its own way.
    let counted = || {
        let tokens = answer.pointer("/_meta/quota/token_count").filter(|tokens| tokens.is_object())?;
        let (input, output) = (count(tokens, "input_tokens"), count(tokens, "output_tokens"));
        Some(Usage { input, output, ..Usage::default() })
    };
    PromptEnd { stop, usage: told.or_else(counted) }
}
