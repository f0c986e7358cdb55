//! Which definitions a query means, the best first.
//!
//! Owns exact names, and BM25 over the fields of a definition and over its file. Leaves words to `query_words`, and counting
//! them to `word_counts`. Invariant: the order depends on the files alone; what is equal stands in the order of paths.

use std::collections::HashMap;
use std::path::Path;

use super::choice::SoughtFiles;
use super::index::{IndexedFile, IndexedFiles};
use super::language::SymbolKind;
use super::outline::Symbol;
use super::query_words::QueryWords;
use super::standing::Standing;
use super::word_counts::{WordCounts, real};

/// BM25: how soon more of the same word adds nothing, and how much longer texts are marked down.
const SATURATION: f32 = 1.2;
const LENGTH: f32 = 0.2;
/// The same for what the whole file has, and what that counts for its definitions.
const FILE_SATURATION: f32 = 5.0;
const FILE_LENGTH: f32 = 0.5;
const FILE_WEIGHT: f32 = 0.5;
/// How much a definition loses that has few of the words.
const COVERAGE: f32 = 0.6;
/// What a name that stands in a question adds: more than words can.
const NAMED: f32 = 40.0;
/// The share of the best score below which a definition is less likely to be meant.
const LIKELY: f32 = 0.6;
/// What a name bound to a module or a value counts for: a question is mostly about what does something.
const BOUND: f32 = 0.65;
/// The same of what does something.
const DEED: f32 = 1.2;
/// The same of an error type where nobody asks for errors, and of what is said of a whole file.
const ERROR: f32 = 0.7;
const WHOLE_FILE: f32 = 0.95;

/// What a definition counts for beside a better one of the same file.
const NEIGHBOR: f32 = 0.85;

/// A definition that was asked for.
#[derive(Clone, Copy)]
pub(super) struct SymbolHit {
    pub(super) file: usize,
    /// How many definitions the file has, where it is meant itself.
    pub(super) symbol: usize,
    score: f32,
}

impl SymbolHit {
    /// Returns `true` if it fits nearly as well as the best.
    pub(super) fn is_likely(&self, best: &Self) -> bool {
        self.score >= best.score * LIKELY
    }
}

/// How well the best hits fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum QueryFit {
    /// They have the name that was asked for.
    Named,
    /// They have all words.
    AllWords,
    /// No definition has what was asked for; these come nearest.
    Nearest,
}

pub(super) struct RankedSymbols {
    pub(super) hits: Vec<SymbolHit>,
    pub(super) fit: QueryFit,
}

/// What is asked for.
pub(super) struct SymbolQuery<'q> {
    text: &'q str,
    /// Names in it: the whole, or words that look like one.
    names: Vec<Name<'q>>,
    is_one_name: bool,
    words: QueryWords,
}

struct Name<'q> {
    /// What it belongs to, as in `Session::new`.
    owner: Option<&'q str>,
    name: &'q str,
}

/// Which kinds of definitions count.
#[derive(Clone, Copy)]
pub(super) struct WantedSymbols {
    pub(super) kind: Option<SymbolKind>,
    pub(super) tests: bool,
}

impl WantedSymbols {
    fn is_any(self) -> bool {
        self.kind.is_none() && !self.tests
    }

    pub(super) fn has(self, symbol: &Symbol, is_test: bool) -> bool {
        let fits = match self.kind {
            None => true,
            Some(kind) if kind.is_function() => symbol.kind.is_function(),
            Some(SymbolKind::Type) => symbol.kind.is_type(),
            Some(kind) => symbol.kind == kind,
        };
        fits && (!self.tests || is_test)
    }
}

impl<'q> SymbolQuery<'q> {
    pub(super) fn new(text: &'q str) -> Self {
        let trim = |word: &'q str| {
            let word =
                word.trim_matches(|sign: char| "`'\",.:;()?".contains(sign) && sign != '?' || sign.is_whitespace());
            word.strip_suffix("()").unwrap_or(word)
        };
        let whole = trim(text);
        let is_one_name = !whole.is_empty() && !whole.contains(char::is_whitespace);
        let names = if is_one_name {
            vec![Name::new(whole)]
        } else {
            let quoted = |word: &str| word.starts_with('`') && word.len() > 2;
            let words = text.split_whitespace().filter(|word| quoted(word) || looks_like_name(trim(word)));
            words.map(|word| Name::new(trim(word))).filter(|name| !name.name.is_empty()).collect()
        };
        Self { text, names, is_one_name, words: QueryWords::of(text) }
    }

    /// Returns what files have that it may mean.
    pub(super) fn sought(&self) -> SoughtFiles<'_> {
        SoughtFiles { names: self.names.iter().map(|name| name.name).collect(), words: Some(&self.words) }
    }

    fn asks_for_errors(&self) -> bool {
        let lower = self.text.to_lowercase();
        ["error", "exception", "fail"].iter().any(|word| lower.contains(word))
    }

    pub(super) fn is_one_name(&self) -> bool {
        self.is_one_name
    }

    /// Returns the name that is asked for, as it is shown.
    pub(super) fn shown(&self) -> String {
        let Some(Name { owner, name }) = self.names.first() else { return self.text.to_owned() };
        owner.map_or_else(|| (*name).to_owned(), |owner| format!("{owner}.{name}"))
    }

    /// Returns the name that is asked for, without what it belongs to.
    pub(super) fn name(&self) -> &'q str {
        self.names.first().map_or(self.text, |name| name.name)
    }
}

