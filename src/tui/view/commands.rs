//! The commands in the background: a heading, and a row for each with the last line that it printed.
//!
//! Leaves which one is chosen to `app`. Invariant: the state and the time of a row are visible whatever it prints.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::pane_strip::rule;
use super::render_context::RenderContext;
use super::wrap::{fit, fit_line, pad, width};
use crate::app::{CommandState, CommandView, Focus, first_row};
use crate::message::format::clock;

/// Columns of the sign at the end of the chosen row that stops it.
const STOP: &str = " ✗";

pub(super) fn draw(ctx: &RenderContext<'_>, area: Rect, buf: &mut Buffer) {
    let rows = ctx.app.commands();
    if area.is_empty() || rows.is_empty() {
        return;
    }
    let has_head = area.height > 1;
    if has_head {
        let running = rows.iter().filter(|row| row.is_running()).count();
        let ended = rows.len() - running;
        let mut words = vec![Span::raw("commands  ".to_owned())];
        let counts = [(running, "running", ctx.theme.accent), (ended, "ended", ctx.theme.muted)];
        let counts = counts.into_iter().filter(|(count, ..)| *count > 0);
        for (at, (count, word, style)) in counts.enumerate() {
            let gap = if at > 0 { " · " } else { "" };
            words.push(Span::styled(format!("{gap}{count} {word}"), style));
        }
        rule(Rect { height: 1, ..area }, words, Focus::Commands, ctx, buf);
    }
    let body = Rect { y: area.y + u16::from(has_head), height: area.height - u16::from(has_head), ..area };
    let fits = usize::from(body.height);
    let chosen = ctx.app.chosen_command();
    let first = first_row(rows.len(), fits, chosen);
    let columns = rows.iter().map(|row| width(&name(row, ctx))).max().unwrap_or(0);
    for (y, (at, row)) in (body.y..body.bottom()).zip(rows.iter().enumerate().skip(first)) {
        let is_chosen = ctx.app.marked_command() == Some(at);
        let line = line(row, is_chosen, (usize::from(area.width), columns), ctx);
        buf.set_line(area.x, y, &line, area.width);
    }
}

/// Returns what a command is called, with the agent that it belongs to unless that is the main agent.
fn name(row: &CommandView, ctx: &RenderContext<'_>) -> String {
    match ctx.app.agents().get(row.owner).filter(|agent| !agent.id.is_main()) {
        Some(agent) => format!("{} of {}", row.id, agent.name),
        None => row.id.clone(),
    }
}

fn line(
    row: &CommandView,
    is_chosen: bool,
    (columns, names): (usize, usize),
    ctx: &RenderContext<'_>,
) -> Line<'static> {
    let theme = ctx.theme;
    let (sign, style) = match &row.state {
        CommandState::Running | CommandState::Stopping => (ctx.spinner(), theme.accent),
        CommandState::Ended { was_stopped: true, .. } => (ctx.glyphs.stopped, theme.muted),
        CommandState::Ended { is_error: true, .. } => (ctx.glyphs.failed, theme.error),
        CommandState::Ended { .. } => (ctx.glyphs.done, theme.success),
    };
    let mark = if is_chosen { ctx.glyphs.prompt } else { " " };
    let name_style = if is_chosen { theme.accent } else { theme.tool };
    let stop = if is_chosen && row.is_running() { STOP } else { "" };
    let time = clock(row.elapsed(ctx.app.now()));
    let state = fit(row.state_words(), columns / 3);
    let right = format!("  {state}  {time}{stop}");
    let left = width(mark) + 1 + width(sign) + 1 + names + 2;
    let room = columns.saturating_sub(left + width(&right) + 1);
    // Of the command and its last line the first gives way first, but keeps half of the room.
    let last = row.last_line().trim();
    let wants_last = if last.is_empty() { 0 } else { width(last) + 2 };
    let command = fit(&row.line, room.saturating_sub(wants_last).max(room.div_ceil(2)).min(room));
    let last = fit(last, room.saturating_sub(width(&command) + 2));
    let gap = room.saturating_sub(width(&command) + width(&last) + 2);
    let spans = vec![
        Span::styled(format!("{mark} "), theme.accent),
        Span::styled(format!("{sign} "), style),
        Span::styled(format!("{}  ", pad(&name(row, ctx), names)), name_style),
        Span::styled(command, theme.text),
        Span::styled(format!("  {last}{}", " ".repeat(gap)), theme.muted),
        Span::styled(
            right,
            if matches!(row.state, CommandState::Ended { is_error: true, .. }) { theme.error } else { theme.muted },
        ),
    ];
    fit_line(&Line::from(spans), columns)
}
