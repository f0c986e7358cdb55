//! What the project is: the folder in which agents read without a question.
//!
//! Owns finding it, and the rule of git that a repository of another user is not worked in. Leaves what is free in it
//! to `permission`. Invariant: a home directory, the root of the disk and the folders above a home are never a project.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::{Environment, git};
use crate::permission::Owner;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectRoot {
    /// Root of the project, or the working directory where there is no project.
    pub root: PathBuf,
    pub is_project: bool,
    /// Folders with a `.git` of another user, which does not count.
    pub foreign: Vec<PathBuf>,
}

impl ProjectRoot {
    /// Finds the ground of `user` around `cwd`, an absolute path with links resolved: the nearest folder with a `.git` of
    /// the user's own (a folder, or the file of a worktree), else `cwd` itself.
    #[must_use]
    pub fn around(cwd: &Path, environment: &Environment, user: Owner) -> Self {
        let home = environment.home().map(|home| std::fs::canonicalize(&home).unwrap_or(home));
        let is_too_wide =
            |folder: &Path| folder.parent().is_none() || home.as_ref().is_some_and(|home| home.starts_with(folder));
        let mut foreign = Vec::new();
        let mut repository = None;
        for folder in cwd.ancestors().filter(|folder| folder.join(".git").exists()) {
            if is_too_wide(folder) {
                break;
            }
            if owns_repository(user, folder) {
                repository = Some(folder.to_path_buf());
                break;
            }
            foreign.push(folder.to_path_buf());
        }
        let is_project = repository.is_some() || !is_too_wide(cwd);
        Self { root: repository.unwrap_or_else(|| cwd.to_path_buf()), is_project, foreign }
    }

    /// Returns the folders from `cwd` up to the root, which is the last one.
    pub fn folders<'a>(&'a self, cwd: &'a Path) -> impl Iterator<Item = &'a Path> {
        let inside = cwd.ancestors().take_while(|folder| folder.starts_with(&self.root) && *folder != self.root);
        inside.chain([self.root.as_path()])
    }

    /// Says what the user should know of the ground before work begins.
    pub fn notices(&self) -> Vec<String> {
        let mut notices: Vec<String> = self
            .foreign
            .iter()
            .map(|folder| {
                format!(
                    "{} has a .git owned by another user; it is ignored. If you trust it, take ownership with chown.",
                    folder.display()
                )
            })
            .collect();
        if !self.is_project {
            notices.push(format!(
                "No project here ({} is a home, or holds one): everything asks. Start in the folder of a project.",
                self.root.display()
            ));
        }
        notices
    }
}

pub fn user(environment: &Environment) -> Owner {
    let sudo = environment.get("SUDO_UID").and_then(|uid| uid.parse().ok());
    Owner::new(nix::unistd::geteuid().as_raw(), sudo)
}

/// Returns `true` if git would work in the folder: it, its `.git` and the folder that a `.git` file names are the
/// user's.
fn owns_repository(user: Owner, folder: &Path) -> bool {
    let linked = git::linked_dir(folder);
    owns(user, folder) && owns(user, &folder.join(".git")) && linked.is_none_or(|dir| !dir.exists() || owns(user, &dir))
}

/// Returns `true` if the path is the user's: a link and what it leads to.
fn owns(user: Owner, path: &Path) -> bool {
    let link = path.symlink_metadata().is_ok_and(|facts| user.is(facts.uid()));
    link && path.metadata().is_ok_and(|facts| user.is(facts.uid()))
}
