//! Answering "where, how, what, which": searching by content and by name, reading the best places.
//!
//! Owns the search patterns and the words of an answer. Leaves scores to `rank` and commits to `history`. Invariant: an
//! answer cites only lines that a tool showed, and says so when nothing matched.

use std::collections::BTreeMap;

use super::rank::{self, Ranked, Wants};
use super::{inline_tests, window};
use crate::offline::evidence::{Evidence, Hit, PlannedCall};
use crate::offline::report::{AnswerPart, CitedPlace, Report, quotable};
use crate::offline::text::paths::{self, Area};
use crate::offline::text::source;
use crate::offline::text::terms::{TermWord, Terms, last_segment};
use crate::offline::text::{clip, parts, sentence};

/// Search by content: definitions, then uses.
#[derive(Debug)]
pub(crate) struct Content {
    pub(crate) question: String,
    pub(crate) terms: Terms,
}

const KEYWORDS: &str = "fn|struct|enum|trait|union|class|def|func|function\\*?|fun|type|interface|const|static|mod|module|\
    macro_rules!|impl(<[^>]*>)?|#define|typedef|namespace";

impl Content {
    pub(crate) fn new(question: &str) -> Self {
        Self { question: question.to_owned(), terms: Terms::of(question) }
    }

    /// Returns the search for one name, such as `res.json`.
    pub(crate) fn named(name: &str) -> Self {
        Self { question: name.to_owned(), terms: Terms { exact: vec![name.to_owned()], ..Terms::default() } }
    }

    fn searches(&self) -> Vec<PlannedCall> {
        let mut calls = Vec::new();
        let Some(any) = self.terms.any_pattern() else { return calls };
        let defines = format!("\\b({KEYWORDS})\\s+(\\([^)]*\\)\\s*)?[\\w$:<>, ]*");
        // The search for everything may be cut short in a large project; the one for several words at once is not.
        if let Some(both) = self.terms.pairs_pattern("\\w*") {
            calls.push(PlannedCall::grep(&format!("{defines}({both})"), 200));
        }
        calls.push(PlannedCall::grep(&format!("{defines}({any})"), 500));
        if let Some(phrase) = self.terms.phrase_pattern() {
            calls.push(PlannedCall::grep(&phrase, 150));
        }
        calls.push(PlannedCall::grep(
            &format!("^\\s*(pub |export |exports\\.|const |let |var )?[\"'\\w.$-]*({any})[\\w\"'-]*\\s*[:=]"),
            200,
        ));
        if let Some(both) = self.terms.pairs_pattern(".*") {
            calls.push(PlannedCall::grep(&both, 200));
        }
        calls.push(inline_tests());
        if self.terms.count() == 1 {
            calls.push(PlannedCall::grep(&any, 120));
        }
        calls.extend(self.terms.words.iter().take(5).map(Self::counting));
        calls
    }

    fn counting(word: &TermWord) -> PlannedCall {
        PlannedCall::count(&Terms::word_pattern(word), 2000)
    }

    fn weights(&self, evidence: &Evidence) -> Vec<f64> {
        let counts: Vec<usize> = self
            .terms
            .words
            .iter()
            .map(|word| evidence.counts(&Self::counting(word)).iter().map(|(_, count)| count).sum())
            .collect();
        rank::weights(&self.terms, &counts)
    }

    fn ranked(&self, evidence: &Evidence) -> Vec<Ranked> {
        let weights = self.weights(evidence);
        let content = self.searches();
        let is_content = |call: &&PlannedCall| call.argument("output_mode") == "content";
        let hits: Vec<Hit> = content
            .iter()
            .filter(is_content)
            .filter(|call| **call != inline_tests())
            .flat_map(|call| evidence.hits(call))
            .collect();
        rank::rank(&self.terms, Wants::of(&self.question), hits, &evidence.hits(&inline_tests()), &weights)
    }

    /// Returns the best places, best first. Doc comments that were read count.
    pub(crate) fn places(&self, evidence: &Evidence) -> Vec<CitedPlace> {
        let mut ranked = self.ranked(evidence);
        let wants_value = Wants::of(&self.question) == Wants::Value;
        for entry in ranked.iter_mut().take(4) {
            let lines = evidence.lines_of(&entry.hit.path);
            if !wants_value && let Some((line, text)) = documented(&entry.hit, &lines) {
                entry.definition = source::definition(&text);
                entry.hit = Hit { path: entry.hit.path.clone(), line, text };
            }
            if let Some((_, doc)) = source::doc_of(&lines, entry.hit.line).filter(|_| entry.definition.is_some()) {
                #[expect(clippy::cast_precision_loss, reason = "terms are few")]
                let told = rank::matched(&self.terms, &doc).len().min(2) as f64;
                let states = wants_value && source::doc_value(&lines, entry.hit.line).is_some();
                entry.score += 0.5 + 0.7 * told + if states { 8.0 } else { 0.0 };
            }
        }
        ranked.sort_by(|a, b| b.score.total_cmp(&a.score));
        let least = ranked.first().map_or(0.0, |best| best.score * 0.5);
        let mut places: Vec<CitedPlace> =
            ranked.iter().filter(|entry| entry.score >= least).map(Ranked::place).collect();
        let whole = |place: &CitedPlace| format!("{} {}", place.path, place.text);
        let telling =
            places.first().and_then(|best| rank::distinctive(&self.terms, &self.weights(evidence), &whole(best)));
        if let Some(telling) = telling {
            places.retain(|place| rank::matched(&self.terms, &whole(place)).contains(&telling));
        }
        for path in self.terms.paths.iter().rev() {
            places.splice(0..0, file_place(path, &evidence.lines_of(path)));
        }
        let mut seen: Vec<(String, usize)> = Vec::new();
        places.retain(|place| {
            let key = (place.path.clone(), place.line);
            let is_new = !seen.contains(&key);
            seen.push(key);
            is_new
        });
        places.truncate(8);
        places
    }
}

