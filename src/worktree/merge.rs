//! Bringing what was done in a worktree into the project's files.
//!
//! Owns the join of the three states and the writing of its result. Leaves rules of merging to git. Invariants: a conflict
//! changes nothing; a file is written only if it is as it was when the states were joined; the result is neither staged
//! nor committed; the worktree goes only after everything is written.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use tokio_util::sync::CancellationToken;

use super::acted;
use super::changes::{self, ChangedFile, WorktreeChangeKind};
use super::git::Git;
use super::shared_clone::take_over;
use super::snapshot::{Snapshot, Untracked, blocking, path_of};
use super::state::FilesState;
use super::{UNTRACKED_BYTES, Worktree, WorktreeError, Worktrees, commit_of};
use crate::message::sanitize_line;

/// Ways to join a file that are git's own.
const GITS_OWN: [&str; 6] = ["unspecified", "set", "unset", "text", "binary", "union"];

#[derive(Debug)]
pub enum Merged {
    /// The files of the project hold the changes now, and the worktree is gone.
    Done {
        /// What changed in the project, with paths there. Lines are counted, not shown.
        files: Vec<ChangedFile>,
        /// Why something of the worktree is still there.
        leftover: Option<WorktreeError>,
    },
    /// Nothing was changed, because both sides changed the same.
    Conflicts(Vec<Conflict>),
}

/// A file that cannot be joined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    pub path: PathBuf,
    /// What both sides did, in words for people.
    pub why: &'static str,
}

impl Worktrees {
    /// Merges what was done in a worktree into the files of the project as they are now, and removes the worktree. Its
    /// agent must have ended. Returns an error if git or a disk fails, if files of the project would be overwritten, or
    /// if the worktree holds what cannot be merged, or what other programs act on and is not among the `agreed`. Nothing is
    /// changed then, except as [`WorktreeError::Half`] says.
    pub async fn merge(
        &self,
        worktree: &Worktree,
        agreed: &BTreeSet<PathBuf>,
        cancel: &CancellationToken,
    ) -> Result<Merged, WorktreeError> {
        let _one = self.claim.lock().await;
        let state = FilesState::take(self, worktree, cancel).await?;
        check(worktree, &state).await?;
        let theirs = &state.snapshot;
        let (repository, _) = Self::place_of(&worktree.repository).await?;
        let git = self.git_on(repository, cancel).await?;
        let untracked = Untracked::UpTo(UNTRACKED_BYTES);
        // What is joined is not the repository's yet, and most of it never will be.
        let joining = git.with_objects(&state.objects);
        let ours = Snapshot::take(&joining, &worktree.repository, &worktree.claim.folder, untracked).await?;
        let (before, their_commit) = (ours.commit(&worktree.base).await?, theirs.commit(&worktree.base).await?);
        let special = need_a_program(&ours.git, [&worktree.base, &ours.tree, &theirs.tree]).await?;
        if !special.is_empty() {
            return Ok(Merged::Conflicts(special));
        }
        let tree = match join(&ours.git, &before, &their_commit).await? {
            Ok(tree) => tree,
            Err(conflicts) => return Ok(Merged::Conflicts(conflicts)),
        };
        let files = changes::names(&ours.git, &ours.tree, &tree, &worktree.repository).await?;
        acted::check(&ours.git, (&tree, &files), &worktree.repository, agreed).await?;
        write((&git, &ours), &tree, &files, worktree, before).await?;
        let leftover = self.remove(worktree).await.err();
        Ok(Merged::Done { files, leftover })
    }
}

/// Refuses a worktree of which a merge would lose something.
async fn check(worktree: &Worktree, FilesState { snapshot, own, .. }: &FilesState) -> Result<(), WorktreeError> {
    let changed = changes::names(&snapshot.git, &worktree.base, &snapshot.tree, &worktree.root).await?;
    let repositories =
        changed.into_iter().filter(|file| file.kind == WorktreeChangeKind::Repository).map(|file| file.path);
    let folders: Vec<PathBuf> = snapshot.nested.iter().cloned().chain(repositories).collect();
    if !folders.is_empty() {
        return Err(WorktreeError::Nested { folders });
    }
    if let Some(tip) = commit_of(own, &worktree.reference()).await? {
        let call = own.call("comparing branches").args(["merge-base", "--is-ancestor", &tip, "HEAD"]);
        if call.answer().await?.code != Some(0) {
            return Err(WorktreeError::OffBranch { branch: worktree.branch.clone() });
        }
    }
    Ok(())
}

