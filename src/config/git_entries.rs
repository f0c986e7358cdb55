//! The settings in a file of git's, read as git reads them.
//!
//! Owns the grammar, after `config.c` of git. Leaves what a setting means to `git`. Invariants: whatever git would read
//! of a file is among the entries; where git refuses the file, they are what a more patient reader might make of it.

use std::iter::Peekable;
use std::str::Chars;

/// Returns keys in lower case, without their section, and values.
pub(super) fn entries(text: &str) -> Vec<(String, String)> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text).replace("\r\n", "\n");
    let mut rest = text.chars().peekable();
    let mut entries = Vec::new();
    while let Some(c) = rest.next() {
        match c {
            '#' | ';' => skip_comment(&mut rest),
            '[' => skip_header(&mut rest),
            c if is_of_name(c) => entries.extend(entry(c, &mut rest)),
            // A blank, or what git refuses.
            _ => {}
        }
    }
    entries
}

fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '-'
}

/// Passes over the rest of a line. No backslash makes it longer.
fn skip_comment(rest: &mut Peekable<Chars<'_>>) {
    rest.find(|c| *c == '\n');
}

/// Passes over the name of a section. Others, and keys, may stand behind it on the same line.
fn skip_header(rest: &mut Peekable<Chars<'_>>) {
    let mut is_quoted = false;
    while let Some(c) = rest.next_if(|c| *c != '\n') {
        match c {
            ']' if !is_quoted => return,
            '"' => is_quoted = !is_quoted,
            '\\' if is_quoted => drop(rest.next_if(|c| *c != '\n')),
            _ => {}
        }
    }
}

/// Reads a key that begins so, and its value; `None` for one without a value, which means yes.
fn entry(first: char, rest: &mut Peekable<Chars<'_>>) -> Option<(String, String)> {
    let mut key = String::from(first.to_ascii_lowercase());
    while let Some(c) = rest.next_if(|c| is_of_name(*c)) {
        key.push(c.to_ascii_lowercase());
    }
    while rest.next_if(|c| matches!(c, ' ' | '\t')).is_some() {}
    rest.next_if_eq(&'=')?;
    Some((key, value(rest)))
}

/// Reads a value up to the end of its line, or of the last one that it goes on in.
fn value(rest: &mut Peekable<Chars<'_>>) -> String {
    let (mut value, mut kept, mut is_quoted) = (String::new(), 0, false);
    while let Some(c) = rest.next() {
        match c {
            '\n' => break,
            ' ' | '\t' | '\r' if !is_quoted => {
                // Blanks at either end are none of it.
                if !value.is_empty() {
                    value.push(c);
                }
                continue;
            }
            '#' | ';' if !is_quoted => {
                skip_comment(rest);
                break;
            }
            '"' => is_quoted = !is_quoted,
            '\\' => match rest.next() {
                Some('\n') | None => {}
                Some('t') => value.push('\t'),
                Some('b') => value.push('\u{8}'),
                Some('n') => value.push('\n'),
                Some(c) => value.push(c),
            },
            c => value.push(c),
        }
        kept = value.len();
    }
    value.truncate(kept);
    // For git, it ends at a zero.
    value.split('\0').next().unwrap_or_default().to_owned()
}
