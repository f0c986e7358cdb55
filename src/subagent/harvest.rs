//! What becomes of a worktree once its agent has ended: removed, kept, merged or discarded.
//!
//! Owns the order of these acts, and who is told. Leaves git to `worktree` and the making to `isolation`. Invariants:
//! what an agent did goes only at the user's word; nothing is merged or discarded while anyone works in it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::isolation::Plot;
use super::tree::Tree;
use crate::agent::{Author, EventKind, KeptFile, KeptWorktree, Letter, Urgency, WorktreeAct, WorktreeNews};
use crate::message::{AgentId, plain_line};
use crate::worktree::{Merged, Settled, Worktree};

/// How long those below an agent that has ended may take to end.
const BELOW: Duration = Duration::from_secs(5);
/// How long the look at what earlier runs have left may take.
const LOOKING: Duration = Duration::from_secs(60);
/// Files that a report, or a message, names.
const NAMED: usize = 40;

impl Tree {
    /// Returns what the paths of an agent's report are relative to.
    pub(super) fn project_of(&self, agent: AgentId) -> PathBuf {
        match self.yard().of(agent) {
            Some(plot) => plot.worktree.root.clone(),
            None => self.setup().place.project.as_ref().clone(),
        }
    }

    /// Settles the worktree of an agent that has ended. Returns what its report says of it.
    pub(super) async fn settle_in(&self, agent: AgentId) -> Option<String> {
        let yard = self.yard();
        let plot = yard.of(agent)?;
        let worktrees = yard.worktrees.clone()?;
        let branch = plot.worktree.branch.clone();
        let _ = timeout(BELOW, self.left_by_others(&plot)).await;
        let one = yard.gate.lock().await;
        // A stop of the agent is no reason to leave its work unseen.
        let settled = worktrees.settle(&plot.worktree, &CancellationToken::new()).await;
        drop(one);
        match settled {
            Ok(Settled::Removed) => {
                yard.plots().remove(&branch);
                self.tell_of(Some(agent), WorktreeNews::Removed).await;
                Some("worktree: removed, nothing was changed in it".to_owned())
            }
            Ok(Settled::Kept(changes)) => {
                let done = KeptWorktree::files_of(changes);
                let kept = self.keep(&branch, done)?;
                let names: Vec<&str> = kept.files.iter().map(|file| file.name.as_str()).collect();
                let text = format!(
                    "worktree: branch {branch} ({}), not merged; the user decides\nworktree files: {}",
                    kept.size(),
                    listed(&names)
                );
                self.tell_of(Some(agent), WorktreeNews::Kept(kept)).await;
                self.tell_kept().await;
                Some(text)
            }
            Err(fault) => {
                let reason = format!("{fault}; it is kept at {}", plot.worktree.root.display());
                self.keep(&branch, (Vec::new(), 0));
                let text = format!("worktree: branch {branch}, kept; {reason}");
                self.tell_of(Some(agent), WorktreeNews::Refused { branch, reason }).await;
                self.tell_kept().await;
                Some(text)
            }
        }
    }

    fn keep(&self, branch: &str, done: (Vec<KeptFile>, usize)) -> Option<KeptWorktree> {
        let mut plots = self.yard().plots();
        let plot = plots.get_mut(branch)?;
        plot.done = Some(done);
        plot.kept()
    }

    /// Waits until nobody but its own agent works in a worktree.
    async fn left_by_others(&self, plot: &Plot) {
        loop {
            let mut ended = std::pin::pin!(self.ended().notified());
            ended.as_mut().enable();
            if self.worker(&plot.worktree, plot.agent).is_none() {
                return;
            }
            ended.await;
        }
    }

    /// Returns the name of who works in a worktree besides `but`.
    fn worker(&self, worktree: &Worktree, but: Option<AgentId>) -> Option<String> {
        let own = self.yard().plots().get(&worktree.branch).and_then(|plot| plot.agent);
        let roster = self.roster();
        let works_there = |id: AgentId, site: Option<&Path>| Some(id) == own || site == Some(worktree.root.as_path());
        roster.iter().filter(|(id, member)| Some(**id) != but && member.living.is_some()).find_map(|(id, member)| {
            let site = member.kit.own.site.as_ref().map(|site| site.worktree.root.as_path());
            works_there(*id, site).then(|| member.name.clone())
        })
    }

