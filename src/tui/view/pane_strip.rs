//! All panes, their heading, and the lines between regions.
//!
//! Owns the heading's counts and the drawing of borders. Leaves one pane to `pane`.

use std::collections::HashMap;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::links::LinkSpans;
use super::pane;
use super::popup::clear;
use super::render_context::RenderContext;
use super::transcript::TranscriptView;
use super::wrap::{fit, width};
use crate::app::action::Action;
use crate::app::keymap::Context;
use crate::app::layout::{LayoutForm, Regions};
use crate::app::panes::PaneSize;
use crate::app::{CellKind, Drawn, Focus, Severity};
use crate::message::AgentId;

pub(super) fn draw(
    transcripts: &mut HashMap<AgentId, TranscriptView>,
    regions: &Regions,
    ctx: &RenderContext<'_>,
    buf: &mut Buffer,
    drawn: &mut Drawn,
    leads: &mut LinkSpans,
) {
    filed(regions, ctx, buf);
    let agents = ctx.app.agents();
    let visible = || regions.panes.iter().filter_map(|pane| Some((pane, agents.get(pane.agent)?)));
    let columns = visible().map(|(_, agent)| width(&agent.id.to_string())).max().unwrap_or(1);
    for (rect, agent) in visible() {
        drawn.panes.push((agent.id, rect.size));
        let transcript = (rect.size > PaneSize::Row).then(|| transcripts.entry(agent.id).or_default());
        let Some(shown) = pane::draw(rect, agent, transcript, columns, ctx, buf) else { continue };
        drawn.contents.push((agent.id, shown.rows));
        let last = ctx.app.story(agent).get(shown.cells.1);
        if last.is_some_and(|cell| matches!(cell.kind, CellKind::Report { .. })) {
            drawn.reports.push(agent.id);
        }
        shown.note(agent.id, drawn, leads);
    }
}

/// Draws the headings of conversation and agents and the lines between all regions.
pub(super) fn borders(regions: &Regions, ctx: &RenderContext<'_>, buf: &mut Buffer) {
    let theme = ctx.theme;
    let [.., horizontal, vertical] = ctx.glyphs.frame;
    if !regions.conversation_head.is_empty() {
        conversation_head(regions.conversation_head, None, ctx, buf);
    }
    if !regions.agents_head.is_empty() {
        rule(regions.agents_head, counts(regions, ctx), Focus::Agents, ctx, buf);
    }
    for y in regions.divider.y..regions.divider.bottom() {
        let symbol = if y == regions.divider.y { horizontal } else { vertical };
        buf.set_string(regions.divider.x, y, symbol, theme.border);
    }
    if !regions.below_head.is_empty() {
        rule(regions.below_head, Vec::new(), Focus::Agents, ctx, buf);
    }
    let mut beside = regions.panes.iter().filter(|pane| pane.area.x > regions.divider.x);
    if regions.form == LayoutForm::Side
        && let Some(first) = beside.next()
        && let Some(second) = beside.find(|pane| pane.area.x != first.area.x)
    {
        let x = first.area.x.max(second.area.x).saturating_sub(1);
        for y in regions.agents_head.bottom()..regions.divider.bottom() {
            buf.set_string(x, y, vertical, theme.border);
        }
    }
}

/// Draws the heading of the conversation: the question that what is shown answers, where it is out of sight.
pub(super) fn conversation_head(area: Rect, question: Option<&str>, ctx: &RenderContext<'_>, buf: &mut Buffer) {
    let words = question.and_then(|text| text.lines().next()).map(|line| format!("{} {line}", ctx.glyphs.prompt));
    let words = words.unwrap_or_else(|| "conversation".to_owned());
    let room = usize::from(area.width).saturating_sub(4);
    rule(area, vec![Span::raw(fit(&words, room))], Focus::Conversation, ctx, buf);
}

/// Draws a line with words in it, lit while the region it heads has the focus.
pub(super) fn rule(area: Rect, words: Vec<Span<'static>>, of: Focus, ctx: &RenderContext<'_>, buf: &mut Buffer) {
    let theme = ctx.theme;
    let focused = ctx.app.focus() == of;
    let style = if focused { theme.border_focused } else { theme.border };
    buf.set_string(area.x, area.y, ctx.glyphs.rule.repeat(usize::from(area.width)), style);
    if words.is_empty() || area.width < 6 {
        return;
    }
    let mut spans = vec![Span::raw(" ")];
    spans.extend(words);
    spans.push(Span::raw(" "));
    let line = Line::from(spans);
    let columns = u16::try_from(line.width()).unwrap_or(u16::MAX).min(area.width - 2);
    let x = area.x + 1;
    clear(Rect { x, width: columns, ..area }, buf);
    let title = if focused { theme.accent } else { theme.title };
    buf.set_line(x, area.y, &Line { style: title, ..line }, columns);
}

/// Draws the row that stands for agents that have ended: how many, and the key that shows them.
fn filed(regions: &Regions, ctx: &RenderContext<'_>, buf: &mut Buffer) {
    let area = regions.filed;
    if area.is_empty() {
        return;
    }
    let (tally, shown) = ctx.app.filed();
    let fold = if shown { ctx.glyphs.unfolded } else { ctx.glyphs.folded };
    let mut spans = vec![Span::styled(format!("{fold} "), ctx.theme.faint)];
    spans.extend(ctx.counts(tally.parts(), usize::from(area.width).saturating_sub(2)));
    if let Some(key) = ctx.app.keymap().chord_of(Context::Agents, Action::ShowEnded) {
        let does = if shown { "fold" } else { "show" };
        spans.push(Span::styled(format!("  {} {does}", ctx.chord(&key)), ctx.theme.faint));
    }
    buf.set_line(area.x, area.y, &Line::from(spans), area.width);
}

fn counts(regions: &Regions, ctx: &RenderContext<'_>) -> Vec<Span<'static>> {
    let tally = ctx.app.tally(ctx.app.agents().children());
    let room = usize::from(regions.agents_head.width).saturating_sub(11);
    let unseen = (regions.unseen, "not shown", Severity::Neutral);
    let mut spans = vec![Span::raw("agents  ")];
    spans.extend(ctx.counts(tally.parts().chain((regions.unseen > 0).then_some(unseen)), room));
    spans
}
