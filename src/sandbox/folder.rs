//! The folder of a session's sandbox: temporary files of its commands, and what is seen in the place of what is hidden.
//!
//! Invariants: a folder whose lock is held belongs to a program that runs; the others are removed by whoever comes next.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::PathBuf;

use crate::temporary::{TemporaryFolder, remove_tree};
use crate::whole_file::read_plain;

use super::secrets::stand_in_texts;

const PREFIX: &str = "belvedere-sandbox-";
const LOCK: &str = "lock";
const NO_FOLDER: &str = "no-folder";
const STAND_INS: &str = "stand-ins";
/// Holds the paths where commands that run could put something, with a NUL behind each.
const RECORD: &str = "vacant";
/// Bytes of it that are read at most.
const MAX_RECORD: u64 = 16 << 20;

#[derive(Debug)]
pub(super) struct SandboxFolder {
    _folder: TemporaryFolder,
    path: PathBuf,
    _alive: File,
}

impl SandboxFolder {
    pub(super) fn new() -> io::Result<Self> {
        let folder = TemporaryFolder::within(&std::env::temp_dir(), PREFIX)?;
        let path = folder.path().canonicalize()?;
        let (lock, new_lock) = (path.join(LOCK), path.join("lock.new"));
        let alive = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new_lock)?;
        alive.lock()?;
        // Nobody finds it before it is held.
        std::fs::rename(new_lock, lock)?;
        DirBuilder::new().mode(0o700).create(path.join("tmp"))?;
        DirBuilder::new().mode(0o000).create(path.join(NO_FOLDER))?;
        OpenOptions::new().write(true).create_new(true).mode(0o000).open(path.join("no-file"))?;
        DirBuilder::new().mode(0o700).create(path.join(STAND_INS))?;
        for (name, text) in stand_in_texts() {
            std::fs::write(path.join(STAND_INS).join(name), text)?;
        }
        Ok(Self { _folder: folder, path, _alive: alive })
    }

    pub(super) fn temporary(&self) -> PathBuf {
        self.path.join("tmp")
    }

    /// Returns the file in which it stands where commands could put something, for whoever comes after us.
    pub(super) fn record(&self) -> PathBuf {
        self.path.join(RECORD)
    }

    /// Returns the folder of what is read in the place of some files.
    pub(super) fn stand_ins(&self) -> PathBuf {
        self.path.join(STAND_INS)
    }

    /// Returns an empty file and an empty folder that nobody may open.
    pub(super) fn masks(&self) -> (PathBuf, PathBuf) {
        (self.path.join("no-file"), self.path.join(NO_FOLDER))
    }
}

/// Removes the folders of programs that have ended without doing so. Returns what lies now where a command that ran then
/// could have put it.
pub(super) fn sweep() -> Vec<PathBuf> {
    let mut left = BTreeSet::new();
    let Ok(entries) = std::env::temp_dir().read_dir() else { return Vec::new() };
    let ours = nix::unistd::geteuid().as_raw();
    for entry in entries.filter_map(Result::ok) {
        let is_named = entry.file_name().to_str().is_some_and(|name| name.starts_with(PREFIX));
        let is_ours = || entry.metadata().is_ok_and(|facts| facts.is_dir() && facts.uid() == ours);
        if !is_named || !is_ours() {
            continue;
        }
        let folder = entry.path();
        let has_all = ["tmp", NO_FOLDER, "no-file"].iter().all(|name| folder.join(name).symlink_metadata().is_ok());
        // One without a lock is being made, or is none of this.
        let Ok(lock) = OpenOptions::new().write(true).custom_flags(nix::libc::O_NOFOLLOW).open(folder.join(LOCK))
        else {
            continue;
        };
        if has_all && lock.try_lock().is_ok() {
            let record = read_plain(&folder.join(RECORD), MAX_RECORD).unwrap_or_default();
            let places = record.split(|byte| *byte == 0).filter(|path| !path.is_empty());
            let places = places.map(|path| PathBuf::from(OsStr::from_bytes(path)));
            left.extend(places.filter(|place| place.symlink_metadata().is_ok()));
            let _ = remove_tree(&folder);
        }
    }
    left.into_iter().collect()
}
