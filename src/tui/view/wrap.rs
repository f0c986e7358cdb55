//! Lines into columns: word wrap, cutting and padding.
//!
//! Owns where rows end. Leaves how wide a text is to `message::columns`, and cleaning to `message::sanitize`, which must
//! have run before.
//! Invariants: no returned line is wider than asked for, unless one grapheme alone is; no text is lost by wrapping;
//! the work is linear.

use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::UnicodeWidthChar as _;

pub use crate::message::columns::{expand_tabs, fit, grapheme_width, head, tail, width};

pub fn spans_width(spans: &[Span<'_>]) -> usize {
    spans.iter().map(|span| width(&span.content)).sum()
}

/// Returns the text in exactly `columns`: cut with `…`, or filled up with spaces.
pub fn pad(text: &str, columns: usize) -> String {
    let mut out = fit(text, columns);
    out.extend(std::iter::repeat_n(' ', columns.saturating_sub(width(&out))));
    out
}

/// Returns the text in exactly `columns`, filled up with spaces on the left.
pub fn pad_left(text: &str, columns: usize) -> String {
    let fitted = fit(text, columns);
    let mut out = " ".repeat(columns.saturating_sub(width(&fitted)));
    out.push_str(&fitted);
    out
}

/// Returns the line with so many blanks before it.
pub fn indented(mut line: Line<'static>, columns: u16) -> Line<'static> {
    line.spans.insert(0, Span::raw(" ".repeat(usize::from(columns))));
    line
}

/// Returns the line cut to `columns`, with `…` in the style of the place if anything was cut.
pub fn fit_line(line: &Line<'_>, columns: usize) -> Line<'static> {
    let total = spans_width(&line.spans);
    let mut room = columns;
    let mut spans = Vec::with_capacity(line.spans.len());
    for span in &line.spans {
        let taken = width(&span.content);
        // The last column is kept for the mark as long as more is to come than fits.
        let cut = total > columns && taken + 1 > room;
        let text = if cut { fit(&format!("{}  ", span.content), room) } else { expand_tabs(&span.content, 0) };
        room = room.saturating_sub(width(&text));
        spans.push(Span::styled(text, span.style));
        if cut {
            break;
        }
    }
    Line { spans, style: line.style, alignment: line.alignment }
}

/// Returns the line in rows of at most `columns`, broken between words where possible.
pub fn wrap_line(line: &Line<'_>, columns: u16) -> Vec<Line<'static>> {
    wrap_indented(line, columns, &Line::default(), &Line::default())
}

/// Returns the line in rows of at most `columns`: `first` stands before the first row, `rest` before the others.
///
/// An indent that leaves less than a quarter of the room is cut, so that deep nesting cannot squeeze the text out.
pub fn wrap_indented(line: &Line<'_>, columns: u16, first: &Line<'_>, rest: &Line<'_>) -> Vec<Line<'static>> {
    let (first, rest) = indents(columns, first, rest);
    let mut rows = Rows::new(line.style, usize::from(columns).max(1), first, rest);
    for span in &line.spans {
        let style = line.style.patch(span.style);
        for word in split_words(&span.content) {
            rows.word(word, style);
        }
    }
    rows.finish()
}

/// Returns the indents of [`wrap_indented`] as it writes them.
pub fn indents(columns: u16, first: &Line<'_>, rest: &Line<'_>) -> (Line<'static>, Line<'static>) {
    let columns = usize::from(columns).max(1);
    let room = columns - columns.div_ceil(4).min(columns);
    (cut_indent(first, room), cut_indent(rest, room))
}

fn cut_indent(indent: &Line<'_>, room: usize) -> Line<'static> {
    let mut left = room;
    let mut spans = Vec::new();
    for span in &indent.spans {
        let text = head(&span.content, left).to_owned();
        left -= width(&text);
        spans.push(Span::styled(text, span.style));
    }
    Line::from(spans)
}

/// Splits a text into runs of spaces, words, and single wide characters, after any of which a row may end.
fn split_words(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let end = if first == ' ' || first == '\t' {
            rest.find(|c| c != first).unwrap_or(rest.len())
        } else {
            word_end(rest)
        };
        let (word, after) = rest.split_at(end);
        rest = after;
        Some(word)
    })
}

/// Returns the length of the word that a text begins with.
fn word_end(text: &str) -> usize {
    // Looks no further than the word: the rest of a line may be megabytes, of words of one sign each.
    let ascii_end = |byte: &u8| matches!(byte, b' ' | b'\t') || !byte.is_ascii();
    let end = text.as_bytes().iter().position(ascii_end).unwrap_or(text.len());
    if text.as_bytes().get(end).is_none_or(u8::is_ascii) {
        return end;
    }
    for (at, grapheme) in text.grapheme_indices(true) {
        let c = grapheme.chars().next().unwrap_or(' ');
        if c == ' ' || c == '\t' {
            return at;
        }
        if is_ideographic(c) {
            return if at == 0 { ideograph_end(text, grapheme.len()) } else { at };
        }
    }
    text.len()
}

/// Returns the end of an ideograph with the closing punctuation that must not begin a row.
fn ideograph_end(text: &str, start: usize) -> usize {
    let closing = |c: char| "、。，．：；！？）」』】〉》〕”’…ー々".contains(c);
    start + text[start..].chars().take_while(|c| closing(*c)).map(char::len_utf8).sum::<usize>()
}

/// Scripts that are written without spaces, where a row may end after each character.
fn is_ideographic(c: char) -> bool {
    matches!(c, '\u{2E80}'..='\u{A4CF}' | '\u{AC00}'..='\u{D7A3}' | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{3FFFD}')
        && c.width() == Some(2)
}

/// How a row of wrapped text ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextEnd {
    /// Its line ends here.
    Hard,
    /// Its line ends here, and the empty line behind it is not drawn.
    Parted,
    /// The line goes on in the next row, behind a space that is left out.
    Spaced,
    /// The line goes on in the next row.
    Joined,
}

/// The style of the empty spans that say how a row ends. Other spans may be empty too: a part that had nothing to say.
const END_MARK: Style = Style::new().add_modifier(Modifier::HIDDEN);

/// Marks a row as one behind which an empty line is left out.
pub fn mark_parted(row: &mut Line<'static>) {
    if end_of(row) != TextEnd::Parted {
        row.spans.extend(std::iter::repeat_n(Span::styled("", END_MARK), 3));
    }
}

/// Returns how a row ends. One whose line does not end with it as drawn ends with empty spans, which draw nothing: one
/// for [`TextEnd::Joined`], two for [`TextEnd::Spaced`], three for [`TextEnd::Parted`].
pub fn end_of(row: &Line<'_>) -> TextEnd {
    let is_mark = |span: &&Span<'_>| span.content.is_empty() && span.style == END_MARK;
    match row.spans.iter().rev().take_while(is_mark).count() {
        0 => TextEnd::Hard,
        1 => TextEnd::Joined,
        2 => TextEnd::Spaced,
        _ => TextEnd::Parted,
    }
}

struct Rows {
    style: Style,
    columns: usize,
    rest: Line<'static>,
    done: Vec<Line<'static>>,
    row: Vec<Span<'static>>,
    /// Columns used, indent included.
    used: usize,
    /// Columns of the indent of the current row.
    indent: usize,
    /// Pieces of the word being read, which may go over several spans, and its width.
    word: Vec<(String, Style)>,
    word_width: usize,
    /// Spaces before that word: dropped if the row ends here.
    gap: Vec<(String, Style)>,
    gap_width: usize,
}

impl Rows {
    fn new(style: Style, columns: usize, first: Line<'static>, rest: Line<'static>) -> Self {
        let indent = spans_width(&first.spans);
        Self {
            style,
            columns,
            rest,
            done: Vec::new(),
            row: first.spans,
            used: indent,
            indent,
            word: Vec::new(),
            word_width: 0,
            gap: Vec::new(),
            gap_width: 0,
        }
    }

    fn word(&mut self, text: &str, style: Style) {
        if text.starts_with([' ', '\t']) {
            self.place();
            let at = self.used + self.gap_width;
            let text = expand_tabs(text, at - self.indent);
            self.gap_width += text.len();
            self.gap.push((text, style));
            return;
        }
        if text.chars().next().is_some_and(is_ideographic) {
            self.place();
        }
        let wide = width(text);
        self.word_width += wide;
        self.word.push((text.to_owned(), style));
        if text.chars().next_back().is_some_and(|c| c.width() == Some(2)) {
            self.place();
        }
    }

    /// Puts the word that has been read into a row.
    fn place(&mut self) {
        if self.word.is_empty() {
            return;
        }
        let fits = self.used + self.gap_width + self.word_width <= self.columns;
        if !fits && self.used > self.indent {
            let end = if self.gap.is_empty() { TextEnd::Joined } else { TextEnd::Spaced };
            self.gap.clear();
            self.gap_width = 0;
            self.break_row(end);
        }
        for (text, style) in std::mem::take(&mut self.gap) {
            self.put(&text, style);
        }
        self.gap_width = 0;
        for (text, style) in std::mem::take(&mut self.word) {
            self.put(&text, style);
        }
        self.word_width = 0;
    }

    /// Writes a piece, breaking it where a row is full.
    fn put(&mut self, text: &str, style: Style) {
        let mut rest = text;
        loop {
            let room = self.columns.saturating_sub(self.used);
            let mut part = head(rest, room);
            if part.is_empty() && !rest.is_empty() {
                if self.used > self.indent {
                    self.break_row(TextEnd::Joined);
                    continue;
                }
                // Not even one grapheme fits: it is written all the same, or wrapping would never end.
                part = rest.graphemes(true).next().unwrap_or(rest);
            }
            self.used += width(part);
            push_span(&mut self.row, part, style);
            rest = &rest[part.len()..];
            if rest.is_empty() {
                return;
            }
            self.break_row(TextEnd::Joined);
        }
    }

    fn break_row(&mut self, end: TextEnd) {
        let marks = if end == TextEnd::Spaced { 2 } else { 1 };
        self.row.extend(std::iter::repeat_n(Span::styled("", END_MARK), marks));
        let row = std::mem::replace(&mut self.row, self.rest.spans.clone());
        self.done.push(Line { spans: row, style: self.style, alignment: None });
        self.indent = spans_width(&self.rest.spans);
        self.used = self.indent;
    }

    fn finish(mut self) -> Vec<Line<'static>> {
        self.place();
        self.done.push(Line { spans: self.row, style: self.style, alignment: None });
        self.done
    }
}

/// Appends text to the last span if the style is the same, so that a word costs no allocation of its own.
fn push_span(spans: &mut Vec<Span<'static>>, text: &str, style: Style) {
    match spans.last_mut() {
        Some(last) if last.style == style => last.content.to_mut().push_str(text),
        _ => spans.push(Span::styled(text.to_owned(), style)),
    }
}
