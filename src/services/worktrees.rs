//! Worktrees of a session: where they lie, and the look at what earlier runs have left.
//!
//! Leaves making and merging to the tree. Invariants: the look begins only once the first frame is drawn, and nobody waits
//! for it; a demonstration, a run without a state directory and a
//! run without a project have no worktrees.

use std::sync::Arc;

use tokio::task::JoinHandle;

use super::{FrontEnd, SessionKind, dir_name};
use crate::config::{Paths, ProjectRoot};
use crate::session::{Store, project_dir};
use crate::subagent::Tree;
use crate::worktree::Worktrees;

pub(super) fn of_session(
    paths: Option<&Paths>,
    store: Option<&Store>,
    kind: SessionKind,
    ground: &ProjectRoot,
) -> Option<Arc<Worktrees>> {
    let (paths, store) = paths.filter(|_| kind == SessionKind::Live && ground.is_project).zip(store)?;
    let dir = project_dir(&paths.state_dir, &ground.root).join("worktrees");
    Some(Arc::new(Worktrees::new(dir, &dir_name(store.dir()))))
}

/// Looks for what earlier runs have left, where someone can do something about it.
pub(super) fn look(tree: &Tree, front: FrontEnd) -> Option<AbortOnDrop> {
    let tree = tree.clone();
    (!front.is_for_programs()).then(|| AbortOnDrop(tokio::spawn(async move { tree.find_orphans().await })))
}

#[derive(Debug)]
pub(super) struct AbortOnDrop(pub(super) JoinHandle<()>);

impl AbortOnDrop {
    /// Ends the task; what it held is gone then.
    pub(super) async fn end(mut self) {
        self.0.abort();
        let _ = (&mut self.0).await;
    }
}

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}
