//! Answering "who calls it, where is it used": the uses that the tool finds by name.
//!
//! Owns telling such questions, and tests from other code. Leaves finding uses to the tool. Invariant: uses are
//! found by name alone, and the answer counts only lines that a tool showed.

use super::{Found, symbols};
use crate::offline::evidence::{CitedPlace, Evidence};
use crate::offline::report::Reported;
use crate::offline::text::paths::{self, Area};
use crate::offline::text::terms::{Terms, last_segment};
use crate::offline::text::{contains_any, lists};

/// Words that ask for uses, in whatever order they come, and words that such a request begins with.
const ASKING: &str = "import imports imported call calls called caller callers calling use uses used user users usage usages referenced references \
    invoked invokes";
const BEGINNINGS: &str = "who what where which find show list callers usages uses references";
/// What asks for something else with the same words.
const OTHER: &str = "used for|used to|is used by|what is |what does ";

/// Uses listed.
const LISTED: usize = 12;

/// Answers a question that asks for the uses of a name.
pub(super) fn answer(question: &str, evidence: &Evidence) -> Option<Reported> {
    wanted(question).map(|name| search(&name, question.to_lowercase().contains("import"), evidence))
}

/// Reads the name whose uses a request asks for, without what it belongs to.
fn wanted(request: &str) -> Option<String> {
    let lower = request.to_lowercase();
    let mut words = lower.split(|c: char| !c.is_alphanumeric() && c != '_');
    let begins = words.clone().next().is_some_and(|first| lists(BEGINNINGS, first));
    if !begins || !words.any(|word| lists(ASKING, word)) || contains_any(&lower, OTHER) {
        return None;
    }
    let terms = Terms::of(request).without(ASKING);
    let name = match (terms.exact.as_slice(), terms.paths.as_slice(), terms.words.as_slice()) {
        ([name], [], _) => name,
        ([], [], [word]) => terms.cased.iter().find(|name| name.to_lowercase() == word.raw).unwrap_or(&word.raw),
        _ => return None,
    };
    Some(last_segment(name.trim_end_matches("()")).to_owned())
}

fn search(name: &str, imports: bool, evidence: &Evidence) -> Reported {
    let search = symbols::references(name, imports);
    evidence.ask([search.clone()])?;
    let is_definition = |place: &CitedPlace| place.kind.starts_with("definition");
    let (mut definitions, mut uses): (Vec<_>, Vec<_>) =
        symbols::places(&search, evidence).into_iter().partition(is_definition);
    definitions.sort_by_key(|place| (paths::area(&place.path), place.path.clone(), place.line));
    uses.retain(|place| paths::area(&place.path) != Area::Foreign && !paths::is_declaration(&place.path));
    // Those in code come before those in tests, and calls before the rest.
    let called = format!("{name}(");
    uses.sort_by_key(|place| (is_test(place), !place.text.contains(&called), place.path.clone(), place.line));
    let in_code = uses.iter().filter(|place| !is_test(place)).count();
    for place in &mut uses {
        place.name = last_segment(&place.name).to_owned();
    }
    let quoted = format!("`{name}`");
    let subject = definitions.first().map_or(quoted.clone(), |found| {
        let kind = found.kind.trim_start_matches("definition").trim();
        format!("The {kind} {quoted} ({})", found.cite())
    });
    let listed = evidence.output(&search).unwrap_or_default();
    let least = if listed.contains(" more; narrow") { "at least " } else { "" };
    let count = |count: usize| if count == 1 { "1 place".to_owned() } else { format!("{count} places") };
    let summary = match (in_code, uses.len() - in_code) {
        (0, 0) if !definitions.is_empty() && listed.contains("not looked into") => {
            format!("{subject} is used nowhere else by that name in the files whose language is known here.")
        }
        (0, 0) if !definitions.is_empty() => format!("{subject} is used nowhere else by that name."),
        (0, 0) if listed.starts_with("Nothing") || listed.is_empty() => {
            let among = if listed.contains("not looked into") { " whose language is known here" } else { "" };
            format!("Nothing in the files{among} is called {quoted}.")
        }
        (0, 0) => format!("No code uses {quoted}; only comments, imports or texts mention it."),
        (0, tests) => format!("{subject} is used only in tests and examples, at {least}{}.", count(tests)),
        (code, 0) => format!("{subject} is used at {least}{}.", count(code)),
        (code, tests) => {
            format!("{subject} is used at {least}{}, and at {tests} in tests and examples.", count(code))
        }
    };
    Found { summary, places: uses, listed: LISTED, excerpt: 0 }.report(evidence)
}

fn is_test(place: &CitedPlace) -> bool {
    let inline = ["tests.", "test.", "test_"].iter().any(|start| place.name.starts_with(start));
    inline || matches!(paths::area(&place.path), Area::Test | Area::Example)
}
