//! A transcript in an area: which lines are visible, and the lines themselves.
//!
//! Owns the cache of laid-out cells and the carrying out of scrolling. Leaves the lines of a cell to `cell`.
//! Invariants: a frame lays out only cells that are visible or that a motion passes over; a streaming text costs what
//! was added to it; cells out of sight for a while are forgotten, so that memory follows what is seen.

mod layout_cache;
mod matches;

use std::collections::HashMap;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::Line;

use self::layout_cache::LayoutCache;
pub(super) use self::matches::Matches;
use self::matches::{MatchCache, holds, mark};
use super::cell;
use super::gallery::is_picture;
use super::links::LinkSpans;
use super::render_context::RenderContext;
use super::select::{self, Clip};
use crate::app::{
    Anchor, CellId, CellKind, Detail, Drawn, Motion, PaneState, Point, ScrollTarget, Selection, SelectionEnd,
    SelectionStage, StepView,
};
use crate::message::AgentId;

/// Rows beyond its own that a view looks for, to say how many more it could fill.
const MORE_CONTENT: u16 = 12;

/// Frames after which a cell out of sight is forgotten.
const FORGET_AFTER: u64 = 64;

/// What a view follows while the user has not moved it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Follow {
    Tail,
    /// The start of this cell, if what follows it is longer than the view; else the end.
    From(CellId),
}

/// Whether blank lines stand between what differs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Spacing {
    #[default]
    Loose,
    /// None do: every row of a small pane says something.
    Tight,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Shown {
    /// Where the view stands now; `None` if it follows.
    pub at: Option<Anchor>,
    /// How many rows all of it would fill, up to some more than it has.
    pub rows: u16,
    pub found: Option<Anchor>,
    pub missed: bool,
    /// Where the search stands, if there is one.
    pub matches: Option<Matches>,
    /// First and last cell of which a line is visible.
    pub cells: (CellId, CellId),
    /// How many lines everything moved up since the last frame.
    pub moved: u16,
    pub selected: Option<(Point, Point)>,
    pub copied: Option<String>,
    /// What in it leads somewhere.
    pub leads: LinkSpans,
}

impl Shown {
    /// Notes what was shown of an agent's transcript.
    pub(super) fn note(self, agent: AgentId, drawn: &mut Drawn, links: &mut LinkSpans) {
        drawn.places.push(ScrollTarget { agent, at: self.at, found: self.found, selected: self.selected });
        drawn.not_found |= self.missed;
        drawn.copied = drawn.copied.take().or(self.copied);
        links.extend(self.leads);
    }
}

#[derive(Default)]
pub(super) struct TranscriptView {
    width: u16,
    spacing: Spacing,
    detail: Detail,
    theme: u64,
    /// How often the pictures on the terminal had changed.
    pictures: u64,
    frame: u64,
    cells: HashMap<CellId, LayoutCache>,
    matches: MatchCache,
    /// Where the last frame began, and in which area.
    last: Option<(Rect, Anchor)>,
}

impl TranscriptView {
    /// Draws a transcript and says what was visible.
    pub(super) fn draw(
        &mut self,
        cells: StepView<'_>,
        state: &PaneState,
        (follow, spacing): (Follow, Spacing),
        ctx: &RenderContext<'_>,
        area: Rect,
        buf: &mut Buffer,
    ) -> Shown {
        if self.spacing != spacing {
            self.cells.clear();
            self.spacing = spacing;
        }
        self.prepare(area.width, state.detail, ctx);
        let mut walk = Walk { transcript: self, cells, ctx };
        let height = usize::from(area.height);
        let tail = walk.tail(height, follow);
        let end = walk.tail(height, Follow::Tail);
        let (mut at, found, missed) = walk.moved(state, tail, end, height);
        if at.is_some_and(|at| at >= end) && end <= tail {
            at = None;
        }
        if cells.breaks_off() && state.scroll.at.is_some() {
            // The end of what is held is not the end.
            at = at.or(Some(end));
        }
        let from = at.unwrap_or(tail);
        let moved = walk.moved_up(from, area);
        let matches = walk.matches(state.search.as_deref(), found);
        let (last, leads) = walk.paint(from, area, buf);
        if let Some(sought) = state.search.as_deref() {
            let current = found.and_then(|found| walk.row_of(found, from, area));
            mark(area, buf, &sought.to_lowercase(), current, ctx);
        }
        let (selected, copied) = walk.select(state.selection, from, area, buf);
        let rows = walk.rows(area.height.saturating_add(MORE_CONTENT));
        self.last = Some((area, from));
        let frame = self.frame;
        // A search passes over many cells that are not held any more soon after.
        let held = cells.first()..cells.end();
        self.cells.retain(|id, laid| held.contains(id) && laid.used + FORGET_AFTER > frame);
        Shown { at, rows, found, missed, matches, cells: (from.cell, last), moved, selected, copied, leads }
    }

