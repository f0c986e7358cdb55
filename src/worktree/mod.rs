//! Worktrees: a place of its own for each agent that is to work apart, so that agents do not meet in the same files.
//!
//! Owns their making, what is seen of their changes, and how they end: removed, merged or discarded. Leaves agents, panes
//! and permissions to others: it knows paths, names and git. Invariants: nothing of the user's is touched but by a merge,
//! and a merge writes either all of its files or none, over none that changed meanwhile; nothing that an agent did is
//! removed but by a merge or on demand, except files that are ignored; git runs no program of the repository's, and writes
//! through no link in it.
//!
//! Each has a repository of its own, which borrows the objects of the project's: what an agent does with branches, tags and
//! its stash stays there. In the project, one branch keeps the base, and gets the agent's commits when the agent has ended.
//!
//! A worktree begins with what the user sees: the last commit and, where files differ from it, a snapshot of them. What is
//! ignored is not in it. A merge joins three states, the base, the worktree and the project's files as they are, by git's
//! own rules, and leaves the result uncommitted.

mod acted;
mod branch;
mod carried;
mod changes;
mod error;
mod git;
mod merge;
mod orphans;
mod place;
mod scratch;
mod shared_clone;
mod snapshot;
mod state;

pub use acted::ActMark;
pub use carried::{CarriedFolder, ReceivedFolder, is_too_much};
pub use changes::{ChangedFile, WorktreeChangeKind, WorktreeChanges};
pub use error::WorktreeError;
pub use merge::{Conflict, Merged};
pub use orphans::{Orphan, Orphans};

use std::path::{Path, PathBuf};

use tokio::sync::{Mutex, MutexGuard};
use tokio_util::sync::CancellationToken;

use crate::git::Repository;
use crate::message::FolderState;
use crate::program::SearchPath;
use git::Git;
use place::{Claim, WorktreeRecord};
use snapshot::{Snapshot, Untracked, blocking};
use state::FilesState;

/// Begins the name of every branch.
const BRANCHES: &str = "belvedere";
/// The first version that merges without a working tree.
pub const OLDEST_GIT: (u32, u32) = (2, 38);
/// Files of the user's that git does not know and that are larger are left out: a copy of each would stay in the
/// repository.
const UNTRACKED_BYTES: u64 = 64 << 20;

#[derive(Debug)]
pub struct Worktrees {
    dir: PathBuf,
    session: String,
    /// Which git it is, if not the one on the `PATH`.
    program: Option<PathBuf>,
    /// Held during everything that changes a repository, so that only one thing at a time does.
    claim: Mutex<Option<Claim>>,
    /// What was packed last to be sent elsewhere, by its tree.
    packed: Mutex<Option<(String, FolderState)>>,
}

/// One worktree. As long as it is held, no other program takes it for an orphan.
#[derive(Debug, Clone)]
pub struct Worktree {
    pub name: String,
    /// Its root, absolute, with symlinks resolved.
    pub root: PathBuf,
    /// The folder in it that corresponds to the working directory it was made for.
    pub cwd: PathBuf,
    pub branch: String,
    /// The commit it began with: the last one of the repository, or a snapshot on top of it.
    pub base: String,
    /// Root of the files it came from and is merged into.
    pub repository: PathBuf,
    git_dir: PathBuf,
    claim: Claim,
}

/// What became of a worktree whose agent has ended.
#[derive(Debug, Clone, PartialEq)]
pub enum WorktreeEnd {
    /// There was nothing in it to keep.
    Removed,
    /// It stays until it is merged or discarded.
    Kept(WorktreeChanges),
}

impl Worktrees {
    /// Returns the worktrees of a session, which lie below `dir`: a folder of the project's in the state directory. Touches
    /// nothing.
    #[must_use]
    pub fn new(dir: PathBuf, session: &str) -> Self {
        Self { dir, session: session.to_owned(), program: None, claim: Mutex::default(), packed: Mutex::default() }
    }

