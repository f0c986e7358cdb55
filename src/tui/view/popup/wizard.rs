//! The box of the wizard that makes a new agent.
//!
//! Owns its rows: where the user is, what is asked, the answer, what is wrong, and the keys. Leaves what can be answered
//! to `app::wizard`. Invariant: the keys and the fault are on screen at every size that the program supports.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::super::render_context::{RenderContext, put_lines};
use super::super::wrap::{fit_line, pad, tail, width, wrap_line};
use super::list::draw_list;
use super::{centred, frame, type_line};
use crate::app::Drawn;
use crate::app::wizard::{ModelRow, ToolChoice, ToolRow, WIZARD_COLUMNS, Wizard, WizardStep, model_rows};
use crate::definition::{AgentDraft, HomeState, Tier};
use crate::message::format::{clock, counted};
use crate::message::{sanitize, sanitize_line};

/// The most rows of the box, and those it has while the model works, whose pane is to be seen.
const ROWS: u16 = 22;
const WAITING_ROWS: u16 = 8;

/// Draws the wizard and returns its cursor, where something is typed.
pub(super) fn draw(ctx: &RenderContext<'_>, buf: &mut Buffer, drawn: &mut Drawn) -> Option<Position> {
    let wizard = ctx.app.wizard();
    // What stands behind is not clicked on.
    drawn.list.clear();
    let rows = if wizard.step() == WizardStep::Drafting { WAITING_ROWS } else { ROWS };
    let area = centred(ctx, WIZARD_COLUMNS, rows.min(ctx.app.size().height.saturating_sub(1).max(3)));
    let inner = frame("new agent", area, ctx, buf);
    let mut body = head(wizard, inner, ctx, buf);
    let hints = Line::from(ctx.hints(&ctx.app.wizard_hints(), usize::from(inner.width)));
    if body.height > 0 {
        body.height -= 1;
        buf.set_line(inner.x, body.bottom(), &hints, inner.width);
    }
    for line in notes(wizard, inner.width, ctx).iter().rev() {
        if body.height > 1 {
            body.height -= 1;
            buf.set_line(inner.x, body.bottom(), line, inner.width);
        }
    }
    answer(body, ctx, buf, drawn)
}

/// Draws where the user is and what is asked, and returns the room below.
fn head(wizard: &Wizard, inner: Rect, ctx: &RenderContext<'_>, buf: &mut Buffer) -> Rect {
    let step = wizard.step();
    let place = Line::from(vec![
        Span::styled(format!("{} of {}", step.number(), WizardStep::COUNTED.len()), ctx.theme.muted),
        Span::styled(format!("  {}", step.title()), ctx.theme.heading),
    ]);
    let mut lines = vec![place];
    lines.extend(wrap_line(&Line::styled(step.question(), ctx.theme.text), inner.width));
    if inner.height > 12 {
        lines.push(Line::default());
    }
    put_lines(&lines, inner, buf)
}

