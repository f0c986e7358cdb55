//! One cell of a transcript as lines.
//!
//! Owns what is laid out anew when the cell has changed. Leaves the lines themselves to `cell` and `markdown`.
//! Invariant: a text that goes on costs what was added to it.

use std::ops::Range;

use ratatui::text::Line;

use super::super::cell;
use super::super::gallery;
use super::super::markdown::{Label, Lined, MarkdownDoc};
use super::super::render_context::RenderContext;
use super::Spacing;
use crate::app::{Cell, CellKind, Detail};

pub(super) struct LayoutCache {
    epoch: u32,
    /// Bytes of the text that was laid out.
    length: usize,
    /// The last frame that needed it.
    pub(super) used: u64,
    body: Body,
}

enum Body {
    Lines(Lined),
    Markdown(Box<MarkdownDoc>),
}

impl LayoutCache {
    /// Returns a cell that is not laid out yet.
    pub(super) fn before(cell: &Cell) -> Self {
        Self { epoch: cell.epoch.wrapping_sub(1), length: 0, used: 0, body: Body::Lines(Lined::default()) }
    }

    pub(super) fn is_markdown(&self) -> bool {
        matches!(self.body, Body::Markdown(_))
    }

    pub(super) fn lines(&mut self, width: u16, ctx: &RenderContext<'_>) -> &[Line<'static>] {
        match &mut self.body {
            Body::Lines(laid) => &laid.lines,
            Body::Markdown(doc) => doc.lines(width, ctx.theme, ctx.highlighter),
        }
    }

    /// Returns what leads somewhere in some of its lines.
    pub(super) fn labels(&self, rows: Range<usize>) -> &[Label] {
        match &self.body {
            Body::Lines(laid) => laid.labels_in(rows),
            Body::Markdown(doc) => doc.labels(rows),
        }
    }

    /// Brings the lines up to date with the cell.
    pub(super) fn bring_up(
        &mut self,
        cell: &Cell,
        (width, detail, spacing): (u16, Detail, Spacing),
        ctx: &RenderContext<'_>,
        frame: u64,
    ) {
        let fresh = std::mem::replace(&mut self.used, frame) == frame;
        let same = self.epoch == cell.epoch;
        if let Some(text) = cell::markdown(&cell.kind) {
            match &mut self.body {
                Body::Markdown(doc) if same && self.length <= text.len() => doc.push(&text[self.length..]),
                body => {
                    let mut doc = if spacing == Spacing::Tight { MarkdownDoc::tight() } else { MarkdownDoc::new() };
                    doc.set(text);
                    *body = Body::Markdown(Box::new(doc));
                }
            }
            self.length = text.len();
        } else {
            let length = match &cell.kind {
                CellKind::Thinking { text } => text.len(),
                _ => 0,
            };
            let laid = matches!(&self.body, Body::Lines(laid) if !laid.lines.is_empty());
            let stale = !same || self.length != length || !laid || cell::is_live(&cell.kind, ctx);
            if stale && !(fresh && same && laid) {
                let mut lined = cell::lines(&cell.kind, width, detail, ctx);
                if spacing == Spacing::Loose {
                    lined.lines.extend(gallery::lines(&cell.kind, width, ctx));
                }
                self.body = Body::Lines(lined);
            }
            self.length = length;
        }
        self.epoch = cell.epoch;
    }
}
