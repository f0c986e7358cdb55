//! The status line, and the line above the composer that says what the main agent does, or those in the background.
//!
//! Owns which facts give way when there is little room. Leaves the facts to `app`.

use std::time::Duration;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::money;
use super::pane_strip::rule;
use super::render_context::{RenderContext, used};
use super::wrap::{fit, spans_width, width};
use super::{full_head, limited};
use crate::app::composer::ViMode;
use crate::app::timeline::Playback;
use crate::app::{AgentState, Focus, ModelState, StateGroup, Tone};
use crate::message::format::clock;
use crate::permission::PermissionMode;
use crate::sandbox::SandboxState;

pub(super) fn draw(ctx: &RenderContext<'_>, area: Rect, buf: &mut Buffer) {
    if area.is_empty() {
        return;
    }
    let columns = usize::from(area.width);
    // The view of all agents hides what the facts are about.
    let is_files = ctx.app.agent_files().is_some();
    let kept = if is_files { Vec::new() } else { facts(ctx, columns, KEPT) };
    let room = columns.saturating_sub(spans_width(&kept) + 3);
    let share = if is_files { room } else { room.min(columns / 2) };
    let right = ctx.hints(&ctx.app.hints(), share);
    let right_width = spans_width(&right);
    let left = facts(ctx, columns.saturating_sub(right_width + 3), 0);
    buf.set_line(area.x + 1, area.y, &Line::from(left), area.width.saturating_sub(1));
    let x = area.right().saturating_sub(u16::try_from(right_width + 1).unwrap_or(0)).max(area.x);
    buf.set_line(x, area.y, &Line::from(right), area.right() - x);
}

/// Draws the rows of the user's own status line.
pub(super) fn foot(ctx: &RenderContext<'_>, area: Rect, buf: &mut Buffer) {
    let room = usize::from(area.width.saturating_sub(2));
    for (y, row) in (area.y..area.bottom()).zip(ctx.app.foot()) {
        buf.set_string(area.x + 1, y, fit(row, room), ctx.theme.muted);
    }
}

/// Draws the passing message at the right of the line above the composer, where it covers no hint; without that line, over
/// the facts.
pub(super) fn flash(ctx: &RenderContext<'_>, rule: Rect, status: Rect, buf: &mut Buffer) {
    let Some(flash) = ctx.app.flash() else { return };
    let area = if rule.is_empty() || ctx.app.agent_files().is_some() { status } else { rule };
    let style = if flash.tone == Tone::Warning { ctx.theme.warning } else { ctx.theme.accent };
    let room = usize::from(area.width).saturating_sub(4);
    if area.is_empty() || room == 0 {
        return;
    }
    let text = format!(" {} ", fit(&flash.text, room));
    let columns = u16::try_from(width(&text)).unwrap_or(area.width).min(area.width);
    let x = if area == status { area.x } else { area.right() - columns - 1 };
    buf.set_stringn(x, area.y, text, usize::from(columns), style);
}

/// The lowest rank that no hint takes the place of: cost, mode, and what waits for the user.
const KEPT: u8 = 5;

