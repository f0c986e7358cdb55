//! One look at the files of a project: what is there, and what has changed since the look before.
//!
//! Owns which files count and when one is read anew. Leaves ignore files to `search::ignores` and the contents to
//! `store`. Invariants: links are not followed, and nothing is opened that could wait; a file whose facts on the disk are
//! those of the look before is not read again, unless it was changed right before that look.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::Metadata;
use std::io::{self, Read as _, Write as _};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use ignore::{DirEntry, WalkBuilder, WalkState};

use super::git_state::GitState;
use super::store::{Object, StateStore};
use crate::tool::file::copies::MAX_COPY;
use crate::tool::file::open_regular;
use crate::tool::search::ignores::{Ignores, Sieve};
use crate::tool::search::walk::check_threads;
use crate::whole_file::{FileRights, read_plain, replace_whole};

/// Files of a project that is kept.
const MAX_FILES: usize = 50_000;
/// Bytes of them.
const MAX_BYTES: u64 = 512 << 20;
/// Bytes of a kept index that are read at most.
const MAX_INDEX: u64 = 64 << 20;
/// Ignored entries that are told apart.
const MAX_IGNORED: usize = 20_000;
/// How long a look may take.
const MAX_TIME: Duration = Duration::from_secs(25);
/// How long after a change a file may change again with the same time on it.
const UNSETTLED: Duration = Duration::from_millis(50);
const THREADS: usize = 4;
/// How the file of a look begins.
const MAGIC: &str = "belvedere-look-1";

