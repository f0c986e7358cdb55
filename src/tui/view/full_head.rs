//! What stands between the title and the transcript: the facts of an agent that has the whole screen, and its to-dos.
//!
//! Owns their rows. Leaves the state, which the title says, to `pane`. Invariant: at most a third of the room is
//! taken, so that the transcript is never squeezed out.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::money;
use super::render_context::{RenderContext, put_lines, used};
use super::wrap::{fit, width};
use super::{cell, limited};
use crate::app::action::Action;
use crate::app::keymap::Context;
use crate::app::{AgentState, AgentView, WorktreeState};
use crate::message::format::{clock, counted};
use crate::message::sanitize_line;
use crate::permission::PermissionMode;

const FACT_ROWS: u16 = 3;
/// Percent of a context from which a pane says how full it is.
const NEARLY_FULL: u64 = 70;
/// Most entries of a list of things to do.
const TODO_ROWS: u16 = 8;
/// Fewest rows of a pane in which a line is left for what is to be done.
const TODO_FROM: u16 = 6;

pub(super) fn draw(agent: &AgentView, ctx: &RenderContext<'_>, area: Rect, buf: &mut Buffer) -> Rect {
    let most = (area.height / 6).min(FACT_ROWS);
    let columns = usize::from(area.width.saturating_sub(2));
    let rows = laid(facts(agent, ctx), usize::from(most), columns, ctx);
    let area = put_lines(&rows, area, buf);
    let most = usize::from((area.height / 5).min(TODO_ROWS));
    let todos = agent.todos();
    // What is done stands first and matters least.
    let from = todos.len().saturating_sub(most).min(todos.iter().take_while(|todo| todo.is_done()).count());
    let columns = area.width.saturating_sub(2);
    let rows: Vec<Line<'_>> = todos[from..].iter().take(most).map(|item| cell::todo(item, columns, ctx)).collect();
    put_lines(&rows, area, buf)
}

/// Draws one line on what is to be done, and on a context that is nearly full, where there is room for it, and returns
/// the room that is left.
pub(super) fn brief(agent: &AgentView, ctx: &RenderContext<'_>, area: Rect, buf: &mut Buffer) -> Rect {
    if area.height < TODO_FROM || agent.has_ended() {
        return area;
    }
    let todo = todo_line(agent, usize::from(area.width.saturating_sub(16)), ctx);
    let full =
        context_percent(agent).filter(|percent| *percent >= NEARLY_FULL).map(|percent| format!("ctx {percent}%"));
    let facts = [todo.map(|text| (text, ctx.theme.muted)), full.map(|text| (text, ctx.theme.warning))];
    let spans: Vec<Span<'_>> =
        facts.into_iter().flatten().flat_map(|(text, style)| [Span::raw("  "), Span::styled(text, style)]).collect();
    if spans.is_empty() { area } else { put_lines(&[Line::from(spans)], area, buf) }
}

/// Returns how much of its model's context the last request of an agent took, in percent, where that is known.
fn context_percent(agent: &AgentView) -> Option<u64> {
    let window = agent.bounds.context_window.filter(|_| agent.context > 0)?;
    Some(agent.context.saturating_mul(100) / window.max(1))
}

/// Returns how far an agent is in its list of things to do, and what it does, such as `3/7 ▸ Reading the tests`.
pub(super) fn todo_line(agent: &AgentView, columns: usize, ctx: &RenderContext<'_>) -> Option<String> {
    let todos = agent.todos();
    let done = todos.iter().filter(|todo| todo.is_done()).count();
    let doing = todos.iter().find(|todo| todo.is_active()).map_or("", |todo| todo.words());
    let sign = if doing.is_empty() { "done" } else { ctx.glyphs.folded };
    (!todos.is_empty()).then(|| fit(format!("{done}/{} {sign} {doing}", todos.len()).trim_end(), columns))
}

