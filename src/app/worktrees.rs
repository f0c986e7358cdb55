//! Worktrees of agents on the screen: what a pane shows of one, which wait for the user, and what is done with them.
//!
//! Owns the way from a key or a command to a merge. Leaves merging to the engine, and drawing to the views. Invariants:
//! nothing is discarded at the first press; what is asked for names the worktree that was shown.

use std::fmt::Write as _;
use std::time::Instant;

use super::agent_view::AgentView;
use super::cells::{CellId, CellKind, ToolCell, ToolState, clean_view};
use super::key::{Key, KeyCode};
use super::phase::Phase;
use super::status::Armed;
use super::{App, Effect, Popup};
use crate::agent::{AgentEvent, EventKind, KeptFile, KeptWorktree, WorktreeAct, WorktreeNews};
use crate::message::format::line_changes;
use crate::message::{AgentId, LineKind, reveal_line, sanitize_line};
use crate::subagent::Command;
use crate::tool::ToolView;

/// Changed files that a pane shows.
const SHOWN_FILES: usize = 40;
/// Lines of a difference in the list's view of one worktree.
const SHOWN_LINES: usize = 2_000;

/// Where an agent works apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorktreeView {
    /// Its branch; empty as long as it is being made.
    pub branch: String,
    /// Its root, as shown.
    pub path: String,
    /// How it stands.
    pub state: WorktreeState,
    /// The line that says where it works.
    note: Option<CellId>,
}

/// How a worktree stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorktreeState {
    /// It is being made.
    Making,
    /// Its agent is in it.
    InUse,
    /// It waits for the user.
    Kept,
    /// It is gone.
    Gone,
}

/// The unmerged worktrees for the user.
#[derive(Debug, Clone, Default)]
pub(super) struct KeptWorktrees {
    list: Vec<KeptWorktree>,
    /// The branch that a second press would discard.
    asked: Option<String>,
}

impl AgentView {
    /// Takes in what happened to its worktree, also after its end.
    pub(super) fn worktree_news(&mut self, news: &WorktreeNews, now: Instant) {
        // What is told of the main agent is of an earlier run; the conversation says it.
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
        view: Some(clean_view(ToolView::Diff(file.diff.clone()))).filter(|_| !file.diff.hunks.is_empty()),
    }))
}

impl App {
    /// Returns the unmerged worktrees for the user.
    #[must_use]
    pub fn kept_worktrees(&self) -> &[KeptWorktree] {
        &self.agents.kept.list
    }

    /// Takes in what concerns worktrees beyond the agent's own pane: its number may be forgotten by now.
    pub(super) fn on_worktree_event(&mut self, event: &AgentEvent) {
        let EventKind::Worktree { news } = &event.kind else { return };
        if let Some(branch) = news.settled_branch() {
            self.agents.kept.list.retain(|kept| kept.branch != branch);
        }
        self.tell_of_worktree(event.agent, news);
    }

    pub(super) fn worktrees_changed(&mut self, kept: &[KeptWorktree]) {
        let orphans = |list: &[KeptWorktree]| list.iter().filter(|one| one.agent.is_none()).count();
        let (before, found) = (orphans(&self.agents.kept.list), orphans(kept));
        self.agents.kept.list = kept.to_vec();
        if found > before {
            let what = if found == 1 {
                "1 worktree of an earlier run holds".to_owned()
            } else {
                format!("{found} worktrees of an earlier run hold")
            };
            self.notice(&format!("{what} changes that were not merged: /worktrees"));
        }
        if let Some(Popup::Worktrees { chosen }) = &mut self.popup {
            *chosen = (*chosen).min(kept.len().saturating_sub(1));
            if kept.is_empty() {
                self.popup = None;
            }
        }
        self.dirty = true;
    }

    /// Adds what the user wants to know to the conversation.
    fn tell_of_worktree(&mut self, agent: AgentId, news: &WorktreeNews) {
        let known = self.agents.get(agent).filter(|agent| !agent.id.is_main()).map(|agent| agent.name.clone());
        let last = || news.branch().and_then(|branch| branch.rsplit('/').next()).unwrap_or_default().to_owned();
        let name = known.unwrap_or_else(last);
        let mut text = format!("{name}: {}", news.words().join("\n  "));
        match news {
            WorktreeNews::Making | WorktreeNews::Made { .. } | WorktreeNews::Removed => {}
            WorktreeNews::Kept(_) => {
                let _ = write!(text, " · /merge {agent} or /discard {agent}");
                self.notice(&text);
            }
            WorktreeNews::Merged { .. } | WorktreeNews::Discarded { .. } => {
                self.inform(text.lines().next().unwrap_or_default());
                self.notice(&text);
            }
            WorktreeNews::Conflicts { .. } | WorktreeNews::Refused { .. } => {
                self.warn(text.lines().next().unwrap_or_default());
                self.error(&text);
            }
        }
    }

