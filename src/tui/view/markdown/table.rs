//! Tables of Markdown as rows.
//!
//! Owns the widths of columns. Leaves where a table stands to `blocks`. Invariant: no row is wider than the room,
//! unless there are more columns than columns of the screen.

use pulldown_cmark::Alignment;
use ratatui::text::{Line, Span};

use super::super::theme::Theme;
use super::super::wrap::{fit_line, spans_width};
use super::phrase::{Label, Lined, Phrase};

/// A column is not made narrower than this as long as another can be.
const MIN_COLUMN: usize = 3;

pub(super) struct Table {
    alignments: Vec<Alignment>,
    rows: Vec<Vec<Phrase>>,
    row: Vec<Phrase>,
}

impl Table {
    pub(super) fn new(alignments: Vec<Alignment>) -> Self {
        Self { alignments, rows: Vec::new(), row: Vec::new() }
    }

    pub(super) fn push_cell(&mut self, cell: Phrase) {
        self.row.push(cell);
    }

    pub(super) fn end_row(&mut self) {
        self.rows.push(std::mem::take(&mut self.row));
    }

    /// Lays the table out in `room` columns; long cells take several rows.
    pub(super) fn rows(&self, room: usize, theme: &Theme) -> Lined {
        let widths = self.widths(room);
        let mut out = Lined::default();
        for (at, row) in self.rows.iter().enumerate() {
            self.write_row(row, &widths, theme, &mut out);
            if at == 0 {
                let cross = format!("{rule}{cross}{rule}", rule = theme.glyphs.rule, cross = theme.glyphs.cross);
                let rules: Vec<String> = widths.iter().map(|columns| theme.glyphs.rule.repeat(*columns)).collect();
                out.lines.push(Line::styled(rules.join(&cross), theme.faint));
            }
        }
        let fitted = out.lines.iter().map(|line| fit_line(line, room)).collect();
        // Where a row is cut, what stood at its end is not what it was.
        let seen = |label: &Label| out.lines[label.row].width() <= room || usize::from(label.columns.end) < room;
        out.labels.retain(seen);
        Lined { lines: fitted, labels: out.labels }
    }

    /// Gives each column what it needs, and takes from the widest until all fit.
    fn widths(&self, room: usize) -> Vec<usize> {
        let natural = |column: usize| self.rows.iter().filter_map(|row| row.get(column)).map(Phrase::width).max();
        let mut widths: Vec<usize> =
            (0..self.alignments.len()).map(|column| natural(column).unwrap_or(0).max(1)).collect();
        let separators = widths.len().saturating_sub(1) * 3;
        loop {
            let excess = (widths.iter().sum::<usize>() + separators).saturating_sub(room);
            let widest = widths.iter().max().copied().unwrap_or(0);
            if excess == 0 || widest <= MIN_COLUMN {
                return widths;
            }
            // All columns of the greatest width shrink together, down to the next one.
            let next = widths.iter().filter(|columns| **columns < widest).max().copied().unwrap_or(MIN_COLUMN);
            let count = widths.iter().filter(|columns| **columns == widest).count();
            let step = excess.div_ceil(count).min(widest - next.max(MIN_COLUMN)).max(1);
            for columns in widths.iter_mut().filter(|columns| **columns == widest) {
                *columns -= step;
            }
        }
    }

    fn write_row(&self, row: &[Phrase], widths: &[usize], theme: &Theme, out: &mut Lined) {
        let blank = Line::default();
        let cells: Vec<Lined> = widths
            .iter()
            .enumerate()
            .map(|(column, columns)| {
                let columns = u16::try_from(*columns).unwrap_or(u16::MAX);
                row.get(column).map_or_else(|| vec![blank.clone()].into(), |cell| cell.wrap(columns, &blank, &blank))
            })
            .collect();
        let height = cells.iter().map(|cell| cell.lines.len()).max().unwrap_or(0);
        for at in 0..height {
            let mut spans = Vec::new();
            let mut used = 0;
            for (column, columns) in widths.iter().enumerate() {
                if column > 0 {
                    spans.push(Span::styled(format!(" {} ", theme.glyphs.column), theme.faint));
                    used += 3;
                }
                let cell = cells[column].lines.get(at).map(|line| line.spans.clone()).unwrap_or_default();
                let taken = spans_width(&cell);
                let free = columns.saturating_sub(taken);
                let left = match self.alignments[column] {
                    Alignment::Right => free,
                    Alignment::Center => free / 2,
                    Alignment::Left | Alignment::None => 0,
                };
                let before = u16::try_from(used + left).unwrap_or(u16::MAX);
                let labels = cells[column].labels.iter().filter(|label| label.row == at);
                out.labels.extend(labels.map(|label| Label { row: out.lines.len(), ..label.clone().moved(0, before) }));
                spans.push(Span::raw(" ".repeat(left)));
                spans.extend(cell);
                spans.push(Span::raw(" ".repeat(free - left)));
                used += taken.max(*columns);
            }
            out.lines.push(Line::from(spans));
        }
    }
}
