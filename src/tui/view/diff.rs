//! Changes of files as lines.
//!
//! Owns line numbers, signs and the emphasis of what changed within a line. Leaves computing a change to the tools.
//! Invariant: no more than the asked-for number of lines is returned, and what was left out is counted.

use ratatui::style::Style;
use ratatui::text::{Line, Span};
use similar::{ChangeTag, TextDiff};

use super::theme::Theme;
use super::wrap::{fit_line, width};
use crate::message::{DiffLine, FileDiff, LineKind, bare_line};

/// Lines longer than this are compared as a whole: comparing word by word is quadratic.
const MAX_INLINE: usize = 2_000;

/// Returns a change in at most `max_lines` lines of at most `columns`, the last of which says how much is left out.
#[must_use]
pub fn diff_lines(diff: &FileDiff, columns: u16, theme: &Theme, max_lines: usize) -> Vec<Line<'static>> {
    let columns = usize::from(columns);
    let largest = diff.hunks.iter().flat_map(|hunk| &hunk.lines).map(|line| line.number).max().unwrap_or(0);
    let digits = largest.max(1).ilog10() as usize + 1;
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
            lines.push(fit_line(
                &Line::styled(format!("{:>digits$} {}", "", theme.glyphs.ellipsis), theme.faint),
                columns,
            ));
        }
        let emphasis = pair_up(&hunk.lines);
        for (line, partner) in hunk.lines.iter().zip(emphasis) {
            if lines.len() >= room {
                break;
            }
            shown_changes += usize::from(line.kind != LineKind::Context);
            lines.push(fit_line(&diff_line(line, partner, digits, columns, theme), columns));
        }
    }
    let changes: usize =
        diff.hunks.iter().flat_map(|hunk| &hunk.lines).filter(|line| line.kind != LineKind::Context).count();
    let left_out = changes - shown_changes + diff.omitted;
    if left_out > 0 && max_lines > 0 {
        let noun = if left_out == 1 { "line" } else { "lines" };
        let text = format!("{:>digits$} {} {left_out} more changed {noun}", "", theme.glyphs.ellipsis);
        lines.push(fit_line(&Line::styled(text, theme.faint), columns));
    }
    lines
}

/// Finds for each line the one it replaces or is replaced by: the n-th removed line of a run belongs to the n-th
/// added line of the run that follows.
fn pair_up(lines: &[DiffLine]) -> Vec<Option<&str>> {
    let mut partners: Vec<Option<&str>> = vec![None; lines.len()];
    let mut at = 0;
    while at < lines.len() {
        let run = |from: usize, kind: LineKind| lines[from..].iter().take_while(|line| line.kind == kind).count();
        let removed = run(at, LineKind::Removed);
        let added = run(at + removed, LineKind::Added);
        for offset in 0..removed.min(added) {
            let (old, new) = (at + offset, at + removed + offset);
            partners[old] = Some(&lines[new].text);
            partners[new] = Some(&lines[old].text);
        }
        at += (removed + added).max(1);
    }
    partners
}

/// Returns a line of a file with a sign for all that would not be seen: the file gets all of it.
fn laid_bare(line: &str) -> String {
    bare_line(&line.trim_end_matches(['\n', '\r']).replace('\t', "    ")).into_owned()
}

/// Returns one line of a hunk, filled up so that its ground reaches the edge.
fn diff_line(line: &DiffLine, partner: Option<&str>, digits: usize, columns: usize, theme: &Theme) -> Line<'static> {
    let (sign, style, emphasis) = match line.kind {
        LineKind::Context => (' ', theme.muted, theme.muted),
        LineKind::Added => ('+', theme.diff_added, theme.diff_added_word),
        LineKind::Removed => ('-', theme.diff_removed, theme.diff_removed_word),
    };
    let mut spans =
        vec![Span::styled(format!("{:>digits$} ", line.number), theme.faint), Span::styled(format!("{sign} "), style)];
    let text = laid_bare(&line.text);
    match partner {
        Some(partner) => {
            spans.extend(emphasised(&text, &laid_bare(partner), style, emphasis));
        }
        None => spans.push(Span::styled(text, style)),
    }
    if line.kind != LineKind::Context {
        let used: usize = spans.iter().map(|span| width(&span.content)).sum();
        spans.push(Span::styled(" ".repeat(columns.saturating_sub(used)), style));
    }
    Line::from(spans)
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