/// Returns the files changed on both sides that the repository wants joined by a program of its choice. None is run, and
/// git's own rules may join them wrongly.
async fn need_a_program(git: &Git, [base, ours, theirs]: [&str; 3]) -> Result<Vec<Conflict>, WorktreeError> {
    let mut sides = [BTreeSet::new(), BTreeSet::new()];
    for (side, tree) in sides.iter_mut().zip([ours, theirs]) {
        let call = git.call("comparing files").args(["diff-tree", "-r", "-z", "--name-only", "--no-renames"]);
        let listing = call.args([base, tree]).run().await?;
        side.extend(listing.split(|byte| *byte == 0).filter(|path| !path.is_empty()).map(<[u8]>::to_vec));
    }
    let both: Vec<Vec<u8>> = sides[0].intersection(&sides[1]).cloned().collect();
    if both.is_empty() {
        return Ok(Vec::new());
    }
    let call = git.call("reading attributes").args(["check-attr", "-z", "--stdin", "merge"]);
    let listing = call.input(both.join(&0)).run().await?;
    let fields: Vec<&[u8]> = listing.split(|byte| *byte == 0).collect();
    let is_gits_own = |value: &[u8]| GITS_OWN.iter().any(|name| name.as_bytes() == value);
    let special = fields.chunks_exact(3).filter(|entry| !is_gits_own(entry[2]));
    Ok(special.map(|entry| Conflict { path: path_of(entry[0]), why: "its custom merge driver is not run" }).collect())
}

/// Joins two commits that both stand on the base. No file is touched.
async fn join(git: &Git, ours: &str, theirs: &str) -> Result<Result<String, Vec<Conflict>>, WorktreeError> {
    let call = git.call("merging").args(["merge-tree", "--write-tree", "-z", "--messages", ours, theirs]);
    let answer = call.answer().await?;
    let mut fields = answer.out.split(|byte| *byte == 0);
    let tree = String::from_utf8_lossy(fields.next().unwrap_or_default()).into_owned();
    match answer.code {
        Some(0) if !tree.is_empty() => Ok(Ok(tree)),
        Some(1) => Ok(Err(conflicts(fields))),
        _ => Err(answer.failed()),
    }
}

/// Reads the entries in conflict, `mode id stage TAB path NUL` each, an empty field, and then messages: a number, that many
/// paths, the kind, the text.
fn conflicts<'a>(mut fields: impl Iterator<Item = &'a [u8]>) -> Vec<Conflict> {
    let mut paths: Vec<PathBuf> = Vec::new();
    for entry in fields.by_ref().take_while(|field| !field.is_empty()) {
        let path = entry.splitn(2, |byte| *byte == b'\t').nth(1).map(path_of).unwrap_or_default();
        if !paths.contains(&path) {
            paths.push(path);
        }
    }
    let mut found: Vec<Conflict> = Vec::new();
    while let Some(count) = fields.next().and_then(|field| std::str::from_utf8(field).ok()?.parse::<usize>().ok()) {
        let named: Vec<PathBuf> = fields.by_ref().take(count).map(path_of).collect();
        let (kind, _text) = (fields.next().unwrap_or_default(), fields.next());
        let kind = String::from_utf8_lossy(kind);
        let Some(why) = kind.strip_prefix("CONFLICT").map(words) else { continue };
        for path in named {
            if !found.iter().any(|conflict| conflict.path == path) {
                found.push(Conflict { path, why });
            }
        }
    }
    for path in paths {
        if !found.iter().any(|conflict| conflict.path == path) {
            found.push(Conflict { path, why: words("") });
        }
    }
    found
}

