//! How busy an agent was in the last minute, as a row of small columns in its pane's title.
//!
//! Owns where it stands. Leaves counting to `app`. Invariant: it takes only room that nothing else wants.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::render_context::RenderContext;
use crate::app::AgentView;
use crate::app::timeline::{SLICES, TOP_LEVEL};

/// Columns between the title and the activity, and between the activity and the state.
const GAP: usize = 2;

/// Narrowest title that has it: below, it would stand in few titles of many.
const WIDE: u16 = 72;

/// Draws the activity of an agent at work beside the `right` columns of its state, if the `left` ones of its title
/// leave room. That of an ended one is over.
pub(super) fn draw(agent: &AgentView, left: usize, right: usize, row: Rect, ctx: &RenderContext<'_>, buf: &mut Buffer) {
    let begun = agent.started.is_some();
    let Some(track) = ctx.app.track(agent.id).filter(|track| begun && track.is_open()) else { return };
    if row.width < WIDE || left + GAP + SLICES + GAP + right > usize::from(row.width) {
        return;
    }
    let Some(activity) = track.activity(ctx.app.now()) else { return };
    let levels = ctx.glyphs.levels;
    let sign = |level: u8| {
        let highest = levels.len() - 1;
        levels.get((usize::from(level) * highest).div_ceil(usize::from(TOP_LEVEL))).copied().unwrap_or(" ")
    };
    let text: String = activity.into_iter().map(sign).collect();
    let columns = u16::try_from(right + GAP + SLICES).unwrap_or(row.width);
    buf.set_string(row.right().saturating_sub(columns), row.y, text, ctx.theme.faint);
}
