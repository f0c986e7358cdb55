//! Objects for the moment: what is found out about a worktree, or joined, gets into no repository by that.
//!
//! Owns the folder. Leaves what is written there to the callers. Invariant: it is the user's alone, lies outside of all
//! repositories, and is gone with its value.

use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::WorktreeError;
use crate::temporary::TemporaryFolder;

/// Begins the names of the folders.
const PREFIX: &str = ".state-";

#[derive(Debug, Clone)]
pub(super) struct ScratchObjects(Arc<TemporaryFolder>);

impl ScratchObjects {
    /// Makes a folder for objects in addition to those in `objects`. Blocks.
    pub(super) fn new(folder: &Path, objects: &Path) -> Result<Self, WorktreeError> {
        let make = || -> io::Result<TemporaryFolder> {
            let made = TemporaryFolder::within(folder, PREFIX)?;
            let own = made.path().join("objects");
            for name in ["info", "pack"] {
                std::fs::create_dir_all(own.join(name))?;
            }
            std::fs::write(own.join("info/alternates"), alternates(objects))?;
            Ok(made)
        };
        Ok(Self(Arc::new(make().map_err(WorktreeError::disk(folder, "written to"))?)))
    }

    pub(super) fn objects(&self) -> PathBuf {
        self.0.path().join("objects")
    }

    /// Returns where an index goes along with them.
    pub(super) fn index(&self) -> PathBuf {
        self.0.path().join("index")
    }
}

/// Returns the text of a file that names a folder of objects to git.
pub(super) fn alternates(objects: &Path) -> Vec<u8> {
    let path = objects.as_os_str().as_bytes();
    if !path.contains(&b'\n') {
        return [path, b"\n"].concat();
    }
    let escaped = path.iter().flat_map(|byte| match byte {
        b'\n' => b"\\n".to_vec(),
        b'"' | b'\\' => vec![b'\\', *byte],
        byte => vec![*byte],
    });
    [b"\"".to_vec(), escaped.collect(), b"\"\n".to_vec()].concat()
}
