//! The view of all agents and their files: a box over nearly the whole screen.
//!
//! Owns the box, the search line and the line of faults. Leaves the rows to `list`, one agent to `detail`, and what is
//! chosen to `app`. Invariant: names, descriptions and paths are made safe before they reach a cell.

mod detail;
mod list;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::Line;

use super::look::Look;
use super::markdown::MarkdownDoc;
use super::popup::{draw_place, frame, type_line};
use super::wrap::wrap_line;
use crate::app::Drawn;
use crate::app::agent_files::{AgentFilesView, Page};
use crate::definition::Tier;
use crate::message::plain_line;

/// Draws the view and returns where its cursor stands, if it has one.
pub(super) fn draw(
    view: &AgentFilesView,
    prompt: &mut MarkdownDoc,
    look: &Look<'_>,
    buf: &mut Buffer,
    drawn: &mut Drawn,
) -> Option<Position> {
    let layout = look.app.agent_files_layout(view);
    let chosen = view.chosen(look.app.listing());
    let height = usize::from(layout.body.height);
    if let (Page::Detail { scroll }, Some(listed)) = (view.page(), chosen) {
        frame(&format!("agent · {}", plain_line(&listed.name())), layout.area, look, buf);
        let head = detail::head(listed, look, layout.body.width);
        let text = listed.definition.as_ref().map_or("", |definition| definition.prompt.as_str());
        prompt.set(text);
        let body = prompt.lines(layout.body.width, look.theme, look.highlighter);
        let count = head.len() + body.len();
        let end = count.saturating_sub(height);
        let from = scroll.min(end);
        drawn.popup_end = end;
        draw_lines(head.iter().chain(body).skip(from), layout.body, buf);
        draw_place(from, height, count, layout.area, look, buf);
    } else {
        frame(&title(view), layout.area, look, buf);
        let from = view.first_visible(height);
        list::draw(view, from, look, layout.body, buf);
        draw_place(from, height, view.rows().len(), layout.area, look, buf);
    }
    if let Some(fault) = view.fault() {
        let text = format!("{} {fault}", look.glyphs.attention);
        draw_lines(wrap_line(&Line::styled(text, look.theme.error), layout.fault.width).iter(), layout.fault, buf);
    }
    if layout.query.is_empty() {
        return None;
    }
    let cursor = type_line(view.query(), layout.query, look, buf);
    view.is_typing().then_some(cursor)
}

fn title(view: &AgentFilesView) -> String {
    format!("agents · {}", view.standings().words())
}

fn draw_lines<'a>(lines: impl Iterator<Item = &'a Line<'static>>, area: Rect, buf: &mut Buffer) {
    for (line, y) in lines.zip(area.y..area.bottom()) {
        buf.set_line(area.x, y, line, area.width);
    }
}

/// Returns a tier and the folder of its files, as people read it.
fn folder_of(tier: Tier, look: &Look<'_>) -> String {
    let places = look.app.agent_places();
    places.dirs.home_of(tier).map_or_else(String::new, |folder| places.shown(folder))
}