    /// Opens the list of worktrees.
    pub(super) fn list_worktrees(&mut self) {
        if self.kept_worktrees().is_empty() {
            self.inform("no worktree waits to be merged or discarded");
        } else {
            self.popup = Some(Popup::Worktrees { chosen: 0 });
        }
    }

    /// Does what a command says with the worktree that it names by number, name or branch.
    pub(super) fn slash_worktree(&mut self, wanted: &str, act: WorktreeAct, effects: &mut Vec<Effect>) {
        let list = self.kept_worktrees();
        let found = list.iter().find(|one| is_called(one, wanted));
        let only = || list.first().filter(|_| wanted.is_empty() && list.len() == 1);
        if let Some(found) = found.or_else(only).cloned() {
            self.ask_for(&found, act, effects);
            return;
        }
        let at_work = self.agents.running().find(|agent| wanted.parse() == Ok(agent.id.0) || agent.name == wanted);
        let word = match act {
            WorktreeAct::Merge => "merge",
            WorktreeAct::Discard => "discard",
        };
        match at_work.map(|agent| agent.name.clone()) {
            Some(name) => self.warn(format!("{name} still works; wait for its end, or stop it, then /{word}")),
            None if list.is_empty() => self.warn(format!("there is nothing to {word}: no worktree waits")),
            None => self.warn(format!("write /{word} with the number of an agent; /worktrees lists those that wait")),
        }
    }

    /// Does it with an entry of the list.
    pub(super) fn ask_in_list(&mut self, chosen: usize, act: WorktreeAct, effects: &mut Vec<Effect>) {
        if let Some(found) = self.kept_worktrees().get(chosen).cloned() {
            self.ask_for(&found, act, effects);
        }
    }

    fn ask_for(&mut self, found: &KeptWorktree, act: WorktreeAct, effects: &mut Vec<Effect>) {
        let branch = found.branch.clone();
        let name = sanitize_line(&found.name).into_owned();
        if act == WorktreeAct::Discard {
            let is_same = self.agents.kept.asked.take().is_some_and(|asked| asked == branch);
            if !(self.take_armed(Armed::Discard) && is_same) {
                self.arm(Armed::Discard, &format!("press again to discard what {name} changed: {}", found.size()));
                self.agents.kept.asked = Some(branch);
                return;
            }
            self.inform(format!("discarding the worktree of {name}"));
        } else {
            self.inform(format!("merging the worktree of {name}"));
        }
        effects.push(Effect::Engine(Command::Worktree { branch, act }));
    }

    /// Carries out a letter in the list of worktrees.
    pub(super) fn type_in_worktrees(&mut self, chosen: usize, key: Key, effects: &mut Vec<Effect>) {
        match key.code {
            KeyCode::Char('m') => self.ask_in_list(chosen, WorktreeAct::Merge, effects),
            KeyCode::Char('d') => self.ask_in_list(chosen, WorktreeAct::Discard, effects),
            KeyCode::Char('q') => self.popup = None,
            _ => {}
        }
    }

    /// Shows what was done in a worktree of the list.
    pub(super) fn show_worktree(&mut self, chosen: usize) {
        let Some(found) = self.kept_worktrees().get(chosen) else { return };
        let name = sanitize_line(&found.name).into_owned();
        let path = sanitize_line(&found.path.to_string_lossy()).into_owned();
        let mut body = format!("`{}` · {}\n\n`{path}`\n", sanitize_line(&found.branch), found.size());
        let mut left = SHOWN_LINES;
        for file in &found.files {
            let _ = write!(
                body,
                "\n**{}** · {}\n",
                sanitize_line(&file.name).replace('*', "\\*"),
                sanitize_line(&file.what)
            );
            let lines = file.diff.hunks.iter().flat_map(|hunk| &hunk.lines).take(left);
            let rows: Vec<String> = lines
                .map(|line| {
                    let sign = match line.kind {
                        LineKind::Context => ' ',
                        LineKind::Added => '+',
                        LineKind::Removed => '-',
                    };
                    format!("{sign}{}", reveal_line(line.text.trim_end_matches(['\n', '\r'])))
                })
                .collect();
            left -= rows.len();
            if !rows.is_empty() {
                // No line of a difference begins with the fence: each has its sign before it.
                let _ = write!(body, "\n```diff\n{}\n```\n", rows.join("\n"));
            }
            if file.diff.omitted > 0 {
                let _ = write!(body, "\nand {} more changed lines\n", file.diff.omitted);
            }
        }
        self.popup = Some(Popup::Text { title: format!("worktree of {name}"), body, scroll: 0 });
    }
}

/// Returns `true` if a word means this worktree.
fn is_called(kept: &KeptWorktree, wanted: &str) -> bool {
    kept.agent.is_some_and(|agent| wanted.parse() == Ok(agent.0)) || wanted == kept.branch || wanted == kept.name
}
