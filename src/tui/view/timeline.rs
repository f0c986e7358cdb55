//! The timeline: a bar for each agent, an axis, and what happened under the cursor.
//!
//! Owns how spans look. Leaves what is shown where to `app::timeline`. Invariants: no kind of span is told by its
//! colour alone, each begins with its letter and goes on in a pattern of its own; a frame costs as much as its
//! columns, however many spans there are.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};

use super::pane_strip::rule;
use super::render_context::RenderContext;
use super::wrap::{fit, fit_line, width};
use crate::agent::Status;
use crate::app::timeline::{SpanFill, SpanKind, SpanTone, TimelineRow, TimelineWindow, TrackSeen, row_name};
use crate::app::{AgentState, AgentView, CellKind, Focus, ToolState};
use crate::message::format::elapsed;

/// How the runs of agents end, in the order of the legend.
const ENDS: [(Status, &str); 3] =
    [(Status::Completed, "done"), (Status::Failed, "failed"), (Status::Cancelled, "stopped")];

pub(super) fn draw(ctx: &RenderContext<'_>, buf: &mut Buffer) {
    let Some(window) = ctx.app.timeline().filter(|_| ctx.app.shows_timeline()) else { return };
    head(&window, ctx, buf);
    axis(&window, ctx, buf);
    for (row, y) in window.rows.iter().copied().zip(window.bars.y..) {
        name(row, y, &window, ctx, buf);
        bar(row, y, &window, ctx, buf);
    }
    if !window.words.is_empty() {
        let line = fit_line(&words(&window, ctx), usize::from(window.words.width.saturating_sub(1)));
        buf.set_line(window.words.x + 1, window.words.y, &line, window.words.width - 1);
    }
    legend(&window, ctx, buf);
}

fn head(window: &TimelineWindow, ctx: &RenderContext<'_>, buf: &mut Buffer) {
    if window.head.is_empty() {
        return;
    }
    let theme = ctx.theme;
    let mut spans = vec![Span::raw("timeline")];
    spans.push(Span::styled(format!("  {} a column", length_words(window)), theme.muted));
    if window.rows.len() < window.of {
        let (from, to) = (window.top + 1, window.top + window.rows.len());
        spans.push(Span::styled(format!("  {from}–{to} of {}", window.of), theme.muted));
    }
    rule(window.head, spans, Focus::Timeline, ctx, buf);
}

fn length_words(window: &TimelineWindow) -> String {
    let length = window.column_length();
    match length.as_secs() {
        0 => format!("0.{}s", length.subsec_millis() / 100),
        seconds @ 1..60 => format!("{seconds}s"),
        seconds @ 60..3_600 => format!("{}m", seconds / 60),
        seconds => format!("{}h", seconds / 3_600),
    }
}

/// Draws the ticks with their times, and the cursor's mark.
fn axis(window: &TimelineWindow, ctx: &RenderContext<'_>, buf: &mut Buffer) {
    let area = window.axis;
    if area.is_empty() {
        return;
    }
    let tick = window.tick();
    for (x, column) in (area.x..area.right()).zip(window.first..) {
        if column.is_multiple_of(tick) {
            let label = format!("{}{}", ctx.glyphs.column, clock(window.since(column).as_secs()));
            if width(&label) <= usize::from(area.right() - x) {
                buf.set_string(x, area.y, label, ctx.theme.muted);
            }
        }
    }
    if let Some((x, _)) = window.columns().find(|(_, column)| *column == window.cursor) {
        buf.set_string(x, area.y, ctx.glyphs.pointer, ctx.theme.accent);
    }
}

/// Spells a moment: minutes and seconds, hours where there are any.
fn clock(seconds: u64) -> String {
    match seconds {
        0..3_600 => format!("{:02}:{:02}", seconds / 60, seconds % 60),
        _ => format!("{}:{:02}:{:02}", seconds / 3_600, seconds / 60 % 60, seconds % 60),
    }
}

