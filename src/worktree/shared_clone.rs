//! The repository that each worktree has of its own: a clone that borrows the objects of the project's.
//!
//! An agent commits, branches and stashes in it, and nothing of that reaches the user's own repository. Owns how it is made and
//! read, and taking commits over from it. Leaves branches of the project to `branch`. Invariants: what is read of it is a
//! stranger's work: bounded, no program, no link, no other objects than its own and the project's; what is taken over from it
//! gets its names anew from what it holds.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs::DirBuilder;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Component, Path, PathBuf};

use super::git::Git;
use super::place::{Claim, WorktreeRecord};
use super::scratch::alternates;
use super::snapshot::{blocking, copy_with_time};
use super::{BRANCHES, Worktree, WorktreeError};
use crate::git::Repository;
use crate::whole_file::{FileRights, replace_whole};

/// Refs that a clone begins without: what is under way in the project, and the branches of other agents.
const LEFT_OUT: [&str; 4] = ["refs/stash", "refs/bisect/", "refs/worktree/", "refs/rewritten/"];
/// Objects of a pack that is taken apart; a larger one is kept as it is.
const LOOSE_OBJECTS: u32 = 100;
/// Where git learns of objects that lie elsewhere.
const ALTERNATES: &str = "objects/info/alternates";
/// Keeps git from files that say of objects what need not be so, and from names that a file system would obey.
const DISTRUST: [&str; 12] = [
    "-c",
    "core.commitGraph=false",
    "-c",
    "core.multiPackIndex=false",
    "-c",
    "pack.useBitmaps=false",
    "-c",
    "core.protectHFS=true",
    "-c",
    "core.protectNTFS=true",
    "-c",
    "core.bigFileThreshold=16m",
];

/// Makes the clone and the files of a worktree. Returns git's folder.
pub(super) async fn make(
    git: &Git,
    claim: &Claim,
    name: &str,
    record: &WorktreeRecord,
) -> Result<PathBuf, WorktreeError> {
    let repository = git.repository()?.clone();
    let call = git.call("listing refs").args(["for-each-ref", "--format=%(objectname) %(refname) %(symref)"]);
    let refs = call.run().await?;
    let settings = git.clone_settings().await?;
    let (root, folder, index) = (claim.root_of(name), claim.clone_of(name), claim.index_of(name));
    let parts = CloneParts { root: root.clone(), folder: folder.clone(), repository, settings, refs };
    let (branch, base) = (record.branch.clone(), record.base.clone());
    blocking(move || parts.write(&branch, &base)).await?;
    let own = git.elsewhere(&root, &folder).await?.with_index(&index);
    own.call("writing the files").args(["read-tree", "--reset", "-u", &record.base]).run().await?;
    let copy = folder.join("index");
    blocking(move || copy_with_time(&index, &copy)).await?;
    Ok(folder)
}

struct CloneParts {
    root: PathBuf,
    folder: PathBuf,
    /// The one that objects are borrowed from.
    repository: Repository,
    settings: String,
    /// `id name target` of each ref, without a target unless it leads to another one.
    refs: Vec<u8>,
}

impl CloneParts {
    fn write(&self, branch: &str, base: &str) -> Result<(), WorktreeError> {
        for folder in [&self.folder, &self.root] {
            let made = DirBuilder::new().mode(0o700).create(folder);
            made.map_err(WorktreeError::disk(folder, "created"))?;
        }
        for name in ["hooks", "info", "modules", "objects/info", "objects/pack", "refs/heads", "refs/tags"] {
            let folder = self.folder.join(name);
            std::fs::create_dir_all(&folder).map_err(WorktreeError::disk(&folder, "created"))?;
        }
        for name in ["info/exclude", "info/attributes", "shallow"] {
            let bytes = self.repository.read(name)?;
            if name != "shallow" || !bytes.is_empty() {
                self.put(name, &bytes)?;
            }
        }
        self.put("config", self.settings.as_bytes())?;
        self.put("config.worktree", b"")?;
        self.put(ALTERNATES, &alternates(&self.repository.common_dir.join("objects")))?;
        let dot_git = self.root.join(".git");
        self.put("gitdir", &[dot_git.as_os_str().as_bytes(), b"\n"].concat())?;
        self.write_refs()?;
        self.put(format!("refs/heads/{branch}"), format!("{base}\n").as_bytes())?;
        self.put("HEAD", format!("ref: refs/heads/{branch}\n").as_bytes())?;
        let pointer = [b"gitdir: ", self.folder.as_os_str().as_bytes(), b"\n"].concat();
        std::fs::write(&dot_git, pointer).map_err(WorktreeError::disk(&dot_git, "written"))
    }

    fn put(&self, name: impl AsRef<Path>, bytes: &[u8]) -> Result<(), WorktreeError> {
        let path = self.folder.join(name);
        let folder = path.parent().unwrap_or(&self.folder);
        std::fs::create_dir_all(folder).map_err(WorktreeError::disk(folder, "created"))?;
        std::fs::write(&path, bytes).map_err(WorktreeError::disk(&path, "written"))
    }

