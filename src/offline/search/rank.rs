//! Which of many search hits answers a request best.
//!
//! Owns the scores. Leaves searching and reading to `content`. Invariant: the order depends on the hits alone, not on the
//! order in which tools returned them.

use std::collections::BTreeMap;

use crate::offline::evidence::Hit;
use crate::offline::report::CitedPlace;
use crate::offline::text::paths::{self, Area};
use crate::offline::text::source::{self, Definition};
use crate::offline::text::terms::{TermWord, Terms, last_segment};
use crate::offline::text::{lists, parts};

/// A hit with its worth.
#[derive(Debug, Clone)]
pub(crate) struct Ranked {
    pub(crate) hit: Hit,
    pub(crate) definition: Option<Definition>,
    pub(crate) score: f64,
    /// Whether the line itself has one of the terms.
    is_match: bool,
}

impl Ranked {
    pub(crate) fn place(&self) -> CitedPlace {
        let text = self.hit.text.trim();
        let label = match &self.definition {
            Some(definition) => definition.noun(),
            None if source::is_comment(text) => "comment",
            None if paths::area(&self.hit.path) == Area::Setting => "setting",
            None if paths::area(&self.hit.path) == Area::Doc => "text",
            None if assigned(text).is_some() => "field",
            None => "use",
        };
        CitedPlace { path: self.hit.path.clone(), line: self.hit.line, label: label.to_owned(), text: text.to_owned() }
    }
}

const VALUE_WORDS: &str = "default constant value limit maximum max minimum many version license long";

/// What the request is after, besides its terms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wants {
    Anything,
    Value,
    Type,
    Function,
    Test,
}

impl Wants {
    /// Reads it off a request.
    pub(crate) fn of(request: &str) -> Self {
        let words = parts(request);
        let has = |list: &str| words.iter().any(|word| lists(list, word));
        if has("test tests tested") {
            Self::Test
        } else if has("struct class type trait enum interface represented")
            || ["what is a ", "what is an ", "what are ", "how do i create ", "how do i make ", "how to create "]
                .iter()
                .any(|start| request.to_lowercase().starts_with(start))
        {
            Self::Type
        } else if has("function method")
            || ["how do i ", "how can i ", "how to ", "how do you "]
                .iter()
                .any(|start| request.to_lowercase().starts_with(start))
        {
            Self::Function
        } else if has(VALUE_WORDS) {
            Self::Value
        } else {
            Self::Anything
        }
    }
}

/// Puts a hit before all that have none of it.
const FIRST: f64 = 60.0;

/// Hits kept of one file.
const PER_FILE: usize = 3;

/// Sorts hits by worth, best first, at most [`PER_FILE`] of each file and none within 4 lines of a better one.
/// `tests` are the lines where the tests inside a source file begin.
pub(crate) fn rank(terms: &Terms, wants: Wants, hits: Vec<Hit>, tests: &[Hit], weights: &[f64]) -> Vec<Ranked> {
    let mut unique: BTreeMap<(String, usize), Hit> = BTreeMap::new();
    for hit in hits {
        unique.entry((hit.path.clone(), hit.line)).or_insert(hit);
    }
    let all: Vec<Hit> = unique.into_values().collect();
    let matches: Vec<Vec<usize>> = all.iter().map(|hit| matched(terms, &hit.text)).collect();
    let mut ranked: Vec<Ranked> = (0..all.len())
        .map(|at| {
            let definition = source::definition(&all[at].text);
            let around = nearby(&all, &matches, at);
            let near = around.iter().map(|term| weights[*term]).sum::<f64>();
            let in_path = matched(terms, &all[at].path);
            let is_missing = |term: &usize| {
                !matches[at].contains(term)
                    && !around.contains(term)
                    && !in_path.contains(term)
                    && !is_bland(terms, *term)
            };
            let missing = (0..terms.count()).filter(is_missing).map(|term| weights[term]).sum::<f64>();
            let in_tests = tests.iter().any(|test| test.path == all[at].path && test.line < all[at].line);
            let is_test = definition.as_ref().is_some_and(|found| found.symbol.starts_with("test_"));
            let in_tests = (in_tests || is_test) && paths::area(&all[at].path) != Area::Test;
            let fit = match (in_tests, wants) {
                (false, _) => 0.0,
                // Asked for tests, the tests come before what they test.
                (true, Wants::Test) => FIRST,
                (true, _) => -16.0,
            };
            let score =
                score(terms, wants, &all[at], definition.as_ref(), &matches[at], weights) + near + fit - missing;
            Ranked { hit: all[at].clone(), definition, score, is_match: !matches[at].is_empty() }
        })
        .collect();
    ranked.sort_by(|a, b| {
        b.score.total_cmp(&a.score).then_with(|| (&a.hit.path, a.hit.line).cmp(&(&b.hit.path, b.hit.line)))
    });
    let mut kept: Vec<Ranked> = Vec::new();
    for candidate in ranked {
        if let Some(twin) = kept.iter_mut().find(|kept| is_copy(&kept.hit, &candidate.hit)) {
            // The form that people write stands for both.
            if is_typed(&candidate.hit.path) && !is_typed(&twin.hit.path) {
                *twin = Ranked { score: twin.score, ..candidate };
            }
            continue;
        }
        let same = kept.iter().filter(|kept| kept.hit.path == candidate.hit.path);
        let symbol = |entry: &Ranked| entry.definition.as_ref().map(|found| found.symbol.clone());
        let is_close = same.clone().any(|kept| {
            let is_twin = symbol(kept).is_some() && symbol(kept) == symbol(&candidate);
            is_twin || kept.hit.line.abs_diff(candidate.hit.line) < 4
        });
        if !is_close && candidate.is_match && same.count() < PER_FILE && candidate.score > 0.0 {
            kept.push(candidate);
        }
    }
    kept
}

