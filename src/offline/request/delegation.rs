//! Requests that say how to delegate, "use 3 subagents: a; b; c", or to whom, "@agent-explore".
//!
//! Owns counting agents, splitting lists and reading mentions. Leaves what each item asks for to the module above.
//! Invariant: no item is lost.

use crate::offline::text::{lists, strip};

const NUMBERS: &str = "zero one two three four five six seven eight";
const AGENT_WORDS: &str = "subagents subagent sub-agents sub-agent agents agent subtasks subtask sub-tasks sub-task tasks task children workers";
/// Words that may stand before those, and between those and the matter.
const BEFORE: &str = "a an some several parallel explore different separate";
const BETWEEN: [&str; 9] = ["in parallel", ":", "to ", "for ", "and have them ", "that ", "which ", "who ", "-"];
/// Bytes within which a request says how to delegate.
const HEAD: usize = 60;
const MOST_ITEMS: usize = 20;

/// Returns how many subagents a request asks for, if it says so, and the matters that they are for.
pub(crate) fn delegation(text: &str) -> Option<(usize, Vec<String>)> {
    for prefix in ["delegate:", "delegate to a subagent:", "subagent:", "subtask:", "delegate "] {
        if let Some(rest) = strip(text, prefix) {
            return Some((1, vec![rest.trim().to_owned()]));
        }
    }
    let verbs = ["use ", "spawn ", "start ", "launch ", "run ", "with ", "send ", "have "];
    let rest = verbs.into_iter().find_map(|verb| strip(text, verb))?;
    let (mut count, mut at) = (0, 0);
    for word in rest[..rest.floor_char_boundary(HEAD)].split_inclusive([' ', ':', '\n', ',']) {
        at += word.len();
        let bare = word.trim_matches([' ', ':', '\n', ',']).to_lowercase();
        if let Some(number) = bare.parse().ok().or_else(|| NUMBERS.split(' ').position(|name| name == bare)) {
            count = number;
        } else if lists(AGENT_WORDS, &bare) {
            let matter = BETWEEN
                .iter()
                .fold(rest[at..].trim_start(), |rest, word| strip(rest, word).unwrap_or(rest).trim_start());
            return Some((count, items(matter, count)));
        } else if !lists(BEFORE, &bare) {
            return None;
        }
    }
    None
}

/// Splits a list: by lines that begin with a number or a mark, or by semicolons; by commas and "and" where that gives just
/// as many parts as were asked for.
fn items(text: &str, count: usize) -> Vec<String> {
    let clean = |part: &str| strip(part.trim(), "and ").unwrap_or(part.trim()).trim_end_matches('.').to_owned();
    let split = |parts: &mut dyn Iterator<Item = &str>| -> Vec<String> {
        parts.map(clean).filter(|part| !part.is_empty()).take(MOST_ITEMS).collect()
    };
    let marked = split(&mut text.lines().filter_map(list_item));
    if marked.len() > 1 {
        return marked;
    }
    let parts = split(&mut text.split(';'));
    let [_] = parts.as_slice() else { return parts };
    let by_comma = split(&mut text.split(", "));
    let by_and = split(&mut text.split(" and "));
    let by_both = split(&mut text.split(", ").flat_map(|part| part.split(" and ")));
    [by_comma, by_and, by_both].into_iter().find(|parts| parts.len() == count).unwrap_or(parts)
}

fn list_item(line: &str) -> Option<&str> {
    let line = line.trim();
    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let signs = if rest.len() < line.len() { ['.', ')'] } else { ['-', '*'] };
    rest.strip_prefix(signs)?.strip_prefix(' ')
}

/// What stands around the agent's name in the word on a mention.
const ASKED: (&str, &str) = ("The user asks you to delegate this to the agent `", "` with the Agent tool.");

/// Returns the user's own words without the mentions, and the agents that are to be used; `None` if none is named.
pub(crate) fn mentions(text: &str) -> Option<(String, Vec<String>)> {
    let (own, reminder) = text.rsplit_once("\n\n<system-reminder>\n")?;
    let name = |line: &str| Some(line.strip_prefix(ASKED.0)?.strip_suffix(ASKED.1)?.to_owned());
    let agents: Vec<String> = reminder.lines().filter_map(name).collect();
    let is_mention = |word: &str| {
        let word = word.to_ascii_lowercase();
        word.starts_with("@agent-") || word.starts_with("@run-agent-")
    };
    let words: Vec<&str> = own.split_whitespace().filter(|word| !is_mention(word)).collect();
    let what = if words.is_empty() { "Give an overview of this project".to_owned() } else { words.join(" ") };
    (!agents.is_empty()).then_some((what, agents))
}