fn facts(agent: &AgentView, ctx: &RenderContext<'_>) -> Vec<(String, Style)> {
    let theme = ctx.theme;
    let mut facts: Vec<(String, Style)> =
        limited::whole(agent, ctx).map(|wait| (wait, theme.warning)).into_iter().collect();
    let limited = |used: u64, most: Option<u64>| match most {
        Some(most) if used.saturating_mul(5) >= most.saturating_mul(4) => theme.warning,
        _ => theme.muted,
    };
    let of = |what: &str, used: u32, most: Option<u32>| {
        let limit = most.map_or_else(String::new, |most| format!("/{most}"));
        (format!("{what} {used}{limit}"), limited(used.into(), most.map(u64::from)))
    };
    facts.extend(silence(agent, ctx).map(|text| (text, theme.warning)));
    if !agent.model.is_empty() {
        facts.push((agent.model.clone(), theme.text));
    }
    if let Some(apart) = agent.worktree.as_ref().filter(|apart| !apart.branch.is_empty()) {
        let gone = if apart.state == WorktreeState::Gone { " (gone)" } else { "" };
        facts.push((format!("worktree {}{gone}", apart.branch), theme.text));
        facts.push((apart.path.clone(), theme.muted));
    }
    facts.push(of("turns", agent.turns, agent.bounds.max_turns));
    facts.push(of("tool calls", agent.tools_of_run(), agent.bounds.max_tool_calls));
    if let Some(percent) = context_percent(agent) {
        facts.push((format!("context {percent}%"), limited(percent, Some(100))));
    }
    if agent.run > 1 {
        facts.push((format!("run {}", agent.run), theme.muted));
    }
    if !agent.spent.is_nothing() {
        facts.push((format!("{} tokens", used(&agent.spent.usage)), theme.muted));
        facts.push((money::short(&agent.spent), theme.muted));
    }
    if let Some((below, spent)) = ctx.app.spent_below(agent) {
        let all = format!("{} tokens {}", used(&spent.usage), money::short(&spent));
        facts.push((format!("with its {}: {all}", counted(below, "subagent")), theme.muted));
    }
    let mode = ctx.app.mode_of(agent);
    let word = if mode == PermissionMode::Plan { "reads only" } else { mode.word() };
    facts.push((format!("permissions: {word}"), theme.text));
    facts.extend(agent.bounds.scopes.iter().map(|scope| (sanitize_line(scope).into_owned(), theme.muted)));
    if !agent.tool_names.is_empty() {
        facts.push((format!("tools: {}", sanitize_line(&agent.tool_names.join(", "))), theme.muted));
    }
    facts
}

/// Says for how long an agent has been silent for too long, what it waits for, and what can be done about it.
fn silence(agent: &AgentView, ctx: &RenderContext<'_>) -> Option<String> {
    let AgentState::Stalled { silent, waits_for } = ctx.app.state_of(agent) else { return None };
    let stop = ctx.app.keymap().chord_of(Context::AgentFull, Action::Stop);
    let stop = stop.map_or_else(String::new, |chord| format!("; {} stops it", ctx.chord(&chord)));
    Some(format!("silent for {}, waiting for {}{stop}", clock(silent), waits_for.words()))
}

/// Lays facts out in so many rows; what does not fit is cut at the end.
fn laid(facts: Vec<(String, Style)>, most: usize, columns: usize, ctx: &RenderContext<'_>) -> Vec<Line<'static>> {
    let mut rows: Vec<Line<'static>> = Vec::new();
    let mut left = 0;
    for (text, style) in facts {
        let gap = format!(" {} ", ctx.glyphs.neutral);
        let fits = left >= width(&gap) + width(&text);
        if !fits && rows.len() >= most {
            if let Some(row) = rows.last_mut().filter(|_| left > width(&gap) + 1) {
                row.push_span(Span::styled(gap.clone(), ctx.theme.faint));
                row.push_span(Span::styled(fit(&text, left - width(&gap)), style));
            }
            break;
        }
        if fits && let Some(row) = rows.last_mut() {
            left -= width(&gap) + width(&text);
            row.push_span(Span::styled(gap, ctx.theme.faint));
            row.push_span(Span::styled(text, style));
        } else {
            let text = fit(&text, columns);
            left = columns.saturating_sub(width(&text));
            rows.push(Line::from(vec![Span::raw("  "), Span::styled(text, style)]));
        }
    }
    rows
}
