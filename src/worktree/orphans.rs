//! Worktrees of sessions whose program is gone: it crashed, or it ended with changes that nobody has merged or discarded.
//!
//! Owns finding them. Leaves offering them to the front ends; a found one is merged and discarded like any other.
//! Invariant: what holds changes is offered, or named with the reason why it cannot be; only what holds none is removed.

use std::path::PathBuf;

use tokio_util::sync::CancellationToken;

use super::place::{Claim, WorktreeRecord};
use super::snapshot::blocking;
use super::{Worktree, WorktreeChanges, WorktreeError, Worktrees, commit_of};

/// What earlier sessions left.
#[derive(Debug, Default)]
pub struct Orphans {
    pub found: Vec<Orphan>,
    /// Places that could not be looked into, and why.
    pub errors: Vec<(PathBuf, WorktreeError)>,
}

/// A worktree that nobody works in any more.
#[derive(Debug)]
pub struct Orphan {
    pub session: String,
    /// The worktree. As long as it is held, no other program finds it.
    pub worktree: Worktree,
    pub changes: WorktreeChanges,
}

impl Worktrees {
    /// Finds what earlier sessions of this project left, and removes what holds no changes.
    pub async fn orphans(&self, cancel: &CancellationToken) -> Orphans {
        let _one = self.claim.lock().await;
        let mut orphans = Orphans::default();
        let dir = self.dir.clone();
        let claims = blocking(move || {
            let Ok(dir) = dir.canonicalize() else { return Ok(Vec::new()) };
            let held = |name: String| (dir.join(&name), Claim::held(&dir, &name));
            Ok(Claim::sessions(&dir).into_iter().map(held).collect())
        });
        for (folder, claim) in claims.await.unwrap_or_default() {
            match claim {
                Ok(None) => {}
                Ok(Some(claim)) => self.look_into(claim, &mut orphans, cancel).await,
                Err(error) => orphans.errors.push((folder, error)),
            }
        }
        orphans
    }

    async fn look_into(&self, claim: Claim, orphans: &mut Orphans, cancel: &CancellationToken) {
        for name in claim.worktrees() {
            match self.judge(&claim, &name, cancel).await {
                Ok(None) => {}
                Ok(Some((worktree, changes))) => {
                    orphans.found.push(Orphan { session: claim.session(), worktree, changes });
                }
                Err(error) => orphans.errors.push((claim.root_of(&name), error)),
            }
        }
        let _ = blocking(move || {
            claim.clear();
            Ok(())
        })
        .await;
    }

    /// Returns a worktree with what was done in it; one in which nothing was done is removed.
    async fn judge(
        &self,
        claim: &Claim,
        name: &str,
        cancel: &CancellationToken,
    ) -> Result<Option<(Worktree, WorktreeChanges)>, WorktreeError> {
        let record = claim.record(name)?;
        if !claim.root_of(name).is_dir() {
            return self.forget(claim, name, &record, cancel).await.map(|()| None);
        }
        let Some(worktree) = Worktree::of(claim.clone(), name.to_owned(), record.clone()) else {
            // It was never handed to an agent.
            return self.undo(claim, name, &record).await.map(|()| None);
        };
        let changes = self.changes(&worktree, cancel).await?;
        if changes.is_empty() {
            return self.undo(claim, name, &record).await.map(|()| None);
        }
        if let Err(error) = self.publish(&worktree, cancel).await {
            // Its files can be merged all the same.
            tracing::warn!(branch = worktree.branch, "the commits in a worktree cannot be taken over: {error}");
        }
        Ok(Some((worktree, changes)))
    }

    /// Cleans up after a worktree whose folder is gone. A branch with commits stays.
    async fn forget(
        &self,
        claim: &Claim,
        name: &str,
        record: &WorktreeRecord,
        cancel: &CancellationToken,
    ) -> Result<(), WorktreeError> {
        if let Some(worktree) = Worktree::of(claim.clone(), name.to_owned(), record.clone())
            && claim.clone_of(name).is_dir()
        {
            self.publish(&worktree, cancel).await?;
        }
        let tip = match self.origin(&record.repository, cancel).await? {
            Some(git) => commit_of(&git, &record.reference()).await?,
            None => None,
        };
        if tip.is_none_or(|tip| tip == record.base) {
            return self.undo(claim, name, record).await;
        }
        self.remove_files(claim, name, record).await?;
        claim.forget(name);
        Ok(())
    }
}
