//! What one command may touch.
//!
//! Owns the policy as data, and finding what appeared at a protected place meanwhile. Leaves which places these are to
//! `places`. Everything here blocks.

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// What a command may touch. All paths are absolute with links resolved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxPolicy {
    /// Folders that it may write in.
    pub writable: Vec<PathBuf>,
    /// What it may not write in those.
    pub protected: Vec<PathBuf>,
    /// Where nothing lies that could be protected, or a link, which cannot be: its target is `Some`.
    pub vacant: Vec<(PathBuf, Option<PathBuf>)>,
    /// Files and folders that it may not read either.
    pub hidden: Vec<PathBuf>,
    /// An empty file and an empty folder that nobody may open, in the place of what is hidden.
    pub masks: (PathBuf, PathBuf),
    /// Whether it has the network of this machine. Without, it has one of its own, on which only itself answers, and the
    /// proxy.
    pub has_network: bool,
}

/// Something that a command has put where nothing may be written.
#[derive(Debug, PartialEq, Eq)]
pub struct Intrusion {
    pub path: PathBuf,
    /// Where it lies now; `None` if it could not be moved.
    pub moved_to: Option<PathBuf>,
}

impl SandboxPolicy {
    /// Moves aside what has appeared at a place that was vacant, so that no program obeys it. To be called when the
    /// command and its processes have ended.
    #[must_use]
    pub fn evict(&self) -> Vec<Intrusion> {
        let appeared = self.vacant.iter().filter(|(path, link)| match (path.symlink_metadata(), link) {
            (Err(_), _) => false,
            (Ok(_), None) => true,
            (Ok(_), Some(target)) => path.read_link().ok().as_ref() != Some(target),
        });
        appeared.map(|(path, _)| Intrusion { path: path.clone(), moved_to: move_aside(path).ok() }).collect()
    }
}

/// Renames a file or folder to a free name beside it, and returns the name.
fn move_aside(path: &Path) -> io::Result<PathBuf> {
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?.to_os_string();
    for number in 1..=1_000 {
        let mut beside = name.clone();
        beside.push(if number == 1 { ".blocked".to_owned() } else { format!(".blocked-{number}") });
        let beside = path.with_file_name(beside);
        if beside.symlink_metadata().is_err() {
            std::fs::rename(path, &beside)?;
            return Ok(beside);
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}
