//! A subagent in its parent's transcript: one line while it runs, and its summary once it has ended.
//!
//! Owns that line. Leaves the pane to `pane`. Invariant: nothing of the child but its title, its state and its
//! summary appears here.

use ratatui::text::{Line, Span};

use super::super::markdown::{Lined, MarkdownDoc};
use super::super::render_context::RenderContext;
use super::super::wrap::{fit_line, indented, pad, pad_left, width};
use crate::agent::LastWords;
use crate::app::{AgentView, Detail, Siblings};
use crate::message::format::{clock, counted, elapsed};
use crate::message::{AgentId, summary_of};

/// Lines of a summary in brief.
const MAX_SUMMARY: usize = 8;
const INDENT: u16 = 2;

pub(super) fn lines(id: AgentId, siblings: &Siblings, columns: u16, detail: Detail, ctx: &RenderContext<'_>) -> Lined {
    let Some(agent) = ctx.app.agents().get(id) else { return Lined::default() };
    let mut lines = Vec::new();
    if let Siblings::After(others) = siblings {
        lines.extend(block_head(agent, others, columns, ctx));
    }
    // What its pane says is not said twice.
    if agent.has_ended() || detail == Detail::Whole || !ctx.is_in_sight(id) {
        lines.push(head(agent, usize::from(columns), ctx));
    } else {
        return lines.into();
    }
    // That of a former run stays until there is a new one.
    let Some(outcome) = agent.last_outcome() else { return lines.into() };
    if let Some(reason) = outcome.reason.as_ref().filter(|_| agent.has_ended() && !outcome.status.is_complete()) {
        let reason = Line::styled(format!("  {}", reason.lines().next().unwrap_or_default()), ctx.theme.warning);
        lines.push(fit_line(&reason, usize::from(columns)));
    }
    if agent.has_ended() && outcome.words == LastWords::Partial {
        // Half a sentence is no summary.
        let after = format!("  after {}", counted(outcome.tool_calls as usize, "tool call"));
        lines.push(fit_line(&Line::styled(after, ctx.theme.muted), usize::from(columns)));
        return lines.into();
    }
    let mut doc = MarkdownDoc::new();
    doc.set(summary_of(&outcome.text));
    let summary = doc.lines(columns.saturating_sub(INDENT).max(1), ctx.theme, ctx.highlighter);
    let most = if detail == Detail::Brief { MAX_SUMMARY } else { usize::MAX };
    let above = lines.len();
    lines.extend(summary.iter().take(most).map(|line| indented(line.clone(), INDENT)));
    if summary.len() > most {
        let left = counted(summary.len() - most, "more line");
        // There are keys for nine.
        let way = if id.0 <= 9 { format!("alt+{id} shows") } else { "/tasks shows".to_owned() };
        lines.push(Line::styled(format!("  {} {left}: {way} all", ctx.glyphs.ellipsis), ctx.theme.faint));
    }
    let labels = doc.labels(0..most).iter().map(|label| label.clone().moved(above, INDENT)).collect();
    Lined { lines, labels }
}

/// Returns the line that stands for all agents of a message while one of them is at work: how many do what, and for
/// how long.
fn block_head(first: &AgentView, others: &[AgentId], columns: u16, ctx: &RenderContext<'_>) -> Option<Line<'static>> {
    let others = || others.iter().filter_map(|id| ctx.app.agents().get(*id));
    let all = || std::iter::once(first).chain(others());
    if all().all(AgentView::has_ended) {
        return None;
    }
    let time = all().map(|agent| agent.elapsed(ctx.app.now())).max().unwrap_or_default();
    let head = format!("{} {} ", ctx.glyphs.agent, counted(all().count(), "agent"));
    let time = format!("  {}", clock(time));
    let room = usize::from(columns).saturating_sub(width(&head) + 2 + width(&time));
    let mut spans = vec![Span::styled(head, ctx.theme.text)];
    spans.push(Span::styled(format!("{} ", ctx.glyphs.neutral), ctx.theme.faint));
    spans.extend(ctx.counts(ctx.app.tally(all()).parts(), room));
    spans.push(Span::styled(time, ctx.theme.muted));
    Some(fit_line(&Line::from(spans), usize::from(columns)))
}

/// Returns the line: title, type, state, tool calls, time.
fn head(agent: &AgentView, columns: usize, ctx: &RenderContext<'_>) -> Line<'static> {
    let state = ctx.app.state_of(agent);
    let ended = agent.has_ended();
    let time = if ended { elapsed(agent.elapsed(ctx.app.now())) } else { clock(agent.elapsed(ctx.app.now())) };
    let queued = !agent.has_begun() && !ended;
    let numbers = match (columns, queued) {
        (..40, _) => String::new(),
        (40..60, true) => " ".repeat(7),
        (40..60, false) => pad_left(&time, 7),
        (_, true) => " ".repeat(16),
        (_, false) => format!("{} {}", pad_left(&counted(agent.tools as usize, "tool"), 9), pad_left(&time, 6)),
    };
    let word = match columns {
        100.. => 24,
        60..100 => 16,
        _ => columns.saturating_sub(12).min(9),
    };
    let word = pad(&state.word_within(word), word);
    let room = columns.saturating_sub(2 + 1 + 2 + width(&word) + width(&numbers));
    let kind = ctx.type_columns(room);
    let (description, mark) = ctx.description(agent, room - kind);
    let gap = " ".repeat((room - kind).saturating_sub(width(&description) + width(&mark)) + 1);
    let line = Line::from(vec![
        Span::styled(format!("{} ", ctx.glyphs.agent), ctx.agent(agent)),
        Span::styled(description, if ended { ctx.theme.muted } else { ctx.theme.text }),
        Span::styled(format!("{mark}{gap}"), ctx.theme.muted),
        ctx.type_of(agent, kind),
        Span::styled(format!("{} {word}", ctx.glyph(&state)), ctx.severity(&state)),
        Span::styled(numbers, ctx.theme.muted),
    ]);
    fit_line(&line, columns)
}
