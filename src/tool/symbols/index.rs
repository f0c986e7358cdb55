//! The definitions of many files, each read once for as long as it stays as it is.
//!
//! Owns which files are looked at, and the memory for what is known of them. Leaves which files there are to the walk
//! that other searches take too, and which of many to look into to `choice`. Invariants: nothing is shown that the walk of
//! this very call has not met, so ignored and deleted files vanish at once; what is found depends on the files and the
//! question alone, not on what is remembered; what is remembered stays below [`MAX_BYTES`].

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, TryLockError};
use std::time::Duration;

use ignore::DirEntry;
use ignore::overrides::Override;

use super::choice::{FileChoice, FileWords, SoughtFiles};
use super::doc::SourceLines;
use super::language::{Language, Languages, SymbolKind};
use super::outline::{Symbol, outline};
use super::terms::{FIELD_BITS, IN_BODY, IN_DOC, IN_NAME, OFTEN, TermReader, text_length};
use crate::tool::file::open_regular;
use crate::tool::search::ignores::{Ignores, Sieve};
use crate::tool::search::walk::{Watch, find_all, walk};
use crate::tool::{Stamp, ToolOutput};

/// Larger files hold data.
pub(super) const MAX_FILE: u64 = 1 << 20;
/// Memory for all definitions, and for the words of files.
const MAX_BYTES: usize = 96 << 20;
/// Bytes of files that are looked into at once.
const MAX_SOURCE: u64 = 192 << 20;
/// Different words kept of one definition.
const MAX_TERMS: usize = 40;
/// Lines of a body whose words count.
const MAX_BODY: usize = 150;
const MAX_TYPE_BODY: usize = 25;
/// Bytes of a line from which on a file is taken for minified, and of a line of which words count.
const MAX_MEAN_LINE: usize = 300;
const MAX_LINE: usize = 1_000;

/// How often it is looked whether another reading has ended.
const TURN: Duration = Duration::from_millis(5);
/// Threads that look through files.
const THREADS: usize = 4;

/// What is known of one file.
pub(super) struct IndexedFile {
    stamp: Stamp,
    pub(super) symbols: Box<[Symbol]>,
    /// The terms of all definitions, one after the other, and then those of what is said of the file itself.
    terms: Box<[u32]>,
    /// For each definition, and for the file, where its terms end.
    ends: Box<[u32]>,
    length: u32,
    pub(super) is_generated: bool,
}

impl IndexedFile {
    /// Returns the terms of a definition; of the file where `at` is how many definitions it has.
    pub(super) fn terms(&self, at: usize) -> &[u32] {
        let end = self.ends.get(at).map_or(0, |end| *end as usize);
        let start = at.checked_sub(1).and_then(|before| self.ends.get(before)).map_or(0, |end| *end as usize);
        self.terms.get(start..end).unwrap_or_default()
    }

    /// Counts the terms of all texts.
    pub(super) fn length(&self) -> usize {
        self.length as usize
    }
}

/// The files of one walk that were looked into.
#[derive(Default)]
pub(super) struct IndexedFiles {
    /// By path.
    pub(super) files: Vec<(PathBuf, Arc<IndexedFile>)>,
    /// Files beyond the size that is read.
    pub(super) too_large: usize,
    /// Places that could not be read, and files that found no room.
    pub(super) unread: usize,
    pub(super) no_room: usize,
    /// Files in languages that are not known, by the endings of their names.
    pub(super) unknown: BTreeMap<String, usize>,
    pub(super) choice: FileChoice,
}

impl IndexedFiles {
    /// Calls `look` with the number of each file, its path and what is known of it, several at a time, until about `most`
    /// are found. What is found comes in the order of files.
    pub(super) fn scan<T: Send>(
        &self,
        watch: Option<&Watch>,
        most: usize,
        look: impl Fn(&mut TermReader, usize, &Path, &IndexedFile) -> Vec<T> + Sync,
    ) -> Vec<T> {
        in_parallel(&self.files, watch, most, |reader, at, (path, file)| look(reader, at, path, file))
    }
}

