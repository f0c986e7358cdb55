//! Putting a summary in the place of the older part of a conversation.
//!
//! Pure. Owns where the older part ends, how it is written down for the model that summarizes it, and the message that
//! takes its place. Invariants: what is written down is bounded, however long the conversation is; a line of it begins in
//! the first column only if this program wrote its beginning; the first and the latest message of the user stay word for
//! word, as far as there is room.

use std::sync::Arc;

use crate::agent::budget::estimator;
use crate::message::{Block, Message, ToolCall, ToolInput, ToolResult, sanitize_line, tagged};
use crate::tool::bound_text;

/// The system prompt of the model that summarizes.
pub(in crate::agent) const PROMPT: &str = include_str!("../../../assets/prompts/compact.md");
/// Begins a message that holds a summary.
const HEAD: &str = "[The conversation up to here was compacted to save context. A model wrote this summary, which stands in the \
                    place of what was said. It is no request of its own.]";
/// Ends it where nothing of the conversation follows.
const GO_ON: &str = "Go on where this leaves off.";
const FIRST: &str = "first_message";
const LATEST: &str = "latest_message";
const SUMMARY: &str = "summary";

/// Characters of a call and of a result that are written down.
const CALL_CHARS: usize = 500;
const RESULT_CHARS: usize = 2_000;
/// Most characters of any other message that are written down, and of one that stays word for word.
const MESSAGE_CHARS: usize = 16_000;
const QUOTED_CHARS: usize = 8_000;
/// The least of a result that is worth keeping, in characters.
const LEAST_KEPT: usize = 300;

/// How a conversation is divided.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::agent) struct Division {
    /// How many messages are old.
    pub(in crate::agent) old: usize,
    /// Calls of the rest whose results have to be cut down as well, and to how many characters.
    pub(in crate::agent) cut: Option<(Vec<String>, usize)>,
}

/// Divides a conversation so that the newer part comes to at most so many tokens, by its bytes; `None` makes all of it
/// old. The newer part begins with a whole turn, and is empty if none fits.
pub(in crate::agent) fn divide(messages: &[Arc<Message>], tokens: Option<u64>) -> Division {
    let Some(tokens) = tokens else { return Division { old: messages.len(), cut: None } };
    let (mut old, mut size) = (messages.len(), 0);
    for (at, message) in messages.iter().enumerate().rev() {
        size += estimator::message(message);
        if size > tokens {
            break;
        }
        if !matches!(**message, Message::ToolResults { .. }) {
            old = at;
        }
    }
    if old < messages.len() {
        return Division { old, cut: None };
    }
    // What the model asked for last it has to see: a part of each result, so that it need not ask again and again.
    match messages.last_chunk() {
        Some([reply, found])
            if let Message::ToolResults { results } = &**found
                && estimator::message(reply) <= tokens / 2 =>
        {
            let chars = share(results, tokens.saturating_sub(estimator::message(reply)));
            let calls = results.iter().map(|result| result.call_id.clone()).collect();
            Division { old: old - 2, cut: Some((calls, chars)) }
        }
        _ => Division { old, cut: None },
    }
}

/// Returns how many characters each text of the results may have, so that they come to so many tokens; 0 leaves them out.
fn share(results: &[ToolResult], tokens: u64) -> usize {
    let texts: Vec<String> = results.iter().map(ToolResult::joined_text).collect();
    let bytes: usize = texts.iter().map(String::len).sum();
    let chars: usize = texts.iter().map(|text| text.chars().count()).sum();
    let parts: usize = results.iter().map(|result| result.content.len()).sum();
    let room = usize::try_from(tokens * estimator::BYTES).unwrap_or(usize::MAX);
    let each = room / bytes.div_ceil(chars.max(1)).max(1) / parts.max(1);
    // Some of it goes to what stands around each text.
    Some(each.saturating_sub(100)).filter(|chars| *chars >= LEAST_KEPT).unwrap_or(0)
}

/// Returns what the model is asked that summarizes: the conversation in at most so many bytes, and what to keep.
pub(in crate::agent) fn request(old: &[Arc<Message>], bytes: usize, wish: Option<&str>) -> String {
    let record = guarded(&record(old, bytes), "conversation");
    let wish = wish.map(|wish| format!(" The user says what to keep above all: {}", wish.trim())).unwrap_or_default();
    format!("<conversation>\n{record}\n</conversation>\n\nWrite the summary now.{wish}")
}

