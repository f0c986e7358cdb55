//! Which places a policy names: what may be written, what is protected in it, what is hidden.
//!
//! Owns the table of them and looking at what is there. Leaves what of a home is a secret to `secrets`, and keeping to it all
//! to the kernel. Everything here blocks.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};
use std::sync::OnceLock;

use serde::Deserialize;

use super::evict::{VacantPlace, is_aside};
use super::git_folder::GitNames;
use super::secrets::HiddenPlaces;
use super::{DeniedPaths, PlaceWatch, SandboxPolicy};
use crate::nofollow::{make_folder, put_file};
use crate::obeyed::{is_kept_by_pattern, kept_paths};

/// Links in the way of one place that are followed, as many as the system follows.
const MAX_LINKS: usize = 40;
/// How deep submodules nest, with the slashes in their names.
const MAX_NESTED: usize = 8;

/// The table in `assets/sandbox.toml`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SandboxData {
    protected: Vec<PathBuf>,
    protected_entries: Vec<PathBuf>,
    protected_modules: Vec<PathBuf>,
    protected_home: Vec<PathBuf>,
    protected_common: Vec<PathBuf>,
    protected_worktree: Vec<PathBuf>,
    protected_apart: Vec<PathBuf>,
    blank_folders: Vec<PathBuf>,
    blank_files: Vec<PathBuf>,
    caches: BTreeMap<String, String>,
    pub(super) git: GitNames,
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
    /// What the user lets commands write beside their project.
    pub writable: Vec<PathBuf>,
    /// What they may not change beside the usual, where it can be written.
    pub protected: Vec<PathBuf>,
    /// What else is hidden: the program's own files, what the user adds.
    pub hidden: Vec<PathBuf>,
    /// What is not, although it lies in the home: what the user lets commands read, and where their programs lie.
    pub open: Vec<PathBuf>,
    /// What rules keep from commands, by patterns.
    pub denied: DeniedPaths,
    /// Temporary files and caches.
    pub own: Vec<PathBuf>,
    /// See [`SandboxPolicy::masks`].
    pub masks: (PathBuf, PathBuf),
    /// Whether commands have a `/tmp` of their own: nothing lies in the system's that they need.
    pub has_own_tmp: bool,
    /// Folder of what is read in the place of some files of the home.
    pub stand_ins: PathBuf,
    pub has_network: bool,
    /// Folders that are worked in, also by commands that only read: what lies there is no secret.
    pub work: Vec<PathBuf>,
    /// Who looks at those that are vacant.
    pub watch: PlaceWatch,
}

/// Where git keeps a repository whose folder is not `.git` in its files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GitDirs {
    /// In the project.
    Inside(PathBuf),
    /// Of a linked worktree, at that of other files.
    Linked {
        /// Of all worktrees of the repository: objects, branches.
        common_dir: PathBuf,
        /// Of this one: its index, its head.
        git_dir: PathBuf,
    },
    /// Of a worktree with a repository of its own, which borrows objects of another.
    Apart(PathBuf),
}

impl GitDirs {
    /// Returns those that lie outside of the project.
    fn outside(&self) -> Vec<&Path> {
        match self {
            Self::Inside(_) => Vec::new(),
            Self::Linked { common_dir, git_dir } => vec![common_dir, git_dir],
            Self::Apart(git_dir) => vec![git_dir],
        }
    }
}

impl SandboxPlaces {
    /// Follows the links of what can be written and of what is hidden, once: later, a command may have put others there.
    pub(super) fn resolve(&mut self) {
        self.writable = self.writable.iter().filter_map(real).collect();
        self.own = self.own.iter().filter_map(real).collect();
        self.open = self.open.iter().filter_map(real).collect();
        self.work = self.work.iter().filter_map(real).collect();
        // What is not there yet is hidden as soon as it is.
        self.hidden = self.hidden.iter().map(|path| real(path).unwrap_or_else(|| path.clone())).collect();
    }