/// Calls `look` with each of some items and its number, several at a time, until about `most` are found. What is found
/// comes in the order of items.
pub(super) fn in_parallel<I: Sync, T: Send>(
    items: &[I],
    watch: Option<&Watch>,
    most: usize,
    look: impl Fn(&mut TermReader, usize, &I) -> Vec<T> + Sync,
) -> Vec<T> {
    let found: Mutex<Vec<(usize, Vec<T>)>> = Mutex::default();
    let (next, count) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(THREADS);
    let work = |reader: &mut TermReader| {
        while !watch.is_some_and(Watch::is_over) && count.load(Ordering::Relaxed) < most {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(at) else { break };
            let these = look(reader, at, item);
            if these.is_empty() {
                continue;
            }
            count.fetch_add(these.len(), Ordering::Relaxed);
            found.lock().unwrap_or_else(PoisonError::into_inner).push((at, these));
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| TermReader::lend(work));
        }
    });
    let mut found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    found.sort_unstable_by_key(|(at, _)| *at);
    found.into_iter().flat_map(|(_, these)| these).collect()
}

/// A file that a walk has met.
pub(super) struct ListedFile {
    pub(super) path: PathBuf,
    pub(super) stamp: Stamp,
    language: &'static Language,
}

/// What all agents of a session share. Clones are the same index.
#[derive(Clone, Default)]
pub(in crate::tool) struct SymbolIndex(Arc<Shared>);

#[derive(Default)]
struct Shared {
    files: Remembered<IndexedFile>,
    words: Remembered<FileWords>,
    /// Held while files are read: agents that ask at the same time wait for one reading instead of doing it twice.
    reading: Mutex<()>,
}

/// What is remembered of files, by path.
pub(super) struct Remembered<T>(RwLock<HashMap<PathBuf, Arc<T>>>);

impl<T> Default for Remembered<T> {
    fn default() -> Self {
        Self(RwLock::default())
    }
}

/// What is known of a file as it was at one time.
pub(super) trait OfFile {
    fn stamp(&self) -> &Stamp;

    /// Returns how much memory it takes, about.
    fn bytes(&self) -> usize;
}

impl<T: OfFile> Remembered<T> {
    /// Returns what is known of a file, if it is as it was.
    pub(super) fn of(&self, file: &ListedFile) -> Option<Arc<T>> {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner).get(&file.path).cloned();
        known.filter(|known| known.stamp().has_content_of(&file.stamp))
    }

    /// Remembers what was found, and forgets files below `root` that are no longer there; all others too, such as those of
    /// worktrees that are gone, where memory runs short.
    pub(super) fn keep(&self, root: &Path, listed: &[ListedFile], found: &[(PathBuf, Arc<T>)]) {
        let there: HashSet<&Path> = listed.iter().map(|file| file.path.as_path()).collect();
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        known.retain(|path, _| !path.starts_with(root) || there.contains(path.as_path()));
        known.extend(found.iter().cloned());
        let bytes = |(path, file): (&PathBuf, &Arc<T>)| file.bytes() + path.as_os_str().len();
        if known.iter().map(bytes).sum::<usize>() > MAX_BYTES {
            let found: HashSet<&Path> = found.iter().map(|(path, _)| path.as_path()).collect();
            known.retain(|path, _| found.contains(path.as_path()));
        }
        if known.iter().map(bytes).sum::<usize>() > MAX_BYTES {
            known.clear();
        }
    }
}

impl OfFile for IndexedFile {
    fn stamp(&self) -> &Stamp {
        &self.stamp
    }

    fn bytes(&self) -> usize {
        let names: usize = self.symbols.iter().map(|symbol| symbol.name.len() + 16 + symbol.owner_bytes()).sum();
        size_of::<Self>() + 128 + names + size_of_val(&*self.symbols) + 4 * (self.terms.len() + self.ends.len())
    }
}

impl Shared {
    /// Waits until nobody else reads. Returns nothing where the time is over first.
    fn turn(&self, watch: &Watch) -> Option<MutexGuard<'_, ()>> {
        loop {
            match self.reading.try_lock() {
                Ok(turn) => return Some(turn),
                Err(TryLockError::Poisoned(turn)) => return Some(turn.into_inner()),
                Err(TryLockError::WouldBlock) if watch.is_over() => return None,
                Err(TryLockError::WouldBlock) => std::thread::sleep(TURN),
            }
        }
    }
}

