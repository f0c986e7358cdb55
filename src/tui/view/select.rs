//! Selected lines as text, and how they are shown.
//!
//! Owns cutting at columns and the joining of wrapped rows. Leaves finding the lines to `transcript`. Invariant: what
//! is copied has no row end that the author did not write, and no sign of the program's own at the start of a row.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;
use unicode_segmentation::UnicodeSegmentation as _;

use super::gallery::PLACEHOLDER;
use super::theme::Theme;
use super::wrap::{TextEnd, end_of, grapheme_width};
use crate::app::Unit;

/// Most bytes that are copied at once: terminals give up on more.
const MOST: usize = 1 << 20;

#[derive(Debug, Default)]
pub(super) struct Clip {
    text: String,
    before: Option<TextEnd>,
}

impl Clip {
    /// Adds the part of a line between two columns.
    pub(super) fn push(&mut self, line: &Line<'_>, from: u16, to: u16) {
        if self.text.len() > MOST {
            return;
        }
        let part = between(line, usize::from(from), usize::from(to));
        match self.before.replace(end_of(line)) {
            None => self.text.push_str(part.trim_end()),
            Some(end @ (TextEnd::Hard | TextEnd::Parted)) => {
                self.text.push_str(if end == TextEnd::Parted { "\n\n" } else { "\n" });
                self.text.push_str(part.trim_end());
            }
            Some(soft) => {
                // The indent of a wrapped row is the program's.
                if soft == TextEnd::Spaced {
                    self.text.push(' ');
                }
                self.text.push_str(part.trim_start_matches(|c: char| c.is_whitespace() || c == '▎').trim_end());
            }
        }
    }

    pub(super) fn blank(&mut self) {
        self.push(&Line::default(), 0, 0);
    }

    pub(super) fn finish(self) -> String {
        self.text
    }
}

/// Returns the graphemes of a line of which a column lies in `from..to`.
fn between(line: &Line<'_>, from: usize, to: usize) -> String {
    let mut out = String::new();
    let mut column = 0;
    for grapheme in line.spans.iter().flat_map(|span| span.content.graphemes(true)) {
        let next = column + grapheme_width(grapheme);
        if next > from && column < to {
            out.push_str(grapheme);
        }
        column = next;
    }
    out
}

/// Returns the first and the last column of the word at a column; of the sign or the blank, if it is none.
fn word_at(line: &Line<'_>, column: u16) -> (u16, u16) {
    let kind = |grapheme: &str| match grapheme.chars().next() {
        // What names of files, functions and places are made of.
        Some(c) if c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/') => 0,
        Some(c) if c.is_whitespace() => 1,
        _ => 2,
    };
    let mut runs: Vec<(i32, usize, usize)> = Vec::new();
    let mut at = 0;
    for grapheme in line.spans.iter().flat_map(|span| span.content.graphemes(true)) {
        let (kind, next) = (kind(grapheme), at + grapheme_width(grapheme));
        match runs.last_mut().filter(|run| run.0 == kind && kind != 2) {
            Some(run) => run.2 = next,
            None => runs.push((kind, at, next)),
        }
        at = next;
    }
    let narrow = |column: usize| u16::try_from(column).unwrap_or(u16::MAX);
    let run = runs.iter().find(|(_, from, to)| (*from..*to).contains(&usize::from(column)));
    run.map_or((column, column), |(_, from, to)| (narrow(*from), narrow(to.saturating_sub(1))))
}

fn ends_line(row: &Line<'_>) -> bool {
    matches!(end_of(row), TextEnd::Hard | TextEnd::Parted)
}

/// Returns the row and the column where the unit begins that is at a place.
pub(super) fn beginning(unit: Unit, rows: &[Line<'_>], row: usize, column: u16) -> (usize, u16) {
    match unit {
        Unit::Character => (row, column),
        Unit::Word => (row, word_at(&rows[row], column).0),
        Unit::Line => {
            let before = (0..row).rev().find(|before| ends_line(&rows[*before]));
            (before.map_or(0, |before| before + 1), 0)
        }
    }
}

/// Returns the row and the column where the unit ends that is at a place.
pub(super) fn end(unit: Unit, rows: &[Line<'_>], row: usize, column: u16) -> (usize, u16) {
    match unit {
        Unit::Character => (row, column),
        Unit::Word => (row, word_at(&rows[row], column).1),
        Unit::Line => {
            let last = (row..rows.len()).find(|row| ends_line(&rows[*row]));
            (last.unwrap_or(rows.len().saturating_sub(1)), u16::MAX)
        }
    }
}

/// Shows columns of a drawn row as selected.
pub(super) fn mark(area: Rect, y: u16, from: u16, to: u16, theme: &Theme, buf: &mut Buffer) {
    let end = area.x.saturating_add(to).min(area.right());
    for x in area.x.saturating_add(from)..end {
        // The color of a part of a picture says which.
        if let Some(cell) = buf.cell_mut((x, y)).filter(|cell| !cell.symbol().starts_with(PLACEHOLDER)) {
            cell.set_style(theme.selected_row);
        }
    }
}