    /// Returns how many cells are kept laid out.
    pub(super) fn laid_out(&self) -> usize {
        self.cells.len()
    }

    /// Forgets lines of another width, theme or detail, or of before a picture came.
    fn prepare(&mut self, width: u16, detail: Detail, ctx: &RenderContext<'_>) {
        let pictures = ctx.gallery.changes();
        if (self.width, self.detail, self.theme, self.pictures) != (width, detail, ctx.theme.id(), pictures) {
            let docs = (self.detail, self.theme) == (detail, ctx.theme.id());
            // Markdown lays itself out anew for another width, and keeps what it has read.
            self.cells.retain(|_, laid| docs && laid.is_markdown());
            (self.width, self.detail, self.theme, self.pictures) = (width, detail, ctx.theme.id(), pictures);
        }
        self.frame += 1;
    }
}

/// One frame's way through a transcript.
struct Walk<'a> {
    transcript: &'a mut TranscriptView,
    cells: StepView<'a>,
    ctx: &'a RenderContext<'a>,
}

impl Walk<'_> {
    /// Returns the blank lines before a cell and its lines, laid out if need be.
    fn laid(&mut self, id: CellId) -> (usize, &[Line<'static>]) {
        let Some(cell) = self.cells.get(id) else { return (0, &[]) };
        let transcript = &mut *self.transcript;
        let (width, detail, ctx) = (transcript.width, transcript.detail, self.ctx);
        let gap = match transcript.spacing {
            Spacing::Tight => 0,
            Spacing::Loose => cell::gap(previous(&self.cells, id), &cell.kind),
        };
        let laid = transcript.cells.entry(id).or_insert_with(|| LayoutCache::before(cell));
        laid.bring_up(cell, (width, detail, transcript.spacing), ctx, transcript.frame);
        let lines = laid.lines(width, ctx);
        (if lines.is_empty() { 0 } else { gap }, lines)
    }

    fn height(&mut self, id: CellId) -> usize {
        let (gap, lines) = self.laid(id);
        gap + lines.len()
    }

    /// Returns how many lines there are from the end back, up to `most`.
    fn rows(&mut self, most: u16) -> u16 {
        let mut rows = 0;
        for id in (self.cells.first()..self.cells.end()).rev() {
            rows += self.height(id);
            if rows >= usize::from(most) {
                return most;
            }
        }
        u16::try_from(rows).unwrap_or(most)
    }

    /// Returns the first visible line of a view that follows.
    fn tail(&mut self, height: usize, follow: Follow) -> Anchor {
        let mut left = height;
        for id in (self.cells.first()..self.cells.end()).rev() {
            let tall = self.height(id);
            if tall >= left {
                let at = Anchor { cell: id, line: tall - left };
                return match follow {
                    Follow::From(cell) if cell <= id => at.min(Anchor { cell, line: self.laid(cell).0 }),
                    _ => at,
                };
            }
            left -= tall;
        }
        Anchor { cell: self.cells.first(), line: 0 }
    }

    fn moved(
        &mut self,
        state: &PaneState,
        tail: Anchor,
        end: Anchor,
        height: usize,
    ) -> (Option<Anchor>, Option<Anchor>, bool) {
        let scroll = &state.scroll;
        let first = Anchor { cell: self.cells.first(), line: 0 };
        let at = scroll.at.map(|at| at.max(first));
        let page = i32::try_from(height.saturating_sub(1).max(1)).unwrap_or(i32::MAX);
        match scroll.motion {
            None => (at, scroll.found, false),
            Some(Motion::Lines(lines)) => (self.step(at.unwrap_or(tail), lines, end), scroll.found, false),
            Some(Motion::Pages(pages)) => {
                (self.step(at.unwrap_or(tail), pages.saturating_mul(page), end), scroll.found, false)
            }
            Some(Motion::Top) => (Some(first), scroll.found, false),
            Some(motion) => {
                let sought = state.search.clone().unwrap_or_default().to_lowercase();
                let found = match motion {
                    _ if sought.is_empty() => None,
                    Motion::FindDown => self.find_down(Some(scroll.found.or(at).unwrap_or(first)), &sought),
                    Motion::FindFirst => self.find_down(None, &sought),
                    // Wherever the view stands, and whatever the search before this one found.
                    Motion::FindLast | Motion::FindTyped => self.find_up(None, &sought),
                    _ => self.find_up(scroll.found.or(at), &sought),
                };
                match found {
                    Some(found) => (self.step(found, -2, end), Some(found), false),
                    None if motion == Motion::FindTyped => (at, None, false),
                    None => (at, scroll.found, true),
                }
            }
        }
    }

    /// Returns the place some lines from another; `None` at the end, where the view follows again.
    fn step(&mut self, from: Anchor, lines: i32, end: Anchor) -> Option<Anchor> {
        let mut at = from;
        let mut left = lines.unsigned_abs() as usize;
        while left > 0 {
            if lines > 0 {
                let rest = self.height(at.cell).saturating_sub(at.line);
                if left < rest {
                    at.line += left;
                    break;
                }
                if at.cell + 1 >= self.cells.end() {
                    return None;
                }
                left -= rest;
                at = Anchor { cell: at.cell + 1, line: 0 };
            } else if at.line >= left {
                at.line -= left;
                break;
            } else if at.cell <= self.cells.first() {
                at.line = 0;
                break;
            } else {
                left -= at.line;
                let cell = at.cell - 1;
                at = Anchor { cell, line: self.height(cell) };
            }
        }
        Some(at).filter(|at| *at < end)
    }

    /// Returns how many lines the view moved down since the last frame, if it is less than its height.
    fn moved_up(&mut self, from: Anchor, area: Rect) -> u16 {
        let Some((_, before)) = self.transcript.last.filter(|(last, before)| *last == area && *before < from) else {
            return 0;
        };
        let height = usize::from(area.height);
        let mut lines = from.line;
        for id in before.cell..from.cell {
            lines += self.height(id);
            if lines > height + before.line {
                return 0;
            }
        }
        let lines = lines.saturating_sub(before.line);
        if lines < height { u16::try_from(lines).unwrap_or(0) } else { 0 }
    }

    fn find_down(&mut self, from: Option<Anchor>, sought: &str) -> Option<Anchor> {
        let first = from.map_or(self.cells.first(), |from| from.cell);
        (first..self.cells.end()).find_map(|id| {
            let skip = from.filter(|from| from.cell == id).map_or(0, |from| from.line + 1);
            let (gap, lines) = self.laid(id);
            let line = (skip..gap + lines.len()).find(|line| *line >= gap && holds(&lines[*line - gap], sought))?;
            Some(Anchor { cell: id, line })
        })
    }

    fn find_up(&mut self, from: Option<Anchor>, sought: &str) -> Option<Anchor> {
        let last = from.map_or(self.cells.end(), |from| from.cell + 1);
        (self.cells.first()..last).rev().find_map(|id| {
            let (gap, lines) = self.laid(id);
            let until = from.filter(|from| from.cell == id).map_or(gap + lines.len(), |from| from.line);
            let until = until.min(gap + lines.len());
            let line = (gap..until.max(gap)).rev().find(|line| holds(&lines[*line - gap], sought))?;
            Some(Anchor { cell: id, line })
        })
    }

    /// Draws the lines from a place on and returns the last cell that was reached, and what leads somewhere.
    fn paint(&mut self, from: Anchor, area: Rect, buf: &mut Buffer) -> (CellId, LinkSpans) {
        let mut leads = LinkSpans::default();
        let mut y = area.y;
        let mut last = from.cell;
        for id in from.cell..self.cells.end() {
            if y >= area.bottom() {
                break;
            }
            last = id;
            let skip = if id == from.cell { from.line } else { 0 };
            let (gap, lines) = self.laid(id);
            y += u16::try_from(gap.saturating_sub(skip)).unwrap_or(u16::MAX).min(area.bottom() - y);
            let first = skip.saturating_sub(gap);
            let shown = lines.get(first..).unwrap_or_default().iter().zip(y..area.bottom());
            let rows = shown.map(|(line, y)| {
                let row = Rect { y, height: 1, ..area };
                buf.set_line(row.x, row.y, line, row.width);
                if line.style.bg.is_some() {
                    buf.set_style(row, line.style);
                }
                leads.row(line, row);
            });
            let rows = rows.count();
            for label in self.transcript.cells.get(&id).map_or(&[][..], |laid| laid.labels(first..first + rows)) {
                let below = u16::try_from(label.row - first).unwrap_or(u16::MAX);
                leads.label(label, Rect { y: y.saturating_add(below), height: 1, ..area }, buf);
            }
            y += u16::try_from(rows).unwrap_or(u16::MAX);
        }
        (last, leads)
    }
}

