//! Messages that wait to be read, one row each.
//!
//! Owns how they look. Leaves to the caller on which side of what they stand. Invariant: they take no more rows than
//! they are given, and where there are more of them, the latest are shown and the others counted.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::render_context::RenderContext;
use super::wrap;
use crate::message::sanitize_line;

/// The most rows that they take.
pub(super) const MOST: usize = 3;

/// Draws them at the top of an area, with a word behind each, and returns the area below.
pub(super) fn above(queued: &[&str], word: &str, area: Rect, ctx: &RenderContext<'_>, buf: &mut Buffer) -> Rect {
    let rows = rows(queued, MOST.min(usize::from(area.height.saturating_sub(1))));
    draw(queued, rows, word, area, ctx, buf);
    Rect { y: area.y + rows, height: area.height - rows, ..area }
}

/// Draws them at the foot of an area and returns the area above.
pub(super) fn below(queued: &[&str], area: Rect, ctx: &RenderContext<'_>, buf: &mut Buffer) -> Rect {
    let rows = rows(queued, MOST.min(usize::from(area.height / 2)));
    let foot = Rect { y: area.bottom() - rows, height: rows, ..area };
    draw(queued, rows, "", foot, ctx, buf);
    Rect { height: area.height - rows, ..area }
}

fn rows(queued: &[&str], most: usize) -> u16 {
    u16::try_from(queued.len().min(most)).unwrap_or(0)
}

fn draw(queued: &[&str], rows: u16, word: &str, area: Rect, ctx: &RenderContext<'_>, buf: &mut Buffer) {
    let hidden = queued.len() - usize::from(rows);
    for (text, y) in queued[hidden..].iter().zip(area.y..) {
        let more = if y == area.y && hidden > 0 { format!(" (+{hidden})") } else { String::new() };
        let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
        let line = Line::from(vec![
            Span::styled(format!("{} queued{more}  ", ctx.glyphs.queued), ctx.theme.warning),
            Span::styled(wrap::fit(&sanitize_line(first), 200), ctx.theme.muted),
            Span::styled(word.to_owned(), ctx.theme.faint),
        ]);
        let line = wrap::fit_line(&line, usize::from(area.width));
        buf.set_line(area.x, y, &line, area.width);
    }
}
