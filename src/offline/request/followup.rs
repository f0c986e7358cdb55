//! Requests that lean on what was said before: "and where is it tested?".
//!
//! Owns telling such requests and putting the name in. Leaves understanding the result to the module above. Invariant: a
//! request that names something of its own is left as it is.

use crate::offline::text::lists;
use crate::offline::text::terms::{Terms, last_segment};

/// Words that stand for what was spoken of.
const PRONOUNS: &str = "it its that this they them their these those there";

/// Beginnings that go on with something.
const GOING_ON: [&str; 5] = ["and ", "but ", "also ", "what about ", "how about "];

/// Words that a follow-up may have without naming a matter of its own.
const ASIDE: &str = " test tests tested testing called calls call caller callers used uses usage usages documented docs documentation configured config \
 created set read written default value defaults type types returned returns return changed added last when commit commits ";

/// Returns the request with the matter put in that it leans on, where it does.
pub(crate) fn resolved(request: &str, before: Option<(&str, &str)>) -> String {
    let Some((asked, answered)) = before else { return request.to_owned() };
    let lower = request.trim().to_lowercase();
    let goes_on = GOING_ON.iter().find(|start| lower.starts_with(*start));
    let words: Vec<&str> = lower.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|w| !w.is_empty()).collect();
    let leans = words.iter().any(|word| lists(PRONOUNS, word));
    let speaks_of_project = ["project", "repository", "repo", "codebase", "crate", "package", "library", "code"]
        .iter()
        .any(|whole| words.contains(whole));
    let terms = Terms::of(request);
    let names_something =
        !terms.exact.is_empty() || !terms.paths.is_empty() || terms.words.iter().any(|word| !lists(ASIDE, &word.raw));
    if names_something || speaks_of_project || words.len() > 12 || (goes_on.is_none() && !leans) {
        return request.to_owned();
    }
    let Some(matter) = matter(asked, answered) else { return request.to_owned() };
    let start = goes_on.map_or(0, |start| start.len());
    let rest = request.trim().get(start..).unwrap_or(request).trim_end_matches(['?', '.', '!']);
    let mut put_in = false;
    let said: Vec<String> = rest
        .split_whitespace()
        .map(|word| {
            let bare = word.to_lowercase();
            if !put_in && lists(PRONOUNS, &bare) {
                put_in = true;
                return matter.clone();
            }
            word.to_owned()
        })
        .collect();
    if put_in { said.join(" ") } else { format!("{} {matter}", said.join(" ")) }
}

/// Returns what was spoken of: the name that the answer is about, else the terms of the request.
fn matter(asked: &str, answered: &str) -> Option<String> {
    let first = answered.lines().next().unwrap_or_default();
    let named = first.split('`').skip(1).step_by(2).find(|piece| {
        let is_name = piece.chars().all(|c| c.is_alphanumeric() || "_$.".contains(c));
        is_name && piece.chars().any(char::is_alphabetic)
    });
    let is_about = ["The ", "`"].iter().any(|start| first.starts_with(start));
    if let Some(name) = named.filter(|_| is_about) {
        return Some(format!("`{}`", last_segment(name)));
    }
    let terms = Terms::of(asked);
    let exact = terms.exact.iter().map(|name| format!("`{name}`"));
    let words = terms.words.iter().map(|word| word.raw.clone());
    let all: Vec<String> = exact.chain(terms.paths.iter().cloned()).chain(words).collect();
    (!all.is_empty()).then(|| all.join(" "))
}