impl SymbolIndex {
    /// Returns what is defined in `root`, which is a file or a folder: of many files in those that have what is sought.
    /// Files that have changed are read again.
    ///
    /// # Errors
    /// Returns an error where the system lends no threads for the walk.
    pub(super) fn read(
        &self,
        root: &Path,
        ignores: &Ignores,
        sought: Option<&SoughtFiles<'_>>,
        watch: &Watch,
    ) -> Result<IndexedFiles, ToolOutput> {
        let reading = self.0.turn(watch);
        let (listed, mut indexed) = list(root, ignores, watch)?;
        let (chosen, choice) = super::choice::choose(root, &listed, sought, &self.0.words, watch);
        let mut room = MAX_SOURCE;
        let has_room = |file: &&&ListedFile| {
            let left = room.checked_sub(file.stamp.len);
            room = left.unwrap_or(room);
            left.is_some()
        };
        let read: Vec<&ListedFile> = chosen.iter().filter(has_room).copied().collect();
        let known = &self.0.files;
        let look = |reader: &mut TermReader, _: usize, file: &&ListedFile| {
            let found = known.of(file).or_else(|| {
                let (text, stamp) = text_of(&file.path)?;
                Some(Arc::new(index(&text, stamp, file.language, reader)))
            });
            found.map(|found| (file.path.clone(), found)).into_iter().collect()
        };
        indexed.files = in_parallel(&read, Some(watch), usize::MAX, look);
        if !watch.is_over() {
            known.keep(root, &listed, &indexed.files);
            indexed.unread += read.len() - indexed.files.len();
        }
        drop(reading);
        Ok(IndexedFiles { no_room: chosen.len() - read.len(), choice, ..indexed })
    }
}

/// Returns the files of a walk in a known language, by path, and what of it could not be read.
fn list(root: &Path, ignores: &Ignores, watch: &Watch) -> Result<(Vec<ListedFile>, IndexedFiles), ToolOutput> {
    let (too_large, unread) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let sieve = Arc::new(Sieve::new(root, ignores, Override::empty()));
    let unknown = Mutex::new(BTreeMap::new());
    let listed_file = |entry: DirEntry| {
        entry.file_type().filter(std::fs::FileType::is_file)?;
        let Some(language) = Languages::known().of(entry.path()) else {
            if let Some(ending) = ending_of_source(entry.path()) {
                *unknown.lock().unwrap_or_else(PoisonError::into_inner).entry(ending).or_insert(0) += 1;
            }
            return None;
        };
        let stamp = Stamp::of(&entry.metadata().ok()?);
        if stamp.len > MAX_FILE {
            too_large.fetch_add(1, Ordering::Relaxed);
            return None;
        }
        Some(ListedFile { path: entry.into_path(), stamp, language })
    };
    let mut listed = find_all(&walk(root, &sieve), watch, usize::MAX, &unread, || listed_file)?;
    listed.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    let (too_large, unread) = (too_large.into_inner(), unread.into_inner());
    let unknown = unknown.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok((listed, IndexedFiles { too_large, unread, unknown, ..IndexedFiles::default() }))
}

/// Endings of names of files that hold no code: prose, data, pictures, and what programs make.
#[rustfmt::skip]
const NO_SOURCE: &[&str] = &[
    "md", "markdown", "rst", "txt", "adoc", "json", "jsonl", "json5", "yaml", "yml", "toml", "ini", "cfg", "conf", "lock", "xml", "csv",
    "tsv", "svg", "png", "jpg", "jpeg", "gif", "ico", "webp", "pdf", "woff", "woff2", "ttf", "otf", "eot", "zip", "gz", "tar", "xz", "bz2",
    "jar", "so", "a", "o", "dll", "exe", "bin", "wasm", "map", "log", "snap", "patch", "diff", "pem", "crt", "po", "pot", "mo", "mp3",
    "mp4", "wav", "db", "sqlite", "pyc", "class", "sum", "mod", "example", "sample", "tmp", "bak", "out", "dat", "properties", "env",
];

/// Returns the ending of a name that says code in a language that is not known; of a Makefile, its name.
fn ending_of_source(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?;
    if matches!(name, "Makefile" | "makefile" | "GNUmakefile") {
        return Some(name.to_owned());
    }
    let ending = path.extension()?.to_str()?.to_ascii_lowercase();
    let is_word = !ending.is_empty() && ending.len() <= 12 && ending.chars().all(|c| c.is_ascii_alphanumeric());
    (is_word && !NO_SOURCE.contains(&ending.as_str())).then(|| format!(".{ending}"))
}

/// Returns a file's text, with a sign for what is no text; nothing for a file that is binary or too large.
pub(super) fn text_of(path: &Path) -> Option<(String, Stamp)> {
    let (file, metadata) = open_regular(path, "").ok()?;
    let mut bytes = Vec::with_capacity(usize::try_from(metadata.len().min(MAX_FILE)).unwrap_or(0) + 1);
    file.take(MAX_FILE + 1).read_to_end(&mut bytes).ok()?;
    if bytes.len() as u64 > MAX_FILE || memchr::memchr(0, &bytes).is_some() {
        bytes.clear();
    }
    let text = String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
    Some((text, Stamp::of(&metadata)))
}

