//! Lists to choose from: actions, agents, and what the composer completes.
//!
//! Owns their rows. Leaves what can be chosen to `app`. Invariant: the chosen row is visible.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};

use super::super::render_context::RenderContext;
use super::super::wrap::{fit, fit_line, pad, spans_width, width};
use super::{centred, frame, type_line};
use crate::app::layout::Regions;
use crate::app::{Drawn, ListEntry, ListPopup, ListStyle, ListText};
use crate::message::format::clock;
use crate::message::{reveal_line, sanitize_line};

/// Rows of a box with one entry.
const SMALLEST: u16 = 3;
/// Messages that the search through them shows at once.
const HISTORY_ROWS: u16 = 8;

/// Draws a list, and returns the cursor where a line is typed.
pub(super) fn draw(
    popup: &ListPopup,
    ctx: &RenderContext<'_>,
    buf: &mut Buffer,
    drawn: &mut Drawn,
) -> Option<Position> {
    let (kind, screen) = (popup.kind, ctx.app.size());
    let columns = if kind.columns + 4 > screen.width { screen.width } else { kind.columns }.saturating_sub(4);
    let entries = popup.entries(ctx.app, columns);
    let above = u16::from(kind.has_query) + u16::from(kind.head.is_some());
    let fewest = if kind.has_query { 6 } else { SMALLEST + above };
    let rows = u16::try_from(entries.len()).unwrap_or(u16::MAX).saturating_add(2 + above).clamp(fewest, 20);
    let area = centred(ctx, kind.columns, rows.min(screen.height.saturating_sub(2).max(SMALLEST + above)));
    let inner = frame(&(kind.title)(ctx.app), area, ctx, buf);
    let columns = usize::from(inner.width);
    let cursor = kind.has_query.then(|| type_line(&popup.query, inner, ctx, buf));
    if let Some(head) = kind.head {
        let head = Line::styled(fit((head)(ctx.app).as_str(), columns), ctx.theme.muted);
        let y = (inner.y + u16::from(kind.has_query)).min(inner.bottom().saturating_sub(1));
        buf.set_line(inner.x, y, &head, inner.width);
    }
    let list = Rect { y: inner.y + above, height: inner.height.saturating_sub(above), ..inner };
    let lines: Vec<Line<'static>> = entries.iter().map(|entry| row(entry, columns, ctx)).collect();
    drawn.list = draw_list(&lines, popup.chosen, list, ctx, buf);
    if entries.is_empty() && !list.is_empty() {
        buf.set_stringn(list.x, list.y, kind.empty, columns, ctx.theme.faint);
    }
    cursor
}

