//! The contents of a project's files, each once, in a folder of our own.
//!
//! Owns the folder: its objects, who uses it, and how much of the disk all such folders may take. Leaves which contents
//! are kept to `scan`. Invariants: an object never changes once it has its name; one that the last look needs stays,
//! and what a session needs longer has a name of its own in that session; the folders are for nobody but the user.

use std::collections::HashSet;
use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use ring::digest::{SHA256, digest};

use super::scan::{Scan, SeenKind};
use crate::temporary::file_within;

/// Bytes of one store, with what earlier looks have left in it.
const MAX_BYTES: u64 = 1 << 30;
/// Bytes of those of all projects; the ones that were not used for longest go.
const MAX_ALL: u64 = 3 << 30;
/// The file that says how many bytes a store has.
const SIZE: &str = "size";

/// A content, and the rights that its file had.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::tool) struct Object {
    pub(super) hash: [u8; 32],
    pub(super) mode: u32,
}

impl Object {
    pub(super) fn name(&self) -> String {
        format!("{}-{:o}", hex(&self.hash), self.mode)
    }

    pub(super) fn of_name(name: &str) -> Option<Self> {
        let (hash, mode) = name.split_once('-')?;
        let mut bytes = [0; 32];
        if hash.len() != 64 || !hash.is_ascii() {
            return None;
        }
        for (at, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from_str_radix(hash.get(2 * at..2 * at + 2)?, 16).ok()?;
        }
        Some(Self { hash: bytes, mode: u32::from_str_radix(mode, 8).ok()? & 0o777 })
    }
}

/// The store of one project, as long as one session uses it.
pub(super) struct StateStore {
    dir: PathBuf,
    /// Locked by all that use the store, and by one alone that removes something.
    lock: File,
    bytes: AtomicU64,
}

impl StateStore {
    /// Opens the store of the project with this root. Stores that nobody uses make room for it.
    pub(super) fn open(stores: &Path, root: &Path) -> io::Result<Self> {
        let dir = stores.join(&hex(digest(&SHA256, root.as_os_str().as_bytes()).as_ref())[..24]);
        make_dir(&dir.join("objects"))?;
        let lock = OpenOptions::new().create(true).append(true).mode(0o600).open(dir.join("lock"))?;
        lock.lock_shared()?;
        make_room(stores, &dir);
        let size = std::fs::read_to_string(dir.join(SIZE)).ok().and_then(|text| text.trim().parse().ok());
        Ok(Self { dir, lock, bytes: AtomicU64::new(size.unwrap_or(0)) })
    }

    /// Returns the file of the last look.
    pub(super) fn index_path(&self) -> PathBuf {
        self.dir.join("index")
    }

    pub(super) fn path_of(&self, object: &Object) -> PathBuf {
        let name = object.name();
        self.dir.join("objects").join(&name[..2]).join(&name[2..])
    }

    /// Keeps a content, unless it is kept already.
    pub(super) fn keep(&self, bytes: &[u8], mode: u32) -> io::Result<Object> {
        let mut object = Object { hash: [0; 32], mode };
        object.hash.copy_from_slice(digest(&SHA256, bytes).as_ref());
        let path = self.path_of(&object);
        if path.symlink_metadata().is_ok_and(|facts| facts.is_file() && facts.len() == bytes.len() as u64) {
            return Ok(object);
        }
        let Some(folder) = path.parent() else { return Err(io::ErrorKind::NotFound.into()) };
        let mut new = match file_within(folder, ".new-", "") {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                make_dir(folder)?;
                file_within(folder, ".new-", "")?
            }
            made => made?,
        };
        new.write_all(bytes)?;
        // Whoever may not read the file cannot see the folder.
        new.as_file().set_permissions(Permissions::from_mode(mode | 0o400))?;
        new.persist(&path).map_err(|error| error.error)?;
        self.bytes.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        Ok(object)
    }

    /// Notes how large the store is. Where it is too large, removes what the last look does not need, if no other
    /// session uses it.
    pub(super) fn sweep(&self, now: &Scan) -> io::Result<()> {
        if self.bytes.load(Ordering::Relaxed) > MAX_BYTES && self.lock.try_lock().is_ok() {
            self.remove_all_but(now)?;
            self.lock.lock_shared()?;
        }
        let bytes = self.bytes.load(Ordering::Relaxed);
        std::fs::write(self.dir.join(SIZE), bytes.to_string())?;
        if bytes > 2 * MAX_BYTES {
            return Err(io::Error::other("the kept files take too much of the disk, and another session uses them"));
        }
        Ok(())
    }

    fn remove_all_but(&self, now: &Scan) -> io::Result<()> {
        let needed: HashSet<PathBuf> =
            now.entries.iter().filter_map(|(_, entry)| self.object_of(&entry.kind)).collect();
        let mut bytes = 0;
        for folder in std::fs::read_dir(self.dir.join("objects"))?.flatten() {
            for object in std::fs::read_dir(folder.path())?.flatten() {
                if needed.contains(&object.path()) {
                    bytes += object.metadata()?.len();
                } else {
                    std::fs::remove_file(object.path())?;
                }
            }
        }
        self.bytes.store(bytes, Ordering::Relaxed);
        Ok(())
    }

    fn object_of(&self, kind: &SeenKind) -> Option<PathBuf> {
        match kind {
            SeenKind::File(object) => Some(self.path_of(object)),
            SeenKind::Link(_) | SeenKind::Unkept(_) => None,
        }
    }
}

/// Removes the stores that were not used for longest while all are too large. One in use stays.
fn make_room(stores: &Path, own: &Path) {
    let Ok(entries) = std::fs::read_dir(stores) else { return };
    let of = |dir: PathBuf| {
        let bytes: u64 = std::fs::read_to_string(dir.join(SIZE)).ok()?.trim().parse().ok()?;
        let used = dir.join(SIZE).metadata().and_then(|facts| facts.modified()).unwrap_or(SystemTime::UNIX_EPOCH);
        Some((used, bytes, dir))
    };
    let mut all: Vec<_> = entries.flatten().filter_map(|entry| of(entry.path())).collect();
    all.sort_unstable();
    let mut bytes: u64 = all.iter().map(|(_, bytes, _)| bytes).sum();
    for (_, size, dir) in all {
        let is_free = || File::open(dir.join("lock")).is_ok_and(|lock| lock.try_lock().is_ok());
        if bytes > MAX_ALL && dir != own && is_free() && std::fs::remove_dir_all(&dir).is_ok() {
            bytes = bytes.saturating_sub(size);
        }
    }
}

fn make_dir(dir: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(dir)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