    /// Returns the policy of a command that works in the project at `root`, and with what git keeps of it. If it `writes`, it
    /// may write there, but not in what is `protected`, too; otherwise it only reads, and sees the project wherever it lies.
    ///
    /// # Errors
    /// Returns why it cannot be told what rules keep from the command.
    pub fn policy(
        &self,
        (root, writes): (Option<&Path>, bool),
        git: Option<&GitDirs>,
        protected: BTreeSet<PathBuf>,
    ) -> io::Result<SandboxPolicy> {
        let [unread, unwritten] = self.denied.found(root)?;
        // A worktree among the program's own files is an agent's: nothing of a repository that others share is for it.
        let is_agents = || root.is_some_and(|root| self.hidden.iter().any(|place| root.starts_with(place)));
        let git = git.filter(|git| !(matches!(git, GitDirs::Linked { .. }) && is_agents()));
        let outside = git.map(GitDirs::outside).unwrap_or_default();
        let (project, git) = (root.filter(|_| writes), git.filter(|_| writes));
        let is_same = |path: &&Path| real(path).as_deref() == Some(*path);
        let folders: Vec<&Path> = project
            .into_iter()
            .chain(self.writable.iter().map(PathBuf::as_path).filter(|_| project.is_some()))
            .collect();
        let own = self.own.iter().map(PathBuf::as_path);
        let all = folders.iter().copied().chain(outside.iter().copied().filter(|_| writes)).chain(own);
        let writable: Vec<PathBuf> = all.filter(is_same).map(Path::to_path_buf).collect();
        let kept: Vec<&Path> = writable.iter().map(PathBuf::as_path).collect();
        let seen: Vec<&Path> = root.into_iter().chain(outside).filter(is_same).chain(kept.iter().copied()).collect();
        let (named, mut protected, mut vacant) = (protected, Vec::new(), Vec::new());
        for place in self.obeyed(&folders, git).into_iter().chain(unwritten).chain(named) {
            let (links, place) = followed(&place, &kept);
            // None of them can be covered, and each leads to what counts.
            vacant.extend(links.into_iter().map(|(link, target)| (link, Some(target))));
            match place.symlink_metadata() {
                Ok(_) => protected.push(place),
                // A repository that appears is one that nobody has looked at, whatever it holds.
                Err(_) => vacant.push((missing_repository(&place).unwrap_or(place), None)),
            }
        }
        let is_inside = |place: &Path| kept.iter().any(|folder| place.starts_with(folder) && place != *folder);
        // What is protected outside of what can be written, through a link, needs no help.
        protected.retain(|place| is_inside(place));
        vacant.retain(|(place, _)| is_inside(place));
        protected.sort();
        protected.dedup();
        vacant.sort();
        vacant.dedup();
        let work: Vec<&Path> = self.work.iter().chain(&self.writable).chain(&writable).map(PathBuf::as_path).collect();
        let secrets = HiddenPlaces { home: self.home.as_deref(), open: &self.open, work: &work };
        let mut hidden: Vec<PathBuf> =
            secrets.hidden().into_iter().chain(self.hidden.iter().cloned()).chain(unread).collect();
        hidden.sort();
        hidden.dedup();
        let seen: Vec<&Path> =
            seen.into_iter().chain(work.iter().copied()).chain(self.open.iter().map(PathBuf::as_path)).collect();
        let hidden = hidden.iter().flat_map(|path| around(path, &seen)).collect();
        let stand_ins =
            secrets.stand_ins().into_iter().map(|(place, text)| (place, self.stand_ins.join(text))).collect();
        let (masks, has_network, own) = (self.masks.clone(), self.has_network, self.own.clone());
        let tmp = own.first().filter(|_| self.has_own_tmp).cloned();
        Ok(SandboxPolicy {
            writable,
            own,
            tmp,
            protected,
            notes: Vec::new(),
            vacant,
            hidden,
            stand_ins,
            masks,
            has_own_processes: false,
            has_network,
        })
    }

    /// Makes, empty, what git's folder lacks of what it obeys, so that it can be protected. Blocks.
    pub(super) fn make_blanks(&self, project: &Path, git: Option<&GitDirs>) {
        let main = match git {
            Some(GitDirs::Inside(folder) | GitDirs::Linked { common_dir: folder, .. } | GitDirs::Apart(folder)) => {
                folder.clone()
            }
            None => project.join(".git"),
        };
        let ours = nix::unistd::geteuid().as_raw();
        for folder in self.writable.iter().map(|folder| folder.join(".git")).chain([main]) {
            let is_ours = folder.symlink_metadata().is_ok_and(|facts| facts.is_dir() && facts.uid() == ours);
            if !is_ours || folder.join("HEAD").symlink_metadata().is_err() {
                continue;
            }
            // What cannot be made is watched, as all that is vacant.
            let folders = data().blank_folders.iter().map(|name| (name, true));
            for (name, is_folder) in folders.chain(data().blank_files.iter().map(|name| (name, false))) {
                let blank = folder.join(name);
                if blank.symlink_metadata().is_err() {
                    let make = || if is_folder { make_folder(&blank).map(drop) } else { put_file(&blank, b"", 0o644) };
                    self.watch.make_blank(&blank, make);
                }
            }
        }
    }

