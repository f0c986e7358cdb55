//! Selected lines as text, and how they are shown.
//!
//! Owns cutting at columns and the joining of wrapped rows. Leaves finding the lines to `transcript`. Invariant: what
//! is copied has no row end that the author did not write, and no sign of the program's own at the start of a row.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;
use unicode_segmentation::UnicodeSegmentation as _;

use super::theme::Theme;
use super::wrap::{End, end_of, grapheme_width};

/// Most bytes that are copied at once: terminals give up on more.
const MOST: usize = 1 << 20;

/// Selected lines, put together.
#[derive(Debug, Default)]
pub(super) struct Clip {
    text: String,
    before: Option<End>,
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
            Some(End::Hard) => {
                self.text.push('\n');
                self.text.push_str(part.trim_end());
            }
            Some(soft) => {
                // The indent of a wrapped row is the program's.
                if soft == End::Spaced {
                    self.text.push(' ');
                }
                self.text.push_str(part.trim_start_matches(|c: char| c.is_whitespace() || c == '▎').trim_end());
            }
        }
    }

    /// Adds a blank line.
    pub(super) fn blank(&mut self) {
        self.push(&Line::default(), 0, 0);
    }

    /// Returns the text.
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

/// Shows columns of a drawn row as selected.
pub(super) fn mark(area: Rect, y: u16, from: u16, to: u16, theme: &Theme, buf: &mut Buffer) {
    let end = area.x.saturating_add(to).min(area.right());
    for x in area.x.saturating_add(from)..end {
        if let Some(cell) = buf.cell_mut((x, y)) {
            cell.set_style(theme.selected_row);
        }
    }
}
