//! Changes of files as lines.
//!
//! Owns line numbers, signs and the emphasis of what changed within a line. Leaves computing a change to the tools.
//! Invariant: a brief form has no more than the asked-for number of lines and counts what it leaves out; a whole one
//! leaves nothing out.

use ratatui::style::Style;
use ratatui::text::{Line, Span};
use similar::{ChangeTag, TextDiff};

use super::theme::Theme;
use super::wrap::{fit_line, head, spans_width, width};
use crate::app::diff_rows::{gutter_columns, number_columns, revealed, row_ends};
use crate::message::{DiffLine, FileDiff, LineKind};

/// Lines longer than this are compared as a whole: comparing word by word is quadratic.
const MAX_INLINE: usize = 2_000;

/// Returns a change in at most `max_lines` lines of at most `columns`, the last of which says how much is left out.
pub fn diff_lines(diff: &FileDiff, columns: u16, theme: &Theme, max_lines: usize) -> Vec<Line<'static>> {
    let columns = usize::from(columns);
    let digits = number_columns(diff);
    let separators = diff.hunks.len().saturating_sub(1);
    let total: usize = diff.hunks.iter().map(|hunk| hunk.lines.len()).sum::<usize>() + separators;
    // One line is kept for the count.
    let room = if total > max_lines || diff.omitted > 0 { max_lines.saturating_sub(1) } else { max_lines };
    let mut lines = Vec::new();
    let mut shown_changes = 0;
    for (at, hunk) in diff.hunks.iter().enumerate() {
        if at > 0 {
            // A separator with nothing after it says nothing.
            if lines.len() + 1 >= room {
                break;
            }
            lines.push(fit_line(&separator(digits, theme), columns));
        }
        let emphasis = pair_up(&hunk.lines);
        for (line, partner) in hunk.lines.iter().zip(emphasis) {
            if lines.len() >= room {
                break;
            }
            shown_changes += usize::from(line.kind != LineKind::Context);
            let drawn = filled(diff_line(line, partner, digits, theme), ground(line.kind, theme), columns);
            lines.push(fit_line(&drawn, columns));
        }
    }
    let changes: usize =
        diff.hunks.iter().flat_map(|hunk| &hunk.lines).filter(|line| line.kind != LineKind::Context).count();
    let left_out = changes - shown_changes + diff.omitted;
    if left_out > 0 && max_lines > 0 {
        lines.push(fit_line(&more(left_out, digits, theme), columns));
    }
    lines
}

#[derive(Debug, Clone, PartialEq)]
pub struct DiffRow {
    pub line: Line<'static>,
    /// Whether it is part of what changes; the others stand around it.
    pub changes: bool,
}

/// Returns a change with all of every line: one that is wider than `columns` goes on in further rows.
pub fn whole_diff(diff: &FileDiff, columns: u16, theme: &Theme) -> Vec<DiffRow> {
    let columns = usize::from(columns);
    let (digits, gutter) = (number_columns(diff), gutter_columns(diff, columns));
    let mut rows = Vec::new();
    for (at, hunk) in diff.hunks.iter().enumerate() {
        if at > 0 {
            rows.push(DiffRow { line: fit_line(&separator(digits, theme), columns), changes: false });
        }
        for (line, partner) in hunk.lines.iter().zip(pair_up(&hunk.lines)) {
            let drawn = diff_line(line, partner, digits, theme);
            let lines = wrapped(&drawn, ground(line.kind, theme), gutter, columns);
            let changes = line.kind != LineKind::Context;
            rows.extend(lines.into_iter().map(|line| DiffRow { line, changes }));
        }
    }
    if diff.omitted > 0 {
        rows.push(DiffRow { line: fit_line(&more(diff.omitted, digits, theme), columns), changes: true });
    }
    rows
}

