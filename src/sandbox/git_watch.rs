//! The repositories in the folders that commands in the sandbox may write, and what commands leave in them.
//!
//! A name that git obeys can be protected; but git also writes through links, obeys steps that it has kept, and takes any
//! folder of the right shape for its own. So the state of each repository is noted before a command begins, and looked at
//! again while it runs and when it has ended. Owns which repositories there are and what does not belong there. Leaves what
//! is odd in one to `git_folder`, and moving it to `watch`. Invariants: what was there before the first of the commands that
//! run is the user's and stays; a repository that a command has made is left only if it does nothing but keep files.
//! Everything here blocks.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::evict::{VacantPlace, replace};
use super::folder_tree::FolderTree;
use super::git_folder::{Depth, GitFolder, Stranger, is_git_shape};
use super::{Intrusion, IntrusionFate};
use crate::nofollow::put_file;

/// Repositories that are kept in mind.
const MAX_REPOSITORIES: usize = 2_000;
/// Folders of git's that are listened to.
const MAX_HEARD: usize = 2_048;
/// Bytes of the file that names a folder of git's.
const MAX_POINTER: usize = 4 << 10;

/// Whose a repository is.
#[derive(Debug)]
enum Standing {
    /// The user's, as it was when no command ran.
    Users(GitFolder),
    /// A command's.
    New,
}

/// What is to be moved, and what is to lie there instead.
#[derive(Debug)]
pub(super) struct Misplaced {
    /// The repository, beside which it is moved.
    pub(super) place: VacantPlace,
    pub(super) path: PathBuf,
    pub(super) instead: Option<(Vec<u8>, u32)>,
    /// Whether it cannot be told what lies there.
    pub(super) is_unseen: bool,
}

impl Misplaced {
    /// Moves it aside, and puts what was there before in its place.
    pub(super) fn evict(self) -> Intrusion {
        if self.is_unseen {
            return Intrusion { path: self.path, fate: IntrusionFate::Unseen };
        }
        if let Some((content, rights)) = &self.instead
            && let Ok(to) = replace(&self.path, &self.place.path, (content, *rights))
        {
            let is_of_steps = self.path.ends_with("git-rebase-todo");
            let fate = if is_of_steps { IntrusionFate::Disarmed(to) } else { IntrusionFate::Replaced(to) };
            return Intrusion { path: self.path, fate };
        }
        let moved = self.place.evict(&self.path);
        let IntrusionFate::Moved(to) = &moved.fate else { return moved };
        if to.is_dir() && self.path == self.place.path {
            // Whoever looks at it there must not find a repository. Where this fails, the next look finds it anew.
            let _ = std::fs::rename(to.join("HEAD"), to.join("HEAD.blocked"));
        }
        // A link, say, has no other name.
        let is_back = self.instead.is_some_and(|(content, rights)| put_file(&self.path, &content, rights).is_ok());
        let fate = if is_back { IntrusionFate::Replaced(to.clone()) } else { moved.fate };
        Intrusion { path: moved.path, fate }
    }
}

#[derive(Debug, Default)]
pub(super) struct GitWatch {
    trees: BTreeMap<PathBuf, FolderTree>,
    /// By git's folder, or by the file that names it.
    repositories: BTreeMap<PathBuf, Standing>,
}

impl GitWatch {
    /// Notes what is there before a command begins that may write in these folders. While others run, what has come may be
    /// theirs, but for what lies in a folder that none of them could write in, as the worktree of another agent.
    pub(super) fn begin(&mut self, tops: &[PathBuf], is_idle: bool) {
        let is_open = |top: &PathBuf| self.trees.keys().any(|known| top.starts_with(known));
        let closed: Vec<PathBuf> = tops.iter().filter(|top| !is_open(top)).cloned().collect();
        for top in tops {
            self.trees.entry(top.clone()).or_default();
        }
        self.refresh();
        for (path, standing) in &mut self.repositories {
            if is_idle || closed.iter().any(|top| path.starts_with(top)) {
                *standing = Standing::Users(GitFolder::survey(path, Depth::Whole));
            }
        }
    }

    /// Finds the repositories that have come since.
    fn refresh(&mut self) {
        let mut found = BTreeSet::new();
        for (top, tree) in &mut self.trees {
            tree.refresh(top, |folder, names| {
                let has = |name: &OsStr| names.iter().any(|other| other == name);
                if has(OsStr::new(".git")) {
                    found.insert(folder.join(".git"));
                }
                let is_git = is_git_shape(has);
                if is_git {
                    found.insert(folder.to_path_buf());
                }
                // What lies in the project beside such a shape is looked at, too.
                !is_git || folder == top
            });
        }
        self.repositories.retain(|path, _| path.symlink_metadata().is_ok());
        for path in found {
            if self.repositories.len() < MAX_REPOSITORIES {
                self.repositories.entry(path).or_insert(Standing::New);
            }
        }
    }

    /// Returns what does not belong where it lies. A whole look also finds new repositories.
    pub(super) fn misplaced(&mut self, depth: Depth) -> Vec<Misplaced> {
        if depth == Depth::Whole {
            self.refresh();
        }
        let mut all = Vec::new();
        for (path, standing) in &self.repositories {
            if depth == Depth::Passing && !self.is_main(path) {
                continue;
            }
            match standing {
                Standing::Users(before) => self.add_strangers(path, before, depth, &mut all),
                Standing::New if self.is_harmless(path) => {}
                Standing::New => all.extend(self.whole(path)),
            }
        }
        all
    }

