//! The view of all agents and their files: a box over nearly the whole screen.
//!
//! Owns the box, the search line and the line of faults. Leaves the rows to `list`, one agent to `detail`, and what is
//! chosen to `app`. Invariant: names, descriptions and paths are made safe before they reach a cell.

mod detail;
mod list;

use ratatui::buffer::Buffer;
use ratatui::layout::Position;
use ratatui::text::Line;

use super::markdown::MarkdownDoc;
use super::popup::{draw_place, frame, type_line};
use super::render_context::{RenderContext, put_lines};
use super::wrap::wrap_line;
use crate::app::Drawn;
use crate::app::agent_files::{AgentFilesPage, AgentFilesView};
use crate::definition::Tier;
use crate::message::sanitize_line;

/// Draws the view and returns where its cursor stands, if it has one.
pub(super) fn draw(
    view: &AgentFilesView,
    prompt: &mut MarkdownDoc,
    ctx: &RenderContext<'_>,
    buf: &mut Buffer,
    drawn: &mut Drawn,
) -> Option<Position> {
    let layout = ctx.app.agent_files_layout(view);
    let chosen = view.chosen(ctx.app.listing());
    let height = usize::from(layout.body.height);
    if let (AgentFilesPage::Detail { scroll }, Some(listed)) = (view.page(), chosen) {
        frame(&format!("agent · {}", sanitize_line(&listed.name())), layout.area, ctx, buf);
        let head = detail::head(listed, ctx, layout.body.width);
        let text = listed.definition.as_ref().map_or("", |definition| definition.prompt.as_str());
        prompt.set(text);
        let body = prompt.lines(layout.body.width, ctx.theme, ctx.highlighter);
        let count = head.len() + body.len();
        let end = count.saturating_sub(height);
        let from = scroll.min(end);
        drawn.popup_end = end;
        put_lines(head.iter().chain(body).skip(from), layout.body, buf);
        draw_place(from, height, count, layout.area, ctx, buf);
    } else {
        frame(&title(view), layout.area, ctx, buf);
        let from = view.first_visible(height);
        list::draw(view, from, ctx, layout.body, buf);
        draw_place(from, height, view.rows().len(), layout.area, ctx, buf);
    }
    if let Some(error) = view.error() {
        let text = format!("{} {error}", ctx.glyphs.attention);
        put_lines(&wrap_line(&Line::styled(text, ctx.theme.error), layout.error.width), layout.error, buf);
    }
    if layout.query.is_empty() {
        return None;
    }
    let cursor = type_line(view.query(), layout.query, ctx, buf);
    view.is_typing().then_some(cursor)
}

fn title(view: &AgentFilesView) -> String {
    format!("agents · {}", view.standings().words())
}

/// Returns a tier and the folder of its files, as people read it.
fn folder_of(tier: Tier, ctx: &RenderContext<'_>) -> String {
    let places = ctx.app.agent_places();
    places.dirs.home_of(tier).map_or_else(String::new, |folder| places.shown(folder))
}
