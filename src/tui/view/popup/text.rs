//! Texts of popups: the keys, a task, a question.
//!
//! Owns their lines. Leaves the box to the module above. Invariant: the keys come from the keymap, never from here.

use ratatui::text::{Line, Span};

use super::super::markdown::MarkdownDoc;
use super::super::render_context::RenderContext;
use super::super::wrap::{fit_line, pad, width, wrap_line};
use crate::app::keymap::Context;
use crate::message::sanitize_line;

/// Returns every key and what it does, by place: first where the user is, then what works anywhere, then the rest.
pub(super) fn help(ctx: &RenderContext<'_>, columns: u16) -> Vec<Line<'static>> {
    let theme = ctx.theme;
    let keymap = ctx.app.keymap();
    let mut lines = Vec::new();
    let here = ctx.app.context_behind_popup();
    let first = if here == Context::Global { vec![here] } else { vec![here, Context::Global] };
    let rest = Context::ALL.into_iter().filter(|context| !first.contains(context));
    for context in first.iter().copied().chain(rest) {
        let rows = keymap.help(context);
        if rows.is_empty() {
            continue;
        }
        if !lines.is_empty() {
            lines.push(Line::default());
        }
        lines.push(Line::styled(
            if context == here { format!("here: {}", context.title()) } else { context.title().to_owned() },
            theme.heading,
        ));
        // Keys that differ in a number only are one line.
        let numbered: Vec<_> = rows.iter().filter(|(_, action)| action.is_numbered()).collect();
        if let (Some((first, action)), Some((last, _))) = (numbered.first(), numbered.last()) {
            let of = |chords: &[String]| chords.first().cloned().unwrap_or_default();
            let chords = format!("{} {} {}", of(first), ctx.glyphs.ellipsis, of(last));
            lines.push(row(&chords, action.description(), columns, ctx));
        }
        for (chords, action) in rows {
            if !action.is_numbered() {
                lines.push(row(&ctx.chord(&chords.join("  ")), action.description_in(context), columns, ctx));
            }
        }
    }
    lines.push(Line::default());
    lines.push(Line::styled("commands", theme.heading));
    for command in crate::app::COMMANDS {
        lines.push(row(format!("/{} {}", command.name, command.arguments).trim_end(), command.help, columns, ctx));
    }
    lines
}

fn row(chords: &str, what: &str, columns: u16, ctx: &RenderContext<'_>) -> Line<'static> {
    let room = if columns >= 70 { 33 } else { 20 };
    let chords = if width(chords) >= room { format!("{chords}  ") } else { pad(chords, room) };
    let line = Line::from(vec![Span::styled(chords, ctx.theme.accent), Span::styled(what.to_owned(), ctx.theme.text)]);
    fit_line(&line, usize::from(columns))
}

pub(super) fn markdown(text: &str, ctx: &RenderContext<'_>, columns: u16) -> Vec<Line<'static>> {
    let mut doc = MarkdownDoc::new();
    doc.set(text);
    doc.lines(columns, ctx.theme, ctx.highlighter).to_vec()
}

/// Returns the question whether to delete an agent's file.
pub(super) fn delete(name: &str, path: &str, ctx: &RenderContext<'_>, columns: u16) -> Vec<Line<'static>> {
    let theme = ctx.theme;
    let key = |chord: &str, what: &str| {
        Line::from(vec![Span::styled(pad(chord, 6), theme.accent), Span::styled(what.to_owned(), theme.text)])
    };
    let question = format!("Delete the agent {} and its file?", sanitize_line(name));
    let mut lines = wrap_line(&Line::styled(question, theme.text), columns);
    lines.extend(wrap_line(&Line::styled(path.to_owned(), theme.warning), columns));
    lines.extend([Line::default(), key("y", "delete it permanently"), key("n", "keep it")]);
    lines
}
