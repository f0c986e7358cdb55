//! What lies at places that were vacant and is known to be somebody else's work than that of a command in the sandbox.
//!
//! Owns in which state it was when that was known. Leaves who has made what to `watch`. Invariants: what has changed since is
//! not kept; of a file that was written while commands run beside, the content is compared, as its state alone would not
//! tell what was put there in between. Everything here blocks.

use std::collections::BTreeMap;
use std::fs::Metadata;
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::fs::OFlags;

use super::evict::VacantPlace;
use crate::nofollow;

/// Entries that are kept of what one command outside has made.
const MAX_KEPT: usize = 10_000;
/// Entries of one place that are somebody else's before all of it is.
const MAX_STRANGERS: usize = 16;
/// Longer than a tick of any clock by which a file system tells one change from the next.
const CLOCK_TICK: Duration = Duration::from_millis(20);

/// State of an entry: its device and number, and the time of its last change of any kind, which no program can set. To give a
/// file another name is one, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PlaceStamp {
    file: (u64, u64),
    /// In seconds and nanoseconds.
    changed: (i64, i64),
}

impl PlaceStamp {
    pub(super) fn of(metadata: &Metadata) -> Self {
        Self { file: (metadata.dev(), metadata.ino()), changed: (metadata.ctime(), metadata.ctime_nsec()) }
    }

    /// Returns `true` if the next change would be told from the last one by its time.
    pub(super) fn is_settled(&self) -> bool {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let (seconds, nanoseconds) = self.changed;
        let changed = Duration::new(seconds.try_into().unwrap_or(0), nanoseconds.try_into().unwrap_or(0));
        now.checked_sub(changed).is_some_and(|passed| passed > CLOCK_TICK)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum KeptEntry {
    Folder {
        file: (u64, u64),
    },
    /// Anything else.
    File(PlaceStamp),
    /// A link that was taken away.
    Gone,
}

impl KeptEntry {
    fn of(metadata: &Metadata) -> Self {
        let stamp = PlaceStamp::of(metadata);
        if metadata.is_dir() { Self::Folder { file: stamp.file } } else { Self::File(stamp) }
    }
}

/// What is kept, by its path.
#[derive(Debug, Default)]
pub(super) struct KeptEntries(BTreeMap<PathBuf, KeptEntry>);

/// A file as its writer has left it.
#[derive(Debug)]
pub(super) struct WrittenState {
    path: PathBuf,
    pub(super) stamp: PlaceStamp,
}

impl WrittenState {
    /// Returns the state of a file that was just written with this content; `None` if it is another's by now, or another has
    /// given it a name of its own. Who `is_alone`, with no command running, is not suspected of that.
    pub(super) fn of(path: &Path, content: &[u8], is_alone: bool) -> Option<Self> {
        let mut file = nofollow::open(path, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY).ok()?;
        let before = file.metadata().ok()?;
        if !before.is_file() || before.nlink() != 1 || before.len() != content.len() as u64 {
            return None;
        }
        if is_alone {
            return Some(Self { path: path.to_path_buf(), stamp: PlaceStamp::of(&before) });
        }
        // Whoever changes it from now on changes its time, too, also through memory that is shared with the file: on the disk,
        // it has to be asked for again.
        std::thread::sleep(CLOCK_TICK);
        file.sync_data().ok()?;
        let mut found = Vec::with_capacity(content.len());
        file.by_ref().take(content.len() as u64 + 1).read_to_end(&mut found).ok()?;
        let (stamp, after) = (PlaceStamp::of(&before), file.metadata().ok()?);
        let is_unchanged =
            PlaceStamp::of(&after) == stamp && nofollow::look(path).is_ok_and(|now| PlaceStamp::of(&now) == stamp);
        (found == content && is_unchanged).then(|| Self { path: path.to_path_buf(), stamp })
    }
}

impl KeptEntries {
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// Returns the paths of what is kept and there.
    pub(super) fn paths(&self) -> impl Iterator<Item = &PathBuf> {
        self.0.iter().filter(|(_, entry)| **entry != KeptEntry::Gone).map(|(path, _)| path)
    }

    /// Keeps what lies at a path, and below it, as it is now.
    pub(super) fn keep(&mut self, path: &Path) {
        let mut open = vec![path.to_path_buf()];
        let mut left = MAX_KEPT;
        while let Some(path) = open.pop() {
            let entry = path.symlink_metadata().map_or(KeptEntry::Gone, |found| KeptEntry::of(&found));
            if matches!(entry, KeptEntry::Folder { .. }) {
                let entries = path.read_dir().into_iter().flatten().filter_map(Result::ok);
                open.extend(entries.map(|entry| entry.path()).take(left));
            }
            self.0.insert(path, entry);
            left = left.saturating_sub(1);
            if left == 0 {
                return;
            }
        }
    }

    /// Keeps a folder, but nothing in it.
    pub(super) fn keep_folder(&mut self, path: &Path) {
        if let Ok(found) = path.symlink_metadata()
            && found.is_dir()
        {
            self.0.insert(path.to_path_buf(), KeptEntry::of(&found));
        }
    }

    /// Keeps a file at a place, or below it, as its writer has left it, and the folders above it.
    pub(super) fn keep_written(&mut self, place: &Path, written: WrittenState) {
        let folders = written.path.ancestors().skip(1).take_while(|folder| folder.starts_with(place));
        folders.for_each(|folder| self.keep_folder(folder));
        self.0.insert(written.path, KeptEntry::File(written.stamp));
    }

    /// Returns what lies at a place and is not kept: all of the place, or some entries below it.
    pub(super) fn strangers(&self, place: &VacantPlace) -> Vec<PathBuf> {
        let found = place.path.symlink_metadata();
        match (&found, &place.link) {
            (Err(_), None) => return Vec::new(),
            (Err(_), Some(_)) if self.0.get(&place.path) == Some(&KeptEntry::Gone) => return Vec::new(),
            (Ok(_), Some(target)) if place.path.read_link().ok().as_ref() == Some(target) => return Vec::new(),
            _ => {}
        }
        let mut strangers = Vec::new();
        match found {
            Ok(found) => self.add_strangers(&place.path, &found, &mut strangers),
            Err(_) => strangers.push(place.path.clone()),
        }
        if strangers.len() > MAX_STRANGERS {
            // One is moved as fast as many are made.
            return vec![place.path.clone()];
        }
        strangers
    }

    /// Adds what is not kept of what lies at a path. Of a folder in which something is kept, that is looked for below it.
    fn add_strangers(&self, path: &Path, found: &Metadata, strangers: &mut Vec<PathBuf>) {
        let is_kept = self.0.get(path) == Some(&KeptEntry::of(found));
        if !found.is_dir() || !is_kept && !self.holds_below(path) {
            strangers.extend((!is_kept).then(|| path.to_path_buf()));
            return;
        }
        let Ok(entries) = path.read_dir() else {
            strangers.push(path.to_path_buf());
            return;
        };
        for entry in entries.filter_map(Result::ok) {
            if strangers.len() > MAX_STRANGERS {
                return;
            }
            if let Ok(found) = entry.path().symlink_metadata() {
                self.add_strangers(&entry.path(), &found, strangers);
            }
        }
    }

    fn holds_below(&self, path: &Path) -> bool {
        let after = (std::ops::Bound::Excluded(path), std::ops::Bound::Unbounded);
        self.0.range::<Path, _>(after).next().is_some_and(|(entry, _)| entry.starts_with(path))
    }
}