fn name(row: TimelineRow, y: u16, window: &TimelineWindow, ctx: &RenderContext<'_>, buf: &mut Buffer) {
    let Some(agent) = ctx.app.agents().get(row.agent) else { return };
    let area = Rect { y, height: 1, ..window.names };
    let chosen = row.agent == window.chosen;
    let mark = if chosen { ctx.glyphs.prompt } else { " " };
    let indent = " ".repeat(2 * usize::from(row.depth));
    let text = row_name(agent, window.head.width);
    let (name, about) = text.split_at(agent.name.len());
    let style = if row.agent.is_main() { ctx.theme.text } else { ctx.agent(agent) };
    let line = Line::from(vec![
        Span::styled(format!("{mark} "), ctx.theme.accent),
        Span::styled(format!("{indent}{name}"), style),
        Span::styled(about.to_owned(), ctx.theme.muted),
    ]);
    buf.set_line(area.x, y, &fit_line(&line, usize::from(area.width.saturating_sub(1))), area.width);
    if chosen {
        buf.set_style(area, ctx.theme.selected_row);
    }
}

/// Draws what an agent did in the visible columns.
fn bar(row: TimelineRow, y: u16, window: &TimelineWindow, ctx: &RenderContext<'_>, buf: &mut Buffer) {
    let Some(track) = ctx.app.track(row.agent) else { return };
    let now = ctx.app.now();
    let mut before: Option<TrackSeen<'_>> = None;
    for (x, column) in window.columns() {
        let (from, to) = window.time_of(column);
        let seen = match before {
            Some(seen) if seen.fills(from, to, now) => Some(TrackSeen { others: 0, ..seen }),
            _ => track.seen(from, to, now),
        };
        let cursor = column == window.cursor;
        let begins =
            |seen: &TrackSeen<'_>| before.is_none_or(|before| (before.from, before.kind) != (seen.from, seen.kind));
        if let Some(seen) = seen {
            let (style, pattern) = looks(seen.kind, ctx);
            let letter = seen.kind.row().letter;
            let (sign, style) = match seen.ended {
                Some(status) => ending(status, ctx),
                None if begins(&seen) || cursor => (letter, lettered(seen.kind, style)),
                None => (pattern, style),
            };
            let style = if cursor && row.agent == window.chosen { ctx.theme.selection } else { style };
            buf.set_string(x, y, sign, style);
        } else if cursor {
            let chosen = row.agent == window.chosen;
            let style = if chosen { ctx.theme.selection } else { ctx.theme.faint };
            buf.set_string(x, y, ctx.glyphs.column, style);
        }
        before = seen;
    }
}

fn looks(kind: SpanKind, ctx: &RenderContext<'_>) -> (Style, &'static str) {
    let (theme, row) = (ctx.theme, kind.row());
    let style = match row.tone {
        SpanTone::Accent => theme.accent,
        SpanTone::Tool => theme.tool,
        SpanTone::Approval => theme.approval,
        SpanTone::Warning => theme.warning,
        SpanTone::Error => theme.error,
        SpanTone::Muted => theme.muted,
    };
    let fill = match row.fill {
        SpanFill::Line => ctx.glyphs.rule,
        SpanFill::Block => ctx.glyphs.block,
        SpanFill::Dot => ctx.glyphs.neutral,
        SpanFill::Text(sign) => sign,
    };
    (style, fill)
}

fn lettered(kind: SpanKind, style: Style) -> Style {
    if kind.row().stands_out { style.add_modifier(Modifier::REVERSED) } else { style }
}

fn ending(status: Status, ctx: &RenderContext<'_>) -> (&'static str, Style) {
    let state = AgentState::Ended(status);
    (ctx.glyph(&state), ctx.severity(&state))
}

