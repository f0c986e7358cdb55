//! Makes hostile text safe to show: text of models, tools and files may hold anything.
//!
//! Owns what of a text reaches a screen or a standard output. Leaves widths, tabs and wrapping to the front ends.
//! Invariants: the output holds no control character but `\n` and `\t` and no character that reorders text; no sign in it
//! carries more marks than a cell of a screen can show; the work
//! is linear; and no line's output depends on another line, so a stream may be cleaned line by line.

use std::borrow::Cow;

use super::look_alike::{self, Pile, has_pile};
use memchr::memchr;

/// Shown for an escape character that begins no sequence.
const ESCAPE: char = '␛';
/// Shown for a character that would reorder the text around it, or that is not what it looks like.
const BIDI: char = '⍰';
/// Zero-width joiner, which builds emoji out of several.
pub(super) const ZWJ: char = '\u{200D}';

/// Returns the text without escape sequences, control characters, reordering marks and invisible characters.
///
/// `\r\n` becomes `\n`, and so does a lone `\r`: on a terminal it would hide what stands before it. An escape sequence
/// that its line does not end loses its introducer only, so that nothing readable is swallowed. Of marks in heaps on
/// one letter the first few stay.
pub fn sanitize(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_suspicious) && !has_pile(text) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = memchr(b'\n', rest.as_bytes()) {
        plain_row(&rest[..at], &mut out);
        out.push('\n');
        rest = &rest[at + 1..];
    }
    plain_row(rest, &mut out);
    Cow::Owned(out)
}

/// Returns a text as a shell reads it as one word.
pub fn shell_word(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Returns the text made safe as [`sanitize`] does, on one line: line ends become `⏎`, tabs become spaces.
pub fn sanitize_line(text: &str) -> Cow<'_, str> {
    match sanitize(text.trim_end_matches(['\n', '\r'])) {
        Cow::Borrowed(clean) if !clean.contains(['\n', '\t']) => Cow::Borrowed(clean),
        clean => Cow::Owned(clean.replace('\n', " ⏎ ").replace('\t', " ")),
    }
}

/// Returns the text with a sign in the place of every character that would not be seen or that poses as another, for what
/// the user has to judge: here nothing is taken out, because a shell or an interpreter reads all of it. `\n` and `\t`
/// stay.
pub fn reveal(text: &str) -> Cow<'_, str> {
    let mut posing = look_alike::places(text).into_iter().peekable();
    if posing.peek().is_none() && !text.chars().any(is_suspicious) {
        return Cow::Borrowed(text);
    }
    let sign = |(at, c): (usize, char)| match c {
        _ if posing.next_if_eq(&at).is_some() => BIDI,
        '\n' | '\t' => c,
        '\0'..='\u{1f}' => char::from_u32(0x2400 + u32::from(c)).unwrap_or(BIDI),
        '\u{7f}' => '␡',
        c if is_suspicious(c) => BIDI,
        c => c,
    };
    Cow::Owned(text.char_indices().map(sign).collect())
}

/// Returns the text laid bare as [`reveal`] does, on one line: line ends become `⏎`, tabs become spaces.
pub fn reveal_line(text: &str) -> Cow<'_, str> {
    match reveal(text) {
        Cow::Borrowed(clean) if !clean.contains(['\n', '\t']) => Cow::Borrowed(clean),
        clean => Cow::Owned(clean.replace('\n', " ⏎ ").replace('\t', " ")),
    }
}

/// Most characters of a name that is shown.
const MAX_NAME: usize = 40;

/// Returns a name as a question or a line shows it: one that is no plain word stands in quotes, bounded, so that it cannot
/// pass for the words around it. Names of agents come from files of the project.
pub fn shown_name(name: &str) -> Cow<'_, str> {
    let is_plain = |c: char| c.is_alphanumeric() || "-_.".contains(c);
    let shown = reveal_line(name);
    if !shown.is_empty() && shown.chars().all(is_plain) && shown.chars().count() <= MAX_NAME {
        return shown;
    }
    let mut words: String = shown.chars().map(|c| if "›“”\"".contains(c) { '\'' } else { c }).take(MAX_NAME).collect();
    if shown.chars().count() > MAX_NAME {
        words.push('…');
    }
    Cow::Owned(format!("“{words}”"))
}

/// Returns `true` if a character needs a closer look; all others are copied.
fn is_suspicious(c: char) -> bool {
    (c.is_control() && c != '\n' && c != '\t') || is_bidi(c) || is_invisible(c)
}

