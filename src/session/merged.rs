//! All records of a session, over all its files, in the order in which they were written.
//!
//! Owns the order. Leaves what a record means to those who wrote it. Invariants: of each file a stretch is held and no
//! more, however long it is; a line that cannot be understood costs that line and no other, and is counted.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::catalog::INDEX;
use super::part::{PartLine, Stretch, read_part};
use super::{SessionError, VERSION};

/// Bytes held of one file, about: a session can have hundreds.
const STRETCH: u64 = 32 << 10;

/// Where a record stands.
#[derive(Debug, Clone)]
pub struct MergedLine {
    pub seq: u64,
    /// Which of the files it is in, see [`MergedRecords::paths`].
    pub file: usize,
    pub line: PartLine,
}

/// The records of several files as one, by their numbers. Blocks while it reads.
#[derive(Debug)]
pub struct MergedRecords {
    files: Vec<OpenFile>,
    /// The next record of each file that has one.
    next: BinaryHeap<Reverse<(u64, usize)>>,
    skipped: u64,
}

#[derive(Debug)]
struct OpenFile {
    path: PathBuf,
    /// Where the stretch after the one that is held begins.
    from: u64,
    held: VecDeque<PartLine>,
    is_done: bool,
}

#[derive(Deserialize)]
struct Envelope {
    v: u32,
    seq: u64,
}

impl MergedRecords {
    /// Opens the files of all agents in a session's folder. Returns an error if the folder cannot be read.
    pub fn of_session(dir: &Path) -> Result<Self, SessionError> {
        let error = |error| SessionError::new(dir, "read", error);
        let mut paths = Vec::new();
        for entry in std::fs::read_dir(dir).map_err(error)? {
            let path = entry.map_err(error)?.path();
            let is_log = path.extension().is_some_and(|extension| extension == "jsonl")
                && path.file_stem().is_some_and(|name| name != INDEX);
            // No link, and nothing that could be waited for.
            if is_log && path.symlink_metadata().is_ok_and(|found| found.is_file()) {
                paths.push(path);
            }
        }
        paths.sort();
        Ok(Self::of_files(paths))
    }

    /// Opens these files. One that cannot be read counts as empty.
    #[must_use]
    pub fn of_files(paths: Vec<PathBuf>) -> Self {
        let open = |path| OpenFile { path, from: 0, held: VecDeque::new(), is_done: false };
        let mut merged = Self { files: paths.into_iter().map(open).collect(), next: BinaryHeap::new(), skipped: 0 };
        for file in 0..merged.files.len() {
            merged.offer(file);
        }
        merged
    }

    /// Returns the files, in the order of their numbers.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.files.iter().map(|file| file.path.as_path())
    }

    /// Returns how many lines were no records so far.
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    /// Lets the next record of a file take part.
    fn offer(&mut self, number: usize) {
        let Some(file) = self.files.get_mut(number) else { return };
        loop {
            if file.held.is_empty() {
                file.read_on();
            }
            let Some(first) = file.held.front() else { return };
            match serde_json::from_slice::<Envelope>(&first.bytes) {
                Ok(envelope) if envelope.v <= VERSION => {
                    self.next.push(Reverse((envelope.seq, number)));
                    return;
                }
                _ => {
                    self.skipped += 1;
                    file.held.pop_front();
                }
            }
        }
    }
}

impl OpenFile {
    /// Reads the next stretch. One of nothing but line ends holds no record, and is not the end.
    fn read_on(&mut self) {
        while self.held.is_empty() && !self.is_done {
            match read_part(&self.path, Stretch::After(self.from), STRETCH) {
                Ok(part) => {
                    self.is_done = part.to >= part.length || part.to <= self.from;
                    self.from = part.to;
                    self.held = part.lines.into();
                }
                Err(error) => {
                    tracing::warn!(%error, "a part of a session is passed over");
                    self.is_done = true;
                }
            }
        }
    }
}

impl Iterator for MergedRecords {
    type Item = MergedLine;

    fn next(&mut self) -> Option<MergedLine> {
        let Reverse((seq, file)) = self.next.pop()?;
        let line = self.files.get_mut(file)?.held.pop_front()?;
        self.offer(file);
        Some(MergedLine { seq, file, line })
    }
}
