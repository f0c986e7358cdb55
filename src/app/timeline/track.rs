//! What one agent did when: spans of time, as a fold over its states.
//!
//! Owns the spans, the activity of the last moments, and the limit on both. Leaves naming a state to its caller, and
//! columns to `window`. Times are those at which the screen learned of a thing, as everywhere in `app`: they only grow,
//! which a wall clock does not. Invariants: spans are in order and never overlap; only the last one may be open, and
//! it is exactly while the agent lives, so that there is a gap between two runs; silence of a working agent is a span of its own; memory is bounded.

use std::time::{Duration, Instant};

use super::SpanKind;
use crate::agent::Status;
use crate::app::agents::state::STALLED_AFTER;
use crate::app::cells::CellId;

/// Spans kept of one agent; beyond that, the older half is joined into coarser spans.
const MOST: usize = 4_000;
/// Spans looked at for one stretch of time, however many there are in it.
const LOOKED_AT: usize = 8;
/// Slices of the recent activity.
pub const SLICES: usize = 16;
const SLICE: Duration = Duration::from_secs(4);
/// Slices before there is a course to show.
const FEWEST: u64 = 3;
/// Events of a slice that count as much, if no slice has more.
const BUSY: u32 = 40;
pub const TOP_LEVEL: u8 = 7;

/// A stretch of time in which an agent did one thing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    pub kind: SpanKind,
    pub from: Instant,
    /// Until when; `None` while it lasts.
    pub to: Option<Instant>,
    /// What exactly, such as the tool and its title; may be empty.
    pub label: Box<str>,
    /// The cell of the transcript that shows it.
    pub cell: CellId,
    /// How the run ended with it, if it did.
    pub ended: Option<Status>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TrackSeen<'a> {
    /// The span that fills most of it.
    pub span: &'a Span,
    /// What to call it: an open span that has become silent is not what it began as.
    pub kind: SpanKind,
    pub from: Instant,
    pub to: Option<Instant>,
    pub ended: Option<Status>,
    /// How many other spans there are in this time.
    pub others: usize,
}

impl TrackSeen<'_> {
    /// Returns `true` if a stretch of time lies within this span, so that nothing else is in it.
    pub fn fills(&self, from: Instant, to: Instant, now: Instant) -> bool {
        self.ended.is_none() && self.from <= from && to < self.to.unwrap_or(now)
    }
}

#[derive(Debug, Clone)]
pub struct Track {
    spans: Vec<Span>,
    /// The kinds of all spans there ever were, one bit each.
    kinds: u16,
    /// When its last event arrived.
    last_event: Instant,
    /// Events in each of the last slices, by the number of the slice modulo their count.
    activity: [u32; SLICES],
    /// Since when slices are counted, and the number of the last one with an event.
    born: Instant,
    slice: u64,
}

impl Track {
    pub(super) fn new(now: Instant) -> Self {
        Self { spans: Vec::new(), kinds: 0, last_event: now, activity: [0; SLICES], born: now, slice: 0 }
    }

    /// Returns all spans, oldest first.
    pub fn spans(&self) -> &[Span] {
        &self.spans
    }

    /// Returns the last span that began before a time.
    pub fn last_before(&self, time: Instant) -> Option<&Span> {
        self.spans[..self.spans.partition_point(|span| span.from < time)].last()
    }

    pub fn has(&self, kind: SpanKind) -> bool {
        self.kinds & 1 << kind as u16 != 0
    }

    pub fn is_open(&self) -> bool {
        self.open().is_some()
    }

    fn open(&self) -> Option<&Span> {
        self.spans.last().filter(|span| span.to.is_none())
    }

    /// Takes in a sign of life. Silence that was too long becomes a span of its own.
    pub(super) fn apply(&mut self, now: Instant) {
        if let Some(silent) = self.silent_from(now)
            && let Some(span) = self.spans.last_mut()
        {
            span.to = Some(silent);
            let stalled = Span { kind: SpanKind::Stalled, from: silent, to: Some(now), ..span.clone() };
            let goes_on = Span { from: now, to: None, ..span.clone() };
            self.spans.extend([stalled, goes_on]);
            self.kinds |= 1 << SpanKind::Stalled as u16;
            self.limit();
        }
        self.last_event = now;
    }