    /// Does with a kept worktree what the user wants, and tells what came of it.
    pub(super) async fn harvest(self, branch: String, act: WorktreeAct) {
        let _one = self.yard().gate.lock().await;
        let plot = self.yard().plots().get(&branch).cloned();
        let (Some(plot), Some(worktrees)) = (plot, self.yard().worktrees.clone()) else {
            let reason = "it is not there any more".to_owned();
            self.tell_of(None, WorktreeNews::Refused { branch, reason }).await;
            return;
        };
        if let Some(name) = self.worker(&plot.worktree, None) {
            let reason = format!("{name} still works in it; stop it first, or wait for its end");
            self.tell_of(plot.agent, WorktreeNews::Refused { branch, reason }).await;
            return;
        }
        let done = match act {
            WorktreeAct::Discard => {
                worktrees.discard(&plot.worktree).await.map(|()| WorktreeNews::Discarded { branch: branch.clone() })
            }
            // A merge is not broken off by anything but the end of the program.
            WorktreeAct::Merge => {
                worktrees.merge(&plot.worktree, &CancellationToken::new()).await.map(|merged| match merged {
                    Merged::Conflicts(conflicts) => WorktreeNews::conflicts(branch.clone(), conflicts),
                    Merged::Done { files, leftover } => WorktreeNews::Merged {
                        branch: branch.clone(),
                        files: files.into_iter().map(KeptFile::from).collect(),
                        leftover: leftover.map(|fault| fault.to_string()),
                    },
                })
            }
        };
        let news =
            done.unwrap_or_else(|fault| WorktreeNews::Refused { branch: branch.clone(), reason: fault.to_string() });
        if matches!(news, WorktreeNews::Merged { .. } | WorktreeNews::Discarded { .. }) {
            self.yard().plots().remove(&branch);
        }
        if let Some(text) = words_for_main(&plot.name, &news) {
            // It is read with whatever comes next: the user did it, and need not wait for an answer.
            let _ = self.inbox().put(Letter { text, by: Author::Program, urgency: Urgency::Later });
        }
        self.tell_of(plot.agent, news).await;
        self.tell_kept().await;
    }

    /// Finds what earlier runs have left, and tells of it.
    pub async fn find_orphans(&self) {
        let Some(worktrees) = self.yard().worktrees.clone() else { return };
        let _one = self.yard().gate.lock().await;
        let stop = CancellationToken::new();
        let Ok(orphans) = timeout(LOOKING, worktrees.orphans(&stop)).await else {
            stop.cancel();
            tracing::warn!("the worktrees of earlier runs cannot be looked at in time");
            return;
        };
        for (place, fault) in orphans.faults {
            tracing::warn!(place = %place.display(), "a worktree of an earlier run cannot be read: {fault}");
        }
        if orphans.found.is_empty() {
            return;
        }
        for orphan in orphans.found {
            let worktree = Arc::new(orphan.worktree);
            let since = std::fs::metadata(&worktree.root).and_then(|facts| facts.modified()).ok();
            let plot = Plot {
                name: worktree.name.clone(),
                agent: None,
                since,
                done: Some(KeptWorktree::files_of(orphan.changes)),
                worktree: worktree.clone(),
            };
            self.yard().plots().insert(worktree.branch.clone(), plot);
        }
        self.tell_kept().await;
    }

    async fn tell_of(&self, agent: Option<AgentId>, news: WorktreeNews) {
        let news = self.setup().secrets.redact_all(news);
        self.sink().send_unhindered(agent.unwrap_or(AgentId::MAIN), EventKind::Worktree { news }).await;
    }

    /// Tells which worktrees wait for the user.
    pub(super) async fn tell_kept(&self) {
        let mut kept: Vec<KeptWorktree> = self.yard().plots().values().filter_map(Plot::kept).collect();
        kept.sort_by_key(|one| (one.agent.is_none(), one.agent, one.branch.clone()));
        let kept = self.setup().secrets.redact_all(kept);
        self.sink().send_unhindered(AgentId::MAIN, EventKind::Worktrees { kept }).await;
    }
}

/// Returns what the main agent is told of what the user did.
fn words_for_main(name: &str, news: &WorktreeNews) -> Option<String> {
    let name = plain_line(name);
    match news {
        WorktreeNews::Merged { files, .. } => {
            let names: Vec<&str> = files.iter().map(|file| file.name.as_str()).collect();
            Some(format!(
                "The user has merged the worktree of {name} into the project. Changed there, uncommitted: {}. Read these files \
                 again before you rely on them.",
                listed(&names)
            ))
        }
        WorktreeNews::Discarded { .. } => {
            Some(format!("The user has discarded the worktree of {name}: nothing of what it changed is left."))
        }
        _ => None,
    }
}

fn listed(names: &[&str]) -> String {
    let text = names.iter().take(NAMED).map(|name| plain_line(name)).collect::<Vec<_>>().join(", ");
    match names.len() {
        0 => "no file".to_owned(),
        count if count > NAMED => format!("{text} and {} more", count - NAMED),
        _ => text,
    }
}