impl AnswerPart for Content {
    fn stage(&self, n: usize, evidence: &Evidence) -> Option<Vec<PlannedCall>> {
        match n {
            0 => {
                let paths = self.terms.paths.iter().filter(|path| !path.contains('*')).take(3);
                Some(paths.map(|path| PlannedCall::read(path)).chain(self.searches()).collect())
            }
            1 => Some(self.ranked(evidence).iter().take(4).map(|ranked| window(&ranked.place())).collect()),
            _ => None,
        }
    }

    fn report(&self, evidence: &Evidence) -> Report {
        if self.terms.is_empty() {
            return Report {
                summary:
                    "The request names nothing that can be searched for. Name a function, a type, a file or a topic."
                        .to_owned(),
                ..Report::default()
            };
        }
        let places = self.places(evidence);
        let Some(best) = places.first() else {
            return Report {
                summary: format!("Nothing in the files matches {}.", self.terms.names()),
                ..Report::default()
            };
        };
        let lines = evidence.lines_of(&best.path);
        Report {
            summary: format!(
                "{} places match {}; the best is `{}:{}`.",
                places.len(),
                self.terms.names(),
                best.path,
                best.line
            ),
            findings: places.iter().map(CitedPlace::bullet).collect(),
            answer: statement(best, &lines, Wants::of(&self.question)),
        }
    }
}

/// Returns the definition that a doc comment belongs to.
fn documented(hit: &Hit, lines: &BTreeMap<usize, String>) -> Option<(usize, String)> {
    if !source::is_comment(hit.text.trim()) || hit.text.trim().starts_with("//!") {
        return None;
    }
    let mut below = lines.range(hit.line + 1..).take(30);
    let (line, text) = below.find(|(_, line)| {
        let line = line.trim();
        !(source::is_comment(line) || line.starts_with("#[") || line.starts_with('@'))
    })?;
    source::definition(text).map(|_| (*line, text.clone()))
}

/// Returns the first telling line of a file that the request names.
fn file_place(path: &str, lines: &BTreeMap<usize, String>) -> Option<CitedPlace> {
    let told = source::purpose(path, lines).map(|(line, _)| line);
    let defined = || lines.iter().find(|(_, line)| source::definition(line).is_some()).map(|(number, _)| *number);
    let line = told.or_else(defined).or_else(|| lines.keys().next().copied())?;
    Some(CitedPlace {
        path: path.to_owned(),
        line,
        label: "file".to_owned(),
        text: lines.get(&line)?.trim().to_owned(),
    })
}

/// Says in one sentence what stands at a place, as far as its lines show.
pub(crate) fn statement(place: &CitedPlace, lines: &BTreeMap<usize, String>, wants: Wants) -> String {
    let cite = format!("`{}:{}`", place.path, place.line);
    if place.label == "file" {
        let told = source::purpose(&place.path, lines).map(|(_, text)| sentence(&text, 240));
        return told.map_or_else(|| format!("The file begins at {cite}."), |told| format!("{told} ({cite})."));
    }
    let doc = source::doc_of(lines, place.line).map(|(_, text)| sentence(&text, 240));
    let Some(definition) = place.definition() else {
        return match place.label.as_str() {
            "setting" | "field" => format!("{cite} has `{}`.", quotable(&place.text)),
            "comment" => {
                format!("{cite} says: \"{}\".", clip(source::uncomment(&place.text).trim_end_matches('.'), 200))
            }
            _ => format!("The closest place is {cite}: `{}`.", quotable(&place.text)),
        };
    };
    let noun = definition.noun();
    let symbol = &definition.symbol;
    if let Some((line, text)) =
        source::doc_value(lines, place.line).filter(|_| wants == Wants::Value && noun != "constant")
    {
        let text = clip(text.trim_end_matches('.'), 200);
        return format!("The {noun} `{symbol}` ({cite}) says: \"{text}\" (`{}:{line}`).", place.path);
    }
    let value = place.text.split_once(" = ").map(|(_, value)| value.trim().trim_end_matches([';', ',']));
    match (
        value.filter(|value| {
            matches!(noun, "constant" | "value") && value.len() < 80 && !value.ends_with(['(', '{', '[', '\\'])
        }),
        doc,
    ) {
        (Some(value), Some(doc)) => format!("`{symbol}` is `{value}` ({cite}): {doc}."),
        (Some(value), None) => format!("`{symbol}` is `{value}` ({cite})."),
        (None, Some(doc)) => format!("The {noun} `{symbol}` at {cite}: {doc}."),
        (None, None) => format!("The {noun} `{symbol}` is defined at {cite}."),
    }
}

