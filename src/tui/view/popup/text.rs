//! Texts of popups: the keys, a task, a question.
//!
//! Owns their lines. Leaves the box to the module above. Invariant: the keys come from the keymap, never from here.

use ratatui::text::{Line, Span};

use super::super::markdown::MarkdownDoc;
use super::super::render_context::RenderContext;
use super::super::wrap::{pad, width, wrap_indented, wrap_line};
use crate::app::keymap::Context;
use crate::app::skill_words;
use crate::message::sanitize_line;
use crate::permission::FolderTrust;

/// Returns every key and what it does, by place: first where the user is, then what works anywhere, then the commands and
/// the rest; of them those that hold all words of `sought`.
pub(super) fn help(sought: &str, ctx: &RenderContext<'_>, columns: u16) -> Vec<Line<'static>> {
    let here = ctx.app.context_behind_popup();
    let first = if here == Context::Global { vec![here] } else { vec![here, Context::Global] };
    let rest = Context::ALL.into_iter().filter(|context| !first.contains(context));
    let commands = crate::app::COMMANDS.iter().map(|command| {
        (format!("/{} {}", command.name, command.arguments).trim_end().to_owned(), command.help.to_owned())
    });
    let mut sections: Vec<Section> = first.iter().map(|context| section(*context, here, ctx)).collect();
    sections.push(("commands".to_owned(), commands.collect()));
    let own = ctx.app.skills().callable().map(|skill| {
        let hint = skill.argument_hint.as_deref().unwrap_or_default();
        (sanitize_line(format!("/{} {hint}", skill.name).trim_end()).into_owned(), skill_words(skill))
    });
    sections.push(("your skills and commands".to_owned(), own.collect()));
    sections.extend(rest.map(|context| section(context, here, ctx)));
    let words: Vec<String> = sought.to_lowercase().split_whitespace().map(str::to_owned).collect();
    let mut lines = Vec::new();
    for (title, mut rows) in sections {
        rows.retain(|(chords, what)| {
            let text = format!("{title} {chords} {what}").to_lowercase();
            words.iter().all(|word| text.contains(word))
        });
        if rows.is_empty() {
            continue;
        }
        if !lines.is_empty() {
            lines.push(Line::default());
        }
        lines.push(Line::styled(title, ctx.theme.heading));
        lines.extend(rows.iter().flat_map(|(chords, what)| row(chords, what, columns, ctx)));
    }
    if lines.is_empty() {
        lines.push(Line::styled("no key or command matches", ctx.theme.faint));
    }
    lines
}

/// A title, and rows of chords and what they do.
type Section = (String, Vec<(String, String)>);

fn section(context: Context, here: Context, ctx: &RenderContext<'_>) -> Section {
    let rows = ctx.app.keymap().help(context);
    let title = if context == here { format!("here: {}", context.title()) } else { context.title().to_owned() };
    let mut lines = Vec::new();
    // Keys that differ in a number only are one line.
    let numbered: Vec<_> = rows.iter().filter(|(_, action)| action.is_numbered()).collect();
    if let (Some((first, action)), Some((last, _))) = (numbered.first(), numbered.last()) {
        let of = |chords: &[String]| chords.first().cloned().unwrap_or_default();
        let chords = format!("{} {} {}", of(first), ctx.glyphs.ellipsis, of(last));
        lines.push((chords, action.description().to_owned()));
    }
    for (chords, action) in rows.into_iter().filter(|(_, action)| !action.is_numbered()) {
        lines.push((ctx.chord(&chords.join("  ")), action.description_in(context).to_owned()));
    }
    (title, lines)
}

fn row(chords: &str, what: &str, columns: u16, ctx: &RenderContext<'_>) -> Vec<Line<'static>> {
    let room = if columns >= 70 { 33 } else { 20.min(usize::from(columns) / 2) };
    let chords = if width(chords) >= room { format!("{chords}  ") } else { pad(chords, room) };
    let what = Line::styled(what.to_owned(), ctx.theme.text);
    if width(&chords) > room {
        let line =
            Line::from(vec![Span::styled(chords, ctx.theme.accent), what.spans[0].clone().style(ctx.theme.text)]);
        return wrap_indented(&line, columns, &Line::default(), &Line::from(" ".repeat(room)));
    }
    let first = Line::from(Span::styled(chords, ctx.theme.accent));
    wrap_indented(&what, columns, &first, &Line::from(" ".repeat(room)))
}

pub(super) fn plain(text: &str, ctx: &RenderContext<'_>, columns: u16) -> Vec<Line<'static>> {
    text.lines().flat_map(|row| wrap_line(&Line::styled(row.to_owned(), ctx.theme.text), columns)).collect()
}

pub(super) fn markdown(text: &str, ctx: &RenderContext<'_>, columns: u16) -> Vec<Line<'static>> {
    let mut doc = MarkdownDoc::new();
    doc.set(text);
    doc.lines(columns, ctx.theme, ctx.highlighter).to_vec()
}

/// Returns the question whether to delete an agent's file.
/// Returns what the keys of the question about a folder do.
pub(super) fn trust_keys(trust: &FolderTrust, ctx: &RenderContext<'_>) -> Vec<Line<'static>> {
    if trust.is_trusted && trust.fresh.is_empty() {
        return vec![Line::default(), key("esc", "close (/trust no revokes it)", ctx)];
    }
    let no = if trust.is_trusted { "not now: use what you have trusted" } else { "not now: use none of it" };
    vec![Line::default(), key("y", "trust it: use all of this here", ctx), key("n", no, ctx)]
}

fn key(chord: &str, what: &str, ctx: &RenderContext<'_>) -> Line<'static> {
    Line::from(vec![Span::styled(pad(chord, 6), ctx.theme.accent), Span::styled(what.to_owned(), ctx.theme.text)])
}

pub(super) fn delete(name: &str, path: &str, ctx: &RenderContext<'_>, columns: u16) -> Vec<Line<'static>> {
    let theme = ctx.theme;
    let question = format!("Delete the agent {} and its file?", sanitize_line(name));
    let mut lines = wrap_line(&Line::styled(question, theme.text), columns);
    lines.extend(wrap_line(&Line::styled(path.to_owned(), theme.warning), columns));
    lines.extend([Line::default(), key("y", "delete it permanently", ctx), key("n", "keep it", ctx)]);
    lines
}
