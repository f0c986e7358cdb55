//! Draws the text being written.
//!
//! Owns the cells of the composer's area. Leaves the frame around it, the place of its lists and showing the cursor
//! to the caller. Invariant: the cursor it returns lies within the area.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget as _;

use super::theme::Theme;
use super::wrap;
use crate::app::composer::{Composer, PieceKind};

const PLACEHOLDER: &str = "Ask, or describe a task";

/// What it says while it writes to a subagent.
const TARGETED: &str = "Message for its next step";

/// What it says while it writes to a subagent that has ended.
const RESUMED: &str = "What should it do next?";

/// What stands in its place in a replay.
pub(super) const REPLAYED: &str = "A replay: nothing is sent, run or changed";

pub fn render(composer: &Composer, area: Rect, buf: &mut Buffer, theme: &Theme) -> Position {
    let placeholder = match composer.prompt_label() {
        Some(sign) if sign.starts_with('→') => TARGETED,
        Some(_) => RESUMED,
        None => PLACEHOLDER,
    };
    render_with(composer, placeholder, area, buf, theme)
}

/// Draws a text being written that says `placeholder` while it is empty, and returns where its cursor stands.
pub(super) fn render_with(
    composer: &Composer,
    placeholder: &str,
    area: Rect,
    buf: &mut Buffer,
    theme: &Theme,
) -> Position {
    let prompt = composer.prompt_width(area.width);
    if area.width <= prompt || area.height == 0 {
        return area.as_position();
    }
    let view = composer.view(area.width, area.height);
    for (row, pieces) in (area.y..area.bottom()).zip(&view.rows) {
        let place = Rect { x: area.x + prompt, y: row, width: area.width - prompt, height: 1 };
        let spans = pieces.iter().map(|(kind, text)| {
            let style = match kind {
                PieceKind::Text => theme.text,
                PieceKind::Chip => theme.chip,
                PieceKind::Mention => mention(composer, text, theme),
            };
            Span::styled(text.as_str(), style)
        });
        spans.collect::<Line<'_>>().render(place, buf);
    }
    if view.first_row == 0 {
        let sign = composer.prompt_label().unwrap_or(theme.glyphs.prompt);
        let style = mention(composer, sign.rsplit("→ ").next().unwrap_or(sign), theme);
        buf.set_line(area.x, area.y, &Line::styled(wrap::fit(sign, usize::from(prompt - 1)), style), prompt);
    }
    if composer.is_empty() {
        let room = usize::from(area.width - prompt);
        buf.set_stringn(area.x + prompt, area.y, placeholder, room, theme.placeholder);
    }
    Position {
        x: (area.x + prompt + view.cursor.0).min(area.right() - 1),
        y: (area.y + view.cursor.1).min(area.bottom() - 1),
    }
}

/// Returns the style of a mention: an agent has its colour.
fn mention(composer: &Composer, text: &str, theme: &Theme) -> Style {
    let mark = composer.mentions().mark(text);
    mark.map_or(theme.accent, |mark| theme.agent(mark.color.as_deref(), &mark.name))
}
