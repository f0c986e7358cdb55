//! The files of a worktree on their way to where its agent runs, and what comes back of them.
//!
//! Owns both ends: the worktree here, and the folder there. Leaves sending to the callers. Invariants: what comes from the other side is
//! a stranger's: it is bounded and checked before it is written, and runs nothing; the worktree holds a whole state at any
//! time, or the one before; no history leaves this machine, only files.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

use super::acted;
use super::git::Git;
use super::place::file_name;
use super::snapshot::{Snapshot, Untracked, blocking};
use super::{Worktree, WorktreeError, Worktrees, plain_join};
use crate::git::Repository;
use crate::message::{FolderState, MAX_PACK};
use crate::program::SearchPath;
use crate::temporary::TemporaryFolder;

/// Objects of a pack that is taken apart; a larger one is kept as it is.
const LOOSE_OBJECTS: u32 = 100;
/// Bytes of all files of a state.
const MAX_BYTES: u64 = 4 << 30;
/// Files of a state.
const MAX_FILES: usize = 500_000;
/// Settings that hold for names from anywhere, whatever this system's file names are.
const STRICT: [&str; 6] =
    ["-c", "core.protectHFS=true", "-c", "core.protectNTFS=true", "-c", "core.bigFileThreshold=16m"];
/// Begins the names of folders for an index.
const SCRATCH: &str = ".index-";
/// Begins the names of folders for what comes back file by file.
const LANDING: &str = ".belvedere-folder-";
/// What is said of folders that came from elsewhere.
const KIND: &str = "folder";

/// A worktree whose agent works in a copy of it, somewhere else.
#[derive(Debug, Clone)]
pub struct CarriedFolder {
    worktrees: Arc<Worktrees>,
    worktree: Arc<Worktree>,
    /// The ids of what the other side has been sent, or has sent.
    known: Arc<Mutex<BTreeSet<String>>>,
}

impl CarriedFolder {
    #[must_use]
    pub fn new(worktrees: Arc<Worktrees>, worktree: Arc<Worktree>) -> Self {
        Self { worktrees, worktree, known: Arc::default() }
    }

    #[must_use]
    pub fn root(&self) -> &Path {
        &self.worktree.root
    }

