//! The summary of a conversation, by rules: what was asked for, and which files were looked at or changed.
//!
//! Owns reading the record that is to be summarized. Leaves its form to the agent that asks. Invariant: what is said
//! stands in the record; a record that is not understood gives a summary that says so.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::PlannedReply;
use crate::message::{Message, tagged};
use crate::provider::Request;

/// The system prompt of requests for a summary.
const PROMPT: &str = include_str!("../../../assets/prompts/compact.md");
/// Wishes, files and letters of each that a summary holds.
const MAX_WISHES: usize = 20;
const MAX_FILES: usize = 40;
const MAX_CHARS: usize = 300;
/// Tools whose calls name a file, and what they do with it.
const FILE_TOOLS: [(&str, &str); 3] = [("Read", "read"), ("Edit", "changed"), ("Write", "written")];

/// Returns the summary that a request asks for; `None` if it asks for something else.
pub(crate) fn summary(request: &Request) -> Option<PlannedReply> {
    if *request.system != *PROMPT {
        return None;
    }
    let Some(Message::User { text }) = request.messages.first().map(AsRef::as_ref) else { return None };
    let record = tagged(text, "conversation").unwrap_or_default();
    let wishes: Vec<String> = of_kind(record, "user").map(|text| text.chars().take(MAX_CHARS).collect()).collect();
    let mut files = BTreeSet::new();
    for (tool, act) in FILE_TOOLS {
        let calls = of_kind(record, &format!("call of {tool}"));
        let paths = calls.filter_map(|input| serde_json::from_str::<serde_json::Value>(input).ok());
        files.extend(paths.filter_map(|input| Some(format!("{} ({act})", input.get("file_path")?.as_str()?))));
    }
    let mut text = String::from("Made by rules: a language model would write more.\n");
    for (title, items, most) in [("Asked for", wishes, MAX_WISHES), ("Files", files.into_iter().collect(), MAX_FILES)] {
        if !items.is_empty() {
            let _ = write!(text, "\n## {title}\n");
        }
        for item in items.iter().skip(items.len().saturating_sub(most)) {
            let _ = writeln!(text, "- {item}");
        }
    }
    Some(PlannedReply { text, calls: Vec::new() })
}

/// Returns the first lines of the entries of a kind.
fn of_kind<'a>(record: &'a str, kind: &str) -> impl Iterator<Item = &'a str> + use<'a> {
    let head = format!("{kind}: ");
    record.lines().filter_map(move |line| line.strip_prefix(&head))
}