/// Marks that change the direction of the text after them.
fn is_bidi(c: char) -> bool {
    matches!(c, '\u{061C}' | '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}

/// Characters that take no room and can hide text from the reader. Variation selectors 15 and 16 are not among them.
fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{00AD}' | '\u{034F}' | '\u{115F}' | '\u{1160}' | '\u{17B4}' | '\u{17B5}' | '\u{180B}'..='\u{180F}'
        | '\u{200B}'..='\u{200D}' | '\u{2028}' | '\u{2029}' | '\u{2060}'..='\u{2065}' | '\u{206A}'..='\u{206F}'
        | '\u{3164}' | '\u{FE00}'..='\u{FE0D}' | '\u{FEFF}' | '\u{FFA0}' | '\u{FFF0}'..='\u{FFFB}'
        | '\u{1BCA0}'..='\u{1BCA3}' | '\u{1D173}'..='\u{1D17A}' | '\u{E0000}'..='\u{E0FFF}')
}

/// Returns `true` if a character can stand beside a joiner: the blocks that hold emoji and what they are built of.
fn joins(c: char) -> bool {
    matches!(c, '\u{2190}'..='\u{2BFF}' | '\u{FE0F}' | '\u{1F000}'..='\u{1FAFF}')
}

/// Appends the safe form of one line, which holds no `\n`.
fn plain_row(row: &str, out: &mut String) {
    let row = row.trim_end_matches('\r');
    let begin = out.len();
    let mut start = begin;
    let mut rest = row;
    let mut strings = Strings::Unknown;
    while let Some(c) = rest.chars().next() {
        let tail = &rest[c.len_utf8()..];
        rest = match c {
            '\u{1b}' => escape(tail, &mut strings, out),
            '\u{9b}' => after_csi(tail),
            '\u{90}' | '\u{98}' | '\u{9d}'..='\u{9f}' => after_string(tail, &mut strings),
            '\r' => {
                if out.len() > start {
                    out.push('\n');
                    start = out.len();
                }
                tail
            }
            _ => {
                visible(c, start, out);
                tail
            }
        };
    }
    if out[begin..].contains(ZWJ) || has_pile(&out[begin..]) {
        let row = out.split_off(begin);
        without_heaps(&row, out);
    }
}

/// Appends a row without marks in heaps, and without joiners that join nothing. Only of what is left of a row it is known
/// what stands upon what: between two marks there may have been anything.
fn without_heaps(row: &str, out: &mut String) {
    let (mut pile, mut before, mut joiner) = (Pile::default(), None, false);
    for c in row.chars().filter(|c| !pile.exceeds(*c)) {
        if c == ZWJ {
            joiner |= before.is_some_and(joins);
            continue;
        }
        if std::mem::take(&mut joiner) && joins(c) {
            out.push(ZWJ);
        }
        out.push(c);
        before = Some(c);
    }
}

/// Appends one character that begins no escape sequence.
fn visible(c: char, start: usize, out: &mut String) {
    match c {
        '\t' | ZWJ => out.push(c),
        '\u{8}' => {
            // A backspace takes back a character of its own line, as in the bold print of manual pages.
            if out.len() > start {
                out.pop();
            }
        }
        _ if c.is_control() || is_invisible(c) => {}
        _ if is_bidi(c) => out.push(BIDI),
        _ => out.push(c),
    }
}

/// Whether the rest of a line holds a terminator of an escape string; remembered so that a line is searched once.
#[derive(Clone, Copy, PartialEq)]
enum Strings {
    Unknown,
    Unterminated,
}

/// Reads what follows an escape character and returns what is left of the line.
fn escape<'a>(tail: &'a str, strings: &mut Strings, out: &mut String) -> &'a str {
    let mut chars = tail.chars();
    match chars.next() {
        Some('[') => after_csi(chars.as_str()),
        Some(']' | 'P' | 'X' | '^' | '_') => after_string(chars.as_str(), strings),
        // Intermediate bytes, then one final byte, as in the choice of a character set.
        Some(' '..='/') => {
            let rest = tail.trim_start_matches(|c| matches!(c, ' '..='/'));
            rest.strip_prefix(|c| matches!(c, '0'..='~')).unwrap_or(rest)
        }
        Some('0'..='~') => chars.as_str(),
        _ => {
            out.push(ESCAPE);
            tail
        }
    }
}

/// Skips the parameters and the final byte of a control sequence.
fn after_csi(tail: &str) -> &str {
    let rest = tail.trim_start_matches(|c| matches!(c, ' '..='?'));
    rest.strip_prefix(|c| matches!(c, '@'..='~')).unwrap_or(rest)
}

/// Skips an escape string up to its terminator; one without a terminator is left to be read.
fn after_string<'a>(tail: &'a str, strings: &mut Strings) -> &'a str {
    if *strings == Strings::Unterminated {
        return tail;
    }
    let mut previous = '\0';
    for (at, c) in tail.char_indices() {
        if matches!(c, '\u{7}' | '\u{9c}') || (previous == '\u{1b}' && c == '\\') {
            return &tail[at + c.len_utf8()..];
        }
        previous = c;
    }
    *strings = Strings::Unterminated;
    tail
}
