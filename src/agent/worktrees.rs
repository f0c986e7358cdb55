//! What happens to the worktrees of agents, as data for the log and every view.
//!
//! Owns the words that travel. Leaves worktrees themselves to `worktree`. Invariant: plain data; whoever reads it needs
//! neither git nor the disk.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::message::format::line_changes;
use crate::message::{AgentId, FileDiff, sanitize_line};
use crate::worktree::{ActMark, ChangedFile, Conflict, WorktreeChangeKind, WorktreeChanges};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum WorktreeNews {
    /// It is being made; the agent waits for it.
    Making,
    Made {
        branch: String,
        #[serde(serialize_with = "crate::message::serialize_path")]
        path: PathBuf,
    },
    /// The agent has ended and left nothing in it: it is gone.
    Removed,
    /// The agent has ended; what it did waits for the user.
    Kept(KeptWorktree),
    /// What the agent did is in the project's files now, and the worktree is gone.
    Merged {
        branch: String,
        /// The files that were written, below the root of the repository.
        files: Vec<KeptFile>,
        /// Why something of it is still there.
        leftover: Option<String>,
    },
    /// The user gave it up: it is gone with everything in it.
    Discarded { branch: String },
    /// It cannot be merged as it is; nothing was changed.
    Conflicts {
        branch: String,
        /// Each file with the reason.
        files: Vec<(String, String)>,
    },
    Refused {
        branch: String,
        /// Why, and what to do.
        reason: String,
    },
}

/// A worktree with changes that are neither merged nor discarded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KeptWorktree {
    pub branch: String,
    #[serde(serialize_with = "crate::message::serialize_path")]
    pub path: PathBuf,
    /// The agent of this session that worked in it; `None` if it is of an earlier run.
    pub agent: Option<AgentId>,
    pub name: String,
    /// How many seconds before this event it was last worked in; known for those of earlier runs.
    pub age_secs: Option<u64>,
    /// Commits made in it.
    pub commits: usize,
    /// What is different from its beginning.
    pub files: Vec<KeptFile>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KeptFile {
    /// Path below the root of the repository; of a renamed file both.
    pub name: String,
    /// What happened to it, in one word.
    pub what: String,
    /// Whether other programs act on it, or it leads out of the project.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_acted_on: bool,
    pub diff: FileDiff,
}

/// What the user can have done with a kept worktree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorktreeAct {
    /// Write its changes into the project's files.
    Merge,
    Discard,
}

impl KeptWorktree {
    pub fn lines(&self) -> (usize, usize) {
        let count = |of: fn(&FileDiff) -> usize| self.files.iter().map(|file| of(&file.diff)).sum();
        (count(|diff| diff.added), count(|diff| diff.removed))
    }

    /// Says how much was changed, such as `3 files, +10 −2`.
    pub fn size(&self) -> String {
        let (added, removed) = self.lines();
        let files = if self.files.len() == 1 { "1 file".to_owned() } else { format!("{} files", self.files.len()) };
        let commits = match self.commits {
            0 => String::new(),
            1 => ", 1 commit".to_owned(),
            count => format!(", {count} commits"),
        };
        format!("{files}, {}{commits}", line_changes(added, removed))
    }

