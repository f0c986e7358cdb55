//! Where a growing Markdown text can be cut, so that what is before the cut never changes again.
//!
//! Owns the rules of the cut. Leaves parsing to `blocks`. Invariant: a decision depends only on complete lines, or on
//! what no later text can change, so that it is the same however the text arrives.

use std::borrow::Cow;

/// A list longer than this is cut before one of its items, so that a push into it stays cheap.
const MAX_LIST_BYTES: usize = 4096;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CodeFence {
    mark: u8,
    length: usize,
}

impl CodeFence {
    pub(super) fn is_closed_by(self, line: &str) -> bool {
        let text = line.trim_end();
        let inner = text.trim_start_matches(' ');
        text.len() - inner.len() < 4 && inner.len() >= self.length && inner.bytes().all(|byte| byte == self.mark)
    }

    /// Returns `true` if an unfinished line could become the end of the block.
    pub(super) fn may_be_closed_by(self, start: &str) -> bool {
        start.trim().bytes().all(|byte| byte == self.mark)
    }
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum MarkdownPart<'a> {
    /// Empty lines, of this many bytes.
    Blank(usize),
    /// The opening line of a block of code, of this many bytes, and the language it names.
    CodeFence(CodeFence, &'a str, usize),
    /// Whole blocks, of this many bytes.
    Blocks(usize),
    /// The beginning of a list, of this many bytes; the rest of the list follows without an empty line.
    ListHead(usize),
    /// What later text may still change: all of it.
    Open,
}

/// Returns the first part of a text that begins where a part begins.
pub(super) fn first_part(text: &str) -> MarkdownPart<'_> {
    let mut lines = Lines { text, at: 0 };
    let Some(first) = lines.next() else { return MarkdownPart::Open };
    if first.complete && first.is_blank() {
        return MarkdownPart::Blank(lines.at);
    }
    if let Some((fence, lang)) = first.fence(0) {
        return MarkdownPart::CodeFence(fence, lang, lines.at);
    }
    let mut list = first.is_item();
    let mut inner = if list { None } else { first.fence(3) };
    let mut after_blank = false;
    for line in lines {
        if let Some((fence, _)) = inner {
            if line.complete && fence.is_closed_by(line.text) {
                inner = None;
            }
            continue;
        }
        if line.is_blank() {
            after_blank = line.complete;
            continue;
        }
        if line.text.starts_with([' ', '\t']) {
            inner = if list { None } else { line.fence(3) };
        } else {
            if line.fence(0).is_some() || line.is_heading() {
                return MarkdownPart::Blocks(line.start);
            }
            let ends_list = line.complete && !line.is_item();
            if after_blank && (!list || ends_list) {
                return MarkdownPart::Blocks(line.start);
            }
            if list && line.is_item() && line.start > MAX_LIST_BYTES {
                return if after_blank { MarkdownPart::Blocks(line.start) } else { MarkdownPart::ListHead(line.start) };
            }
            list = list || line.is_item();
        }
        after_blank = false;
    }
    MarkdownPart::Open
}

/// Returns an unfinished part with the rule that makes a table of it, if it ends in a row that begins one: the rule has
/// not arrived yet, or not whole.
pub(super) fn with_table_rule(rest: &str) -> Cow<'_, str> {
    // A bar alone is the beginning of a row.
    let last = rest.rfind('\n').map_or(0, |at| at + 1);
    let rest = if rest[last..].trim() == "|" { &rest[..last] } else { rest };
    let start = rest.rfind("\n\n").map_or(0, |at| at + 2);
    let block = rest[start..].trim_start_matches('\n');
    let (head, after) = block.split_once('\n').unwrap_or((block, ""));
    let is_rule = |line: &str| line.bytes().all(|byte| matches!(byte, b'|' | b'-' | b':' | b' ' | b'\r'));
    let cells = cells_of(head);
    if cells == 0 || after.contains('\n') || !is_rule(after) || is_rule(head) || cells_of(after) == cells {
        return Cow::Borrowed(rest);
    }
    let kept = &rest[..rest.len() - after.len()];
    Cow::Owned(format!("{}\n|{}", kept.trim_end_matches('\n'), "---|".repeat(cells)))
}

/// Returns how many cells a row of a table has that begins with a bar; 0 if the line is none.
fn cells_of(line: &str) -> usize {
    let line = line.trim();
    let Some(inner) = line.strip_prefix('|').filter(|inner| !inner.trim().is_empty()) else { return 0 };
    let inner = inner.strip_suffix('|').unwrap_or(inner);
    let mut cells = 1;
    let mut before = ' ';
    for c in inner.chars() {
        cells += usize::from(c == '|' && before != '\\');
        before = c;
    }
    cells
}

struct Lines<'a> {
    text: &'a str,
    at: usize,
}

struct SourceLine<'a> {
    text: &'a str,
    start: usize,
    /// Whether its end has arrived.
    complete: bool,
}

impl<'a> Iterator for Lines<'a> {
    type Item = SourceLine<'a>;

    fn next(&mut self) -> Option<SourceLine<'a>> {
        let rest = &self.text[self.at..];
        if rest.is_empty() {
            return None;
        }
        let start = self.at;
        let end = memchr::memchr(b'\n', rest.as_bytes());
        self.at += end.map_or(rest.len(), |end| end + 1);
        Some(SourceLine { text: &rest[..end.unwrap_or(rest.len())], start, complete: end.is_some() })
    }
}

impl<'a> SourceLine<'a> {
    fn is_blank(&self) -> bool {
        self.text.trim().is_empty()
    }

    /// Reads the line as the opening of a block of code, indented by at most `indent`.
    fn fence(&self, indent: usize) -> Option<(CodeFence, &'a str)> {
        let inner = self.text.trim_start_matches(' ');
        if !self.complete || self.text.len() - inner.len() > indent {
            return None;
        }
        let mark = *inner.as_bytes().first().filter(|mark| matches!(mark, b'`' | b'~'))?;
        let length = inner.bytes().take_while(|byte| *byte == mark).count();
        let info = inner[length..].trim();
        let valid = length >= 3 && !(mark == b'`' && info.contains('`'));
        valid.then_some((CodeFence { mark, length }, info))
    }

    fn is_heading(&self) -> bool {
        let inner = self.text.trim_start_matches('#');
        let marks = self.text.len() - inner.len();
        self.complete && (1..=6).contains(&marks) && (inner.trim().is_empty() || inner.starts_with([' ', '\t']))
    }

    /// Returns `true` if the line begins an item of a list at the left edge.
    fn is_item(&self) -> bool {
        let inner = self.text.trim_start_matches(|c: char| c.is_ascii_digit());
        let after_mark = match self.text.len() - inner.len() {
            0 => inner.strip_prefix(['-', '+', '*']),
            1..=9 => inner.strip_prefix(['.', ')']),
            _ => None,
        };
        self.complete && after_mark.is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t', '\r']))
    }
}
