//! Which folders have to be watched, and for which entries, to hear of every change of agent files, skills and commands.
//!
//! Owns the way from a folder of agents to what decides its contents: missing folders, links, nested folders. Leaves
//! watching to the parent module. Invariant: only folders of agents are walked; of any other folder single entries are
//! listed, so that a project of any size and a busy home cost nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};

/// Links that one path may lead through, as on Linux.
const MAX_LINKS: usize = 40;

/// Folders below one another and beside one another that are walked; a link to `/` is no folder of agents.
const MAX_FOLDERS: usize = 1_024;

/// The folders to watch, without links, each with the entries that matter.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct WatchPlan {
    folders: BTreeMap<PathBuf, Entries>,
}

/// How much of what lies at a path counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WatchDepth {
    /// The file or folder itself.
    Entry,
    /// What lies in it, and in the folders there.
    Folder,
    /// All below it.
    All,
}

#[derive(Debug, PartialEq, Eq)]
enum Entries {
    All,
    Named(BTreeSet<OsString>),
}

impl WatchPlan {
    /// Looks at files and folders as they are now.
    pub(super) fn of(places: impl Iterator<Item = (PathBuf, WatchDepth)>) -> Self {
        let mut plan = Self::default();
        for (path, depth) in places {
            match (plan.follow(&path), depth) {
                (Some(folder), WatchDepth::All) => plan.walk(folder, usize::MAX),
                (Some(folder), WatchDepth::Folder) => plan.walk(folder, 1),
                (_, WatchDepth::Entry) | (None, _) => {}
            }
        }
        plan
    }

    pub(super) fn folders(&self) -> impl Iterator<Item = &Path> {
        self.folders.keys().map(PathBuf::as_path)
    }

    pub(super) fn holds(&self, folder: &Path) -> bool {
        self.folders.contains_key(folder)
    }

    /// Takes out a folder and those below it.
    pub(super) fn take_below(&mut self, path: &Path) -> Vec<PathBuf> {
        let gone: Vec<PathBuf> = self.folders.keys().filter(|folder| folder.starts_with(path)).cloned().collect();
        self.folders.retain(|folder, _| !folder.starts_with(path));
        gone
    }

    /// Returns `true` if a change of this path may change what the agents are.
    pub(super) fn concerns(&self, path: &Path) -> bool {
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return false };
        match self.folders.get(folder) {
            Some(Entries::All) => true,
            Some(Entries::Named(names)) => names.contains(name),
            None => false,
        }
    }

    /// Returns `true` if more folders hold agents than are watched.
    pub(super) fn is_cut(&self) -> bool {
        self.folders.values().filter(|entries| **entries == Entries::All).count() >= MAX_FOLDERS
    }

    fn list(&mut self, folder: &Path, name: &OsStr) {
        let entries = self.folders.entry(folder.to_path_buf()).or_insert_with(|| Entries::Named(BTreeSet::new()));
        if let Entries::Named(names) = entries {
            names.insert(name.to_owned());
        }
    }

    /// Lists the entries that decide what lies at `path`: every link on the way, the first one that is missing, the
    /// last one. Returns the path without links, if there is something.
    ///
    /// A folder on the way need not be listed: a program that renames it renames a watched folder or one above, and the former
    /// is reported by the folder itself.
    fn follow(&mut self, path: &Path) -> Option<PathBuf> {
        let mut at = PathBuf::new();
        let mut rest = steps(path);
        let mut links = 0;
        while let Some(step) = rest.pop() {
            let name = match step.components().next()? {
                Component::Normal(name) => name,
                Component::ParentDir => {
                    at.pop();
                    continue;
                }
                Component::CurDir => continue,
                root @ (Component::RootDir | Component::Prefix(_)) => {
                    at.push(root);
                    continue;
                }
            };
            let next = at.join(name);
            let found = fs::symlink_metadata(&next);
            let is_link = found.as_ref().is_ok_and(fs::Metadata::is_symlink);
            if is_link || found.is_err() || rest.is_empty() {
                self.list(&at, name);
            }
            match found {
                Ok(_) if is_link => {
                    links += 1;
                    let target = fs::read_link(&next).ok().filter(|_| links <= MAX_LINKS)?;
                    rest.extend(steps(&target));
                    if target.is_absolute() {
                        at = PathBuf::new();
                    }
                }
                Ok(_) => at = next,
                Err(_) => return None,
            }
        }
        Some(at)
    }

    /// Lists everything below a folder, so many folders deep.
    fn walk(&mut self, folder: PathBuf, depth: usize) {
        if self.is_cut() || self.folders.get(&folder) == Some(&Entries::All) {
            return;
        }
        self.folders.insert(folder.clone(), Entries::All);
        let Some(depth) = depth.checked_sub(1) else { return };
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() {
                self.walk(entry.path(), depth);
            } else if kind.is_symlink()
                && let Some(target) = self.follow(&entry.path())
                && target.is_dir()
            {
                self.walk(target, depth);
            }
        }
    }
}

/// Returns the parts of a path, the first one last.
fn steps(path: &Path) -> Vec<PathBuf> {
    path.components().rev().map(|part| PathBuf::from(part.as_os_str())).collect()
}

/// Returns `true` if a folder cannot be watched because it is not there, or not to be read.
pub(super) fn is_out_of_reach(error: &notify::Error) -> bool {
    match &error.kind {
        notify::ErrorKind::PathNotFound => true,
        notify::ErrorKind::Io(error) => {
            matches!(error.kind(), ErrorKind::NotFound | ErrorKind::PermissionDenied | ErrorKind::NotADirectory)
        }
        _ => false,
    }
}
