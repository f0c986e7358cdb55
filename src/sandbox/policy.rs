//! What one command may touch.
//!
//! Owns the policy as data. Leaves which places these are to `places`, and what appears at those that are vacant to
//! `watch`.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::evict::VacantPlace;

/// What a command may touch. All paths are absolute with links resolved.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
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
    /// Whether its processes are numbered apart, so that they neither see nor reach others, and end with the first of them.
    #[serde(default)]
    pub has_own_processes: bool,
    /// Whether it has the network of this machine. Without, it has one of its own, on which only itself answers, and the
    /// proxy.
    pub has_network: bool,
}

impl SandboxPolicy {
    /// Returns `true` if nothing can appear where it may not: such a command need not be watched.
    #[must_use]
    pub fn has_no_vacant_place(&self) -> bool {
        self.vacant.is_empty()
    }

    /// Returns `true` if something lies now where nothing did, which the policy does not protect.
    #[must_use]
    pub fn is_outdated(&self) -> bool {
        self.vacant.iter().any(|(path, link)| link.is_none() && path.symlink_metadata().is_ok())
    }

    /// Returns the places where something could appear.
    pub(super) fn vacant_places(&self) -> Vec<VacantPlace> {
        let top_of =
            |path: &Path| self.writable.iter().filter(|top| path.starts_with(top)).max_by_key(|top| top.iter().count());
        let place = |(path, link): &(PathBuf, Option<PathBuf>)| {
            Some(VacantPlace { path: path.clone(), link: link.clone(), top: top_of(path)?.clone() })
        };
        self.vacant.iter().filter_map(place).collect()
    }
}
