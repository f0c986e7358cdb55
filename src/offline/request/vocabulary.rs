//! Which whole-project requests, topics and requests beyond rules a text is, by its words.
//!
//! Owns how the words count. Leaves the words to `tables`, and the order in which they are asked to the module above.
//! Invariant: a request is about the whole project, or one side of it, only if it names nothing else.

use crate::offline::tables::{Topic, TopicRow, row, tables};
use crate::offline::text::terms::Terms;
use crate::offline::text::{contains_any, lists};

/// Returns what a request asks for that only a language model can do.
pub(crate) fn beyond(lower: &str) -> Option<&'static str> {
    let mut words = lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let first = words.next()?;
    if ["explain", "tell"].contains(&first) && lower.split_whitespace().take(4).any(|word| word == "why") {
        return Some("Explaining why");
    }
    if first == "when" || contains_any(lower, "who added|who wrote|who introduced|who changed|who removed|which commit")
    {
        return Some("Telling when something came, and by whom,");
    }
    // "Design of …" and "update history" name a thing, not a deed.
    let is_judgement = matches!(first, "why" | "should");
    if !is_judgement && words.next().is_some_and(|second| lists("of overview history log is in", second)) {
        return None;
    }
    tables().beyond.iter().find(|(_, list)| lists(list, first)).map(|(what, _)| what.as_str())
}

/// What may stand between what rules can do and what they cannot. All but the first only before what is surely a deed.
const JOINTS: [&str; 4] = [" then ", ". ", "; ", " and "];
const DEEDS: &str = "refactor rewrite implement fix";

/// Splits off the end of a request that only a language model can do: "explore the code, then refactor it". Returns what
/// stands before it, and what the end asks for.
pub(crate) fn beyond_at_end(text: &str) -> Option<(&str, &'static str)> {
    let joint = |joint: &'static str| text.match_indices(joint).map(move |(at, _)| (at, joint));
    let mut joints: Vec<(usize, &str)> = JOINTS.into_iter().flat_map(joint).collect();
    joints.sort_unstable();
    joints.into_iter().find_map(|(at, joint)| {
        let rest = text[at + joint.len()..].to_lowercase();
        let what = beyond(rest.trim_start())?;
        let is_deed = rest.split_whitespace().next().is_some_and(|first| lists(DEEDS, first));
        let head = text[..at].trim_end_matches([' ', ',']);
        let head = head.strip_suffix(" and").unwrap_or(head).trim_end_matches(',');
        (is_deed || joint == " then ").then_some((head, what))
    })
}

/// Returns `true` if a request is about the whole project and nothing else.
pub(crate) fn is_overview(lower: &str) -> bool {
    let words: Vec<&str> =
        lower.split(|c: char| !(c.is_alphanumeric() || c == '-')).filter(|word| !word.is_empty()).collect();
    let known = &tables().overview;
    let speaks_of_project = words.iter().any(|word| lists(&known.project, word))
        || ["what is this", "overview", "architecture", "give me a tour"].contains(&lower.trim_end_matches('?'));
    let asks = words.iter().any(|word| lists(&known.words, word))
        || lower.starts_with("what is")
        || lower.starts_with("what's");
    speaks_of_project && asks && leftover(lower, &[&known.project, &known.words]) == 0
}

/// Counts the terms that none of the vocabularies knows.
fn leftover(text: &str, vocabularies: &[&str]) -> usize {
    let terms = Terms::of(text);
    let unknown = |raw: &str| !vocabularies.iter().any(|list| lists(list, raw));
    terms.exact.len() + terms.paths.len() + terms.words.iter().filter(|word| unknown(&word.raw)).count()
}

/// Returns the side of the project that a text is about, if it is about nothing else. What it depends on may be one thing
/// that has a name.
pub(crate) fn topic(lower: &str) -> Option<Topic> {
    let settled =
        contains_any(lower, "testing framework|test framework|dependencies of this project|tests of this project");
    let known = &tables().overview;
    let fits = |row: &&TopicRow| {
        let named = usize::from(row.topic == Topic::Dependencies);
        let words = [&*row.words, &known.project, &known.words, &known.filler];
        contains_any(lower, &row.phrases) && (settled || leftover(lower, &words) <= named)
    };
    tables().topics.iter().find(fits).map(|row| row.topic)
}

/// Returns the terms of a text that are not the words of a topic.
pub(crate) fn beside(topic: Topic, text: &str) -> Terms {
    let (known, words) = (&tables().overview, row(topic).map_or("", |row| &row.words));
    Terms::of(text).without(words).without(&known.project).without(&known.words).without(&known.filler)
}
