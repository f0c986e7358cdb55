//! The line of a search at the bottom of a view: what is sought, which match is shown, and the keys that go on.
//!
//! Owns its place and its words. Leaves the search to `transcript`. Invariant: it covers no text, the view ends above it.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};

use super::popup::clear;
use super::render_context::RenderContext;
use super::transcript::Matches;
use super::wrap::{fit, tail, width};
use crate::app::keymap::Context;
use crate::app::{Action, LineEdit, LoadedUpTo, Popup};
use crate::message::AgentId;

/// Fewest rows of a view that has room for the line.
const FEWEST_ROWS: u16 = 5;
/// Columns for what is typed.
const TYPED: u16 = 32;

/// Returns the row of the line in a full view; `None` if that has no room for it.
pub(super) fn row(view: Rect) -> Option<Rect> {
    (view.height >= FEWEST_ROWS && view.width > 12).then(|| Rect {
        x: view.x + 1,
        y: view.bottom() - 1,
        width: view.width - 2,
        height: 1,
    })
}

/// Returns `true` if something is sought in an agent's view, or about to be.
pub(super) fn is_shown(agent: AgentId, ctx: &RenderContext<'_>) -> bool {
    let typing = matches!(ctx.app.popup(), Some(Popup::Search { agent: of, .. }) if *of == agent);
    typing || ctx.app.pane(agent).search.is_some()
}

/// Draws the line: what is sought, and where the search stands.
pub(super) fn draw(agent: AgentId, matches: Option<Matches>, row: Rect, ctx: &RenderContext<'_>, buf: &mut Buffer) {
    let theme = ctx.theme;
    let sought = ctx.app.pane(agent).search.unwrap_or_default();
    let typing = matches!(ctx.app.popup(), Some(Popup::Search { .. }));
    clear(row, buf);
    let found = matches.map(|matches| words(matches, agent, ctx)).unwrap_or_default();
    let key = |action| ctx.app.keymap().chord_of(Context::AgentFull, action);
    let hint = [(Action::SearchNext, "next"), (Action::SearchPrevious, "previous"), (Action::Leave, "close")];
    let hint: Vec<String> =
        hint.into_iter().filter_map(|(action, word)| Some(format!("{} {word}", key(action)?))).collect();
    let hint = if typing { String::new() } else { hint.join("  ") };
    let sought = if typing { String::new() } else { fit(&sought, usize::from(TYPED)) };
    let style = if found.starts_with("no ") { theme.warning } else { theme.text };
    let columns = if typing { usize::from(TYPED) + 2 } else { width(&sought) + 3 };
    let mut spans = vec![Span::styled("/", theme.accent), Span::styled(sought.clone(), theme.text)];
    spans.push(Span::raw(" ".repeat(columns.saturating_sub(1 + width(&sought)))));
    spans.push(Span::styled(found, style));
    spans.push(Span::styled(format!("   {hint}"), theme.faint));
    buf.set_line(row.x, row.y, &Line::from(spans), row.width);
}

fn words(matches: Matches, agent: AgentId, ctx: &RenderContext<'_>) -> String {
    let agent = ctx.app.agents().get(agent);
    let earlier = agent.is_some_and(|agent| ctx.app.before(agent) == LoadedUpTo::Coming);
    let more = if earlier { "+" } else { "" };
    match (matches.count, matches.current) {
        (0, _) if earlier => "no match here; enter searches the log".to_owned(),
        (0, _) => "no match".to_owned(),
        (count, Some(current)) => format!("{current} of {count}{more}"),
        (count, None) => format!("{count}{more} found"),
    }
}

/// Draws what is typed, and returns its cursor.
pub(super) fn typed(query: &LineEdit, row: Rect, ctx: &RenderContext<'_>, buf: &mut Buffer) -> Position {
    let room = row.width.saturating_sub(2).min(TYPED);
    let before = tail(query.before_cursor(), usize::from(room));
    let after = &query.text()[query.before_cursor().len()..];
    buf.set_string(row.x, row.y, "/", ctx.theme.accent);
    buf.set_stringn(row.x + 1, row.y, format!("{before}{after}"), usize::from(room), ctx.theme.text);
    let x = row.x + 1 + u16::try_from(width(before)).unwrap_or(0);
    Position { x: x.min(row.right().saturating_sub(1)), y: row.y }
}
