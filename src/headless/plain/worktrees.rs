//! What the lines say of worktrees.
//!
//! Owns which wait for the user, and what is done with them. Leaves the words for what happened to the event itself. Invariant: those of earlier runs
//! are told of once.

use tokio::time::Instant;

use super::renderer::LineRenderer;
use super::session::{RETYPED, Session};
use crate::agent::{KeptWorktree, WorktreeAct, WorktreeNews};
use crate::message::AgentId;
use crate::subagent::Command;

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

impl Session {
    /// Merges or discards a worktree. What is discarded is asked for twice.
    pub(super) fn worktree(&mut self, which: &str, act: WorktreeAct) {
        let Some((branch, size)) = self.renderer.kept(which).map(|kept| (kept.branch.clone(), kept.size())) else {
            self.notice(&format!("no unmerged worktree of {which}; see /worktrees"));
            return;
        };
        let asked = self.giving_up.take().is_some_and(|(asked, until)| asked == branch && Instant::now() <= until);
        if act == WorktreeAct::Discard && !asked {
            self.notice(&format!("/discard {which} again discards {size}"));
            self.giving_up = Some((branch, Instant::now() + RETYPED));
            return;
        }
        self.order(Command::Worktree { branch, act });
    }
}
