//! Which part of time the timeline shows, and where its parts stand on the screen.
//!
//! Owns the scales, the columns and the rows, as a pure function of size, agents and the user's wishes. Leaves drawing
//! to the views. Invariants: the cursor's column and the chosen row are always visible; a moment belongs to the same
//! column whatever the present is, so that bars do not crawl.

use std::time::{Duration, Instant};

use ratatui::layout::Rect;

use crate::message::AgentId;

/// Lengths of a column, in milliseconds, from the closest to the widest look.
const COLUMNS: [u64; 17] = [
    100, 200, 500, 1_000, 2_000, 5_000, 10_000, 30_000, 60_000, 120_000, 300_000, 600_000, 1_800_000, 3_600_000,
    7_200_000, 21_600_000, 86_400_000,
];
/// Columns between two ticks of the axis, at least.
const TICK: u64 = 10;
/// Widest and narrowest room for a name.
const NAMES: (u16, u16) = (24, 6);
/// Columns from which on names have room for what their agents are for, and how much.
pub(super) const DESCRIBED: (u16, u16) = (120, 44);

/// The length of a column, by its place in the list of lengths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Scale(usize);

impl Scale {
    /// Returns the closest look that shows so much time in so many columns.
    pub(super) fn to_fit(time: Duration, columns: u16) -> Self {
        let fits = |length: &u64| column_of(time, *length) < u64::from(columns.max(1));
        Self(COLUMNS.iter().position(fits).unwrap_or(COLUMNS.len() - 1))
    }

    /// Returns the next closer or wider look, as far as there is one.
    pub(super) fn step(self, places: isize) -> Self {
        Self(self.0.saturating_add_signed(places).min(COLUMNS.len() - 1))
    }

