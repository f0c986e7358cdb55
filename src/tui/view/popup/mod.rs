//! What stands in front of everything else: a framed box with a text or a list.
//!
//! Owns the box. Leaves which popup is open to `app`. Invariant: a popup never reaches over the composer's cursor
//! line unless the terminal is too small for anything else.

mod cost;
mod list;
mod text;
mod wizard;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};

use super::render_context::RenderContext;
use super::wrap::{fit_line, width};
use crate::app::{Drawn, LineEdit, Popup};

pub(super) use list::completion;

/// Draws the open popup and returns where its cursor stands, if it has one.
pub(super) fn draw(ctx: &RenderContext<'_>, screen: Rect, buf: &mut Buffer, drawn: &mut Drawn) -> Option<Position> {
    match ctx.app.popup()? {
        Popup::Help { scroll } => {
            let lines = text::help(ctx, inner_columns(screen, 100));
            draw_text("keys", &lines, *scroll, screen, 100, ctx, buf, drawn);
            None
        }
        Popup::Wizard => wizard::draw(ctx, screen, buf, drawn),
        Popup::Prompt { agent, scroll } => {
            let agent = ctx.app.agents().get(*agent)?;
            let lines = text::markdown(&agent.prompt, ctx, inner_columns(screen, 100));
            let title = format!("{} · its task", agent.name);
            draw_text(&title, &lines, *scroll, screen, 100, ctx, buf, drawn);
            None
        }
        Popup::Cost { scroll } => {
            let lines = cost::lines(ctx, inner_columns(screen, 100));
            draw_text("tokens and cost", &lines, *scroll, screen, 100, ctx, buf, drawn);
            None
        }
        Popup::Text { title, body, scroll } => {
            let lines = text::markdown(body, ctx, inner_columns(screen, 80));
            draw_text(title, &lines, *scroll, screen, 80, ctx, buf, drawn);
            None
        }
        Popup::DeleteAgent { name, path } => {
            let lines = text::delete(name, &ctx.app.agent_places().shown(path), ctx, inner_columns(screen, 70));
            draw_text("delete?", &lines, 0, screen, 70, ctx, buf, drawn);
            None
        }
        Popup::List(popup) => list::draw(popup, ctx, screen, buf, drawn),
        Popup::Comment { text, .. } => Some(ask("deny with a reason", text, ctx, screen, buf)),
        Popup::Search { query, .. } => Some(ask("search", query, ctx, screen, buf)),
    }
}

/// Returns the columns inside of a box that is at most `most` wide.
fn inner_columns(screen: Rect, most: u16) -> u16 {
    screen.width.min(most).saturating_sub(4).max(1)
}

/// Empties an area that is drawn over: of what was there, also the colours are gone.
pub(super) fn clear(area: Rect, buf: &mut Buffer) {
    for y in area.y..area.bottom() {
        // A wide character that the edge would cut in half goes too.
        if let Some(cell) = area.x.checked_sub(1).and_then(|x| buf.cell_mut((x, y)))
            && width(cell.symbol()) > 1
        {
            cell.set_symbol(" ");
        }
        for x in area.x..area.right() {
            if let Some(cell) = buf.cell_mut((x, y)) {
                cell.reset();
            }
        }
    }
}

