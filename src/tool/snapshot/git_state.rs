//! Where HEAD, the branches and the stash of a repository stand, read from its files.
//!
//! Owns what is read of them, and the words with which the user brings one back. Leaves everything else of git alone.
//! Invariants: nothing of the repository is written, and no program runs; what is kept in a form that is not known is not
//! told of.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::git::Repository;
use crate::message::sanitize_line;
use crate::tool::file::open_regular;

/// Bytes of the longest file that is read.
const MAX_BYTES: u64 = 8 << 20;
/// Branches that are told apart.
const MAX_BRANCHES: usize = 5_000;
/// How deep the parts of a branch's name nest.
const MAX_DEPTH: usize = 16;
/// Letters of the number of a commit.
const SHORT: usize = 12;
const HEADS: &str = "refs/heads/";

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct GitState {
    head: String,
    branches: BTreeMap<String, String>,
    /// The commits that the stash holds.
    stash: Vec<String>,
}

/// What commands did to HEAD, the branches and the stash.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GitMoves {
    /// HEAD as it was, if it was another, and as it is.
    head: Option<(Option<String>, String)>,
    /// Each branch that moved, with where it was and is.
    branches: BTreeMap<String, (Option<String>, Option<String>)>,
    /// What the stash no longer holds.
    dropped: Vec<String>,
}

impl GitState {
    pub(super) fn of(root: &Path) -> Option<Self> {
        let repository = Repository::around(root).ok()??;
        if repository.common_dir.join("reftable").is_dir() {
            return None;
        }
        let head = read(&repository.git_dir.join("HEAD"))?.trim().to_owned();
        let mut branches = BTreeMap::new();
        for line in read(&repository.common_dir.join("packed-refs")).unwrap_or_default().lines() {
            if let Some((commit, name)) = line.split_once(' ')
                && let Some(branch) = name.strip_prefix(HEADS)
                && branches.len() < MAX_BRANCHES
            {
                branches.insert(branch.to_owned(), commit.to_owned());
            }
        }
        loose(&repository.common_dir.join("refs/heads"), "", 0, &mut branches);
        let log = read(&repository.common_dir.join("logs/refs/stash")).unwrap_or_default();
        let stash = log.lines().filter_map(|line| Some(line.split(' ').nth(1)?.to_owned())).collect();
        Some(Self { head, branches, stash })
    }

    /// Returns what has moved on the way from this state to a later one.
    pub(super) fn moves_to(&self, later: &Self) -> GitMoves {
        let mut branches = BTreeMap::new();
        for name in self.branches.keys().chain(later.branches.keys()) {
            let (was, is) = (self.branches.get(name), later.branches.get(name));
            if was != is {
                branches.insert(name.clone(), (was.cloned(), is.cloned()));
            }
        }
        let dropped = self.stash.iter().filter(|commit| !later.stash.contains(commit)).cloned().collect();
        let was = (self.head != later.head).then(|| self.head.clone());
        GitMoves { head: Some((was, later.head.clone())), branches, dropped }
    }
}

impl GitMoves {
    /// Returns `true` if nothing has moved.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.head.as_ref().is_none_or(|(was, _)| was.is_none()) && self.branches.is_empty() && self.dropped.is_empty()
    }

    /// Takes in what moved after this.
    pub fn append(&mut self, later: Self) {
        if let Some((was, is)) = later.head {
            let first = self.head.take().and_then(|(was, _)| was);
            self.head = Some((first.or(was), is));
        }
        for (name, (was, is)) in later.branches {
            let first = self.branches.get(&name).map_or(was, |(first, _)| first.clone());
            if first == is {
                self.branches.remove(&name);
            } else {
                self.branches.insert(name, (first, is));
            }
        }
        self.dropped.extend(later.dropped);
    }

    /// Says what moved and how it comes back, in lines. Nothing of that is done by the program.
    #[must_use]
    pub fn words(&self) -> Vec<String> {
        let mut words = Vec::new();
        let on = |head: &str| head.strip_prefix("ref: ").and_then(|name| name.strip_prefix(HEADS)).map(str::to_owned);
        let (was, is) = self.head.clone().unwrap_or_default();
        // HEAD comes back first: a branch that it is on is reset, as git moves it in no other way.
        let own = on(was.as_ref().unwrap_or(&is));
        if let Some(was) = was.filter(|was| *was != is) {
            words.push(if let Some(branch) = on(&was) {
                format!("HEAD was on {branch}: git symbolic-ref HEAD {HEADS}{} && git reset", quoted(&branch))
            } else {
                let commit = short(&was);
                format!("HEAD was at {commit}: git update-ref --no-deref HEAD {commit} && git reset")
            });
        }
        for (name, (was, is)) in &self.branches {
            let (branch, current) = (quoted(name), own.as_deref() == Some(name));
            words.push(match (was, is) {
                (Some(was), Some(_)) if current => {
                    format!("branch {name} was at {0}: git reset {0} (files stay as they are)", short(was))
                }
                (Some(was), _) => format!("branch {name} was at {0}: git branch -f {branch} {0}", short(was)),
                (None, _) => format!("branch {name} is new: git branch -D {branch}"),
            });
        }
        let stash = |commit: &String| format!("a stash was dropped: git stash store {}", short(commit));
        words.extend(self.dropped.iter().map(stash));
        words.into_iter().map(|line| sanitize_line(&line).into_owned()).collect()
    }
}

fn short(commit: &str) -> String {
    commit.chars().take(SHORT).collect()
}

/// Returns a name as one word of a shell.
fn quoted(name: &str) -> String {
    let is_plain = name.chars().all(|c| c.is_ascii_alphanumeric() || "-_./+@".contains(c));
    if is_plain { name.to_owned() } else { format!("'{}'", name.replace('\'', r"'\''")) }
}

fn read(path: &Path) -> Option<String> {
    let mut bytes = Vec::new();
    open_regular(path, "").ok()?.0.take(MAX_BYTES).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Reads the branches that have files of their own.
fn loose(folder: &Path, before: &str, depth: usize, branches: &mut BTreeMap<String, String>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let Some(name) = entry.file_name().to_str().map(|name| format!("{before}{name}")) else { continue };
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_dir() && depth < MAX_DEPTH {
            loose(&entry.path(), &format!("{name}/"), depth + 1, branches);
        } else if kind.is_file()
            && branches.len() < MAX_BRANCHES
            && let Some(commit) = read(&entry.path())
        {
            branches.insert(name, commit.trim().to_owned());
        }
    }
}
