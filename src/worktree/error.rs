//! What can go wrong with a worktree, in words that say what to do.
//!
//! Invariant: text of git's is made safe to show before it gets in here.

use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};

use crate::git::Refused;
use crate::message::sanitize_line;

/// Most paths an error names.
const NAMED: usize = 5;

/// Something about a worktree did not work. Unless it says otherwise, nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum WorktreeError {
    #[error("worktrees need git, which is not on PATH: install git, or continue without `isolation: worktree`")]
    NoGit,
    /// The program cannot merge without a working tree.
    #[error("worktrees need git 2.38 or newer; this is {found}: update git, or continue without `isolation: worktree`")]
    OldGit { found: String },
    #[error(
        "{} is not in a git repository: run `git init` and commit, or continue without `isolation: worktree`",
        shown(cwd)
    )]
    NoRepository { cwd: PathBuf },
    /// The repository has no files at this place.
    #[error("{} has no working tree (bare, or inside `.git`): work in a checkout", shown(cwd))]
    NoFiles { cwd: PathBuf },
    #[error("{} has no commits yet: make one, or continue without `isolation: worktree`", shown(repository))]
    NoCommit { repository: PathBuf },
    /// Worktrees would lie among the files of the project.
    #[error(
        "worktrees would end up in {}, inside the repository: set XDG_STATE_HOME to a folder outside",
        shown(folder)
    )]
    Inside { folder: PathBuf },
    #[error("{} is not valid Unicode: rename the folder to use worktrees", shown(path))]
    NotUnicode { path: PathBuf },
    #[error("{} cannot be {act}: {source}", shown(path))]
    Disk { path: PathBuf, act: &'static str, source: io::Error },
    /// The repository is not one that git is run on unseen.
    #[error("git cannot run safely in this repository: {0}; fix that, or continue without `isolation: worktree`")]
    Refused(#[from] Refused),
    #[error("git failed while {act}: {said}")]
    Git { act: &'static str, said: String },
    #[error("git did not finish {act} within {seconds} s and was stopped: try again when the disk is less busy")]
    TimedOut { act: &'static str, seconds: u64 },
    #[error("stopped")]
    Cancelled,
    /// The files of the project changed while the merge was prepared, or files stand in its way.
    #[error(
        "nothing was merged: files of the project would be overwritten ({said}); commit or move them, then merge again"
    )]
    InTheWay { said: String },
    /// The merge broke off while files were written.
    #[error(
        "git stopped while writing files of the project ({said}); the worktree is kept. `git diff {before}` shows \
         what was written; `git restore --source={before} --worktree <files>` undoes it"
    )]
    Half {
        said: String,
        /// A commit of the project's files as they were before.
        before: String,
    },
    /// The worktree holds repositories of their own, whose content a merge would lose.
    #[error("nested git repositories cannot be merged ({}): copy what you need by hand", listed(folders))]
    Nested { folders: Vec<PathBuf> },
    /// Files that other programs act on, of which the user does not know yet.
    #[error("nothing was merged: other programs act on {}; look at /worktrees, and merge again", listed(files))]
    Unasked { files: Vec<PathBuf> },
    /// The worktree has moved off its branch.
    #[error(
        "the branch {branch} has commits that are not checked out in its worktree: run `git switch {branch}` there"
    )]
    OffBranch { branch: String },
    /// What another machine has sent.
    #[error("the files that came from the other side cannot be used: {0}")]
    Unsound(String),
    #[error("the worktree {} is gone; its commits are on the branch {branch}", shown(root))]
    Gone { root: PathBuf, branch: String },
}

impl WorktreeError {
    /// Returns what the disk said about a path.
    pub(super) fn disk(path: &Path, act: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Disk { path: path.to_path_buf(), act, source }
    }
}

fn shown(path: &Path) -> String {
    sanitize_line(&path.to_string_lossy()).into_owned()
}

fn listed(paths: &[PathBuf]) -> String {
    let mut text = paths.iter().take(NAMED).map(|path| shown(path)).collect::<Vec<_>>().join(", ");
    if paths.len() > NAMED {
        let _ = write!(text, " and {} more", paths.len() - NAMED);
    }
    text
}