/// Returns `true` for a file that a program wrote for programs.
fn is_minified(text: &str) -> bool {
    let lines = memchr::memchr_iter(b'\n', text.as_bytes()).count() + 1;
    text.len() / lines > MAX_MEAN_LINE
}

fn is_generated(text: &str) -> bool {
    let start = &text[..text.floor_char_boundary(2_000)];
    let notes = ["@generated", "DO NOT EDIT", "Do not edit", "do not edit", "auto-generated", "autogenerated"];
    notes.iter().any(|note| start.contains(note))
}

fn index(text: &str, stamp: Stamp, language: &Language, reader: &mut TermReader) -> IndexedFile {
    let nothing = |stamp| IndexedFile {
        stamp,
        symbols: Box::default(),
        terms: Box::default(),
        ends: Box::default(),
        length: 0,
        is_generated: true,
    };
    if is_minified(text) {
        return nothing(stamp);
    }
    let (masked, symbols) = outline(text, language);
    let is_generated = is_generated(text);
    let lines = SourceLines::new(text, &masked);
    let (mut terms, mut ends) = (Vec::new(), Vec::with_capacity(symbols.len()));
    let mut own: Vec<(u32, u32)> = Vec::new();
    for (at, symbol) in symbols.iter().enumerate() {
        own.clear();
        reader.read(&symbol.name, |term| note(&mut own, term, IN_NAME));
        if !is_generated {
            let doc = lines.doc(symbol);
            let (about, rest) = about(&doc);
            reader.read(about, |term| note(&mut own, term, IN_DOC));
            reader.read(rest, |term| note(&mut own, term, IN_BODY));
            let next = symbols.get(at + 1).map_or(u32::MAX, |next| next.line);
            for line in body(&lines, symbol, next) {
                if own.len() >= MAX_TERMS {
                    break;
                }
                reader.read(line, |term| note(&mut own, term, IN_BODY));
            }
        }
        terms.extend(own.iter().map(|(term, fields)| term << FIELD_BITS | fields));
        ends.push(u32::try_from(terms.len()).unwrap_or(u32::MAX));
    }
    if !is_generated {
        own.clear();
        reader.read(&lines.file_doc(symbols.first()).1, |term| note(&mut own, term, IN_DOC));
        terms.extend(own.iter().map(|(term, fields)| term << FIELD_BITS | fields));
        ends.push(u32::try_from(terms.len()).unwrap_or(u32::MAX));
    }
    let length = u32::try_from(text_length(&terms)).unwrap_or(u32::MAX);
    IndexedFile { stamp, symbols: symbols.into(), length, terms: terms.into(), ends: ends.into(), is_generated }
}

/// Splits a text about a definition: its first paragraph says what it is about, the rest tells of parameters, errors and
/// examples, which may name anything.
fn about(doc: &str) -> (&str, &str) {
    let doc = doc.trim_start();
    let mut end = 0;
    for line in doc.split_inclusive('\n') {
        if end > 0 && (line.trim().is_empty() || line.trim_start().starts_with(['@', ':', '\\'])) {
            break;
        }
        end += line.len();
    }
    doc.split_at(end)
}

/// Adds a word of a definition, or one more field of it.
fn note(own: &mut Vec<(u32, u32)>, term: u32, field: u32) {
    if let Some((_, fields)) = own.iter_mut().find(|(known, _)| *known == term) {
        *fields |= field | if field == IN_BODY && *fields & IN_BODY != 0 { OFTEN } else { 0 };
    } else if own.len() < MAX_TERMS || field == IN_NAME {
        own.push((term, field));
    }
}

/// Returns the lines of a definition whose words count as its own: of a type not what is defined in it.
fn body<'t>(lines: &'t SourceLines<'_>, symbol: &Symbol, next: u32) -> impl Iterator<Item = &'t str> {
    let (most, end) = match symbol.kind {
        SymbolKind::Function | SymbolKind::Method => (MAX_BODY, symbol.end),
        SymbolKind::Module => (1, symbol.end),
        _ => (MAX_TYPE_BODY, symbol.end.min(next.saturating_sub(1)).max(symbol.line)),
    };
    let start = (symbol.line as usize).saturating_sub(1).min(lines.count());
    let end = (end as usize).clamp(start, lines.count()).min(start + most);
    (start..end).map(|at| {
        let line = lines.line(at);
        &line[..line.floor_char_boundary(MAX_LINE)]
    })
}
