//! The main conversation, and the welcome that stands in its place before anything was said.
//!
//! Owns their placing and the chip that says what arrived below. Leaves cells to `cell`.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

use super::popup::clear;
use super::render_context::{RenderContext, put_lines};
use super::transcript::{Follow, Shown, Spacing, TranscriptView};
use super::wrap::{width, wrap_indented, wrap_line};
use crate::app::action::Action;
use crate::app::keymap::Context;
use crate::app::{CellKind, PaneState, StepView};
use crate::message::AgentId;

/// Columns left free at both sides of a text that has the whole width.
const MARGIN: u16 = 1;
/// Longest line of running text: beyond this, the eye loses the next line.
const MEASURE: u16 = 120;
/// Fewest rows of a view that gives one of them to what says how much arrived.
const FEWEST_ROWS: u16 = 3;

/// Draws the conversation and says what was visible; `None` if there is nothing yet.
pub(super) fn draw(
    transcript: &mut TranscriptView,
    ctx: &RenderContext<'_>,
    area: Rect,
    buf: &mut Buffer,
) -> Option<Shown> {
    if area.is_empty() {
        return None;
    }
    let main = ctx.app.agents().main();
    let only_notices = main.cells.iter().all(|(_, cell)| matches!(cell.kind, CellKind::Notice { .. }));
    if only_notices && ctx.app.agents().is_empty() && !main.is_active() {
        welcome(ctx, area, buf);
        return None;
    }
    let inner = inner(area);
    let state = ctx.app.pane(AgentId::MAIN);
    let story = StepView::kept(&main.cells);
    Some(scrolled((AgentId::MAIN, main.cells.arrived()), &state, inner, ctx, buf, |state, area, buf| {
        transcript.draw(story, state, (Follow::Tail, Spacing::Loose), ctx, area, buf)
    }))
}

/// Draws a transcript. While its view stays put, a row of its own below it says how much arrived since, and which key
/// leads there.
pub(super) fn scrolled(
    (agent, arrived): (AgentId, u64),
    state: &PaneState,
    area: Rect,
    ctx: &RenderContext<'_>,
    buf: &mut Buffer,
    mut draw: impl FnMut(&PaneState, Rect, &mut Buffer) -> Shown,
) -> Shown {
    if !state.scroll.is_held() || area.height < FEWEST_ROWS {
        return draw(state, area, buf);
    }
    let above = Rect { height: area.height - 1, ..area };
    let shown = draw(state, above, buf);
    if shown.at.is_some() {
        let row = Rect { y: area.bottom() - 1, height: 1, ..area };
        chip(agent, state.scroll.news(arrived), ctx, row, buf);
        return shown;
    }
    // The end came into view: it has the row, too.
    clear(area, buf);
    let mut state = state.clone();
    (state.scroll.at, state.scroll.motion, state.scroll.found) = (None, None, shown.found);
    let again = draw(&state, area, buf);
    Shown { found: shown.found, missed: shown.missed, copied: shown.copied.or(again.copied), ..again }
}

pub(super) fn inner(area: Rect) -> Rect {
    let margin = if area.width > 40 { MARGIN } else { 0 };
    Rect { x: area.x + margin, width: (area.width - 2 * margin).min(MEASURE), ..area }
}

/// Draws what says that the view stays put, and how much arrived since.
fn chip(agent: AgentId, news: u64, ctx: &RenderContext<'_>, row: Rect, buf: &mut Buffer) {
    let what = if news > 0 { format!("{news} new") } else { "more".to_owned() };
    let is_here = ctx.app.focused_agent().unwrap_or(AgentId::MAIN) == agent;
    let key = ctx.app.keymap().chord_of(ctx.app.context_behind_popup(), Action::Bottom).filter(|_| is_here);
    let key = key.map(|key| format!(" {key}")).unwrap_or_default();
    let full = format!(" {what} {}{key} ", ctx.glyphs.down);
    let text = if width(&full) < usize::from(row.width) { full } else { format!("{what} {}", ctx.glyphs.down) };
    let columns = u16::try_from(width(&text)).unwrap_or(0);
    if columns < row.width {
        buf.set_string(row.right() - columns, row.y, text, ctx.theme.chip);
    }
}

/// Draws the name, what to do, and how to connect a model. Where there is little room, what can be found elsewhere gives
/// way to that.
fn welcome(ctx: &RenderContext<'_>, area: Rect, buf: &mut Buffer) {
    let theme = ctx.theme;
    let columns = area.width.saturating_sub(2).min(76);
    let key = |context, action| ctx.app.keymap().chord_of(context, action).unwrap_or_default();
    let help = [
        ("Ask".to_owned(), "explain this repository, or: where is the config read?"),
        ("/".to_owned(), "commands"),
        ("@".to_owned(), "files and agents"),
        ("?".to_owned(), "keys"),
        (key(Context::Composer, Action::Interrupt), "interrupts, goes back"),
    ];
    let sign = help.iter().map(|(chord, _)| width(chord)).max().unwrap_or(0) + 2;
    let indent = Line::from(" ".repeat(sign));
    let help = help.iter().flat_map(|(chord, what)| {
        let first = Line::styled(format!("{chord:<sign$}"), theme.accent);
        wrap_indented(&Line::styled(*what, theme.text), columns.max(1), &first, &indent)
    });
    let note = ctx.app.status().model.chosen().and_then(|model| model.note.clone());
    let notices = ctx.app.agents().main().cells.iter().filter_map(|(_, cell)| match &cell.kind {
        CellKind::Notice { text } => Some(text.clone()),
        _ => None,
    });
    let texts = note.into_iter().chain(notices).map(|text| Line::styled(text, theme.warning));
    let tagline = "Talk to one agent. Watch its subagents work alongside, each in its own pane.";
    let wrapped = |line: Line<'static>| wrap_line(&line, columns.max(1));
    // The name and what has to be known stay longest.
    let mut parts = [
        vec![Line::styled("belvedere", theme.heading)],
        wrapped(Line::styled(tagline, theme.muted)),
        help.collect(),
        texts.flat_map(wrapped).collect(),
    ];
    let rows = |parts: &[Vec<Line<'static>>]| parts.iter().map(Vec::len).sum::<usize>();
    let height = usize::from(area.height);
    for given_up in [1, 2] {
        if rows(&parts) > height {
            let surplus = rows(&parts) - height;
            let kept = parts[given_up].len().saturating_sub(surplus);
            // A part of a sentence says nothing; of a list, its first rows do.
            parts[given_up].truncate(if given_up == 1 { 0 } else { kept });
        }
    }
    let is_loose = rows(&parts) + 2 <= height;
    let [name, tagline, help, texts] = parts;
    let blank = || is_loose.then(Line::default);
    let rows: Vec<Line<'static>> = name
        .into_iter()
        .chain(tagline)
        .chain(blank())
        .chain(help)
        .chain(blank().filter(|_| !texts.is_empty()))
        .chain(texts)
        .collect();
    let height = u16::try_from(rows.len()).unwrap_or(u16::MAX).min(area.height);
    // Where the conversation will begin: the first message moves nothing aside.
    let place = Rect { x: inner(area).x, y: area.y + (area.height - height) / 3, width: columns, height };
    put_lines(&rows, place, buf);
}
