//! Cells of a transcript as lines.
//!
//! Owns the dispatch by kind and the blank lines between cells. Leaves caching and scrolling to `transcript`.
//! Invariant: no line is wider than asked for.

mod subagent;
mod tool;

pub(super) use tool::todo;

use jiff::Timestamp;
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};

use super::markdown::Lined;
use super::render_context::RenderContext;
use super::wrap::{fit, fit_line, wrap_indented, wrap_line};
use crate::app::{AgentView, CellKind, Detail, Siblings, ToolState};
use crate::message::AgentId;

/// Rows of a user message that are shown in brief.
const USER_ROWS: usize = 40;
/// Rows that are shown of one that is longer.
const PASTED_ROWS: usize = 3;

/// Returns `true` if a cell changes by the clock, or with another agent, and is made anew for each frame.
pub(super) fn is_live(kind: &CellKind, ctx: &RenderContext<'_>) -> bool {
    match kind {
        CellKind::Tool(tool) => matches!(tool.state, ToolState::Running { .. } | ToolState::Asking),
        CellKind::Subagent { agent, siblings } => {
            let others = if let Siblings::After(others) = siblings { others.as_slice() } else { &[] };
            let ended = |agent: &AgentId| ctx.app.agents().get(*agent).is_some_and(AgentView::has_ended);
            !ended(agent) || !others.iter().all(ended)
        }
        CellKind::Retry { .. } => true,
        _ => false,
    }
}

/// Returns the Markdown of a cell that holds any.
pub(super) fn markdown(kind: &CellKind) -> Option<&str> {
    match kind {
        CellKind::Text { text } | CellKind::Report { text } => Some(text),
        _ => None,
    }
}

/// Returns how many blank lines stand between two cells.
pub(super) fn gap(before: Option<&CellKind>, kind: &CellKind) -> usize {
    let Some(before) = before else { return 0 };
    let is_line = |kind: &CellKind| {
        matches!(
            kind,
            CellKind::Tool(_)
                | CellKind::Subagent { .. }
                | CellKind::Retry { .. }
                | CellKind::Notice { .. }
                | CellKind::Reports { .. }
        )
    };
    let together = is_line(before) && is_line(kind);
    usize::from(!together && !matches!(kind, CellKind::Void))
}

/// Returns the lines of a cell that is no Markdown.
pub(super) fn lines(kind: &CellKind, columns: u16, detail: Detail, ctx: &RenderContext<'_>) -> Lined {
    let theme = ctx.theme;
    let lines = match kind {
        CellKind::User { text } => user(text, columns, detail, ctx),
        CellKind::Thinking { text } => thinking(text, columns, detail, ctx),
        CellKind::Tool(tool) => tool::lines(tool, columns, detail, ctx),
        CellKind::FromParent { to, text } => {
            let agents = ctx.app.agents();
            let parent = agents.get(*to).and_then(|agent| agents.get(agent.parent?)).unwrap_or(agents.main());
            prefixed(ctx.glyphs.down, theme.muted, &format!("{}: {text}", parent.name), theme.text, columns)
        }
        CellKind::Reports { of } => reports(of, columns, ctx),
        CellKind::Resumed { run, at } => vec![border(*run, *at, columns, ctx)],
        CellKind::Subagent { agent, siblings } => return subagent::lines(*agent, siblings, columns, detail, ctx),
        CellKind::Compacted { words, text } => compacted(words, text, columns, detail, ctx),
        CellKind::Retry { attempt, until, reason } => {
            let left = until.saturating_duration_since(ctx.app.now()).as_secs();
            // Past its own wait it may still stand in a queue.
            let when = if left == 0 { "now".to_owned() } else { format!("in {left}s") };
            let text = format!("retrying {when} (attempt {attempt}): {reason}");
            prefixed(ctx.glyphs.attention, theme.warning, &text, theme.muted, columns)
        }
        CellKind::Notice { text } => prefixed(ctx.glyphs.neutral, theme.muted, text, theme.muted, columns),
        CellKind::Error { text } => prefixed(ctx.glyphs.failed, theme.error, text, theme.error, columns),
        CellKind::CutOff { text, again } => cut_off(text, *again, columns, ctx),
        CellKind::Text { .. } | CellKind::Report { .. } | CellKind::Void => Vec::new(),
    };
    lines.into()
}

