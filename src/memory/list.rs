//! Memory files as the user lists them, and where a line can be added.
//!
//! Owns which file takes lines of whom, and adding one. Leaves the question to the front ends. Everything here blocks.
//! Invariants: a line changes nothing else in a file, its line ends included; a file is replaced as a whole or not at all;
//! a file of the project is changed in the project only, whatever links lead there.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::find::{CLAUDE_NAMES, is_there};
use super::{MemoryOwner, MemoryReader, read};
use crate::message::line_end;
use crate::whole_file::{FileRights, WrittenFile, replace_whole};

/// A memory file in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedMemory {
    pub path: PathBuf,
    /// Below the project, or below the home, as people write it.
    pub shown: String,
    pub owner: MemoryOwner,
    /// Characters that agents get of it; `None` if it is not there yet.
    pub chars: Option<usize>,
    /// Whether the user's lines go there.
    pub takes_lines: bool,
}

/// What the user wants of memory files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MemoryRequest {
    List,
    /// Open one that is in the list in the editor; it need not be there yet.
    Edit(PathBuf),
    /// Add a line to one that takes lines.
    Add {
        path: PathBuf,
        line: String,
    },
}

/// What came of that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MemoryAnswer {
    Listed(Vec<ListedMemory>),
    /// One was changed; how it is shown.
    Changed(String),
    /// Nothing was; why.
    Failed(String),
}

impl MemoryReader {
    /// Lists the files that hold here, then those that could take lines and are not there.
    pub fn list(&self) -> Vec<ListedMemory> {
        let takers = self.takers();
        let listed = |path: PathBuf, owner, chars| {
            let takes_lines = takers.iter().any(|(taker, _)| *taker == path);
            ListedMemory { shown: self.shown(&path), path, owner, chars, takes_lines }
        };
        let files = self.read(&BTreeSet::new()).files;
        let mut all: Vec<ListedMemory> = files
            .into_iter()
            .map(|file| {
                let chars = file.text.chars().count();
                listed(file.path, file.owner, Some(chars))
            })
            .collect();
        for (path, owner) in &takers {
            if all.iter().all(|known| known.path != *path) {
                all.push(listed(path.clone(), *owner, None));
            }
        }
        all
    }

    /// Returns the files that take lines: the project's, the user's for this project, the user's for all.
    fn takers(&self) -> Vec<(PathBuf, MemoryOwner)> {
        let root = self.project.as_path();
        let there = CLAUDE_NAMES.into_iter().find(|name| is_there(&root.join(name)));
        let mut takers = Vec::new();
        if self.sources.is_project {
            takers.push((root.join(there.unwrap_or("AGENTS.md")), MemoryOwner::Project));
            takers.push((root.join("CLAUDE.local.md"), MemoryOwner::Local));
        }
        takers.extend(self.sources.claude.iter().map(|claude| (claude.join("CLAUDE.md"), MemoryOwner::User)));
        takers
    }

    fn shown(&self, path: &Path) -> String {
        let below = |folder: &Path, start: &str| Some(format!("{start}{}", path.strip_prefix(folder).ok()?.display()));
        let at_home = || self.sources.home.as_ref().and_then(|home| below(home, "~/"));
        let shown = below(&self.project, "").or_else(at_home);
        shown.unwrap_or_else(|| path.display().to_string())
    }

    /// Makes sure that a file which the user wants to edit is one of the list, and that its folder is there.
    ///
    /// # Errors
    /// Returns why it cannot be edited.
    pub fn prepare_edit(&self, path: &Path) -> Result<(), String> {
        let known = self.list().into_iter().find(|listed| listed.path == path);
        let known = known.ok_or_else(|| format!("{} is no memory file any more.", path.display()))?;
        self.place_of(path, known.owner).map(drop)
    }

    /// Adds a line at the end of a file that takes lines, and returns how the file is shown.
    ///
    /// # Errors
    /// Returns why the file stays as it was.
    pub fn add_line(&self, path: &Path, line: &str) -> Result<(String, WrittenFile), String> {
        let taker = self.takers().into_iter().find(|(taker, _)| taker == path);
        let (_, owner) = taker.ok_or_else(|| format!("{} takes no lines.", path.display()))?;
        let real = self.place_of(path, owner)?;
        let exists = is_there(&real);
        let before = if exists { read::whole(&real)? } else { String::new() };
        let end = match before.split_inclusive('\n').next().map(line_end) {
            Some(end) if !end.is_empty() => end,
            _ => "\n",
        };
        let gap = if before.is_empty() || before.ends_with('\n') { "" } else { end };
        let text = format!("{before}{gap}{}{end}", entry(line));
        replace_whole(&real, text.as_bytes(), FileRights::AsBefore)
            .map_err(|error| format!("cannot be written: {error}."))?;
        Ok((self.shown(path), WrittenFile { path: real, text }))
    }

    /// Returns where a file lies, which need not be there. Its folder is made.
    fn place_of(&self, path: &Path, owner: MemoryOwner) -> Result<PathBuf, String> {
        let why = |error: std::io::Error| format!("{}: {error}.", path.display());
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(format!("{} is no file.", path.display()));
        };
        if !folder.exists() {
            std::fs::create_dir_all(folder).map_err(why)?;
        }
        let real = if is_there(path) {
            path.canonicalize().map_err(why)?
        } else {
            folder.canonicalize().map_err(why)?.join(name)
        };
        if owner.is_projects() && !real.starts_with(self.project.as_path()) {
            return Err(format!("{} leads out of the project.", path.display()));
        }
        Ok(real)
    }
}

/// Returns a line as an entry of a list.
fn entry(line: &str) -> String {
    let line = line.trim();
    if line.starts_with("- ") || line.starts_with("* ") { line.to_owned() } else { format!("- {line}") }
}
