//! What fills the context of an agent, part by part as bars, and how full those of the others are.
//!
//! Owns the columns. Leaves the parts and their words to `app`. Invariant: every row ends within the room; what is there
//! has a bar of at least one cell.

use ratatui::text::{Line, Span};

use super::super::render_context::RenderContext;
use super::super::wrap::{fit, fit_line, pad, pad_left, width, wrap_line};
use crate::app::{AgentView, ContextRow, context_rows, context_total};

/// Columns of the longest label: that of a report, with a name of usual length.
const LABEL: usize = 30;
/// Columns of the longest bar, and those from which on there are bars at all.
const BAR: usize = 32;
const BARS_FROM: u16 = 60;

pub(super) fn lines(agent: &AgentView, ctx: &RenderContext<'_>, columns: u16) -> Vec<Line<'static>> {
    let theme = ctx.theme;
    let Some(filled) = &agent.filled else {
        return vec![Line::styled("Nothing sent to the model yet.", theme.muted)];
    };
    let mut lines = wrap_line(&Line::styled(context_total(filled), theme.text), columns);
    lines.push(Line::default());
    let rows = context_rows(filled);
    let widest = rows.iter().map(|row| width(&fit(&row.label, LABEL))).max().unwrap_or(0);
    lines.extend(rows.iter().map(|row| line(row, widest, ctx, columns)));
    let others: Vec<Line<'static>> = std::iter::once(ctx.app.agents().main())
        .chain(ctx.app.agents().children())
        .filter(|other| other.id != agent.id)
        .filter_map(|other| Some((other, other.filled.as_ref()?)))
        .map(|(other, filled)| {
            let name = Span::styled(pad(&fit(&other.name, LABEL), widest), ctx.agent(other));
            let total = Span::styled(format!("  {}", context_total(filled)), theme.muted);
            fit_line(&Line::from(vec![name, total]), usize::from(columns))
        })
        .collect();
    if !others.is_empty() {
        lines.push(Line::default());
        lines.extend(others);
    }
    lines.push(Line::default());
    let hint = "/compact continues from a summary; /context N shows agent N.";
    lines.extend(wrap_line(&Line::styled(hint, theme.muted), columns));
    lines
}

fn line(row: &ContextRow, widest: usize, ctx: &RenderContext<'_>, columns: u16) -> Line<'static> {
    let theme = ctx.theme;
    // Room is no part of what is there.
    let style = if row.bytes.is_some() { theme.accent } else { theme.faint };
    let mut spans = vec![Span::styled(pad(&fit(&row.label, LABEL), widest), theme.text)];
    if columns >= BARS_FROM {
        let cells = usize::try_from(row.share).unwrap_or(0).saturating_mul(BAR).div_ceil(1_000).min(BAR);
        let bar = if row.bytes.is_some() { ctx.glyphs.block } else { ctx.glyphs.neutral };
        let bar = bar.repeat(if row.tokens == 0 { 0 } else { cells.max(1) });
        spans.push(Span::styled(format!("  {}", pad(&bar, BAR)), style));
    }
    spans.push(Span::styled(format!("  {}", pad_left(&row.percent(), 4)), theme.text));
    spans.push(Span::styled(format!("  {}", row.size()), theme.muted));
    fit_line(&Line::from(spans), usize::from(columns))
}