    /// Returns what the folder is called: as the project is.
    #[must_use]
    pub fn name(&self) -> String {
        self.worktree.repository.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// Returns the way from its root to where the agent works.
    #[must_use]
    pub fn inside(&self) -> PathBuf {
        self.worktree.cwd.strip_prefix(&self.worktree.root).map(Path::to_path_buf).unwrap_or_default()
    }

    async fn git(&self, cancel: &CancellationToken) -> Result<Git, WorktreeError> {
        let Worktree { root, repository, git_dir, branch, .. } = &*self.worktree;
        if !root.is_dir() {
            return Err(WorktreeError::Gone { root: root.clone(), branch: branch.clone() });
        }
        let program = self.worktrees.program(&[root, repository])?;
        Git::linked(&program, root, git_dir, cancel).await
    }

    /// Packs the files as they are, without their history. Of agents that begin with the same files, the first packs them.
    ///
    /// # Errors
    /// Returns why it cannot: git or a disk fails, or they are too large.
    pub async fn pack(&self, cancel: &CancellationToken) -> Result<FolderState, WorktreeError> {
        let git = self.git(cancel).await?;
        let snapshot = Snapshot::take(&git, &self.worktree.root, &self.worktree.claim.folder, Untracked::All).await?;
        self.known.lock().await.extend(ids_below(&git, &snapshot.tree).await?);
        let mut packed = self.worktrees.packed.lock().await;
        if let Some((_, state)) = packed.as_ref().filter(|(tree, _)| *tree == snapshot.tree) {
            return Ok(state.clone());
        }
        let commit = commit_alone(&git, &snapshot.tree).await?;
        let call = git.call("packing the files").args(["pack-objects", "--revs", "--stdout", "-q"]);
        let pack = call.input(format!("{commit}\n").into_bytes()).run().await?;
        let state = FolderState { commit, pack: Arc::new(pack), left_out: snapshot.nested };
        *packed = Some((snapshot.tree, state.clone()));
        Ok(state)
    }

    /// Makes the files of the worktree those of a state that came back. Returns the folders in it that are repositories of
    /// their own, or that git would take for one; they stay behind.
    ///
    /// # Errors
    /// Returns why it cannot; the worktree is then as it was.
    pub async fn take(&self, state: &FolderState, cancel: &CancellationToken) -> Result<Vec<PathBuf>, WorktreeError> {
        let git = self.git(cancel).await?;
        let brought = brought(&git, state).await?;
        let mut known = self.known.lock().await;
        store(&git, state).await?;
        // Whatever else is in the repository here, the other side was not sent it, and may not name it.
        let tree = tree_of(&git, &state.commit).await?;
        let is_theirs = |id: &String| brought.contains(id) || known.contains(id);
        if !brought.contains(&state.commit) || !ids_below(&git, &tree).await?.iter().all(is_theirs) {
            return Err(WorktreeError::Unsound("they name what was never sent there".to_owned()));
        }
        known.extend(brought);
        drop(known);
        self.put(&git, state).await
    }

    /// Writes the files of a state.
    async fn put(&self, git: &Git, state: &FolderState) -> Result<Vec<PathBuf>, WorktreeError> {
        let (mut left_out, mut commit) = (state.left_out.clone(), state.commit.clone());
        let before = acted::shapes(git, &self.worktree.base).await?;
        let coming = acted::shapes(git, &commit).await?.repositories();
        let coming: Vec<PathBuf> = coming.into_iter().filter(|folder| !before.is_repository(folder)).collect();
        if coming.iter().any(|folder| folder.as_os_str().is_empty()) {
            return Err(WorktreeError::Unsound("their folder looks like a git repository itself".to_owned()));
        }
        if !coming.is_empty() {
            commit = self.without(git, &commit, &coming).await?;
            left_out.extend(coming);
        }
        // A stop in the middle would leave half of the files.
        let call = git.call("writing what came back").args(STRICT).args(["read-tree", "--reset", "-u", &commit]);
        call.whole().run().await?;
        Ok(left_out)
    }

    /// Returns a commit with the files of another one but for those below some folders.
    async fn without(&self, git: &Git, commit: &str, folders: &[PathBuf]) -> Result<String, WorktreeError> {
        let place = self.worktree.claim.folder.clone();
        let scratch = blocking(move || {
            TemporaryFolder::within(&place, SCRATCH).map_err(WorktreeError::disk(&place, "written to"))
        });
        let scratch = scratch.await?;
        let git = git.with_index(&scratch.path().join("index"));
        git.call("reading a state").args(STRICT).args(["read-tree", commit]).run().await?;
        let files = git.call("listing files").args(["ls-files", "-z", "--"]).args(folders).run().await?;
        let update = git.call("leaving files out").args(["update-index", "-z", "--force-remove", "--stdin"]);
        update.input(files).run().await?;
        let tree = git.call("keeping a state").arg("write-tree").line().await?;
        commit_alone(&git, &tree).await
    }

    /// Makes an empty folder for what is to come back, which is gone with this value.
    ///
    /// # Errors
    /// Returns that a disk does not take it.
    pub async fn landing(&self) -> Result<TemporaryFolder, WorktreeError> {
        let folder = self.worktree.claim.folder.clone();
        blocking(move || {
            let landing = TemporaryFolder::within(&folder, LANDING);
            landing.map_err(WorktreeError::disk(&folder, "written to"))
        })
        .await
    }

    /// Makes the files of the worktree those of a folder that came back. Returns the folders in it that are repositories of
    /// their own, and stay behind like what git ignores.
    ///
    /// # Errors
    /// Returns why it cannot; the worktree is then as it was.
    pub async fn take_files(&self, folder: &Path, cancel: &CancellationToken) -> Result<Vec<PathBuf>, WorktreeError> {
        let git = self.git(cancel).await?;
        let Worktree { root, repository, git_dir, claim, .. } = &*self.worktree;
        let there = Git::linked(&self.worktrees.program(&[root, repository])?, folder, git_dir, cancel).await?;
        let snapshot = Snapshot::take(&there, folder, &claim.folder, Untracked::All).await?;
        // On its way through a pack it is checked like what another git has sent.
        let commit = commit_alone(&git, &snapshot.tree).await?;
        let objects = git.call("packing what came back").args(["pack-objects", "--revs", "--thin", "--stdout", "-q"]);
        let pack = objects.input(format!("{commit}\n^{}\n", self.worktree.base).into_bytes()).run().await?;
        let state = FolderState { commit, pack: Arc::new(pack), left_out: snapshot.nested };
        store(&git, &state).await?;
        self.put(&git, &state).await
    }
}

/// Returns `true` if what lies below a folder is more than anyone would have meant. Blocks.
#[must_use]
pub fn is_too_much(folder: &Path) -> bool {
    let (mut left, mut folders) = (MAX_BYTES, vec![folder.to_path_buf()]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let Ok(facts) = entry.path().symlink_metadata() else { continue };
            match left.checked_sub(if facts.is_file() { facts.len() } else { 0 }) {
                Some(rest) => left = rest,
                None => return true,
            }
            if facts.is_dir() {
                folders.push(entry.path());
            }
        }
    }
    false
}

