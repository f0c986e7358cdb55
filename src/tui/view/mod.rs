//! Drawing: from what the app knows to the cells of a frame.
//!
//! Owns the views and their caches of laid-out lines. Leaves every decision to `app`. Invariant: what a frame costs
//! depends on the visible cells, not on the number of agents or the length of transcripts.

mod agent_files;
mod approvals;
mod cell;
mod commands;
pub mod composer;
mod conversation;
pub mod diff;
mod full_head;
pub mod gallery;
pub mod highlight;
mod limited;
mod links;
pub mod markdown;
mod money;
mod pane;
mod pane_strip;
mod popup;
mod queued;
mod render_context;
mod search_line;
mod select;
mod sparkline;
mod status;
pub mod theme;
mod timeline;
mod transcript;
pub mod wrap;

use std::collections::HashMap;

use ratatui::buffer::{Buffer, Cell};
use ratatui::layout::{Position, Rect};

use self::approvals::QuestionRows;
use self::gallery::Gallery;
use self::highlight::Highlighter;
use self::links::LinkSpans;
use self::markdown::MarkdownDoc;
use self::render_context::RenderContext;
use self::theme::{Glyphs, Theme, Themes};
use self::transcript::TranscriptView;
use super::terminal::{Marks, Scrolled};
use crate::app::layout::{LayoutForm, PaneRect, Regions};
use crate::app::{App, CellKind, Drawn, Focus};
use crate::message::{AgentId, Diagnostic};

/// Cells above the visible ones in which the question is sought that they answer.
const FARTHEST_QUESTION: usize = 500;

/// The views with what they remember between frames.
pub struct Screen {
    theme: Theme,
    highlighter: Highlighter,
    gallery: Gallery,
    transcripts: HashMap<AgentId, TranscriptView>,
    /// The prompt of the agent that is looked at.
    prompt: MarkdownDoc,
    question: QuestionRows,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Painted {
    pub drawn: Drawn,
    pub marks: Marks,
}

impl Screen {
    #[must_use]
    pub fn new(theme: Theme, highlighter: Highlighter) -> Self {
        let (transcripts, prompt) = (HashMap::new(), MarkdownDoc::flowing());
        let (gallery, question) = (Gallery::off(), QuestionRows::default());
        Self { theme, highlighter, gallery, transcripts, prompt, question }
    }

    /// Returns the same screen with the pictures of this gallery.
    #[must_use]
    pub fn with_pictures(self, gallery: Gallery) -> Self {
        Self { gallery, ..self }
    }

    /// Draws in another theme from now on, with the same signs. Returns what is wrong with its file.
    pub fn set_theme(&mut self, name: &str, themes: &Themes) -> Vec<Diagnostic> {
        let Some((theme, errors)) = themes.load(name, self.theme.depth()) else { return Vec::new() };
        self.theme = theme.with_glyphs(self.theme.glyphs);
        self.question = QuestionRows::default();
        errors
    }

    pub fn laid_out(&self) -> usize {
        self.transcripts.values().map(TranscriptView::laid_out).sum()
    }

    /// Draws a frame into an empty buffer. Leaves out what does not fit into a terminal that has just become smaller.
    pub fn draw(&mut self, app: &App, buf: &mut Buffer) -> Painted {
        if app.size().intersection(buf.area) == app.size() {
            let mut painted = self.draw_whole(app, buf);
            // After drawing: a picture that became known meanwhile is sent with the frame that shows it.
            painted.marks.uploads = self.gallery.take_uploads();
            painted.marks.pictures = self.gallery.take_placed(buf);
            return painted;
        }
        let mut whole = Buffer::empty(app.size());
        let mut painted = self.draw_whole(app, &mut whole);
        let seen = app.size().intersection(buf.area);
        for at in seen.positions() {
            buf[at] = whole[at].clone();
        }
        painted.drawn.question = None;
        let cursor = painted.marks.cursor.filter(|at| seen.contains(*at));
        let pictures = self.gallery.take_placed(buf);
        let uploads = self.gallery.take_uploads();
        painted.marks = Marks { cursor, uploads, pictures, ..Marks::default() };
        painted
    }

