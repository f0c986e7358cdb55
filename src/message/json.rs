//! JSON that shows everything it holds.
//!
//! Invariant: the document means the same as before, and holds no sign that a terminal obeys or that the reader of it
//! does not see.

use std::fmt::Write as _;

/// Returns a JSON document with control characters, marks that reorder text, line separators and invisible signs as
/// `\u` escapes. `serde_json` escapes only what the standard asks for.
pub fn escaped_json(json: String) -> String {
    if json.is_ascii() && !json.contains('\u{7f}') || !json.contains(is_unseen) {
        return json;
    }
    // Outside of strings, JSON holds no such sign, so each of them stands where an escape may.
    json.chars().fold(String::with_capacity(json.len() + 64), |mut out, c| {
        if is_unseen(c) {
            let _ = write!(out, "\\u{:04x}", u32::from(c));
        } else {
            out.push(c);
        }
        out
    })
}

fn is_unseen(c: char) -> bool {
    matches!(c, '\u{7f}'..='\u{9f}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}')
}
