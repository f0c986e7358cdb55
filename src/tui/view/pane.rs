//! One agent's pane: its live title, and the tail of its transcript.
//!
//! Owns the columns of a title. Leaves cells to `cell`, places and indents to the layout. Invariants: every column of a
//! title has a fixed width, so that counting moves nothing; a folded pane costs its title.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::conversation::scrolled;
use super::full_head;
use super::money;
use super::render_context::{RenderContext, used_in_short};
use super::transcript::{Follow, Shown, Spacing, TranscriptView};
use super::wrap::{fit, pad, pad_left, spans_width};
use super::{limited, queued, search_line, sparkline};
use crate::app::layout::{Descent, PaneRect};
use crate::app::panes::PaneSize;
use crate::app::{AgentState, AgentView, CellKind, LoadedUpTo, STOP_FROM, StepView};
use crate::message::format::{clock, counted, elapsed};

/// A click on it stops the agent.
const STOP_SIGN: &str = "[x]";

/// Columns from which on a title also says the cost.
const COST_FROM: u16 = 110;

/// Cells among which the report of an agent that has ended is sought.
const ENDING: usize = 64;

/// Draws a pane and says what of its transcript was visible. All titles of a strip have as many columns for the numbers
/// of their agents, so that they stand in line.
pub(super) fn draw(
    pane: &PaneRect,
    agent: &AgentView,
    transcript: Option<&mut TranscriptView>,
    number_columns: usize,
    ctx: &RenderContext<'_>,
    buf: &mut Buffer,
) -> Option<Shown> {
    title(pane, agent, number_columns, ctx, buf);
    let mut body = Rect { y: pane.area.y + 1, height: pane.area.height.saturating_sub(1), ..pane.area };
    if pane.size == PaneSize::Row || body.height == 0 {
        return None;
    }
    let indent = pane.descent.columns().min(body.width / 2);
    (body.x, body.width) = (body.x + indent, body.width - indent);
    body = match pane.size {
        PaneSize::Full => full_head::draw(agent, ctx, body, buf),
        PaneSize::Pane => full_head::brief(agent, ctx, body, buf),
        _ => body,
    };
    let color = if agent.has_ended() { ctx.theme.faint } else { ctx.agent(agent) };
    if body.width > 8 {
        for y in body.y..body.bottom() {
            buf.set_string(body.x, y, ctx.glyphs.quote, color);
        }
        body.x += 2;
        body.width -= 3;
    }
    let search = search_line::row(pane.area).filter(|_| pane.size == PaneSize::Full);
    let search = search.filter(|_| search_line::is_shown(agent.id, ctx));
    body.height = body.height.saturating_sub(u16::from(search.is_some()));
    body = queued::below(&ctx.app.unread(agent.id), body, ctx, buf);
    let transcript = transcript?;
    if agent.cells.is_empty() {
        let text = waiting_words(agent, ctx);
        buf.set_stringn(body.x, body.y, text, usize::from(body.width), ctx.theme.faint);
        return None;
    }
    let state = ctx.app.pane(agent.id);
    let story = if pane.size == PaneSize::Full { ctx.app.story(agent) } else { StepView::kept(&agent.cells) };
    if let Some(text) = words_before(pane, agent, ctx) {
        let text = fit(&text, usize::from(body.width));
        buf.set_string(body.x, body.y, text, ctx.theme.faint);
        body.y += 1;
        body.height -= 1;
    }
    // Only who has ended has a report, and nothing but the files of its worktree follow it: the transcript is not searched.
    let mut ending = agent.cells.iter().rev().take(if agent.has_ended() { ENDING } else { 0 });
    let last = ending.find(|(_, cell)| matches!(cell.kind, CellKind::Report { .. }));
    let follow = last.map_or(Follow::Tail, |(cell, _)| Follow::From(cell));
    let above = pane.area.height - 1 - body.height;
    let spacing = if pane.size == PaneSize::Full { Spacing::Loose } else { Spacing::Tight };
    let mut shown = scrolled((agent.id, agent.cells.arrived()), &state, body, ctx, buf, |state, area, buf| {
        transcript.draw(story, state, (follow, spacing), ctx, area, buf)
    });
    if let Some(row) = search {
        search_line::draw(agent.id, shown.matches, row, ctx, buf);
    }
    shown.rows = shown.rows.saturating_add(above);
    Some(shown)
}

/// Says why nothing stands before the first step, if that is not how it began.
fn words_before(pane: &PaneRect, agent: &AgentView, ctx: &RenderContext<'_>) -> Option<String> {
    match ctx.app.before(agent) {
        _ if pane.size != PaneSize::Full => None,
        // What is being read will be there before it is looked at.
        LoadedUpTo::Nothing | LoadedUpTo::Coming => None,
        LoadedUpTo::Unkept => Some("earlier steps are in the session log".to_owned()),
        LoadedUpTo::Broken(reason) => Some(format!("earlier steps cannot be read back: {reason}")),
    }
}

fn waiting_words(agent: &AgentView, ctx: &RenderContext<'_>) -> String {
    match ctx.app.state_of(agent) {
        AgentState::Queued => match &agent.launcher {
            Some(launcher) => format!("waiting for a place on {launcher}"),
            None => "waiting for its turn".to_owned(),
        },
        _ => agent.prompt.lines().next().unwrap_or_default().to_owned(),
    }
}

