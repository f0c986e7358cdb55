//! Copies of files as they were before and after agents wrote them, so that it can be taken back.
//!
//! Owns the folder of the copies and their numbers. Leaves when to take one to `change`, and what is put back to
//! `rewind`. Invariants: a copy never changes once it has its number; that none can be kept stops no work.

use std::collections::HashMap;
use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

use super::change::MAX_BYTES;
use crate::tool::Stamp;

/// What a file was before and after a change: numbers of copies, `None` where there was no file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileVersions {
    pub before: Option<u32>,
    pub after: Option<u32>,
}

/// The copies of one session. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct FileCopies(Option<Arc<Shared>>);

#[derive(Debug)]
struct Shared {
    dir: PathBuf,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The last number that was given; `None` until the folder was looked at.
    last: Option<u32>,
    /// What an agent has written last of each file, while nobody else changes it.
    written: HashMap<PathBuf, (Stamp, u32)>,
}

impl FileCopies {
    /// Returns copies that are kept in this folder, which is made when it is needed.
    #[must_use]
    pub fn below(dir: PathBuf) -> Self {
        Self(Some(Arc::new(Shared { dir, state: Mutex::default() })))
    }

    /// Keeps a file as it is before a change, which is not copied again where it is what an agent wrote last. Returns
    /// `None` if it cannot be kept.
    pub(super) fn keep_before(&self, path: &Path, stamp: Stamp, bytes: Option<&[u8]>) -> Option<u32> {
        let shared = self.0.as_ref()?;
        if let Some((written, number)) = shared.state().written.get(path)
            && written.has_content_of(&stamp)
        {
            return Some(*number);
        }
        shared.keep(bytes?)
    }

    /// Keeps a file as an agent has written it.
    pub(super) fn keep_after(&self, path: &Path, stamp: Stamp, bytes: &[u8]) -> Option<u32> {
        let shared = self.0.as_ref()?;
        let number = shared.keep(bytes);
        let mut state = shared.state();
        match number {
            Some(number) => state.written.insert(path.to_path_buf(), (stamp, number)),
            None => state.written.remove(path),
        };
        number
    }

    /// Reads a copy. Blocks.
    ///
    /// # Errors
    /// Returns an error if it is gone or cannot be read.
    pub(super) fn read(&self, number: u32) -> io::Result<Vec<u8>> {
        let shared = self.0.as_ref().ok_or(io::ErrorKind::NotFound)?;
        let mut bytes = Vec::new();
        std::fs::File::open(shared.path_of(number))?.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn path_of(&self, number: u32) -> PathBuf {
        self.dir.join(number.to_string())
    }

    fn keep(&self, bytes: &[u8]) -> Option<u32> {
        if bytes.len() as u64 > MAX_BYTES {
            return None;
        }
        self.write(bytes).inspect_err(|error| tracing::warn!(%error, "a copy of a file cannot be kept")).ok()
    }

    /// Writes one copy. Returns its number.
    fn write(&self, bytes: &[u8]) -> io::Result<u32> {
        let number = self.next()?;
        let path = self.path_of(number);
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        file.write_all(bytes).inspect_err(|_| drop(std::fs::remove_file(&path)))?;
        Ok(number)
    }

    /// Returns a number that no copy has.
    fn next(&self) -> io::Result<u32> {
        let mut state = self.state();
        let last = if let Some(last) = state.last {
            last
        } else {
            DirBuilder::new().recursive(true).mode(0o700).create(&self.dir)?;
            let names = std::fs::read_dir(&self.dir)?.flatten().map(|entry| entry.file_name());
            names.filter_map(|name| name.to_str()?.parse().ok()).max().unwrap_or(0)
        };
        state.last = Some(last + 1);
        Ok(last + 1)
    }
}
