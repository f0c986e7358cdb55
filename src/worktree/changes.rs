//! What a worktree has that its base has not, file by file.
//!
//! Owns the reading of git's differences. Leaves drawing to the front ends, which know [`FileDiff`] from the tools.
//! Invariants: every changed file is listed; what is shown of them is bounded, and says how much is left out.

use std::path::{Path, PathBuf};

use super::WorktreeError;
use super::acted::{ActMark, mark_of_link, mark_of_name};
use super::git::Git;
use super::snapshot::path_of;
use crate::message::{DiffLine, FileDiff, Hunk, LineKind};

/// Most bytes of differences that are read.
const DIFF_BYTES: usize = 1 << 20;
/// Most characters of one line.
const LINE_CHARS: usize = 1_000;

#[derive(Debug, Clone, PartialEq, Default)]
pub struct WorktreeChanges {
    /// The files, in the order of their paths.
    pub files: Vec<ChangedFile>,
    pub commits: usize,
    /// Folders below the root that hold repositories of their own. They keep the worktree from being merged.
    pub nested: Vec<PathBuf>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ChangedFile {
    pub path: PathBuf,
    pub kind: WorktreeChangeKind,
    /// Whether it is no text; then no lines are counted.
    pub is_binary: bool,
    /// Why it is more than its content.
    pub mark: Option<ActMark>,
    /// The difference, with the path in the worktree.
    pub diff: FileDiff,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorktreeChangeKind {
    Added,
    /// Its content or its right to be executed changed.
    Modified,
    Deleted,
    /// It has another name, and perhaps another content.
    Renamed {
        /// The path before, below the root of the repository.
        from: PathBuf,
    },
    /// It became something else: a file, a symbolic link.
    Retyped,
    /// It is, or was, a repository of its own.
    Repository,
}

impl WorktreeChanges {
    pub fn is_empty(&self) -> bool {
        self.files.is_empty() && self.commits == 0 && self.nested.is_empty()
    }
}

/// Lists what differs between two trees, with the lines.
pub(super) async fn between(git: &Git, old: &str, new: &str, root: &Path) -> Result<Vec<ChangedFile>, WorktreeError> {
    let mut files = names(git, old, new, root).await?;
    let call = git.call("showing the changes").args(["diff-tree", "-r", "-p", "-M", "--no-color", "--submodule=short"]);
    let call = call.args(["--no-ext-diff", "--no-textconv", old, new]);
    let patch = call.at_most(DIFF_BYTES).run().await?;
    fill(&mut files, &patch);
    Ok(files)
}

/// Lists what differs between two trees, with the number of lines.
pub(super) async fn names(git: &Git, old: &str, new: &str, root: &Path) -> Result<Vec<ChangedFile>, WorktreeError> {
    let call = git.call("listing the changes").args(["diff-tree", "-r", "-M", "-z", "--raw", "--numstat"]);
    let listing = call.args(["--no-ext-diff", "--no-textconv", old, new]).run().await?;
    let (mut files, links) = read_listing(&listing, root);
    mark_links(git, &mut files, links).await?;
    Ok(files)
}

/// Marks links that lead out of the project. `links` are their places in the list, and the ids of their targets.
async fn mark_links(git: &Git, files: &mut [ChangedFile], links: Vec<(usize, String)>) -> Result<(), WorktreeError> {
    if links.is_empty() {
        return Ok(());
    }
    let ids: String = links.iter().map(|(_, id)| format!("{id}\n")).collect();
    let said = git.call("reading links").args(["cat-file", "--batch"]).input(ids.into_bytes()).run().await?;
    let mut rest = said.as_slice();
    for (at, _) in links {
        let target = next_object(&mut rest);
        let mark = target.map_or(Some(ActMark::LeadsOut), |target| mark_of_link(&files[at].path, &path_of(target)));
        files[at].mark = files[at].mark.or(mark);
    }
    Ok(())
}

/// Reads `id type size LF content LF`; `None` if it is none of that.
fn next_object<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let end = rest.iter().position(|byte| *byte == b'\n')?;
    let size = std::str::from_utf8(&rest[..end]).ok()?.rsplit(' ').next()?.parse::<usize>();
    *rest = &rest[end + 1..];
    let content = rest.get(..size.ok()?)?;
    *rest = rest.get(content.len() + 1..).unwrap_or_default();
    Some(content)
}

/// Reads `:modes ids status NUL path NUL [path NUL]` for each file, then `added TAB removed TAB path NUL` for each, in the
/// same order; of a renamed file the path is empty, and two follow. Returns also which of them are links now, by their place, and
/// the ids of their targets.
fn read_listing(listing: &[u8], root: &Path) -> (Vec<ChangedFile>, Vec<(usize, String)>) {
    let mut fields = listing.split(|byte| *byte == 0).peekable();
    let (mut files, mut links) = (Vec::new(), Vec::new());
    while let Some(facts) = fields.next_if(|field| field.starts_with(b":")) {
        let Some(first) = fields.next().map(path_of) else { break };
        let status = facts.rsplit(|byte| *byte == b' ').next().and_then(|status| status.first()).copied();
        let is_repository = facts[1..].split(|byte| *byte == b' ').take(2).any(|mode| mode == b"160000");
        let (path, kind) = match status {
            Some(b'R' | b'C') => {
                (fields.next().map(path_of).unwrap_or_default(), WorktreeChangeKind::Renamed { from: first })
            }
            Some(b'A') => (first, WorktreeChangeKind::Added),
            Some(b'D') => (first, WorktreeChangeKind::Deleted),
            Some(b'T') => (first, WorktreeChangeKind::Retyped),
            _ => (first, WorktreeChangeKind::Modified),
        };
        let kind = if is_repository { WorktreeChangeKind::Repository } else { kind };
        let diff = FileDiff { path: root.join(&path), added: 0, removed: 0, hunks: Vec::new(), omitted: 0 };
        let words: Vec<&[u8]> = facts.split(|byte| *byte == b' ').collect();
        if words.get(1) == Some(&b"120000".as_slice())
            && let Some(id) = words.get(3)
        {
            links.push((files.len(), String::from_utf8_lossy(id).into_owned()));
        }
        let mark = mark_of_name(&path).filter(|_| kind != WorktreeChangeKind::Deleted);
        files.push(ChangedFile { path, kind, is_binary: false, mark, diff });
    }
    for file in &mut files {
        let Some(counts) = fields.next() else { break };
        let mut parts = counts.splitn(3, |byte| *byte == b'\t');
        let mut number = || parts.next().and_then(|part| std::str::from_utf8(part).ok()?.parse::<usize>().ok());
        let (added, removed) = (number(), number());
        file.is_binary = added.is_none();
        file.diff.added = added.unwrap_or_default();
        file.diff.removed = removed.unwrap_or_default();
        file.diff.omitted = file.diff.added + file.diff.removed;
        if parts.next().is_none_or(<[u8]>::is_empty) {
            let _ = (fields.next(), fields.next());
        }
    }
    (files, links)
}

/// Puts the lines of a patch to their files, which stand in the same order. A file that became something else stands
/// there twice: as it went and as it came.
fn fill(files: &mut [ChangedFile], patch: &[u8]) {
    let mut slots: Vec<usize> = Vec::new();
    for (at, file) in files.iter().enumerate() {
        slots.extend(std::iter::repeat_n(at, if file.kind == WorktreeChangeKind::Retyped { 2 } else { 1 }));
    }
    let mut slots = slots.into_iter();
    let mut current = None;
    let (mut old, mut new) = (0, 0);
    for line in patch.split_inclusive(|byte| *byte == b'\n') {
        // A line that was cut is left out like the rest.
        let Some(line) = line.strip_suffix(b"\n") else { break };
        if line.starts_with(b"diff --git ") {
            current = slots.next();
            continue;
        }
        let Some(diff) = current.and_then(|at: usize| files.get_mut(at)).map(|file| &mut file.diff) else { continue };
        if let Some(numbers) = line.strip_prefix(b"@@ -") {
            (old, new) = beginnings(numbers);
            diff.hunks.push(Hunk { lines: Vec::new() });
            continue;
        }
        // What git says behind a line that the end of its file cuts off.
        if line.starts_with(b"\\ ") {
            let last = diff.hunks.last_mut().and_then(|hunk| hunk.lines.last_mut());
            last.and_then(|line| line.text.pop());
            continue;
        }
        let kind = match line.first() {
            Some(b' ') => LineKind::Context,
            Some(b'+') => LineKind::Added,
            Some(b'-') => LineKind::Removed,
            _ => continue,
        };
        // Before the first hunk stand the names of the file.
        let Some(hunk) = diff.hunks.last_mut() else { continue };
        let number = if kind == LineKind::Removed { old } else { new };
        old += usize::from(kind != LineKind::Added);
        new += usize::from(kind != LineKind::Removed);
        let (line, end) = line[1..].strip_suffix(b"\r").map_or((&line[1..], "\n"), |line| (line, "\r\n"));
        let text = String::from_utf8_lossy(line).chars().take(LINE_CHARS).chain(end.chars()).collect();
        hunk.lines.push(DiffLine { kind, number, text });
        diff.omitted -= usize::from(kind != LineKind::Context && diff.omitted > 0);
    }
    files.iter_mut().flat_map(|file| &mut file.diff.hunks).for_each(Hunk::cut_ends);
}

/// Reads `12,3 +14,5 @@` as 12 and 14.
fn beginnings(numbers: &[u8]) -> (usize, usize) {
    let text = String::from_utf8_lossy(numbers);
    let mut parts = text.split(' ').map(|part| {
        let digits = part.trim_start_matches('+').split(',').next().unwrap_or_default();
        digits.parse().unwrap_or_default()
    });
    (parts.next().unwrap_or_default(), parts.next().unwrap_or_default())
}
