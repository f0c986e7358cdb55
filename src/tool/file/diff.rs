//! The difference between two versions of a file, bounded in time and size.

use std::path::Path;
use std::time::Duration;

use similar::{ChangeTag, TextDiff};

use crate::message::format::line_changes;
use crate::message::{DiffLine, FileDiff, Hunk, LineKind, line_end};
use crate::tool::limit::{cut, grouped};

/// Lines of a version that are compared; a longer stretch counts as replaced whole, which takes no memory.
const MAX_COMPARED: usize = 200_000;
/// Unchanged lines shown around a change.
const CONTEXT: usize = 3;
/// What is kept of a change that was made.
const DONE: Bounds = Bounds { lines: 400, bytes: 300_000, line: 20_000 };
/// What is kept of a change that is asked for: more than anybody reads, and no line is cut.
const ASKED: Bounds = Bounds { lines: 20_000, bytes: 2_000_000, line: usize::MAX };
/// After this the comparison settles for a difference that is right but not the smallest.
const DEADLINE: Duration = Duration::from_millis(200);

#[derive(Debug, Clone, Copy)]
struct Bounds {
    /// Lines in all, context included.
    lines: usize,
    /// Bytes in all, of whole lines.
    bytes: usize,
    /// Characters of one line.
    line: usize,
}

/// Compares two versions of a file line by line.
///
/// At most 400 lines and about 300,000 bytes are kept; [`FileDiff::omitted`] counts the changed lines beyond them. A
/// line that is longer than 20,000 characters is cut, and says so.
pub fn diff_files(path: &Path, old: &str, new: &str) -> FileDiff {
    compare(path, old, new, DONE)
}

/// Compares like [`diff_files`] for somebody who is to allow the change: 20,000 lines and 2 MB are kept, each line whole
/// or not at all.
pub(super) fn diff_asked(path: &Path, old: &str, new: &str) -> FileDiff {
    compare(path, old, new, ASKED)
}

fn compare(path: &Path, old: &str, new: &str, bounds: Bounds) -> FileDiff {
    let (same, old, new) = middle(old, new);
    let mut shown = Shown {
        diff: FileDiff { path: path.to_path_buf(), added: 0, removed: 0, hunks: Vec::new(), omitted: 0 },
        bounds,
        lines: Vec::new(),
        count: 0,
        size: 0,
    };
    let breaks = |text: &str| memchr::memchr_iter(b'\n', text.as_bytes()).count();
    if breaks(old).max(breaks(new)) > MAX_COMPARED {
        for (kind, text) in [(LineKind::Removed, old), (LineKind::Added, new)] {
            text.split_inclusive('\n').enumerate().for_each(|(at, line)| shown.push(kind, same + at + 1, line));
        }
        shown.close();
        return shown.diff;
    }
    let compared = TextDiff::configure().timeout(DEADLINE).diff_lines(old, new);
    for group in compared.grouped_ops(CONTEXT) {
        for change in group.iter().flat_map(|op| compared.iter_changes(op)) {
            let (kind, index) = match change.tag() {
                ChangeTag::Equal => (LineKind::Context, change.new_index()),
                ChangeTag::Insert => (LineKind::Added, change.new_index()),
                ChangeTag::Delete => (LineKind::Removed, change.old_index()),
            };
            shown.push(kind, index.map_or(0, |at| same + at + 1), change.value());
        }
        shown.close();
    }
    shown.diff
}

struct Shown {
    diff: FileDiff,
    bounds: Bounds,
    /// Lines of the present hunk, with their ends.
    lines: Vec<DiffLine>,
    /// Lines kept so far.
    count: usize,
    size: usize,
}

impl Shown {
    fn push(&mut self, kind: LineKind, number: usize, line: &str) {
        self.diff.added += usize::from(kind == LineKind::Added);
        self.diff.removed += usize::from(kind == LineKind::Removed);
        let size = line.len().min(self.bounds.line);
        if self.count < self.bounds.lines && self.size + size <= self.bounds.bytes {
            let text = shown_line(line, self.bounds.line);
            self.count += 1;
            self.size += text.len();
            self.lines.push(DiffLine { kind, number, text });
        } else if kind != LineKind::Context {
            self.diff.omitted += 1;
        }
    }

    fn close(&mut self) {
        if !self.lines.is_empty() {
            let mut hunk = Hunk { lines: std::mem::take(&mut self.lines) };
            hunk.cut_ends();
            self.diff.hunks.push(hunk);
        }
    }
}

/// Returns the part in which the versions differ, with the context around it, and the number of lines before it. A small
/// change of a large file costs no more than looking for it.
fn middle<'t>(old: &'t str, new: &'t str) -> (usize, &'t str, &'t str) {
    let equal = old.bytes().zip(new.bytes()).take_while(|(a, b)| a == b).count();
    let mut starts = memchr::memrchr_iter(b'\n', &old.as_bytes()[..equal]).skip(CONTEXT);
    let start = starts.next().map_or(0, |at| at + 1);
    let same = memchr::memchr_iter(b'\n', &old.as_bytes()[..start]).count();
    let (old, new) = (&old[start..], &new[start..]);
    let room = (equal - start).min(old.len()).min(new.len());
    let equal = old.as_bytes()[room..].iter().rev().zip(new.as_bytes()[room..].iter().rev());
    let equal = equal.take_while(|(a, b)| a == b).count();
    let tail = &old.as_bytes()[old.len() - equal..];
    let rest = memchr::memchr_iter(b'\n', tail).nth(CONTEXT).map_or(0, |at| equal - at - 1);
    (same, &old[..old.len() - rest], &new[..new.len() - rest])
}

fn shown_line(line: &str, max: usize) -> String {
    let (text, end) = line.split_at(line.len() - line_end(line).len());
    let (start, is_cut) = cut(text, max);
    if !is_cut {
        return line.to_owned();
    }
    let more = text[start.len()..].chars().count() as u64;
    format!("{start}… {} more characters{end}", grouped(more))
}

/// Returns the one-line form of a difference: `+3 −1`.
pub(super) fn tally(diff: &FileDiff) -> String {
    line_changes(diff.added, diff.removed)
}
