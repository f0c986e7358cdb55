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
        let row = |kept: &KeptWorktree| {
            let acted_on = kept.acted_on().map(|names| format!("; other programs act on {names}"));
            format!("{}: {}, branch {}{}", kept.name, kept.size(), kept.branch, acted_on.unwrap_or_default())
        };
        let rows: Vec<String> = self.kept.iter().map(row).collect();
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
    /// Merges or discards a worktree. What is discarded is asked for twice, and so is writing what other programs act on.
    pub(super) fn worktree(&mut self, which: &str, act: WorktreeAct) {
        let Some(kept) = self.renderer.kept(which).cloned() else {
            self.notice(&format!("no unmerged worktree of {which}; see /worktrees"));
            return;
        };
        let branch = kept.branch.clone();
        let wanted = (act, branch.clone());
        let asked = self.asked_worktree.take().is_some_and(|(asked, until)| asked == wanted && Instant::now() <= until);
        let question = match act {
            WorktreeAct::Discard => Some(format!("/discard {which} again discards {}", kept.size())),
            WorktreeAct::Merge => {
                kept.acted_on().map(|names| format!("/merge {which} again merges what other programs act on: {names}"))
            }
        };
        if let Some(question) = question.filter(|_| !asked) {
            self.notice(&question);
            self.asked_worktree = Some((wanted, Instant::now() + RETYPED));
            return;
        }
        self.order(Command::Worktree { branch, act });
    }
}
