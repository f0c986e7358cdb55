//! How often the words of a query occur, in definitions and in files.
//!
//! Owns what a word weighs by where it stands. Leaves the order to `rank`. Invariant: what has no word of the query is
//! counted in the length of all texts only.

use std::path::Path;

use super::index::{IndexedFile, IndexedFiles};
use super::outline::Symbol;
use super::query_words::QueryWords;
use super::rank::WantedSymbols;
use super::terms::{FIELD_BITS, IN_BODY, IN_DOC, IN_NAME, OFTEN, TermReader, text_length};

/// What a word weighs by its field.
const NAME_WEIGHT: f32 = 4.0;
const OWNER_WEIGHT: f32 = 3.0;
const DOC_WEIGHT: f32 = 2.0;
const BODY_WEIGHT: f32 = 1.0;
const PATH_WEIGHT: f32 = 1.0;
/// What a word of its path weighs for a file itself.
const FILE_NAME_WEIGHT: f32 = 3.0;
/// What counts as often.
const OFTEN_TIMES: f32 = 2.0;

/// What is counted of one definition: how long it is, and for each field that has a word its weight.
pub(super) struct CountedDefinition {
    pub(super) symbol: usize,
    pub(super) length: usize,
    pub(super) weights: Vec<(usize, f32)>,
}

impl CountedDefinition {
    pub(super) fn weight(&self, id: usize) -> f32 {
        self.weights.iter().filter(|(known, _)| *known == id).map(|(_, weight)| weight).sum()
    }
}

/// A file with a word of the query.
pub(super) struct CountedFile {
    pub(super) at: usize,
    pub(super) length: usize,
    /// For each word, how often the definitions have it, and how many have it.
    pub(super) counts: Vec<f32>,
    pub(super) having: Vec<usize>,
    pub(super) definitions: Vec<CountedDefinition>,
}

/// How often the words of a query occur.
pub(super) struct WordCounts {
    pub(super) files: Vec<CountedFile>,
    /// Files, definitions, and their terms in all.
    pub(super) all_files: usize,
    pub(super) definitions: usize,
    pub(super) length: usize,
    /// For each word, how many definitions and how many files have it.
    pub(super) in_definitions: Vec<usize>,
    pub(super) in_files: Vec<usize>,
}

impl WordCounts {
    pub(super) fn of(indexed: &IndexedFiles, words: &QueryWords, wanted: WantedSymbols, project: &Path) -> Self {
        let files = indexed.scan(None, usize::MAX, |reader, at, path, file| {
            let mut found = CountedFile::of(at, file, words);
            found.add_path(path, file, words, wanted, project, reader);
            (!found.definitions.is_empty()).then_some(found).into_iter().collect()
        });
        let sum = |of: fn(&IndexedFile) -> usize| indexed.files.iter().map(|(_, file)| of(file)).sum();
        // Of many files only those were looked into that have most of the words.
        let choice = &indexed.choice;
        let over = |of: &dyn Fn(&CountedFile, usize) -> usize| -> Vec<usize> {
            (0..words.ids()).map(|id| choice.with_word(id, files.iter().map(|file| of(file, id)).sum())).collect()
        };
        Self {
            all_files: choice.of_all(indexed.files.len()),
            definitions: choice.of_all(sum(|file| file.symbols.len())),
            length: choice.of_all(sum(IndexedFile::length)),
            in_definitions: over(&|file, id| file.having[id]),
            in_files: over(&|file, id| usize::from(file.counts[id] > 0.0)),
            files,
        }
    }

    /// Returns for each word how much it tells: the more, the fewer have it.
    pub(super) fn rarities(total: usize, with: &[usize]) -> Vec<f32> {
        with.iter().map(|with| ((real(total) - real(*with) + 0.5).max(0.0) / (real(*with) + 0.5) + 1.0).ln()).collect()
    }
}

impl CountedFile {
    fn of(at: usize, file: &IndexedFile, words: &QueryWords) -> Self {
        let mut found = Self {
            at,
            length: file.length(),
            counts: vec![0.0; words.ids()],
            having: vec![0; words.ids()],
            definitions: Vec::new(),
        };
        for symbol in 0..=file.symbols.len() {
            let terms = file.terms(symbol);
            let mut weights: Vec<(usize, f32)> = Vec::new();
            for term in terms {
                if let Some(id) = words.id(term >> FIELD_BITS) {
                    found.having[id] += 1;
                    found.counts[id] += if term & OFTEN == 0 { 1.0 } else { OFTEN_TIMES };
                    weights.push((id, weight(*term)));
                }
            }
            let name = file.symbols.get(symbol).map_or("", |symbol| &symbol.name);
            for id in words.joined(name).filter(|id| !weights.iter().any(|(known, _)| known == id)).collect::<Vec<_>>()
            {
                found.having[id] += 1;
                found.counts[id] += 1.0;
                weights.push((id, NAME_WEIGHT));
            }
            if weights.is_empty() {
                continue;
            }
            // What it belongs to says what it is about, as its own name does.
            let owner = file.symbols.get(symbol).and_then(Symbol::parent).map(|parent| file.terms(parent));
            for term in owner.into_iter().flatten().filter(|term| **term & IN_NAME != 0) {
                if let Some(id) = words.id(term >> FIELD_BITS) {
                    weights.push((id, OWNER_WEIGHT));
                }
            }
            found.definitions.push(CountedDefinition { symbol, length: text_length(terms), weights });
        }
        found
    }

    /// Adds what the path of the file says.
    fn add_path(
        &mut self,
        path: &Path,
        file: &IndexedFile,
        words: &QueryWords,
        wanted: WantedSymbols,
        project: &Path,
        reader: &mut TermReader,
    ) {
        let whole = file.symbols.len();
        // Tests may define nothing that has a name, but stand in a file that is named after what they test.
        if wanted.tests && self.definitions.last().is_none_or(|last| last.symbol != whole) {
            let stem = path.file_stem().unwrap_or_default().to_string_lossy();
            let mut is_named = false;
            reader.read(&stem, |term| is_named |= words.id(term).is_some());
            let named = CountedDefinition { symbol: whole, length: 0, weights: Vec::new() };
            self.definitions.extend(is_named.then_some(named));
        }
        if self.definitions.is_empty() {
            return;
        }
        let shown = path.strip_prefix(project).unwrap_or(path).to_string_lossy();
        let mut in_path = Vec::new();
        reader.read(&shown, |term| in_path.extend(words.id(term)));
        for id in in_path {
            for definition in &mut self.definitions {
                let is_file = definition.symbol == whole;
                definition.weights.push((id, if is_file { FILE_NAME_WEIGHT } else { PATH_WEIGHT }));
            }
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "a rank needs no more than 24 bits")]
pub(super) fn real(count: usize) -> f32 {
    count as f32
}

fn weight(term: u32) -> f32 {
    let field = |bits: u32, weight: f32| if term & bits == 0 { 0.0 } else { weight };
    let often = BODY_WEIGHT * (OFTEN_TIMES - 1.0);
    field(IN_NAME, NAME_WEIGHT) + field(IN_DOC, DOC_WEIGHT) + field(IN_BODY, BODY_WEIGHT) + field(OFTEN, often)
}
