//! What is drawn: the same however it streams, within its columns, and a change shows what changes.

use std::path::Path;
use std::sync::LazyLock;

use belvedere::message::{LineKind, sanitize};
use belvedere::tool::diff_files;
use belvedere::tui::view::diff::whole_diff;
use belvedere::tui::view::highlight::Highlighter;
use belvedere::tui::view::markdown::MarkdownDoc;
use belvedere::tui::view::theme::{ColorDepth, Theme};

use super::Choices;
use super::text::assert_harmless;

static THEME: LazyLock<Theme> = LazyLock::new(|| Theme::load("dark", ColorDepth::TrueColor).unwrap());

pub(super) fn views(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let columns = u16::try_from(choices.below(40)).unwrap() + 8;
    let cut = choices.below(256);
    let text = String::from_utf8_lossy(choices.rest());
    markdown(&text, columns, cut);
    let middle = text.floor_char_boundary(text.len() * cut / 256);
    let (old, new) = text.split_at(middle);
    change(old, new, columns);
}

fn markdown(text: &str, columns: u16, cut: usize) {
    let text = sanitize(text);
    let off = Highlighter::off();
    let (mut whole, mut streamed) = (MarkdownDoc::new(), MarkdownDoc::new());
    whole.set(&text);
    let (first, rest) = text.split_at(text.floor_char_boundary(text.len() * cut / 256));
    streamed.push(first);
    let _ = streamed.lines(columns, &THEME, &off);
    streamed.push(rest);
    let lines = whole.lines(columns, &THEME, &off);
    assert_eq!(streamed.lines(columns, &THEME, &off), lines, "it streams to what it is as a whole");
    for line in lines {
        assert!(line.width() <= usize::from(columns), "{line} is wider than {columns}");
        assert_harmless(&line.to_string(), &[]);
    }
}

/// Shows the change of one text to another, as a question does.
fn change(old: &str, new: &str, columns: u16) {
    let diff = diff_files(Path::new("/work/a.txt"), old, new);
    let lines = || diff.hunks.iter().flat_map(|hunk| &hunk.lines);
    let of = |kind: LineKind| lines().filter(|line| line.kind == kind).count();
    assert!(of(LineKind::Added) <= diff.added && of(LineKind::Removed) <= diff.removed);
    assert_eq!(diff.added + diff.removed, of(LineKind::Added) + of(LineKind::Removed) + diff.omitted);
    for row in whole_diff(&diff, columns, &THEME) {
        assert!(row.line.width() <= usize::from(columns), "{} is wider than {columns}", row.line);
        assert_harmless(&row.line.to_string(), &[]);
    }
    if old == new {
        assert!(lines().all(|line| line.kind == LineKind::Context), "nothing changes");
        return;
    }
    let texts = |kind: LineKind| lines().filter(move |line| line.kind == kind).map(|line| &line.text);
    let is_same = texts(LineKind::Removed).eq(texts(LineKind::Added));
    assert!(diff.omitted > 0 || !is_same, "{old:?} to {new:?} shows no difference");
}
