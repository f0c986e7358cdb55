//! What commands have done to the project, as it is written down.
//!
//! Owns the comparison of two looks, and its form in the session. Leaves what is put back to `file::rewind`. Invariant:
//! what is written down of a file can be put back from the session's own copies alone.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::git_state::GitMoves;
use super::scan::{LeftOut, Scan, SeenFile, SeenKind, in_order};
use super::store::StateStore;
use crate::tool::file::copies::{FileCopies, FileVersions};

/// Files that one command may change so that it can still be taken back.
const MAX_CHANGED: usize = 20_000;

/// What one command has changed, or several.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandChanges {
    pub files: Vec<CommandChange>,
    /// What has changed and is not kept, and why.
    #[serde(default)]
    pub unkept: Vec<(OsString, String)>,
    /// Ignored files and folders that were changed or removed.
    #[serde(default)]
    pub left_out: Vec<OsString>,
    #[serde(default)]
    pub git: GitMoves,
}

/// What a command has done to one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandChange {
    /// The file, absolute.
    pub path: OsString,
    pub versions: FileVersions,
    /// The topmost folder that was made for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made: Option<OsString>,
}

impl CommandChanges {
    pub(super) fn is_empty(&self) -> bool {
        self.files.is_empty() && self.unkept.is_empty() && self.left_out.is_empty() && self.git.is_empty()
    }

    pub(super) fn append(&mut self, later: Self) {
        self.files.extend(later.files);
        self.unkept.extend(later.unkept);
        self.left_out.extend(later.left_out);
        self.git.append(later.git);
    }

    /// Keeps it among the copies of the session, and returns its number.
    pub(super) fn keep(&self, copies: &FileCopies) -> Option<u32> {
        copies.keep(&serde_json::to_vec(self).ok()?)
    }

    /// Reads it back. Blocks.
    #[must_use]
    pub fn read(number: u32, copies: &FileCopies) -> Option<Self> {
        serde_json::from_slice(&copies.read(number).ok()?).ok()
    }
}

/// Compares two looks at the project with this root, and keeps what differs with the session.
pub(super) fn between(
    before: &Scan,
    after: &Scan,
    root: &Path,
    (store, copies): (&StateStore, &FileCopies),
) -> CommandChanges {
    let mut changes = CommandChanges::default();
    let (mut one, mut two) = (before.entries.iter().peekable(), after.entries.iter().peekable());
    loop {
        let order = match (one.peek(), two.peek()) {
            (None, None) => break,
            (Some(_), None) => std::cmp::Ordering::Less,
            (None, Some(_)) => std::cmp::Ordering::Greater,
            (Some((one, _)), Some((two, _))) => in_order(one, two),
        };
        let was = if order.is_le() { one.next() } else { None };
        let is = if order.is_ge() { two.next() } else { None };
        let Some((path, _)) = was.or(is) else { break };
        let (was, is) = (was.map(|(_, entry)| entry), is.map(|(_, entry)| entry));
        if was.zip(is).is_some_and(|(was, is)| !was.differs(is)) {
            continue;
        }
        let place = root.join(path);
        // What an agent has written meanwhile is told by the write itself.
        if copies.has_written(&place) {
            continue;
        }
        // What was ignored before was there before: it is not made by the command, nor gone where it is ignored now.
        let is_known = was.is_some() || !lies_in(&before.left_out, path);
        let versions = match () {
            () if !is_known || is.is_none() && lies_in(&after.left_out, path) => Err("it was ignored before or after"),
            () if changes.files.len() >= MAX_CHANGED => Err("too many files were changed"),
            () => versions(was, is, store, copies),
        };
        match versions {
            Ok(versions) => {
                let made = is.filter(|_| was.is_none()).and_then(|_| made_for(path, before));
                let made = made.map(|folder| root.join(folder).into_os_string());
                changes.files.push(CommandChange { path: place.into_os_string(), versions, made });
            }
            Err(why) => changes.unkept.push((place.into_os_string(), why.to_owned())),
        }
    }
    for (path, was) in &before.left_out {
        if after.left_out.get(path).is_none_or(|is| was.differs(is)) {
            changes.left_out.push(root.join(path).into_os_string());
        }
    }
    if let (Some(was), Some(is)) = (&before.git, &after.git) {
        changes.git = was.moves_to(is);
    }
    changes
}

/// Returns `true` if a path is among what a look has left out, or below.
fn lies_in(left_out: &BTreeMap<PathBuf, LeftOut>, path: &Path) -> bool {
    path.ancestors().any(|above| left_out.contains_key(above))
}

/// Returns the topmost folder above a path that was not there before.
fn made_for<'a>(path: &'a Path, before: &Scan) -> Option<&'a Path> {
    let above = path.ancestors().skip(1).filter(|folder| !folder.as_os_str().is_empty());
    above.take_while(|folder| !before.folders.contains(*folder)).last()
}

fn versions(
    was: Option<&SeenFile>,
    is: Option<&SeenFile>,
    store: &StateStore,
    copies: &FileCopies,
) -> Result<FileVersions, &'static str> {
    let keep = |entry: Option<&SeenFile>| match entry.map(|entry| &entry.kind) {
        None => Ok((None, false)),
        Some(SeenKind::Unkept(why)) => Err(*why),
        Some(SeenKind::Link(target)) => Ok((Some(copies.keep(target).ok_or("no copy of it was kept")?), true)),
        Some(SeenKind::File(object)) => {
            let number = copies.adopt(&store.path_of(object), *object).ok_or("no copy of it was kept")?;
            Ok((Some(number), false))
        }
    };
    let ((before, was_link), (after, is_link)) = (keep(was)?, keep(is)?);
    Ok(FileVersions { before, after, links: (was_link, is_link) })
}
