//! The form of an agent's questions: options to choose from, a line for words of one's own, and a preview.
//!
//! Leaves what is chosen to `app`. Invariants: text of the model is shown with everything hidden in it revealed; what was
//! not shown is not noted as shown, and only what was can be taken.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};

use super::super::render_context::{RenderContext, put_lines};
use super::super::wrap::{fit, indented, width, wrap_line};
use super::{centred, draw_place, frame, type_line};
use crate::app::keymap::Context;
use crate::app::{Action, Drawn, FormQuestion, QuestionForm};
use crate::message::{reveal, reveal_line};

/// Narrowest form with the preview beside the options.
const BESIDE: u16 = 76;
/// Rows of a preview below the options.
const PREVIEW_ROWS: usize = 8;
const OTHER: &str = "in your own words: ";

pub(super) fn draw(
    form: &QuestionForm,
    ctx: &RenderContext<'_>,
    buf: &mut Buffer,
    drawn: &mut Drawn,
) -> Option<Position> {
    let (one, place, count) = form.shown()?;
    let screen = ctx.app.size();
    let columns = screen.width.min(110);
    let inside = columns.saturating_sub(4).max(1);
    let has_previews = one.asked.options.iter().any(|option| option.preview.is_some());
    let is_beside = has_previews && inside >= BESIDE;
    let left = if is_beside { inside * 2 / 5 } else { inside };
    let head = wrap_line(&Line::styled(reveal_line(&one.asked.question).into_owned(), ctx.theme.title), inside);
    let rows = option_rows(one, left, ctx);
    let preview = preview_rows(one, if is_beside { inside - left - 3 } else { inside }, ctx);
    let list_rows: usize = rows.iter().map(|option| option.lines.len()).sum();
    let body = if is_beside { list_rows.max(most_preview(one).min(18)) } else { list_rows };
    let below = if has_previews && !is_beside { PREVIEW_ROWS + 1 } else { 0 };
    let lines = head.len() + 1 + body + below + 2;
    let wanted = lines + 2;
    let rows_of_box = u16::try_from(wanted).unwrap_or(u16::MAX).min(screen.height.saturating_sub(2).max(3));
    let area = centred(ctx, columns, rows_of_box);
    let header = if one.asked.header.trim().is_empty() { "question" } else { one.asked.header.trim() };
    let of = if count > 1 { format!(" · {place} of {count}") } else { String::new() };
    let inner = frame(&format!("{}{of}", reveal_line(header)), area, ctx, buf);
    let keys = Rect { y: inner.bottom().saturating_sub(1), height: inner.height.min(1), ..inner };
    // Where not all of it fits, no row is left blank.
    let blank = u16::from(lines <= usize::from(inner.height));
    let above = Rect { height: inner.height.saturating_sub(2), ..inner };
    let is_whole = head.len() <= usize::from(above.height);
    let rest = put_lines(&head, above, buf);
    let top = rest.y + blank;
    let rest = Rect { y: top, height: keys.y.saturating_sub(blank).saturating_sub(top), ..rest };
    let list = Rect { width: left.min(rest.width), ..rest };
    let (first, cursor) = draw_options(one, &rows, (list, is_whole), ctx, buf, drawn);
    let hidden_above = rows[..first].iter().map(|option| option.lines.len()).sum();
    draw_place(hidden_above, usize::from(list.height), list_rows, area, ctx, buf);
    if is_beside {
        let x = rest.x + left + 1;
        for y in rest.y..rest.bottom() {
            buf.set_string(x, y, ctx.glyphs.frame[5], ctx.theme.border);
        }
        put_lines(&preview, Rect { x: x + 2, width: rest.width.saturating_sub(left + 3), ..rest }, buf);
    } else if has_previews {
        let top = rest.y + u16::try_from(list_rows + 1).unwrap_or(u16::MAX).min(rest.height);
        put_lines(&preview, Rect { y: top, height: rest.bottom().saturating_sub(top), ..rest }, buf);
    }
    let spans = ctx.hints(&hints(one, count, ctx), usize::from(keys.width));
    buf.set_line(keys.x, keys.y, &Line::from(spans), keys.width);
    cursor
}

/// The rows of an option.
struct OptionRows {
    lines: Vec<Line<'static>>,
    /// How many of them are its label.
    label: usize,
}

