//! The branch of a worktree in the project: it keeps the base from being collected, and shows the user an agent's commits.
//!
//! Owns when it is made, moved and removed. Leaves the branches of the worktree's own repository to its agent. Invariants:
//! only our own git writes it, and through no link; a branch that the user has moved or checked out is theirs.

use tokio_util::sync::CancellationToken;

use super::git::Git;
use super::place::{Claim, WorktreeRecord};
use super::shared_clone::{reader, take_over};
use super::{Worktree, WorktreeError, Worktrees, commit_of};

/// Makes the branch, which must not exist.
pub(super) async fn make(git: &Git, record: &WorktreeRecord) -> Result<(), WorktreeError> {
    let reference = record.reference();
    git.check_writes(Some(reference.clone())).await?;
    git.call("making a branch").args(["update-ref", &reference, &record.base, ""]).run().await.map(drop)
}

/// Returns the commit that the branch is at, if it is where we have left it and nobody works on it.
async fn ours(git: &Git, record: &WorktreeRecord) -> Result<Option<String>, WorktreeError> {
    let reference = record.reference();
    let Some(tip) = commit_of(git, &reference).await? else { return Ok(None) };
    let head = git.call("finding the branch").args(["symbolic-ref", "-q", "HEAD"]).answer().await?;
    let is_head = head.out.trim_ascii_end() == reference.as_bytes();
    let is_ours = tip == record.base || Some(&tip) == record.tip.as_ref();
    Ok((is_ours && !is_head && !git.is_checked_out(reference).await?).then_some(tip))
}

/// Removes the branch, unless it is the user's by now.
pub(super) async fn remove(git: &Git, record: &WorktreeRecord) -> Result<(), WorktreeError> {
    let Some(tip) = ours(git, record).await? else { return Ok(()) };
    let reference = record.reference();
    git.check_writes(Some(reference.clone())).await?;
    git.call("removing the branch").args(["update-ref", "-d", &reference, &tip]).run().await.map(drop)
}

impl Worktrees {
    /// Brings the branch in the project to the commits that were made in a worktree. Returns an error if they cannot be
    /// taken over; the branch is then as it was.
    pub(super) async fn publish(&self, worktree: &Worktree, cancel: &CancellationToken) -> Result<(), WorktreeError> {
        let Some(git) = self.origin(&worktree.repository, cancel).await?.filter(|_| worktree.has_clone()) else {
            return Ok(());
        };
        let claim: &Claim = &worktree.claim;
        let record = claim.record(&worktree.name)?;
        let own = reader(&git, worktree).await?;
        let (Some(tip), Some(old)) = (commit_of(&own, &worktree.reference()).await?, ours(&git, &record).await?) else {
            return Ok(());
        };
        if tip == old {
            return Ok(());
        }
        take_over(&git, &own, &tip, worktree).await?;
        let reference = worktree.reference();
        git.check_writes(Some(reference.clone())).await?;
        git.call("moving the branch").args(["update-ref", &reference, &tip, &old]).run().await?;
        claim.keep(&worktree.name, &WorktreeRecord { tip: Some(tip), ..record })
    }
}