/// A project as one look found it. Paths are relative to its root.
#[derive(Debug, Clone, Default)]
pub(super) struct Scan {
    /// As [`in_order`] has their paths.
    pub(super) entries: Vec<(PathBuf, SeenFile)>,
    /// What is left out, as high up as it is: ignored files and folders, and git's own folders.
    pub(super) left_out: BTreeMap<PathBuf, LeftOut>,
    pub(super) folders: BTreeSet<PathBuf>,
    pub(super) git: Option<GitState>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LeftOut {
    pub(super) is_folder: bool,
    facts: Facts,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SeenFile {
    pub(super) kind: SeenKind,
    facts: Facts,
    /// Whether its time tells of every change since.
    is_settled: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum SeenKind {
    File(Object),
    /// A link, and where it leads.
    Link(Vec<u8>),
    /// What is there, but not kept.
    Unkept(&'static str),
}

/// What the disk says of a file without reading it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Facts {
    len: u64,
    number: u64,
    mode: u32,
    modified: (i64, i64),
    changed: (i64, i64),
}

const LARGE: &str = "too large to be kept";
const UNREADABLE: &str = "it cannot be read";
const SECRET: &str = "it is called like a file of keys or passwords, of which no copy is made";
const SPECIAL: &str = "not a regular file";

impl Facts {
    fn of(metadata: &Metadata) -> Self {
        Self {
            len: metadata.len(),
            number: metadata.ino(),
            mode: metadata.mode(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }

    fn write(&self, letter: char, (is_so, object): (bool, &str), text: &mut Vec<u8>) -> io::Result<()> {
        let Self { len, number, mode, modified, changed } = self;
        let (modified, changed) = (format!("{} {}", modified.0, modified.1), format!("{} {}", changed.0, changed.1));
        write!(text, "{letter} {len} {number} {mode} {modified} {changed} {} {object}", u8::from(is_so))
    }

    /// Returns `true` if a change from now on shows in the time on it.
    fn are_settled(&self) -> bool {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let (seconds, nanos) = self.changed;
        let changed = u64::try_from(seconds).ok().zip(u32::try_from(nanos).ok());
        let changed = changed.map_or(Duration::MAX, |(seconds, nanos)| Duration::new(seconds, nanos));
        changed.saturating_add(UNSETTLED) < now
    }
}

impl LeftOut {
    /// Returns `true` if what it holds is another by now, as far as a look from outside tells.
    pub(super) fn differs(&self, other: &Self) -> bool {
        if self.is_folder { self.facts.number != other.facts.number } else { self.facts != other.facts }
    }
}

impl SeenFile {
    /// Returns `true` if the file is another one for whoever reads or runs it.
    pub(super) fn differs(&self, other: &Self) -> bool {
        match (&self.kind, &other.kind) {
            (SeenKind::File(one), SeenKind::File(two)) => one.hash != two.hash || (one.mode ^ two.mode) & 0o111 != 0,
            (SeenKind::Unkept(_), SeenKind::Unkept(_)) => {
                let of = |entry: &Self| (entry.facts.len, entry.facts.modified, entry.facts.number);
                of(self) != of(other)
            }
            (one, two) => one != two,
        }
    }
}

impl Scan {
    pub(super) fn entry(&self, path: &Path) -> Option<&SeenFile> {
        let at = self.entries.binary_search_by(|(other, _)| in_order(other, path)).ok()?;
        Some(&self.entries[at].1)
    }

    /// Returns `true` if the next look would do better with this one than with that.
    pub(super) fn differs(&self, other: &Self) -> bool {
        self.entries != other.entries
            || self.folders != other.folders
            || !self.left_out.keys().eq(other.left_out.keys())
    }

    /// Writes down what the next look needs, and who asks later what has changed since.
    pub(super) fn save(&self, path: &Path) -> io::Result<()> {
        let mut text = Vec::with_capacity(self.entries.len() * 200);
        text.extend_from_slice(MAGIC.as_bytes());
        text.push(0);
        for (name, SeenFile { kind, facts, is_settled }) in &self.entries {
            let (letter, object, target) = match kind {
                SeenKind::File(object) => ('f', object.name(), &[][..]),
                SeenKind::Link(target) => ('l', String::new(), target.as_slice()),
                SeenKind::Unkept(_) => ('u', String::new(), &[][..]),
            };
            facts.write(letter, (*is_settled, &object), &mut text)?;
            add_names(name, target, &mut text);
        }
        for (name, LeftOut { is_folder, facts }) in &self.left_out {
            facts.write('i', (*is_folder, ""), &mut text)?;
            add_names(name, &[], &mut text);
        }
        for name in &self.folders {
            Facts::default().write('d', (false, ""), &mut text)?;
            add_names(name, &[], &mut text);
        }
        replace_whole(path, &text, FileRights::Private)
    }

    /// Reads it back. Nothing is returned of a file that is not whole.
    pub(super) fn of_index(path: &Path) -> Option<Self> {
        let bytes = read_plain(path, MAX_INDEX).ok()?;
        let mut fields = bytes.strip_suffix(b"\0")?.split(|byte| *byte == 0);
        if fields.next()? != MAGIC.as_bytes() {
            return None;
        }
        let mut found = Self::default();
        while let Some(head) = fields.next() {
            let (name, target) = (fields.next()?, fields.next()?);
            found.add(std::str::from_utf8(head).ok()?, PathBuf::from(OsStr::from_bytes(name)), target)?;
        }
        Some(found)
    }

    /// Takes in what [`Facts::write`] has written, and the names behind it.
    fn add(&mut self, head: &str, name: PathBuf, target: &[u8]) -> Option<()> {
        let mut words = head.split(' ');
        let letter = words.next()?;
        let (len, number) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        let mode = words.next()?.parse().ok()?;
        let mut time = || Some((words.next()?.parse().ok()?, words.next()?.parse().ok()?));
        let (modified, changed) = (time()?, time()?);
        let facts = Facts { len, number, mode, modified, changed };
        let is_so = words.next()? == "1";
        let kind = match letter {
            "d" => {
                self.folders.insert(name);
                return Some(());
            }
            "i" => {
                self.left_out.insert(name, LeftOut { is_folder: is_so, facts });
                return Some(());
            }
            "f" => SeenKind::File(Object::of_name(words.next()?)?),
            "l" => SeenKind::Link(target.to_vec()),
            _ => SeenKind::Unkept(UNREADABLE),
        };
        self.entries.push((name, SeenFile { kind, facts, is_settled: is_so }));
        Some(())
    }
}

fn add_names(name: &Path, target: &[u8], text: &mut Vec<u8>) {
    for part in [name.as_os_str().as_bytes(), target] {
        text.push(0);
        text.extend_from_slice(part);
    }
    text.push(0);
}

/// Compares paths by their bytes, which costs a tenth of comparing their parts.
pub(super) fn in_order(one: &Path, two: &Path) -> Ordering {
    one.as_os_str().as_bytes().cmp(two.as_os_str().as_bytes())
}

/// Returns `true` for a file that is called like one with keys or passwords.
fn holds_secrets(path: &Path) -> bool {
    const ENDINGS: [&str; 8] = [".env", ".pem", ".key", ".p12", ".pfx", ".jks", ".keystore", ".kdbx"];
    const EXAMPLES: [&str; 4] = ["example", "sample", "template", "dist"];
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    let is_environment = name.starts_with(".env.") && !EXAMPLES.iter().any(|ending| name.ends_with(ending));
    let is_key = name.starts_with("id_") && !name.contains('.');
    is_environment || is_key || ENDINGS.iter().any(|ending| name.ends_with(ending))
}

/// What the threads of one look share.
struct Look<'a> {
    root: &'a Path,
    before: &'a Scan,
    store: &'a StateStore,
    deadline: Instant,
    files: AtomicUsize,
    bytes: AtomicU64,
    found: Mutex<Scan>,
    failed: Mutex<Option<String>>,
}

/// Looks at a project. Contents that are new are kept in the store. Says why the project cannot be kept.
pub(super) fn scan(root: &Path, before: &Scan, ignores: &Ignores, store: &StateStore) -> Result<Scan, String> {
    check_threads(THREADS).map_err(|error| format!("it cannot be looked at: {error}"))?;
    let left_out = Arc::new(Mutex::new(BTreeMap::new()));
    let walk = walk(root, Arc::new(Sieve::of_git(root, ignores)), &left_out);
    let look = Look {
        root,
        before,
        store,
        deadline: Instant::now() + MAX_TIME,
        files: AtomicUsize::new(0),
        bytes: AtomicU64::new(0),
        found: Mutex::default(),
        failed: Mutex::default(),
    };
    walk.build_parallel().run(|| {
        let look = &look;
        Box::new(move |entry| match entry.map_or(Ok(()), |entry| look.at(&entry)) {
            Ok(()) => WalkState::Continue,
            Err(why) => {
                *look.failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(why);
                WalkState::Quit
            }
        })
    });
    if let Some(why) = look.failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
        return Err(why);
    }
    let mut found = look.found.into_inner().unwrap_or_else(PoisonError::into_inner);
    found.entries.sort_unstable_by(|(one, _), (two, _)| in_order(one, two));
    found.left_out = std::mem::take(&mut *left_out.lock().unwrap_or_else(PoisonError::into_inner));
    if found.left_out.len() > MAX_IGNORED {
        return Err("it holds too many ignored files".to_owned());
    }
    found.git = GitState::of(root);
    Ok(found)
}

/// Returns a walk over what counts, which notes what it leaves out.
fn walk(root: &Path, sieve: Arc<Sieve>, left_out: &Arc<Mutex<BTreeMap<PathBuf, LeftOut>>>) -> WalkBuilder {
    let mut builder = WalkBuilder::new(root);
    let (left_out, top) = (Arc::clone(left_out), root.to_path_buf());
    builder
        .standard_filters(false)
        .follow_links(false)
        .threads(std::thread::available_parallelism().map_or(1, usize::from).min(THREADS))
        .filter_entry(move |entry| {
            let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
            let counts = entry.depth() == 0 || entry.file_name() != ".git" && !sieve.drops(entry.path(), is_folder);
            if !counts
                && let Ok(path) = entry.path().strip_prefix(&top)
                && let Ok(metadata) = entry.path().symlink_metadata()
            {
                let mark = LeftOut { is_folder, facts: Facts::of(&metadata) };
                left_out.lock().unwrap_or_else(PoisonError::into_inner).insert(path.to_path_buf(), mark);
            }
            counts
        });
    builder
}

impl Look<'_> {
    fn at(&self, entry: &DirEntry) -> Result<(), String> {
        if Instant::now() > self.deadline {
            return Err(format!("looking at it takes longer than {} s", MAX_TIME.as_secs()));
        }
        let Ok(path) = entry.path().strip_prefix(self.root) else { return Ok(()) };
        if path.as_os_str().is_empty() {
            return Ok(());
        }
        // It may be gone again.
        let Ok(metadata) = entry.metadata() else { return Ok(()) };
        if metadata.is_dir() {
            self.found().folders.insert(path.to_path_buf());
            return Ok(());
        }
        if self.files.fetch_add(1, Relaxed) >= MAX_FILES {
            return Err(format!("it holds more than {MAX_FILES} files that are not ignored"));
        }
        let found = self.entry(entry.path(), path, &metadata)?;
        self.found().entries.push((path.to_path_buf(), found));
        Ok(())
    }

    fn found(&self) -> std::sync::MutexGuard<'_, Scan> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn entry(&self, place: &Path, path: &Path, metadata: &Metadata) -> Result<SeenFile, String> {
        let facts = Facts::of(metadata);
        let unkept = |why| SeenFile { kind: SeenKind::Unkept(why), facts, is_settled: false };
        if metadata.is_file() && metadata.len() <= MAX_COPY {
            let bytes = self.bytes.fetch_add(metadata.len(), Relaxed);
            if bytes + metadata.len() > MAX_BYTES {
                return Err(format!("its files are larger than {} MB together", MAX_BYTES >> 20));
            }
        }
        if let Some(known) = self.before.entry(path)
            && known.is_settled
            && known.facts == facts
        {
            return Ok(known.clone());
        }
        if metadata.is_symlink() {
            let Ok(target) = std::fs::read_link(place) else { return Ok(unkept(UNREADABLE)) };
            let kind = SeenKind::Link(target.into_os_string().into_vec());
            return Ok(SeenFile { kind, facts, is_settled: facts.are_settled() });
        }
        if !metadata.is_file() {
            return Ok(unkept(SPECIAL));
        }
        if metadata.len() > MAX_COPY {
            return Ok(unkept(LARGE));
        }
        if holds_secrets(path) {
            return Ok(unkept(SECRET));
        }
        // Asked before it is read: what comes after that shows in its facts.
        let is_settled = facts.are_settled();
        let mut bytes = Vec::new();
        let Ok((file, opened)) = open_regular(place, "") else { return Ok(unkept(UNREADABLE)) };
        match file.take(MAX_COPY + 1).read_to_end(&mut bytes) {
            Ok(_) if bytes.len() as u64 <= MAX_COPY => {}
            Ok(_) => return Ok(unkept(LARGE)),
            Err(_) => return Ok(unkept(UNREADABLE)),
        }
        let facts = Facts::of(&opened);
        let kept = self.store.keep(&bytes, facts.mode & 0o777);
        let object = kept.map_err(|error| format!("nothing can be kept: {error}"))?;
        Ok(SeenFile { kind: SeenKind::File(object), facts, is_settled })
    }
}
