//! Where a repository lies, and whether reading it stays inside the project.
//!
//! Everything here blocks. Invariant: only plain files and folders of the user's own are read.

use std::io;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use super::Refused;
use crate::whole_file;

/// Bytes of the longest file that names a folder.
const MAX_POINTER_BYTES: u64 = 4 << 10;
/// Entries of a git folder that are looked at; a repository that is packed now and then has fewer.
const MAX_ENTRIES: usize = 200_000;
/// How deep the folders in a git folder nest; parts of a branch's name are folders.
const MAX_DEPTH: usize = 32;
/// What git does not read when it is asked a question; links there do not matter.
const UNREAD: [&str; 7] = ["hooks", "modules", "worktrees", "lfs", "annex", "branches", "description"];
/// What files of the git folder name places that objects come from.
const BORROWED: [&str; 2] = ["objects/info/alternates", "objects/info/http-alternates"];
/// What git writes objects and refs in.
const WRITTEN: [&str; 5] = ["objects", "refs", "packed-refs", "reftable", "worktrees"];
/// Bytes of the longest file that is read as a whole: lists of ignored names, of commits without parents.
const MAX_FILE_BYTES: u64 = 16 << 20;
/// Where git's own monitor of files listens.
const MONITOR: &str = "fsmonitor--daemon.ipc";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repository {
    /// The folder of its files, with links resolved.
    pub top: PathBuf,
    /// git's folder for these files.
    pub git_dir: PathBuf,
    /// git's folder for all worktrees of the repository: the same one, unless this is a linked worktree.
    pub common_dir: PathBuf,
}

impl Repository {
    /// Returns the folders of its files: these, and those of the main checkout where this is a linked worktree. What lies
    /// there is never started as a program.
    pub fn checkouts(&self) -> Vec<&Path> {
        let main = self.common_dir.parent().filter(|_| self.common_dir.file_name().is_some_and(|name| name == ".git"));
        std::iter::once(self.top.as_path()).chain(main).collect()
    }

    /// Returns `true` if this is a worktree that the folder of another checkout holds, and that folder knows it: a file
    /// in the worktree alone could name any folder as git's.
    pub fn is_linked(&self) -> bool {
        let is_below = self.git_dir.parent() == Some(self.common_dir.join("worktrees").as_path());
        is_below && self.is_known_to_git_dir(None)
    }

    /// Returns `true` if git's folder lies apart from these files, is theirs alone, and knows them: a file among them alone
    /// could name any folder as git's.
    pub fn is_apart(&self) -> bool {
        let lies_apart = !self.git_dir.starts_with(&self.top) && !self.top.starts_with(&self.git_dir);
        self.git_dir == self.common_dir && lies_apart && self.is_known_to_git_dir(None)
    }

    /// Returns `true` if a branch is checked out here or in another worktree.
    pub fn is_checked_out(&self, reference: &str) -> bool {
        let others = std::fs::read_dir(self.common_dir.join("worktrees")).into_iter().flatten().flatten();
        let heads = [&self.git_dir, &self.common_dir].map(|folder| folder.join("HEAD"));
        let is_here = |head: &str| head.strip_prefix("ref:").is_some_and(|name| name.trim() == reference);
        let mut heads = heads.into_iter().chain(others.map(|other| other.path().join("HEAD")));
        heads.any(|head| read_pointer(&head).is_ok_and(|head| is_here(&head)))
    }

    /// Returns what a file in git's folder for all worktrees holds: nothing if it is not there.
    pub fn read(&self, name: &str) -> Result<Vec<u8>, Refused> {
        let path = self.common_dir.join(name);
        if path.symlink_metadata().is_err() { Ok(Vec::new()) } else { read_plain(&path, MAX_FILE_BYTES) }
    }

    /// Checks that git meets plain files and folders only, whatever it reads in its folder.
    pub fn check_entries(&self) -> Result<(), Refused> {
        check_plain(&self.git_dir, 0, &mut { MAX_ENTRIES })
    }

