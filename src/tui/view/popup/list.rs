//! Lists to choose from: actions, agents, and what the composer completes.
//!
//! Owns their rows. Leaves what can be chosen to `app`. Invariant: the chosen row is visible.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};

use super::super::look::{Look, clock};
use super::super::wrap::{fit, fit_line, pad, width};
use super::{centred, frame, type_line};
use crate::app::action::Action;
use crate::app::keymap::Context;
use crate::app::layout::Regions;
use crate::app::{AgentView, Drawn, LineEdit, PaletteEntry};
use crate::definition::Source;
use crate::message::{bare_line, plain_line};

/// Rows of a box with one entry.
const SMALLEST: u16 = 3;

/// Draws all actions that match, and returns the cursor.
pub(super) fn palette(
    query: &LineEdit,
    chosen: usize,
    look: &Look<'_>,
    screen: Rect,
    buf: &mut Buffer,
    drawn: &mut Drawn,
) -> Position {
    let entries = crate::app::palette(look.app.keymap(), look.app.context_behind_popup(), query.text());
    let rows = u16::try_from(entries.len()).unwrap_or(u16::MAX).saturating_add(3).clamp(6, 20);
    let area = centred(screen, 76, rows.min(screen.height.saturating_sub(2).max(4)));
    let inner = frame("actions", area, look, buf);
    let cursor = type_line(query, inner, look, buf);
    let list = Rect { y: inner.y + 1, height: inner.height.saturating_sub(1), ..inner };
    let lines: Vec<Line<'static>> = entries.iter().map(|entry| action(entry, usize::from(list.width), look)).collect();
    drawn.list = draw_list(&lines, chosen, list, look, buf);
    if entries.is_empty() && !list.is_empty() {
        buf.set_stringn(list.x, list.y, "no action matches", usize::from(list.width), look.theme.faint);
    }
    cursor
}

