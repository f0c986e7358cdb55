//! The main conversation, and the welcome that stands in its place before anything was said.
//!
//! Owns their placing and the chip that says what arrived below. Leaves cells to `cell`.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::popup::clear;
use super::render_context::{RenderContext, put_lines};
use super::transcript::{Follow, Shown, Spacing, TranscriptView};
use super::wrap::{width, wrap_line};
use crate::app::action::Action;
use crate::app::keymap::Context;
use crate::app::{CellKind, PaneState, StepView};
use crate::message::AgentId;

/// Columns left free at both sides of a text that has the whole width.
const MARGIN: u16 = 1;
/// Longest line of running text: beyond this, the eye loses the next line.
const MEASURE: u16 = 120;

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
    let shown = transcript.draw(StepView::kept(&main.cells), &state, (Follow::Tail, Spacing::Loose), ctx, inner, buf);
    chip(&state, &shown, main.cells.arrived(), ctx, area, buf);
    Some(shown)
}

pub(super) fn inner(area: Rect) -> Rect {
    let margin = if area.width > 40 { MARGIN } else { 0 };
    Rect { x: area.x + margin, width: (area.width - 2 * margin).min(MEASURE), ..area }
}

/// Draws what says that the view stays put, and how much arrived since.
pub(super) fn chip(
    state: &PaneState,
    shown: &Shown,
    arrived: u64,
    ctx: &RenderContext<'_>,
    area: Rect,
    buf: &mut Buffer,
) {
    if shown.at.is_none() || area.height < 2 {
        return;
    }
    let news = state.scroll.news(arrived);
    let text =
        if news > 0 { format!(" {news} new {} ", ctx.glyphs.down) } else { format!(" more {} ", ctx.glyphs.down) };
    let columns = u16::try_from(width(&text)).unwrap_or(0);
    if columns < area.width {
        let place = Rect { x: area.right() - columns - 1, y: area.bottom() - 1, width: columns, height: 1 };
        clear(place, buf);
        buf.set_string(place.x, place.y, text, ctx.theme.chip);
    }
}

/// Draws the name, what to do, and how to connect a model.
fn welcome(ctx: &RenderContext<'_>, area: Rect, buf: &mut Buffer) {
    let theme = ctx.theme;
    let columns = area.width.saturating_sub(2).min(76);
    let mut lines = vec![
        Line::styled("belvedere", theme.heading),
        Line::styled("Talk to one agent. Watch its subagents work alongside, each in its own pane.", theme.muted),
        Line::default(),
    ];
    let key = |context, action| ctx.app.keymap().chord_of(context, action).unwrap_or_default();
    let hints = [
        ("Ask".to_owned(), "explain this repository, or: where is the config read?"),
        ("@".to_owned(), "mentions a file or agent, / runs a command"),
        (key(Context::Global, Action::Palette), "all actions"),
        ("?".to_owned(), "all keys"),
    ];
    let sign = hints.iter().map(|(chord, _)| width(chord)).max().unwrap_or(0);
    for (chord, what) in hints {
        let pad = " ".repeat(sign - width(&chord) + 2);
        lines.push(Line::from(vec![
            Span::styled(chord, theme.accent),
            Span::styled(format!("{pad}{what}"), theme.text),
        ]));
    }
    let note = ctx.app.status().model.chosen().and_then(|model| model.note.clone());
    let notices = ctx.app.agents().main().cells.iter().filter_map(|(_, cell)| match &cell.kind {
        CellKind::Notice { text } => Some(text.clone()),
        _ => None,
    });
    for text in note.into_iter().chain(notices) {
        lines.push(Line::default());
        lines.push(Line::styled(text, theme.warning));
    }
    let rows: Vec<Line<'static>> = lines.iter().flat_map(|line| wrap_line(line, columns.max(1))).collect();
    let height = u16::try_from(rows.len()).unwrap_or(u16::MAX).min(area.height);
    let (x, y) = (area.x + (area.width.saturating_sub(columns)) / 2, area.y + (area.height - height) / 3);
    put_lines(&rows, Rect { x, y, width: columns, height }, buf);
}