/// A folder that another machine has sent, for an agent to work in. It is gone with this value.
#[derive(Debug)]
pub struct ReceivedFolder {
    folder: TemporaryFolder,
    root: PathBuf,
    program: PathBuf,
    /// The trees of the states that the sender may know.
    known: BTreeMap<String, String>,
}

impl ReceivedFolder {
    /// Unpacks a state into a folder of its own, with this name; `inside` it there is a folder to work in.
    ///
    /// # Errors
    /// Returns why it cannot; nothing is left behind then.
    pub async fn unpack(
        (name, inside): (&str, &Path),
        state: &FolderState,
        cancel: &CancellationToken,
    ) -> Result<Self, WorktreeError> {
        if inside.components().any(|part| !matches!(part, Component::Normal(_))) {
            return Err(WorktreeError::Unsound("its working directory leads out of it".to_owned()));
        }
        let name = file_name(name, "project");
        let (folder, root) = blocking(move || {
            let folder =
                TemporaryFolder::new(KIND).map_err(WorktreeError::disk(&std::env::temp_dir(), "written to"))?;
            let root = folder.path().join(name);
            std::fs::create_dir(&root).map_err(WorktreeError::disk(&root, "created"))?;
            let root = root.canonicalize().map_err(WorktreeError::disk(&root, "found"))?;
            Ok((folder, root))
        })
        .await?;
        let program = SearchPath::of_process(&[&root]).find("git").ok_or(WorktreeError::NoGit)?;
        let format = if state.commit.len() == 64 { "sha256" } else { "sha1" };
        let alone = Git::alone(&program, &[&root], &root, cancel);
        let init = alone.call("making a repository").args(["init", "-q", "--initial-branch=work"]);
        init.arg(format!("--object-format={format}")).run().await?;
        let mut received = Self { folder, root, program, known: BTreeMap::new() };
        let git = received.git(cancel).await?;
        store(&git, state).await?;
        git.call("making a branch").args(["update-ref", "HEAD", &state.commit]).run().await?;
        let call = git.call("writing the files").args(STRICT).args(["read-tree", "--reset", "-u", &state.commit]);
        call.run().await?;
        let tree = tree_of(&git, &state.commit).await?;
        received.known.insert(state.commit.clone(), tree);
        let cwd = plain_join(&received.root, inside);
        blocking(move || std::fs::create_dir_all(&cwd).map_err(WorktreeError::disk(&cwd, "created"))).await?;
        Ok(received)
    }

    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    async fn git(&self, cancel: &CancellationToken) -> Result<Git, WorktreeError> {
        let root = self.root.clone();
        let repository = blocking(move || {
            let found = Repository::around(&root)?.filter(|found| found.top == root);
            found.ok_or(WorktreeError::NoRepository { cwd: root })
        });
        Git::on(&self.program, repository.await?, cancel).await
    }

    /// Packs what is different from a state that the sender knows; `None` if nothing is.
    ///
    /// # Errors
    /// Returns why it cannot: the agent has broken the repository, git or a disk fails, or the changes are too large.
    pub async fn changes(
        &mut self,
        since: &str,
        cancel: &CancellationToken,
    ) -> Result<Option<FolderState>, WorktreeError> {
        let Some(old) = self.known.get(since).cloned() else {
            return Err(WorktreeError::Unsound(format!("there was no state {since}")));
        };
        let git = self.git(cancel).await?;
        let snapshot = Snapshot::take(&git, &self.root, self.folder.path(), Untracked::All).await?;
        if snapshot.tree == old {
            return Ok(None);
        }
        let commit = commit_alone(&git, &snapshot.tree).await?;
        // Whole: over there it is looked at alone.
        let call = git.call("packing the changes").args(["pack-objects", "--revs", "--stdout", "-q"]);
        let pack = call.input(format!("{commit}\n^{since}\n").into_bytes()).run().await?;
        self.known.insert(commit.clone(), snapshot.tree.clone());
        Ok(Some(FolderState { commit, pack: Arc::new(pack), left_out: snapshot.nested }))
    }

    /// Removes the folder.
    pub async fn remove(self) {
        let folder = self.folder;
        // What cannot be removed lies where the system cleans up.
        let _ =
            blocking(move || folder.remove().map_err(WorktreeError::disk(&std::env::temp_dir(), "cleaned up"))).await;
    }
}

/// Makes a commit without a history.
async fn commit_alone(git: &Git, tree: &str) -> Result<String, WorktreeError> {
    let call = git.call("keeping a snapshot").args(["commit-tree", "--no-gpg-sign", "-m"]);
    call.args(["Snapshot of the working tree", tree]).line().await
}

