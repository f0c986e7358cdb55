//! What a running command prints, kept within bounds and made plain.
//!
//! Invariant: memory does not grow with the output; what is left out is counted.

use std::collections::VecDeque;

use crate::tool::limit::{bound_text, grouped};

/// Most bytes of a character.
const CHAR_BYTES: usize = 4;
/// Characters for what is said besides the output: how the command ended, and what is left out.
const NOTE_ROOM: usize = 400;
/// Bytes of the end that are looked at for its last lines.
const GLANCE: usize = 4_000;
/// Characters that no text has, below which output counts as text all the same.
const MIN_ODD: usize = 32;

#[derive(Debug)]
pub(in crate::tool) struct Capture {
    /// Characters that are kept of each end.
    half: usize,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    total: u64,
    breaks: u64,
    last: Option<u8>,
}

impl Capture {
    /// Returns one that keeps what fits into a result of so many characters.
    pub(in crate::tool) fn new(result_chars: usize) -> Self {
        let half = result_chars.saturating_sub(NOTE_ROOM) / 2;
        Self { half, head: Vec::new(), tail: VecDeque::new(), total: 0, breaks: 0, last: None }
    }

    fn half_bytes(&self) -> usize {
        self.half.saturating_mul(CHAR_BYTES)
    }

    pub(in crate::tool) fn push(&mut self, bytes: &[u8]) {
        let Some(last) = bytes.last() else { return };
        self.last = Some(*last);
        self.total += bytes.len() as u64;
        self.breaks += memchr::memchr_iter(b'\n', bytes).count() as u64;
        let most = self.half_bytes();
        let room = (most - self.head.len()).min(bytes.len());
        let (first, rest) = bytes.split_at(room);
        self.head.extend_from_slice(first);
        let rest = &rest[rest.len().saturating_sub(most)..];
        let surplus = (self.tail.len() + rest.len()).saturating_sub(most);
        self.tail.drain(..surplus);
        self.tail.extend(rest);
    }

    pub(in crate::tool) fn lines(&self) -> usize {
        let unfinished = u64::from(self.last.is_some_and(|byte| byte != b'\n'));
        usize::try_from(self.breaks + unfinished).unwrap_or(usize::MAX)
    }

    /// Returns everything that was kept, with the middle named as left out.
    pub(in crate::tool) fn text(&self) -> String {
        let tail: Vec<u8> = self.tail.iter().copied().collect();
        let left_out = self.total - (self.head.len() + tail.len()) as u64;
        if is_binary(&self.head) {
            return format!("[{} bytes of binary output not shown; redirect them to a file]", grouped(self.total));
        }
        if left_out == 0 {
            let text = plain(&String::from_utf8_lossy(&[self.head.as_slice(), &tail].concat()));
            return bound_text(&text, 2 * self.half).into_owned();
        }
        // The cuts may go through a character: its remains are dropped.
        let head = match std::str::from_utf8(&self.head) {
            Err(error) if error.error_len().is_none() => &self.head[..error.valid_up_to()],
            _ => &self.head,
        };
        let remains = tail.iter().take(3).take_while(|byte| **byte & 0xC0 == 0x80).count();
        let (head, tail) = (String::from_utf8_lossy(head), String::from_utf8_lossy(&tail[remains..]));
        let (head, tail) = (start_of(&head, self.half), end_of(&tail, self.half));
        let left_out = self.total.saturating_sub((head.len() + tail.len()) as u64);
        format!("{}\n[… {} bytes left out …]\n{}", plain(head).trim_end_matches('\n'), grouped(left_out), plain(tail))
    }

    pub(in crate::tool) fn last_lines(&self, count: usize) -> String {
        if is_binary(&self.head) {
            return String::new();
        }
        let whole = if self.tail.len() < GLANCE { self.head.as_slice() } else { &[] };
        let recent: Vec<u8> = whole.iter().chain(&self.tail).copied().collect();
        let recent = String::from_utf8_lossy(&recent[recent.len().saturating_sub(GLANCE)..]).into_owned();
        let text = plain(recent.trim_start_matches('\u{fffd}'));
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(count)..].join("\n")
    }
}

/// Returns the first characters of a text.
fn start_of(text: &str, chars: usize) -> &str {
    text.char_indices().nth(chars).map_or(text, |(at, _)| &text[..at])
}

/// Returns the last characters of a text.
fn end_of(text: &str, chars: usize) -> &str {
    let start = chars.checked_sub(1).map(|last| text.char_indices().nth_back(last).map_or(0, |(at, _)| at));
    &text[start.unwrap_or(text.len())..]
}

/// Returns `true` if output is no text: many of its bytes, and more than a tenth, are such as no text has. NUL may end the
/// entries of a list.
fn is_binary(bytes: &[u8]) -> bool {
    let start = &bytes[..bytes.len().min(GLANCE)];
    let odd = |c: &char| *c == '\u{fffd}' || matches!(c, '\u{1}'..='\u{6}' | '\u{e}'..='\u{1a}' | '\u{1c}'..='\u{1f}');
    let text = String::from_utf8_lossy(start);
    let count = text.chars().filter(odd).count();
    count >= MIN_ODD && count * 10 > text.chars().count()
}

/// Returns terminal output as text: escape sequences removed, a lone carriage return as the end of a line so that it hides
/// nothing, backspaces carried out, other control characters dropped. A NUL ends a line, as in `find -print0`.
pub(in crate::tool) fn plain(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut line_start = 0;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\n' | '\0' => {
                shown.push('\n');
                line_start = shown.len();
            }
            '\t' => shown.push('\t'),
            '\r' if chars.peek() == Some(&'\n') => {}
            '\r' if chars.peek().is_some() && shown.len() > line_start => {
                shown.push('\n');
                line_start = shown.len();
            }
            '\u{8}' if shown.len() > line_start => {
                shown.pop();
            }
            '\u{1b}' => skip_escape(&mut chars),
            '\u{9b}' => skip_control(&mut chars),
            '\u{90}' | '\u{98}' | '\u{9d}'..='\u{9f}' => skip_string(&mut chars),
            c if c.is_control() => {}
            c => shown.push(c),
        }
    }
    shown
}

/// Skips the rest of an escape sequence. One that does not end stops at the end of its line.
fn skip_escape(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    match chars.next() {
        Some('[') => skip_control(chars),
        Some(']' | 'P' | 'X' | '^' | '_') => skip_string(chars),
        Some('(' | ')' | '#' | '%') => {
            chars.next_if(|c| *c != '\n');
        }
        _ => {}
    }
}

/// Skips the parameters and the final character of a control sequence.
fn skip_control(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    while chars.next_if(|c| ('\u{20}'..='\u{3f}').contains(c)).is_some() {}
    chars.next_if(|c| ('\u{40}'..='\u{7e}').contains(c));
}

/// Skips a string for the terminal, such as a title, up to its terminator or the end of the line.
fn skip_string(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    while chars.next_if(|c| !matches!(c, '\u{7}' | '\u{9c}' | '\u{1b}' | '\n')).is_some() {}
    if chars.next_if_eq(&'\u{1b}').is_some() {
        chars.next_if_eq(&'\\');
    } else {
        chars.next_if(|c| matches!(c, '\u{7}' | '\u{9c}'));
    }
}
