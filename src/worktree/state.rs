//! What the files of a worktree are, told by nothing that its agent could have written but the files.
//!
//! Owns the look at them: against an index of ours, which was kept when the worktree was made, with the project's ignored
//! names and attributes, into objects of the moment. Of the agent's index, only the list of names counts: what it has added
//! though it is ignored belongs to the state, and what it has removed from there and is ignored does not. Invariant: neither
//! the project's repository nor the agent's is written.

use std::collections::BTreeSet;
use std::path::Path;

use tokio_util::sync::CancellationToken;

use super::git::Git;
use super::scratch::ScratchObjects;
use super::shared_clone::{count_commits, reader};
use super::snapshot::{Snapshot, Untracked, blocking, copy_with_time, path_of};
use super::{Worktree, WorktreeError, Worktrees};

#[derive(Debug)]
pub(super) struct FilesState {
    pub(super) snapshot: Snapshot,
    pub(super) commits: usize,
    /// Holds what is in the state and not in the project.
    pub(super) objects: ScratchObjects,
    /// git at the repository that its agent has to itself.
    pub(super) own: Git,
}

impl FilesState {
    /// Takes the state of a worktree, and counts the commits made in it.
    pub(super) async fn take(
        worktrees: &Worktrees,
        worktree: &Worktree,
        cancel: &CancellationToken,
    ) -> Result<Self, WorktreeError> {
        let Worktree { root, branch, repository, claim, .. } = worktree;
        if !root.is_dir() {
            return Err(WorktreeError::Gone { root: root.clone(), branch: branch.clone() });
        }
        let missing = || WorktreeError::disk(repository, "found")(std::io::ErrorKind::NotFound.into());
        let git = worktrees.origin(repository, cancel).await?.ok_or_else(missing)?;
        let own = reader(&git, worktree).await?;
        let commits = count_commits(&git, &own, worktree).await?;
        let (folder, store) = (claim.folder.clone(), git.repository()?.common_dir.join("objects"));
        let objects = blocking(move || ScratchObjects::new(&folder, &store)).await?;
        let view = git.with_files(root).with_objects(&objects).with_index(&objects.index());
        begin_index(&view, worktree, &objects).await?;
        follow_names(&view, &own, root).await?;
        let snapshot = Snapshot::take(&view, root, &claim.folder, Untracked::All).await?;
        Ok(Self { snapshot, commits, objects, own })
    }
}

/// Puts the index that was kept to the objects. Without one, it is made of the base, and every file is read.
async fn begin_index(view: &Git, worktree: &Worktree, objects: &ScratchObjects) -> Result<(), WorktreeError> {
    let (kept, index) = (worktree.claim.index_of(&worktree.name), objects.index());
    let is_kept =
        blocking(move || if kept.is_file() { copy_with_time(&kept, &index).map(|()| true) } else { Ok(false) });
    if !is_kept.await? {
        view.call("reading the base").args(["read-tree", &worktree.base]).run().await?;
    }
    Ok(())
}

/// Brings the names in our index to those in the agent's.
async fn follow_names(view: &Git, own: &Git, root: &Path) -> Result<(), WorktreeError> {
    let theirs = names(own).await?;
    // An index that is gone says nothing.
    if theirs.is_empty() {
        return Ok(());
    }
    let ours = names(view).await?;
    let root = root.to_path_buf();
    let (gone, new) = blocking(move || {
        let gone: Vec<Vec<u8>> = ours.difference(&theirs).cloned().collect();
        let new = theirs.difference(&ours).filter(|path| is_plain_file(&root, &path_of(path))).cloned();
        Ok((gone, new.collect::<Vec<_>>()))
    })
    .await?;
    for (option, paths) in [("--force-remove", gone), ("--add", new)] {
        if !paths.is_empty() {
            let call = view.call("taking a snapshot").args(["update-index", option, "-z", "--stdin"]);
            call.input(paths.join(&0)).run().await?;
        }
    }
    Ok(())
}

async fn names(git: &Git) -> Result<BTreeSet<Vec<u8>>, WorktreeError> {
    let listing = git.call("listing files").args(["ls-files", "-z"]).run().await?;
    Ok(listing.split(|byte| *byte == 0).filter(|path| !path.is_empty()).map(<[u8]>::to_vec).collect())
}

/// Returns `true` if a file or a link lies there, and no link is on the way.
fn is_plain_file(root: &Path, path: &Path) -> bool {
    let is_folder = |path: &Path| root.join(path).symlink_metadata().is_ok_and(|facts| facts.is_dir());
    let is_file = root.join(path).symlink_metadata().is_ok_and(|facts| facts.is_file() || facts.is_symlink());
    is_file && path.ancestors().skip(1).filter(|folder| !folder.as_os_str().is_empty()).all(is_folder)
}
