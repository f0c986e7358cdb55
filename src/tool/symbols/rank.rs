//! Which definitions a query means, the best first.
//!
//! Owns exact names, and BM25 over the fields of a definition: its name, its documentation, its body, its path. Leaves
//! words to `terms`. Invariant: the order depends on the files alone; what is equal stands in the order of paths.

use std::path::Path;

use super::index::{IndexedFile, IndexedFiles};
use super::language::SymbolKind;
use super::outline::Symbol;
use super::terms::{FIELD_BITS, IN_BODY, IN_DOC, IN_NAME, OFTEN, TermReader};

/// BM25: how soon more of the same word adds nothing, and how much longer texts are marked down.
const SATURATION: f32 = 1.2;
const LENGTH: f32 = 0.6;
/// What a word weighs by its field.
const NAME_WEIGHT: f32 = 3.0;
const DOC_WEIGHT: f32 = 1.2;
const BODY_WEIGHT: f32 = 0.4;
const PATH_WEIGHT: f32 = 0.6;
/// What places count for that a question is seldom about.
const TEST: f32 = 0.45;
const EXAMPLE: f32 = 0.6;
const VENDORED: f32 = 0.4;
const GENERATED: f32 = 0.4;
/// The share of the best score below which a definition is less likely to be meant.
const LIKELY: f32 = 0.6;
/// What a name bound to a module or a value counts for: what it stands for is mostly defined elsewhere.
const BOUND: f32 = 0.7;
/// Words of a query that count.
const MAX_TERMS: usize = 24;