pub(super) fn frame(title: &str, area: Rect, ctx: &RenderContext<'_>, buf: &mut Buffer) -> Rect {
    let theme = ctx.theme;
    let [top_left, top_right, bottom_left, bottom_right, horizontal, vertical] = ctx.glyphs.frame;
    clear(area, buf);
    for y in area.y..area.bottom() {
        for x in area.x..area.right() {
            let (left, right) = (x == area.x, x + 1 == area.right());
            let (top, bottom) = (y == area.y, y + 1 == area.bottom());
            let symbol = match (top, bottom, left, right) {
                (true, _, true, _) => top_left,
                (true, _, _, true) => top_right,
                (_, true, true, _) => bottom_left,
                (_, true, _, true) => bottom_right,
                (true, ..) | (_, true, ..) => horizontal,
                (_, _, true, _) | (.., true) => vertical,
                _ => " ",
            };
            if let Some(cell) = buf.cell_mut((x, y)) {
                cell.set_symbol(symbol).set_style(theme.border_focused);
            }
        }
    }
    if area.width > 6 && !title.is_empty() {
        let title = Line::from(Span::styled(format!(" {title} "), theme.title));
        buf.set_line(area.x + 1, area.y, &fit_line(&title, usize::from(area.width - 2)), area.width - 2);
    }
    Rect {
        x: area.x + 2.min(area.width / 2),
        // Also a box without an inside has a place that can be written to.
        y: area.y + 1.min(area.height.saturating_sub(1)),
        width: area.width.saturating_sub(4),
        height: area.height.saturating_sub(2),
    }
}

/// Returns a box of a size in the middle of the screen.
fn centred(screen: Rect, columns: u16, rows: u16) -> Rect {
    // Beside a box that is nearly as wide as the screen, a column of what lies behind it would look like a fault.
    let width = if columns + 4 > screen.width { screen.width } else { columns };
    let height = rows.min(screen.height);
    Rect { x: screen.x + (screen.width - width) / 2, y: screen.y + (screen.height - height) / 3, width, height }
}

#[expect(clippy::too_many_arguments, reason = "one call draws one box; a struct would only rename the arguments")]
fn draw_text(
    title: &str,
    lines: &[Line<'static>],
    scroll: usize,
    screen: Rect,
    most: u16,
    ctx: &RenderContext<'_>,
    buf: &mut Buffer,
    drawn: &mut Drawn,
) {
    let rows = u16::try_from(lines.len() + 2).unwrap_or(u16::MAX).min(screen.height.saturating_sub(2).max(3));
    let area = centred(screen, most, rows);
    let inner = frame(title, area, ctx, buf);
    let end = lines.len().saturating_sub(usize::from(inner.height));
    drawn.popup_end = end;
    let from = scroll.min(end);
    for (line, y) in lines.iter().skip(from).zip(inner.y..inner.bottom()) {
        buf.set_line(inner.x, y, line, inner.width);
    }
    draw_place(from, usize::from(inner.height), lines.len(), area, ctx, buf);
}

/// Says at the bottom of a box which part of its lines is visible, if not all are.
pub(super) fn draw_place(
    from: usize,
    height: usize,
    count: usize,
    area: Rect,
    ctx: &RenderContext<'_>,
    buf: &mut Buffer,
) {
    if count > height && area.width > 20 {
        let place = format!(" {}–{} of {count} ", from + 1, from + height);
        let x = area.right().saturating_sub(u16::try_from(width(&place)).unwrap_or(0) + 1);
        buf.set_string(x, area.bottom() - 1, place, ctx.theme.muted);
    }
}

fn ask(title: &str, line: &LineEdit, ctx: &RenderContext<'_>, screen: Rect, buf: &mut Buffer) -> Position {
    let area = centred(screen, 70, 3);
    let inner = frame(title, area, ctx, buf);
    type_line(line, inner, ctx, buf)
}

/// Draws a line that is being typed and returns its cursor.
pub(super) fn type_line(line: &LineEdit, area: Rect, ctx: &RenderContext<'_>, buf: &mut Buffer) -> Position {
    let room = usize::from(area.width.saturating_sub(3));
    buf.set_stringn(area.x, area.y, ctx.glyphs.prompt, usize::from(area.width), ctx.theme.accent);
    let before = super::wrap::tail(line.before_cursor(), room);
    let after = &line.text()[line.before_cursor().len()..];
    let x = (area.x + 2).min(area.right().saturating_sub(1)).max(area.x);
    buf.set_stringn(x, area.y, format!("{before}{after}"), room, ctx.theme.text);
    let cursor = x + u16::try_from(width(before)).unwrap_or(0);
    Position { x: cursor.min(area.right().saturating_sub(1)).max(area.x), y: area.y }
}