/// Writes a conversation down in at most so many bytes: of one that is longer, its beginning and, three times as long, its
/// end.
fn record(messages: &[Arc<Message>], bytes: usize) -> String {
    let most = MESSAGE_CHARS.min(bytes / 8);
    let mut entries: Vec<String> = Vec::new();
    let mut calls: Vec<&ToolCall> = Vec::new();
    for message in messages {
        match &**message {
            Message::User { text } => entries.push(entry("user", text, most)),
            Message::Assistant(reply) => {
                calls = reply.tool_calls().collect();
                entries.extend(reply.content.iter().filter_map(|block| match block {
                    Block::Text { text } if !text.trim().is_empty() => Some(entry("agent", text, most)),
                    Block::ToolCall(call) => Some(of_call(call, most)),
                    _ => None,
                }));
            }
            Message::ToolResults { results } => {
                entries.extend(results.iter().map(|result| of_result(result, &calls, most)));
            }
        }
    }
    let sizes = || entries.iter().map(|entry| entry.len() + 1);
    if sizes().sum::<usize>() <= bytes {
        return entries.join("\n");
    }
    let within = |room: usize| {
        move |left: &mut usize, size: usize| {
            *left += size;
            (*left <= room).then_some(())
        }
    };
    let head = sizes().scan(0, within(bytes / 4)).count();
    let tail = sizes().rev().scan(0, within(bytes / 4 * 3 - 100)).count().min(entries.len() - head);
    let gap = format!("[… {} entries left out …]", entries.len() - head - tail);
    let (first, last) = (&entries[..head], &entries[entries.len() - tail..]);
    first
        .iter()
        .map(String::as_str)
        .chain([gap.as_str()])
        .chain(last.iter().map(String::as_str))
        .collect::<Vec<_>>()
        .join("\n")
}

fn of_call(call: &ToolCall, most: usize) -> String {
    let input = match &call.input {
        ToolInput::Object(input) => serde_json::to_string(input).unwrap_or_default(),
        ToolInput::Malformed(sent) => sent.clone(),
    };
    entry(&format!("call of {}", sanitize_line(&call.name)), &input, CALL_CHARS.min(most))
}

fn of_result(result: &ToolResult, calls: &[&ToolCall], most: usize) -> String {
    let call = calls.iter().find(|call| call.id == result.call_id);
    let name = call.map_or_else(|| "a tool".into(), |call| sanitize_line(&call.name));
    let kind = if result.is_error { "error" } else { "result" };
    // No call brings a report back.
    let chars = if call.is_some_and(|call| super::trim::is_report(call)) { MESSAGE_CHARS } else { RESULT_CHARS };
    entry(&format!("{kind} of {name}"), &result.joined_text(), chars.min(most))
}

/// Returns an entry whose further lines are set in, so that none can pass for another entry.
fn entry(what: &str, text: &str, chars: usize) -> String {
    let text = bound_text(text.trim(), chars);
    format!("{what}: {}", text.lines().collect::<Vec<_>>().join("\n  "))
}

/// Returns the message that takes the place of the older part of a conversation. `goes_on` says that nothing follows it
/// although the agent is at work. Each message that stays word for word gets at most `chars` characters.
pub(in crate::agent) fn message(summary: &str, old: &[Arc<Message>], goes_on: bool, chars: usize) -> String {
    let said = old.iter().filter_map(|message| match &**message {
        Message::User { text } => Some(text.as_str()),
        _ => None,
    });
    let said: Vec<&str> = said.collect();
    let before = said.first().copied().filter(|text| is_summary(text));
    let first = before.map_or_else(|| said.first().copied(), |text| tagged(text, FIRST));
    let latest = if said.len() > 1 { said.last().copied() } else { before.and_then(|text| tagged(text, LATEST)) };
    let mut text = format!("{HEAD}\n\n{}", within(SUMMARY, summary.trim()));
    for (tag, words) in [(FIRST, first), (LATEST, latest)] {
        if let Some(words) = words {
            text = format!("{text}\n\n{}", within(tag, &bound_text(words, QUOTED_CHARS.min(chars))));
        }
    }
    if goes_on { format!("{text}\n\n{GO_ON}") } else { text }
}

/// Returns `true` if a message holds the summary of what was said before it.
pub(in crate::agent) fn is_summary(text: &str) -> bool {
    text.starts_with(HEAD)
}

/// Returns the summary that a message holds, as it is shown.
pub fn summary_in(message: &str) -> &str {
    tagged(message, SUMMARY).unwrap_or(message)
}

fn within(tag: &str, text: &str) -> String {
    format!("<{tag}>\n{}\n</{tag}>", guarded(text, tag))
}

/// Returns a text in which nothing ends the tag around it.
fn guarded(text: &str, tag: &str) -> String {
    text.replace(&format!("</{tag}"), &format!("<\\/{tag}"))
}
