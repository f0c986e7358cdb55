//! `@agent-NAME` in a message: the user asks the main agent to delegate to that agent.
//!
//! Owns finding mentions and the words the model reads for them. Leaves drawing and completing them to the front ends.
//! Pure. Invariant: the user's own words stay as they were, and what names no agent means nothing.

use crate::message::sanitize_line;

/// What stands before the name, in Claude Code and in Kode.
const MARKS: [&str; 2] = ["@agent-", "@run-agent-"];

/// Returns what the model reads for the user's text: the text, and a word on each agent of `names` it mentions.
pub fn explain(text: String, names: &[String]) -> String {
    let mentioned = mentioned(&text, names);
    if mentioned.is_empty() {
        return text;
    }
    let asks: Vec<String> = mentioned
        .iter()
        .map(|name| {
            let name = sanitize_line(name).replace(['`', '<', '>'], "");
            format!("The user asks you to delegate this to the agent `{name}` with the Agent tool.")
        })
        .collect();
    format!("{text}\n\n<system-reminder>\n{}\n</system-reminder>", asks.join("\n"))
}

/// Returns the agents that the text mentions, in the order of the text, each once.
fn mentioned<'n>(text: &str, names: &'n [String]) -> Vec<&'n str> {
    let mut found: Vec<&str> = Vec::new();
    for (at, _) in text.match_indices('@') {
        let stands_alone = text[..at].chars().next_back().is_none_or(|before| !before.is_alphanumeric());
        let name = MARKS.iter().find_map(|mark| {
            let head = text[at..].get(..mark.len())?;
            head.eq_ignore_ascii_case(mark).then(|| longest(&text[at + mark.len()..], names))?
        });
        if let Some(name) = name.filter(|name| stands_alone && !found.contains(name)) {
            found.push(name);
        }
    }
    found
}

/// Returns the longest name that the text begins with, as a whole word.
fn longest<'n>(text: &str, names: &'n [String]) -> Option<&'n str> {
    let begins = |name: &&String| {
        let mut rest = text.chars();
        let is_same = written(name).all(|c| rest.next().is_some_and(|own| own.to_lowercase().eq(c.to_lowercase())));
        is_same && !name.trim().is_empty() && rest.next().is_none_or(|c| !c.is_alphanumeric() && !"-_".contains(c))
    };
    names.iter().filter(begins).max_by_key(|name| name.chars().count()).map(String::as_str)
}

/// Returns a name as it is written in a mention: without blanks.
fn written(name: &str) -> impl Iterator<Item = char> {
    name.trim().chars().map(|c| if c.is_whitespace() { '-' } else { c })
}