fn is_typed(path: &str) -> bool {
    paths::language(path) == Some("TypeScript") && !paths::is_declaration(path)
}

/// Returns `true` if two hits stand in two forms of one file: `src/parse.ts`, and `parse.js` or `parse.d.ts` built from it.
fn is_copy(kept: &Hit, other: &Hit) -> bool {
    let name = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
    let stem = |path: &str| name(path).split('.').next().map(str::to_owned);
    let form = |path: &str| name(path).split_once('.').map(|(_, form)| form.to_owned());
    let is_script = |path: &str| ["JavaScript", "TypeScript"].iter().any(|name| paths::language(path) == Some(name));
    let symbol = |hit: &Hit| source::definition(&hit.text).map(|found| found.symbol);
    form(&kept.path) != form(&other.path)
        && is_script(&kept.path)
        && is_script(&other.path)
        && stem(&kept.path) == stem(&other.path)
        && symbol(kept) == symbol(other)
}

/// Returns the terms found in a text: exact ones first, then words, as one numbering.
pub(crate) fn matched(terms: &Terms, text: &str) -> Vec<usize> {
    let mut own = parts(text);
    // `websocket` is written `WebSocket` in many places.
    let joined: Vec<String> = own.windows(2).map(<[String]>::concat).collect();
    own.extend(joined);
    let lower = text.to_lowercase();
    let exact = terms.exact.iter().enumerate().filter(|(_, term)| lower.contains(&last_segment(term).to_lowercase()));
    let words = terms.words.iter().enumerate().filter(|(_, word)| own.iter().any(|part| word.matches(part)));
    let first_word = terms.exact.len();
    exact.map(|(at, _)| at).chain(words.map(|(at, _)| first_word + at)).collect()
}

fn nearby(all: &[Hit], matches: &[Vec<usize>], at: usize) -> Vec<usize> {
    let mut found = Vec::new();
    let close = |other: usize| all[other].path == all[at].path && all[other].line.abs_diff(all[at].line) <= 12;
    let before = (0..at).rev().take_while(|other| close(*other));
    for other in before.chain((at + 1..all.len()).take_while(|other| close(*other))) {
        for term in &matches[other] {
            if !matches[at].contains(term) && !found.contains(term) {
                found.push(*term);
            }
        }
    }
    found
}

fn score(
    terms: &Terms,
    wants: Wants,
    hit: &Hit,
    definition: Option<&Definition>,
    own: &[usize],
    weights: &[f64],
) -> f64 {
    let in_line: f64 = own.iter().map(|term| weights[*term]).sum();
    let in_path: f64 = matched(terms, &hit.path).iter().map(|term| weights[*term]).sum();
    let mut score = in_line * 1.5 + in_path * 1.2;
    if let Some(definition) = definition {
        // A name bound inside a function is at most a step on the way.
        let is_local = definition.indent > 0
            && (matches!(definition.keyword.as_str(), "let" | "var" | "val") || is_script(&hit.text));
        let share = if is_local { 0.4 } else { 1.0 };
        score = symbol_score(terms, definition, &hit.path, weights) * share
            + keyword_score(wants, definition, &hit.text)
            + in_line * 0.7;
    } else if let Some(key) = assigned(hit.text.trim()) {
        let hits = matched(terms, key);
        score += hits.iter().map(|term| weights[*term]).sum::<f64>() * 2.0;
        score += if wants == Wants::Value && !hits.is_empty() { 3.0 } else { 0.0 };
    } else if source::is_comment(hit.text.trim()) {
        let text = source::uncomment(&hit.text);
        let is_example = text.ends_with([';', '{', '}']) || (text.contains('(') && text.ends_with([',', ')']));
        score += if is_example { -4.0 } else { 0.8 * in_line };
    }
    if wants == Wants::Value && parts(&hit.text).iter().any(|part| part.chars().all(|c| c.is_ascii_digit())) {
        score += if own.len() == terms.count() && own.len() > 1 { 14.0 } else { 1.5 };
    }
    if source::is_import(&hit.text) {
        score -= 4.0;
    }
    // `App::run` is written so where it is used, and `app.run = function` where it is defined.
    let is_written_out = |term: &&String| last_segment(term) != term.as_str() && hit.text.contains(term.as_str());
    if terms.exact.iter().any(|term| is_written_out(&term)) {
        score += 6.0;
    }
    score + area_score(wants, &hit.path)
}