fn words(kind: &str) -> &'static str {
    match kind.trim().trim_matches(['(', ')']) {
        "contents" => "both sides changed the same lines",
        "binary" => "both sides changed a binary file",
        "modify/delete" => "one side changed it, the other deleted it",
        "rename/delete" => "one side renamed it, the other deleted it",
        "rename/rename" => "both sides renamed it",
        "rename involved in collision" => "two files would get the same name",
        "file/directory" => "a file on one side is a folder on the other",
        "distinct modes" | "distinct types" => "its type differs between the sides",
        kind if kind.contains("directory rename") => "one side renamed the folder the other put it in",
        kind if kind.contains("submodule") => "it is a nested git repository",
        _ => "both sides changed it",
    }
}

/// Makes the files of the project the joined ones. git knows from the snapshot how each file was, and refuses before it
/// writes if one is different by now, or if one that it does not know stands in the way.
async fn write(
    (git, ours): (&Git, &Snapshot),
    tree: &str,
    files: &[ChangedFile],
    worktree: &Worktree,
    before: String,
) -> Result<(), WorktreeError> {
    if ours.tree == tree {
        return Ok(());
    }
    let call = || ours.git.call("writing the merged files").args(["read-tree", "--no-sparse-checkout", "-m", "-u"]);
    let trial = call().args(["--dry-run", &ours.tree, tree]).answer().await?;
    if trial.code != Some(0) {
        return Err(WorktreeError::InTheWay { said: trial.said });
    }
    // The user undoes by it what would be half a merge.
    take_over(git, &ours.git, &before, worktree).await?;
    let (files, root) = (files.to_vec(), worktree.repository.clone());
    blocking(move || match in_the_way(&files, &root) {
        Some(path) => Err(WorktreeError::InTheWay { said: sanitize_line(&path.to_string_lossy()).into_owned() }),
        None => Ok(()),
    })
    .await?;
    let answer = call().args([&ours.tree, tree]).whole().answer().await?;
    if answer.code == Some(0) { Ok(()) } else { Err(WorktreeError::Half { said: answer.said, before }) }
}

/// Returns what lies where a new file is to be written. git takes the liberty to overwrite what is ignored, and that may
/// be the only copy of a secret.
fn in_the_way(files: &[ChangedFile], root: &Path) -> Option<PathBuf> {
    let mut going: BTreeSet<&Path> = BTreeSet::new();
    let mut coming: Vec<&Path> = Vec::new();
    for file in files {
        match &file.kind {
            WorktreeChangeKind::Deleted => drop(going.insert(&file.path)),
            WorktreeChangeKind::Added => coming.push(&file.path),
            WorktreeChangeKind::Renamed { from } => {
                going.insert(from);
                coming.push(&file.path);
            }
            WorktreeChangeKind::Modified | WorktreeChangeKind::Retyped | WorktreeChangeKind::Repository => {}
        }
    }
    coming.into_iter().find_map(|path| {
        // What is no folder stands in the way of all below it, too.
        let mut above =
            path.ancestors().skip(1).filter(|folder| !folder.as_os_str().is_empty() && !going.contains(folder));
        let blocks = |place: &Path| root.join(place).symlink_metadata().is_ok_and(|facts| !facts.is_dir());
        above.find(|folder| blocks(folder)).map(Path::to_path_buf).or_else(|| stays(path, root, &going))
    })
}

/// Returns a file at or below `path` that is not going to be removed.
fn stays(path: &Path, root: &Path, going: &BTreeSet<&Path>) -> Option<PathBuf> {
    let place = root.join(path);
    let facts = place.symlink_metadata().ok()?;
    if !facts.is_dir() {
        return (!going.contains(path)).then(|| path.to_path_buf());
    }
    // A folder that cannot be looked into may hold anything.
    let Ok(mut entries) = std::fs::read_dir(&place) else { return Some(path.to_path_buf()) };
    entries.find_map(|entry| stays(&path.join(entry.ok()?.file_name()), root, going))
}