    /// Returns the length of a column in milliseconds.
    pub(super) fn length(self) -> u64 {
        COLUMNS[self.0]
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimelineRow {
    pub agent: AgentId,
    pub depth: u16,
}

#[derive(Debug, Clone)]
pub(super) struct WindowRequest {
    pub area: Rect,
    /// When time begins, and where it ends.
    pub time: (Instant, Instant),
    pub rows: Vec<TimelineRow>,
    pub chosen: AgentId,
    /// Columns of the longest name, indents included.
    pub name_columns: u16,
    /// Where the cursor was put, as time since the beginning; `None` follows the present.
    pub at: Option<Duration>,
    /// The scale that was chosen; `None` shows everything.
    pub scale: Option<Scale>,
    /// The first column and the first row of the last look.
    pub first: (u64, usize),
}

/// Which part of time is shown, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimelineWindow {
    pub head: Rect,
    pub axis: Rect,
    pub names: Rect,
    pub bars: Rect,
    /// What is said of the moment under the cursor.
    pub words: Rect,
    pub legend: Rect,
    pub rows: Vec<TimelineRow>,
    /// Place of the first visible row among all.
    pub top: usize,
    /// How many rows there are.
    pub of: usize,
    pub chosen: AgentId,
    /// Number of the first visible column.
    pub first: u64,
    /// Number of the column of the present, or of the last end.
    pub last: u64,
    /// Number of the cursor's column.
    pub cursor: u64,
    pub(super) area: Rect,
    origin: Instant,
    pub(super) scale: Scale,
}

/// Places the parts, and chooses columns and rows so that cursor and chosen agent are visible.
pub(super) fn window(wish: WindowRequest) -> TimelineWindow {
    let (origin, end) = wish.time;
    let mut rest = wish.area;
    // What is least needed gives way first.
    let head = cut(&mut rest, Side::Top, u16::from(wish.area.height >= 5));
    let legend = cut(&mut rest, Side::Bottom, u16::from(wish.area.height >= 6));
    let words = cut(&mut rest, Side::Bottom, u16::from(wish.area.height >= 2));
    let mut axis = cut(&mut rest, Side::Top, u16::from(wish.area.height >= 4));
    // What is said of the bars stands right below them.
    let of = wish.rows.len();
    let spare = rest.height.saturating_sub(u16::try_from(of).unwrap_or(u16::MAX));
    rest.height -= spare;
    let up = spare.saturating_sub(1);
    let (words, legend) = (Rect { y: words.y - up, ..words }, Rect { y: legend.y - up, ..legend });
    let most = if rest.width < DESCRIBED.0 { NAMES.0 } else { DESCRIBED.1 };
    let columns = wish.name_columns.saturating_add(3).clamp(NAMES.1, most).min(rest.width / 3);
    let names = Rect { width: columns, ..rest };
    let bars = Rect { x: rest.x + columns, width: rest.width - columns, ..rest };
    (axis.x, axis.width) = (bars.x, bars.width);

    let whole = Scale::to_fit(end.saturating_duration_since(origin), bars.width);
    let scale = wish.scale.unwrap_or(whole).min(whole);
    let last = column_of(end.saturating_duration_since(origin), scale.length());
    let cursor = wish.at.map_or(last, |at| column_of(at, scale.length()).min(last));
    let room = u64::from(bars.width.max(1));
    let first = if wish.at.is_none() { last } else { wish.first.0 };
    let first = first.clamp((cursor + 1).saturating_sub(room), cursor).min((last + 1).saturating_sub(room));

    let place = wish.rows.iter().position(|row| row.agent == wish.chosen).unwrap_or(0);
    let chosen = wish.rows.get(place).map_or(AgentId::MAIN, |row| row.agent);
    let room = usize::from(bars.height.max(1));
    let top = wish.first.1.clamp((place + 1).saturating_sub(room), place).min(of.saturating_sub(room));
    let rows = wish.rows.into_iter().skip(top).take(usize::from(bars.height)).collect();
    TimelineWindow {
        area: wish.area,
        head,
        axis,
        names,
        bars,
        words,
        legend,
        rows,
        top,
        of,
        chosen,
        first,
        last,
        cursor,
        origin,
        scale,
    }
}

impl TimelineWindow {
    /// Returns the time of a column: from its start until before its end.
    pub fn time_of(&self, column: u64) -> (Instant, Instant) {
        let from = self.origin + self.since(column);
        (from, from + self.column_length())
    }

    /// Returns the start of a column as time since the beginning.
    pub fn since(&self, column: u64) -> Duration {
        Duration::from_millis(column.saturating_mul(self.scale.length()))
    }

    /// Returns a moment as time since the beginning.
    pub fn since_origin(&self, at: Instant) -> Duration {
        at.saturating_duration_since(self.origin)
    }

    pub fn column_length(&self) -> Duration {
        Duration::from_millis(self.scale.length())
    }

    /// Returns the visible columns: where each stands, and its number.
    pub fn columns(&self) -> impl Iterator<Item = (u16, u64)> + use<> {
        let (first, last) = (self.first, self.last);
        (self.bars.x..self.bars.right()).zip(first..).take_while(move |(_, column)| *column <= last)
    }

    /// Returns the columns from one tick of the axis to the next.
    pub fn tick(&self) -> u64 {
        let length = self.scale.length();
        let round = |tick: &&u64| **tick >= length * TICK && tick.is_multiple_of(length);
        COLUMNS.iter().find(round).map_or(TICK, |tick| tick / length)
    }
}

/// From which side something is cut off.
#[derive(Clone, Copy)]
enum Side {
    Top,
    Bottom,
}

/// Cuts rows off, as far as there are any.
fn cut(rest: &mut Rect, side: Side, rows: u16) -> Rect {
    let height = rows.min(rest.height);
    rest.height -= height;
    match side {
        Side::Top => {
            rest.y += height;
            Rect { y: rest.y - height, height, ..*rest }
        }
        Side::Bottom => Rect { y: rest.y + rest.height, height, ..*rest },
    }
}

fn column_of(time: Duration, length: u64) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX) / length.max(1)
}
