//! The list of unmerged worktrees to be merged or discarded.
//!
//! Owns its rows and the line of its keys. Leaves what the keys do to `app`. Invariant: the size of what would be lost
//! stands on each row.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::super::render_context::RenderContext;
use super::super::wrap::{fit, fit_line, pad};
use super::list::draw_list;
use super::{centred, frame};
use crate::agent::KeptWorktree;
use crate::app::Drawn;
use crate::message::sanitize_line;

/// What the letters do.
const KEYS: &str = "enter shows the diff · m merges · d, twice, discards";

/// Draws the list.
pub(super) fn draw(chosen: usize, ctx: &RenderContext<'_>, screen: Rect, buf: &mut Buffer, drawn: &mut Drawn) {
    let kept = ctx.app.kept_worktrees();
    let rows = u16::try_from(kept.len()).unwrap_or(u16::MAX).saturating_add(3).clamp(4, 20);
    let area = centred(screen, 96, rows.min(screen.height.saturating_sub(2).max(4)));
    let inner = frame("unmerged worktrees", area, ctx, buf);
    let columns = usize::from(inner.width);
    let keys = Line::styled(fit(KEYS, columns), ctx.theme.muted);
    buf.set_line(inner.x, inner.y, &keys, inner.width);
    let list = Rect { y: inner.y + 1, height: inner.height.saturating_sub(1), ..inner };
    let lines: Vec<Line<'static>> = kept.iter().map(|one| fit_line(&row(one, columns, ctx), columns)).collect();
    drawn.list = draw_list(&lines, chosen, list, ctx, buf);
}

fn row(one: &KeptWorktree, columns: usize, ctx: &RenderContext<'_>) -> Line<'static> {
    let theme = ctx.theme;
    let number = one.agent.map_or_else(|| "-".to_owned(), |agent| agent.to_string());
    let name = if columns >= 60 { 20 } else { 12 };
    Line::from(vec![
        Span::styled(format!("{number:>3} "), theme.muted),
        Span::styled(pad(&sanitize_line(&one.name), name), theme.accent),
        Span::styled(format!(" {} ", pad(&one.size(), 24)), theme.text),
        Span::styled(pad(&one.age_secs.map(age).unwrap_or_default(), 9), theme.muted),
        Span::styled(sanitize_line(&one.branch).into_owned(), theme.faint),
    ])
}

/// Says how long ago something was.
fn age(seconds: u64) -> String {
    match seconds {
        ..60 => "just now".to_owned(),
        60..3_600 => format!("{} min", seconds / 60),
        3_600..86_400 => format!("{} h", seconds / 3_600),
        _ => format!("{} d", seconds / 86_400),
    }
}