fn row(entry: &ListEntry, columns: usize, ctx: &RenderContext<'_>) -> Line<'static> {
    let theme = ctx.theme;
    let mut spans: Vec<Span<'static>> = Vec::with_capacity(entry.cells.len());
    let mut gives_way = None;
    for cell in &entry.cells {
        let (text, state) = match &cell.text {
            ListText::Plain(text) => (text.clone(), None),
            ListText::Time(time) => (clock(*time), None),
            ListText::State(state) => {
                let room = cell.columns.unwrap_or(usize::MAX);
                let word = pad(&state.word_within(room), cell.columns.unwrap_or(0));
                (format!(" {} {word}", ctx.glyph(state)), Some(ctx.severity(state)))
            }
        };
        let style = match cell.style {
            ListStyle::Text => theme.text,
            ListStyle::Muted => theme.muted,
            ListStyle::Faint => theme.faint,
            ListStyle::Accent => theme.accent,
            ListStyle::State => state.unwrap_or(theme.text),
            ListStyle::Agent(id) => ctx.app.agents().get(id).map_or(theme.text, |agent| ctx.agent(agent)),
        };
        if cell.gives_way {
            gives_way = Some(spans.len());
        }
        let text = cell.columns.filter(|_| state.is_none()).map_or_else(|| text.clone(), |columns| pad(&text, columns));
        spans.push(Span::styled(text, style));
    }
    if let Some(at) = gives_way {
        let others = spans_width(&spans) - width(&spans[at].content);
        let cut = fit(&spans[at].content, columns.saturating_sub(others));
        spans[at] = Span::styled(cut, spans[at].style);
    }
    let Some(chord) = &entry.chord else { return fit_line(&Line::from(spans), columns) };
    let chord = ctx.chord(chord);
    let mut line = fit_line(&Line::from(spans), columns.saturating_sub(width(&chord) + 1));
    let used = spans_width(&line.spans);
    line.spans.push(Span::raw(" ".repeat(columns.saturating_sub(used + width(&chord)))));
    line.spans.push(Span::styled(chord, theme.muted));
    line
}

/// Draws the search through the messages sent before, above the composer, and returns the cursor of its query.
fn history(ctx: &RenderContext<'_>, regions: &Regions, buf: &mut Buffer, drawn: &mut Drawn) -> Option<Position> {
    let (composer, screen) = (ctx.app.composer(), ctx.app.size());
    let search = composer.search()?;
    let columns = usize::from(screen.width.min(100).saturating_sub(4));
    let first_line = |text: &str| {
        let mut lines = text.lines().filter(|line| !line.trim().is_empty());
        let first = sanitize_line(lines.next().unwrap_or_default()).into_owned();
        let more = if lines.next().is_some() { ctx.glyphs.ellipsis } else { "" };
        Line::styled(format!("{}{more}", fit(&first, columns.saturating_sub(1))), ctx.theme.text)
    };
    let lines: Vec<Line<'static>> = search.matches(composer.history()).map(first_line).collect();
    let rows = u16::try_from(lines.len()).unwrap_or(u16::MAX).clamp(1, HISTORY_ROWS) + 3;
    let area = above(screen, regions, rows, screen.width.min(100));
    if area.is_empty() {
        return None;
    }
    let inner = frame("sent messages", area, ctx, buf);
    let cursor = type_line(search.query(), inner, ctx, buf);
    let list = Rect { y: inner.y + 1, height: inner.height.saturating_sub(1), ..inner };
    drawn.list = draw_list(&lines, search.chosen(), list, ctx, buf);
    if lines.is_empty() && !list.is_empty() {
        let words = if composer.history().entries().is_empty() { "no messages yet" } else { "no matching messages" };
        buf.set_stringn(list.x, list.y, words, usize::from(list.width), ctx.theme.faint);
    }
    if !lines.is_empty() && area.width > 20 {
        let place = format!(" {} of {} ", search.chosen() + 1, lines.len());
        let x = area.right() - u16::try_from(width(&place)).unwrap_or(0) - 1;
        buf.set_string(x, area.bottom() - 1, place, ctx.theme.muted);
    }
    Some(cursor)
}

/// Draws what the composer completes, or the search through the messages sent before, above it and above an open
/// question. Returns where something else than the message is typed.
pub(crate) fn completion(
    ctx: &RenderContext<'_>,
    regions: &Regions,
    buf: &mut Buffer,
    drawn: &mut Drawn,
) -> Option<Position> {
    let (list, screen) = (ctx.app.composer(), ctx.app.size());
    if list.search().is_some() {
        return history(ctx, regions, buf, drawn);
    }
    let completion = list.completion()?;
    // A file may have any name: it is told from others by every sign of it.
    let items: Vec<_> =
        completion.items.iter().map(|item| (reveal_line(&item.label), reveal_line(&item.detail))).collect();
    let label = items.iter().map(|(label, _)| width(label)).max().unwrap_or(0).min(60);
    let detail = items.iter().map(|(_, detail)| width(detail)).max().unwrap_or(0);
    let rows = u16::try_from(completion.items.len().min(10)).unwrap_or(0) + 2;
    let columns = u16::try_from(label + detail + 6).unwrap_or(u16::MAX).clamp(24, 100);
    let area = above(screen, regions, rows, columns);
    if area.is_empty() {
        return None;
    }
    let inner = frame("", area, ctx, buf);
    let lines: Vec<Line<'static>> = completion
        .items
        .iter()
        .zip(&items)
        .map(|(item, (name, detail))| {
            let mark = list.mentions().mark(&item.label);
            let style = mark.map_or(ctx.theme.text, |mark| ctx.theme.agent(mark.color.as_deref(), &mark.name));
            let line = Line::from(vec![
                Span::styled(pad(name, label), style),
                Span::styled(format!("  {detail}"), ctx.theme.muted),
            ]);
            fit_line(&line, usize::from(inner.width))
        })
        .collect();
    drawn.list = draw_list(&lines, completion.selected, inner, ctx, buf);
    None
}

/// Returns a box right above the composer, or above the question that stands there. Where that leaves no room for an
/// entry, the box covers what is asked; never the keys that answer it.
fn above(screen: Rect, regions: &Regions, rows: u16, columns: u16) -> Rect {
    let asked = regions.approvals;
    let foot = match asked.height {
        0 => regions.composer.y,
        _ if asked.y >= screen.y + SMALLEST => asked.y,
        _ => asked.bottom() - 1,
    };
    let height = rows.min(foot.saturating_sub(screen.y));
    // A frame without an entry in it would say nothing.
    let height = if height < SMALLEST { 0 } else { height };
    Rect { x: screen.x, y: foot - height, width: columns.min(screen.width), height }
}

/// Draws the part of a list around the chosen row, and returns where its entries stand.
pub(super) fn draw_list(
    lines: &[Line<'static>],
    chosen: usize,
    area: Rect,
    ctx: &RenderContext<'_>,
    buf: &mut Buffer,
) -> Vec<(Rect, usize)> {
    let height = usize::from(area.height);
    let from = (chosen + 1).saturating_sub(height).min(lines.len().saturating_sub(height));
    let mut entries = Vec::with_capacity(height);
    for ((at, line), y) in lines.iter().enumerate().skip(from).zip(area.y..area.bottom()) {
        let row = Rect { y, height: 1, ..area };
        buf.set_line(area.x, y, line, area.width);
        if at == chosen {
            buf.set_style(row, ctx.theme.selected_row);
        }
        entries.push((row, at));
    }
    entries
}