/// A definition that was asked for.
#[derive(Clone, Copy)]
pub(super) struct SymbolHit {
    pub(super) file: usize,
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
    terms: Vec<u32>,
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
    pub(super) fn has(self, symbol: &Symbol, is_test: bool) -> bool {
        let fits = match self.kind {
            None => true,
            Some(SymbolKind::Function | SymbolKind::Method) => {
                matches!(symbol.kind, SymbolKind::Function | SymbolKind::Method)
            }
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
        let mut terms = Vec::new();
        TermReader::default().read(text, |term| {
            if !terms.contains(&term) && terms.len() < MAX_TERMS {
                terms.push(term);
            }
        });
        Self { text, names, is_one_name, terms }
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
    let standings: Vec<Standing> = indexed
        .files
        .iter()
        .map(|(path, file)| Standing::of(path.strip_prefix(project).unwrap_or(path), file))
        .collect();
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
            if is_bound(symbol) {
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

/// What is counted of one definition: for each word of the query the weights of its fields, and how long it is.
struct Counted {
    hit: SymbolHit,
    weights: Vec<(u8, f32)>,
    length: usize,
    is_test: bool,
}

/// Returns all definitions that have a word of the query, and whether the best has all.
fn scored(
    indexed: &IndexedFiles,
    query: &SymbolQuery<'_>,
    wanted: WantedSymbols,
    standings: &[Standing],
    project: &Path,
) -> (Vec<SymbolHit>, bool) {
    let (counted, frequencies, total, lengths) = count(indexed, query, wanted, standings, project);
    let mean = (real(lengths) / real(total.max(1))).max(1.0);
    let rarity = |term: u8| {
        let with = real(frequencies[usize::from(term)]);
        ((real(total) - with + 0.5) / (with + 0.5) + 1.0).ln()
    };
    let mut best = (0.0, false);
    let mut hits: Vec<SymbolHit> = Vec::with_capacity(counted.len());
    for counted in counted {
        let norm = 1.0 - LENGTH + LENGTH * real(counted.length) / mean;
        let sum: f32 = counted
            .weights
            .iter()
            .map(|(term, weight)| {
                let weight = weight / norm;
                rarity(*term) * weight * (SATURATION + 1.0) / (weight + SATURATION)
            })
            .sum();
        let (file, symbol) = (&indexed.files[counted.hit.file].1, counted.hit.symbol);
        let share = real(counted.weights.len()) / real(query.terms.len().max(1));
        let name = &file.symbols[symbol].name;
        let sum = if is_bound(&file.symbols[symbol]) { sum * BOUND } else { sum };
        let is_named = !query.is_one_name && query.names.iter().any(|wanted| **name == *wanted.name);
        let score = sum * (0.4 + 0.6 * share) * standings[counted.hit.file].weight(wanted, counted.is_test)
            + if is_named { 20.0 } else { 0.0 };
        if score > best.0 {
            best = (score, counted.weights.len() == query.terms.len() || is_named);
        }
        hits.push(SymbolHit { score, ..counted.hit });
    }
    sort(&mut hits);
    (hits, best.1)
}

fn count(
    indexed: &IndexedFiles,
    query: &SymbolQuery<'_>,
    wanted: WantedSymbols,
    standings: &[Standing],
    project: &Path,
) -> (Vec<Counted>, Vec<usize>, usize, usize) {
    let mut counted = Vec::new();
    let (mut frequencies, mut total, mut lengths) = (vec![0; query.terms.len()], 0, 0);
    let mut reader = TermReader::default();
    for (at, (path, file)) in indexed.files.iter().enumerate() {
        let mut in_path = Vec::new();
        let shown = path.strip_prefix(project).unwrap_or(path).to_string_lossy();
        reader.read(&shown, |term| in_path.extend(query.terms.iter().position(|wanted| *wanted == term)));
        for (number, symbol) in file.symbols.iter().enumerate() {
            let terms = file.terms(number);
            total += 1;
            lengths += terms.len();
            let mut weights: Vec<(u8, f32)> = Vec::new();
            for term in terms {
                if let Some(which) = query.terms.iter().position(|wanted| *wanted == term >> FIELD_BITS) {
                    frequencies[which] += 1;
                    weights.push((u8::try_from(which).unwrap_or(0), weight(*term)));
                }
            }
            if weights.is_empty() {
                continue;
            }
            let is_test = standings[at].is_test || is_in_tests(file, number);
            if !wanted.has(symbol, is_test) {
                continue;
            }
            for which in &in_path {
                let which = u8::try_from(*which).unwrap_or(0);
                match weights.iter_mut().find(|(known, _)| *known == which) {
                    Some((_, weight)) => *weight += PATH_WEIGHT,
                    None => weights.push((which, PATH_WEIGHT)),
                }
            }
            let hit = SymbolHit { file: at, symbol: number, score: 0.0 };
            counted.push(Counted { hit, weights, length: terms.len(), is_test });
        }
    }
    (counted, frequencies, total, lengths)
}

#[expect(clippy::cast_precision_loss, reason = "a rank needs no more than 24 bits")]
fn real(count: usize) -> f32 {
    count as f32
}

fn weight(term: u32) -> f32 {
    let field = |bits: u32, weight: f32| if term & bits == 0 { 0.0 } else { weight };
    field(IN_NAME, NAME_WEIGHT) + field(IN_DOC, DOC_WEIGHT) + field(IN_BODY, BODY_WEIGHT) + field(OFTEN, BODY_WEIGHT)
}

fn sort(hits: &mut [SymbolHit]) {
    hits.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| (a.file, a.symbol).cmp(&(b.file, b.symbol))));
}

/// Where a file stands in its project.
pub(super) struct Standing {
    pub(super) is_test: bool,
    weight: f32,
}

impl Standing {
    pub(super) fn of(path: &Path, file: &IndexedFile) -> Self {
        let mut standing = Self { is_test: false, weight: 1.0 };
        for part in path.parent().into_iter().flat_map(Path::components) {
            match part.as_os_str().to_str().unwrap_or_default() {
                "test" | "tests" | "spec" | "specs" | "__tests__" | "testdata" | "testing" | "fixtures" | "e2e" => {
                    standing.is_test = true;
                }
                "example" | "examples" | "bench" | "benches" | "benchmark" | "benchmarks" | "demo" | "demos"
                | "samples" | "docs" => standing.weight = standing.weight.min(EXAMPLE),
                "vendor" | "vendored" | "third_party" | "thirdparty" | "node_modules" | "deps" | "external" => {
                    standing.weight = standing.weight.min(VENDORED);
                }
                part if part.ends_with("Test") || part.ends_with("Tests") || part.ends_with(".Tests") => {
                    standing.is_test = true;
                }
                _ => {}
            }
        }
        let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        let ends = ["_test", "_tests", "_spec", ".test", ".spec", "Test", "Tests", "Spec", "-test"];
        standing.is_test |= stem.starts_with("test_") || stem == "tests" || ends.iter().any(|end| stem.ends_with(end));
        if stem.strip_suffix(".d").is_some() {
            standing.weight = standing.weight.min(EXAMPLE);
        }
        if file.is_generated {
            standing.weight = standing.weight.min(GENERATED);
        }
        standing
    }

    fn weight(&self, wanted: WantedSymbols, is_test: bool) -> f32 {
        if is_test && !wanted.tests { self.weight.min(TEST) } else { self.weight }
    }
}
