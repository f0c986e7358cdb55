//! The rows of the list of agents.
//!
//! Owns their columns. Leaves which rows there are to `app`. Invariants: only visible rows are laid out; what is wrong
//! with an agent is a sign or a word, never a colour alone.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use unicode_segmentation::UnicodeSegmentation as _;

use super::super::render_context::RenderContext;
use super::super::wrap::{fit, fit_line, pad};
use super::folder_of;
use crate::app::agent_files::{AgentFileRow, AgentFilesView};
use crate::definition::{AgentDefinition, DefinitionState, Listed, Tier, ToolsField};
use crate::message::{canonical_name, sanitize_line};

/// Columns from which the tools are named and not counted.
const NAMED_TOOLS: usize = 110;
/// Columns up to which a shadowed agent says who shadows it and no more.
const NARROW: usize = 66;
/// Columns of the sign before a name, and of the one behind it.
const SIGN: usize = 2;

pub(super) fn draw(view: &AgentFilesView, from: usize, ctx: &RenderContext<'_>, area: Rect, buf: &mut Buffer) {
    let columns = usize::from(area.width);
    let listing = ctx.app.listing();
    for ((place, row), y) in view.rows().iter().enumerate().skip(from).zip(area.y..area.bottom()) {
        let line = match row {
            AgentFileRow::Tier(tier) => heading(*tier, ctx),
            AgentFileRow::Vacant(tier) => vacant(*tier, ctx),
            AgentFileRow::Agent { index, matched } => match listing.get(*index) {
                Some(listed) => agent(listed, matched, columns, ctx),
                None => Line::default(),
            },
        };
        buf.set_line(area.x, y, &fit_line(&line, columns), area.width);
        if place == view.chosen_row() && matches!(row, AgentFileRow::Agent { .. }) {
            buf.set_style(Rect { y, height: 1, ..area }, ctx.theme.selected_row);
        }
    }
    if view.rows().is_empty() {
        buf.set_stringn(area.x, area.y, "no agent matches", columns, ctx.theme.faint);
    }
}

fn heading(tier: Tier, ctx: &RenderContext<'_>) -> Line<'static> {
    let mut spans = vec![Span::styled(tier.label(), ctx.theme.heading)];
    let folder = folder_of(tier, ctx);
    if !folder.is_empty() {
        spans.push(Span::styled(format!("  {folder}"), ctx.theme.muted));
    }
    Line::from(spans)
}

fn vacant(tier: Tier, ctx: &RenderContext<'_>) -> Line<'static> {
    let folder = folder_of(tier, ctx);
    let place = if folder.is_empty() { "  none".to_owned() } else { format!("  none yet in {folder}") };
    Line::from(vec![Span::styled(tier.label(), ctx.theme.muted), Span::styled(place, ctx.theme.faint)])
}

fn agent(listed: &Listed, matched: &[u32], columns: usize, ctx: &RenderContext<'_>) -> Line<'static> {
    let theme = ctx.theme;
    let name = listed.name();
    let name = sanitize_line(&name);
    let name_columns = (columns / 4).clamp(16, 26);
    let Some(definition) = &listed.definition else {
        let reason = listed.diagnostics.first().map_or("", |error| error.message.as_str());
        let mut spans = vec![Span::styled(format!("{} ", ctx.glyphs.failed), theme.error)];
        spans.extend(highlighted(&name, matched, name_columns, theme.error, ctx));
        spans.push(Span::styled(format!("{}broken: {}", " ".repeat(SIGN + 1), sanitize_line(reason)), theme.error));
        return Line::from(spans);
    };
    let is_shadowed = matches!(listed.standing, DefinitionState::Shadowed { .. });
    let style = |style: Style| if is_shadowed { theme.faint } else { style };
    let color = theme.agent(definition.color.as_deref(), &definition.name);
    let mut spans = vec![Span::styled(format!("{} ", ctx.glyphs.agent), style(color))];
    spans.extend(highlighted(&name, matched, name_columns, style(theme.text), ctx));
    let sign = if listed.diagnostics.is_empty() { "" } else { ctx.glyphs.attention };
    spans.push(Span::styled(format!(" {}", pad(sign, SIGN)), theme.warning));
    let model_columns = (columns / 10).clamp(7, 16);
    let tools_columns = if columns >= NAMED_TOOLS { columns / 5 } else { 9 };
    let about = about(listed, definition);
    if is_shadowed && columns < NARROW {
        spans.push(Span::styled(about, theme.faint));
        return Line::from(spans);
    }
    let used = SIGN + name_columns + 1 + SIGN + 1 + model_columns + 1 + tools_columns;
    spans.push(Span::styled(pad(&about, columns.saturating_sub(used)), style(theme.muted)));
    let model = definition.model.as_deref().unwrap_or("inherit");
    spans.push(Span::styled(format!(" {}", pad(&sanitize_line(model), model_columns)), style(theme.muted)));
    spans.push(Span::styled(format!(" {}", fit(&tools(definition, columns), tools_columns)), style(theme.muted)));
    Line::from(spans)
}

/// Returns who shadows the agent, and the first line of its description.
fn about(listed: &Listed, definition: &AgentDefinition) -> String {
    let first = definition.description.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let first = sanitize_line(first.trim());
    match &listed.standing {
        DefinitionState::Shadowed { by } => format!("shadowed by {} · {first}", by.tier.label()),
        DefinitionState::InForce | DefinitionState::Broken => first.into_owned(),
    }
}

fn tools(definition: &AgentDefinition, columns: usize) -> String {
    match &definition.tools {
        ToolsField::All => "all tools".to_owned(),
        ToolsField::List(names) if names.is_empty() => "no tools".to_owned(),
        ToolsField::List(names) if columns >= NAMED_TOOLS => {
            let names: Vec<&str> = names.iter().map(|name| canonical_name(name)).collect();
            sanitize_line(&names.join(", ")).into_owned()
        }
        ToolsField::List(names) if names.len() == 1 => "1 tool".to_owned(),
        ToolsField::List(names) => format!("{} tools", names.len()),
    }
}

/// Returns a name in exactly so many columns, with what is sought in it standing out.
fn highlighted(
    name: &str,
    matched: &[u32],
    columns: usize,
    style: Style,
    ctx: &RenderContext<'_>,
) -> Vec<Span<'static>> {
    let text = pad(name, columns);
    if matched.is_empty() {
        return vec![Span::styled(text, style)];
    }
    let mut spans: Vec<Span<'static>> = Vec::new();
    for (at, grapheme) in text.graphemes(true).enumerate() {
        let is_match = u32::try_from(at).is_ok_and(|at| matched.binary_search(&at).is_ok());
        let wanted = if is_match { ctx.theme.accent } else { style };
        match spans.last_mut().filter(|span| span.style == wanted) {
            Some(span) => span.content.to_mut().push_str(grapheme),
            None => spans.push(Span::styled(grapheme.to_owned(), wanted)),
        }
    }
    spans
}
