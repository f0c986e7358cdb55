//! Reads agent files, and each only once while it does not change.
//!
//! Owns when a file counts as unchanged, and the threads that read. Leaves the format to `load`. Invariants: a change is
//! never missed, also one that follows so closely that the file's times do not show it; what is kept of a file goes
//! with the file; and no file is read beyond its first bytes.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::catalog::Entry;
use super::{AgentDir, KnownNames, Parsed, Source, load, text_file};
use crate::message::Diagnostic;
use crate::permission::{BroughtItem, BroughtKind};

/// Below this age a file may change once more without a later time: some file systems count in steps of two seconds.
const SETTLED: Duration = Duration::from_secs(2);
/// Files from which on several threads read.
const MANY: usize = 32;
/// Threads that read.
const MAX_THREADS: usize = 4;

/// A file, and the folder of agents that it lies in.
pub(super) struct FileOf<'a> {
    pub(super) dir: &'a AgentDir,
    pub(super) path: PathBuf,
}

impl FileOf<'_> {
    fn source(&self) -> Source {
        Source { tier: self.dir.tier, path: Some(self.path.clone()) }
    }

    /// Returns the file as the project brings it, with this content; `None` if it is the user's own.
    fn brought(&self, content: &Result<Vec<u8>, Diagnostic>) -> Option<BroughtItem> {
        text_file::brought(BroughtKind::Agent, &self.path, self.dir.bounds.as_ref(), content)
    }

    /// Reads the file as the project brings it.
    pub(super) fn read_brought(&self) -> Option<BroughtItem> {
        self.dir.bounds.as_ref()?;
        self.brought(&text_file::content(&self.path))
    }
}

/// What was read before, by path.
#[derive(Debug, Default)]
pub(super) struct Cache(HashMap<PathBuf, Known>);

#[derive(Debug, Clone)]
pub(super) struct Known {
    /// State of the file before it was read; `None` if it may have changed since without a trace.
    stamp: Option<FileStamp>,
    pub(super) entry: Entry,
    /// What was read, if the project brings it.
    pub(super) brought: Option<BroughtItem>,
}

/// What changes with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileStamp {
    device: u64,
    inode: u64,
    len: u64,
    mode: u32,
    /// Seconds and nanoseconds of the last change of the content.
    modified: (i64, i64),
    /// The same of any change, which no program can set back.
    changed: (i64, i64),
}

impl Cache {
    /// Returns what these files say, in their order, and forgets all others.
    pub(super) fn read(&mut self, files: Vec<FileOf<'_>>, names: &KnownNames) -> Vec<Known> {
        let known = std::mem::take(&mut self.0);
        let read = |file: &FileOf<'_>| -> Known { read(file, &known, names) };
        let fresh = in_parallel(&files, &read);
        self.0 = files.into_iter().map(|file| file.path).zip(fresh.iter().cloned()).collect();
        fresh
    }
}

/// Does the same with each file, on several threads if there are many.
fn in_parallel(files: &[FileOf<'_>], read: &(impl Fn(&FileOf<'_>) -> Known + Sync)) -> Vec<Known> {
    let threads = std::thread::available_parallelism().map_or(1, |count| count.get().min(MAX_THREADS));
    if files.len() < MANY || threads == 1 {
        return files.iter().map(read).collect();
    }
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        while let at = next.fetch_add(1, Ordering::Relaxed)
            && let Some(file) = files.get(at)
        {
            done.push((at, read(file)));
        }
        done
    };
    let mut all: Vec<(usize, Known)> = std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        let mut all = work();
        for other in others {
            all.extend(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        all
    });
    all.sort_unstable_by_key(|(at, _)| *at);
    all.into_iter().map(|(_, known)| known).collect()
}

fn read(file: &FileOf<'_>, known: &HashMap<PathBuf, Known>, names: &KnownNames) -> Known {
    let (stamp, source) = (FileStamp::of(&file.path), file.source());
    if let Some(before) = known.get(&file.path)
        && stamp.is_some()
        && before.stamp == stamp
        && before.entry.source == source
    {
        return before.clone();
    }
    let content = text_file::content(&file.path);
    // Of what was read, and not of what may lie there by now.
    let brought = file.brought(&content);
    let mut parsed = of_content(&content, source);
    names.check(&mut parsed);
    Known { stamp: stamp.filter(FileStamp::is_settled), entry: Entry::from(parsed), brought }
}

impl FileStamp {
    pub(super) fn of(path: &Path) -> Option<Self> {
        let metadata = fs::metadata(path).ok()?;
        Some(Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            len: metadata.len(),
            mode: metadata.mode(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        })
    }

    /// Returns `true` if a later change must show. A time in the future says nothing.
    pub(super) fn is_settled(&self) -> bool {
        let latest = self.modified.0.max(self.changed.0);
        let Ok(seconds) = u64::try_from(latest) else { return false };
        let age = SystemTime::now().duration_since(UNIX_EPOCH + Duration::from_secs(seconds + 1));
        age.is_ok_and(|age| age > SETTLED)
    }
}

/// Reads one agent file. Blocks.
pub fn read_file(source: Source) -> Parsed {
    let Some(path) = source.path.clone() else { return Parsed::nothing(source) };
    of_content(&text_file::content(&path), source)
}

fn of_content(content: &Result<Vec<u8>, Diagnostic>, source: Source) -> Parsed {
    let Some(path) = source.path.clone() else { return Parsed::nothing(source) };
    match content {
        Ok(bytes) => {
            let (text, damage) = text_file::decoded(bytes, &path);
            let mut parsed = load::parse(&text, source);
            parsed.diagnostics.splice(0..0, damage);
            parsed
        }
        Err(error) => Parsed::broken(source, error.clone()),
    }
}
