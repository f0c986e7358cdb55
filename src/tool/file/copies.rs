//! Copies of files as they were before and after agents wrote them, so that it can be taken back.
//!
//! Owns the folder of the copies and their numbers. Leaves when to take one to `change` and `snapshot`, and what is put
//! back to `rewind`. Invariants: a copy never changes once it has its number; that none can be kept stops no work.

use std::collections::HashMap;
use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

use super::change::MAX_BYTES;
use crate::tool::Stamp;
use crate::tool::snapshot::{Object, ProjectStates};

/// Bytes of the longest file that is kept.
pub(in crate::tool) const MAX_COPY: u64 = MAX_BYTES;
/// The file that tells of a command as long as it runs.
const CUT: &str = "cut-off";

/// What a file was before and after a change: numbers of copies, `None` where there was no file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileVersions {
    pub before: Option<u32>,
    pub after: Option<u32>,
    /// Which of both are links, whose copies say where they lead.
    #[serde(default)]
    pub links: (bool, bool),
}

/// The copies of one session. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct FileCopies {
    shared: Option<Arc<Shared>>,
    /// The states of the project that commands work in.
    states: Option<ProjectStates>,
}

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
    /// The copies of contents that the store of the project has, too.
    adopted: HashMap<Object, u32>,
}

impl FileCopies {
    /// Returns copies that are kept in this folder, which is made when it is needed.
    #[must_use]
    pub fn below(dir: PathBuf) -> Self {
        Self { shared: Some(Arc::new(Shared { dir, state: Mutex::default() })), states: None }
    }

    /// Returns the same, for a project whose states before and after commands are kept, too.
    #[must_use]
    pub fn with_states(self, states: ProjectStates) -> Self {
        Self { states: self.shared.as_ref().map(|_| states), ..self }
    }

    /// Returns the states of the project, if they are kept.
    pub fn states(&self) -> Option<&ProjectStates> {
        self.states.as_ref()
    }

    /// Keeps a file as it is before a change, which is not copied again where it is what an agent wrote last. Returns
    /// `None` if it cannot be kept.
    pub(super) fn keep_before(&self, path: &Path, stamp: Stamp, bytes: Option<&[u8]>) -> Option<u32> {
        let shared = self.shared.as_ref()?;
        if let Some((written, number)) = shared.state().written.get(path)
            && written.has_content_of(&stamp)
        {
            return Some(*number);
        }
        shared.keep(bytes?, stamp.rights.0)
    }

    /// Keeps a file as an agent has written it.
    pub(super) fn keep_after(&self, path: &Path, stamp: Stamp, bytes: &[u8]) -> Option<u32> {
        let shared = self.shared.as_ref()?;
        let number = shared.keep(bytes, stamp.rights.0);
        let mut state = shared.state();
        match number {
            Some(number) => state.written.insert(path.to_path_buf(), (stamp, number)),
            None => state.written.remove(path),
        };
        number
    }

    /// Keeps what is no file of the project, such as where a link leads. Returns `None` if it cannot be kept.
    pub(in crate::tool) fn keep(&self, bytes: &[u8]) -> Option<u32> {
        self.shared.as_ref()?.keep(bytes, 0o600)
    }

    /// Keeps what the file at `path` holds, which never changes. Returns `None` if it cannot be kept.
    pub(in crate::tool) fn adopt(&self, path: &Path, object: Object) -> Option<u32> {
        let shared = self.shared.as_ref()?;
        if let Some(number) = shared.state().adopted.get(&object) {
            return Some(*number);
        }
        let number = shared.next().and_then(|number| {
            let copy = shared.path_of(number);
            // Another disk, or one without a second name for a file.
            std::fs::hard_link(path, &copy).or_else(|_| std::fs::copy(path, &copy).map(drop)).map(|()| number)
        });
        let number = number.inspect_err(|error| tracing::warn!(%error, "a copy of a file cannot be kept")).ok()?;
        shared.state().adopted.insert(object, number);
        Some(number)
    }

    /// Returns `true` if the file is as an agent has written it last.
    pub(in crate::tool) fn has_written(&self, path: &Path) -> bool {
        let written = self.shared.as_ref().and_then(|shared| Some(shared.state().written.get(path)?.0));
        written.is_some_and(|stamp| {
            path.symlink_metadata().is_ok_and(|facts| facts.is_file() && Stamp::of(&facts).has_content_of(&stamp))
        })
    }

    /// Notes with which look at the project a command begins, in case that the program ends before the command. The
    /// first of several counts. Returns the file that says so.
    pub(in crate::tool) fn adopt_cut(&self, index: &Path) -> Option<PathBuf> {
        let shared = self.shared.as_ref()?;
        DirBuilder::new().recursive(true).mode(0o700).create(&shared.dir).ok()?;
        let cut = shared.dir.join(CUT);
        std::fs::hard_link(index, &cut).ok().map(|()| cut)
    }

    /// Returns what [`Self::adopt_cut`] has left, under another name.
    pub(in crate::tool) fn take_cut(&self) -> Option<PathBuf> {
        let shared = self.shared.as_ref()?;
        let taken = shared.dir.join("cut-off.taken");
        std::fs::rename(shared.dir.join(CUT), &taken).ok().map(|()| taken)
    }

    /// Reads a copy. Blocks.
    ///
    /// # Errors
    /// Returns an error if it is gone or cannot be read.
    pub(in crate::tool) fn read(&self, number: u32) -> io::Result<Vec<u8>> {
        Ok(self.open(number)?.0)
    }

    /// Reads a copy, and the rights that its file had. Blocks.
    ///
    /// # Errors
    /// Returns an error if it is gone or cannot be read.
    pub(super) fn open(&self, number: u32) -> io::Result<(Vec<u8>, u32)> {
        let shared = self.shared.as_ref().ok_or(io::ErrorKind::NotFound)?;
        let file = std::fs::File::open(shared.path_of(number))?;
        let mode = file.metadata()?.permissions().mode() & 0o777;
        let mut bytes = Vec::new();
        file.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
        Ok((bytes, mode))
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn path_of(&self, number: u32) -> PathBuf {
        self.dir.join(number.to_string())
    }

    fn keep(&self, bytes: &[u8], mode: u32) -> Option<u32> {
        if bytes.len() as u64 > MAX_BYTES {
            return None;
        }
        self.write(bytes, mode).inspect_err(|error| tracing::warn!(%error, "a copy of a file cannot be kept")).ok()
    }

    /// Writes one copy, with the rights of its file. Returns its number.
    fn write(&self, bytes: &[u8], mode: u32) -> io::Result<u32> {
        let number = self.next()?;
        let path = self.path_of(number);
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        file.write_all(bytes).inspect_err(|_| drop(std::fs::remove_file(&path)))?;
        // The folder is the user's alone.
        file.set_permissions(std::fs::Permissions::from_mode(mode & 0o777 | 0o400))?;
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