/// Returns what the user has to know at this step, above the keys.
fn notes(wizard: &Wizard, columns: u16, ctx: &RenderContext<'_>) -> Vec<Line<'static>> {
    let mut notes: Vec<(String, Style)> = Vec::new();
    if wizard.step() == WizardStep::Name {
        // The name is checked while it is typed; an empty one is not wrong yet.
        let problem = wizard.problem(WizardStep::Name, ctx.app.listing()).filter(|_| !wizard.name().text().is_empty());
        match problem {
            Some(problem) => notes.push((problem, ctx.theme.error)),
            None => notes.extend(wizard.rivals(ctx.app.listing()).map(|rival| (rival, ctx.theme.warning))),
        }
    }
    if let Some(note) = wizard.note().filter(|note| notes.iter().all(|(known, _)| known != note)) {
        notes.push((note.to_owned(), ctx.theme.warning));
    }
    let rows = notes.iter().flat_map(|(text, style)| {
        wrap_line(&Line::styled(sanitize_line(text).into_owned(), *style), columns).into_iter().take(3)
    });
    rows.collect()
}

fn answer(area: Rect, ctx: &RenderContext<'_>, buf: &mut Buffer, drawn: &mut Drawn) -> Option<Position> {
    let wizard = ctx.app.wizard();
    if area.is_empty() {
        return None;
    }
    if let Some(text) = wizard.text() {
        return Some(super::super::composer::render_with(text, "", area, buf, ctx.theme));
    }
    match wizard.step() {
        WizardStep::How => list(&how(wizard, ctx), area, ctx, buf, drawn),
        WizardStep::Where => folders(wizard, area, ctx, buf, drawn),
        WizardStep::Name => return Some(name(wizard, area, ctx, buf)),
        WizardStep::Tools => list(&tools(wizard, ctx), area, ctx, buf, drawn),
        WizardStep::Model => return models(area, ctx, buf, drawn),
        WizardStep::Color => list(&colors(wizard, ctx), area, ctx, buf, drawn),
        WizardStep::Drafting => drafting(wizard, area, ctx, buf),
        WizardStep::Summary => summary(wizard, area, ctx, buf, drawn),
        WizardStep::Wish | WizardStep::Description | WizardStep::Prompt => {}
    }
    None
}

fn list(lines: &[Line<'static>], area: Rect, ctx: &RenderContext<'_>, buf: &mut Buffer, drawn: &mut Drawn) {
    let lines: Vec<Line<'static>> = lines.iter().map(|line| fit_line(line, usize::from(area.width))).collect();
    drawn.list = draw_list(&lines, ctx.app.wizard().chosen(), area, ctx, buf);
}

fn how(wizard: &Wizard, ctx: &RenderContext<'_>) -> Vec<Line<'static>> {
    let row = |row: &crate::app::wizard::HowRow| {
        let label = Span::styled(pad(row.label(), 26), ctx.theme.text);
        Line::from(vec![label, Span::styled(row.detail(), ctx.theme.muted)])
    };
    wizard.how_rows().iter().map(row).collect()
}

/// Draws the folders, each with its path below; where there is no room for that, the path of the chosen one alone.
fn folders(wizard: &Wizard, area: Rect, ctx: &RenderContext<'_>, buf: &mut Buffer, drawn: &mut Drawn) {
    let homes = wizard.homes();
    if homes.is_empty() {
        buf.set_stringn(area.x, area.y, "looking for agent folders", usize::from(area.width), ctx.theme.muted);
        return;
    }
    let columns = usize::from(area.width);
    let all = usize::from(area.height) >= homes.len() * 2;
    let mut y = area.y;
    for (at, home) in homes.iter().enumerate() {
        let what = match home.tier {
            Tier::ProjectClaude | Tier::UserClaude => "also seen by Claude Code",
            _ => "also seen by Kode",
        };
        let state = match home.state {
            HomeState::There => "exists",
            HomeState::Missing => "new folder",
        };
        let line = Line::from(vec![
            Span::styled(pad(home.tier.label(), 20), ctx.theme.text),
            Span::styled(pad(state, 14), ctx.theme.muted),
            Span::styled(what, ctx.theme.faint),
        ]);
        let path = sanitize_line(&home.path.display().to_string()).into_owned();
        let rows = if all || at == wizard.chosen() { 2 } else { 1 };
        if y + rows > area.bottom() {
            break;
        }
        buf.set_line(area.x, y, &fit_line(&line, columns), area.width);
        if rows == 2 {
            // The end of a path tells more than its beginning.
            let room = columns.saturating_sub(3);
            let shown = if width(&path) > room {
                format!("{}{}", ctx.glyphs.ellipsis, tail(&path, room.saturating_sub(1)))
            } else {
                path
            };
            buf.set_stringn(area.x + 2, y + 1, shown, room, ctx.theme.muted);
        }
        let place = Rect { y, height: rows, ..area };
        if at == wizard.chosen() {
            buf.set_style(place, ctx.theme.selected_row);
        }
        drawn.list.push((place, at));
        y += rows;
    }
}

fn name(wizard: &Wizard, area: Rect, ctx: &RenderContext<'_>, buf: &mut Buffer) -> Position {
    let cursor = type_line(wizard.name(), Rect { height: 1, ..area }, ctx, buf);
    let good = AgentDraft::check_name(wizard.name().text()).is_ok();
    if let Some(path) = wizard.path().filter(|_| good && area.height > 2) {
        let path = sanitize_line(&path.display().to_string()).into_owned();
        let shown = tail(&path, usize::from(area.width.saturating_sub(2))).to_owned();
        buf.set_stringn(area.x + 2, area.y + 2, shown, usize::from(area.width.saturating_sub(2)), ctx.theme.muted);
    }
    cursor
}

fn tools(wizard: &Wizard, ctx: &RenderContext<'_>) -> Vec<Line<'static>> {
    let theme = ctx.theme;
    let choice = wizard.tool_choice();
    let row = |row: ToolRow| match row {
        ToolRow::Preset(preset) => {
            let mark = if preset == choice { format!("({}) ", ctx.glyphs.bullet) } else { "( ) ".to_owned() };
            let (label, detail) = match preset {
                ToolChoice::All => ("all", "including tools added later"),
                ToolChoice::ReadOnly => ("read-only", "Read Grep Glob LS Symbols"),
                ToolChoice::Custom => ("custom", "only those checked below"),
            };
            Line::from(vec![
                Span::styled(mark, theme.accent),
                Span::styled(pad(label, 11), theme.text),
                Span::styled(detail, theme.muted),
            ])
        }
        ToolRow::Tool(group, tool) => {
            let mark = if wizard.has_tool(&tool) { ctx.glyphs.done_box } else { ctx.glyphs.open_box };
            Line::from(vec![
                Span::styled(format!("    {}", pad(group, 11)), theme.muted),
                Span::styled(format!("{mark} "), theme.accent),
                Span::styled(tool, theme.text),
            ])
        }
    };
    wizard.tool_rows().into_iter().map(row).collect()
}

fn models(area: Rect, ctx: &RenderContext<'_>, buf: &mut Buffer, drawn: &mut Drawn) -> Option<Position> {
    let wizard = ctx.app.wizard();
    let rows = model_rows();
    let typing = rows.get(wizard.chosen()) == Some(&ModelRow::Typed);
    let lines: Vec<Line<'static>> = rows
        .iter()
        .map(|row| match row {
            ModelRow::Inherit => Line::from(vec![
                Span::styled(pad("inherit", 12), ctx.theme.text),
                Span::styled("same as parent", ctx.theme.muted),
            ]),
            ModelRow::Alias(alias) => Line::styled(*alias, ctx.theme.text),
            ModelRow::Typed => Line::from(vec![
                Span::styled(pad("another:", 10), ctx.theme.muted),
                Span::styled(wizard.typed_model().text().to_owned(), ctx.theme.text),
            ]),
        })
        .collect();
    let place = Rect { height: area.height.saturating_sub(1), ..area };
    let area = if typing { place } else { area };
    list(&lines, area, ctx, buf, drawn);
    typing.then(|| type_line(wizard.typed_model(), Rect { y: area.bottom(), height: 1, ..area }, ctx, buf))
}

/// Returns the colours, each in its own, on the agent's name.
fn colors(wizard: &Wizard, ctx: &RenderContext<'_>) -> Vec<Line<'static>> {
    let name = wizard.name().text();
    let row = |color: Option<&str>| {
        let style = ctx.theme.agent(color, name);
        let sign = ctx.glyphs.agent;
        let mut spans = vec![
            Span::styled(pad(color.unwrap_or("automatic"), 12), ctx.theme.text),
            Span::styled(format!("{sign} {name}"), style),
        ];
        if color.is_none() {
            spans.push(Span::styled("  from its name", ctx.theme.muted));
        }
        Line::from(spans)
    };
    wizard.color_rows().into_iter().map(row).collect()
}

fn drafting(wizard: &Wizard, area: Rect, ctx: &RenderContext<'_>, buf: &mut Buffer) {
    let Some(drafting) = wizard.drafting() else { return };
    let time = clock(ctx.app.now().saturating_duration_since(drafting.since));
    let agent = drafting.agent.and_then(|id| ctx.app.agents().get(id));
    let (who, doing, tools) = match agent {
        Some(agent) => (agent.name.clone(), ctx.app.state_of(agent).word(), agent.tools),
        None => ("the model".to_owned(), "searching".to_owned(), 0),
    };
    let line = Line::from(vec![
        Span::styled(format!("{} ", ctx.spinner()), ctx.theme.accent),
        Span::styled(format!("{} ", sanitize_line(&who)), ctx.theme.text),
        Span::styled(format!("{}  ", sanitize_line(&doing)), ctx.theme.muted),
        Span::styled(format!("{}  {time}", counted(usize::try_from(tools).unwrap_or(0), "tool")), ctx.theme.muted),
    ]);
    buf.set_line(area.x, area.y, &fit_line(&line, usize::from(area.width)), area.width);
}

fn summary(wizard: &Wizard, area: Rect, ctx: &RenderContext<'_>, buf: &mut Buffer, drawn: &mut Drawn) {
    let path = wizard.path().map(|path| sanitize_line(&path.display().to_string()).into_owned()).unwrap_or_default();
    let room = usize::from(area.width);
    buf.set_stringn(area.x, area.y, tail(&path, room), room, ctx.theme.accent);
    let text = wizard.draft().to_text();
    let text = sanitize(&text);
    let lines = text.lines().flat_map(|line| wrap_line(&Line::styled(line.to_owned(), ctx.theme.text), area.width));
    let lines: Vec<Line<'static>> = lines.collect();
    let body = Rect { y: area.y + 1, height: area.height - 1, ..area };
    let end = lines.len().saturating_sub(usize::from(body.height));
    drawn.popup_end = end;
    let from = wizard.scroll().min(end);
    put_lines(lines.iter().skip(from), body, buf);
    if from < end {
        let more = format!(" {} more {} ", end - from, ctx.glyphs.down);
        let x = body.right().saturating_sub(u16::try_from(width(&more)).unwrap_or(0)).max(body.x);
        buf.set_string(x, body.bottom().saturating_sub(1), more, ctx.theme.chip);
    }
}
