//! Answering "where, how, what, which": the definitions that a question means.
//!
//! Owns the queries, and what counts as certain. Leaves the order to the tool. Invariant: cites only what a tool showed,
//! and says so where not all of the question was found.

use std::fmt::Write as _;

use super::symbols::{self, SymbolEntry};
use super::values::Values;
use super::{UNCERTAIN, window};
use crate::offline::evidence::{Evidence, PlannedCall};
use crate::offline::report::{AnswerPart, CitedPlace, Report};
use crate::offline::text::paths::{self, Area};
use crate::offline::text::terms::{Terms, last_segment};
use crate::offline::text::{contains_any, parts};

/// Definitions asked for, places shown, lines of an excerpt, and lines looked at where nothing is defined.
const MOST: usize = 8;
const SHOWN: usize = 5;
const EXCERPT: usize = 22;
const MOST_LINES: usize = 60;

#[derive(Debug)]
pub(crate) struct Definitions {
    pub(crate) terms: Terms,
    /// What the tool is asked for.
    query: String,
    kind: Option<&'static str>,
    values: Option<Values>,
}

impl Definitions {
    pub(crate) fn new(question: &str) -> Self {
        let lower = question.to_lowercase();
        let kind = if contains_any(&lower, "which function|which method|what function|what method") {
            Some("function")
        } else if contains_any(&lower, "which class|which type|which struct|what class|what type|what struct") {
            Some("type")
        } else {
            None
        };
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

    fn lines(&self) -> Option<PlannedCall> {
        Some(PlannedCall::grep(&self.terms.any_pattern()?, MOST_LINES))
    }

    fn entries(&self, evidence: &Evidence) -> Vec<SymbolEntry> {
        let mut entries = symbols::entries(&self.search(), evidence);
        entries.retain(|entry| paths::area(&entry.path) != Area::Foreign && !paths::is_declaration(&entry.path));
        // What a compiler wrote stands beside its source.
        let sources: Vec<String> = entries
            .iter()
            .filter(|entry| paths::extension(&entry.path) == "ts")
            .map(|entry| entry.name.clone())
            .collect();
        entries.retain(|entry| paths::extension(&entry.path) != "js" || !sources.contains(&entry.name));
        entries
    }

    /// Returns `true` if the best definition has what was asked for, in its name, its documentation or its path: a word
    /// in a body may be there for anything.
    fn is_certain(&self, evidence: &Evidence) -> bool {
        let Some(best) = self.entries(evidence).into_iter().next() else { return false };
        let text = format!("{} {} {} {}", best.path, best.name, best.text, best.doc);
        let telling = self.terms.telling();
        // The very name that was asked for is all there is to ask. One word alone has to be the whole name: in a longer
        // one it may be there for anything.
        match self.terms.exact.as_slice() {
            [] if telling.count() == 1 => parts(last_segment(&best.name)).iter().all(|part| telling.told(part) > 0),
            [] => telling.told(&text) >= telling.count(),
            names => names.iter().any(|name| last_segment(name) == last_segment(&best.name)),
        }
    }

    /// Returns the places, the best first, and whether the best is certain.
    fn places(&self, evidence: &Evidence) -> (Vec<CitedPlace>, bool) {
        let mut places: Vec<CitedPlace> = Vec::new();
        let mut is_certain = false;
        for path in &self.terms.paths {
            places.extend(file_place(path, evidence));
            is_certain = !places.is_empty();
        }
        if let Some(values) = &self.values {
            let (lines, is_sure) = values.places(evidence);
            is_certain |= is_sure && places.is_empty();
            places.extend(lines);
        }
        if places.is_empty() {
            is_certain = self.is_certain(evidence);
        }
        let entries = self.entries(evidence);
        places.extend(entries.iter().map(SymbolEntry::place));
        if places.is_empty() {
            places = self.found_lines(evidence);
        }
        CitedPlace::keep_first(&mut places);
        places.truncate(MOST);
        (places, is_certain)
    }

    /// Returns the lines with most of the terms, where nothing is defined that has any.
    fn found_lines(&self, evidence: &Evidence) -> Vec<CitedPlace> {
        let mut hits = self.lines().map(|call| evidence.hits(&call)).unwrap_or_default();
        hits.retain(|hit| paths::area(&hit.path) != Area::Foreign && self.terms.told(&hit.text) > 0);
        hits.sort_by_key(|hit| {
            let told = self.terms.told(&format!("{} {}", hit.path, hit.text));
            (std::cmp::Reverse(told), paths::area(&hit.path), hit.path.clone(), hit.line)
        });
        let place = |hit: crate::offline::evidence::Hit| CitedPlace {
            path: hit.path,
            line: hit.line,
            label: "text".to_owned(),
            text: hit.text.trim().to_owned(),
        };
        hits.into_iter().take(4).map(place).collect()
    }
}

impl AnswerPart for Definitions {
    fn stage(&self, n: usize, evidence: &Evidence) -> Option<Vec<PlannedCall>> {
        match n {
            0 => {
                let paths = self.terms.paths.iter().filter(|path| !path.contains('*')).take(3);
                let mut calls: Vec<PlannedCall> = paths.flat_map(|path| symbols::looks(path)).collect();
                if self.terms.count() > 0 {
                    calls.push(self.search());
                }
                calls.extend(self.values.iter().map(Values::search));
                Some(calls)
            }
            1 if self.entries(evidence).is_empty() => Some(self.lines().into_iter().collect()),
            1 => Some(self.places(evidence).0.iter().take(2).map(window).collect()),
            _ => None,
        }
    }

    fn report(&self, evidence: &Evidence) -> Report {
        let (places, is_certain) = self.places(evidence);
        let names = self.terms.names();
        let Some(best) = places.first() else {
            let summary = format!("Nothing found for {names}. Try the exact name used in the code.");
            return Report { summary, ..Report::default() };
        };
        let cite = format!("`{}:{}`", best.path, best.line);
        let lines = evidence.lines_of(&best.path);
        let (summary, mut answer) = if is_certain {
            (format!("The best of {} for {names} is {cite}.", places.len()), String::new())
        } else {
            let summary = format!("{UNCERTAIN} for {names}; the nearest is {cite}.");
            (summary, format!("{UNCERTAIN} for {names}; this is the nearest. "))
        };
        answer.push_str(&best.statement(&lines));
        if let Some(excerpt) = best.excerpt(&lines, EXCERPT) {
            let _ = write!(answer, "\n\n{excerpt}");
        }
        Report { summary, findings: places.iter().take(SHOWN).map(CitedPlace::bullet).collect(), answer }
    }
}

/// Returns the place that tells of a file that the request names.
fn file_place(path: &str, evidence: &Evidence) -> Option<CitedPlace> {
    let about = symbols::about(path, evidence).map(|entry| (entry.line, entry.doc));
    let (line, text) = about.or_else(|| Some((evidence.lines_of(path).into_keys().next()?, String::new())))?;
    Some(CitedPlace { path: path.to_owned(), line, label: "file".to_owned(), text })
}
