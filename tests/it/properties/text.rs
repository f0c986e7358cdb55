//! Hostile text: what reaches a screen is harmless, and what is judged hides nothing.

use std::sync::LazyLock;

use belvedere::message::columns::{fit, head, tail, width};
use belvedere::message::{reveal, reveal_line, sanitize, sanitize_line, shown_name};
use regex::Regex;
use unicode_segmentation::UnicodeSegmentation as _;

/// What nobody sees, or what reorders text, after Unicode and not after the program. Left out are the joiner and the two
/// selectors of emoji, and signs that Unicode counts as format characters though they are seen.
static HIDDEN: LazyLock<Regex> = LazyLock::new(|| {
    let seen = r"\u{200D}\u{FE0E}\u{FE0F}\u{600}-\u{605}\u{6DD}\u{70F}\u{890}\u{891}\u{8E2}\u{110BD}\u{110CD}\u{13430}-\u{1345F}";
    Regex::new(&format!(r"[[\p{{Cf}}\p{{Default_Ignorable_Code_Point}}]--[{seen}]]")).unwrap()
});
/// Bytes that a terminal may get for one cell.
const MAX_CELL: usize = 200;

/// Panics unless a text is harmless: no control character but those that are `allowed`, nothing that is not seen.
pub(super) fn assert_harmless(text: &str, allowed: &[char]) {
    let control = text.chars().find(|c| c.is_control() && !allowed.contains(c));
    assert_eq!(control, None, "a control character in {text:?}");
    let hidden = HIDDEN.find(text).map(|found| found.as_str().escape_unicode().to_string());
    assert_eq!(hidden, None, "hidden in {text:?}");
}

pub(super) fn sanitizer(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let clean = sanitize(&text);
    assert_harmless(&clean, &['\n', '\t']);
    assert_eq!(sanitize(&clean), clean, "what is clean stays as it is");
    let by_line: Vec<String> = text.split('\n').map(|line| sanitize(line).into_owned()).collect();
    assert_eq!(by_line.join("\n"), clean, "no line depends on another");
    // The longest sign stands for one character of one byte.
    assert!(clean.len() <= text.len() * 3, "{} bytes of {}", clean.len(), text.len());
    for cell in clean.graphemes(true) {
        assert!(cell.len() <= MAX_CELL * width(cell).max(1), "{} bytes in one cell", cell.len());
    }
    assert_harmless(&sanitize_line(&text), &[]);

    let bare = reveal(&text);
    assert_harmless(&bare, &['\n', '\t']);
    assert_eq!(bare.chars().count(), text.chars().count(), "nothing is taken out of what is judged");
    assert!(!bare.contains('\u{200D}'), "a joiner shows");
    assert_eq!(reveal(&bare), bare, "what is laid bare stays as it is");
    assert_harmless(&reveal_line(&text), &[]);

    let name = shown_name(&text);
    assert_harmless(&name, &[]);
    assert!(name.chars().count() <= 43, "{name}");
    assert!(name.starts_with('“') || name.chars().all(|c| c.is_alphanumeric() || "-_.".contains(c)), "{name}");
}

/// Nothing is wider than what was asked for, and nothing is taken from the middle.
pub(super) fn columns(bytes: &[u8]) {
    let mut choices = super::Choices::new(bytes);
    let columns = choices.below(24);
    let text = String::from_utf8_lossy(choices.rest());
    let text = sanitize_line(&text);
    let (start, end) = (head(&text, columns), tail(&text, columns));
    assert!(text.starts_with(start) && text.ends_with(end));
    for line in [start, end, &fit(&text, columns)] {
        assert!(width(line) <= columns, "{line:?} is wider than {columns}");
    }
    if width(&text) <= columns {
        assert_eq!((start, end), (&*text, &*text), "what has room is whole");
    }
}
