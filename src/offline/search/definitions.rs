//! Answering "where, how, what, which": the definitions that a question means, and the lines that state a value.
//!
//! Owns the queries, and what counts as certain. Leaves the order to the tool. Invariant: cites only what a tool showed,
//! and says so where not all of the question was found.

use super::symbols::{self, SymbolEntry};
use super::{Found, Search, UNCERTAIN};
use crate::offline::evidence::{Evidence, PlannedCall};
use crate::offline::report::CitedPlace;
use crate::offline::text::paths::{self, Area};
use crate::offline::text::terms::{Terms, last_segment};
use crate::offline::text::{contains_any, parts};

/// Definitions asked for, places listed, and lines of an excerpt.
const MOST: usize = 8;
const LISTED: usize = 5;
const EXCERPT: usize = 22;

const FUNCTIONS: &str = "which function|which method|what function|what method";
const TYPES: &str = "which class|which type|which struct|what class|what type|what struct";

#[derive(Debug)]
pub(crate) struct Definitions {
    terms: Terms,
    /// What the tool is asked for.
    query: String,
    kind: Option<&'static str>,
    values: Option<Values>,
}

impl Definitions {
    pub(crate) fn new(question: &str) -> Self {
        let lower = question.to_lowercase();
        let of_kind = |phrases, kind| contains_any(&lower, phrases).then_some(kind);
        let kind = of_kind(FUNCTIONS, "function").or_else(|| of_kind(TYPES, "type"));
        let terms = Terms::of(question);
        // A name alone is looked up; all else is told in the words of the question.
        let query = if terms.words.is_empty() { terms.query() } else { question.to_owned() };
        Self { terms, query, kind, values: Values::wanted(question) }
    }

    /// Returns the search for one name, such as `res.json`.
    pub(crate) fn named(name: &str) -> Self {
        let terms = Terms { exact: vec![name.to_owned()], ..Terms::default() };
        Self { query: terms.query(), terms, kind: None, values: None }
    }

    fn search(&self) -> PlannedCall {
        symbols::definitions(&self.query, self.kind, MOST)
    }

    fn entries(&self, evidence: &Evidence) -> Vec<SymbolEntry> {
        let mut entries = symbols::entries(&self.search(), evidence);
        entries.retain(|entry| paths::area(&entry.path) != Area::Foreign && !paths::is_declaration(&entry.path));
        // What a compiler wrote stands beside its source.
        let is_source = |entry: &&SymbolEntry| paths::extension(&entry.path) == "ts";
        let sources: Vec<String> = entries.iter().filter(is_source).map(|entry| entry.name.clone()).collect();
        entries.retain(|entry| paths::extension(&entry.path) != "js" || !sources.contains(&entry.name));
        entries
    }

    /// Returns `true` if a definition has what was asked for, in its name, its documentation or its path: a word in a body
    /// may be there for anything.
    fn is_meant(&self, best: &SymbolEntry) -> bool {
        let text = format!("{} {} {} {}", best.path, best.name, best.text, best.doc);
        let telling = self.terms.telling();
        let is_told = |name: &str| parts(name).iter().all(|part| telling.told(part) > 0);
        // The very name that was asked for is all there is to ask. One word alone has to be the whole name, or that of the
        // file: in a longer name it may be there for anything.
        match self.terms.exact.as_slice() {
            [] if telling.count() == 1 => {
                is_told(last_segment(&best.name)) || telling.told(paths::file_name(&best.path)) > 0
            }
            [] => telling.told(&text) >= telling.count(),
            names => names.iter().any(|name| last_segment(name) == last_segment(&best.name)),
        }
    }

    /// Returns the places, the best first, and whether the best is certain.
    fn places(&self, evidence: &Evidence) -> (Vec<CitedPlace>, bool) {
        let mut places: Vec<CitedPlace> =
            self.terms.paths.iter().filter_map(|path| symbols::file_place(path, evidence)).collect();
        let mut is_certain = !places.is_empty();
        if let Some(values) = &self.values {
            let (lines, is_sure) = values.places(evidence);
            is_certain |= is_sure;
            places.extend(lines);
        }
        let entries = self.entries(evidence);
        if places.is_empty() {
            is_certain = entries.first().is_some_and(|best| self.is_meant(best));
        }
        places.extend(entries.iter().map(SymbolEntry::place));
        CitedPlace::keep_first(&mut places);
        places.truncate(LISTED);
        (places, is_certain)
    }
}

impl Search for Definitions {
    fn calls(&self) -> Vec<PlannedCall> {
        let paths = self.terms.paths.iter().filter(|path| !path.contains('*')).take(3);
        let search = (self.terms.count() > 0).then(|| self.search());
        let values = self.values.iter().map(Values::search);
        paths.flat_map(|path| symbols::looks(path)).chain(search).chain(values).collect()
    }

    fn names(&self) -> String {
        self.terms.names()
    }

    fn found(&self, evidence: &Evidence) -> Option<Found> {
        let (places, is_certain) = self.places(evidence);
        let best = places.first()?;
        let said = best.statement(&evidence.lines_of(&best.path));
        let doubt = format!("{UNCERTAIN} for {}; this is the nearest. ", self.names());
        let summary = if is_certain { said } else { doubt + &said };
        Some(Found { summary, places, listed: LISTED, excerpt: EXCERPT })
    }
}

/// What asks for a value, and how many lines that state one are asked for and used.
const ASKING: &str = "default|limit|maximum|at most|how long|how many|how much|how large|how big|how deep|biggest|largest|\
    the value of|which port|environment variable|timeout";
const MOST_VALUES: usize = 12;
const USED_VALUES: usize = 3;

/// What finds lines that state a value, such as a default or a limit.
#[derive(Debug)]
struct Values {
    question: String,
    terms: Terms,
}

impl Values {
    fn wanted(question: &str) -> Option<Self> {
        let asks = contains_any(&question.to_lowercase(), ASKING);
        asks.then(|| Self { question: question.to_owned(), terms: Terms::of(question).telling() })
    }

    fn search(&self) -> PlannedCall {
        symbols::values(&self.question, MOST_VALUES)
    }

    /// Returns the lines that state a value, the best first, and whether that has all of the terms.
    fn places(&self, evidence: &Evidence) -> (Vec<CitedPlace>, bool) {
        let mut entries = symbols::entries(&self.search(), evidence);
        entries.retain(|entry| matches!(paths::area(&entry.path), Area::Source | Area::Setting));
        let told = |entry: &SymbolEntry| {
            self.terms.told(&format!("{} {} {}", paths::file_name(&entry.path), entry.name, entry.text))
        };
        let Some(best) = entries.first() else { return (Vec::new(), false) };
        // One word alone is certain only on a line that is about a default or a limit itself.
        let is_sure = self.terms.count() > 1 || contains_any(&best.text.to_lowercase(), "default|max|min|limit|most");
        let is_certain = is_sure && told(best) >= self.terms.count();
        // The first is told as what it is; of the others the line is what counts.
        let place = |(at, entry): (usize, SymbolEntry)| {
            if at == 0 && !entry.kind.starts_with("value") && entry.text.contains(['=', ':']) {
                return entry.place();
            }
            let text = entry.text.trim().to_owned();
            CitedPlace { path: entry.path, line: entry.line, label: "setting".to_owned(), text }
        };
        (entries.into_iter().take(USED_VALUES).enumerate().map(place).collect(), is_certain)
    }
}
