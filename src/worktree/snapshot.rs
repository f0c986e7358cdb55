//! The present state of a working tree as a tree of git's, made without touching anything of the user's.
//!
//! Owns which files belong to the state. Leaves what is done with it to the callers. Invariants: index, HEAD, stash and
//! files stay as they are, the work is done on a copy of the index; what is ignored does not belong to the state, nor do
//! repositories inside of it.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use super::WorktreeError;
use super::git::Git;
use crate::temporary::TemporaryFolder;

/// Begins the names of folders for copies of an index.
const SCRATCH: &str = ".index-";
/// The mode of an entry that is a repository of its own.
const REPOSITORY: &[u8] = b"160000";

/// What becomes of files that git does not know yet.
#[derive(Debug, Clone, Copy)]
pub(super) enum Untracked {
    /// All belong to the state.
    All,
    /// Those of at most this many bytes.
    UpTo(u64),
}

#[derive(Debug)]
pub(super) struct Snapshot {
    pub(super) tree: String,
    /// git with the index of this state, which also knows when each file was read.
    pub(super) git: Git,
    /// Folders that hold a repository of their own, and are not part of the state.
    pub(super) nested: Vec<PathBuf>,
    _scratch: TemporaryFolder,
}

impl Snapshot {
    /// Takes the state of the working tree with this root.
    pub(super) async fn take(
        git: &Git,
        root: &Path,
        scratch: &Path,
        untracked: Untracked,
    ) -> Result<Self, WorktreeError> {
        let index = git.call("finding its index").args(["rev-parse", "--git-path", "index"]).run().await?;
        let index = root.join(OsStr::from_bytes(index.trim_ascii_end()));
        let (scratch, copy, is_copied) = {
            let folder = scratch.to_path_buf();
            blocking(move || copy_index(&index, &folder)).await?
        };
        let git = git.with_index(&copy);
        if !is_copied {
            git.call("reading the last commit").args(["read-tree", "HEAD"]).run().await?;
        }
        let nested = add_all(&git, root, untracked).await?;
        let tree = git.call("writing a snapshot").arg("write-tree").line().await?;
        Ok(Self { tree, git, nested, _scratch: scratch })
    }

    /// Makes a commit of the state.
    pub(super) async fn commit(&self, parent: &str) -> Result<String, WorktreeError> {
        let call = self.git.call("keeping a snapshot").args(["commit-tree", "--no-gpg-sign", "-p", parent]);
        call.args(["-m", "Snapshot of the working tree", &self.tree]).line().await
    }
}

/// Brings the index up to the files. Each path is named to git, so that it looks into no repository inside of this one.
async fn add_all(git: &Git, root: &Path, untracked: Untracked) -> Result<Vec<PathBuf>, WorktreeError> {
    let listing = git.call("listing changed files");
    let changed =
        listing.args(["diff-files", "--name-status", "--no-renames", "--ignore-submodules=all", "-z"]).run().await?;
    let listing = git.call("listing new files");
    let new = listing.args(["ls-files", "--others", "--exclude-standard", "-z"]).run().await?;
    let entries = git.call("listing files").args(["ls-files", "--stage", "-z"]).run().await?;
    let root = root.to_path_buf();
    let (gone, there, nested) = blocking(move || {
        let (mut gone, mut there, mut nested) = (BTreeSet::new(), Vec::new(), Vec::new());
        let mut fields = changed.split(|byte| *byte == 0);
        while let (Some(status), Some(path)) = (fields.next(), fields.next()) {
            let is_gone = status == b"D" || root.join(OsStr::from_bytes(path)).symlink_metadata().is_err();
            if is_gone {
                gone.insert(path.to_vec());
            } else {
                there.push(path.to_vec());
            }
        }
        for path in new.split(|byte| *byte == 0).filter(|path| !path.is_empty()) {
            match (path.strip_suffix(b"/"), untracked) {
                (Some(folder), _) => nested.push(path_of(folder)),
                (None, Untracked::UpTo(most)) if size_of(&root.join(OsStr::from_bytes(path))) > most => {}
                (None, _) => there.push(path.to_vec()),
            }
        }
        for entry in entries.split(|byte| *byte == 0).filter(|entry| entry.starts_with(REPOSITORY)) {
            let path = entry.splitn(2, |byte| *byte == b'\t').nth(1).map(path_of).unwrap_or_default();
            if root.join(&path).join(".git").symlink_metadata().is_ok() {
                nested.push(path);
            }
        }
        Ok((gone.into_iter().collect(), there, nested))
    })
    .await?;
    let update = ["update-index", "-z", "--stdin"];
    for (options, paths) in [(&["--force-remove"][..], gone), (&["--add", "--remove", "--replace"], there)] {
        if !paths.is_empty() {
            let paths = paths.join(&0);
            git.call("taking a snapshot").arg(update[0]).args(options).args(&update[1..]).input(paths).run().await?;
        }
    }
    Ok(nested)
}

/// Copies an index with the time it was written at: git tells by it which entries it has to look at twice. Returns
/// whether there was one.
fn copy_index(index: &Path, folder: &Path) -> Result<(TemporaryFolder, PathBuf, bool), WorktreeError> {
    let scratch = TemporaryFolder::within(folder, SCRATCH);
    let scratch = scratch.map_err(WorktreeError::disk(folder, "written to"))?;
    let copy = scratch.path().join("index");
    match index.metadata() {
        Err(missing) if missing.kind() == io::ErrorKind::NotFound => return Ok((scratch, copy, false)),
        _ => copy_with_time(index, &copy)?,
    }
    Ok((scratch, copy, true))
}

/// Copies a plain file with the time it was written at.
pub(super) fn copy_with_time(from: &Path, to: &Path) -> Result<(), WorktreeError> {
    // A pipe that lies there must not hold the program up.
    let flags = nix::libc::O_NONBLOCK | nix::libc::O_NOCTTY;
    let old = OpenOptions::new().read(true).custom_flags(flags).open(from);
    let mut old = old.map_err(WorktreeError::disk(from, "read"))?;
    let facts = old.metadata().map_err(WorktreeError::disk(from, "read"))?;
    if !facts.is_file() {
        return Err(WorktreeError::disk(from, "read")(io::ErrorKind::InvalidInput.into()));
    }
    let written = facts.modified().map_err(WorktreeError::disk(from, "read"))?;
    let mut write = || {
        let mut new = File::create(to)?;
        io::copy(&mut old, &mut new)?;
        new.set_modified(written)
    };
    write().map_err(WorktreeError::disk(to, "written"))
}

fn size_of(path: &Path) -> u64 {
    path.symlink_metadata().map_or(0, |facts| facts.len())
}

pub(super) fn path_of(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(bytes))
}

/// Runs what waits for the disk away from the threads that drive agents and screen.
pub(super) async fn blocking<T, F>(work: F) -> Result<T, WorktreeError>
where
    T: Send + 'static,
    F: FnOnce() -> Result<T, WorktreeError> + Send + 'static,
{
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => Err(WorktreeError::Git { act: "working with files", said: error.to_string() }),
    }
}
