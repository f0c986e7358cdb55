//! The soft wrap of the text being written.
//!
//! Owns which part of which line is on which row, and where the cursor is. Invariant: the rows hold every character
//! of the text exactly once, in order.

use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::UnicodeWidthStr as _;

use super::chips::Chips;
use super::editor::Editor;

/// What a piece of a row is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PieceKind {
    Text,
    /// The label of a large paste.
    Chip,
    Mention,
}

/// The part of the text that is on the screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ComposerLayout {
    pub rows: Vec<Vec<(PieceKind, String)>>,
    /// Column and row of the cursor within them.
    pub cursor: (u16, u16),
    /// Number of rows above the first one shown.
    pub first_row: usize,
}

/// One row: a range of bytes of a line.
#[derive(Debug, Clone, Copy)]
struct Row {
    line: usize,
    start: usize,
    end: usize,
}

pub(super) struct ComposerRows<'a> {
    lines: &'a [String],
    rows: Vec<Row>,
}

impl<'a> ComposerRows<'a> {
    pub(super) fn of(lines: &'a [String], columns: u16) -> Self {
        let mut rows = Vec::new();
        for (at, line) in lines.iter().enumerate() {
            wrap(at, line, usize::from(columns).max(1), &mut rows);
        }
        Self { lines, rows }
    }

    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    fn text(&self, row: Row) -> &'a str {
        &self.lines[row.line][row.start..row.end]
    }

    /// Returns row and column of a cursor given in lines and characters.
    pub(super) fn place(&self, (line, column): (usize, usize)) -> (usize, usize) {
        let text = &self.lines[line];
        let byte = text.char_indices().nth(column).map_or(text.len(), |(at, _)| at);
        // The start of a row is a place of its own; the end of one is the start of the next.
        let row = self.rows.iter().rposition(|row| row.line == line && row.start <= byte).unwrap_or(0);
        (row, columns(&text[self.rows[row].start..byte]))
    }

    /// Returns the cursor, in lines and characters, that is nearest to a column of a row.
    pub(super) fn cursor_at(&self, row: usize, column: usize) -> (usize, usize) {
        let row = self.rows[row];
        let mut used = 0;
        let mut byte = row.start;
        for (at, grapheme) in self.text(row).grapheme_indices(true) {
            if used >= column {
                break;
            }
            used += columns(grapheme);
            byte = row.start + at + grapheme.len();
        }
        // The end of a row that goes on belongs to the next row: stay on this one.
        if byte == row.end && byte < self.lines[row.line].len() {
            byte = self.text(row).grapheme_indices(true).next_back().map_or(byte, |(at, _)| row.start + at);
        }
        (row.line, self.lines[row.line][..byte].chars().count())
    }
}

/// Columns of a text; a tab is shown as one space here.
fn columns(text: &str) -> usize {
    text.graphemes(true).map(|grapheme| if grapheme == "\t" { 1 } else { grapheme.width() }).sum()
}

/// Appends the rows of one line, broken after spaces where possible. A full last row is followed by an empty one for
/// the cursor.
fn wrap(line: usize, text: &str, room: usize, rows: &mut Vec<Row>) {
    let (mut start, mut used) = (0, 0);
    // Where the row could end, and the columns up to there.
    let mut good = None;
    for (at, grapheme) in text.grapheme_indices(true) {
        let wide = columns(grapheme);
        if used + wide > room && at > start {
            let (end, before) = good.take().unwrap_or((at, used));
            rows.push(Row { line, start, end });
            start = end;
            used -= before;
        }
        used += wide;
        if grapheme == " " {
            good = Some((at + 1, used));
        }
    }
    rows.push(Row { line, start, end: text.len() });
    if used >= room && start < text.len() {
        rows.push(Row { line, start: text.len(), end: text.len() });
    }
}

/// Returns what is shown of a text: the rows around the cursor.
pub(super) fn view(editor: &Editor, chips: &Chips, columns: u16, height: u16) -> ComposerLayout {
    let rows = ComposerRows::of(editor.lines(), columns);
    let (row, column) = rows.place(editor.cursor());
    let height = usize::from(height).max(1);
    let first = (row + 1).saturating_sub(height);
    let shown = rows.rows[first..].iter().take(height).map(|row| pieces(&rows, *row, chips)).collect();
    ComposerLayout {
        rows: shown,
        cursor: (u16::try_from(column).unwrap_or(u16::MAX), u16::try_from(row - first).unwrap_or(u16::MAX)),
        first_row: first,
    }
}

/// Cuts a row where what it shows changes.
fn pieces(rows: &ComposerRows<'_>, row: Row, chips: &Chips) -> Vec<(PieceKind, String)> {
    let line = &rows.lines[row.line];
    let mut marks: Vec<_> = chips.ranges(line).into_iter().map(|range| (range, PieceKind::Chip)).collect();
    marks.extend(mentions(line).map(|range| (range, PieceKind::Mention)));
    marks.sort_by_key(|(range, _)| range.start);
    let mut pieces = Vec::new();
    let mut at = row.start;
    for (range, kind) in marks {
        let (start, end) = (range.start.max(at), range.end.min(row.end));
        if start >= end {
            continue;
        }
        push(&mut pieces, PieceKind::Text, &line[at..start]);
        push(&mut pieces, kind, &line[start..end]);
        at = end;
    }
    push(&mut pieces, PieceKind::Text, &line[at..row.end]);
    pieces
}

fn push(pieces: &mut Vec<(PieceKind, String)>, kind: PieceKind, text: &str) {
    if !text.is_empty() {
        pieces.push((kind, text.replace('\t', " ")));
    }
}

/// Returns the words of a line that begin with `@`.
fn mentions(line: &str) -> impl Iterator<Item = std::ops::Range<usize>> {
    line.match_indices('@').filter_map(|(at, _)| {
        let starts_word = line[..at].chars().next_back().is_none_or(char::is_whitespace);
        let length = line[at..].find(char::is_whitespace).unwrap_or(line.len() - at);
        (starts_word && length > 1).then_some(at..at + length)
    })
}