    fn write_refs(&self) -> Result<(), WorktreeError> {
        let own = format!("refs/heads/{BRANCHES}/");
        let mut packed = Vec::new();
        for line in self.refs.split(|byte| *byte == b'\n') {
            let mut words = line.split(|byte| *byte == b' ');
            let (Some(id), Some(name), target) = (words.next(), words.next(), words.next()) else { continue };
            let place = Path::new(OsStr::from_bytes(name));
            let is_plain = place.components().all(|part| matches!(part, Component::Normal(_)));
            let is_left_out = LEFT_OUT.into_iter().chain([own.as_str()]).any(|left| name.starts_with(left.as_bytes()));
            if is_left_out || !is_plain || !name.starts_with(b"refs/") {
                continue;
            }
            match target.filter(|target| !target.is_empty()) {
                Some(target) => self.put(place, &[b"ref: ", target, b"\n"].concat())?,
                None => packed.push((name, id)),
            }
        }
        packed.sort_unstable();
        let lines = packed.into_iter().flat_map(|(name, id)| [id, b" ", name, b"\n"].concat());
        let text: Vec<u8> = b"# pack-refs with: sorted \n".iter().copied().chain(lines).collect();
        self.put("packed-refs", &text)
    }
}

/// Returns git as it reads the repository that an agent had to itself.
pub(super) async fn reader(git: &Git, worktree: &Worktree) -> Result<Git, WorktreeError> {
    let folder = worktree.git_dir.clone();
    let borrowed = worktree.has_clone().then(|| git.repository().map(|found| found.common_dir.join("objects")));
    let borrowed = borrowed.transpose()?;
    let place = folder.clone();
    blocking(move || {
        Repository::at(&place, &place)?.check_entries()?;
        if let Some(objects) = borrowed {
            restore(&place.join(ALTERNATES), &alternates(&objects))?;
        }
        Ok(())
    })
    .await?;
    Ok(git.elsewhere(&folder, &folder).await?.without_replaced_objects())
}

/// Writes a file anew if it does not hold this.
fn restore(path: &Path, bytes: &[u8]) -> Result<(), WorktreeError> {
    if path.metadata().is_ok_and(|facts| facts.len() == bytes.len() as u64)
        && std::fs::read(path).is_ok_and(|found| found == bytes)
    {
        return Ok(());
    }
    let folder = path.parent().unwrap_or(path);
    std::fs::create_dir_all(folder).map_err(WorktreeError::disk(folder, "created"))?;
    replace_whole(path, bytes, FileRights::Private).map_err(WorktreeError::disk(path, "written"))
}

/// Counts the commits that can be reached from the branches, the stash and the head of a worktree, but not from its base nor
/// from a ref of the project.
pub(super) async fn count_commits(git: &Git, own: &Git, worktree: &Worktree) -> Result<usize, WorktreeError> {
    let listing = own.call("listing branches").args(["for-each-ref", "--format=%(objectname)"]);
    let listing = if worktree.has_clone() {
        listing.args(["refs/heads", "refs/stash"])
    } else {
        listing.arg(worktree.reference())
    };
    let mut tips = text_of(&listing.run().await?);
    if let Some(head) = super::commit_of(own, "HEAD").await? {
        tips += &head;
        tips.push('\n');
    }
    if tips.lines().all(|tip| tip == worktree.base) {
        return Ok(0);
    }
    let known = known_commits(git, worktree).await?;
    let call = own.call("counting commits").args(DISTRUST).args(["rev-list", "--count", "--stdin"]);
    let count = call.input((tips + &known).into_bytes()).line().await?;
    Ok(count.parse().unwrap_or_default())
}

/// Takes over what can be reached from a commit, and is neither part of the base nor of a ref of the project.
pub(super) async fn take_over(git: &Git, from: &Git, commit: &str, worktree: &Worktree) -> Result<(), WorktreeError> {
    let wanted = format!("{commit}\n{}", known_commits(git, worktree).await?);
    let call = from.call("packing commits").args(DISTRUST).args(["pack-objects", "--revs", "--stdout", "-q"]);
    let pack = call.input(wanted.into_bytes()).run().await?;
    let count = pack.get(8..12).and_then(|count| count.try_into().ok()).map_or(u32::MAX, u32::from_be_bytes);
    git.check_writes(None).await?;
    let call = git.call("unpacking commits").args(DISTRUST);
    let call = if count < LOOSE_OBJECTS {
        call.args(["unpack-objects", "-q", "--strict"])
    } else {
        call.args(["index-pack", "--stdin", "--fix-thin", "--strict"])
    };
    call.input(pack).run().await.map(drop)
}

/// Lists the base of a worktree and the commits that refs of the project lead to, as what is left out of a list.
async fn known_commits(git: &Git, worktree: &Worktree) -> Result<String, WorktreeError> {
    let call = git
        .call("listing refs")
        .args(["for-each-ref", "--format=%(objecttype) %(*objecttype) %(objectname) %(refname)"]);
    let listing = text_of(&call.args(["refs/heads", "refs/remotes", "refs/tags"]).run().await?);
    let own = worktree.reference();
    let mut known = format!("^{}\n", worktree.base);
    for line in listing.lines() {
        let fields: Vec<&str> = line.splitn(4, ' ').collect();
        if let [kind, target, id, name] = fields[..]
            && (kind == "commit" || target == "commit")
            && name != own
        {
            let _ = writeln!(known, "^{id}");
        }
    }
    Ok(known)
}

fn text_of(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
