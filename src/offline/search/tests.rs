//! Answering "which tests cover it, where is it tested": files of tests named after it, and tests that speak of it.
//!
//! Owns telling such questions. Leaves the testing framework to `project`. Invariant: cites only what a tool showed.

use super::{Found, UNCERTAIN, nothing, symbols};
use crate::offline::evidence::{CitedPlace, Evidence};
use crate::offline::report::Reported;
use crate::offline::text::terms::Terms;
use crate::offline::text::{contains_any, paths};

/// Tests asked for, and listed.
const ASKED: usize = 40;
const LISTED: usize = 6;
const ASKING: &str = " tested|which tests|what tests|tests for|tests of|test covers|fuzzed";

/// Answers a question that asks for tests of something.
pub(super) fn answer(question: &str, evidence: &Evidence) -> Option<Reported> {
    let mut terms = Terms::of(question);
    terms.words.retain(|word| !["test", "cover", "fuzz"].contains(&word.stem.as_str()) || word.raw == "fuzzed");
    let asks = terms.count() > 0 && contains_any(&question.to_lowercase(), ASKING);
    asks.then(|| search(&terms, evidence))
}

fn search(terms: &Terms, evidence: &Evidence) -> Reported {
    // One word alone would be taken for the name of a test.
    let search = symbols::definitions(&format!("of {}", terms.query()), "test", ASKED);
    evidence.ask([search.clone()])?;
    let all = symbols::places(&search, evidence);
    let told =
        |place: &CitedPlace| if paths::is_fixture(&place.path) { 0 } else { terms.told(paths::file_name(&place.path)) };
    let most = all.iter().map(told).max().unwrap_or(0);
    let is_named = most * 2 > terms.count();
    // What stands in a file that is named after most of the terms comes before the rest, the shortest name first.
    let mut named: Vec<&CitedPlace> = all.iter().filter(|place| is_named && told(place) == most).collect();
    named.sort_by_key(|place| (place.path.len(), place.path.clone()));
    named.dedup_by(|a, b| a.path == b.path);
    let likely = all.iter().filter(|place| !place.is_spare);
    let mut places: Vec<CitedPlace> = named.into_iter().take(2).chain(likely).cloned().collect();
    CitedPlace::keep_first(&mut places);
    let (names, is_certain) = (terms.names(), is_named || symbols::is_exact(&search, evidence));
    let Some(cite) = places.first().map(CitedPlace::cite) else { return Ok(nothing(&names)) };
    let summary = if is_certain {
        format!("The tests of {names} begin with {cite}.")
    } else {
        format!("{UNCERTAIN} on tests of {names}; the nearest is {cite}.")
    };
    Found { summary, places, listed: LISTED, excerpt: 0 }.report(evidence)
}