/// Returns the rows of each option, the one for the user's own words last.
fn option_rows(one: &FormQuestion, columns: u16, ctx: &RenderContext<'_>) -> Vec<OptionRows> {
    let theme = ctx.theme;
    let room = columns.saturating_sub(6).max(1);
    let sign = |is_picked: bool| if is_picked { ctx.glyphs.done_box } else { ctx.glyphs.open_box };
    let mark = |at: usize| if at == one.row { ctx.glyphs.prompt } else { " " };
    let option = |at: usize| {
        let option = &one.asked.options[at];
        let style = if at == one.row { theme.accent } else { theme.text };
        let label = Line::styled(reveal_line(&option.label).into_owned(), style);
        let mut lines: Vec<Line> = wrap_line(&label, room).into_iter().map(|line| indented(line, 4)).collect();
        let label = lines.len();
        if let Some(line) = lines.first_mut() {
            line.spans[0] = Span::styled(format!("{} ", mark(at)), theme.accent);
            line.spans.insert(1, Span::styled(format!("{} ", sign(one.picked.contains(&at))), theme.muted));
        }
        if !option.description.trim().is_empty() {
            let words = Line::styled(reveal_line(&option.description).into_owned(), theme.muted);
            lines.extend(wrap_line(&words, room).into_iter().map(|line| indented(line, 4)));
        }
        OptionRows { lines, label }
    };
    let count = one.asked.options.len();
    let other = one.other.text();
    let style = if one.is_on_other() { theme.accent } else { theme.text };
    let is_used = !other.trim().is_empty() && (one.asked.multi_select || one.picked.is_empty());
    let last = Line::from(vec![
        Span::styled(format!("{} ", mark(count)), theme.accent),
        Span::styled(format!("{} ", sign(is_used)), theme.muted),
        Span::styled(fit(&format!("{OTHER}{other}"), usize::from(room)), style),
    ]);
    (0..count).map(option).chain([OptionRows { lines: vec![last], label: 1 }]).collect()
}

/// Draws the options, and notes where each stands, for the mouse. Where they do not fit, the selected one is among those
/// that are shown. What does not stand there with its whole label, below the whole question, has no place and is not taken.
/// Returns the first that is shown, and the cursor while words are written.
fn draw_options(
    one: &FormQuestion,
    rows: &[OptionRows],
    (area, is_whole): (Rect, bool),
    ctx: &RenderContext<'_>,
    buf: &mut Buffer,
    drawn: &mut Drawn,
) -> (usize, Option<Position>) {
    let height = usize::from(area.height);
    let selected = one.row.min(rows.len().saturating_sub(1));
    let fits = |from: &usize| rows[*from..=selected].iter().map(|option| option.lines.len()).sum::<usize>() <= height;
    let first = (0..=selected).find(fits).unwrap_or(selected);
    let mut y = area.y;
    let mut cursor = None;
    for (at, option) in rows.iter().enumerate().skip(first) {
        let left = area.bottom().saturating_sub(y);
        let shown = u16::try_from(option.lines.len()).unwrap_or(u16::MAX).min(left);
        if shown == 0 {
            break;
        }
        let place = Rect { y, height: shown, ..area };
        put_lines(&option.lines, place, buf);
        if is_whole && option.label <= usize::from(shown) {
            drawn.list.push((place, at));
        }
        if at == rows.len() - 1 && one.is_on_other() {
            let x = u16::try_from(width(OTHER)).unwrap_or(0) + 4;
            let line = Rect { x: area.x + x, y, width: area.width.saturating_sub(x), height: 1 };
            cursor = Some(type_line(&one.other, line, ctx, buf));
        }
        y += shown;
    }
    (first, cursor)
}

/// Returns the preview of the selected option.
fn preview_rows(one: &FormQuestion, columns: u16, ctx: &RenderContext<'_>) -> Vec<Line<'static>> {
    let text = one.asked.options.get(one.row).and_then(|option| option.preview.as_deref()).unwrap_or_default();
    let text = reveal(text).into_owned();
    let lines = text.lines().map(|line| fit(&line.replace('\t', "    "), usize::from(columns)));
    lines.map(|line| Line::styled(line, ctx.theme.text)).collect()
}

fn most_preview(one: &FormQuestion) -> usize {
    let previews = one.asked.options.iter().filter_map(|option| option.preview.as_ref());
    previews.map(|text| text.lines().count()).max().unwrap_or(0)
}

fn hints(one: &FormQuestion, count: usize, ctx: &RenderContext<'_>) -> Vec<(String, &'static str)> {
    let accept = if one.asked.multi_select { "answer" } else { "choose" };
    let wanted = [
        (Action::Accept, accept, true),
        (Action::Toggle, "check", one.asked.multi_select && !one.is_on_other()),
        (Action::NextQuestion, "next question", count > 1),
        (Action::PreviousQuestion, "previous", count > 1),
        (Action::Leave, "later", true),
    ];
    let keymap = ctx.app.keymap();
    let chord = |action| keymap.chord_of(Context::Questions, action);
    wanted.into_iter().filter(|(.., fits)| *fits).filter_map(|(action, word, _)| Some((chord(action)?, word))).collect()
}
