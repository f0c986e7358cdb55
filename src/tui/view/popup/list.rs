//! Lists to choose from: actions, agents, and what the composer completes.
//!
//! Owns their rows. Leaves what can be chosen to `app`. Invariant: the chosen row is visible.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};

use super::super::render_context::RenderContext;
use super::super::wrap::{fit, fit_line, pad, width};
use super::{centred, frame, type_line};
use crate::app::action::Action;
use crate::app::keymap::Context;
use crate::app::layout::Regions;
use crate::app::{AgentView, Drawn, LineEdit, PaletteEntry};
use crate::definition::Source;
use crate::message::format::clock;
use crate::message::{reveal_line, sanitize_line};

/// Rows of a box with one entry.
const SMALLEST: u16 = 3;

/// Draws all actions that match, and returns the cursor.
pub(super) fn palette(
    query: &LineEdit,
    chosen: usize,
    ctx: &RenderContext<'_>,
    screen: Rect,
    buf: &mut Buffer,
    drawn: &mut Drawn,
) -> Position {
    let entries = crate::app::palette(ctx.app.keymap(), ctx.app.context_behind_popup(), query.text());
    let rows = u16::try_from(entries.len()).unwrap_or(u16::MAX).saturating_add(3).clamp(6, 20);
    let area = centred(screen, 76, rows.min(screen.height.saturating_sub(2).max(4)));
    let inner = frame("actions", area, ctx, buf);
    let cursor = type_line(query, inner, ctx, buf);
    let list = Rect { y: inner.y + 1, height: inner.height.saturating_sub(1), ..inner };
    let lines: Vec<Line<'static>> = entries.iter().map(|entry| action(entry, usize::from(list.width), ctx)).collect();
    drawn.list = draw_list(&lines, chosen, list, ctx, buf);
    if entries.is_empty() && !list.is_empty() {
        buf.set_stringn(list.x, list.y, "no action matches", usize::from(list.width), ctx.theme.faint);
    }
    cursor
}

