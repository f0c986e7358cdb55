//! Worktrees of agents on the screen: what a pane shows of one, which wait for the user, and what is done with them.
//!
//! Owns the way from a key or a command to a merge. Leaves merging to the engine, and drawing to the views. Invariants:
//! nothing is discarded at the first press, and nothing merged that other programs act on; what is asked for names the worktree that was shown.

use std::fmt::Write as _;
use std::time::Instant;

use super::agent_view::AgentView;
use super::cells::{CellId, CellKind, ToolCell, ToolState, clean_view};
use super::state::Phase;
use crate::agent::{KeptFile, KeptWorktree, WorktreeAct, WorktreeNews};
use crate::app::Armed;
use crate::app::outbox::Outbox;
use crate::message::format::line_changes;
use crate::message::{DiffLine, FileDiff, sanitize_line};
use crate::subagent::Command;
use crate::tool::ToolView;

/// Changed files that a pane shows.
const SHOWN_FILES: usize = 40;
/// Lines of differences that a text shows.
pub(in crate::app) const SHOWN_LINES: usize = 2_000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorktreeView {
    /// Its branch; empty as long as it is being made.
    pub branch: String,
    /// Its root, as shown.
    pub path: String,
    pub state: WorktreeState,
    /// The line that says where it works.
    note: Option<CellId>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorktreeState {
    Making,
    InUse,
    /// It waits for the user.
    Kept,
    Gone,
}

#[derive(Debug, Clone, Default)]
pub(in crate::app) struct KeptWorktrees {
    list: Vec<KeptWorktree>,
    /// What a second press would do with which branch.
    asked: Option<(WorktreeAct, String)>,
}

impl AgentView {
    /// Takes in what happened to its worktree, also after its end.
    pub(in crate::app) fn worktree_news(&mut self, news: &WorktreeNews, now: Instant) {
        // News of the main agent are about an earlier run; the conversation says it.
        if self.id.is_main() {
            return;
        }
        let none =
            WorktreeView { branch: String::new(), path: String::new(), state: WorktreeState::Making, note: None };
        let mut apart = self.worktree.take().unwrap_or(none);
        let text = news.words().join("\n");
        match news {
            WorktreeNews::Making => {
                apart.note = Some(self.cells.push(CellKind::Notice { text }));
                apart.state = WorktreeState::Making;
                if self.phase == Phase::Queued {
                    self.enter(Phase::Starting, now);
                }
            }
            WorktreeNews::Made { branch, path } => {
                apart.branch = sanitize_line(branch).into_owned();
                apart.path = sanitize_line(&path.to_string_lossy()).into_owned();
                apart.state = WorktreeState::InUse;
                match apart.note.take() {
                    Some(note) => self.cells.change(note, |kind| *kind = CellKind::Notice { text }),
                    None => drop(self.cells.push(CellKind::Notice { text })),
                }
            }
            WorktreeNews::Kept(kept) => {
                apart.state = WorktreeState::Kept;
                let id = self.id;
                self.cells.push(CellKind::Notice { text: format!("{text} · /merge {id} or /discard {id}") });
                for file in kept.files.iter().take(SHOWN_FILES) {
                    self.cells.push(changed(file));
                }
                if let Some(more) = kept.files.len().checked_sub(SHOWN_FILES).filter(|more| *more > 0) {
                    self.cells.push(CellKind::Notice { text: format!("and {more} more files") });
                }
            }
            WorktreeNews::Conflicts { .. } | WorktreeNews::Refused { .. } => {
                self.cells.push(CellKind::Error { text });
            }
            WorktreeNews::Removed | WorktreeNews::Merged { .. } | WorktreeNews::Discarded { .. } => {
                apart.state = WorktreeState::Gone;
                self.cells.push(CellKind::Notice { text });
            }
        }
        self.worktree = Some(apart);
    }
}

/// Returns a changed file as a call that changed it would look.
fn changed(file: &KeptFile) -> CellKind {
    let summary = match (file.diff.added, file.diff.removed) {
        (0, 0) => file.what.clone(),
        (added, removed) => format!("{}, {}", file.what, line_changes(added, removed)),
    };
    CellKind::Tool(Box::new(ToolCell {
        call_id: String::new(),
        name: "worktree".to_owned(),
        title: sanitize_line(&file.name).into_owned(),
        state: ToolState::Done { took: std::time::Duration::ZERO },
        summary: sanitize_line(&summary).into_owned(),
        tail: String::new(),
        lines_before: 0,
        view: Some(clean_view(ToolView::Diff(file.diff.clone()))).filter(|_| !file.diff.hunks.is_empty()),
        pictures: Vec::new(),
    }))
}

impl KeptWorktrees {
    pub(in crate::app) fn list(&self) -> &[KeptWorktree] {
        &self.list
    }

    /// Takes in which worktrees wait. Returns how many of earlier runs came to light, if any did.
    pub(in crate::app) fn set(&mut self, kept: &[KeptWorktree]) -> Option<usize> {
        let orphans = |list: &[KeptWorktree]| list.iter().filter(|one| one.agent.is_none()).count();
        let (before, found) = (orphans(&self.list), orphans(kept));
        self.list = kept.to_vec();
        (found > before).then_some(found)
    }

    /// Takes in that a worktree waits no longer, if the news say so.
    pub(in crate::app) fn apply(&mut self, news: &WorktreeNews) {
        if let Some(branch) = news.settled_branch() {
            self.list.retain(|kept| kept.branch != branch);
        }
    }

    /// Returns the worktree that a word names by number, name or branch; the only one for no word.
    pub(in crate::app) fn find(&self, wanted: &str) -> Option<usize> {
        let only = || (wanted.is_empty() && self.list.len() == 1).then_some(0);
        self.list.iter().position(|one| is_called(one, wanted)).or_else(only)
    }

    /// Asks for a worktree to be merged or discarded; at the second press, if it is asked about first.
    pub(in crate::app) fn ask_for(&mut self, chosen: usize, act: WorktreeAct, out: &mut Outbox) {
        let Some(found) = self.list.get(chosen) else { return };
        let branch = found.branch.clone();
        let name = sanitize_line(&found.name);
        let (doing, question) = match act {
            WorktreeAct::Discard => {
                ("discarding", Some(format!("press again to discard {name}'s changes: {}", found.size())))
            }
            WorktreeAct::Merge => {
                let acted_on = found.acted_on();
                ("merging", acted_on.map(|names| format!("press again to merge what other programs act on: {names}")))
            }
        };
        if let Some(question) = question {
            let is_same = self.asked.take().is_some_and(|asked| asked == (act, branch.clone()));
            if !(out.take_armed(Armed::Worktree) && is_same) {
                out.arm(Armed::Worktree, &question);
                self.asked = Some((act, branch));
                return;
            }
        }
        out.inform(format!("{doing} {name}'s worktree"));
        out.send(Command::Worktree { branch, act });
    }

    /// Returns what was done in a worktree of the list, as a title and Markdown.
    pub(in crate::app) fn describe(&self, chosen: usize) -> Option<(String, String)> {
        let found = self.list.get(chosen)?;
        let name = sanitize_line(&found.name).into_owned();
        let path = sanitize_line(&found.path.to_string_lossy()).into_owned();
        let mut body = format!("`{}` · {}\n\n`{path}`\n", sanitize_line(&found.branch), found.size());
        let mut left = SHOWN_LINES;
        for file in &found.files {
            body.push_str(&described(&file.name, &file.what, &file.diff, &mut left));
        }
        Some((format!("{name}'s worktree"), body))
    }
}

/// Describes what is different in a file, in Markdown. Takes what it shows off the lines that are left.
pub(in crate::app) fn described(name: &str, what: &str, diff: &FileDiff, left: &mut usize) -> String {
    let mut body = format!("\n**{}** · {}\n", sanitize_line(name).replace('*', "\\*"), sanitize_line(what));
    let row = |line: &DiffLine| format!("{}{}", line.kind.sign(), line.revealed());
    let rows: Vec<String> = diff.hunks.iter().flat_map(|hunk| &hunk.lines).take(*left).map(row).collect();
    *left -= rows.len();
    if !rows.is_empty() {
        // No line of a difference begins with the fence: each has its sign before it.
        let _ = write!(body, "\n```diff\n{}\n```\n", rows.join("\n"));
    }
    if diff.omitted > 0 {
        let _ = write!(body, "\nand {} more changed lines\n", diff.omitted);
    }
    body
}

fn is_called(kept: &KeptWorktree, wanted: &str) -> bool {
    kept.agent.is_some_and(|agent| wanted.parse() == Ok(agent.0)) || wanted == kept.branch || wanted == kept.name
}