    /// Checks that git follows no link when it writes objects, or this ref. Returns an error that names the link.
    pub fn check_writes(&self, reference: Option<&str>) -> Result<(), Refused> {
        let in_common = |name: &str| self.common_dir.join(name);
        let mut places: Vec<PathBuf> = WRITTEN.map(in_common).to_vec();
        for folder in WRITTEN.map(in_common) {
            places.extend(std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()));
        }
        if let Some(reference) = reference {
            let whole = in_common(reference);
            places.extend(whole.ancestors().take_while(|path| *path != self.common_dir).map(Path::to_path_buf));
        }
        match places.iter().find(|path| path.is_symlink()) {
            Some(link) => Err(Refused::at(link, "is a link, and git would write where it leads; remove it")),
            None => Ok(()),
        }
    }

    /// Finds the repository around `cwd`, an absolute path with links resolved. `None` means that there is none.
    /// Returns an error if something lies there that is no repository of the user's own.
    pub fn around(cwd: &Path) -> Result<Option<Self>, Refused> {
        let Some(top) = cwd.ancestors().find(|folder| folder.join(".git").symlink_metadata().is_ok()) else {
            return Ok(None);
        };
        let dot_git = top.join(".git");
        let facts = dot_git.metadata().map_err(Refused::disk(&dot_git))?;
        let git_dir = if facts.is_file() {
            let pointer = read_pointer(&dot_git)?;
            let named = pointer.strip_prefix("gitdir:").map(str::trim);
            top.join(named.ok_or_else(|| Refused::at(&dot_git, "names no folder of git's"))?)
        } else {
            dot_git.clone()
        };
        Self::at(top, &git_dir).map(Some)
    }

    /// Returns the repository with these files and this folder of git's. Returns an error if it is none of the user's
    /// own, or holds pipes or devices where git would read.
    pub fn at(top: &Path, git_dir: &Path) -> Result<Self, Refused> {
        let real = |path: &Path| path.canonicalize().map_err(Refused::disk(path));
        let git_dir = real(git_dir)?;
        let common_dir = match read_pointer(&git_dir.join("commondir")) {
            Ok(common) => real(&git_dir.join(common.trim()))?,
            Err(_) if git_dir.join("commondir").symlink_metadata().is_err() => git_dir.clone(),
            Err(refused) => return Err(refused),
        };
        let found = Self { top: real(top)?, git_dir, common_dir };
        for folder in [&found.git_dir, &found.common_dir] {
            found.check_folder(folder)?;
        }
        Ok(found)
    }

    /// Checks whose a folder is, and that reading a file in it ends.
    fn check_folder(&self, folder: &Path) -> Result<(), Refused> {
        let facts = folder.metadata().map_err(Refused::disk(folder))?;
        if !facts.is_dir() {
            return Err(Refused::at(folder, "is not a folder"));
        }
        let owner = facts.uid();
        let dot_git = self.top.join(".git");
        let pointer = dot_git.symlink_metadata().map_or(owner, |facts| facts.uid());
        if [owner, pointer].iter().any(|owner| *owner != nix::unistd::geteuid().as_raw()) {
            return Err(Refused::at(folder, "belongs to another user"));
        }
        for entry in std::fs::read_dir(folder).map_err(Refused::disk(folder))? {
            let path = entry.map_err(Refused::disk(folder))?.path();
            let kind = path.metadata().map(|facts| facts.file_type());
            if kind.is_ok_and(|kind| kind.is_fifo() || kind.is_char_device() || kind.is_block_device()) {
                return Err(Refused::at(&path, "is not a plain file"));
            }
        }
        Ok(())
    }

    /// Checks that git reads nothing outside of `project` when it is asked about this repository. A worktree may have
    /// its folder elsewhere if that folder knows it: `worktree` is what the repository's settings call its files.
    /// Returns an error that says what leads out.
    pub(super) fn check_within(&self, project: &Path, worktree: Option<&Path>) -> Result<(), Refused> {
        let project = project.canonicalize().map_err(Refused::disk(project))?;
        if !self.top.starts_with(&project) {
            return Err(Refused::at(&self.top, "is not part of the project"));
        }
        for name in [".git", ".mailmap"] {
            let path = self.top.join(name);
            if path.is_symlink() {
                return Err(Refused::at(&path, "is a link"));
            }
        }
        let is_known = || self.is_known_to_git_dir(worktree);
        if !self.git_dir.starts_with(&project) && !is_known() {
            return Err(Refused::at(&self.git_dir, "is the git folder of other files"));
        }
        let is_linked = self.git_dir.parent().and_then(Path::parent) == Some(&self.common_dir);
        if !self.common_dir.starts_with(&project) && self.common_dir != self.git_dir && !(is_linked && is_known()) {
            return Err(Refused::at(&self.common_dir, "is the git folder of another repository"));
        }
        // Where it is no part of the project, it is the user's own work or ours.
        let is_ours = self.is_apart() && !self.git_dir.starts_with(&project);
        for name in BORROWED.into_iter().filter(|_| !is_ours) {
            let path = self.common_dir.join(name);
            if path.symlink_metadata().is_ok_and(|facts| facts.len() > 0) {
                return Err(Refused::at(&path, "borrows objects of another repository"));
            }
        }
        let mut entries = MAX_ENTRIES;
        check_plain(&self.git_dir, 0, &mut entries)?;
        if self.common_dir != self.git_dir {
            check_plain(&self.common_dir, 0, &mut entries)?;
        }
        Ok(())
    }

    /// Checks that the repository's settings do not put its files elsewhere. They say nothing of linked worktrees.
    /// Returns an error if they do.
    pub(super) fn check_worktree(&self, worktree: Option<&Path>) -> Result<(), Refused> {
        let place = worktree.map(|path| self.git_dir.join(path).canonicalize().ok());
        if self.git_dir == self.common_dir && place.is_some_and(|place| place.as_ref() != Some(&self.top)) {
            return Err(Refused::at(&self.git_dir, "has its files elsewhere"));
        }
        Ok(())
    }

    /// Returns `true` if git's folder says that these files are its own.
    fn is_known_to_git_dir(&self, worktree: Option<&Path>) -> bool {
        let real = |path: &Path| self.git_dir.join(path).canonicalize().ok();
        let linked = read_pointer(&self.git_dir.join("gitdir")).ok();
        linked.is_some_and(|path| real(Path::new(path.trim())) == self.top.join(".git").canonicalize().ok())
            || worktree.is_some_and(|path| real(path).as_deref() == Some(&self.top))
    }
}

