//! Leaving out the results of old tool calls.
//!
//! Pure. Owns which results go, oldest first, and what stands in their place. Invariants: the results of the last turns
//! stay whole; a report of a subagent stays, because no call brings it back; what stands in the place of a result depends
//! on the call, the result and the length alone.

use std::collections::HashSet;
use std::sync::Arc;

use crate::agent::budget::estimator;
use crate::message::{Message, ResultPart, ToolCall, ToolResult, Transcript, canonical_name, sanitize_line};
use crate::tool::bound_text;

/// Replies whose calls keep their results.
const FRESH_TURNS: usize = 3;
/// A result that is smaller is not worth the loss, in tokens.
const LEAST_RESULT: u64 = 150;
/// The tool whose results are reports.
const REPORTING: &str = "Agent";

/// Returns the calls whose results are left out to free so many tokens, and how many that frees. Frees less where there
/// are no more results to leave out.
pub(in crate::agent) fn old_results(messages: &[Arc<Message>], wanted: u64) -> (Vec<String>, u64) {
    let (mut calls, mut freed) = (Vec::new(), 0);
    for at in 1..fresh_from(messages) {
        let (Message::Assistant(reply), Message::ToolResults { results }) = (&*messages[at - 1], &*messages[at]) else {
            continue;
        };
        for result in results {
            if freed >= wanted {
                return (calls, freed);
            }
            let Some(call) = reply.tool_calls().find(|call| call.id == result.call_id) else { continue };
            let size = estimator::result(result);
            if size >= LEAST_RESULT && !is_report(call) {
                freed += size.saturating_sub(estimator::result(&left_out(call, result)));
                calls.push(call.id.clone());
            }
        }
    }
    (calls, freed)
}

/// Returns the place of the first message whose results stay.
fn fresh_from(messages: &[Arc<Message>]) -> usize {
    let mut replies =
        messages.iter().enumerate().rev().filter(|(_, message)| matches!(***message, Message::Assistant(_)));
    replies.nth(FRESH_TURNS - 1).map_or(0, |(at, _)| at)
}

/// Returns `true` if the result of a call is the report of a subagent.
pub(in crate::agent) fn is_report(call: &ToolCall) -> bool {
    canonical_name(&call.name).eq_ignore_ascii_case(REPORTING)
}

/// Leaves results out of a conversation, or cuts each of their texts down to so many characters.
pub(in crate::agent) fn trim(transcript: &mut Transcript, calls: &[String], keep_chars: usize) {
    let calls: HashSet<&str> = calls.iter().map(String::as_str).collect();
    transcript.shorten_results(&calls, |call, result| match keep_chars {
        0 => left_out(call, result),
        chars => cut_down(result, chars),
    });
}

fn left_out(call: &ToolCall, result: &ToolResult) -> ToolResult {
    let name = sanitize_line(&call.name);
    let text = format!("[old result of {name} left out to save context; run the tool again if needed]");
    ToolResult { is_error: result.is_error, ..ToolResult::text(&call.id, text) }
}

fn cut_down(result: &ToolResult, chars: usize) -> ToolResult {
    let cut = |part: &ResultPart| match part {
        ResultPart::Text { text } => bound_text(text, chars).into_owned(),
        ResultPart::Image { .. } | ResultPart::Attached { .. } => {
            "[picture left out to save context; run the tool again if needed]".to_owned()
        }
    };
    let texts: Vec<ResultPart> = result.content.iter().map(|part| ResultPart::Text { text: cut(part) }).collect();
    ToolResult { content: texts, ..result.clone() }
}
