//! Finds the agent files, or the commands, below a folder, and skills in it.
//!
//! Owns which files count. Leaves reading them to `cache`. Invariants: nothing is opened here but folders, so that a
//! pipe cannot hold the program up; every folder is entered once, so that links in a circle end; and what is left out is
//! told, but for what editors leave behind. In a project no link leads out of it, and files of other users are left out.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs::{self, FileType};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::DirBounds;
use crate::message::Diagnostic;

/// Folders below each other.
const MAX_DEPTH: usize = 16;
/// Folders of one tree.
const MAX_FOLDERS: usize = 1_024;
/// Files and folders of one tree that are looked at.
const MAX_ENTRIES: usize = 50_000;

/// What lies below a folder.
#[derive(Default)]
pub(super) struct FoundFile {
    pub(super) files: Vec<PathBuf>,
    pub(super) errors: Vec<Diagnostic>,
}

/// Finds the Markdown files below a folder, which need not exist. Links are followed. `home` is where the user keeps such
/// files of their own.
pub(super) fn find(folder: &Path, bounds: Option<&DirBounds>, home: &'static str) -> FoundFile {
    Walk::of(Wanted::Below, bounds, home).through(folder)
}

/// Finds the skills in a folder, which need not exist: each is a folder with a file `SKILL.md`. Links are followed.
pub(super) fn find_skills(folder: &Path, bounds: Option<&DirBounds>) -> FoundFile {
    Walk::of(Wanted::Skills, bounds, "~/.claude/skills").through(folder)
}

/// What is looked for.
#[derive(Clone, Copy, PartialEq)]
enum Wanted {
    /// Markdown files, however deep.
    Below,
    /// `SKILL.md` in the folders of this one.
    Skills,
}

impl Wanted {
    /// Returns `true` if a file counts that lies so deep.
    fn takes(self, name: &OsStr, depth: usize) -> bool {
        match self {
            Self::Below => is_agent_file(name),
            Self::Skills => depth == 1 && name.eq_ignore_ascii_case("SKILL.md"),
        }
    }

    fn enters(self, depth: usize) -> bool {
        self == Self::Below || depth == 0
    }
}

/// Returns `true` if a file's name is that of an agent file, and none that an editor leaves beside it.
fn is_agent_file(name: &OsStr) -> bool {
    let is_ending = |ending: &OsStr| ["md", "markdown"].iter().any(|known| ending.eq_ignore_ascii_case(known));
    !name.as_encoded_bytes().starts_with(b".") && Path::new(name).extension().is_some_and(is_ending)
}

struct Walk<'a> {
    wanted: Wanted,
    bounds: Option<&'a DirBounds>,
    home: &'static str,
    found: FoundFile,
    /// Device and number of each folder.
    entered: HashSet<(u64, u64)>,
    seen: usize,
}

impl<'a> Walk<'a> {
    fn of(wanted: Wanted, bounds: Option<&'a DirBounds>, home: &'static str) -> Self {
        Self { wanted, bounds, home, found: FoundFile::default(), entered: HashSet::new(), seen: 0 }
    }

    fn through(mut self, folder: &Path) -> FoundFile {
        if fs::symlink_metadata(folder).is_ok() {
            self.enter(folder, 0);
        }
        self.found.files.sort();
        self.found
    }

    fn error(&mut self, path: &Path, reason: String) {
        self.found.errors.push(Diagnostic::in_file(path, reason));
    }

    fn enter(&mut self, folder: &Path, depth: usize) {
        let metadata = match fs::metadata(folder) {
            Ok(metadata) => metadata,
            Err(error) => return self.unreachable(folder, &error),
        };
        if let Some(reason) = self.refusal(folder, &metadata) {
            return self.error(folder, reason);
        }
        if !self.entered.insert((metadata.dev(), metadata.ino())) {
            return;
        }
        if depth > MAX_DEPTH || self.entered.len() > MAX_FOLDERS {
            let reason = "too many folders, or nested too deeply; folder skipped. Move its files up.";
            return self.error(folder, reason.to_owned());
        }
        match fs::read_dir(folder) {
            Ok(entries) => {
                let mut entries: Vec<fs::DirEntry> = entries.flatten().take(MAX_ENTRIES).collect();
                entries.sort_by_key(fs::DirEntry::file_name);
                for entry in entries {
                    self.seen += 1;
                    if self.seen > MAX_ENTRIES {
                        let reason = "too many files; the rest are skipped. Keep only such files in this folder.";
                        return self.error(folder, reason.to_owned());
                    }
                    self.entry(&entry, depth);
                }
            }
            Err(error) if error.kind() == ErrorKind::NotADirectory => {
                self.error(folder, "not a folder. Delete this file and create a folder.".to_owned());
            }
            Err(error) => {
                self.error(folder, format!("cannot read this folder: {error}. Allow reading with `chmod u+rx`."));
            }
        }
    }

    fn entry(&mut self, entry: &fs::DirEntry, depth: usize) {
        let (path, name) = (entry.path(), entry.file_name());
        let is_wanted = self.wanted.takes(&name, depth);
        let Ok(kind) = entry.file_type() else { return };
        let kind = if kind.is_symlink() {
            match fs::metadata(&path) {
                Ok(metadata) => metadata.file_type(),
                // An editor locks a file with a link to nowhere.
                Err(_) if name.as_encoded_bytes().starts_with(b".") => return,
                Err(error) => return self.unreachable(&path, &error),
            }
        } else {
            kind
        };
        if kind.is_dir() {
            // Git keeps its own files there.
            if name != ".git" && self.wanted.enters(depth) {
                self.enter(&path, depth + 1);
            }
        } else if is_wanted {
            self.file(path, kind);
        }
    }

    fn file(&mut self, path: PathBuf, kind: FileType) {
        if kind.is_file() {
            let refusal = self.bounds.and_then(|_| self.refusal(&path, &fs::metadata(&path).ok()?));
            match refusal {
                Some(reason) => self.error(&path, reason),
                None => self.found.files.push(path),
            }
        } else {
            self.error(&path, "a pipe, socket or device, not a regular file; skipped. Delete it.".to_owned());
        }
    }

    /// Says why a file or folder that others may have put there is not used.
    fn refusal(&self, path: &Path, metadata: &fs::Metadata) -> Option<String> {
        let bounds = self.bounds?;
        if !bounds.owner.trusts(metadata.uid()) {
            let whose = nix::unistd::User::from_uid(metadata.uid().into()).ok().flatten();
            let whose = whose.map_or_else(|| format!("user {}", metadata.uid()), |user| user.name);
            return Some(format!("owned by {whose}, so skipped. If you trust this file, make it yours with `chown`."));
        }
        let target = fs::canonicalize(path).ok()?;
        (!target.starts_with(&bounds.root)).then(|| {
            format!(
                "links to {}, outside the project, so skipped. Copy the file here, or put it in {}.",
                target.display(),
                self.home
            )
        })
    }

    /// Reports what a link or a folder hides.
    fn unreachable(&mut self, path: &Path, error: &std::io::Error) {
        let reason = match (error.kind(), fs::read_link(path)) {
            (ErrorKind::NotFound, Ok(target)) => {
                format!("broken link: {} does not exist. Fix or delete the link.", target.display())
            }
            // It was removed while it was looked at.
            (ErrorKind::NotFound, Err(_)) => return,
            (_, Ok(target)) => {
                format!("cannot follow the link to {}: {error}. Fix or delete it.", target.display())
            }
            (_, Err(_)) => format!("cannot be read: {error}. Make it readable, or delete it."),
        };
        self.error(path, reason);
    }
}
