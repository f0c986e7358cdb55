//! Answering "list the commands, which processors are there": what holds them all, or all that are named so.
//!
//! Owns telling such questions, and what is a list. Leaves the order to the tool. Invariant: cites only what a tool
//! showed, and says so where nothing is a list for sure.

use super::symbols::{self, SymbolEntry};
use super::{UNCERTAIN, window};
use crate::offline::evidence::{Evidence, PlannedCall};
use crate::offline::report::{AnswerPart, CitedPlace, Report, shorten};
use crate::offline::text::parts;
use crate::offline::text::paths::{self, Area};
use crate::offline::text::terms::{Terms, last_segment};

/// Definitions asked for, and shown.
const ASKED: usize = 60;
const SHOWN: usize = 20;
const ASKED_OF_KIND: usize = 10;
/// What holds many things, and what each of many things may be.
const HOLDERS: [&str; 4] = ["enum", "constant", "variable", "property"];
const TYPES: [&str; 6] = ["class", "struct", "module", "object", "interface", "trait"];
/// So many of a kind make a list.
const FEWEST: usize = 3;
const EXCERPT: usize = 60;

/// Words that ask for all of a kind, and name none.
const ASKING: &str = "list enumerate all every available supported support supports there are come comes with it exist exists choose from \
    known built-in builtin possible different offered offer offers";

#[derive(Debug)]
pub(crate) struct Enumeration {
    terms: Terms,
}

/// What a question is answered with.
enum Found {
    /// One place that holds all.
    Whole(SymbolEntry),
    /// Each by itself, in one folder.
    Each(Vec<SymbolEntry>),
    Nearest(Vec<SymbolEntry>),
}

impl Enumeration {
    pub(crate) fn wanted(question: &str) -> Option<Self> {
        let lower = question.trim().to_lowercase();
        let lower = lower.trim_end_matches(['?', '.', '!', ' ']);
        let begins = ["list ", "enumerate ", "show all ", "name all "].iter().any(|start| lower.starts_with(start));
        let asks = ["which ", "what "].iter().any(|start| lower.starts_with(start))
            && [
                " are there",
                " are there to choose from",
                " come with it",
                " are supported",
                " are available",
                " exist",
            ]
            .iter()
            .any(|end| lower.contains(end));
        if !begins && !asks {
            return None;
        }
        let terms = Terms::of(question).without(ASKING);
        (terms.count() > 0).then_some(Self { terms })
    }

    fn search(&self, kind: Option<&'static str>) -> PlannedCall {
        let limit = if kind.is_some() { ASKED_OF_KIND } else { ASKED };
        symbols::definitions(&self.terms.query(), kind, limit)
    }

    fn entries(&self, kind: Option<&'static str>, evidence: &Evidence) -> Vec<SymbolEntry> {
        let mut entries = symbols::entries(&self.search(kind), evidence);
        entries.retain(|entry| paths::area(&entry.path) == Area::Source && !paths::is_declaration(&entry.path));
        entries
    }

