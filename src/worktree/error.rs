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
    #[error("a worktree needs git, which is not on the PATH: install it, or continue without `isolation: worktree`")]
    NoGit,
    /// The program cannot merge without a working tree.
    #[error(
        "a worktree needs git 2.38 or newer, and this is {found}: update it, or continue without `isolation: worktree`"
    )]
    OldGit { found: String },
    #[error(
        "{} is not in a git repository: run `git init` and commit, or continue without `isolation: worktree`",
        shown(cwd)
    )]
    NoRepository { cwd: PathBuf },
    /// The repository has no files at this place.
    #[error("{} holds no files of a repository (it is bare, or inside `.git`): work in a checkout of it", shown(cwd))]
    NoFiles { cwd: PathBuf },
    #[error("{} has no commit yet: make a first one, or continue without `isolation: worktree`", shown(repository))]
    NoCommit { repository: PathBuf },
    /// Worktrees would lie among the files of the project.
    #[error(
        "worktrees would lie in {}, inside the repository itself: point XDG_STATE_HOME to a folder outside",
        shown(folder)
    )]
    Inside { folder: PathBuf },
    #[error("{} is not Unicode: rename the folder to work there in worktrees", shown(path))]
    NotUnicode { path: PathBuf },
    #[error("{} cannot be {act}: {source}", shown(path))]
    Disk { path: PathBuf, act: &'static str, source: io::Error },
    /// The repository is not one that git is run on unseen.
    #[error("git is not run on this repository: {0}; fix that, or continue without `isolation: worktree`")]
    Refused(#[from] Refused),
    #[error("git failed at {act}: {said}")]
    Git { act: &'static str, said: String },
    #[error("git did not finish {act} within {seconds} s and was stopped: try again when the disk is less busy")]
    TimedOut { act: &'static str, seconds: u64 },
    #[error("stopped")]
    Cancelled,
    /// The files of the project changed while the merge was prepared, or files stand in its way.
    #[error(
        "nothing was merged, because it would overwrite files of the project ({said}): save or move them, and merge again"
    )]
    InTheWay { said: String },
    /// The merge broke off while files were written.
    #[error(
        "git stopped while it wrote files of the project ({said}); the worktree is kept. `git diff {before}` shows what was \
         written, `git restore --source={before} --worktree <files>` takes it back"
    )]
    Half {
        said: String,
        /// A commit of the project's files as they were before.
        before: String,
    },
    /// The worktree holds repositories of their own, whose content a merge would lose.
    #[error("{} hold repositories of their own, which cannot be merged: move what is needed by hand", listed(folders))]
    Nested { folders: Vec<PathBuf> },
    /// The worktree has moved off its branch.
    #[error(
        "the branch {branch} has commits that are not checked out in its worktree: run `git switch {branch}` there"
    )]
    OffBranch { branch: String },
    #[error("the worktree {} is gone; what was committed there is on the branch {branch}", shown(root))]
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
