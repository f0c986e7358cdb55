//! Which places a policy names: what may be written, what is protected in it, what is hidden.
//!
//! Owns the table of them and looking at what is there. Leaves keeping to it to the kernel. Everything here blocks.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use serde::Deserialize;

use super::SandboxPolicy;

/// The table in `assets/sandbox.toml`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SandboxData {
    hidden: Vec<PathBuf>,
    protected: Vec<PathBuf>,
    protected_home: Vec<PathBuf>,
    protected_common: Vec<PathBuf>,
    protected_worktree: Vec<PathBuf>,
    caches: BTreeMap<String, String>,
    pub(super) refusals: Refusals,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Refusals {
    pub(super) network: Vec<String>,
    pub(super) files: Vec<String>,
}

pub(super) fn data() -> &'static SandboxData {
    static DATA: OnceLock<SandboxData> = OnceLock::new();
    DATA.get_or_init(|| toml::from_str(include_str!("../../assets/sandbox.toml")).unwrap_or_default())
}

/// Returns the variables that give programs a cache of their own below `folder`.
pub(super) fn cache_variables(folder: &Path) -> impl Iterator<Item = (&'static str, PathBuf)> {
    data().caches.iter().map(move |(variable, name)| (variable.as_str(), folder.join(name)))
}

/// What the policies of a session are made of. All paths are absolute.
#[derive(Debug, Clone, Default)]
pub struct SandboxPlaces {
    /// The user's home, where it is known.
    pub home: Option<PathBuf>,
    /// What else may be written: temporary files, caches, what the user adds.
    pub writable: Vec<PathBuf>,
    /// What else is hidden: the program's own files, what the user adds.
    pub hidden: Vec<PathBuf>,
    pub masks: (PathBuf, PathBuf),
    pub has_network: bool,
}

impl SandboxPlaces {
    /// Returns the policy of a command that may write in `folders`, and what git keeps of a linked worktree; none are for
    /// a command that only reads.
    #[must_use]
    pub fn policy(&self, folders: &[&Path], linked: Option<&LinkedDirs>) -> SandboxPolicy {
        let own = self.writable.iter().map(PathBuf::as_path);
        let linked_dirs = linked.into_iter().flat_map(|linked| [linked.common_dir.as_path(), &linked.git_dir]);
        let writable: Vec<PathBuf> = folders.iter().copied().chain(linked_dirs).chain(own).filter_map(real).collect();
        let home = self.home.as_deref();
        let below = |folder: &Path, names: &[PathBuf]| names.iter().map(|name| folder.join(name)).collect::<Vec<_>>();
        let in_folders = folders.iter().flat_map(|folder| below(folder, &data().protected));
        let in_git = linked.into_iter().flat_map(|linked| {
            let own = below(&linked.git_dir, &data().protected_worktree);
            below(&linked.common_dir, &data().protected_common).into_iter().chain(own)
        });
        let has_home = home.filter(|home| folders.iter().any(|folder| home.starts_with(folder)));
        let in_home = has_home.iter().flat_map(|home| below(home, &data().protected_home));
        let (mut protected, mut vacant) = (Vec::new(), Vec::new());
        for place in in_folders.chain(in_git).chain(in_home) {
            match place.symlink_metadata() {
                Ok(facts) if facts.is_symlink() => {
                    protected.extend(real(&place));
                    vacant.push((place.clone(), place.read_link().ok()));
                }
                Ok(_) => protected.push(place),
                // Where its folder is missing, that folder is what would appear.
                Err(_) => vacant.push((missing(&place), None)),
            }
        }
        // The pointer of a linked worktree says where git reads its settings.
        protected.extend(folders.iter().map(|folder| folder.join(".git")).filter(|pointer| pointer.is_file()));
        vacant.sort();
        vacant.dedup();
        let named = data().hidden.iter().map(|name| home.unwrap_or(Path::new("/")).join(name));
        let own = self.hidden.iter().cloned();
        let mut hidden: Vec<PathBuf> = named.chain(own).filter_map(|path| real(&path)).collect();
        hidden.sort();
        hidden.dedup();
        let kept: Vec<&Path> = writable.iter().map(PathBuf::as_path).collect();
        let hidden: Vec<PathBuf> = hidden.iter().flat_map(|path| around(path, &kept)).collect();
        // What is protected outside of what can be written, through a link, needs no help.
        protected.retain(|place| kept.iter().any(|folder| place.starts_with(folder)));
        SandboxPolicy { writable, protected, vacant, hidden, masks: self.masks.clone(), has_network: self.has_network }
    }
}

/// Where git keeps what belongs to a linked worktree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkedDirs {
    /// Of all worktrees of the repository: objects, branches.
    pub common_dir: PathBuf,
    /// Of this one: its index, its head.
    pub git_dir: PathBuf,
}

fn real(path: impl AsRef<Path>) -> Option<PathBuf> {
    path.as_ref().canonicalize().ok()
}

/// Returns the first part of a path that does not exist.
fn missing(path: &Path) -> PathBuf {
    let absent = path.ancestors().take_while(|part| part.symlink_metadata().is_err());
    absent.last().unwrap_or(path).to_path_buf()
}

/// Returns what has to be hidden so that all of `path` is but the folders in `kept`.
fn around(path: &Path, kept: &[&Path]) -> Vec<PathBuf> {
    if kept.contains(&path) {
        return Vec::new();
    }
    if !kept.iter().any(|folder| folder.starts_with(path)) {
        return vec![path.to_path_buf()];
    }
    let Ok(entries) = path.read_dir() else { return Vec::new() };
    entries.filter_map(Result::ok).flat_map(|entry| around(&entry.path(), kept)).collect()
}
