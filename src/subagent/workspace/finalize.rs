//! What becomes of a worktree once its agent has ended: removed, kept, merged or discarded.
//!
//! Owns the order of these acts, and their events. Leaves git to `worktree` and the making to `workspace`. Invariants:
//! what an agent did goes only at the user's word; nothing is merged or discarded while anyone works in it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::agent::{
    Author, EventKind, InboxMessage, KeptFile, KeptWorktree, SessionEvent, Urgency, WorktreeAct, WorktreeNews,
};
use crate::message::{AgentId, sanitize_line};
use crate::subagent::tree::Tree;
use crate::subagent::workspace::WorktreeEntry;
use crate::worktree::{Merged, Worktree, WorktreeEnd, WorktreeError, Worktrees};

/// How long those below an agent that has ended may take to end.
const BELOW: Duration = Duration::from_secs(5);
/// How long the look at what earlier runs have left may take.
const LOOKING: Duration = Duration::from_mins(1);
/// Files that a report, or a message, names.
const NAMED: usize = 40;

impl Tree {
    /// Returns what the paths of an agent's report are relative to.
    pub(in crate::subagent) fn project_of(&self, agent: AgentId) -> PathBuf {
        match self.worktree_registry().of(agent) {
            Some(entry) => entry.worktree.root.clone(),
            None => self.setup().place.project.as_ref().clone(),
        }
    }

    /// Settles the worktree of an agent that has ended. Returns what its report says of it.
    pub(in crate::subagent) async fn finalize_worktree(&self, agent: AgentId) -> Option<String> {
        let worktree_registry = self.worktree_registry();
        let entry = worktree_registry.of(agent)?;
        let worktrees = worktree_registry.worktrees.clone()?;
        let branch = entry.worktree.branch.clone();
        let _ = timeout(BELOW, self.left_by_others(&entry)).await;
        let one = worktree_registry.gate.lock().await;
        // A stop of the agent is no reason to leave its work unseen.
        let settled = worktrees.settle(&entry.worktree, &CancellationToken::new()).await;
        drop(one);
        match settled {
            Ok(WorktreeEnd::Removed) => {
                worktree_registry.entries().remove(&branch);
                self.emit_worktree_news(Some(agent), WorktreeNews::Removed).await;
                Some("worktree: removed, no changes".to_owned())
            }
            Ok(WorktreeEnd::Kept(changes)) => {
                let done = KeptWorktree::files_of(changes);
                let kept = self.keep(&branch, done)?;
                let names: Vec<&str> = kept.files.iter().map(|file| file.name.as_str()).collect();
                let text = format!(
                    "worktree: branch {branch} ({}), not merged; the user decides\nworktree files: {}",
                    kept.size(),
                    listed(&names)
                );
                // Whoever reads that it waits can merge it at once.
                self.emit_kept().await;
                self.emit_worktree_news(Some(agent), WorktreeNews::Kept(kept)).await;
                Some(text)
            }
            Err(error) => {
                let reason = format!("{error}; the worktree is kept at {}", entry.worktree.root.display());
                self.keep(&branch, (Vec::new(), 0));
                let text = format!("worktree: branch {branch}, kept; {reason}");
                self.emit_kept().await;
                self.emit_worktree_news(Some(agent), WorktreeNews::Refused { branch, reason }).await;
                Some(text)
            }
        }
    }

    fn keep(&self, branch: &str, done: (Vec<KeptFile>, usize)) -> Option<KeptWorktree> {
        let mut entries = self.worktree_registry().entries();
        let entry = entries.get_mut(branch)?;
        entry.done = Some(done);
        entry.kept()
    }

    /// Waits until nobody but its own agent works in a worktree.
    async fn left_by_others(&self, entry: &WorktreeEntry) {
        loop {
            let mut ended = std::pin::pin!(self.ended().notified());
            ended.as_mut().enable();
            if self.worker(&entry.worktree, entry.agent).is_none() {
                return;
            }
            ended.await;
        }
    }

    /// Returns the name of who works in a worktree besides `but`.
    fn worker(&self, worktree: &Worktree, but: Option<AgentId>) -> Option<String> {
        let own = self.worktree_registry().entries().get(&worktree.branch).and_then(|entry| entry.agent);
        let registry = self.registry();
        let works_there =
            |id: AgentId, workspace: Option<&Path>| Some(id) == own || workspace == Some(worktree.root.as_path());
        registry.iter().filter(|(id, entry)| Some(**id) != but && entry.running.is_some()).find_map(|(id, entry)| {
            let workspace = entry.template.ready().and_then(|template| template.own.workspace.as_ref());
            let workspace = workspace.map(|workspace| workspace.worktree.root.as_path());
            works_there(*id, workspace).then(|| entry.name.clone())
        })
    }