    /// Returns what other programs run or obey in folders that can be written.
    fn obeyed(&self, folders: &[&Path], git: Option<&GitDirs>) -> Vec<PathBuf> {
        let below = |folder: &Path, names: &[PathBuf]| names.iter().map(|name| folder.join(name)).collect::<Vec<_>>();
        let data = data();
        let mut all: Vec<PathBuf> = folders.iter().flat_map(|folder| below(folder, &data.protected)).collect();
        all.extend(folders.iter().flat_map(|folder| below(folder, kept_paths())));
        all.extend(folders.iter().flat_map(|folder| patterned(folder)));
        let own = match git {
            Some(GitDirs::Inside(folder)) => Some(folder.clone()),
            _ => None,
        };
        for folder in folders.iter().map(|folder| folder.join(".git")).chain(own) {
            // What comes into being there is nobody's yet, and is looked at.
            for name in &data.protected_entries {
                all.extend(entries(&folder.join(name)));
            }
            let modules = modules(&folder.join("modules"), 0);
            all.extend(modules.iter().flat_map(|module| below(module, &data.protected_modules)));
        }
        // The pointer of a linked worktree, or a link, says where git reads its settings.
        let pointers = folders.iter().map(|folder| folder.join(".git"));
        all.extend(pointers.filter(|pointer| pointer.symlink_metadata().is_ok_and(|facts| !facts.is_dir())));
        // The user's git looks into what is a repository in a repository.
        for inner in folders.iter().flat_map(|folder| self.watch.repositories(folder)) {
            let inner = inner.join(".git");
            if inner.is_dir() && !inner.is_symlink() {
                all.extend(git_names().map(|name| inner.join(name)));
            } else {
                all.push(inner);
            }
        }
        match git {
            Some(GitDirs::Linked { common_dir, git_dir }) => {
                all.extend(below(common_dir, &data.protected_common));
                all.extend(below(git_dir, &data.protected_worktree));
            }
            Some(GitDirs::Inside(git_dir)) => {
                all.extend(git_names().map(|name| git_dir.join(name)));
            }
            Some(GitDirs::Apart(git_dir)) => {
                all.extend(git_names().map(|name| git_dir.join(name)));
                all.extend(below(git_dir, &data.protected_apart));
            }
            None => {}
        }
        if let Some(home) = self.home.as_deref().filter(|home| folders.iter().any(|folder| home.starts_with(folder))) {
            all.extend(below(home, &data.protected_home));
        }
        all.extend(self.protected.iter().cloned());
        all
    }
}

/// Returns what lies in a folder that other programs obey by a pattern of its name. What was moved aside has a name that
/// some patterns fit, and that no program looks for.
pub(super) fn patterned(folder: &Path) -> Vec<PathBuf> {
    let entries = folder.read_dir().into_iter().flatten().filter_map(Result::ok);
    let is_obeyed = |path: &PathBuf| is_kept_by_pattern(path) && !path.file_name().is_some_and(is_aside);
    entries.map(|entry| entry.path()).filter(is_obeyed).collect()
}

/// Returns what git obeys in a folder of its own.
fn git_names() -> impl Iterator<Item = &'static Path> {
    data().protected.iter().filter_map(|name| name.strip_prefix(".git").ok())
}

impl VacantPlace {
    /// Returns what git obeys in a folder of git that has come into being at this place.
    pub(super) fn as_repository(&self) -> Vec<Self> {
        git_names().map(|name| Self { path: self.path.join(name), link: None, top: self.top.clone() }).collect()
    }
}

fn real(path: impl AsRef<Path>) -> Option<PathBuf> {
    path.as_ref().canonicalize().ok()
}

/// Follows the links in the way of a place, from the folder that it can be written in. Returns them with their targets, and
/// where they lead, which need not be there.
fn followed(place: &Path, writable: &[&Path]) -> (Vec<(PathBuf, PathBuf)>, PathBuf) {
    let top = writable.iter().filter(|top| place.starts_with(top)).max_by_key(|top| top.iter().count());
    let Some((top, rest)) = top.and_then(|top| Some((*top, place.strip_prefix(top).ok()?))) else {
        return (Vec::new(), place.to_path_buf());
    };
    let (mut links, mut at, mut ahead) = (Vec::new(), top.to_path_buf(), rest.to_path_buf());
    while let Some(part) = ahead.components().next() {
        let behind: PathBuf = ahead.components().skip(1).collect();
        match part {
            Component::ParentDir => drop(at.pop()),
            Component::CurDir => {}
            // Of a root, it begins there.
            part => at.push(part),
        }
        ahead = match at.read_link() {
            Ok(target) if links.len() < MAX_LINKS => {
                links.push((at.clone(), target.clone()));
                at.pop();
                target.join(behind)
            }
            _ => behind,
        };
    }
    (links, at)
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    folder.read_dir().into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path())).collect()
}

/// Returns the folders of submodules below one of git's; slashes in their names make folders between.
fn modules(folder: &Path, depth: usize) -> Vec<PathBuf> {
    let is_folder = |path: &PathBuf| path.is_dir() && !path.is_symlink();
    let folders = entries(folder).into_iter().filter(|path| depth < MAX_NESTED && is_folder(path));
    folders
        .flat_map(|path| match path.join("HEAD").symlink_metadata() {
            Ok(_) => [modules(&path.join("modules"), depth + 1), vec![path]].concat(),
            Err(_) => modules(&path, depth + 1),
        })
        .collect()
}

/// Returns the folder of git that a path lies in, if it does not exist.
fn missing_repository(path: &Path) -> Option<PathBuf> {
    let absent = path.ancestors().take_while(|part| part.symlink_metadata().is_err());
    absent.last().filter(|part| part.ends_with(".git")).map(Path::to_path_buf)
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
    // What covers a link would cover what it leads to.
    let paths = entries.filter_map(Result::ok).map(|entry| entry.path()).filter(|path| !path.is_symlink());
    paths.flat_map(|path| around(&path, kept)).collect()
}