/// Checks that a word of a command names nothing that lies outside of `project`, also through links.
pub(super) fn check_word(word: &str, cwd: &Path, project: &Path) -> Result<(), Refused> {
    let path = cwd.join(word);
    match path.ancestors().find_map(|path| path.canonicalize().ok()) {
        Some(real) if real.starts_with(project) => Ok(()),
        _ => Err(Refused::at(&path, "leads out of the project")),
    }
}

/// Checks that what git reads in a folder are plain files and folders.
fn check_plain(folder: &Path, depth: usize, entries: &mut usize) -> Result<(), Refused> {
    if depth > MAX_DEPTH {
        return Err(Refused::at(folder, "nests too deep"));
    }
    for entry in std::fs::read_dir(folder).map_err(Refused::disk(folder))? {
        let entry = entry.map_err(Refused::disk(folder))?;
        *entries = entries.checked_sub(1).ok_or_else(|| Refused::at(folder, "holds too many files"))?;
        let (name, path) = (entry.file_name(), entry.path());
        if depth == 0 && UNREAD.iter().any(|unread| name == *unread) {
            continue;
        }
        let kind = entry.file_type().map_err(Refused::disk(&path))?;
        if kind.is_dir() {
            check_plain(&path, depth + 1, entries)?;
        } else if !(kind.is_file() || kind.is_socket() && name == MONITOR) {
            return Err(Refused::at(&path, "is not a plain file"));
        }
    }
    Ok(())
}

fn read_pointer(path: &Path) -> Result<String, Refused> {
    let bytes = read_plain(path, MAX_POINTER_BYTES)?;
    let text = String::from_utf8(bytes).map_err(|_| Refused::at(path, "names a folder in another encoding"))?;
    Ok(text)
}

/// Reads a plain file of at most `max` bytes.
pub(super) fn read_plain(path: &Path, max: u64) -> Result<Vec<u8>, Refused> {
    whole_file::read_plain(path, max).map_err(|error| match error.kind() {
        io::ErrorKind::InvalidInput => Refused::at(path, "is not a plain file"),
        io::ErrorKind::FileTooLarge => Refused::at(path, "is too long"),
        _ => Refused::disk(path)(error),
    })
}