fn title(pane: &PaneRect, agent: &AgentView, number_columns: usize, ctx: &RenderContext<'_>, buf: &mut Buffer) {
    let area = pane.area;
    let theme = ctx.theme;
    let focused = ctx.app.marked_agent() == Some(agent.id);
    let row = Rect { height: 1, ..area };
    let mut right = folded_part(agent, area.width, ctx);
    right.extend(right_part(agent, area.width, ctx));
    let right_width = spans_width(&right);
    let folded = ctx.app.is_folded(agent.id, pane.size) && pane.size < PaneSize::Full;
    let fold = if folded { ctx.glyphs.folded } else { ctx.glyphs.unfolded };
    let number = pad_left(&agent.id.to_string(), number_columns);
    let left = usize::from(pane.descent.columns()) + number_columns + 4;
    let room = usize::from(area.width).saturating_sub(right_width + left);
    let kind = ctx.type_columns(room);
    let (description, mark) = ctx.description(agent, room - kind);
    right.insert(0, ctx.type_of(agent, kind));
    let right_width = right_width + kind;
    let text = if agent.has_ended() && !focused { theme.muted } else { theme.text };
    let line = Line::from(vec![
        Span::styled(descent(pane.descent, ctx), theme.faint),
        Span::styled(format!("{fold} "), if focused { theme.accent } else { theme.faint }),
        Span::styled(format!("{number} "), ctx.agent(agent)),
        Span::styled(description, text),
        Span::styled(mark, theme.muted),
    ]);
    buf.set_line(row.x, row.y, &line, row.width.saturating_sub(u16::try_from(right_width).unwrap_or(0)));
    sparkline::draw(agent, line.width(), right_width, row, ctx, buf);
    let x = row.right().saturating_sub(u16::try_from(right_width).unwrap_or(0)).max(row.x);
    buf.set_line(x, row.y, &Line::from(right), row.right() - x);
    if focused {
        // The ground of the selection under the colours of the title.
        buf.set_style(row, theme.selected_row);
    }
}

/// Returns what stands before the title of an agent below another.
fn descent(descent: Descent, ctx: &RenderContext<'_>) -> String {
    let [_, _, corner, ..] = ctx.glyphs.frame;
    match descent {
        Descent::Indent(columns) => " ".repeat(usize::from(columns)),
        Descent::Mark => format!("{corner} "),
        Descent::Of(parent) => format!("{corner}{parent} "),
    }
}

fn folded_part(agent: &AgentView, columns: u16, ctx: &RenderContext<'_>) -> Vec<Span<'static>> {
    let Some(folded) = ctx.app.folded_away(agent.id) else { return Vec::new() };
    let severity = ctx.severity(&folded.state);
    let state = match columns {
        72.. => format!("{} {}  ", ctx.glyph(&folded.state), pad(&folded.word(), 9)),
        STOP_FROM..72 => format!("{} ", ctx.glyph(&folded.state)),
        _ => String::new(),
    };
    vec![Span::styled(format!("+{} ", folded.hidden), ctx.theme.accent), Span::styled(state, severity)]
}

/// Returns how many columns a title of a width gives to what the agent does, all alike, so that nothing is ragged.
fn state_columns(columns: u16) -> usize {
    match columns {
        150.. => 30,
        110..150 => 26,
        84..110 => 22,
        64..84 => 18,
        52..64 => 10,
        _ => usize::from(columns.saturating_sub(7)).min(9),
    }
}

/// Returns the state and, as the width bears them, time, tool calls, tokens, and the sign that stops the agent. What
/// is left belongs to the description, which is why counters come late.
fn right_part(agent: &AgentView, columns: u16, ctx: &RenderContext<'_>) -> Vec<Span<'static>> {
    let state = ctx.app.state_of(agent);
    let theme = ctx.theme;
    let time = agent.elapsed(ctx.app.now());
    let time = if agent.has_ended() { elapsed(time) } else { clock(time) };
    let waiting = !agent.has_begun();
    let shown = |text: String, columns: usize| if waiting { " ".repeat(columns) } else { pad_left(&text, columns) };
    // `unknown` is longer than a number.
    let more = if columns >= 50 && agent.spent.usage.is_unknown() { 2 } else { 0 };
    let word = state_columns(columns) - more;
    let tools = if columns >= 72 { 9 } else { 4 };
    let wait = limited::queue(&state, word + tools, ctx).filter(|_| columns >= 50);
    let is_queued = wait.is_some();
    let word = wait.map_or_else(|| pad(&state.word_within(word), word), |wait| pad(&wait, word + tools));
    let mut spans = vec![Span::styled(format!("{} {word}", ctx.glyph(&state)), ctx.severity(&state))];
    if is_queued {
        // How long the queue is matters more than what was done before it.
    } else if columns >= 72 {
        spans.push(Span::styled(shown(counted(agent.tools as usize, "tool"), 9), theme.muted));
    } else if columns >= 50 {
        spans.push(Span::styled(shown(format!("{}t", agent.tools), 4), theme.muted));
    }
    if columns >= 44 {
        spans.push(Span::styled(shown(time, if columns >= 72 { 7 } else { 6 }), theme.muted));
    }
    // The sign that stops an agent stands where its tokens do, on the chosen title only: on each it would read as a failure.
    let stops = columns >= STOP_FROM && !agent.has_ended() && ctx.app.marked_agent() == Some(agent.id);
    let in_short = if agent.spent.is_nothing() { String::new() } else { used_in_short(&agent.spent.usage) };
    match (columns, stops) {
        (COST_FROM.., _) | (50.., false) => spans.push(Span::styled(shown(in_short, 6 + more), theme.faint)),
        _ => {}
    }
    if columns >= COST_FROM && !stops {
        spans.push(Span::styled(shown(money::short(&agent.spent), 8), theme.faint));
    }
    if stops {
        let room = if columns >= COST_FROM { 8 } else { 6 + more };
        spans.push(Span::styled(pad_left(STOP_SIGN, room), theme.text));
    }
    spans
}
