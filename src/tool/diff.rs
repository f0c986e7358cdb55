//! The difference between two versions of a file, bounded in time and size.

use std::path::Path;
use std::time::Duration;

use similar::{ChangeTag, TextDiff};

use super::limit::cut;
use crate::message::{DiffLine, FileDiff, Hunk, LineKind};

/// Unchanged lines shown around a change.
const CONTEXT: usize = 3;
/// Lines shown in all, context included.
const MAX_SHOWN: usize = 400;
/// Characters shown of one line.
const MAX_LINE: usize = 500;
/// After this the comparison settles for a difference that is right but not the smallest.
const DEADLINE: Duration = Duration::from_millis(200);

/// Compares two versions of a file line by line.
///
/// At most 400 lines are shown; [`FileDiff::omitted`] counts the changed lines beyond them. A line that is longer than
/// 500 characters is cut.
#[must_use]
pub fn diff_files(path: &Path, old: &str, new: &str) -> FileDiff {
    let compared = TextDiff::configure().timeout(DEADLINE).diff_lines(old, new);
    let mut diff = FileDiff { path: path.to_path_buf(), added: 0, removed: 0, hunks: Vec::new(), omitted: 0 };
    let mut shown = 0;
    for group in compared.grouped_ops(CONTEXT) {
        let mut lines = Vec::new();
        for change in group.iter().flat_map(|op| compared.iter_changes(op)) {
            let (kind, index) = match change.tag() {
                ChangeTag::Equal => (LineKind::Context, change.new_index()),
                ChangeTag::Insert => (LineKind::Added, change.new_index()),
                ChangeTag::Delete => (LineKind::Removed, change.old_index()),
            };
            diff.added += usize::from(kind == LineKind::Added);
            diff.removed += usize::from(kind == LineKind::Removed);
            if shown < MAX_SHOWN {
                shown += 1;
                lines.push(DiffLine { kind, number: index.map_or(0, |at| at + 1), text: shown_line(change.value()) });
            } else if kind != LineKind::Context {
                diff.omitted += 1;
            }
        }
        if !lines.is_empty() {
            diff.hunks.push(Hunk { lines });
        }
    }
    diff
}

fn shown_line(line: &str) -> String {
    let text = line.trim_end_matches(['\n', '\r']);
    let (start, whole) = cut(text, MAX_LINE);
    match whole {
        super::limit::Whole::Yes => start.to_owned(),
        super::limit::Whole::No => format!("{start}…"),
    }
}

/// Returns the one-line form of a difference: `+3 −1`.
pub(super) fn tally(diff: &FileDiff) -> String {
    format!("+{} −{}", diff.added, diff.removed)
}
