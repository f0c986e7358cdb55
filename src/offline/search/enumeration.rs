//! Answering "list the commands, which processors are there": what holds them all, or all that are named so.
//!
//! Owns telling such questions, and what is a list. Leaves the order to the tool. Invariant: cites only what a tool
//! showed, and says so where nothing is a list for sure.

use super::symbols::{self, SymbolEntry};
use super::{Found, Search, UNCERTAIN};
use crate::offline::evidence::{Evidence, PlannedCall};
use crate::offline::text::paths::{self, Area};
use crate::offline::text::terms::{TermWord, Terms, last_segment};
use crate::offline::text::{contains_any, lists, parts};

/// Definitions asked for, of any kind and of one, and listed.
const ASKED: usize = 60;
const ASKED_OF_KIND: usize = 10;
const LISTED: usize = 20;
/// What holds many things, and what each of many things may be.
const HOLDERS: [&str; 4] = ["enum", "constant", "variable", "property"];
const TYPES: &str = "class struct module object interface trait";
/// So many of a kind make a list.
const FEWEST: usize = 3;
const EXCERPT: usize = 60;

/// What begins or ends a question for all of a kind, and the words in it that name none.
const BEGINNINGS: [&str; 4] = ["list ", "enumerate ", "show all ", "name all "];
const ENDS: &str = " are there| come with it| are supported| are available| exist";
const ASKING: &str = "list enumerate all every available supported support supports there are come comes with it exist exists choose from \
    known built-in builtin possible different offered offer offers";
/// Words before the thing itself, and words that begin what is said of it.
const OPENING: &str = "which what show name the of me";
const CLOSING: &str =
    "a an the that which who for of in to with by from on at you i we it can may is are do does has have";
/// What may stand behind the thing itself in the name of what holds it.
const TABLES: &str = "table list all map set sets type kind";

#[derive(Debug)]
pub(crate) struct Enumeration {
    terms: Terms,
    /// What there are many of: the actions, in "the actions a key can be bound to".
    head: TermWord,
}

impl Enumeration {
    pub(crate) fn wanted(question: &str) -> Option<Self> {
        let lower = question.trim().to_lowercase();
        let begins = |starts: &[&str]| starts.iter().any(|start| lower.starts_with(start));
        let asks = begins(&BEGINNINGS) || begins(&["which ", "what "]) && contains_any(&lower, ENDS);
        let mut terms = Terms::of(question).without(ASKING);
        let head = head(&lower)?;
        if !terms.words.contains(&head) {
            terms.words.push(head.clone());
        }
        asks.then_some(Self { terms, head })
    }

    fn search(&self, kind: Option<&'static str>) -> PlannedCall {
        symbols::definitions(&self.terms.query(), kind, if kind.is_some() { ASKED_OF_KIND } else { ASKED })
    }

    fn entries(&self, kind: Option<&'static str>, evidence: &Evidence) -> Vec<SymbolEntry> {
        let mut entries = symbols::entries(&self.search(kind), evidence);
        entries.retain(|entry| paths::area(&entry.path) == Area::Source && !paths::is_declaration(&entry.path));
        entries
    }

    /// Returns `true` for a name that ends with what is asked for: of the log levels, the levels.
    fn ends(&self, entry: &SymbolEntry) -> bool {
        let parts = parts(last_segment(&entry.name));
        let last = parts.iter().rev().find(|part| !lists(TABLES, part));
        last.is_some_and(|part| self.head.matches(part))
    }

    /// Returns the one place that holds all: of those that tell most, the first.
    fn whole(&self, evidence: &Evidence) -> Option<SymbolEntry> {
        let is_whole = |entry: &SymbolEntry| {
            let name = last_segment(&entry.name);
            let (count, words) = (parts(name).len(), self.terms.words.len());
            let is_many = name.to_lowercase().trim_end_matches(['_', '?', '!']).ends_with('s') || name.contains("able");
            self.ends(entry) && if entry.kind == "enum" { count <= words + 1 } else { is_many && count <= words + 2 }
        };
        let holders = HOLDERS.iter().flat_map(|kind| self.entries(Some(kind), evidence));
        let wholes: Vec<SymbolEntry> = holders.filter(is_whole).collect();
        let most = wholes.iter().map(|entry| self.terms.told(&entry.name)).max();
        wholes.into_iter().find(|entry| Some(self.terms.told(&entry.name)) == most)
    }