    /// Returns the same worktrees, made by this git in place of the one on the `PATH`.
    #[must_use]
    pub fn with_program(mut self, program: PathBuf) -> Self {
        self.program = Some(program);
        self
    }

    /// Makes a worktree of the repository that `cwd` lies in, for an agent of this name. It holds what the working
    /// directory holds now, without what is ignored. Returns an error if there is no repository with a commit, if git
    /// is missing or too old, or if a disk fails. Nothing is left behind then.
    pub async fn create(&self, cwd: &Path, name: &str, cancel: &CancellationToken) -> Result<Worktree, WorktreeError> {
        let mut claim = self.claim.lock().await;
        let (found, inside) = Self::place_of(cwd).await?;
        self.check_version(&found, cancel).await?;
        let repository = found.top.clone();
        let git = self.git_on(found, cancel).await?;
        git.check_writes(None).await?;
        let head = git.call("finding the last commit").args(["rev-parse", "--verify", "-q", "HEAD^{commit}"]);
        let head = head.answer().await?;
        if head.code != Some(0) {
            return Err(WorktreeError::NoCommit { repository });
        }
        let head = String::from_utf8_lossy(&head.out).trim().to_owned();
        let claim = self.claimed(&mut claim).await?;
        if claim.folder.starts_with(&repository) {
            return Err(WorktreeError::Inside { folder: claim.folder });
        }
        let base = base_of(&git, &repository, &claim, head).await?;
        let taken = git.call("listing branches").args(["for-each-ref", "--format=%(refname)"]);
        let taken = taken.arg(format!("refs/heads/{BRANCHES}/{}/", claim.session())).run().await?;
        let taken = String::from_utf8_lossy(&taken).into_owned();
        let branch_of = |name: &str| format!("{BRANCHES}/{}/{name}", claim.session());
        let name = claim.free_name(name, |name| {
            !taken.lines().any(|line| line.strip_prefix("refs/heads/") == Some(&branch_of(name)))
        });
        let record = WorktreeRecord { repository, inside, branch: branch_of(&name), base, tip: None, git_dir: None };
        claim.keep(&name, &record)?;
        match check_out(&git, &claim, &name, record.clone()).await {
            Ok(worktree) => Ok(worktree),
            Err(error) => {
                let _ = self.undo(&claim, &name, &record).await;
                Err(error)
            }
        }
    }

    /// Lists what was done in a worktree: commits, changed files, new files. Returns an error if git or a disk fails,
    /// or if the worktree is gone.
    pub async fn changes(
        &self,
        worktree: &Worktree,
        cancel: &CancellationToken,
    ) -> Result<WorktreeChanges, WorktreeError> {
        let FilesState { snapshot, commits, .. } = FilesState::take(self, worktree, cancel).await?;
        let files = changes::between(&snapshot.git, &worktree.base, &snapshot.tree, &worktree.root).await?;
        Ok(WorktreeChanges { files, commits, nested: snapshot.nested })
    }

    /// Ends the work in a worktree whose agent has ended: removes it if nothing was done. Returns an error if git or a
    /// disk fails. The worktree is kept then.
    pub async fn settle(&self, worktree: &Worktree, cancel: &CancellationToken) -> Result<WorktreeEnd, WorktreeError> {
        let _one = self.claim.lock().await;
        let changes = self.changes(worktree, cancel).await?;
        if !changes.is_empty() {
            self.publish(worktree, cancel).await?;
            return Ok(WorktreeEnd::Kept(changes));
        }
        self.remove(worktree).await?;
        Ok(WorktreeEnd::Removed)
    }

    /// Removes a worktree and its branch with everything in them. Returns an error if git or a disk fails; what could
    /// be removed is removed then.
    pub async fn discard(&self, worktree: &Worktree) -> Result<(), WorktreeError> {
        let _one = self.claim.lock().await;
        self.remove(worktree).await
    }