    pub(super) fn count(&mut self, now: Instant) {
        let slice = self.slice_of(now);
        for stale in (self.slice + 1..=slice).rev().take(SLICES) {
            self.activity[place(stale)] = 0;
        }
        self.slice = self.slice.max(slice);
        let count = &mut self.activity[place(slice)];
        *count = count.saturating_add(1);
    }

    /// Returns how busy it was in the last minute, oldest slice first: from 0 for nothing to [`TOP_LEVEL`]; `None` for
    /// an agent so young that there is no course yet.
    pub fn activity(&self, now: Instant) -> Option<[u8; SLICES]> {
        let newest = self.slice_of(now);
        if newest < FEWEST {
            return None;
        }
        let count = |age: u64| {
            let slice = newest.checked_sub(age).filter(|slice| *slice <= self.slice)?;
            (slice + SLICES as u64 > self.slice).then(|| self.activity[place(slice)])
        };
        let most = self.activity.iter().copied().max().unwrap_or(0).max(BUSY);
        let mut levels = [0; SLICES];
        for (level, age) in levels.iter_mut().rev().zip(0..) {
            // The root lets a single tool call be seen beside a stream of words.
            let count = u64::from(count(age).unwrap_or(0));
            let root = (count * u64::from(TOP_LEVEL) * u64::from(TOP_LEVEL) / u64::from(most)).isqrt();
            *level = u8::try_from(root.max(u64::from(count > 0))).unwrap_or(TOP_LEVEL).min(TOP_LEVEL);
        }
        Some(levels)
    }

    fn slice_of(&self, now: Instant) -> u64 {
        now.saturating_duration_since(self.born).as_secs() / SLICE.as_secs()
    }

    /// Takes in what the agent does now.
    pub(super) fn enter(&mut self, kind: SpanKind, cell: CellId, now: Instant, label: impl FnOnce() -> Box<str>) {
        // A tool is another one if its cell is; thoughts and waits go on.
        let names_cell = matches!(kind, SpanKind::Tool | SpanKind::Approval);
        if self.open().is_some_and(|open| open.kind == kind && (!names_cell || open.cell == cell)) {
            return;
        }
        self.close(now);
        self.kinds |= 1 << kind as u16;
        self.spans.push(Span { kind, from: now, to: None, label: label(), cell, ended: None });
        self.limit();
    }

    /// Takes in that the agent does nothing any more, and how its run ended, if it did.
    pub(super) fn rest(&mut self, ended: Option<Status>, cell: CellId, now: Instant) {
        let was_open = self.is_open();
        self.close(now);
        if ended.is_none() || !(was_open || self.spans.is_empty()) {
            return;
        }
        match self.spans.last_mut().filter(|span| span.to == Some(now)) {
            Some(last) => last.ended = ended,
            None => self.spans.push(Span {
                kind: SpanKind::Unknown,
                from: now,
                to: Some(now),
                label: Box::default(),
                cell,
                ended,
            }),
        }
    }

    /// Closes the open span; one without length is as if it had never been.
    fn close(&mut self, now: Instant) {
        if self.spans.pop_if(|span| span.to.is_none() && span.from >= now).is_some() {
            return;
        }
        if let Some(open) = self.spans.last_mut().filter(|span| span.to.is_none()) {
            open.to = Some(now);
        }
    }

    /// Since when an agent that should work has been silent for too long.
    fn silent_from(&self, now: Instant) -> Option<Instant> {
        let open = self.open().filter(|open| open.kind.row().is_work)?;
        let from = (self.last_event + STALLED_AFTER).max(open.from);
        (from < now).then_some(from)
    }