    /// Returns those that are named so, each by itself, of the folder that has most.
    fn each(&self, entries: &[SymbolEntry]) -> Vec<SymbolEntry> {
        let folder = |entry: &SymbolEntry| entry.path.rsplit_once('/').map_or("", |(folder, _)| folder).to_owned();
        let is_one = |entry: &&SymbolEntry| {
            let told = self.terms.told(&format!("{} {}", entry.path, entry.name));
            lists(TYPES, &entry.kind) && self.ends(entry) && told >= self.terms.count()
        };
        let all: Vec<&SymbolEntry> = entries.iter().filter(is_one).collect();
        let count = |at: &String| all.iter().filter(|entry| folder(entry) == *at).count();
        let most = all.iter().map(|entry| folder(entry)).max_by_key(count);
        let own: Vec<SymbolEntry> =
            all.iter().filter(|entry| Some(folder(entry)) == most).map(|entry| (*entry).clone()).collect();
        if own.len() >= FEWEST { own } else { Vec::new() }
    }

    /// Returns the nearest, where nothing is a list for sure.
    fn nearest(&self, mut entries: Vec<SymbolEntry>) -> Vec<SymbolEntry> {
        // What does something seldom holds a list; what is named after it may.
        let is_deed = |entry: &SymbolEntry| matches!(entry.kind.as_str(), "function" | "method");
        let is_holder = |entry: &SymbolEntry| !is_deed(entry) && self.ends(entry);
        let is_named = |entry: &SymbolEntry| self.terms.told(&entry.name) >= self.terms.count();
        entries.sort_by_key(|entry| {
            let is_holder = is_holder(entry);
            (!(is_holder && is_named(entry)), !is_holder, entry.is_spare, is_deed(entry))
        });
        entries
    }
}

/// Returns the noun of a question for all of a kind: the last word before what is said of it.
fn head(lower: &str) -> Option<TermWord> {
    let words = lower.split(|sign: char| !(sign.is_alphanumeric() || sign == '-')).filter(|word| !word.is_empty());
    let mut words = words.skip_while(|word| lists(ASKING, word) || lists(OPENING, word));
    let (first, rest) = (words.next()?, words);
    rest.take_while(|word| !lists(ASKING, word) && !lists(CLOSING, word)).last().or(Some(first)).map(TermWord::new)
}

impl Search for Enumeration {
    fn calls(&self) -> Vec<PlannedCall> {
        std::iter::once(None).chain(HOLDERS.map(Some)).map(|kind| self.search(kind)).collect()
    }

    fn names(&self) -> String {
        self.terms.names()
    }

    fn found(&self, evidence: &Evidence) -> Option<Found> {
        let names = self.names();
        let places = |entries: &[SymbolEntry]| entries.iter().map(SymbolEntry::place).collect();
        if let Some(place) = self.whole(evidence).map(|entry| entry.place()) {
            let summary = format!("The {} at {} lists them.", place.label, place.cite());
            return Some(Found { summary, places: vec![place], listed: 1, excerpt: EXCERPT });
        }
        let entries = self.entries(None, evidence);
        let each = self.each(&entries);
        if let Some(first) = each.first() {
            let summary = format!("{} are named after {names}, the first at {}.", each.len(), first.place().cite());
            return Some(Found { summary, places: places(&each), listed: LISTED, excerpt: 0 });
        }
        let nearest = self.nearest(entries);
        let summary = format!("{UNCERTAIN} that lists {names}; the nearest is {}.", nearest.first()?.place().cite());
        Some(Found { summary, places: places(&nearest[..nearest.len().min(6)]), listed: LISTED, excerpt: 0 })
    }
}
