//! What every text passes on its way into an export.
//!
//! Owns masking, cleaning and cutting, in this order: a token that is cut in two would not be recognized. Invariant: what
//! comes out holds no secret, no sign that a terminal obeys, none that reorders text, and is bounded.

use std::borrow::Cow;

use crate::message::format::grouped;
use crate::message::{escaped_json, sanitize, sanitize_line};
use crate::session::Store;

/// Most bytes of a line, such as a title.
const LINE_BYTES: usize = 400;

#[derive(Debug)]
pub struct Clean<'a> {
    store: &'a Store,
}

impl<'a> Clean<'a> {
    #[must_use]
    pub fn new(store: &'a Store) -> Self {
        Self { store }
    }

    /// Returns a text of about `limit` bytes at most: of a longer one the head and the tail.
    #[must_use]
    pub fn text(&self, text: &str, limit: usize) -> String {
        cut(&sanitize(&self.store.mask(text)), limit).into_owned()
    }

    /// Returns a text on one line.
    #[must_use]
    pub fn line(&self, text: &str) -> String {
        let line = sanitize_line(&self.store.mask(text)).into_owned();
        if line.len() <= LINE_BYTES { line } else { format!("{}…", &line[..line.floor_char_boundary(LINE_BYTES)]) }
    }

    /// Returns a JSON document as one that shows everything it holds.
    #[must_use]
    pub fn json(&self, json: String) -> String {
        escaped_json(self.store.mask_json(json))
    }
}

/// Cuts the middle out of a text that is longer than `limit` bytes, and says so in its place.
pub fn cut(text: &str, limit: usize) -> Cow<'_, str> {
    if text.len() <= limit {
        return Cow::Borrowed(text);
    }
    let head = text.floor_char_boundary(limit * 2 / 3);
    let tail = text.ceil_char_boundary(text.len() - limit / 3).max(head);
    // At line ends where they are near.
    let head = text[..head].rfind('\n').filter(|at| at + 200 > head).unwrap_or(head);
    let tail = text[tail..].find('\n').filter(|at| *at < 200).map_or(tail, |at| tail + at + 1);
    let left_out = grouped((tail - head) as u64);
    Cow::Owned(format!("{}\n… {left_out} bytes left out …\n{}", &text[..head], &text[tail..]))
}