/// Returns the facts of a rank that fit, the most important kept longest.
fn facts(ctx: &RenderContext<'_>, columns: usize, lowest: u8) -> Vec<Span<'static>> {
    let theme = ctx.theme;
    let status = ctx.app.status();
    let spent = ctx.app.agents().spent();
    // What is said, its colour, and its rank: low ranks go first.
    let mut facts: Vec<(String, Style, u8)> = Vec::new();
    facts.push((status.place(), theme.muted, 1));
    match &status.model {
        ModelState::Chosen(model) => {
            facts.push((model.display.clone(), theme.text, 4));
            facts.extend(ctx.app.effort().map(|effort| (effort.name().to_owned(), theme.muted, 3)));
        }
        ModelState::Searching(place) => {
            let place = place.as_ref().map_or_else(String::new, |place| format!(" at {place}"));
            facts.push((format!("looking for a model{place}{}", ctx.glyphs.ellipsis), theme.faint, 4));
        }
        ModelState::Missing(_) => facts.push(("no model".to_owned(), theme.error, 7)),
    }
    let mode = match status.mode {
        PermissionMode::Default => theme.muted,
        PermissionMode::BypassPermissions => theme.error,
        PermissionMode::AcceptEdits | PermissionMode::Plan => theme.warning,
    };
    let widened = if ctx.app.accepts_some_edits() { " +edits" } else { "" };
    let mode = if widened.is_empty() { mode } else { theme.warning };
    facts.push((format!("{}{widened}", status.mode.word()), mode, 5));
    if status.sandbox.as_ref().is_some_and(|facts| facts.state == SandboxState::On) {
        // It says what the mode before it means.
        facts.push(("sandbox".to_owned(), theme.muted, 6));
    }
    if ctx.app.composer().vi_mode() == Some(ViMode::Normal) {
        facts.push(("NORMAL".to_owned(), theme.accent, 8));
    }
    let context = ctx.app.agents().main().context;
    if let Some(window) = status.model.chosen().and_then(|model| model.context_window).filter(|_| context > 0) {
        let percent = context.saturating_mul(100) / window.max(1);
        let style = if percent >= 80 { theme.warning } else { theme.muted };
        facts.push((format!("ctx {percent}%"), style, 2));
    }
    if !spent.is_nothing() {
        facts.push((format!("{} tok {}", used(&spent.usage), money::short(&spent)), theme.muted, 5));
    }
    if let Some((left, style)) = money::left(ctx.app.agents().budget(), &spent, ctx) {
        // What is about to stop everything matters more than where one is.
        facts.push((left, style, if style == theme.muted { 3 } else { 7 }));
    }
    if let Some(wait) = limited::slowed(ctx) {
        facts.push((wait, theme.warning, 7));
    }
    if let Some(playback) = ctx.app.playback() {
        facts.push((playback_words(playback), theme.accent, 9));
    }
    let asking = ctx.app.approvals().len();
    if asking > 0 {
        facts.push((format!("{asking} waiting for you"), theme.approval, 9));
    }
    facts.retain(|(.., rank)| *rank >= lowest);
    let needed = |facts: &[(String, Style, u8)]| facts.iter().map(|(text, ..)| width(text) + 2).sum::<usize>();
    if needed(&facts) > columns && lowest == 0 {
        facts[0].0 = status.short_place();
    }
    while needed(&facts) > columns && facts.len() > 1 {
        let least = facts.iter().enumerate().min_by_key(|(_, (.., rank))| *rank).map(|(at, _)| at);
        if let Some(at) = least {
            facts.remove(at);
        }
    }
    let mut spans = Vec::new();
    let mut left = columns;
    for (text, style, _) in facts {
        let text = fit(&text, left);
        left = left.saturating_sub(width(&text) + 2);
        spans.push(Span::styled(text, style));
        spans.push(Span::raw("  "));
    }
    spans
}

/// Says which moment of a recorded session is shown, and how fast it goes on.
fn playback_words(playback: &Playback) -> String {
    let sign = if playback.is_playing { "playing" } else { "paused" };
    let (at, of) = (clock_of(playback.position), clock_of(playback.length));
    format!("replay {sign} {}  {at} / {of}", playback.speed.name())
}

fn clock_of(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..3_600 => format!("{:02}:{:02}", seconds / 60, seconds % 60),
        _ => format!("{}:{:02}:{:02}", seconds / 3_600, seconds / 60 % 60, seconds % 60),
    }
}

pub(super) fn above_composer(ctx: &RenderContext<'_>, area: Rect, buf: &mut Buffer) {
    if area.is_empty() {
        return;
    }
    let theme = ctx.theme;
    let main = ctx.app.agents().main();
    let mut words;
    if main.is_active() {
        let state = ctx.app.state_of(main);
        words = if matches!(state, AgentState::NeedsApproval { .. }) {
            Vec::new()
        } else {
            subagents(ctx, usize::from(area.width).saturating_sub(14))
        };
        if words.is_empty() {
            words.push(Span::styled(format!("{} {}", ctx.glyph(&state), state.word()), ctx.severity(&state)));
        }
        words.push(Span::styled(format!("  {}", clock(main.elapsed(ctx.app.now()))), theme.muted));
        let used = spans_width(&words);
        let room = usize::from(area.width).saturating_sub(used + 24).min(48);
        if let Some(todo) = full_head::todo_line(main, room, ctx).filter(|_| room >= 16) {
            words.push(Span::styled(format!("  {todo}"), theme.text));
        }
        let hint = "  esc interrupts";
        let used = spans_width(&words);
        // While a subagent is written to, `esc` leads back from it.
        let interrupts = ctx.app.target().is_none() && ctx.app.playback().is_none();
        if interrupts && used + width(hint) + 4 <= usize::from(area.width) {
            words.push(Span::styled(hint, theme.faint));
        }
    } else {
        words = subagents(ctx, usize::from(area.width).saturating_sub(4));
    }
    rule(area, words, Focus::Composer, ctx, buf);
}

/// Says what the subagents do that have not ended: how many run, and what the others wait for. While the main agent
/// rests, all of them are in the background.
fn subagents(ctx: &RenderContext<'_>, room: usize) -> Vec<Span<'static>> {
    let tally = ctx.app.tally(ctx.app.agents().running());
    if tally.total() == 0 {
        return Vec::new();
    }
    let (sign, style) = match tally.of(StateGroup::Working) {
        0 => (ctx.glyphs.attention, ctx.theme.warning),
        _ => (ctx.spinner(), ctx.theme.accent),
    };
    let place = if ctx.app.agents().main().is_active() { "" } else { " in the background" };
    let head = format!("{sign} agents{place}  ");
    let left = room.saturating_sub(width(&head));
    let mut spans = vec![Span::styled(head, style)];
    spans.extend(ctx.counts(tally.parts(), left));
    spans
}
