//! The words of a query, and what else is said for them.
//!
//! Owns synonyms, and the words that say how one asks and not what for. Leaves splitting and stems to `terms`. Invariant:
//! a synonym never counts as much as the word itself.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use super::terms::terms_of;

/// What a synonym counts for.
const SYNONYM: f32 = 0.65;
/// What a word counts for that says how one asks.
const FILLER: f32 = 0.5;
const FILLERS: &str = "function method class type struct file line lines code program project happen work handled implement \
    done defined place kind people something somebody thing way part use used decide tell turn take go come become know notice make made";
/// Words that tell nothing in a question, though a name may have them.
const IDLE: &str = "any all no when so one another same given new up out down there after before into onto whether about \
    than only just also other others each every both some such too very longer still instead already everything \
    anything nothing like";
/// Letters from which on a word may be written as two in a name.
const LONG: usize = 7;
/// Words of a query that count.
const MAX_WORDS: usize = 24;
const MARKS: usize = 4_096;

/// The words of a query. Each word and each synonym has a number, its id.
pub(super) struct QueryWords {
    words: Vec<QueryWord>,
    /// Their terms and those of their synonyms, in order. The id of a term is its place.
    terms: Vec<u32>,
    /// For some bits of a term, whether a word with these is among them: most terms of a project are told by that.
    marks: [u64; MARKS / 64],
    /// Long words as they are written, in lower case, with their ids.
    long: Vec<(String, usize)>,
}

pub(super) struct QueryWord {
    /// What it counts for: 1 unless it only says how one asks.
    pub(super) weight: f32,
    pub(super) own: usize,
    synonyms: Vec<usize>,
}

impl QueryWords {
    pub(super) fn of(text: &str) -> Self {
        Self::without(text, &HashSet::new())
    }

    /// Returns the words of a text but for some.
    pub(super) fn without(text: &str, left_out: &HashSet<u32>) -> Self {
        static FILLER_TERMS: LazyLock<Vec<u32>> = LazyLock::new(|| terms_of(FILLERS));
        let text = &in_one_word(text);
        let mut own = terms_of(text);
        let mut seen: HashSet<u32> = terms_of(IDLE).into_iter().collect();
        seen.extend(left_out);
        own.retain(|term| seen.insert(*term));
        if own.is_empty() {
            own = terms_of(text);
        }
        own.truncate(MAX_WORDS);
        let of = |term: &u32| SYNONYMS.get(term).map(Vec::as_slice).unwrap_or_default();
        let mut all: Vec<u32> = own.iter().flat_map(|term| of(term).iter().chain([term])).copied().collect();
        all.sort_unstable();
        all.dedup();
        let mut words = Self { words: Vec::new(), terms: all, marks: [0; MARKS / 64], long: Vec::new() };
        for term in &words.terms {
            let (at, bit) = mark(*term);
            words.marks[at] |= bit;
        }
        for word in text.split(|sign: char| !sign.is_alphanumeric()).filter(|word| word.len() >= LONG) {
            let id = terms_of(word).first().and_then(|term| words.id(*term));
            words.long.extend(id.map(|id| (word.to_lowercase(), id)));
        }
        for term in &own {
            let weight = if FILLER_TERMS.contains(term) { FILLER } else { 1.0 };
            let synonyms = of(term).iter().filter_map(|term| words.id(*term)).collect();
            let own = words.id(*term).unwrap_or_default();
            words.words.push(QueryWord { weight, own, synonyms });
        }
        words
    }

    pub(super) fn all(&self) -> &[QueryWord] {
        &self.words
    }

    /// Returns how many ids there are.
    pub(super) fn ids(&self) -> usize {
        self.terms.len()
    }

    /// Returns the ids of words that a name writes as two, as `WebSocket` does with a websocket.
    pub(super) fn joined(&self, name: &str) -> impl Iterator<Item = usize> {
        let may_hold = self.long.iter().any(|(word, _)| word.len() <= name.len());
        let letters = if may_hold { name.replace('_', "").to_lowercase() } else { String::new() };
        self.long.iter().filter(move |(word, _)| letters.contains(word.as_str())).map(|(_, id)| *id)
    }

    /// Returns the id of a term, if the query has the word or a synonym of it.
    pub(super) fn id(&self, term: u32) -> Option<usize> {
        let (at, bit) = mark(term);
        if self.marks[at] & bit == 0 { None } else { self.terms.binary_search(&term).ok() }
    }
}

/// Returns the place of a term's mark.
fn mark(term: u32) -> (usize, u64) {
    let place = term as usize % MARKS;
    (place / 64, 1 << (place % 64))
}

impl QueryWord {
    /// Returns how well the word itself or the best of its synonyms fits. `fit` is without regard to how rare a word is.
    pub(super) fn best(&self, rarities: &[f32], fit: impl Fn(usize) -> f32) -> f32 {
        let own = fit(self.own) * rarities[self.own];
        self.synonyms.iter().map(|id| SYNONYM * fit(*id) * rarities[*id].min(rarities[self.own])).fold(own, f32::max)
    }
}

/// Writes as one word what is said in two, such as `leave out` or `read-only`, where names have a word for it.
fn in_one_word(text: &str) -> String {
    let term = |word: &str| terms_of(word).first().copied();
    let mut words = text.split_whitespace().peekable();
    let mut written = Vec::new();
    while let Some(word) = words.next() {
        let joined = word.replace('-', "");
        let phrase = words.peek().and_then(|next| {
            let particle = next.trim_matches(|sign: char| !sign.is_alphanumeric());
            PHRASES.get(&(term(word)?, particle.to_lowercase()))
        });
        if let Some(one) = phrase {
            words.next();
            written.push((*one).to_owned());
        } else if joined != word && term(&joined).is_some_and(|term| SYNONYMS.contains_key(&term)) {
            written.push(joined);
        } else {
            written.push(word.to_owned());
        }
    }
    written.join(" ")
}

fn table() -> impl Iterator<Item = &'static str> {
    include_str!("../../../assets/synonyms.txt").lines().filter(|line| !line.starts_with('#'))
}

/// For a verb and the word behind it, what both mean.
static PHRASES: LazyLock<HashMap<(u32, String), &'static str>> = LazyLock::new(|| {
    let rows = table().filter_map(|row| row.split_once(" = "));
    let phrases = rows.flat_map(|(one, phrases)| phrases.split(", ").map(move |phrase| (one, phrase)));
    let key = |phrase: &str| {
        let (verb, particle) = phrase.split_once(' ')?;
        Some((terms_of(verb).first().copied()?, particle.to_owned()))
    };
    phrases.filter_map(|(one, phrase)| Some((key(phrase)?, one))).collect()
});

/// For each term, those of its synonyms.
static SYNONYMS: LazyLock<HashMap<u32, Vec<u32>>> = LazyLock::new(|| {
    let mut all: HashMap<u32, Vec<u32>> = HashMap::new();
    for group in table().filter(|row| !row.contains(" = ")).map(terms_of) {
        for term in &group {
            let known = all.entry(*term).or_default();
            known.extend(group.iter().filter(|other| *other != term));
            known.sort_unstable();
            known.dedup();
        }
    }
    all
});
