//! A line of running text and what of it leads somewhere.
//!
//! Owns finding a label again after its line was wrapped. Leaves wrapping to `wrap`, and where a label may lead to
//! `links`. Invariant: a line without links costs what wrapping costs.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use ratatui::text::{Line, Span};
use unicode_segmentation::UnicodeSegmentation as _;

use super::super::links::{Target, addresses};
use super::super::wrap::{grapheme_width, indents, spans_width, wrap_indented};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Label {
    /// The row, among the rows of its text.
    pub row: usize,
    /// The columns, from the first of the row.
    pub columns: Range<u16>,
    pub target: Arc<str>,
}

impl Label {
    #[must_use]
    pub fn moved(mut self, rows: usize, columns: u16) -> Self {
        self.row += rows;
        self.columns = self.columns.start.saturating_add(columns)..self.columns.end.saturating_add(columns);
        self
    }
}

/// Rows, and what in them leads somewhere, in the order of the rows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lined {
    pub lines: Vec<Line<'static>>,
    pub labels: Vec<Label>,
}

impl From<Vec<Line<'static>>> for Lined {
    fn from(lines: Vec<Line<'static>>) -> Self {
        Self { lines, labels: Vec::new() }
    }
}

impl Lined {
    /// Returns what leads somewhere in some of the rows.
    pub fn labels_in(&self, rows: Range<usize>) -> &[Label] {
        labels_in(&self.labels, rows)
    }
}

/// Returns those of some rows out of labels that stand in the order of their rows.
pub(super) fn labels_in(labels: &[Label], rows: Range<usize>) -> &[Label] {
    let before = |row: usize| labels.partition_point(|label| label.row < row);
    &labels[before(rows.start)..before(rows.end.max(rows.start))]
}

/// A line that is not wrapped yet.
#[derive(Debug, Clone, Default)]
pub(super) struct Phrase {
    spans: Vec<Span<'static>>,
    /// Spans that lead somewhere, in their order.
    targets: Vec<(usize, Target)>,
}

impl Phrase {
    pub(super) fn push(&mut self, span: Span<'static>) {
        self.spans.push(span);
    }

    pub(super) fn extend(&mut self, other: Self) {
        let before = self.spans.len();
        self.targets.extend(other.targets.into_iter().map(|(at, target)| (before + at, target)));
        self.spans.extend(other.spans);
    }

    pub(super) fn len(&self) -> usize {
        self.spans.len()
    }

    pub(super) fn is_blank(&self) -> bool {
        self.spans.iter().all(|span| span.content.trim().is_empty())
    }

    pub(super) fn width(&self) -> usize {
        spans_width(&self.spans)
    }

    /// Makes the spans from one on lead somewhere, unless they do already.
    pub(super) fn lead(&mut self, from: usize, target: &Target) {
        let marked = self.targets.split_off(self.targets.partition_point(|(at, _)| *at < from));
        let mut marked = marked.into_iter().peekable();
        for at in from..self.spans.len() {
            let own = marked.next_if(|(marked, _)| *marked == at);
            self.targets.push(own.unwrap_or_else(|| (at, Arc::clone(target))));
        }
    }

    /// Returns the line with the addresses in its text as links.
    pub(super) fn with_addresses(self) -> Self {
        if !self.spans.iter().any(|span| span.content.contains("://")) {
            return self;
        }
        let mut marked = vec![None; self.spans.len()];
        self.targets.into_iter().for_each(|(at, target)| marked[at] = Some(target));
        // An address does not reach into a label.
        let shown = self.spans.iter().zip(&marked).map(|(span, target)| match target {
            Some(_) => Cow::Owned(" ".repeat(span.content.len())),
            None => Cow::Borrowed(span.content.as_ref()),
        });
        let text: String = shown.collect();
        let mut found = addresses(&text).into_iter().peekable();
        let mut whole = Self::default();
        let mut at = 0;
        let mut open: Option<(Range<usize>, Target)> = None;
        for (span, target) in self.spans.into_iter().zip(marked) {
            let end = at + span.content.len();
            if let Some(target) = target {
                whole.push(span);
                whole.lead(whole.len() - 1, &target);
                at = end;
                continue;
            }
            while at < end {
                if open.as_ref().is_none_or(|(range, _)| range.end <= at) {
                    open = found.next_if(|range| range.start <= at).map(|range| {
                        let target = Target::from(&text[range.clone()]);
                        (range, target)
                    });
                }
                let next = open.as_ref().map(|(range, _)| range.end).or_else(|| Some(found.peek()?.start));
                let next = next.unwrap_or(end).min(end);
                whole.push(Span::styled(text[at..next].to_owned(), span.style));
                if let Some((_, target)) = &open {
                    whole.lead(whole.len() - 1, target);
                }
                at = next;
            }
        }
        whole
    }

    /// Returns the line in rows of at most `columns`: `first` stands before the first row, `rest` before the others.
    pub(super) fn wrap(&self, columns: u16, first: &Line<'_>, rest: &Line<'_>) -> Lined {
        let lines = wrap_indented(&Line::from(self.spans.clone()), columns, first, rest);
        if self.targets.is_empty() {
            return lines.into();
        }
        let (first, rest) = indents(columns, first, rest);
        let labels = self.labels(&lines, first.width(), rest.width());
        Lined { lines, labels }
    }

    /// Finds what leads somewhere in the wrapped rows. Wrapping takes and adds only blanks, so that all other signs can
    /// be counted off.
    fn labels(&self, rows: &[Line<'_>], first: usize, rest: usize) -> Vec<Label> {
        let mut ranges = self.counted().into_iter().peekable();
        let mut labels: Vec<Label> = Vec::new();
        let mut seen = 0;
        for (row, line) in rows.iter().enumerate() {
            let indent = if row == 0 { first } else { rest };
            let mut column = 0;
            // Whether the last label goes on.
            let mut open = false;
            for grapheme in line.spans.iter().flat_map(|span| span.content.graphemes(true)) {
                let from = column;
                column += grapheme_width(grapheme);
                let count = signs(grapheme);
                if from < indent || count == 0 {
                    continue;
                }
                while ranges.next_if(|(range, _)| range.end <= seen).is_some() {
                    open = false;
                }
                let Some((range, target)) = ranges.peek() else { return labels };
                if range.contains(&seen) {
                    let narrow = |column: usize| u16::try_from(column).unwrap_or(u16::MAX);
                    match labels.last_mut().filter(|_| open) {
                        Some(label) => label.columns.end = narrow(column),
                        None => labels.push(Label {
                            row,
                            columns: narrow(from)..narrow(column),
                            target: Arc::clone(target),
                        }),
                    }
                    open = true;
                }
                seen += count;
            }
        }
        labels
    }

    /// Returns what leads somewhere, by the number of signs before and in it.
    fn counted(&self) -> Vec<(Range<usize>, &Target)> {
        let mut ranges: Vec<(Range<usize>, &Target)> = Vec::new();
        let mut targets = self.targets.iter().peekable();
        let mut count = 0;
        for (at, span) in self.spans.iter().enumerate() {
            let next = count + signs(&span.content);
            if let Some((_, target)) = targets.next_if(|(marked, _)| *marked == at) {
                match ranges.last_mut().filter(|(range, last)| range.end == count && Arc::ptr_eq(last, target)) {
                    Some((range, _)) => range.end = next,
                    None => ranges.push((count..next, target)),
                }
            }
            count = next;
        }
        ranges
    }
}

/// Returns the number of signs of a text that are no blanks.
fn signs(text: &str) -> usize {
    text.chars().filter(|c| !matches!(c, ' ' | '\t')).count()
}