/// Returns one line of a hunk in rows, of which only the first has its number and its sign.
fn wrapped(line: &Line<'static>, ground: Option<Style>, gutter: usize, columns: usize) -> Vec<Line<'static>> {
    let [number, sign, texts @ ..] = line.spans.as_slice() else { return Vec::new() };
    let room = gutter.min(width(&number.content));
    let blank = " ".repeat(gutter);
    let text: String = texts.iter().map(|span| &*span.content).collect();
    let mut rows = Vec::new();
    let mut from = 0;
    for end in row_ends(&text, columns.saturating_sub(gutter)) {
        let (before, beside) = if rows.is_empty() { (&*number.content, &*sign.content) } else { (&*blank, &*blank) };
        let mut spans = vec![
            Span::styled(head(before, room).to_owned(), number.style),
            Span::styled(head(beside, gutter - room).to_owned(), sign.style),
        ];
        spans.extend(cut_out(texts, from, end));
        rows.push(filled(Line::from(spans), ground, columns));
        from = end;
    }
    rows
}

/// Returns what stands between two places of the joined texts.
fn cut_out(texts: &[Span<'static>], from: usize, end: usize) -> Vec<Span<'static>> {
    let mut start = 0;
    let mut spans = Vec::new();
    for span in texts {
        let (low, high) = (from.max(start), end.min(start + span.content.len()));
        if low < high {
            spans.push(Span::styled(span.content[low - start..high - start].to_owned(), span.style));
        }
        start += span.content.len();
    }
    spans
}

fn separator(digits: usize, theme: &Theme) -> Line<'static> {
    Line::styled(format!("{:>digits$} {}", "", theme.glyphs.ellipsis), theme.faint)
}

/// Returns the line that says how much is left out.
fn more(left_out: usize, digits: usize, theme: &Theme) -> Line<'static> {
    let noun = if left_out == 1 { "line" } else { "lines" };
    Line::styled(format!("{:>digits$} {} {left_out} more changed {noun}", "", theme.glyphs.ellipsis), theme.faint)
}

/// Finds for each line the one it replaces or is replaced by: the n-th removed line of a run belongs to the n-th
/// added line of the run that follows.
fn pair_up(lines: &[DiffLine]) -> Vec<Option<&DiffLine>> {
    let mut partners: Vec<Option<&DiffLine>> = vec![None; lines.len()];
    let mut at = 0;
    while at < lines.len() {
        let run = |from: usize, kind: LineKind| lines[from..].iter().take_while(|line| line.kind == kind).count();
        let removed = run(at, LineKind::Removed);
        let added = run(at + removed, LineKind::Added);
        for offset in 0..removed.min(added) {
            let (old, new) = (at + offset, at + removed + offset);
            partners[old] = Some(&lines[new]);
            partners[new] = Some(&lines[old]);
        }
        at += (removed + added).max(1);
    }
    partners
}

/// Returns one line of a hunk: its number, its sign, and its text.
fn diff_line(line: &DiffLine, partner: Option<&DiffLine>, digits: usize, theme: &Theme) -> Line<'static> {
    let sign = line.kind.sign();
    let (style, emphasis) = match line.kind {
        LineKind::Context => (theme.muted, theme.muted),
        LineKind::Added => (theme.diff_added, theme.diff_added_word),
        LineKind::Removed => (theme.diff_removed, theme.diff_removed_word),
    };
    let mut spans =
        vec![Span::styled(format!("{:>digits$} ", line.number), theme.faint), Span::styled(format!("{sign} "), style)];
    match partner {
        Some(partner) => {
            let [text, other] = told_apart(&line.text, &partner.text, theme);
            spans.extend(emphasised(&text, &other, style, emphasis));
        }
        None => spans.push(Span::styled(revealed(&line.text), style)),
    }
    Line::from(spans)
}

/// Returns two lines as they are shown. Where they differ in nothing but tabs and the spaces that those look like, a tab
/// has a sign, which takes the same room.
fn told_apart(line: &str, other: &str, theme: &Theme) -> [String; 2] {
    let plain = [line, other].map(revealed);
    let blank = revealed("\t");
    if line == other || plain[0] != plain[1] {
        return plain;
    }
    let tab = format!("{}{}", theme.glyphs.right, &blank[1..]);
    [line, other].map(|text| revealed(&text.replace('\t', &tab)))
}

/// Returns the ground of a changed line, which reaches the edge.
fn ground(kind: LineKind, theme: &Theme) -> Option<Style> {
    match kind {
        LineKind::Context => None,
        LineKind::Added => Some(theme.diff_added),
        LineKind::Removed => Some(theme.diff_removed),
    }
}

/// Returns the line filled up with its ground, if it has one.
fn filled(mut line: Line<'static>, ground: Option<Style>, columns: usize) -> Line<'static> {
    if let Some(style) = ground {
        line.spans.push(Span::styled(" ".repeat(columns.saturating_sub(spans_width(&line.spans))), style));
    }
    line
}

/// Returns the text with the words emphasised that its partner does not have. Lines that share little are not worth
/// it and stay as they are.
fn emphasised(text: &str, partner: &str, style: Style, emphasis: Style) -> Vec<Span<'static>> {
    if text.len().max(partner.len()) > MAX_INLINE {
        return vec![Span::styled(text.to_owned(), style)];
    }
    let diff = TextDiff::from_unicode_words(text, partner);
    if diff.ratio() < 0.4 {
        return vec![Span::styled(text.to_owned(), style)];
    }
    diff.iter_all_changes()
        .filter(|change| change.tag() != ChangeTag::Insert)
        .map(|change| {
            let style = if change.tag() == ChangeTag::Delete { emphasis } else { style };
            Span::styled(change.value().to_string(), style)
        })
        .collect()
}
