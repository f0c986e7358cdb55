//! Answering "list the commands, which processors are there": what holds them all, or all that are named so.
//!
//! Owns telling such questions, and what is a list. Leaves the order to the tool. Invariant: cites only what a tool
//! showed, and says so where nothing is a list for sure.

use super::{Found, UNCERTAIN, nothing, symbols};
use crate::offline::evidence::{CitedPlace, Evidence, PlannedCall};
use crate::offline::report::Reported;
use crate::offline::text::paths::{self, Area};
use crate::offline::text::terms::{TermWord, Terms, last_segment};
use crate::offline::text::{contains_any, lists, parts};

/// Definitions asked for, of any kind and of one, and listed.
const ASKED: usize = 60;
const ASKED_OF_KIND: usize = 10;
const LISTED: usize = 20;
/// Places listed where nothing is a list for sure.
const NEAREST: usize = 6;
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

/// What is asked for.
struct Enumeration {
    terms: Terms,
    /// What there are many of: the actions, in "the actions a key can be bound to".
    head: TermWord,
}

/// Answers a question that asks for all of a kind.
pub(super) fn answer(question: &str, evidence: &Evidence) -> Option<Reported> {
    let lower = question.trim().to_lowercase();
    let begins = |starts: &[&str]| starts.iter().any(|start| lower.starts_with(start));
    let asks = begins(&BEGINNINGS) || begins(&["which ", "what "]) && contains_any(&lower, ENDS);
    let mut terms = Terms::of(question).without(ASKING);
    let head = head(&lower)?;
    if !terms.words.contains(&head) {
        terms.words.push(head.clone());
    }
    asks.then(|| Enumeration { terms, head }.answer(evidence))
}

impl Enumeration {
    fn search(&self, kind: &str) -> PlannedCall {
        symbols::definitions(&self.terms.query(), kind, if kind.is_empty() { ASKED } else { ASKED_OF_KIND })
    }

    fn defined(&self, kind: &str, evidence: &Evidence) -> Vec<CitedPlace> {
        let mut all = symbols::places(&self.search(kind), evidence);
        all.retain(|place| paths::area(&place.path) == Area::Source && !paths::is_declaration(&place.path));
        all
    }

    fn answer(&self, evidence: &Evidence) -> Reported {
        evidence.ask([""].iter().chain(&HOLDERS).map(|kind| self.search(kind)))?;
        let names = self.terms.names();
        let all = self.defined("", evidence);
        let each = self.each(&all);
        let (summary, places, excerpt) = if let Some(whole) = self.whole(evidence) {
            (format!("The {} at {} lists them.", whole.label(), whole.cite()), vec![whole], EXCERPT)
        } else if let Some(first) = each.first() {
            (format!("{} are named after {names}, the first at {}.", each.len(), first.cite()), each, 0)
        } else {
            let nearest = self.nearest(all);
            let Some(first) = nearest.first() else { return Ok(nothing(&names)) };
            (format!("{UNCERTAIN} that lists {names}; the nearest is {}.", first.cite()), nearest, 0)
        };
        Found { summary, places, listed: LISTED, excerpt }.report(evidence)
    }

    /// Returns `true` for a name that ends with what is asked for: of the log levels, the levels.
    fn ends(&self, place: &CitedPlace) -> bool {
        let parts = parts(last_segment(&place.name));
        let last = parts.iter().rev().find(|part| !lists(TABLES, part));
        last.is_some_and(|part| self.head.matches(part))
    }

    /// Returns the one place that holds all: of those that tell most, the first.
    fn whole(&self, evidence: &Evidence) -> Option<CitedPlace> {
        let is_whole = |place: &CitedPlace| {
            let name = last_segment(&place.name);
            let (count, words) = (parts(name).len(), self.terms.words.len());
            let is_many = name.to_lowercase().trim_end_matches(['_', '?', '!']).ends_with('s') || name.contains("able");
            self.ends(place) && if place.kind == "enum" { count <= words + 1 } else { is_many && count <= words + 2 }
        };
        let holders = HOLDERS.iter().flat_map(|kind| self.defined(kind, evidence));
        let wholes: Vec<CitedPlace> = holders.filter(is_whole).collect();
        let most = wholes.iter().map(|place| self.terms.told(&place.name)).max();
        wholes.into_iter().find(|place| Some(self.terms.told(&place.name)) == most)
    }

    /// Returns those that are named so, each by itself, of the folder that has most.
    fn each(&self, all: &[CitedPlace]) -> Vec<CitedPlace> {
        let folder = |place: &CitedPlace| place.path.rsplit_once('/').map_or("", |(folder, _)| folder).to_owned();
        let is_one = |place: &&CitedPlace| {
            let told = self.terms.told(&format!("{} {}", place.path, place.name));
            lists(TYPES, &place.kind) && self.ends(place) && told >= self.terms.count()
        };
        let mut all: Vec<CitedPlace> = all.iter().filter(is_one).cloned().collect();
        let count = |at: &String| all.iter().filter(|place| folder(place) == *at).count();
        let most = all.iter().map(folder).max_by_key(count);
        all.retain(|place| Some(folder(place)) == most);
        if all.len() >= FEWEST { all } else { Vec::new() }
    }

    /// Returns the nearest, where nothing is a list for sure.
    fn nearest(&self, mut all: Vec<CitedPlace>) -> Vec<CitedPlace> {
        // What does something seldom holds a list; what is named after it may.
        let is_deed = |place: &CitedPlace| matches!(place.kind.as_str(), "function" | "method");
        let is_holder = |place: &CitedPlace| !is_deed(place) && self.ends(place);
        let is_named = |place: &CitedPlace| self.terms.told(&place.name) >= self.terms.count();
        all.sort_by_key(|place| {
            let is_holder = is_holder(place);
            (!(is_holder && is_named(place)), !is_holder, place.is_spare, is_deed(place))
        });
        all.truncate(NEAREST);
        all
    }
}

/// Returns the noun of a question for all of a kind: the last word before what is said of it.
fn head(lower: &str) -> Option<TermWord> {
    let words = lower.split(|sign: char| !(sign.is_alphanumeric() || sign == '-')).filter(|word| !word.is_empty());
    let mut words = words.skip_while(|word| lists(ASKING, word) || lists(OPENING, word));
    let (first, rest) = (words.next()?, words);
    rest.take_while(|word| !lists(ASKING, word) && !lists(CLOSING, word)).last().or(Some(first)).map(TermWord::new)
}