    fn add_strangers(&self, folder: &Path, before: &GitFolder, depth: Depth, all: &mut Vec<Misplaced>) {
        let now = GitFolder::survey(folder, depth);
        let place = || self.place(folder);
        if now.has_outgrown(before) {
            all.push(Misplaced { place: place(), path: folder.to_path_buf(), instead: None, is_unseen: true });
        }
        for Stranger { path, instead } in now.strangers(before) {
            all.push(Misplaced { place: place(), path: folder.join(path), instead, is_unseen: false });
        }
    }

    /// Returns `true` for the repository of a folder that commands may write in, and for such a folder that is one itself.
    fn is_main(&self, path: &Path) -> bool {
        self.trees.contains_key(path) || path.parent().is_some_and(|above| self.trees.contains_key(above))
    }

    /// Returns the place beside which something is moved that lies in a folder of git's.
    fn place(&self, folder: &Path) -> VacantPlace {
        let tops = self.trees.keys().filter(|top| folder.starts_with(top));
        let top = tops.max_by_key(|top| top.components().count()).cloned();
        let above = || folder.parent().unwrap_or(folder).to_path_buf();
        VacantPlace {
            path: folder.to_path_buf(),
            link: None,
            top: top.filter(|top| top != folder).unwrap_or_else(above),
        }
    }

    /// Returns `true` if what a command has made there does nothing but keep files.
    fn is_harmless(&self, path: &Path) -> bool {
        let Ok(facts) = path.symlink_metadata() else { return true };
        if facts.is_dir() {
            return GitFolder::survey(path, Depth::Whole).is_plain();
        }
        // One that is being written names nothing yet, and git refuses it.
        let is_empty = facts.is_file() && facts.len() == 0;
        is_empty || facts.is_file() && Self::named_by(path).is_some_and(|folder| self.is_looked_at(&folder))
    }

    /// Returns `true` for the `.git` of a repository in another one that does nothing but keep files. At the top of a folder that
    /// commands may write in, one is no such thing.
    pub(super) fn is_submodule(&self, path: &Path) -> bool {
        path.ends_with(".git")
            && !path.parent().is_some_and(|above| self.trees.contains_key(above))
            && path.symlink_metadata().is_ok()
            && self.is_harmless(path)
    }

    /// Returns the folder that a `.git` file names.
    fn named_by(pointer: &Path) -> Option<PathBuf> {
        let text = super::git_folder::read(pointer).ok()?.0;
        let text = String::from_utf8(text).ok().filter(|text| text.len() <= MAX_POINTER)?;
        pointer.parent()?.join(text.strip_prefix("gitdir:")?.trim()).canonicalize().ok()
    }

    /// Returns `true` for a folder that is looked at whenever a command has ended: that of a linked worktree, a submodule, or a
    /// repository that a command has made.
    fn is_looked_at(&self, folder: &Path) -> bool {
        self.repositories.iter().any(|(path, standing)| match folder.strip_prefix(path) {
            Ok(below) if below.as_os_str().is_empty() => matches!(standing, Standing::New),
            Ok(below) => below.starts_with("worktrees") || below.starts_with("modules"),
            Err(_) => false,
        })
    }

    /// Returns what makes a repository of a place: all of `.git`, or of a folder with its shape what came to it last.
    fn whole(&self, path: &Path) -> Option<Misplaced> {
        use std::os::unix::fs::MetadataExt as _;
        if path.ends_with(".git") {
            let place = VacantPlace { path: path.to_path_buf(), link: None, top: self.place(path).top };
            return Some(Misplaced { place, path: path.to_path_buf(), instead: None, is_unseen: false });
        }
        let parts = ["HEAD", "objects", "refs", "commondir"].map(|name| path.join(name)).into_iter();
        let times = parts.filter_map(|part| {
            let facts = part.symlink_metadata().ok()?;
            Some(((facts.ctime(), facts.ctime_nsec()), part))
        });
        let (_, part) = times.max()?;
        let place = VacantPlace { path: part.clone(), link: None, top: path.to_path_buf() };
        Some(Misplaced { place, path: part, instead: None, is_unseen: false })
    }

    /// Returns the folders in which something new matters at once, and the files that matter when they change.
    pub(super) fn heard(&self) -> (Vec<PathBuf>, Vec<PathBuf>) {
        let main = || self.repositories.keys().filter(|path| self.is_main(path) && path.is_dir());
        let mut folders: Vec<PathBuf> = main().cloned().collect();
        let mut at = 0;
        while let Some(folder) = folders.get(at).cloned() {
            at += 1;
            // Of the many folders of objects, only their own names matter.
            if folders.len() >= MAX_HEARD || folder.ends_with("objects") {
                continue;
            }
            let entries = folder.read_dir().into_iter().flatten().filter_map(Result::ok);
            let below = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
            folders.extend(below.map(|entry| entry.path()).filter(|path| !path.ends_with("lfs")));
        }
        folders.truncate(MAX_HEARD);
        (folders, main().flat_map(|path| ["config", "config.worktree"].map(|name| path.join(name))).collect())
    }

    /// Notes that a repository is the user's as it is now.
    pub(super) fn adopt(&mut self, folder: &Path) {
        let standing = Standing::Users(GitFolder::survey(folder, Depth::Whole));
        self.repositories.insert(folder.to_path_buf(), standing);
    }

    /// Notes that a file is now as one of our own tools has left it.
    pub(super) fn accept(&mut self, path: &Path) {
        for (folder, standing) in &mut self.repositories {
            if let (Standing::Users(before), Ok(below)) = (standing, path.strip_prefix(folder)) {
                before.accept(below, GitFolder::survey(folder, Depth::Whole));
            }
        }
    }

    /// Forgets what was noted, when no command runs any more. Which folders there are is worth keeping.
    pub(super) fn end(&mut self) {
        self.repositories.values_mut().for_each(|standing| *standing = Standing::New);
    }
}