/// Says what the chosen agent did under the cursor.
fn words(window: &TimelineWindow, ctx: &RenderContext<'_>) -> Line<'static> {
    let theme = ctx.theme;
    let now = ctx.app.now();
    let Some(agent) = ctx.app.agents().get(window.chosen) else { return Line::default() };
    let (from, to) = window.time_of(window.cursor);
    let mut spans = vec![
        Span::styled(clock(window.since(window.cursor).as_secs()), theme.title),
        Span::styled(format!("  {}  ", fit(&agent.name, 24)), ctx.agent(agent)),
    ];
    let Some(seen) = ctx.app.track(agent.id).and_then(|track| track.seen(from, to, now)) else {
        spans.push(Span::styled(absence(agent, window, ctx), theme.muted));
        return Line::from(spans);
    };
    let (style, _) = looks(seen.kind, ctx);
    spans.push(Span::styled(seen.kind.row().letter, style));
    let took = elapsed(seen.to.unwrap_or(now).saturating_duration_since(seen.from));
    let lasts = if seen.to.is_none() { " so far" } else { "" };
    // The time stands before what may be long.
    spans.push(Span::styled(format!(" {took}{lasts}  "), theme.muted));
    spans.push(Span::styled(deed(&seen, agent), theme.text));
    if let Some(status) = seen.ended {
        let state = AgentState::Ended(status);
        spans.push(Span::styled(format!("  {} {}", ctx.glyph(&state), state.word()), ctx.severity(&state)));
    }
    if seen.others > 0 {
        spans.push(Span::styled(format!("  and {} more here", seen.others), theme.faint));
    }
    Line::from(spans)
}

/// Says what is known of a time in which an agent did nothing.
fn absence(agent: &AgentView, window: &TimelineWindow, ctx: &RenderContext<'_>) -> String {
    let Some(first) = ctx.app.track(agent.id).and_then(|track| track.spans().first()) else {
        return "no activity yet".to_owned();
    };
    let (_, to) = window.time_of(window.cursor);
    if first.from >= to {
        return format!("starts at {}", clock(window.since_origin(first.from).as_secs()));
    }
    // The time between two runs is after the end of one.
    let before = ctx.app.track(agent.id).and_then(|track| track.last_before(to));
    match before.and_then(|span| span.ended).filter(|_| !agent.id.is_main()) {
        Some(status) => format!("ended: {}", AgentState::Ended(status).word()),
        None => "idle".to_owned(),
    }
}

/// Says what was done in a span: by the transcript, or what was kept of it.
fn deed(seen: &TrackSeen<'_>, agent: &AgentView) -> String {
    let tool = match agent.cells.get(seen.span.cell).map(|cell| &cell.kind) {
        Some(CellKind::Tool(tool)) => Some(tool),
        _ => None,
    };
    let label = &seen.span.label;
    match (seen.kind, tool) {
        (SpanKind::Tool, Some(tool)) if !tool.summary.is_empty() => {
            let sign = if tool.state == ToolState::Failed { "failed: " } else { "→ " };
            format!("{} {} {sign}{}", tool.name, tool.title, tool.summary)
        }
        (SpanKind::Tool, _) => label.to_string(),
        (SpanKind::Approval, _) => format!("waits for your answer: {label}"),
        (SpanKind::RateLimited | SpanKind::Retrying, _) => format!("{}: {label}", seen.kind.row().word),
        (SpanKind::Stalled, _) if !label.is_empty() => format!("stalled in {label}"),
        _ => seen.kind.row().word.to_owned(),
    }
}

/// Says what the letters and signs stand for that are in the rows.
fn legend(window: &TimelineWindow, ctx: &RenderContext<'_>, buf: &mut Buffer) {
    let area = window.legend;
    if area.is_empty() {
        return;
    }
    let theme = ctx.theme;
    let kinds = ctx.app.span_kinds(window).into_iter().map(|kind| {
        let (style, fill) = looks(kind, ctx);
        (format!("{}{fill}", kind.row().letter), style, kind.row().word)
    });
    let ends = ENDS.into_iter().map(|(status, word)| {
        let (sign, style) = ending(status, ctx);
        (sign.to_owned(), style, word)
    });
    let mut spans = Vec::new();
    let mut room = usize::from(area.width).saturating_sub(2);
    for (sign, style, word) in kinds.chain(ends) {
        let needed = width(&sign) + width(word) + 3;
        if needed > room + 2 {
            break;
        }
        room = room.saturating_sub(needed);
        spans.push(Span::styled(sign, style));
        spans.push(Span::styled(format!(" {word}  "), theme.muted));
    }
    buf.set_line(area.x + 1, area.y, &Line::from(spans), area.width - 1);
}
