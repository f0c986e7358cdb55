//! Tool calls as lines: one for the call and what came of it, and a bounded look at more.
//!
//! Owns how much of an output, a diff or a to-do list is shown. Invariant: in brief, a call takes a bounded number of
//! lines however long its output is.

use ratatui::style::Modifier;
use ratatui::text::{Line, Span};

use super::super::diff::diff_lines;
use super::super::render_context::RenderContext;
use super::super::wrap::{fit, indented, width};
use crate::app::{Detail, ToolCell, ToolState};
use crate::message::format::{clock, counted, elapsed};
use crate::tool::{Todo, TodoStatus, ToolView};

/// Lines of a diff in brief, and when everything is shown.
const DIFF_LINES: [usize; 2] = [14, 400];
/// Lines of output in brief, and when everything is shown.
const OUTPUT_LINES: [usize; 2] = [3, 200];
/// Lines of the output of a failed call in brief.
const FAILED_LINES: usize = 6;

pub(super) fn lines(tool: &ToolCell, columns: u16, detail: Detail, ctx: &RenderContext<'_>) -> Vec<Line<'static>> {
    let mut lines = vec![head(tool, usize::from(columns), ctx)];
    let inner = columns.saturating_sub(2).max(1);
    let at = usize::from(detail == Detail::Whole);
    match &tool.view {
        _ if !tool.tail.is_empty() => tail((&tool.tail, 0), inner, OUTPUT_LINES[at].min(12), ctx, &mut lines),
        Some(ToolView::Diff(diff)) => {
            let changes = diff_lines(diff, inner, ctx.theme, DIFF_LINES[at]).into_iter();
            lines.extend(changes.map(|line| indented(line, 2)));
        }
        Some(ToolView::Todos { items }) => lines.extend(items.iter().map(|item| todo(item, inner, ctx))),
        Some(ToolView::Output { text }) => {
            let most =
                if tool.state == ToolState::Failed { OUTPUT_LINES[at].max(FAILED_LINES) } else { OUTPUT_LINES[at] };
            tail((text, tool.lines_before), inner, most, ctx, &mut lines);
        }
        None => {}
    }
    lines
}

/// Returns the line of the call: sign, name, title, and what came of it at the right place.
fn head(tool: &ToolCell, columns: usize, ctx: &RenderContext<'_>) -> Line<'static> {
    let theme = ctx.theme;
    let now = ctx.app.now();
    let (sign, sign_style) = match tool.state {
        ToolState::Running { .. } => (ctx.spinner(), theme.accent),
        ToolState::Asking => (ctx.glyphs.attention, theme.warning),
        ToolState::Done { .. } => (ctx.glyphs.tool, theme.success),
        ToolState::Failed => (ctx.glyphs.tool, theme.error),
        ToolState::CutOff => (ctx.glyphs.stopped, theme.muted),
    };
    let (outcome, outcome_style) = match tool.state {
        ToolState::Running { since } => {
            let lasting = now.saturating_duration_since(since);
            (if lasting.as_secs() >= 2 { clock(lasting) } else { String::new() }, theme.muted)
        }
        ToolState::Asking => ("waiting for you".to_owned(), theme.warning),
        ToolState::Done { took } if took.as_secs() >= 2 => (format!("{} {}", tool.summary, elapsed(took)), theme.muted),
        ToolState::Done { .. } => (tool.summary.clone(), theme.muted),
        ToolState::Failed => (tool.summary.clone(), theme.error),
        ToolState::CutOff => ("interrupted".to_owned(), theme.muted),
    };
    let mut room = columns.saturating_sub(width(sign) + 1 + width(&tool.name) + 1);
    let arrow = match tool.state {
        _ if outcome.is_empty() => String::new(),
        ToolState::Running { .. } | ToolState::Asking => "  ".to_owned(),
        _ => format!("  {} ", ctx.glyphs.arrow),
    };
    // The title gives way first, but keeps a third of the room.
    let outcome = fit(&outcome, (room * 2 / 3).saturating_sub(width(&arrow)).max(width(&outcome).min(16)));
    room = room.saturating_sub(width(&arrow) + width(&outcome));
    Line::from(vec![
        Span::styled(format!("{sign} "), sign_style),
        Span::styled(tool.name.clone(), theme.tool),
        Span::styled(format!(" {}", fit(&tool.title, room)), theme.text),
        Span::styled(arrow, theme.faint),
        Span::styled(outcome, outcome_style),
    ])
}

/// Appends the last lines of an output, and how many stand before them.
fn tail(
    (text, before): (&str, usize),
    columns: u16,
    most: usize,
    ctx: &RenderContext<'_>,
    lines: &mut Vec<Line<'static>>,
) {
    let all: Vec<&str> = text.trim_end().lines().collect();
    let from = all.len().saturating_sub(most);
    if from + before > 0 && most > OUTPUT_LINES[0] {
        let words = format!("  {} {} before", ctx.glyphs.ellipsis, counted(from + before, "line"));
        lines.push(Line::styled(words, ctx.theme.faint));
    }
    for row in &all[from..] {
        lines.push(Line::styled(format!("  {}", fit(row, usize::from(columns))), ctx.theme.muted));
    }
}

pub(in crate::tui::view) fn todo(item: &Todo, columns: u16, ctx: &RenderContext<'_>) -> Line<'static> {
    let theme = ctx.theme;
    let (sign, style) = match item.status {
        TodoStatus::Completed => (ctx.glyphs.done_box, theme.muted.add_modifier(Modifier::CROSSED_OUT)),
        TodoStatus::InProgress => (ctx.glyphs.open_box, theme.accent),
        TodoStatus::Pending => (ctx.glyphs.open_box, theme.text),
    };
    let text = item.words();
    let room = usize::from(columns).saturating_sub(width(sign) + 1);
    Line::from(vec![Span::styled(format!("  {sign} "), theme.muted), Span::styled(fit(text, room), style)])
}