/// Returns what a reply had said, and that it broke off.
fn cut_off(text: &str, again: Option<(u32, Option<u32>)>, columns: u16, ctx: &RenderContext<'_>) -> Vec<Line<'static>> {
    let style = ctx.theme.faint;
    let mut lines: Vec<Line<'static>> =
        text.trim_end().lines().flat_map(|row| wrap_line(&Line::styled(row.to_owned(), style), columns)).collect();
    let words = match again {
        Some((attempt, Some(last))) => format!("cut off, retrying ({attempt} of {last})"),
        Some((attempt, None)) => format!("cut off, retrying (attempt {attempt})"),
        None => "cut off".to_owned(),
    };
    lines.extend(prefixed(ctx.glyphs.stopped, ctx.theme.warning, &words, ctx.theme.warning, columns));
    lines
}

fn prefixed(sign: &str, sign_style: Style, text: &str, style: Style, columns: u16) -> Vec<Line<'static>> {
    let first = Line::from(Span::styled(format!("{sign} "), sign_style));
    let rest = Line::from("  ");
    let mut lines: Vec<Line<'static>> = Vec::new();
    for (at, row) in text.lines().enumerate() {
        let head = if at == 0 { &first } else { &rest };
        lines.extend(wrap_indented(&Line::styled(row.to_owned(), style), columns, head, &rest));
    }
    lines
}

/// Returns the line that says whose reports have arrived.
fn reports(of: &[AgentId], columns: u16, ctx: &RenderContext<'_>) -> Vec<Line<'static>> {
    let name = |id: &AgentId| ctx.app.agents().get(*id).map_or(format!("agent {id}"), |agent| agent.name.clone());
    let noun = if of.len() == 1 { "report" } else { "reports" };
    let text = format!("{noun} from {} arrived", of.iter().map(name).collect::<Vec<_>>().join(", "));
    prefixed(ctx.glyphs.agent, ctx.theme.muted, &text, ctx.theme.muted, columns)
}

/// Returns the line between two runs of an agent.
fn border(run: u32, at: Timestamp, columns: u16, ctx: &RenderContext<'_>) -> Line<'static> {
    let rule = ctx.glyphs.rule.repeat(2);
    let clock = at.to_zoned(ctx.app.status().zone.clone()).strftime("%H:%M").to_string();
    let text = format!("{rule} run {run} {} resumed {clock} {rule}", ctx.glyphs.neutral);
    fit_line(&Line::styled(text, ctx.theme.muted), usize::from(columns))
}

fn user(text: &str, columns: u16, detail: Detail, ctx: &RenderContext<'_>) -> Vec<Line<'static>> {
    let total = text.lines().count();
    let most = if detail == Detail::Brief && total > USER_ROWS { PASTED_ROWS } else { usize::MAX };
    let shown = text.lines().take(most).collect::<Vec<_>>().join("\n");
    let mut lines = prefixed(ctx.glyphs.prompt, ctx.theme.user, &shown, ctx.theme.user, columns);
    if total > most {
        let more = format!("  {} {} more lines", ctx.glyphs.ellipsis, total - most);
        lines.push(Line::styled(more, ctx.theme.faint));
    }
    lines
}

/// Returns the mark of a summary; whole, with the summary.
fn compacted(words: &str, text: &str, columns: u16, detail: Detail, ctx: &RenderContext<'_>) -> Vec<Line<'static>> {
    let mut lines = prefixed(ctx.glyphs.neutral, ctx.theme.accent, words, ctx.theme.text, columns);
    if detail == Detail::Whole {
        let rows = text.lines().map(|row| Line::styled(row.to_owned(), ctx.theme.muted));
        let gap = Line::from("  ");
        lines.extend(rows.flat_map(|row| wrap_indented(&row, columns, &gap, &gap)));
    }
    lines
}

fn thinking(text: &str, columns: u16, detail: Detail, ctx: &RenderContext<'_>) -> Vec<Line<'static>> {
    let style = ctx.theme.faint.add_modifier(Modifier::ITALIC);
    if detail == Detail::Whole {
        return prefixed(ctx.glyphs.neutral, ctx.theme.faint, text, style, columns);
    }
    let last = text.lines().next_back().unwrap_or_default().trim();
    let line = Line::from(vec![
        Span::styled(format!("{} thought  ", ctx.glyphs.neutral), ctx.theme.faint),
        Span::styled(fit(last, usize::from(columns)), style),
    ]);
    vec![fit_line(&line, usize::from(columns))]
}