/// Returns how many of the terms a place and the lines around it show.
pub(crate) fn coverage(terms: &Terms, place: &CitedPlace, lines: &BTreeMap<usize, String>) -> usize {
    // The very name that was asked for is all there is to ask.
    let symbol = place.definition().map(|found| found.symbol);
    if terms.exact.iter().any(|term| symbol.as_deref() == Some(last_segment(term))) {
        return terms.count();
    }
    let mut text = format!("{} {}", place.path, place.text);
    if let Some((_, doc)) = source::doc_of(lines, place.line) {
        text.push(' ');
        text.push_str(&doc);
    }
    for (_, line) in lines.range(place.line.saturating_sub(10)..place.line + 25) {
        text.push(' ');
        text.push_str(line);
    }
    rank::matched(terms, &text).len()
}

/// Search by name: files and directories.
#[derive(Debug)]
pub(crate) struct Names {
    pub(crate) terms: Terms,
}

impl Names {
    fn globs(&self) -> Vec<PlannedCall> {
        let exact = self.terms.exact.iter().map(|term| parts(last_segment(term)).join("*"));
        let words = self.terms.words.iter().take(5).filter(|word| word.stems.iter().all(|stem| stem.is_ascii()));
        let stems = words.flat_map(TermWord::beginnings).map(str::to_owned).filter(|stem| stem.len() >= 3);
        let mut calls: Vec<PlannedCall> =
            self.terms.paths.iter().map(|path| PlannedCall::glob(&format!("**/{path}"))).collect();
        for stem in exact.chain(stems).take(6) {
            calls.push(PlannedCall::glob(&format!("**/*{stem}*")));
        }
        calls
    }

    fn files(&self, evidence: &Evidence) -> Vec<String> {
        let mut scored: Vec<(usize, Area, String)> = Vec::new();
        for call in self.globs() {
            for path in evidence.paths(&call) {
                let name = path.rsplit('/').next().unwrap_or(&path);
                let hits = rank::matched(&self.terms, name).len() * 2 + rank::matched(&self.terms, &path).len();
                let area = paths::area(&path);
                let is_text = paths::fence(&path) != "text" || paths::extension(&path).is_empty() || area == Area::Doc;
                if hits > 0 && area != Area::Foreign && is_text && !scored.iter().any(|(_, _, known)| *known == path) {
                    scored.push((hits, area, path));
                }
            }
        }
        scored.sort_by(|a, b| (b.0, a.1, a.2.len(), &a.2).cmp(&(a.0, b.1, b.2.len(), &b.2)));
        scored.into_iter().map(|(_, _, path)| path).take(8).collect()
    }
}

impl AnswerPart for Names {
    fn stage(&self, n: usize, evidence: &Evidence) -> Option<Vec<PlannedCall>> {
        match n {
            0 => Some(self.globs()),
            1 => Some(self.files(evidence).iter().take(4).map(|path| PlannedCall::read_part(path, 1, 40)).collect()),
            _ => None,
        }
    }

    fn report(&self, evidence: &Evidence) -> Report {
        let files = self.files(evidence);
        let Some(best) = files.first() else {
            return Report { summary: format!("No file is named after {}.", self.terms.names()), ..Report::default() };
        };
        let findings = files.iter().map(|path| named_file(path, &evidence.lines_of(path)));
        Report {
            summary: format!("{} files are named after the terms; the closest is `{best}`.", files.len()),
            findings: findings.collect(),
            answer: String::new(),
        }
    }
}

/// Writes a file as a finding: what it says of itself, else its first definition.
fn named_file(path: &str, lines: &BTreeMap<usize, String>) -> String {
    if let Some((line, text)) = source::purpose(path, lines) {
        let text = sentence(&text, 160);
        return CitedPlace { path: path.to_owned(), line, label: "file".to_owned(), text }.bullet();
    }
    let first = lines.iter().find_map(|(line, text)| Some((*line, text.trim(), source::definition(text)?)));
    match first {
        Some((line, text, found)) => {
            CitedPlace { path: path.to_owned(), line, label: found.noun().to_owned(), text: text.to_owned() }.bullet()
        }
        None => format!("- `{path}`"),
    }
}
