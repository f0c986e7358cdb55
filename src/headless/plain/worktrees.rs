//! What the lines say of worktrees.
//!
//! Owns which wait for the user. Leaves the words for what happened to the event itself. Invariant: those of earlier runs
//! are told of once.

use super::renderer::LineRenderer;
use crate::agent::{KeptWorktree, WorktreeNews};
use crate::message::AgentId;

impl LineRenderer {
    /// Finds a worktree that waits by its agent's number or name, or by its branch.
    pub(super) fn kept(&self, wanted: &str) -> Option<&KeptWorktree> {
        self.kept.iter().find(|kept| {
            kept.agent.is_some_and(|agent| wanted.parse() == Ok(agent.0))
                || kept.name == wanted
                || kept.branch == wanted
        })
    }

    pub(super) fn worktrees(&mut self) -> Vec<String> {
        let rows: Vec<String> =
            self.kept.iter().map(|kept| format!("{}: {}, branch {}", kept.name, kept.size(), kept.branch)).collect();
        if rows.is_empty() {
            return self.notice("no unmerged worktrees");
        }
        rows.iter().flat_map(|row| self.notice(row)).collect()
    }

    pub(super) fn worktrees_changed(&mut self, kept: &[KeptWorktree]) -> Vec<String> {
        let orphans = |list: &[KeptWorktree]| list.iter().filter(|kept| kept.agent.is_none()).count();
        let (before, found) = (orphans(&self.kept), orphans(kept));
        self.kept = kept.to_vec();
        if found <= before {
            return Vec::new();
        }
        self.notice(&format!("unmerged worktrees from earlier runs: {found}; see /worktrees"))
    }

    pub(super) fn worktree_news(&mut self, id: AgentId, news: &WorktreeNews) -> Vec<String> {
        if let Some(branch) = news.settled_branch() {
            self.kept.retain(|kept| kept.branch != branch);
        }
        news.words().iter().flat_map(|line| self.of(id, line)).collect()
    }
}