impl<'q> Name<'q> {
    fn new(path: &'q str) -> Self {
        let cut = ["::", ".", "#", "->"].into_iter().filter_map(|sign| Some((path.rfind(sign)?, sign.len()))).max();
        match cut.filter(|(at, length)| *at > 0 && at + length < path.len()) {
            None => Self { owner: None, name: path },
            Some((at, length)) => {
                let owner = path[..at].rsplit(['.', ':', '#', '>']).next().filter(|owner| !owner.is_empty());
                Self { owner, name: &path[at + length..] }
            }
        }
    }
}

fn looks_like_name(word: &str) -> bool {
    let inner = word.get(1..).unwrap_or_default();
    word.contains('_')
        || word.contains("::")
        || inner.contains(|sign: char| sign.is_ascii_uppercase())
            && word.contains(|sign: char| sign.is_ascii_lowercase())
}

/// Returns the definitions that `query` means.
pub(super) fn rank(
    indexed: &IndexedFiles,
    query: &SymbolQuery<'_>,
    wanted: WantedSymbols,
    project: &Path,
) -> RankedSymbols {
    let standings = indexed.standings(project);
    if query.is_one_name {
        for loose in [false, true] {
            let (hits, is_owned) = named(indexed, query, wanted, &standings, loose);
            let is_bound_only = hits.iter().all(|hit| is_bound(&indexed.files[hit.file].1.symbols[hit.symbol]));
            if !hits.is_empty() && (loose || !is_bound_only) {
                return RankedSymbols { hits, fit: if is_owned { QueryFit::Named } else { QueryFit::Nearest } };
            }
        }
    }
    let (hits, has_all) = scored(indexed, query, wanted, &standings, project);
    let fit = if has_all && !query.is_one_name { QueryFit::AllWords } else { QueryFit::Nearest };
    RankedSymbols { hits, fit }
}

fn named(
    indexed: &IndexedFiles,
    query: &SymbolQuery<'_>,
    wanted: WantedSymbols,
    standings: &[Standing],
    loose: bool,
) -> (Vec<SymbolHit>, bool) {
    let mut hits = Vec::new();
    for (at, (_, file)) in indexed.files.iter().enumerate() {
        for (number, symbol) in file.symbols.iter().enumerate() {
            let is_test = standings[at].is_test || is_in_tests(file, number);
            if !wanted.has(symbol, is_test) {
                continue;
            }
            let fits = |name: &Name<'_>| -> bool {
                let is_whole = *symbol.name == *query.text.trim();
                is_whole || *symbol.name == *name.name || loose && symbol.name.eq_ignore_ascii_case(name.name)
            };
            if !query.names.iter().any(fits) {
                continue;
            }
            let mut score = standings[at].weight(wanted, is_test);
            if symbol.kind.is_type() {
                score *= 1.1;
            }
            if is_value(symbol) {
                score *= BOUND;
            }
            hits.push(SymbolHit { file: at, symbol: number, score });
        }
    }
    // Others of the name count only where none belongs to what was named.
    let owner = query.names.first().and_then(|name| name.owner);
    let owned = |hit: &SymbolHit| owner.is_none() || owner_of(&indexed.files[hit.file].1, hit.symbol) == owner;
    let has_owned = hits.iter().any(owned);
    if has_owned {
        hits.retain(owned);
    }
    sort(&mut hits);
    (hits, has_owned)
}

fn is_error(symbol: &Symbol) -> bool {
    symbol.kind.is_type() && (symbol.name.ends_with("Error") || symbol.name.ends_with("Exception"))
}

fn is_value(symbol: &Symbol) -> bool {
    is_bound(symbol) || matches!(symbol.kind, SymbolKind::Constant | SymbolKind::Property)
}

/// Returns `true` for a name that may stand for what is defined elsewhere.
fn is_bound(symbol: &Symbol) -> bool {
    matches!(symbol.kind, SymbolKind::Module | SymbolKind::Variable)
}