/// What the name itself says, and the file's name where it says more.
fn symbol_score(terms: &Terms, definition: &Definition, path: &str, weights: &[f64]) -> f64 {
    let own = parts(&definition.symbol);
    let hits = matched(terms, &definition.symbol);
    let in_path = matched(terms, path);
    let by_path: f64 = in_path.iter().filter(|term| !hits.contains(term)).map(|term| weights[*term]).sum();
    let both: f64 = in_path.iter().filter(|term| hits.contains(term)).map(|term| weights[*term]).sum();
    if hits.is_empty() {
        return by_path - 1.0;
    }
    let is_bland_name = hits.iter().all(|hit| is_bland(terms, *hit));
    let mut score: f64 = hits.iter().map(|term| weights[*term]).sum::<f64>() * 3.0 + by_path * 2.0 + both * 0.6;
    let covered = own.iter().filter(|part| terms.words.iter().any(|word| word.matches(part))).count();
    #[expect(clippy::cast_precision_loss, reason = "an identifier has few parts")]
    let coverage = if is_bland_name { 0.0 } else { covered as f64 / own.len().max(1) as f64 };
    #[expect(clippy::cast_precision_loss, reason = "terms are few")]
    let together = hits.iter().filter(|hit| !is_bland(terms, **hit)).count().saturating_sub(1) as f64;
    // To cover a name with a common word says less than with the rarest of the request.
    let most = weights.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
    let share = hits.iter().map(|hit| weights[*hit]).fold(0.0, f64::max) / most;
    let wants_error = terms.words.iter().any(|word| word.matches("error") || word.matches("exception"));
    let is_error = ["Error", "Exception", "Warning", "Rejection"].iter().any(|end| definition.symbol.ends_with(end));
    score -= if is_error && !wants_error && terms.exact.is_empty() { 4.0 } else { 0.0 };
    score += 5.0 * coverage * share + 4.0 * together - if is_bland_name { 3.0 } else { 0.0 };
    if terms.cased.contains(&definition.symbol) {
        score += 10.0;
    }
    for term in &terms.exact {
        let name = last_segment(term).trim_end_matches("()");
        let owner =
            term.strip_suffix(name).map(|owner| last_segment(owner.trim_end_matches(['.', ':'])).to_lowercase());
        if owner.is_some_and(|owner| owner.len() > 2 && path.to_lowercase().contains(&owner)) {
            score += 5.0;
        }
        if definition.symbol == name {
            score += 25.0;
        } else if definition.symbol.eq_ignore_ascii_case(name) {
            score += 12.0;
        }
    }
    score
}

fn keyword_score(wants: Wants, definition: &Definition, text: &str) -> f64 {
    let kind = match (definition.noun(), wants) {
        ("value", _) if definition.keyword != "=" => -3.0,
        // One of many types of the same name that a trait asks for.
        ("type", _) if definition.indent > 0 && text.trim_start().starts_with("type ") => -3.0,
        // A constant inside a function is a local of JavaScript.
        ("constant", _) if definition.indent > 0 && is_script(text) => -3.0,
        ("function", Wants::Function)
        | ("constant" | "value", Wants::Value)
        | ("struct" | "class" | "trait" | "enum" | "interface" | "type", Wants::Type) => 4.0,
        ("struct" | "class" | "trait" | "enum" | "interface", Wants::Function) => 0.0,
        ("struct" | "class" | "trait" | "enum" | "interface", _) => 2.5,
        ("function" | "macro", _) => 1.5,
        ("constant", _) => 1.0,
        ("implementation", _) => -1.0,
        ("module", _) => -1.5,
        _ => 0.0,
    };
    let text = text.trim_start();
    let is_public = text.starts_with("pub ") || text.starts_with("export ") || text.starts_with("public ");
    kind + if is_public { 1.0 } else { 0.0 } - if definition.indent > 8 { 1.0 } else { 0.0 }
}

/// Returns `true` if a line binds a local name in JavaScript or TypeScript.
fn is_script(text: &str) -> bool {
    let text = text.trim_start();
    text.starts_with("const ") && !text.split('=').next().unwrap_or_default().contains(": ")
}

