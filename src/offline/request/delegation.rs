//! Requests that say how to delegate, "use 3 subagents: a; b; c", or to whom, "@agent-explore".
//!
//! Owns counting agents, splitting lists and reading mentions. Leaves what each item asks for to the module above.
//! Invariant: no item is lost.

use crate::offline::text::{lists, strip};

const NUMBERS: &str = "zero one two three four five six seven eight";
const AGENT_WORDS: &str = "subagents subagent sub-agents sub-agent agents agent subtasks subtask sub-tasks sub-task tasks task children workers";

/// How a request is to be divided among subagents.
#[derive(Debug)]
pub(crate) enum Delegated<'t> {
    Items(Vec<String>),
    /// So many subagents for one matter.
    Counted {
        count: usize,
        matter: &'t str,
    },
}

/// Reads requests that say how to delegate.
pub(crate) fn delegation(text: &str) -> Option<Delegated<'_>> {
    for prefix in ["delegate:", "delegate to a subagent:", "subagent:", "subtask:", "delegate "] {
        if let Some(rest) = strip(text, prefix) {
            return Some(Delegated::Items(vec![rest.trim().to_owned()]));
        }
    }
    let verb = ["use ", "spawn ", "start ", "launch ", "run ", "with ", "send ", "have "]
        .into_iter()
        .find_map(|verb| strip(text, verb))?;
    let head_end = verb.char_indices().nth(48).map_or(verb.len(), |(at, _)| at);
    let mut count = None;
    let mut at = 0;
    for word in verb[..head_end].split_inclusive([' ', ':', '\n', ',']) {
        at += word.len();
        let bare = word.trim_matches([' ', ':', '\n', ',']).to_lowercase();
        if let Some(number) = bare.parse().ok().or_else(|| NUMBERS.split(' ').position(|name| name == bare)) {
            count = Some(number);
        } else if lists(AGENT_WORDS, &bare) {
            return Some(assigned(count, verb[at..].trim_start()));
        } else if !lists("a an some several parallel explore different separate", &bare) {
            return None;
        }
    }
    None
}

fn assigned(count: Option<usize>, rest: &str) -> Delegated<'_> {
    let rest = ["in parallel", ":", "to ", "for ", "and have them ", "that ", "which ", "who ", "-"]
        .iter()
        .fold(rest, |rest, word| strip(rest, word).unwrap_or(rest).trim_start());
    let mut items = items(rest);
    if let (1, Some(count)) = (items.len(), count.filter(|count| *count > 1)) {
        let parts = split_into(rest, count);
        if parts.len() != count {
            return Delegated::Counted { count: count.min(8), matter: rest };
        }
        items = parts;
    }
    items.truncate(20);
    Delegated::Items(items)
}

/// Splits a list: by semicolons, or by lines that begin with a number or a mark.
fn items(text: &str) -> Vec<String> {
    let marked: Vec<&str> = text.lines().filter_map(list_item).collect();
    if marked.len() > 1 {
        return marked.into_iter().map(str::to_owned).collect();
    }
    let parts: Vec<&str> = text.split(';').map(str::trim).filter(|part| !part.is_empty()).collect();
    parts.into_iter().map(|part| strip(part, "and ").unwrap_or(part).trim_end_matches('.').to_owned()).collect()
}

fn list_item(line: &str) -> Option<&str> {
    let line = line.trim();
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let rest = if digits > 0 { line[digits..].strip_prefix(['.', ')'])? } else { line.strip_prefix(['-', '*'])? };
    rest.starts_with(' ').then(|| rest.trim()).filter(|rest| !rest.is_empty())
}

/// Splits at commas and "and" when that gives just as many parts as were asked for.
fn split_into(text: &str, count: usize) -> Vec<String> {
    let clean = |part: &str| strip(part.trim(), "and ").unwrap_or(part.trim()).trim_end_matches('.').to_owned();
    for separator in [", ", " and "] {
        let parts: Vec<String> = text.split(separator).map(clean).filter(|part| !part.is_empty()).collect();
        if parts.len() == count {
            return parts;
        }
    }
    text.split(", ").flat_map(|part| part.split(" and ")).map(clean).filter(|part| !part.is_empty()).collect()
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