    fn found(&self, evidence: &Evidence) -> Found {
        let mut entries = self.entries(None, evidence);
        // The thing itself stands last in what is asked for: of the log levels, the levels.
        let Some(last) = self.terms.words.last().cloned() else { return Found::Nearest(entries) };
        let ends = |entry: &SymbolEntry| -> bool {
            let parts = parts(last_segment(&entry.name));
            let is_table =
                |word: &str| matches!(word, "table" | "list" | "all" | "map" | "set" | "sets" | "type" | "kind");
            parts.iter().rev().find(|part| !is_table(part)).is_some_and(|part| last.matches(part))
        };
        let holders = HOLDERS.iter().flat_map(|kind| self.entries(Some(kind), evidence)).filter(ends);
        let is_whole = |entry: &&SymbolEntry| {
            let name = last_segment(&entry.name);
            let count = parts(name).len();
            let is_many = name.to_lowercase().trim_end_matches(['_', '?', '!']).ends_with('s') || name.contains("able");
            match entry.kind.as_str() {
                "enum" => count <= self.terms.words.len() + 1,
                "constant" | "variable" | "property" | "type" => is_many && count <= self.terms.words.len() + 2,
                _ => false,
            }
        };
        let wholes: Vec<SymbolEntry> = holders.filter(|entry| is_whole(&entry)).collect();
        // The first of those that tell most.
        let most = wholes.iter().map(|entry| self.terms.told(&entry.name)).max();
        if let Some(whole) = wholes.into_iter().find(|entry| Some(self.terms.told(&entry.name)) == most) {
            return Found::Whole(whole);
        }
        let folder = |entry: &SymbolEntry| entry.path.rsplit_once('/').map_or("", |(folder, _)| folder).to_owned();
        let each = |entry: &&SymbolEntry| {
            TYPES.contains(&entry.kind.as_str())
                && self.terms.told(&format!("{} {}", entry.path, entry.name)) >= self.terms.count()
        };
        let all: Vec<&SymbolEntry> = entries.iter().filter(|entry| ends(entry)).filter(each).collect();
        let most =
            all.iter().map(|entry| folder(entry)).max_by_key(|at| all.iter().filter(|one| folder(one) == *at).count());
        let own: Vec<SymbolEntry> = all.into_iter().filter(|entry| Some(folder(entry)) == most).cloned().collect();
        if own.len() >= FEWEST {
            return Found::Each(own);
        }
        // What does something seldom holds a list; what is named after all that is asked for may.
        let is_deed = |entry: &SymbolEntry| matches!(entry.kind.as_str(), "function" | "method");
        let is_named = |entry: &SymbolEntry| ends(entry) && self.terms.told(&entry.name) >= self.terms.count();
        entries.sort_by_key(|entry| (is_deed(entry) || !is_named(entry), entry.is_spare, is_deed(entry)));
        Found::Nearest(entries)
    }

    fn read(&self, evidence: &Evidence) -> Option<CitedPlace> {
        match self.found(evidence) {
            Found::Whole(entry) => Some(entry.place()),
            Found::Each(_) => None,
            Found::Nearest(entries) => entries.first().map(SymbolEntry::place),
        }
    }
}

impl AnswerPart for Enumeration {
    fn stage(&self, n: usize, evidence: &Evidence) -> Option<Vec<PlannedCall>> {
        match n {
            0 => Some(std::iter::once(None).chain(HOLDERS.map(Some)).map(|kind| self.search(kind)).collect()),
            1 => Some(self.read(evidence).iter().map(window).collect()),
            _ => None,
        }
    }

    fn report(&self, evidence: &Evidence) -> Report {
        let names = self.terms.names();
        let (summary, findings) = match self.found(evidence) {
            Found::Whole(entry) => {
                let place = entry.place();
                let excerpt = place.excerpt(&evidence.lines_of(&place.path), EXCERPT);
                let lines = excerpt.iter().flat_map(|text| text.lines()).map(str::to_owned).collect();
                (format!("The {} at `{}:{}` lists them.", place.label, place.path, place.line), lines)
            }
            Found::Each(entries) => {
                let summary = format!(
                    "{} are named after {names}, the first at `{}:{}`.",
                    entries.len(),
                    entries[0].path,
                    entries[0].line
                );
                let mut lines: Vec<String> = entries.iter().map(|entry| entry.place().bullet()).collect();
                shorten(&mut lines, SHOWN);
                (summary, lines)
            }
            Found::Nearest(entries) => match entries.first() {
                None => (format!("Nothing found for {names}. Try the exact name used in the code."), Vec::new()),
                Some(best) => {
                    let summary =
                        format!("{UNCERTAIN} that lists {names}; the nearest is `{}:{}`.", best.path, best.line);
                    (summary, entries.iter().take(6).map(|entry| entry.place().bullet()).collect())
                }
            },
        };
        Report { summary, findings, answer: String::new() }
    }
}