fn area_score(wants: Wants, path: &str) -> f64 {
    let lower = path.to_ascii_lowercase();
    let base = match paths::area(path) {
        Area::Source => 3.0,
        Area::Test => {
            if wants == Wants::Test {
                FIRST
            } else {
                -5.0
            }
        }
        Area::Setting => {
            if wants == Wants::Value {
                2.0
            } else {
                -0.5
            }
        }
        Area::Example | Area::Doc => -4.0,
        Area::Foreign => -30.0,
    };
    let is_log = ["changelog", "changes", "history", "news"].iter().any(|name| lower.contains(name));
    base - if is_log { 3.0 } else { 0.0 } - if paths::is_declaration(path) { 6.0 } else { 0.0 }
}

/// Returns the key of `key = value`, `key: value` and `"key": value`.
pub(crate) fn assigned(line: &str) -> Option<&str> {
    let end = line.find([':', '='])?;
    let key = line[..end].trim().trim_start_matches("pub ").trim_matches(['"', '\'']).trim();
    let rest = line[end + 1..].trim_start_matches([':', '=', '>']);
    let is_key = !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || "_-.".contains(c));
    (is_key && !line[end..].starts_with("::") && !line[end..].starts_with("==") && !rest.trim().is_empty())
        .then_some(key)
}

/// Words that narrow a request down but name nothing.
const BLAND: &str = "default number value set get new size count current handled handle handling created algorithm added introduced changed removed \
    create creating add adding called calls test tests tested string type struct class trait enum";

/// Returns `true` if a term of the common numbering names nothing.
fn is_bland(terms: &Terms, term: usize) -> bool {
    let word = term.checked_sub(terms.exact.len()).and_then(|at| terms.words.get(at));
    word.is_some_and(|word| lists(BLAND, &word.raw))
}

/// Returns `true` if a word names something.
pub(crate) fn is_name(word: &TermWord) -> bool {
    !lists(BLAND, &word.raw)
}

/// Returns the terms that name something, for a sentence.
pub(crate) fn names(terms: &Terms) -> String {
    let words = terms.words.iter().map(|word| word.raw.as_str()).filter(|raw| !lists(BLAND, raw));
    let all: Vec<String> =
        terms.exact.iter().map(String::as_str).chain(words).take(8).map(|name| format!("`{name}`")).collect();
    if all.is_empty() { terms.names() } else { all.join(", ") }
}

/// Returns the term that distinguishes a text from all others: it weighs much more than any other term.
pub(crate) fn distinctive(terms: &Terms, weights: &[f64], text: &str) -> Option<usize> {
    let mut order: Vec<usize> = (0..weights.len()).collect();
    order.sort_by(|a, b| weights[*b].total_cmp(&weights[*a]));
    let (first, second) = (*order.first()?, *order.get(1)?);
    (weights[first] >= 1.4 * weights[second] && matched(terms, text).contains(&first)).then_some(first)
}

/// Returns how many terms name something.
pub(crate) fn telling(terms: &Terms) -> usize {
    (0..terms.count()).filter(|term| !is_bland(terms, *term)).count().max(1)
}

/// Returns `true` if a file's name says all that the terms say.
pub(crate) fn is_about(terms: &Terms, path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let stem = name.split('.').next().unwrap_or(name);
    let hits = matched(terms, stem);
    let known = parts(stem).iter().all(|part| terms.words.iter().any(|word| word.matches(part)));
    known && !hits.is_empty() && (0..terms.count()).all(|term| hits.contains(&term) || is_bland(terms, term))
}

/// Returns how many of the distinctive terms a text has.
pub(crate) fn told(terms: &Terms, text: &str) -> usize {
    matched(terms, text).into_iter().filter(|term| !is_bland(terms, *term)).count()
}

/// Returns `true` if a place stands for a file of tests whose name says what is asked for.
pub(crate) fn is_test_of(terms: &Terms, place: &CitedPlace) -> bool {
    let name = place.path.rsplit('/').next().unwrap_or(&place.path);
    place.label == "file"
        && paths::area(&place.path) == Area::Test
        && matched(terms, name).into_iter().any(|term| !is_bland(terms, term))
}

/// Returns a weight for each term: the fewer places it has, the more it weighs.
pub(crate) fn weights(terms: &Terms, counts: &[usize]) -> Vec<f64> {
    #[expect(clippy::cast_precision_loss, reason = "counts of lines are small")]
    let rarity = |count: usize| 3.0 / (1.0 + (1.0 + count as f64 / 12.0).ln());
    let exact = terms.exact.iter().map(|_| 3.5);
    let words = terms.words.iter().enumerate().map(|(at, word)| {
        let weight = counts.get(at).map_or(1.5, |count| rarity(*count).max(0.4));
        if lists(BLAND, &word.raw) { weight * 0.4 } else { weight }
    });
    exact.chain(words).collect()
}
