//! What stands in front of everything else: a framed box with a text or a list.
//!
//! Owns the box. Leaves which popup is open to `app`. Invariant: a popup never reaches over the composer's cursor
//! line unless the terminal is too small for anything else.

mod context;
mod cost;
mod list;
mod questions;
mod text;
mod wizard;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::symbols::border;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Widget as _};

use super::render_context::{RenderContext, put_lines};
use super::search_line;
use super::wrap::{fit_line, width};
use crate::app::{Drawn, LineEdit, Popup};

pub(super) use list::completion;

/// Draws the open popup and returns where its cursor stands, if it has one.
pub(super) fn draw(ctx: &RenderContext<'_>, buf: &mut Buffer, drawn: &mut Drawn) -> Option<Position> {
    let screen = ctx.app.size();
    let inside = |most: u16| screen.width.min(most).saturating_sub(4).max(1);
    let (title, most, lines, scroll) = match ctx.app.popup()? {
        Popup::Help { scroll, query } => {
            let sought = query.as_ref().map(LineEdit::text).unwrap_or_default();
            ("keys and commands · / filters".to_owned(), 100, text::help(sought, ctx, inside(100)), *scroll)
        }
        Popup::Prompt { agent, scroll } => {
            let agent = ctx.app.agents().get(*agent)?;
            let lines = text::markdown(&agent.prompt, ctx, inside(100));
            (format!("{} · its task", agent.name), 100, lines, *scroll)
        }
        Popup::Cost { scroll } => ("tokens and cost".to_owned(), 100, cost::lines(ctx, inside(100)), *scroll),
        Popup::Context { agent, scroll } => {
            let agent = ctx.app.agents().get(*agent)?;
            (format!("{} · context", agent.name), 100, context::lines(agent, ctx, inside(100)), *scroll)
        }
        Popup::Text { title, body, scroll } => (title.clone(), 80, text::markdown(body, ctx, inside(80)), *scroll),
        Popup::Rewind(view) => {
            let lines = text::markdown(&view.body(), ctx, inside(100));
            ("rewind? · esc cancels".to_owned(), 100, lines, view.scroll)
        }
        Popup::CommandOutput { id, scroll } => {
            let command = ctx.app.commands().iter().find(|row| row.id == *id)?;
            let cut = if command.is_cut { "(earlier output is left out)\n" } else { "" };
            let text = if command.output.is_empty() { "(no output yet)" } else { command.output.as_str() };
            let lines = text::plain(&format!("{cut}{text}"), ctx, inside(120));
            (format!("{id} · {} · {}", command.line, command.state_words()), 120, lines, *scroll)
        }
        Popup::Output { title, text, .. } if text.is_empty() => (title.clone(), 120, vec![Line::from("reading…")], 0),
        Popup::Output { title, text, scroll, .. } => (title.clone(), 120, text::plain(text, ctx, inside(120)), *scroll),
        Popup::Trust { scroll, .. } => {
            let trust = ctx.app.status().trust.as_ref()?;
            let mut lines = text::markdown(&trust.page(), ctx, inside(80));
            lines.extend(text::trust_keys(trust, ctx));
            ("trust this folder?".to_owned(), 80, lines, *scroll)
        }
        Popup::DeleteAgent { name, path } => {
            let path = ctx.app.agent_places().shown(path);
            ("delete?".to_owned(), 70, text::delete(name, &path, ctx, inside(70)), 0)
        }
        Popup::Wizard => return wizard::draw(ctx, buf, drawn),
        Popup::Questions(form) => return questions::draw(form, ctx, buf, drawn),
        Popup::List(popup) => return list::draw(popup, ctx, buf, drawn),
        Popup::Comment { text, .. } => return Some(ask("deny with a reason", text, ctx, buf)),
        Popup::Search { agent, query, .. } => {
            let row = ctx.app.regions().pane(*agent).and_then(|pane| search_line::row(pane.area));
            return Some(match row {
                Some(row) => search_line::typed(query, row, ctx, buf),
                None => ask("search", query, ctx, buf),
            });
        }
    };
    let typed = usize::from(matches!(ctx.app.popup(), Some(Popup::Help { query: Some(_), .. })));
    let rows = u16::try_from(lines.len() + 2 + typed).unwrap_or(u16::MAX).min(screen.height.saturating_sub(2).max(3));
    let area = centred(ctx, most, rows);
    let mut inner = frame(&title, area, ctx, buf);
    let mut cursor = None;
    if let Some(Popup::Help { query: Some(query), .. }) = ctx.app.popup() {
        cursor = Some(type_line(query, inner, ctx, buf));
        inner = Rect { y: inner.y + 1, height: inner.height.saturating_sub(1), ..inner };
    }
    drawn.popup_rows = usize::from(inner.height);
    let end = lines.len().saturating_sub(usize::from(inner.height));
    drawn.popup_end = end;
    let from = scroll.min(end);
    put_lines(lines.iter().skip(from), inner, buf);
    draw_place(from, usize::from(inner.height), lines.len(), area, ctx, buf);
    cursor
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
    buf.set_style(area, theme.border_focused);
    let lines = border::Set {
        top_left,
        top_right,
        bottom_left,
        bottom_right,
        vertical_left: vertical,
        vertical_right: vertical,
        horizontal_top: horizontal,
        horizontal_bottom: horizontal,
    };
    Block::bordered().border_set(lines).render(area, buf);
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
fn centred(ctx: &RenderContext<'_>, columns: u16, rows: u16) -> Rect {
    let screen = ctx.app.size();
    // Beside a box that is nearly as wide as the screen, a column of what lies behind it would look like a fault.
    let width = if columns + 4 > screen.width { screen.width } else { columns };
    let height = rows.min(screen.height);
    Rect { x: screen.x + (screen.width - width) / 2, y: screen.y + (screen.height - height) / 3, width, height }
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

fn ask(title: &str, line: &LineEdit, ctx: &RenderContext<'_>, buf: &mut Buffer) -> Position {
    let area = centred(ctx, 70, 3);
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