    /// Returns the program, which is not looked for in the `untrusted` folders.
    fn program(&self, untrusted: &[&Path]) -> Result<PathBuf, WorktreeError> {
        let found = self.program.clone().or_else(|| SearchPath::of_process(untrusted).find("git"));
        found.ok_or(WorktreeError::NoGit)
    }

    /// Returns git on the repository with these files.
    async fn git_on(&self, repository: Repository, cancel: &CancellationToken) -> Result<Git, WorktreeError> {
        Git::on(&self.program(&repository.checkouts())?, repository, cancel).await
    }

    async fn check_version(&self, repository: &Repository, cancel: &CancellationToken) -> Result<(), WorktreeError> {
        let untrusted = repository.checkouts();
        let git = Git::alone(&self.program(&untrusted)?, &untrusted, &repository.top, cancel);
        let found = git.call("checking its version").arg("--version").line().await?;
        let mut numbers = found.split([' ', '.', '-']).filter_map(|part| part.parse::<u32>().ok());
        match (numbers.next(), numbers.next()) {
            (Some(major), Some(minor)) if (major, minor) >= OLDEST_GIT => Ok(()),
            _ => Err(WorktreeError::OldGit { found }),
        }
    }

    /// Returns the repository around `cwd`, and the way from its root to there.
    async fn place_of(cwd: &Path) -> Result<(Repository, PathBuf), WorktreeError> {
        let cwd = cwd.to_path_buf();
        blocking(move || {
            let real = cwd.canonicalize().map_err(WorktreeError::disk(&cwd, "found"))?;
            let Some(repository) = Repository::around(&real)? else {
                let is_bare = ["HEAD", "objects", "refs"].iter().all(|name| real.join(name).exists());
                return Err(if is_bare { WorktreeError::NoFiles { cwd } } else { WorktreeError::NoRepository { cwd } });
            };
            match real.strip_prefix(&repository.top) {
                Ok(inside) if !real.starts_with(&repository.git_dir) && !real.starts_with(&repository.common_dir) => {
                    let inside = inside.to_path_buf();
                    Ok((repository, inside))
                }
                _ => Err(WorktreeError::NoFiles { cwd }),
            }
        })
        .await
    }

    /// Returns the session's folder, which the first worktree makes.
    async fn claimed(&self, claim: &mut MutexGuard<'_, Option<Claim>>) -> Result<Claim, WorktreeError> {
        if let Some(claim) = claim.as_ref() {
            return Ok(claim.clone());
        }
        let (dir, session) = (self.dir.clone(), self.session.clone());
        let made = blocking(move || Claim::new(&dir, &session)).await?;
        **claim = Some(made.clone());
        Ok(made)
    }

    async fn remove(&self, worktree: &Worktree) -> Result<(), WorktreeError> {
        let record = worktree.claim.record(&worktree.name)?;
        self.undo(&worktree.claim, &worktree.name, &record).await
    }

    /// Removes a worktree, its branch and its record. A stop does not interrupt this.
    async fn undo(&self, claim: &Claim, name: &str, record: &WorktreeRecord) -> Result<(), WorktreeError> {
        let is_linked = claim.is_linked(name, record);
        self.remove_files(claim, name, record).await?;
        if let Some(git) = self.origin(&record.repository, &CancellationToken::new()).await? {
            if !is_linked {
                branch::remove(&git, record).await?;
            } else if commit_of(&git, &record.reference()).await?.is_some() {
                git.check_writes(Some(record.reference())).await?;
                let call = git.call("removing the branch").args(["branch", "-q", "-D", "--"]);
                call.arg(&record.branch).run().await?;
            }
        }
        claim.forget(name);
        Ok(())
    }

