//! Tags that a model could take for another speaker: roles, reminders, calls and their results.
//!
//! Owns which these are, and taking their effect from them. Invariant: a text without such a tag stays as it is.

use std::borrow::Cow;

/// What stands around words of this program in a message.
const REMINDER: (&str, &str) = ("<system-reminder>\n", "\n</system-reminder>");

/// Marks words as this program's own.
#[must_use]
pub fn reminder(words: &str) -> String {
    let (opens, ends) = REMINDER;
    format!("{opens}{words}{ends}")
}

/// Returns what a message says, if it is marked whole as this program's own.
#[must_use]
pub fn reminded(message: &str) -> Option<&str> {
    message.strip_prefix(REMINDER.0)?.strip_suffix(REMINDER.1)
}

/// Tags by which services, and this program, set apart who speaks.
const SPEAKERS: [&str; 10] = [
    "system-reminder",
    "human",
    "assistant",
    "function_calls",
    "function_results",
    "function_result",
    "invoke",
    "tool_use",
    "tool_call",
    "tool_result",
];

/// Returns a text of a stranger in which no tag passes for a speaker. Control words of local models, such as
/// `<|im_start|>`, are such tags.
pub fn without_speakers(text: &str) -> Cow<'_, str> {
    if text.split('<').skip(1).any(speaks) { Cow::Owned(escape_tags(text, speaks)) } else { Cow::Borrowed(text) }
}

/// Escapes the sign that begins a tag, where what follows it is one that counts.
pub fn escape_tags(text: &str, counts: impl Fn(&str) -> bool) -> String {
    let mut safe = String::with_capacity(text.len());
    for (at, piece) in text.split('<').enumerate() {
        if at > 0 {
            safe.push_str(if counts(piece) { "&lt;" } else { "<" });
        }
        safe.push_str(piece);
    }
    safe
}

/// Returns the name of a tag from what follows the sign that begins it.
pub fn tag_name(piece: &str) -> &str {
    let name = piece.trim_start_matches(|c: char| c == '/' || c.is_whitespace());
    name.split(|c: char| c == '>' || c == '/' || c.is_whitespace()).next().unwrap_or_default()
}

/// Returns `true` if what follows a `<` makes it a tag of a speaker.
pub fn speaks(piece: &str) -> bool {
    let name = tag_name(piece);
    let is_word = |word: &str| !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let control = piece.strip_prefix('|').and_then(|rest| rest.split_once("|>"));
    control.is_some_and(|(word, _)| is_word(word)) || SPEAKERS.iter().any(|tag| name.eq_ignore_ascii_case(tag))
}
