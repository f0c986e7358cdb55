//! What one command may touch.
//!
//! Owns the policy as data. Leaves which places these are to `places`, and what appears at those that are vacant to
//! `watch`.

use std::collections::{BTreeMap, VecDeque};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::evict::VacantPlace;

/// Entries that are looked at for other names, over all protected folders.
const MAX_ENTRIES: usize = 4_096;

/// What a command may touch. All paths are absolute with links resolved.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxPolicy {
    /// Folders that it may write in.
    pub writable: Vec<PathBuf>,
    /// Those of them that no program of the user looks into: temporary files, caches.
    pub own: Vec<PathBuf>,
    /// That of them which lies at [`super::TMP`], if not the system's own does.
    pub tmp: Option<PathBuf>,
    /// What it may not write in those.
    pub protected: Vec<PathBuf>,
    /// What it may write all the same in that.
    #[serde(default)]
    pub notes: Vec<PathBuf>,
    /// Where nothing lies that could be protected, or a link, which cannot be: its target is `Some`.
    pub vacant: Vec<(PathBuf, Option<PathBuf>)>,
    /// Files and folders that it may not read either.
    pub hidden: Vec<PathBuf>,
    /// Files that are read as other ones, each with that one.
    #[serde(default)]
    pub stand_ins: Vec<(PathBuf, PathBuf)>,
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
    /// Returns `true` if the command can leave nothing where the user finds it: it need not be watched.
    #[must_use]
    pub fn leaves_nothing(&self) -> bool {
        self.tops().is_empty()
    }

    /// Returns the folders of the user's that the command may write in.
    pub(super) fn tops(&self) -> Vec<PathBuf> {
        self.writable.iter().filter(|folder| !self.own.contains(folder)).cloned().collect()
    }

    /// Returns `true` if something lies now where nothing did, which the policy does not protect.
    #[must_use]
    pub fn is_outdated(&self) -> bool {
        self.vacant.iter().any(|(path, link)| link.is_none() && path.symlink_metadata().is_ok())
    }

    /// Returns the protected files that have another name, by which the command could write them. Of folders, it looks at the
    /// first entries. Blocks.
    #[must_use]
    pub fn files_with_other_names(&self) -> Vec<PathBuf> {
        let mut linked = BTreeMap::<(u64, u64), (u64, Vec<PathBuf>)>::new();
        let mut open: VecDeque<PathBuf> = self.protected.iter().cloned().collect();
        let mut left = MAX_ENTRIES;
        while let Some(path) = open.pop_front().filter(|_| left > 0) {
            left -= 1;
            let Ok(found) = path.symlink_metadata() else { continue };
            if found.is_dir() && !path.ends_with("objects") {
                let entries = path.read_dir().into_iter().flatten().filter_map(Result::ok);
                open.extend(entries.map(|entry| entry.path()).take(left));
            } else if found.is_file() && found.nlink() > 1 {
                let (_, names) = linked.entry((found.dev(), found.ino())).or_insert((found.nlink(), Vec::new()));
                names.push(path);
            }
        }
        // Where each of its names is protected, there is no other.
        let with_others = linked.into_values().filter(|(count, names)| *count > names.len() as u64);
        with_others.flat_map(|(_, names)| names).collect()
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