async fn tree_of(git: &Git, commit: &str) -> Result<String, WorktreeError> {
    git.call("reading a state").args(["rev-parse", "--verify", "-q"]).arg(format!("{commit}^{{tree}}")).line().await
}

/// Returns the ids of a tree, and of all that is below it.
async fn ids_below(git: &Git, tree: &str) -> Result<BTreeSet<String>, WorktreeError> {
    let listing = git.call("listing files").args(["ls-tree", "-r", "-t", "-z", tree]).run().await?;
    let entries = listing.split(|byte| *byte == 0).filter(|entry| !entry.is_empty());
    // `mode type id TAB path`
    let id = |entry: &[u8]| {
        let facts = entry.split(|byte| *byte == b'\t').next()?;
        facts.rsplit(|byte| *byte == b' ').next().map(|id| String::from_utf8_lossy(id).into_owned())
    };
    Ok(entries.filter_map(id).chain([tree.to_owned()]).collect())
}

/// Returns the ids of what a pack brings, all of it whole in itself.
async fn brought(git: &Git, state: &FolderState) -> Result<BTreeSet<String>, WorktreeError> {
    check_pack(state)?;
    let place = TemporaryFolder::new(KIND).map_err(WorktreeError::disk(&std::env::temp_dir(), "written to"))?;
    let (pack, index) = (place.path().join("it.pack"), place.path().join("it.idx"));
    let (bytes, path) = (state.pack.clone(), pack.clone());
    blocking(move || std::fs::write(&path, bytes.as_slice()).map_err(WorktreeError::disk(&path, "written"))).await?;
    // Without `--fix-thin`, nothing in it is made of what is here already.
    let call = git.call("reading what came back").args(STRICT).args(["index-pack", "-o"]).arg(&index).arg(&pack);
    call.run().await?;
    let path = index.clone();
    let index = blocking(move || std::fs::read(&path).map_err(WorktreeError::disk(&path, "read"))).await?;
    let listing = git.call("reading what came back").arg("show-index").input(index).run().await?;
    let lines = listing.split(|byte| *byte == b'\n');
    let ids = lines.filter_map(|line| std::str::from_utf8(line).ok()?.split(' ').nth(1).map(str::to_owned));
    let ids = ids.collect();
    let _ = blocking(move || place.remove().map_err(WorktreeError::disk(&std::env::temp_dir(), "cleaned up"))).await;
    Ok(ids)
}

/// Puts the objects of a state among those of a repository, once they are known to be sound.
async fn store(git: &Git, state: &FolderState) -> Result<(), WorktreeError> {
    let objects = check_pack(state)?;
    let call = git.call("unpacking files").args(STRICT);
    let call = if objects < LOOSE_OBJECTS {
        call.args(["unpack-objects", "-q", "--strict"])
    } else {
        call.args(["index-pack", "--stdin", "--fix-thin", "--strict"])
    };
    call.input(state.pack.to_vec()).run().await?;
    check_size(git, &state.commit).await
}

/// Checks that a state can be one. Returns how many objects its pack says it has.
fn check_pack(state: &FolderState) -> Result<u32, WorktreeError> {
    let unsound = |why: &str| WorktreeError::Unsound(why.to_owned());
    if !FolderState::is_commit(&state.commit) {
        return Err(unsound("their state has no name"));
    }
    if state.pack.len() > MAX_PACK {
        return Err(unsound("there is too much of them"));
    }
    match state.pack.get(..12) {
        Some([b'P', b'A', b'C', b'K', _, _, _, _, count @ ..]) => {
            Ok(count.iter().fold(0_u32, |all, byte| (all << 8) | u32::from(*byte)))
        }
        _ => Err(unsound("they are no pack of git's")),
    }
}

/// Checks that the files of a state are not more than anyone would have meant.
async fn check_size(git: &Git, commit: &str) -> Result<(), WorktreeError> {
    let tree = tree_of(git, commit).await?;
    let listing = git.call("listing files").args(["ls-tree", "-r", "-l", "-z", &tree]).run().await?;
    let (mut files, mut bytes) = (0_usize, 0_u64);
    for entry in listing.split(|byte| *byte == 0).filter(|entry| !entry.is_empty()) {
        let facts = entry.split(|byte| *byte == b'\t').next().unwrap_or_default();
        let size = facts.rsplit(|byte| *byte == b' ').next().and_then(|size| std::str::from_utf8(size).ok());
        files += 1;
        bytes = bytes.saturating_add(size.and_then(|size| size.parse().ok()).unwrap_or(0));
    }
    if files > MAX_FILES || bytes > MAX_BYTES {
        return Err(WorktreeError::Unsound(format!("{files} files of {bytes} bytes are too many")));
    }
    Ok(())
}
