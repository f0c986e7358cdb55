//! Answering "where, how, what, which": the definitions that a question means, and the lines that state a value.
//!
//! Owns the queries, and what counts as certain. Leaves the order to the tool. Invariant: cites only what a tool showed,
//! and says so where not all of the question was found.

use super::{Found, UNCERTAIN, nothing, symbols};
use crate::offline::evidence::{CitedPlace, Evidence, PlannedCall};
use crate::offline::report::Reported;
use crate::offline::text::paths::{self, Area};
use crate::offline::text::terms::{Terms, last_segment};
use crate::offline::text::{contains_any, parts};

/// Definitions asked for, places listed, and lines of an excerpt.
const MOST: usize = 8;
const LISTED: usize = 5;
const EXCERPT: usize = 22;

const FUNCTIONS: &str = "which function|which method|what function|what method";
const TYPES: &str = "which class|which type|which struct|what class|what type|what struct";

/// Answers a question by definitions, and by the lines that state a value if it asks for one.
pub(crate) fn answer(question: &str, evidence: &Evidence) -> Reported {
    let lower = question.to_lowercase();
    let kind = [(FUNCTIONS, "function"), (TYPES, "type")];
    let kind = kind.into_iter().find(|(phrases, _)| contains_any(&lower, phrases)).map_or("", |(_, kind)| kind);
    let terms = Terms::of(question);
    // A name alone is looked up; all else is told in the words of the question.
    let query = if terms.words.is_empty() { terms.query() } else { question.to_owned() };
    let values = contains_any(&lower, ASKING).then(|| symbols::values(question, MOST_VALUES));
    search(&terms, &symbols::definitions(&query, kind, MOST), values.as_ref(), evidence)
}

/// Answers a question about one name, such as `res.json`.
pub(crate) fn answer_name(name: &str, evidence: &Evidence) -> Reported {
    let terms = Terms { exact: vec![name.to_owned()], ..Terms::default() };
    search(&terms, &symbols::definitions(&terms.query(), "", MOST), None, evidence)
}

fn search(terms: &Terms, search: &PlannedCall, values: Option<&PlannedCall>, evidence: &Evidence) -> Reported {
    let paths = terms.paths.iter().filter(|path| !path.contains('*')).take(3);
    let looks = paths.flat_map(|path| symbols::looks(path));
    evidence.ask(looks.chain((terms.count() > 0).then(|| search.clone())).chain(values.cloned()))?;
    let mut places: Vec<CitedPlace> =
        terms.paths.iter().filter_map(|path| symbols::file_place(path, evidence)).collect();
    let mut is_certain = !places.is_empty();
    if let Some(values) = values {
        let (lines, is_sure) = stated(&terms.telling(), values, evidence);
        is_certain |= is_sure;
        places.extend(lines);
    }
    let defined = defined(search, evidence);
    if places.is_empty() {
        is_certain = defined.first().is_some_and(|best| is_meant(best, terms));
    }
    places.extend(defined);
    CitedPlace::keep_first(&mut places);
    places.truncate(LISTED);
    let Some(best) = places.first() else { return Ok(nothing(&terms.names())) };
    let said = best.statement(&evidence.lines_of(&best.path));
    let doubt = format!("{UNCERTAIN} for {}; this is the nearest. ", terms.names());
    let summary = if is_certain { said } else { doubt + &said };
    Found { summary, places, listed: LISTED, excerpt: EXCERPT }.report(evidence)
}

/// Returns the definitions found, without what people did not write.
fn defined(search: &PlannedCall, evidence: &Evidence) -> Vec<CitedPlace> {
    let mut all = symbols::places(search, evidence);
    all.retain(|place| paths::area(&place.path) != Area::Foreign && !paths::is_declaration(&place.path));
    // What a compiler wrote stands beside its source.
    let is_source = |place: &&CitedPlace| paths::extension(&place.path) == "ts";
    let sources: Vec<String> = all.iter().filter(is_source).map(|place| place.name.clone()).collect();
    all.retain(|place| paths::extension(&place.path) != "js" || !sources.contains(&place.name));
    all
}

/// Returns `true` if a definition has what was asked for, in its name, its documentation or its path: a word in a body may
/// be there for anything.
fn is_meant(best: &CitedPlace, terms: &Terms) -> bool {
    let text = format!("{} {} {} {}", best.path, best.name, best.text, best.doc);
    let telling = terms.telling();
    let is_told = |name: &str| parts(name).iter().all(|part| telling.told(part) > 0);
    // The very name that was asked for is all there is to ask. One word alone has to be the whole name, or that of the
    // file: in a longer name it may be there for anything.
    match terms.exact.as_slice() {
        [] if telling.count() == 1 => {
            is_told(last_segment(&best.name)) || telling.told(paths::file_name(&best.path)) > 0
        }
        [] => telling.told(&text) >= telling.count(),
        names => names.iter().any(|name| last_segment(name) == last_segment(&best.name)),
    }
}

/// What asks for a value, and how many lines that state one are asked for and used.
const ASKING: &str = "default|limit|maximum|at most|how long|how many|how much|how large|how big|how deep|biggest|largest|\
    the value of|which port|environment variable|timeout";
const MOST_VALUES: usize = 12;
const USED_VALUES: usize = 3;

/// Returns the lines that state a value, the best first, and whether that has all of the terms.
fn stated(terms: &Terms, search: &PlannedCall, evidence: &Evidence) -> (Vec<CitedPlace>, bool) {
    let mut all = symbols::places(search, evidence);
    all.retain(|place| matches!(paths::area(&place.path), Area::Source | Area::Setting));
    all.truncate(USED_VALUES);
    let told =
        |place: &CitedPlace| terms.told(&format!("{} {} {}", paths::file_name(&place.path), place.name, place.text));
    // One word alone is certain only on a line that is about a default or a limit itself.
    let is_about = |place: &CitedPlace| contains_any(&place.text.to_lowercase(), "default|max|min|limit|most");
    let is_sure = |best: &CitedPlace| (terms.count() > 1 || is_about(best)) && told(best) >= terms.count();
    let is_certain = all.first().is_some_and(is_sure);
    // The first is told as what it is; of the others the line is what counts.
    for (at, place) in all.iter_mut().enumerate() {
        if at > 0 || place.kind.starts_with("value") || !place.text.contains(['=', ':']) {
            (place.kind, place.name) = ("setting".to_owned(), String::new());
        }
    }
    (all, is_certain)
}