    /// Does with a kept worktree what the user wants, and emits what came of it.
    pub(in crate::subagent) async fn harvest(self, branch: String, act: WorktreeAct) {
        let _one = self.worktree_registry().gate.lock().await;
        let entry = self.worktree_registry().entries().get(&branch).cloned();
        let (Some(entry), Some(worktrees)) = (entry, self.worktree_registry().worktrees.clone()) else {
            let reason = "the worktree no longer exists".to_owned();
            self.emit_worktree_news(None, WorktreeNews::Refused { branch, reason }).await;
            return;
        };
        // Once it is settled, its own agent is out of it, though its report may still be on the way; one that goes on from
        // here waits, and finds out what became of it.
        let settled_by = entry.agent.filter(|_| entry.done.is_some());
        if let Some(name) = self.worker(&entry.worktree, settled_by) {
            let reason = format!("{name} is still working there; stop {name} or wait");
            self.emit_worktree_news(entry.agent, WorktreeNews::Refused { branch, reason }).await;
            return;
        }
        let done = match act {
            WorktreeAct::Discard => {
                worktrees.discard(&entry.worktree).await.map(|()| WorktreeNews::Discarded { branch: branch.clone() })
            }
            // A merge is not broken off by anything but the end of the program.
            WorktreeAct::Merge => {
                let _merging =
                    self.setup().shell.sandbox().map(|sandbox| sandbox.watch().step_outside(&branch, Vec::new()));
                let merged = worktrees.merge(&entry.worktree, &agreed(&entry), &CancellationToken::new()).await;
                if matches!(merged, Err(WorktreeError::Unasked { .. })) {
                    self.look_again(&worktrees, &entry).await;
                }
                merged.map(|merged| match merged {
                    Merged::Conflicts(conflicts) => WorktreeNews::conflicts(branch.clone(), conflicts),
                    Merged::Done { files, leftover } => WorktreeNews::Merged {
                        branch: branch.clone(),
                        files: files.into_iter().map(KeptFile::from).collect(),
                        leftover: leftover.map(|error| error.to_string()),
                    },
                })
            }
        };
        let news =
            done.unwrap_or_else(|error| WorktreeNews::Refused { branch: branch.clone(), reason: error.to_string() });
        if matches!(news, WorktreeNews::Merged { .. } | WorktreeNews::Discarded { .. }) {
            self.worktree_registry().entries().remove(&branch);
        }
        if let Some(text) = words_for_main(&entry.name, &news) {
            // It is read with whatever comes next: the user did it, and need not wait for an answer.
            let _ = self.inbox().push(InboxMessage { text, by: Author::Program, urgency: Urgency::Later, id: None });
        }
        self.emit_worktree_news(entry.agent, news).await;
        self.emit_kept().await;
    }

    /// Takes in what is in a worktree by now.
    async fn look_again(&self, worktrees: &Worktrees, entry: &WorktreeEntry) {
        if let Ok(changes) = worktrees.changes(&entry.worktree, &CancellationToken::new()).await {
            self.keep(&entry.worktree.branch, KeptWorktree::files_of(changes));
        }
    }

    /// Finds what earlier runs have left, and emits it.
    pub async fn find_orphans(&self) {
        let Some(worktrees) = self.worktree_registry().worktrees.clone() else { return };
        let _one = self.worktree_registry().gate.lock().await;
        let stop = CancellationToken::new();
        let Ok(orphans) = timeout(LOOKING, worktrees.orphans(&stop)).await else {
            stop.cancel();
            tracing::warn!("checking the worktrees of earlier runs timed out");
            return;
        };
        for (place, error) in orphans.errors {
            tracing::warn!(place = %place.display(), "a worktree of an earlier run cannot be read: {error}");
        }
        if orphans.found.is_empty() {
            return;
        }
        for orphan in orphans.found {
            let worktree = Arc::new(orphan.worktree);
            let since = std::fs::metadata(&worktree.root).and_then(|facts| facts.modified()).ok();
            let entry = WorktreeEntry {
                name: worktree.name.clone(),
                agent: self.worktree_registry().former(&worktree.branch),
                since,
                done: Some(KeptWorktree::files_of(orphan.changes)),
                worktree: worktree.clone(),
            };
            self.worktree_registry().entries().insert(worktree.branch.clone(), entry);
        }
        self.emit_kept().await;
    }

    async fn emit_worktree_news(&self, agent: Option<AgentId>, news: WorktreeNews) {
        self.sink().emit_unhindered(agent.unwrap_or(AgentId::MAIN), EventKind::Worktree { news }).await;
    }

    /// Emits which worktrees wait for the user.
    pub(in crate::subagent) async fn emit_kept(&self) {
        let mut kept: Vec<KeptWorktree> =
            self.worktree_registry().entries().values().filter_map(WorktreeEntry::kept).collect();
        kept.sort_by_key(|one| (one.agent.is_none(), one.agent, one.branch.clone()));
        self.sink().emit_session_unhindered(SessionEvent::Worktrees { kept }).await;
    }
}

/// Returns the files of a worktree of which the user has been told that other programs act on them.
fn agreed(entry: &WorktreeEntry) -> BTreeSet<PathBuf> {
    let files = entry.done.iter().flat_map(|(files, _)| files).filter(|file| file.is_acted_on);
    files.filter_map(|file| Some(file.diff.path.strip_prefix(&entry.worktree.root).ok()?.to_path_buf())).collect()
}

/// Returns the message to the main agent about what the user did.
fn words_for_main(name: &str, news: &WorktreeNews) -> Option<String> {
    let name = sanitize_line(name);
    match news {
        WorktreeNews::Merged { files, .. } => {
            let names: Vec<&str> = files.iter().map(|file| file.name.as_str()).collect();
            Some(format!(
                "The user merged {name}'s worktree into the project. Changed files, not committed: {}. Read them \
                 again before you rely on them.",
                listed(&names)
            ))
        }
        WorktreeNews::Discarded { .. } => {
            Some(format!("The user discarded {name}'s worktree: none of its changes remain."))
        }
        _ => None,
    }
}

fn listed(names: &[&str]) -> String {
    let text = names.iter().take(NAMED).map(|name| sanitize_line(name)).collect::<Vec<_>>().join(", ");
    match names.len() {
        0 => "none".to_owned(),
        count if count > NAMED => format!("{text} and {} more", count - NAMED),
        _ => text,
    }
}
