//! How much text one result may hold.
//!
//! Owns the cutting of long text. Invariant: whatever is cut away is named as left out, with its size.

use std::borrow::Cow;

pub(super) use crate::message::format::{counted, grouped};

/// Room for the words that name what was left out.
const MARKER_ROOM: usize = 60;

/// Returns `text` with at most `max_chars` characters: where it is longer, its head and tail with the middle named as
/// left out.
pub fn bound_text(text: &str, max_chars: usize) -> Cow<'_, str> {
    if text.len() <= max_chars {
        return Cow::Borrowed(text);
    }
    let total = text.chars().count();
    if total <= max_chars {
        return Cow::Borrowed(text);
    }
    let keep = max_chars.saturating_sub(MARKER_ROOM);
    let head_chars = keep.div_ceil(2);
    let tail_chars = keep - head_chars;
    let head = text.char_indices().nth(head_chars).map_or(text, |(at, _)| &text[..at]);
    let tail = match tail_chars {
        0 => "",
        count => text.char_indices().nth_back(count - 1).map_or("", |(at, _)| &text[at..]),
    };
    Cow::Owned(format!("{head}\n[… {} characters left out …]\n{tail}", grouped((total - keep) as u64)))
}

/// Returns the first `max` characters of `text`, and whether anything was cut away.
pub(super) fn cut(text: &str, max: usize) -> (&str, bool) {
    match text.char_indices().nth(max) {
        Some((at, _)) => (&text[..at], true),
        None => (text, false),
    }
}

pub(super) fn size(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} bytes"),
        1_000..1_000_000 => format!("{} KB", bytes.div_ceil(1_000)),
        1_000_000..1_000_000_000 => format!("{} MB", bytes.div_ceil(1_000_000)),
        _ => format!("{} GB", bytes.div_ceil(1_000_000_000)),
    }
}