fn action(entry: &PaletteEntry, columns: usize, ctx: &RenderContext<'_>) -> Line<'static> {
    let theme = ctx.theme;
    let chord = entry.chord.as_deref().map(|chord| ctx.chord(chord)).unwrap_or_default();
    let room = columns.saturating_sub(width(&chord) + 1);
    let mut spans = Vec::new();
    for (at, c) in entry.act.words().chars().enumerate() {
        let matched = u32::try_from(at).is_ok_and(|at| entry.matched.binary_search(&at).is_ok());
        spans.push(Span::styled(c.to_string(), if matched { theme.accent } else { theme.text }));
    }
    let mut line = fit_line(&Line::from(spans), room);
    let used: usize = line.spans.iter().map(|span| width(&span.content)).sum();
    line.spans.push(Span::raw(" ".repeat(columns.saturating_sub(used + width(&chord)))));
    line.spans.push(Span::styled(chord, theme.muted));
    line
}

/// Draws the agents of the session.
pub(super) fn agents(chosen: usize, ctx: &RenderContext<'_>, screen: Rect, buf: &mut Buffer, drawn: &mut Drawn) {
    let rows = u16::try_from(ctx.app.agents().len()).unwrap_or(u16::MAX).saturating_add(2).clamp(3, 20);
    let area = centred(screen, 90, rows.min(screen.height.saturating_sub(2).max(3)));
    let inner = frame("agents of this session", area, ctx, buf);
    let columns = usize::from(inner.width);
    let known = ctx.app.agents();
    let indented = |agent: &AgentView| {
        let depth = known.order().get(agent.id).map_or(0, |kin| kin.depth.min(4));
        format!("{}{}", " ".repeat(2 * usize::from(depth)), agent.name)
    };
    let names = known.children().map(|agent| width(&indented(agent))).max().unwrap_or(0).clamp(18, 28);
    let lines: Vec<Line<'static>> = known
        .children()
        .map(|agent| {
            let state = ctx.app.state_of(agent);
            let line = Line::from(vec![
                Span::styled(format!("{:>3} ", agent.id.to_string()), ctx.theme.muted),
                Span::styled(pad(&indented(agent), names), ctx.agent(agent)),
                Span::styled(
                    format!(" {} {}", ctx.glyph(&state), pad(&state.word_within(12), 12)),
                    ctx.severity(&state),
                ),
                Span::styled(pad(&clock(agent.elapsed(ctx.app.now())), 7), ctx.theme.muted),
                Span::styled(agent.description.clone(), ctx.theme.text),
            ]);
            fit_line(&line, columns)
        })
        .collect();
    drawn.list = draw_list(&lines, chosen, inner, ctx, buf);
}

/// Draws the folders that a copy of an agent may go to.
pub(super) fn folders(
    source: &Source,
    name: &str,
    chosen: usize,
    ctx: &RenderContext<'_>,
    screen: Rect,
    buf: &mut Buffer,
    drawn: &mut Drawn,
) {
    let places = ctx.app.agent_places();
    let homes = places.homes();
    let rows = u16::try_from(homes.len()).unwrap_or(u16::MAX).saturating_add(2).clamp(3, 20);
    let area = centred(screen, 80, rows.min(screen.height.saturating_sub(2).max(3)));
    let inner = frame(&format!("duplicate {} into", sanitize_line(name)), area, ctx, buf);
    let lines: Vec<Line<'static>> = homes
        .iter()
        .map(|(tier, folder)| {
            let own = if *tier == source.tier { "  under another name" } else { "" };
            let line = Line::from(vec![
                Span::styled(pad(tier.label(), 18), ctx.theme.text),
                Span::styled(places.shown(folder), ctx.theme.muted),
                Span::styled(own, ctx.theme.faint),
            ]);
            fit_line(&line, usize::from(inner.width))
        })
        .collect();
    drawn.list = draw_list(&lines, chosen, inner, ctx, buf);
    if homes.is_empty() {
        buf.set_stringn(inner.x, inner.y, "there is no folder for agents", usize::from(inner.width), ctx.theme.faint);
    }
}

/// Draws the names of all themes.
pub(super) fn themes(chosen: usize, ctx: &RenderContext<'_>, screen: Rect, buf: &mut Buffer, drawn: &mut Drawn) {
    let names = ctx.app.themes();
    let rows = u16::try_from(names.len()).unwrap_or(u16::MAX).saturating_add(2).clamp(3, 20);
    let area = centred(screen, 40, rows.min(screen.height.saturating_sub(2).max(3)));
    let inner = frame("theme", area, ctx, buf);
    let lines: Vec<Line<'static>> = names
        .iter()
        .map(|name| fit_line(&Line::styled(sanitize_line(name), ctx.theme.text), usize::from(inner.width)))
        .collect();
    drawn.list = draw_list(&lines, chosen, inner, ctx, buf);
}

/// Draws what is allowed in advance, by origin.
pub(super) fn grants(chosen: usize, ctx: &RenderContext<'_>, screen: Rect, buf: &mut Buffer, drawn: &mut Drawn) {
    let grants = ctx.app.grants();
    let rows = u16::try_from(grants.len()).unwrap_or(u16::MAX).max(1).saturating_add(3).clamp(4, 20);
    let area = centred(screen, 90, rows.min(screen.height.saturating_sub(2).max(3)));
    let inner = frame("allowed in advance", area, ctx, buf);
    let columns = usize::from(inner.width);
    let mode = Line::styled(format!("permission mode: {}", ctx.app.status().mode.word()), ctx.theme.muted);
    buf.set_line(inner.x, inner.y, &fit_line(&mode, columns), inner.width);
    let list = Rect { y: inner.y + 1, height: inner.height.saturating_sub(1), ..inner };
    let remove = ctx.app.keymap().chord_of(Context::Popup, Action::Remove);
    let lines: Vec<Line<'static>> = grants
        .iter()
        .map(|given| {
            let key = remove.as_deref().filter(|_| given.origin.is_answer());
            let key = key.map(|chord| format!("  {chord} takes it back")).unwrap_or_default();
            let holder = if given.holder.is_everyone() { String::new() } else { format!("  {}", given.holder.words()) };
            let room = columns.saturating_sub(16 + width(&key) + width(&holder));
            let grant = fit(&reveal_line(&given.grant.to_string()), room);
            let line = Line::from(vec![
                Span::styled(pad(given.origin.word(), 16), ctx.theme.muted),
                Span::styled(grant, ctx.theme.text),
                Span::styled(holder, ctx.theme.muted),
                Span::styled(key, ctx.theme.faint),
            ]);
            fit_line(&line, columns)
        })
        .collect();
    drawn.list = draw_list(&lines, chosen, list, ctx, buf);
    if grants.is_empty() && !list.is_empty() {
        buf.set_stringn(list.x, list.y, "nothing yet", columns, ctx.theme.faint);
    }
}

/// Draws what the composer completes, or the message its search has found, above it and above an open question.
pub(crate) fn completion(
    ctx: &RenderContext<'_>,
    screen: Rect,
    regions: &Regions,
    buf: &mut Buffer,
    drawn: &mut Drawn,
) {
    let list = ctx.app.composer();
    if let Some(search) = list.search() {
        let found = search.found(list.history()).unwrap_or("no matching messages");
        let lines = [Line::styled(fit(found.lines().next().unwrap_or_default(), 200), ctx.theme.text)];
        let area = above(screen, regions, 3, screen.width.min(100));
        if area.is_empty() {
            return;
        }
        let inner = frame(&format!("history: {}", search.query()), area, ctx, buf);
        drawn.list = draw_list(&lines, 0, inner, ctx, buf);
        return;
    }
    let Some(completion) = list.completion() else { return };
    // A file may have any name: it is told from others by every sign of it.
    let items: Vec<_> =
        completion.items.iter().map(|item| (reveal_line(&item.label), reveal_line(&item.detail))).collect();
    let label = items.iter().map(|(label, _)| width(label)).max().unwrap_or(0).min(60);
    let detail = items.iter().map(|(_, detail)| width(detail)).max().unwrap_or(0);
    let rows = u16::try_from(completion.items.len().min(10)).unwrap_or(0) + 2;
    let columns = u16::try_from(label + detail + 6).unwrap_or(u16::MAX).clamp(24, 100);
    let area = above(screen, regions, rows, columns);
    if area.is_empty() {
        return;
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
