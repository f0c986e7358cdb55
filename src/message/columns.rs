//! How many columns a text takes, and texts cut to columns.
//!
//! Owns the one notion of how wide text is. Leaves rows of several lines to the views. Invariants: no grapheme is split;
//! nothing that is returned takes more columns than were asked for.

use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::UnicodeWidthStr as _;

/// Columns between tab stops.
const TAB: usize = 4;

/// Returns the columns that a text takes; a tab counts as if it stood at a tab stop.
pub fn width(text: &str) -> usize {
    if text.is_ascii() && !text.contains('\t') {
        return text.len();
    }
    text.graphemes(true).map(grapheme_width).sum()
}

pub fn grapheme_width(grapheme: &str) -> usize {
    match grapheme {
        "\t" => TAB,
        "\n" | "\r\n" => 0,
        _ => grapheme.width(),
    }
}

/// Returns the text cut to `columns`, with `…` at the end if anything was cut. Tabs become spaces.
pub fn fit(text: &str, columns: usize) -> String {
    let text = &expand_tabs(text, 0);
    if width(text) <= columns {
        return text.clone();
    }
    if columns == 0 {
        return String::new();
    }
    let mut out = head(text, columns - 1).to_owned();
    out.push('…');
    out
}

fn is_plain(byte: u8) -> bool {
    matches!(byte, b' '..=b'~')
}

/// Returns the longest beginning of a text that takes no more than `columns`.
pub fn head(text: &str, columns: usize) -> &str {
    // Most texts are plain: each sign is a column, and the next one begins anew.
    let plain = text.bytes().take(columns.saturating_add(1)).take_while(|byte| is_plain(*byte)).count();
    if plain == text.len() || plain > columns {
        return &text[..plain.min(columns)];
    }
    let mut used = 0;
    for (at, grapheme) in text.grapheme_indices(true) {
        used += grapheme_width(grapheme);
        if used > columns {
            return &text[..at];
        }
    }
    text
}

/// Returns the longest end of a text that takes no more than `columns`.
pub fn tail(text: &str, columns: usize) -> &str {
    let plain = text.bytes().rev().take(columns.saturating_add(1)).take_while(|byte| is_plain(*byte)).count();
    if plain == text.len() || plain > columns {
        return &text[text.len() - plain.min(columns)..];
    }
    let mut used = 0;
    let mut start = text.len();
    for (at, grapheme) in text.grapheme_indices(true).rev() {
        used += grapheme_width(grapheme);
        if used > columns {
            break;
        }
        start = at;
    }
    &text[start..]
}

/// Replaces tabs by the spaces up to the next tab stop, the text beginning at `column`.
pub fn expand_tabs(text: &str, column: usize) -> String {
    if !text.contains('\t') {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len() + TAB * 2);
    let mut at = column;
    for grapheme in text.graphemes(true) {
        if grapheme == "\t" {
            let spaces = TAB - at % TAB;
            out.extend(std::iter::repeat_n(' ', spaces));
            at += spaces;
        } else {
            out.push_str(grapheme);
            at += grapheme_width(grapheme);
        }
    }
    out
}