impl Walk<'_> {
    /// Finds the ends of the selection in the text, shows it, and returns its text where that is wanted.
    fn select(
        &mut self,
        selection: Option<Selection>,
        first: Anchor,
        area: Rect,
        buf: &mut Buffer,
    ) -> (Option<(Point, Point)>, Option<String>) {
        let Some(mut selection) = selection.filter(|_| !area.is_empty()) else { return (None, None) };
        let mut ends = [selection.from, selection.to];
        for end in &mut ends {
            if let SelectionEnd::Screen(at) = *end {
                *end = SelectionEnd::Text(self.point_at(at, first, area));
            }
        }
        [selection.from, selection.to] = ends;
        let (SelectionEnd::Text(from), SelectionEnd::Text(to)) = (ends[0], ends[1]) else { return (None, None) };
        let Some((start, end)) = selection.range() else { return (Some((from, to)), None) };
        let start = self.edge(start, |rows, row, column| select::beginning(selection.unit, rows, row, column));
        let end = self.edge(end, |rows, row, column| select::end(selection.unit, rows, row, column));
        self.show_selected(start, end, first, area, buf);
        let copied = (selection.stage == SelectionStage::Wanted).then(|| self.text_between(start, end));
        (Some((from, to)), copied)
    }

    /// Returns the place in the text under a place of the screen; beside the text, the nearest one.
    fn point_at(&mut self, at: Position, first: Anchor, area: Rect) -> Point {
        let column = at.x.clamp(area.x, area.right()) - area.x;
        let mut rows = usize::from(at.y.clamp(area.y, area.bottom() - 1) - area.y);
        let mut anchor = first;
        for cell in first.cell..self.cells.end() {
            let from = if cell == first.cell { first.line } else { 0 };
            let height = self.height(cell).saturating_sub(from);
            if rows < height {
                return Point { at: Anchor { cell, line: from + rows }, column };
            }
            rows -= height;
            anchor = Anchor { cell, line: (from + height).saturating_sub(1) };
        }
        Point::below(anchor)
    }

    /// Moves a point to an edge of the word or the line that it is in.
    fn edge(&mut self, point: Point, find: impl Fn(&[Line<'_>], usize, u16) -> (usize, u16)) -> Point {
        let (gap, lines) = self.laid(point.at.cell);
        let Some(row) = point.at.line.checked_sub(gap).filter(|row| *row < lines.len()) else { return point };
        let (row, column) = find(lines, row, point.column);
        Point { at: Anchor { line: gap + row, ..point.at }, column }
    }

    fn show_selected(&mut self, start: Point, end: Point, first: Anchor, area: Rect, buf: &mut Buffer) {
        let mut at = first;
        for y in area.y..area.bottom() {
            while at.cell < self.cells.end() && at.line >= self.height(at.cell) {
                at = Anchor { cell: at.cell + 1, line: 0 };
            }
            if at.cell >= self.cells.end() || at > end.at {
                return;
            }
            if at >= start.at {
                let (from, to) = columns_of(at, start, end);
                select::mark(area, y, from, to, self.ctx.theme, buf);
            }
            at.line += 1;
        }
    }

    fn text_between(&mut self, start: Point, end: Point) -> String {
        let mut clip = Clip::default();
        for cell in start.at.cell.max(self.cells.first())..=end.at.cell.min(self.cells.end().saturating_sub(1)) {
            let (gap, lines) = self.laid(cell);
            for line in 0..gap + lines.len() {
                let at = Anchor { cell, line };
                if at < start.at || at > end.at {
                    continue;
                }
                let (from, to) = columns_of(at, start, end);
                match line.checked_sub(gap) {
                    Some(line) if is_picture(&lines[line]) => {}
                    Some(line) => clip.push(&lines[line], from, to),
                    None => clip.blank(),
                }
            }
        }
        clip.finish()
    }
}

/// Returns the selected columns of a line between two points.
fn columns_of(at: Anchor, start: Point, end: Point) -> (u16, u16) {
    let from = if at == start.at { start.column } else { 0 };
    let to = if at == end.at { end.column.saturating_add(1) } else { u16::MAX };
    (from, to)
}

/// Returns the visible cell before another.
fn previous<'a>(cells: &StepView<'a>, id: CellId) -> Option<&'a CellKind> {
    let mut at = id;
    while at > cells.first() {
        at -= 1;
        match cells.get(at).map(|cell| &cell.kind) {
            Some(CellKind::Void) | None => {}
            kind => return kind,
        }
    }
    None
}