    /// Joins the older half into coarser spans, if there are too many. Of its pairs the shorter ones become one, so that
    /// what is old stays about even, however often this happens.
    fn limit(&mut self) {
        if self.spans.len() <= MOST {
            return;
        }
        let newer = self.spans.split_off(MOST / 2);
        let older = std::mem::take(&mut self.spans);
        let mut lengths: Vec<Duration> = older.chunks_exact(2).map(|pair| length_of(&pair[0], &pair[1])).collect();
        let middle = lengths.len() / 2;
        let (_, median, _) = lengths.select_nth_unstable(middle);
        let short = *median;
        let mut spans = older.into_iter();
        while let Some(one) = spans.next() {
            let joins = |other: &Span| one.ended.is_none() && one.to == Some(other.from);
            match spans.next() {
                Some(other) if joins(&other) && length_of(&one, &other) <= short => self.spans.push(join(one, other)),
                other => self.spans.extend([one].into_iter().chain(other)),
            }
        }
        // Runs that only ended cannot be joined; the oldest are forgotten.
        if self.spans.len() > MOST / 2 - MOST / 16 {
            self.spans.drain(..MOST / 8);
        }
        self.spans.extend(newer);
    }

    /// Returns what was done from `from` until before `to`; `None` if nothing was. What it costs does not depend on
    /// how many spans there are, but for the search.
    pub fn seen(&self, from: Instant, to: Instant, now: Instant) -> Option<TrackSeen<'_>> {
        let is_past = |end: Instant, span: &Span| end < from || (end == from && span.ended.is_none());
        let first = self.spans.partition_point(|span| span.to.is_some_and(|end| is_past(end, span)));
        let after = self.spans.partition_point(|span| span.from < to);
        let within = self.spans.get(first..after).filter(|within| !within.is_empty())?;
        let step = within.len().div_ceil(LOOKED_AT);
        let sampled = within.iter().step_by(step).flat_map(|span| self.pieces(span, now));
        let overlap = |piece: &TrackSeen<'_>| {
            let end = piece.to.unwrap_or(now.max(piece.from)).min(to);
            end.saturating_duration_since(piece.from.max(from))
        };
        let best = sampled
            .filter(|piece| piece.from < to)
            .max_by_key(|piece| (overlap(piece), piece.kind != SpanKind::Thinking))?;
        let ends = |span: &&Span| span.ended.is_some() && span.to.is_some_and(|end| from <= end && end < to);
        let ended = within.last().filter(ends).and_then(|span| span.ended);
        // The column that begins right now has no length yet.
        let touched = !overlap(&best).is_zero() || best.to.is_none() && from <= now;
        (touched || ended.is_some()).then_some(TrackSeen { ended, others: within.len() - 1, ..best })
    }

    /// Returns a span as it is to be called: the silent end of the open one stands for itself.
    fn pieces<'a>(&self, span: &'a Span, now: Instant) -> impl Iterator<Item = TrackSeen<'a>> + use<'a> {
        let silent = self.silent_from(now).filter(|_| span.to.is_none());
        let whole = TrackSeen { span, kind: span.kind, from: span.from, to: span.to, ended: None, others: 0 };
        let work = silent.is_none_or(|silent| silent > span.from);
        let work = work.then_some(TrackSeen { to: silent.or(span.to), ..whole });
        let stalled = silent.map(|from| TrackSeen { kind: SpanKind::Stalled, from, to: None, ..whole });
        [work, stalled].into_iter().flatten()
    }

    /// Returns `true` if it should work and has been silent for too long.
    pub fn is_silent(&self, now: Instant) -> bool {
        self.silent_from(now).is_some()
    }
}

/// Returns the time from the start of a closed span to the end of another.
fn length_of(first: &Span, last: &Span) -> Duration {
    last.to.map_or(Duration::MAX, |to| to.saturating_duration_since(first.from))
}

/// Makes one span of two that follow each other. The longer one names both, of equal ones a tool.
fn join(one: Span, other: Span) -> Span {
    let rank = |span: &Span| (length_of(span, span), span.kind == SpanKind::Tool);
    let (from, to, ended) = (one.from, other.to, other.ended);
    let name = if rank(&one) < rank(&other) { other } else { one };
    Span { from, to, ended, ..name }
}

/// Returns where the count of a slice is kept.
fn place(slice: u64) -> usize {
    usize::try_from(slice % SLICES as u64).unwrap_or(0)
}