    /// Names the files that other programs act on, if there are any.
    #[must_use]
    pub fn acted_on(&self) -> Option<String> {
        let names: Vec<&str> =
            self.files.iter().filter(|file| file.is_acted_on).map(|file| file.name.as_str()).collect();
        let more = names.len().saturating_sub(NAMED);
        let named = sanitize_line(&names.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ")).into_owned();
        let named = if more > 0 { format!("{named} and {more} more") } else { named };
        (!names.is_empty()).then_some(named)
    }

    /// Returns its changes as plain data.
    pub fn files_of(changes: WorktreeChanges) -> (Vec<KeptFile>, usize) {
        let nested = changes.nested.into_iter().map(|folder| KeptFile {
            name: folder.to_string_lossy().into_owned(),
            what: "repository".to_owned(),
            is_acted_on: false,
            diff: FileDiff { path: folder, added: 0, removed: 0, hunks: Vec::new(), omitted: 0 },
        });
        (changes.files.into_iter().map(KeptFile::from).chain(nested).collect(), changes.commits)
    }
}

impl From<ChangedFile> for KeptFile {
    fn from(file: ChangedFile) -> Self {
        let name = file.path.to_string_lossy().into_owned();
        let (name, what) = match &file.kind {
            WorktreeChangeKind::Renamed { from } => (format!("{} → {name}", from.to_string_lossy()), "renamed"),
            WorktreeChangeKind::Added => (name, "new"),
            WorktreeChangeKind::Modified => (name, "changed"),
            WorktreeChangeKind::Deleted => (name, "deleted"),
            WorktreeChangeKind::Retyped => (name, "retyped"),
            WorktreeChangeKind::Repository => (name, "repository"),
        };
        let binary = file.is_binary.then_some("binary");
        let words = [Some(what), binary, file.mark.map(ActMark::words)].into_iter().flatten();
        let what = words.collect::<Vec<_>>().join(", ");
        Self { name, what, is_acted_on: file.mark.is_some(), diff: file.diff }
    }
}

/// Files that one line names.
const NAMED: usize = 6;

impl WorktreeNews {
    pub fn branch(&self) -> Option<&str> {
        match self {
            Self::Making | Self::Removed => None,
            Self::Kept(kept) => Some(&kept.branch),
            Self::Made { branch, .. }
            | Self::Merged { branch, .. }
            | Self::Discarded { branch }
            | Self::Conflicts { branch, .. }
            | Self::Refused { branch, .. } => Some(branch),
        }
    }

    /// Returns the branch of a worktree that waits for nobody any more. The list of those that wait follows as an event of
    /// its own.
    pub fn settled_branch(&self) -> Option<&str> {
        match self {
            Self::Merged { branch, .. } | Self::Discarded { branch } => Some(branch),
            _ => None,
        }
    }

    /// Says what happened, for people. The first line goes on from a name, such as `coder-1: merged into the project`.
    pub fn words(&self) -> Vec<String> {
        let line = |text: String| vec![sanitize_line(&text).into_owned()];
        match self {
            Self::Making => line("creates a worktree".to_owned()),
            Self::Made { branch, path } => line(format!("works in a worktree: branch {branch}, {}", path.display())),
            Self::Removed => line("no changes; worktree removed".to_owned()),
            Self::Kept(kept) => {
                let acted_on = kept.acted_on().map(|names| format!("; other programs act on {names}"));
                line(format!("worktree kept, not merged: {}{}", kept.size(), acted_on.unwrap_or_default()))
            }
            Self::Merged { files, leftover, .. } => {
                let mut names: Vec<&str> = files.iter().take(NAMED).map(|file| file.name.as_str()).collect();
                if files.len() > NAMED {
                    names.push("…");
                }
                let what = match files.len() {
                    0 => "nothing to do, already in the project".to_owned(),
                    1 => format!("1 file: {}", names.join(", ")),
                    count => format!("{count} files: {}", names.join(", ")),
                };
                let mut lines = line(format!("merged into the project, not committed · {what}"));
                lines.extend(
                    leftover
                        .iter()
                        .map(|error| sanitize_line(&format!("worktree not fully removed: {error}")).into_owned()),
                );
                lines
            }
            Self::Discarded { branch } => line(format!("worktree discarded, with its branch {branch}")),
            Self::Conflicts { files, .. } => {
                let mut lines = line("merge conflict, nothing changed".to_owned());
                lines.extend(files.iter().map(|(name, why)| sanitize_line(&format!("{name}: {why}")).into_owned()));
                lines
            }
            Self::Refused { reason, .. } => line(format!("worktree: {reason}")),
        }
    }

    /// Returns the news of a merge that could not be.
    #[must_use]
    pub fn conflicts(branch: String, conflicts: Vec<Conflict>) -> Self {
        let named = |conflict: Conflict| (conflict.path.to_string_lossy().into_owned(), conflict.why.to_owned());
        Self::Conflicts { branch, files: conflicts.into_iter().map(named).collect() }
    }
}