    fn draw_whole(&mut self, app: &App, buf: &mut Buffer) -> Painted {
        let mut painted = Painted::default();
        if app.size().is_empty() {
            return painted;
        }
        let Self { theme, highlighter, gallery, transcripts, prompt, question } = self;
        let regions = app.regions();
        let ctx = RenderContext { app, theme, glyphs: &theme.glyphs, highlighter, gallery, regions: &regions };
        pane_strip::borders(&regions, &ctx, buf);
        let files = app.agent_files();
        let mut links = LinkSpans::default();
        if files.is_none() && !matches!(regions.form, LayoutForm::Full | LayoutForm::Timeline) {
            let main = transcripts.entry(AgentId::MAIN).or_default();
            let moved = draw_conversation(main, &regions, &ctx, buf, &mut painted.drawn, &mut links);
            let area = regions.conversation;
            if moved > 0 && area.width == buf.area.width {
                painted.marks.scrolled = Some(Scrolled { rows: area.y..area.bottom(), lines: moved });
            }
        }
        if files.is_none() {
            pane_strip::draw(transcripts, &regions, &ctx, buf, &mut painted.drawn, &mut links);
        }
        transcripts.retain(|agent, _| agent.is_main() || painted.drawn.panes.iter().any(|(seen, _)| seen == agent));
        if files.is_none() {
            timeline::draw(&ctx, buf);
        }
        if files.is_none() {
            commands::draw(&ctx, regions.commands, buf);
        }
        approvals::draw(question, &ctx, regions.approvals, buf, &mut painted.drawn);
        let question = Cover::of(regions.approvals, buf);
        status::above_composer(&ctx, regions.rule, buf);
        let cursor = draw_composer(&regions, &ctx, buf);
        status::foot(&ctx, regions.foot, buf);
        status::draw(&ctx, regions.status, buf);
        if let Some(view) = files {
            painted.marks.cursor = agent_files::draw(view, prompt, &ctx, buf, &mut painted.drawn);
        } else if app.focus() == Focus::Composer {
            let query = popup::completion(&ctx, &regions, buf, &mut painted.drawn);
            painted.marks.cursor = query.or(Some(cursor));
        }
        if app.popup().is_some() {
            painted.marks.cursor = popup::draw(&ctx, buf, &mut painted.drawn);
        }
        status::flash(&ctx, regions.rule, regions.status, buf);
        if files.is_none() && app.popup().is_none() {
            let inner =
                |pane: &PaneRect| Rect { x: pane.area.x + 2, width: pane.area.width.saturating_sub(3), ..pane.area };
            let panes = regions.panes.iter().map(inner);
            let areas = panes.chain([conversation::inner(regions.conversation)]);
            links.links(areas, buf, &mut painted.marks.links);
        }
        if question.is_covered(buf) {
            painted.drawn.question = None;
        }
        if theme.glyphs == Glyphs::ASCII {
            keep_to_ascii(buf);
        }
        painted
    }
}

/// What a region showed before anything was drawn in front of it.
struct Cover {
    area: Rect,
    cells: Vec<Cell>,
}

impl Cover {
    fn of(area: Rect, buf: &Buffer) -> Self {
        Self { area, cells: area.positions().map(|at| buf[at].clone()).collect() }
    }

    fn is_covered(&self, buf: &Buffer) -> bool {
        self.area.positions().zip(&self.cells).any(|(at, cell)| buf[at] != *cell)
    }
}

/// Replaces typographic signs that a poor terminal cannot show.
fn keep_to_ascii(buf: &mut Buffer) {
    for cell in &mut buf.content {
        if let Some(sign) = Glyphs::ascii_of(cell.symbol()) {
            cell.set_symbol(sign);
        }
    }
}

/// Draws the conversation, notes what was shown, and returns how many lines it moved up.
fn draw_conversation(
    transcript: &mut TranscriptView,
    regions: &Regions,
    ctx: &RenderContext<'_>,
    buf: &mut Buffer,
    drawn: &mut Drawn,
    links: &mut LinkSpans,
) -> u16 {
    let Some(shown) = conversation::draw(transcript, ctx, regions.conversation, buf) else { return 0 };
    let cells = &ctx.app.agents().main().cells;
    let ended = (shown.cells.0..=shown.cells.1).filter_map(|id| match cells.get(id)?.kind {
        CellKind::Subagent { agent, .. } => ctx.app.agents().get(agent).filter(|agent| agent.has_ended()),
        _ => None,
    });
    drawn.reports.extend(ended.map(|agent| agent.id));
    let asked = |id| match &cells.get(id)?.kind {
        CellKind::User { text } => Some(text.as_str()),
        _ => None,
    };
    let above = (cells.first()..shown.cells.0).rev().take(FARTHEST_QUESTION);
    let question = above.into_iter().find_map(asked).filter(|_| asked(shown.cells.0).is_none());
    if question.is_some() && !regions.conversation_head.is_empty() {
        pane_strip::conversation_head(regions.conversation_head, question, ctx, buf);
    }
    let moved = shown.moved;
    drawn.talk_rows = Some(shown.rows);
    shown.note(AgentId::MAIN, drawn, links);
    moved
}

fn draw_composer(regions: &Regions, ctx: &RenderContext<'_>, buf: &mut Buffer) -> Position {
    let word = format!("  {} edits", ctx.glyphs.up);
    let area = queued::above(&ctx.app.queued(), &word, regions.composer, ctx, buf);
    if ctx.app.playback().is_some() {
        return composer::render_with(ctx.app.composer(), composer::REPLAYED, area, buf, ctx.theme);
    }
    composer::render(ctx.app.composer(), area, buf, ctx.theme)
}