    /// Removes the files of a worktree, and what git knows of it.
    async fn remove_files(&self, claim: &Claim, name: &str, record: &WorktreeRecord) -> Result<(), WorktreeError> {
        let is_linked = claim.is_linked(name, record);
        let (root, clone) = (claim.root_of(name), claim.clone_of(name));
        let folder = root.clone();
        blocking(move || [folder, clone].iter().try_for_each(|folder| place::remove_folder(folder))).await?;
        let Some(git) = self.origin(&record.repository, &CancellationToken::new()).await?.filter(|_| is_linked) else {
            return Ok(());
        };
        git.check_writes(None).await?;
        // A single worktree is forgotten only once its folder is missing; pruning would take the user's own with it.
        let call = git.call("removing a worktree").args(["worktree", "remove", "--force", "--force", "--"]);
        let answer = call.arg(&root).answer().await?;
        let is_unknown =
            ["is not a working tree", "not a git repository"].iter().any(|said| answer.said.contains(said));
        if answer.code == Some(0) || is_unknown { Ok(()) } else { Err(answer.failed()) }
    }

    /// Returns git at the files a worktree came from, if they are still there.
    async fn origin(&self, repository: &Path, cancel: &CancellationToken) -> Result<Option<Git>, WorktreeError> {
        if !repository.is_dir() {
            return Ok(None);
        }
        let (repository, _) = Self::place_of(repository).await?;
        self.git_on(repository, cancel).await.map(Some)
    }
}

impl Worktree {
    /// Reads a worktree from its record; one that was never finished is none.
    fn of(claim: Claim, name: String, record: WorktreeRecord) -> Option<Self> {
        let root = claim.root_of(&name);
        Some(Self {
            cwd: plain_join(&root, &record.inside),
            git_dir: record.git_dir?,
            branch: record.branch,
            base: record.base,
            repository: record.repository,
            root,
            name,
            claim,
        })
    }

    fn reference(&self) -> String {
        format!("refs/heads/{}", self.branch)
    }

    /// Returns `true` if it has a repository of its own. Those of earlier versions were linked to the project's.
    fn has_clone(&self) -> bool {
        self.git_dir == self.claim.clone_of(&self.name)
    }
}

/// Makes a worktree, and keeps where git's folder for it is.
async fn check_out(git: &Git, claim: &Claim, name: &str, record: WorktreeRecord) -> Result<Worktree, WorktreeError> {
    branch::make(git, &record).await?;
    let git_dir = shared_clone::make(git, claim, name, &record).await?;
    let record = WorktreeRecord { git_dir: Some(git_dir), ..record };
    let (claim, name) = (claim.clone(), name.to_owned());
    blocking(move || {
        // An ignored or empty folder is not in the commit.
        let cwd = claim.root_of(&name).join(&record.inside);
        std::fs::create_dir_all(&cwd).map_err(WorktreeError::disk(&cwd, "created"))?;
        claim.keep(&name, &record)?;
        Worktree::of(claim, name, record).ok_or(WorktreeError::NoFiles { cwd })
    })
    .await
}

/// Returns the commit to begin with: the last one, or a snapshot of the files if they differ from it.
async fn base_of(git: &Git, repository: &Path, claim: &Claim, head: String) -> Result<String, WorktreeError> {
    let snapshot = Snapshot::take(git, repository, &claim.folder, Untracked::UpTo(UNTRACKED_BYTES)).await?;
    let tree = git.call("reading the last commit").args(["rev-parse", "HEAD^{tree}"]).line().await?;
    if tree == snapshot.tree { Ok(head) } else { snapshot.commit(&head).await }
}

/// Returns the id of the commit that a name stands for, if it stands for one.
async fn commit_of(git: &Git, name: &str) -> Result<Option<String>, WorktreeError> {
    let call = git.call("finding a commit").args(["rev-parse", "--verify", "-q"]);
    let answer = call.arg(format!("{name}^{{commit}}")).answer().await?;
    Ok((answer.code == Some(0)).then(|| String::from_utf8_lossy(&answer.out).trim().to_owned()))
}

/// Joins without leaving a slash at the end.
pub fn plain_join(root: &Path, inside: &Path) -> PathBuf {
    if inside.as_os_str().is_empty() { root.to_path_buf() } else { root.join(inside) }
}
