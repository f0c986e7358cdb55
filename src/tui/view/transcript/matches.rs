//! Where a sought text stands in a transcript: how often, which match is the current one, and their marks.
//!
//! Owns the places of matches. Leaves moving to the transcript. Invariant: a cell that has not changed is looked through
//! once for each text that is sought.

use std::collections::BTreeMap;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

use super::Walk;
use crate::app::{Anchor, CellId};
use crate::tui::view::render_context::RenderContext;

/// How many lines hold what is sought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::tui::view) struct Matches {
    pub(in crate::tui::view) count: usize,
    /// Number of the current one, from 1.
    pub(in crate::tui::view) current: Option<usize>,
}

/// The lines that hold a text, by cell.
#[derive(Default)]
pub(super) struct MatchCache {
    sought: String,
    width: u16,
    /// Each with the epoch and the length of the cell that was looked through.
    cells: BTreeMap<CellId, (u32, usize, Vec<usize>)>,
}

impl Walk<'_> {
    /// Counts the lines that hold the text.
    pub(super) fn matches(&mut self, sought: Option<&str>, found: Option<Anchor>) -> Option<Matches> {
        let mut known = std::mem::take(&mut self.transcript.matches);
        let sought = sought.filter(|sought| !sought.is_empty())?.to_lowercase();
        if known.sought != sought || known.width != self.transcript.width {
            known = MatchCache { sought, width: self.transcript.width, cells: BTreeMap::new() };
        }
        let held = self.cells.first()..self.cells.end();
        known.cells.retain(|id, _| held.contains(id));
        for id in held {
            let Some(cell) = self.cells.get(id) else { continue };
            let stamp = (cell.epoch, cell.kind.length());
            if known.cells.get(&id).is_some_and(|(epoch, length, _)| (*epoch, *length) == stamp) {
                continue;
            }
            let (gap, lines) = self.laid(id);
            let holding = lines.iter().enumerate().filter(|(_, line)| holds(line, &known.sought));
            let holding = holding.map(|(line, _)| gap + line).collect();
            known.cells.insert(id, (stamp.0, stamp.1, holding));
        }
        let all = || known.cells.iter().flat_map(|(cell, (.., lines))| lines.iter().map(|line| (*cell, *line)));
        let at = found.map(|found| (found.cell, found.line));
        let matches =
            Matches { count: all().count(), current: all().position(|place| Some(place) == at).map(|at| at + 1) };
        self.transcript.matches = known;
        Some(matches)
    }

    /// Returns the row of the screen that a line stands in, if it is visible.
    pub(super) fn row_of(&mut self, line: Anchor, from: Anchor, area: Rect) -> Option<u16> {
        let mut rows = 0;
        for id in from.cell..=line.cell {
            let begin = if id == from.cell { from.line } else { 0 };
            let end = if id == line.cell { line.line } else { self.height(id) };
            rows += end.checked_sub(begin)?;
            if rows >= usize::from(area.height) {
                return None;
            }
        }
        Some(area.y + u16::try_from(rows).ok()?)
    }
}

pub(super) fn holds(line: &Line<'_>, sought: &str) -> bool {
    let text: String = line.spans.iter().map(|span| span.content.as_ref()).collect();
    text.to_lowercase().contains(sought)
}

/// Shows where the sought text stands in the drawn area; on the row of the current match it is told apart.
pub(super) fn mark(area: Rect, buf: &mut Buffer, sought: &str, current: Option<u16>, ctx: &RenderContext<'_>) {
    if sought.is_empty() {
        return;
    }
    for y in area.y..area.bottom() {
        let mut row = String::new();
        let mut columns = Vec::new();
        for x in area.x..area.right() {
            let symbol = buf.cell((x, y)).map_or(" ", |cell| cell.symbol()).to_lowercase();
            columns.extend(std::iter::repeat_n(x, symbol.len()));
            row.push_str(&symbol);
        }
        for (at, found) in row.match_indices(sought) {
            for x in columns[at]..=columns[at + found.len() - 1] {
                if let Some(cell) = buf.cell_mut((x, y)) {
                    cell.set_style(ctx.theme.search_match);
                    if current == Some(y) {
                        cell.set_style(ctx.theme.search_current);
                    }
                }
            }
        }
    }
}