/// Returns the name of what a definition belongs to.
pub(super) fn owner_of(file: &IndexedFile, at: usize) -> Option<&str> {
    let symbol = file.symbols.get(at)?;
    let parent = || {
        let parent = file.symbols.get(symbol.parent()?)?;
        (parent.kind.is_type() || parent.kind == SymbolKind::Module).then_some(&*parent.name)
    };
    symbol.owner.as_deref().or_else(parent)
}

/// Returns `true` if a definition stands in a module of tests.
pub(super) fn is_in_tests(file: &IndexedFile, at: usize) -> bool {
    let mut next = file.symbols.get(at);
    for _ in 0..20 {
        let Some(symbol) = next else { return false };
        if symbol.kind == SymbolKind::Module && matches!(&*symbol.name, "tests" | "test") {
            return true;
        }
        next = symbol.parent().and_then(|parent| file.symbols.get(parent));
    }
    false
}

/// Returns all definitions that have a word of the query, and whether the best has all.
fn scored(
    indexed: &IndexedFiles,
    query: &SymbolQuery<'_>,
    wanted: WantedSymbols,
    standings: &[Standing],
    project: &Path,
) -> (Vec<SymbolHit>, bool) {
    let words = &query.words;
    let counts = WordCounts::of(indexed, words, wanted, project);
    let rarities = WordCounts::rarities(counts.definitions, &counts.in_definitions);
    let file_rarities = WordCounts::rarities(counts.all_files, &counts.in_files);
    let sum: f32 = words.all().iter().map(|word| word.weight * rarities[word.own]).sum();
    let mean = (real(counts.length) / real(counts.definitions.max(1))).max(1.0);
    let file_mean = (real(counts.length) / real(counts.all_files.max(1))).max(1.0);
    let mut best = (0.0, false);
    let mut hits: Vec<SymbolHit> = Vec::new();
    for file in &counts.files {
        let (_, known) = &indexed.files[file.at];
        let norm = 1.0 - FILE_LENGTH + FILE_LENGTH * real(file.length) / file_mean;
        let around: f32 = words
            .all()
            .iter()
            .map(|word| word.weight * word.best(&file_rarities, |id| bm25(file.counts[id] / norm, FILE_SATURATION)))
            .sum();
        for counted in &file.definitions {
            let symbol = known.symbols.get(counted.symbol);
            let is_test = standings[file.at].is_test || is_in_tests(known, counted.symbol);
            let is_wanted_file = wanted.is_any() || wanted.kind.is_none() && is_test;
            if !symbol.map_or(is_wanted_file, |symbol| wanted.has(symbol, is_test)) {
                continue;
            }
            let norm = 1.0 - LENGTH + LENGTH * real(counted.length) / mean;
            let (mut own, mut share, mut has_all) = (0.0, 0.0, true);
            for word in words.all() {
                let fits = word.best(&rarities, |id| bm25(counted.weight(id) / norm, SATURATION));
                own += word.weight * fits;
                share += word.weight * fits.min(rarities[word.own]);
                has_all &= fits > 0.0 || word.weight < 1.0;
            }
            let share = (share / sum.max(f32::EPSILON)).min(1.0);
            let kind = match symbol {
                None => WHOLE_FILE,
                Some(symbol) if is_value(symbol) && wanted.kind.is_none() => BOUND,
                Some(symbol) if is_error(symbol) && !query.asks_for_errors() => ERROR,
                Some(symbol) if symbol.kind.is_function() => DEED,
                Some(_) => 1.0,
            };
            let is_named = !query.is_one_name
                && symbol.is_some_and(|symbol| query.names.iter().any(|wanted| *symbol.name == *wanted.name));
            let fits = own * (1.0 - COVERAGE + COVERAGE * share) + FILE_WEIGHT * around;
            let score = fits * kind * standings[file.at].weight(wanted, is_test) + if is_named { NAMED } else { 0.0 };
            if score > best.0 {
                best = (score, has_all || is_named);
            }
            hits.push(SymbolHit { file: file.at, symbol: counted.symbol, score });
        }
    }
    sort(&mut hits);
    spread(&mut hits);
    (hits, best.1)
}

/// BM25 of one word: more of it adds less and less.
fn bm25(weight: f32, saturation: f32) -> f32 {
    weight * (saturation + 1.0) / (weight + saturation)
}

/// Marks each further definition of a file down: where the best is not it, its neighbors seldom are.
fn spread(hits: &mut [SymbolHit]) {
    let mut shares: HashMap<usize, f32> = HashMap::new();
    for hit in hits.iter_mut() {
        let share = shares.entry(hit.file).or_insert(1.0);
        hit.score *= *share;
        *share *= NEIGHBOR;
    }
    sort(hits);
}

fn sort(hits: &mut [SymbolHit]) {
    hits.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| (a.file, a.symbol).cmp(&(b.file, b.symbol))));
}
