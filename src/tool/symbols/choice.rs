//! Which of many files to look into for a question: those that have its names, and those that have most of its words.
//!
//! Owns the words of whole files, and their order. Leaves what files define to `index`, what a word is to `terms`.
//! Invariant: the choice depends on the files and the question alone; of a few files, all are chosen.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use regex::bytes::{Regex, RegexBuilder};

use super::index::{ListedFile, OfFile, Remembered, in_parallel, text_of};
use super::query_words::QueryWords;
use super::terms::TermReader;
use super::word_counts::{WordCounts, real};
use crate::tool::Stamp;
use crate::tool::search::walk::Watch;

/// So many files are all looked into.
const FEW: usize = 3_000;
/// Files looked into for words.
const MOST: usize = 800;
/// What a word in the path of a file counts for beside one in its text.
const IN_PATH: f32 = 1.5;
/// How much longer files are marked down: the power of their length.
const LENGTH: f32 = 0.2;

/// What is sought in files.
pub(super) struct SoughtFiles<'q> {
    /// Names as they are written: each file that has one of them counts.
    pub(super) names: Vec<&'q str>,
    pub(super) words: Option<&'q QueryWords>,
}

/// What the files that are not looked into would add.
#[derive(Default)]
pub(super) struct FileChoice {
    /// Files that have some of the words and are left out.
    pub(super) left_out: usize,
    /// How many times as much there is in all.
    share: Option<f32>,
    /// The same for each word of the query.
    shares: Vec<f32>,
}

impl FileChoice {
    /// Returns how many there are in all, of so many that are looked into.
    pub(super) fn of_all(&self, count: usize) -> usize {
        times(count, self.share.unwrap_or(1.0))
    }

    /// Returns the same of what has a word, by the word's id.
    pub(super) fn with_word(&self, id: usize, count: usize) -> usize {
        times(count, self.shares.get(id).copied().unwrap_or(1.0))
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "counts of files and definitions are small"
)]
fn times(count: usize, share: f32) -> usize {
    (real(count) * share) as usize
}

/// The words of one file.
pub(super) struct FileWords {
    stamp: Stamp,
    terms: Box<[u32]>,
}

impl OfFile for FileWords {
    fn stamp(&self) -> &Stamp {
        &self.stamp
    }

    fn bytes(&self) -> usize {
        size_of::<Self>() + 4 * self.terms.len()
    }
}

/// Returns the files to look into, in their order.
pub(super) fn choose<'f>(
    root: &Path,
    listed: &'f [ListedFile],
    sought: Option<&SoughtFiles<'_>>,
    known: &Remembered<FileWords>,
    watch: &Watch,
) -> (Vec<&'f ListedFile>, FileChoice) {
    let Some(sought) = sought.filter(|_| listed.len() > FEW) else {
        return (listed.iter().collect(), FileChoice::default());
    };
    let mut chosen = vec![false; listed.len()];
    for at in with_names(listed, &sought.names, watch) {
        chosen[at] = true;
    }
    let choice = match sought.words {
        Some(words) => with_words(root, listed, words, known, &mut chosen, watch),
        None => FileChoice::default(),
    };
    let files = listed.iter().zip(chosen).filter(|(_, is_chosen)| *is_chosen).map(|(file, _)| file).collect();
    (files, choice)
}

/// Returns the numbers of the files that have any of some names, whatever their case.
fn with_names(listed: &[ListedFile], names: &[&str], watch: &Watch) -> Vec<usize> {
    let all: Vec<String> = names.iter().filter(|name| !name.is_empty()).map(|name| regex::escape(name)).collect();
    let pattern = (!all.is_empty()).then(|| RegexBuilder::new(&all.join("|")).case_insensitive(true).build().ok());
    let Some(pattern) = pattern.flatten() else { return Vec::new() };
    let has = |pattern: &Regex, path: &Path| text_of(path).is_some_and(|(text, _)| pattern.is_match(text.as_bytes()));
    in_parallel(listed, Some(watch), usize::MAX, |_, at, file| {
        has(&pattern, &file.path).then_some(at).into_iter().collect()
    })
}

/// Chooses the files that have most of the words.
fn with_words(
    root: &Path,
    listed: &[ListedFile],
    words: &QueryWords,
    known: &Remembered<FileWords>,
    chosen: &mut [bool],
    watch: &Watch,
) -> FileChoice {
    let look = |reader: &mut TermReader, _: usize, file: &ListedFile| {
        let found = known.of(file).or_else(|| {
            let (text, stamp) = text_of(&file.path)?;
            Some(Arc::new(FileWords { stamp, terms: reader.distinct(&text).into() }))
        });
        let found = found.unwrap_or_else(|| Arc::new(FileWords { stamp: file.stamp, terms: Box::default() }));
        vec![(file.path.clone(), found)]
    };
    let all: Vec<(PathBuf, Arc<FileWords>)> = in_parallel(listed, Some(watch), usize::MAX, look);
    if watch.is_over() {
        return FileChoice::default();
    }
    known.keep(root, listed, &all);
    // For each file and id, what having it counts for.
    let fits = |reader: &mut TermReader, (path, file): &(PathBuf, Arc<FileWords>)| {
        let mut fits = vec![0.0; words.ids()];
        file.terms.iter().filter_map(|term| words.id(*term)).for_each(|id| fits[id] = 1.0);
        let shown = path.strip_prefix(root).unwrap_or(path).to_string_lossy();
        reader.read(&shown, |term| words.id(term).into_iter().for_each(|id| fits[id] = IN_PATH));
        fits
    };
    let fits: Vec<Vec<f32>> = TermReader::lend(|reader| all.iter().map(|file| fits(reader, file)).collect());
    let having = |id: usize| fits.iter().filter(|fits| fits[id] > 0.0).count();
    let with: Vec<usize> = (0..words.ids()).map(having).collect();
    let rarities = WordCounts::rarities(listed.len(), &with);
    let score = |(at, fits): (usize, &Vec<f32>)| {
        let told: f32 = words.all().iter().map(|word| word.weight * word.best(&rarities, |id| fits[id])).sum();
        let bytes = usize::try_from(listed[at].stamp.len).unwrap_or(usize::MAX).max(1);
        (told / real(bytes).powf(LENGTH), at)
    };
    let mut scores: Vec<(f32, usize)> = fits.iter().enumerate().map(score).filter(|(score, _)| *score > 0.0).collect();
    scores.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    for (_, at) in scores.iter().take(MOST) {
        chosen[*at] = true;
    }
    let bytes = |is_counted: &dyn Fn(usize) -> bool| -> u64 {
        listed.iter().enumerate().filter(|(at, _)| is_counted(*at)).map(|(_, file)| file.stamp.len).sum()
    };
    let chosen_with = |id: usize| fits.iter().zip(&*chosen).filter(|(fits, is_in)| **is_in && fits[id] > 0.0).count();
    FileChoice {
        left_out: scores.len().saturating_sub(MOST),
        share: Some(share(bytes(&|_| true), bytes(&|at| chosen[at]))),
        shares: with.iter().enumerate().map(|(id, all)| share(*all as u64, chosen_with(id) as u64)).collect(),
    }
}

#[expect(clippy::cast_precision_loss, reason = "a rank needs no more than 24 bits")]
fn share(all: u64, part: u64) -> f32 {
    (all as f32 / part.max(1) as f32).max(1.0)
}
