//! Draws the text being written.
//!
//! Owns the cells of the composer's area. Leaves the frame around it, the popup of its completion and showing the
//! cursor to the caller. Invariant: the cursor it returns lies within the area.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget as _;

use super::theme::Theme;
use crate::app::composer::{Composer, PROMPT_WIDTH, PieceKind};

/// What an empty composer says.
const PLACEHOLDER: &str = "Ask, or describe a task";

/// Draws the composer and returns where its cursor stands, to be shown if the composer has the focus.
pub fn render(composer: &Composer, area: Rect, buf: &mut Buffer, theme: &Theme) -> Position {
    if area.width <= PROMPT_WIDTH || area.height == 0 {
        return area.as_position();
    }
    let view = composer.view(area.width, area.height);
    for (row, pieces) in (area.y..area.bottom()).zip(&view.rows) {
        let place = Rect { x: area.x + PROMPT_WIDTH, y: row, width: area.width - PROMPT_WIDTH, height: 1 };
        let spans = pieces.iter().map(|(kind, text)| {
            let style = match kind {
                PieceKind::Text => theme.text,
                PieceKind::Chip => theme.chip,
                PieceKind::Mention => theme.accent,
            };
            Span::styled(text.as_str(), style)
        });
        spans.collect::<Line<'_>>().render(place, buf);
    }
    if view.first_row == 0 {
        buf.set_stringn(area.x, area.y, theme.glyphs.prompt, usize::from(PROMPT_WIDTH), theme.accent);
    }
    if composer.is_empty() {
        let room = usize::from(area.width - PROMPT_WIDTH);
        buf.set_stringn(area.x + PROMPT_WIDTH, area.y, PLACEHOLDER, room, theme.placeholder);
    }
    Position {
        x: (area.x + PROMPT_WIDTH + view.cursor.0).min(area.right() - 1),
        y: (area.y + view.cursor.1).min(area.bottom() - 1),
    }
}
