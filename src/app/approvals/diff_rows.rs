//! The rows that a change takes where all of it is to be seen.
//!
//! Owns what is shown of a line of a file, and where it breaks. Leaves drawing to the views, which break lines here too, so
//! that the room a question asks for is the room it takes. Invariant: nothing of a line is lost, not even spaces at its
//! end.

use unicode_segmentation::UnicodeSegmentation as _;

use crate::message::columns::grapheme_width;
use crate::message::{FileDiff, LineKind, reveal_line};

/// Returns the columns of the largest line number.
pub fn number_columns(diff: &FileDiff) -> usize {
    let largest = diff.hunks.iter().flat_map(|hunk| &hunk.lines).map(|line| line.number).max().unwrap_or(0);
    largest.max(1).ilog10() as usize + 1
}

/// Returns the columns before the text of each line, for its number and its sign. Where there is little room they leave
/// a quarter of it.
pub fn gutter_columns(diff: &FileDiff, columns: usize) -> usize {
    (number_columns(diff) + 3).min(columns - columns.div_ceil(4))
}

/// Returns a line of a file with a sign for all that would not be seen: the file gets all of it.
pub fn revealed(line: &str) -> String {
    reveal_line(&line.replace('\t', "    ")).into_owned()
}

/// Returns where each row of a text ends that is broken wherever a row is full. Words are not kept whole: the spaces
/// between them count in a file.
pub fn row_ends(text: &str, columns: usize) -> Vec<usize> {
    let columns = columns.max(1);
    let mut ends = Vec::new();
    let mut used = 0;
    for (at, grapheme) in text.grapheme_indices(true) {
        let wide = grapheme_width(grapheme);
        if used + wide > columns && used > 0 {
            ends.push(at);
            used = 0;
        }
        used += wide;
    }
    ends.push(text.len());
    ends
}

/// Returns as much of a text as fills so many rows: of a line of a megabyte, what is counted is the screen's share.
pub(in crate::app) fn start_of(text: &str, columns: usize, rows: usize) -> &str {
    /// Bytes of a column: those of a sign with a mark or two.
    const BYTES: usize = 8;
    let most = columns.max(1).saturating_mul(rows.saturating_add(1)).saturating_mul(BYTES);
    &text[..text.floor_char_boundary(most)]
}

/// Counts the rows of a change, and those of them that are changed, no further than about `most` of these.
pub(in crate::app) fn count_rows(diff: &FileDiff, columns: usize, most: usize) -> (usize, usize) {
    let room = columns.saturating_sub(gutter_columns(diff, columns));
    let omitted = usize::from(diff.omitted > 0);
    let (mut all, mut changed) = (diff.hunks.len().saturating_sub(1) + omitted, omitted);
    for line in diff.hunks.iter().flat_map(|hunk| &hunk.lines) {
        if changed >= most {
            break;
        }
        let rows = row_ends(&revealed(start_of(&line.text, room, most - changed)), room).len();
        all += rows;
        changed += if line.kind == LineKind::Context { 0 } else { rows };
    }
    (all, changed)
}
