//! What other programs would act on among files that come out of a worktree.
//!
//! Owns telling a folder that git takes for a repository, names that are git's own, names that other programs obey, and links that
//! lead out. Leaves refusing and asking to the callers. Invariants: a name counts in every spelling that a disk may take for
//! it; what cannot be told counts.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use super::WorktreeError;
use super::changes::{ChangedFile, WorktreeChangeKind};
use super::git::Git;
use super::snapshot::{blocking, path_of};
use crate::permission::{Project, folded_name};

/// Entries by which git knows a repository. With the last, the two before it may lie elsewhere.
const ENTRIES: [&str; 4] = ["head", "objects", "refs", "commondir"];
/// Names of git's own folder.
const GITS: [&str; 2] = [".git", "git~1"];

/// Why a file is more than its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ActMark {
    /// Other programs run or obey files of this name.
    Obeyed,
    /// It is a link out of the project, or to something of the kind.
    LeadsOut,
}

impl ActMark {
    /// Says so behind what happened to the file.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Obeyed => "other programs act on it",
            Self::LeadsOut => "leads out of the project",
        }
    }
}

/// Returns the mark of a file for its name, below the root of the repository.
pub(super) fn mark_of_name(path: &Path) -> Option<ActMark> {
    let root = Path::new("/project");
    (!Project::at(root.to_path_buf()).is_plain_file(&root.join(path))).then_some(ActMark::Obeyed)
}

/// Returns the mark of a link with this target. A way up counts where it cannot be told by the names alone where it ends.
pub(super) fn mark_of_link(path: &Path, target: &Path) -> Option<ActMark> {
    let depth = path.components().count().saturating_sub(1);
    let (mut up, mut rest) = (0, PathBuf::new());
    for part in target.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if rest.as_os_str().is_empty() => up += 1,
            Component::Normal(name) => rest.push(name),
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return Some(ActMark::LeadsOut),
        }
    }
    let is_inside = up <= depth && (rest.as_os_str().is_empty() || mark_of_name(&rest).is_none());
    (!is_inside).then_some(ActMark::LeadsOut)
}

/// Which entries of a repository lie in which folders.
#[derive(Debug, Default)]
pub(super) struct RepositoryShapes(BTreeMap<PathBuf, [bool; ENTRIES.len()]>);

impl RepositoryShapes {
    /// Takes in the files of a tree, as git lists them: a path and a NUL each.
    pub(super) fn of_listing(listing: &[u8]) -> Self {
        let mut shapes = Self::default();
        for path in listing.split(|byte| *byte == 0).filter(|path| !path.is_empty()) {
            shapes.add(&path_of(path));
        }
        shapes
    }

    /// Takes in a file, and the folders above it.
    fn add(&mut self, path: &Path) {
        for entry in path.ancestors() {
            let (Some(folder), Some(name)) = (entry.parent(), entry.file_name()) else { break };
            let name = folded_name(&name.to_string_lossy());
            if let Some(at) = ENTRIES.iter().position(|known| *known == name) {
                self.0.entry(folder.to_path_buf()).or_default()[at] = true;
            }
        }
    }

    pub(super) fn is_repository(&self, folder: &Path) -> bool {
        self.0.get(folder).is_some_and(|[head, objects, refs, common]| *head && (*objects && *refs || *common))
    }

    /// Returns the folders that git would take for repositories.
    pub(super) fn repositories(&self) -> Vec<PathBuf> {
        self.0.keys().filter(|folder| self.is_repository(folder)).cloned().collect()
    }
}

/// Returns `true` if a part of a path is git's own folder to some disk.
pub(super) fn is_gits(path: &Path) -> bool {
    path.components().any(|part| GITS.contains(&folded_name(&part.as_os_str().to_string_lossy()).as_str()))
}

/// Lists the files of a tree.
pub(super) async fn shapes(git: &Git, tree: &str) -> Result<RepositoryShapes, WorktreeError> {
    let listing = git.call("listing files").args(["ls-tree", "-r", "-z", "--name-only", tree]).run().await?;
    Ok(RepositoryShapes::of_listing(&listing))
}

/// Refuses files that would lie in what git takes for a repository, once they are in the project: its settings run
/// programs. `agreed` are the marked files that the user knows of.
pub(super) async fn check(
    git: &Git,
    (tree, files): (&str, &[ChangedFile]),
    root: &Path,
    agreed: &BTreeSet<PathBuf>,
) -> Result<(), WorktreeError> {
    let coming: Vec<&ChangedFile> = files.iter().filter(|file| file.kind != WorktreeChangeKind::Deleted).collect();
    if coming.is_empty() {
        return Ok(());
    }
    let mut shapes = shapes(git, tree).await?;
    let above: BTreeSet<PathBuf> =
        coming.iter().flat_map(|file| file.path.ancestors().skip(1)).map(Path::to_path_buf).collect();
    let root = root.to_path_buf();
    // What git does not know lies there, too.
    let (shapes, above) = blocking(move || {
        for folder in &above {
            for entry in std::fs::read_dir(root.join(folder)).into_iter().flatten().flatten() {
                shapes.add(&folder.join(entry.file_name()));
            }
        }
        Ok((shapes, above))
    })
    .await?;
    let gits = coming.iter().filter(|file| is_gits(&file.path)).map(|file| file.path.clone());
    let folders: Vec<PathBuf> = above.into_iter().filter(|folder| shapes.is_repository(folder)).chain(gits).collect();
    if !folders.is_empty() {
        return Err(WorktreeError::Nested { folders });
    }
    let marked = coming.iter().filter(|file| file.mark.is_some() && !agreed.contains(&file.path));
    let files: Vec<PathBuf> = marked.map(|file| file.path.clone()).collect();
    if files.is_empty() { Ok(()) } else { Err(WorktreeError::Unasked { files }) }
}
