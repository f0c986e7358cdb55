//! Tokens and cost of every agent, for itself and with all below it, and the budget.
//!
//! Owns the columns and which of them give way. Leaves the sums and the words to `app` and `money`. Invariant: every row
//! ends within the room, and the sum stands above the agents, so that it is seen first.

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::super::money;
use super::super::render_context::{RenderContext, used};
use super::super::wrap::{fit, fit_line, pad, pad_left, width, wrap_line};
use crate::app::{AgentView, cost_words, spent_words};
use crate::message::format::tokens;
use crate::message::{AgentId, Spent};

/// Columns from which on the kinds of tokens stand apart.
const ALL_FROM: u16 = 76;
const EXACT_FROM: u16 = 92;
/// Columns from which on what an agent's subagents used is added up.
const BELOW_FROM: u16 = 52;
const NAME: usize = 26;

struct Row {
    name: String,
    cells: Vec<String>,
    style: Style,
}

pub(super) fn lines(ctx: &RenderContext<'_>, columns: u16) -> Vec<Line<'static>> {
    let agents = ctx.app.agents();
    let theme = ctx.theme;
    let all = agents.spent();
    let before = agents.spent_before();
    let mut lines = budget(ctx, &all, columns);
    if all.is_nothing() && before.is_nothing() {
        lines.push(Line::styled("Nothing spent yet.", theme.muted));
        return lines;
    }
    let mut rows = vec![head(ctx, columns), row("all agents", &all, None, columns, theme.text)];
    if !before.is_nothing() {
        rows.push(row("before /clear", &before, None, columns, theme.muted));
    }
    for agent in std::iter::once(agents.main()).chain(agents.children()) {
        let below = agents.spent_below(agent.id);
        let below = (below != agent.spent).then_some(below);
        rows.push(row(&name(agent, ctx), &agent.spent, below.as_ref(), columns, ctx.agent(agent)));
    }
    lines.extend(laid(&rows, usize::from(columns), ctx));
    let estimated = "~ marks an estimate: the service did not count the tokens of every request.";
    let unpriced = "The price of a model that is marked as unknown is not in the program's list; its tokens are counted, \
                    its cost is not.";
    let unknown = "≥ marks a sum without what another agent program used and did not say; no budget counts that.";
    for (is_so, words) in [(all.usage.estimated, estimated), (all.unpriced > 0, unpriced), (all.usage.unknown, unknown)]
    {
        if is_so {
            lines.push(Line::default());
            lines.extend(wrap_line(&Line::styled(words, theme.muted), columns));
        }
    }
    lines
}

fn name(agent: &AgentView, ctx: &RenderContext<'_>) -> String {
    let agents = ctx.app.agents();
    let above = std::iter::successors(agent.parent, |id| agents.get(*id).and_then(|agent| agent.parent));
    // A cycle cannot come from the engine, but events may be anything.
    let depth = if agent.id == AgentId::MAIN { 0 } else { above.take(8).count().max(1) };
    fit(&format!("{}{}", "  ".repeat(depth), agent.name), NAME)
}

fn head(ctx: &RenderContext<'_>, columns: u16) -> Row {
    let mut cells = vec!["tokens".to_owned(), "cost".to_owned()];
    if columns >= ALL_FROM {
        cells.splice(0..0, ["in", "out", "cached"].map(str::to_owned));
    }
    if columns >= BELOW_FROM {
        cells.extend(["subtree".to_owned(), "its cost".to_owned()]);
    }
    Row { name: String::new(), cells, style: ctx.theme.muted }
}

fn row(name: &str, spent: &Spent, below: Option<&Spent>, columns: u16, style: Style) -> Row {
    let usage = &spent.usage;
    let count = |count: u64| match count {
        _ if spent.is_nothing() || usage.is_unknown() => String::new(),
        count => format!("{}{}", usage.mark(), tokens(count)),
    };
    let total = if spent.is_nothing() { String::new() } else { used(usage) };
    let cost = |spent: &Spent| if columns >= EXACT_FROM { cost_words(spent) } else { money::short(spent) };
    let mut cells = vec![total, cost(spent)];
    if columns >= ALL_FROM {
        cells.splice(0..0, [usage.input + usage.cache_write, usage.output, usage.cache_read].map(count));
    }
    if columns >= BELOW_FROM {
        cells.push(below.map(|below| used(&below.usage)).unwrap_or_default());
        cells.push(below.map(cost).unwrap_or_default());
    }
    Row { name: name.to_owned(), cells, style }
}

/// Lays rows out: names to the left, figures to the right of their columns.
fn laid(rows: &[Row], columns: usize, ctx: &RenderContext<'_>) -> Vec<Line<'static>> {
    let first = rows.iter().map(|row| width(&row.name)).max().unwrap_or(0);
    let widths: Vec<usize> = (0..rows.first().map_or(0, |row| row.cells.len()))
        .map(|at| rows.iter().filter_map(|row| row.cells.get(at)).map(|cell| width(cell)).max().unwrap_or(0))
        .collect();
    let lines = rows.iter().map(|row| {
        let figure = if row.name.is_empty() { ctx.theme.muted } else { ctx.theme.text };
        let mut spans = vec![Span::styled(pad(&row.name, first), row.style)];
        let cells = row.cells.iter().zip(&widths);
        spans.extend(cells.map(|(cell, columns)| Span::styled(format!("  {}", pad_left(cell, *columns)), figure)));
        fit_line(&Line::from(spans), columns)
    });
    lines.collect()
}

fn budget(ctx: &RenderContext<'_>, spent: &Spent, columns: u16) -> Vec<Line<'static>> {
    let limit = ctx.app.agents().budget();
    let line = match money::left(limit, spent, ctx) {
        None => Line::styled("No budget; set one with /budget 500k or /budget $2.", ctx.theme.muted),
        Some((left, style)) => Line::from(vec![
            Span::styled("budget  ", ctx.theme.muted),
            Span::styled(spent_words(limit, spent, 4), ctx.theme.text),
            Span::styled(format!("  {left}"), style),
        ]),
    };
    let mut lines = wrap_line(&line, columns);
    lines.push(Line::default());
    lines
}