fn action(entry: &PaletteEntry, columns: usize, look: &Look<'_>) -> Line<'static> {
    let theme = look.theme;
    let chord = entry.chord.as_deref().map(|chord| look.chord(chord)).unwrap_or_default();
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
pub(super) fn agents(chosen: usize, look: &Look<'_>, screen: Rect, buf: &mut Buffer, drawn: &mut Drawn) {
    let rows = u16::try_from(look.app.agents().len()).unwrap_or(u16::MAX).saturating_add(2).clamp(3, 20);
    let area = centred(screen, 90, rows.min(screen.height.saturating_sub(2).max(3)));
    let inner = frame("agents of this session", area, look, buf);
    let columns = usize::from(inner.width);
    let known = look.app.agents();
    let indented = |agent: &AgentView| {
        let depth = known.family().get(agent.id).map_or(0, |kin| kin.depth.min(4));
        format!("{}{}", " ".repeat(2 * usize::from(depth)), agent.name)
    };
    let names = known.children().map(|agent| width(&indented(agent))).max().unwrap_or(0).clamp(18, 28);
    let lines: Vec<Line<'static>> = known
        .children()
        .map(|agent| {
            let state = look.app.state_of(agent);
            let line = Line::from(vec![
                Span::styled(format!("{:>3} ", agent.id.to_string()), look.theme.muted),
                Span::styled(pad(&indented(agent), names), look.agent(agent)),
                Span::styled(format!(" {} {}", look.glyph(&state), pad(&state.word_within(12), 12)), look.mood(&state)),
                Span::styled(pad(&clock(agent.elapsed(look.app.now())), 7), look.theme.muted),
                Span::styled(agent.description.clone(), look.theme.text),
            ]);
            fit_line(&line, columns)
        })
        .collect();
    drawn.list = draw_list(&lines, chosen, inner, look, buf);
}

/// Draws the folders that a copy of an agent may go to.
pub(super) fn folders(
    source: &Source,
    name: &str,
    chosen: usize,
    look: &Look<'_>,
    screen: Rect,
    buf: &mut Buffer,
    drawn: &mut Drawn,
) {
    let places = look.app.agent_places();
    let homes = places.homes();
    let rows = u16::try_from(homes.len()).unwrap_or(u16::MAX).saturating_add(2).clamp(3, 20);
    let area = centred(screen, 80, rows.min(screen.height.saturating_sub(2).max(3)));
    let inner = frame(&format!("duplicate {} into", plain_line(name)), area, look, buf);
    let lines: Vec<Line<'static>> = homes
        .iter()
        .map(|(tier, folder)| {
            let own = if *tier == source.tier { "  under another name" } else { "" };
            let line = Line::from(vec![
                Span::styled(pad(tier.label(), 18), look.theme.text),
                Span::styled(places.shown(folder), look.theme.muted),
                Span::styled(own, look.theme.faint),
            ]);
            fit_line(&line, usize::from(inner.width))
        })
        .collect();
    drawn.list = draw_list(&lines, chosen, inner, look, buf);
    if homes.is_empty() {
        buf.set_stringn(inner.x, inner.y, "there is no folder for agents", usize::from(inner.width), look.theme.faint);
    }
}

/// Draws the names of all themes.
pub(super) fn themes(chosen: usize, look: &Look<'_>, screen: Rect, buf: &mut Buffer, drawn: &mut Drawn) {
    let names = look.app.themes();
    let rows = u16::try_from(names.len()).unwrap_or(u16::MAX).saturating_add(2).clamp(3, 20);
    let area = centred(screen, 40, rows.min(screen.height.saturating_sub(2).max(3)));
    let inner = frame("theme", area, look, buf);
    let lines: Vec<Line<'static>> = names
        .iter()
        .map(|name| fit_line(&Line::styled(plain_line(name), look.theme.text), usize::from(inner.width)))
        .collect();
    drawn.list = draw_list(&lines, chosen, inner, look, buf);
}

/// Draws what is allowed in advance, by origin.
pub(super) fn grants(chosen: usize, look: &Look<'_>, screen: Rect, buf: &mut Buffer, drawn: &mut Drawn) {
    let grants = look.app.grants();
    let rows = u16::try_from(grants.len()).unwrap_or(u16::MAX).max(1).saturating_add(3).clamp(4, 20);
    let area = centred(screen, 90, rows.min(screen.height.saturating_sub(2).max(3)));
    let inner = frame("allowed in advance", area, look, buf);
    let columns = usize::from(inner.width);
    let mode = Line::styled(format!("permission mode: {}", look.app.status().mode.word()), look.theme.muted);
    buf.set_line(inner.x, inner.y, &fit_line(&mode, columns), inner.width);
    let list = Rect { y: inner.y + 1, height: inner.height.saturating_sub(1), ..inner };
    let remove = look.app.keymap().chord_of(Context::Popup, Action::Remove);
    let lines: Vec<Line<'static>> = grants
        .iter()
        .map(|given| {
            let key = remove.as_deref().filter(|_| given.origin.is_answer());
            let key = key.map(|chord| format!("  {chord} takes it back")).unwrap_or_default();
            let holder = if given.holder.is_everyone() { String::new() } else { format!("  {}", given.holder.words()) };
            let room = columns.saturating_sub(16 + width(&key) + width(&holder));
            let grant = fit(&bare_line(&given.grant.to_string()), room);
            let line = Line::from(vec![
                Span::styled(pad(given.origin.word(), 16), look.theme.muted),
                Span::styled(grant, look.theme.text),
                Span::styled(holder, look.theme.muted),
                Span::styled(key, look.theme.faint),
            ]);
            fit_line(&line, columns)
        })
        .collect();
    drawn.list = draw_list(&lines, chosen, list, look, buf);
    if grants.is_empty() && !list.is_empty() {
        buf.set_stringn(list.x, list.y, "nothing yet", columns, look.theme.faint);
    }
}

/// Draws what the composer completes, or the message its search has found, above it and above an open question.
pub(crate) fn completion(look: &Look<'_>, screen: Rect, regions: &Regions, buf: &mut Buffer, drawn: &mut Drawn) {
    let list = look.app.composer();
    if let Some(search) = list.search() {
        let found = search.found(list.history()).unwrap_or("no message holds this");
        let lines = [Line::styled(fit(found.lines().next().unwrap_or_default(), 200), look.theme.text)];
        let area = above(screen, regions, 3, screen.width.min(100));
        if area.is_empty() {
            return;
        }
        let inner = frame(&format!("history: {}", search.query()), area, look, buf);
        drawn.list = draw_list(&lines, 0, inner, look, buf);
        return;
    }
    let Some(completion) = list.completion() else { return };
    // A file may have any name: it is told from others by every sign of it.
    let items: Vec<_> = completion.items.iter().map(|item| (bare_line(&item.label), bare_line(&item.detail))).collect();
    let label = items.iter().map(|(label, _)| width(label)).max().unwrap_or(0).min(60);
    let detail = items.iter().map(|(_, detail)| width(detail)).max().unwrap_or(0);
    let rows = u16::try_from(completion.items.len().min(10)).unwrap_or(0) + 2;
    let columns = u16::try_from(label + detail + 6).unwrap_or(u16::MAX).clamp(24, 100);
    let area = above(screen, regions, rows, columns);
    if area.is_empty() {
        return;
    }
    let inner = frame("", area, look, buf);
    let lines: Vec<Line<'static>> = completion
        .items
        .iter()
        .zip(&items)
        .map(|(item, (name, detail))| {
            let mark = list.mentions().mark(&item.label);
            let style = mark.map_or(look.theme.text, |mark| look.theme.agent(mark.color.as_deref(), &mark.name));
            let line = Line::from(vec![
                Span::styled(pad(name, label), style),
                Span::styled(format!("  {detail}"), look.theme.muted),
            ]);
            fit_line(&line, usize::from(inner.width))
        })
        .collect();
    drawn.list = draw_list(&lines, completion.selected, inner, look, buf);
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
    look: &Look<'_>,
    buf: &mut Buffer,
) -> Vec<(Rect, usize)> {
    let height = usize::from(area.height);
    let from = (chosen + 1).saturating_sub(height).min(lines.len().saturating_sub(height));
    let mut entries = Vec::with_capacity(height);
    for ((at, line), y) in lines.iter().enumerate().skip(from).zip(area.y..area.bottom()) {
        let row = Rect { y, height: 1, ..area };
        buf.set_line(area.x, y, line, area.width);
        if at == chosen {
            buf.set_style(row, look.theme.selected_row);
        }
        entries.push((row, at));
    }
    entries
}
