//! What is written about a definition: its signature and the first sentence of its documentation.
//!
//! Owns where documentation stands: in comments right above a definition, or in a text right below its head. Invariant:
//! what is returned is one line of bounded length.

use std::sync::LazyLock;

use regex::Regex;

use super::language::SymbolKind;
use super::mask::Masked;
use super::outline::Symbol;

/// Lines looked at above and below a definition.
const MAX_LINES: usize = 60;
/// Characters of a signature and of a sentence.
const MAX_SIGNATURE: usize = 200;
const MAX_SENTENCE: usize = 200;

/// The lines of a file, as they are and without comments and literals.
pub(super) struct SourceLines<'t> {
    text: &'t str,
    masked: &'t str,
    /// Where each line begins, which is the same in both.
    starts: Vec<usize>,
}

impl<'t> SourceLines<'t> {
    pub(super) fn new(text: &'t str, masked: &'t Masked) -> Self {
        let mut starts = Vec::with_capacity(masked.inside.len());
        starts.push(0);
        starts.extend(memchr::memchr_iter(b'\n', text.as_bytes()).map(|end| end + 1));
        Self { text, masked: &masked.text, starts }
    }

    pub(super) fn count(&self) -> usize {
        self.starts.len()
    }

    /// Returns a line as it stands, counted from 0.
    pub(super) fn line(&self, at: usize) -> &'t str {
        self.of(self.text, at)
    }

    fn of(&self, text: &'t str, at: usize) -> &'t str {
        let Some(start) = self.starts.get(at) else { return "" };
        let end = self.starts.get(at + 1).map_or(text.len(), |next| next - 1);
        text.get(*start..end).unwrap_or_default()
    }

    fn text_at(&self, at: usize) -> &'t str {
        self.line(at).trim()
    }

    fn masked_at(&self, at: usize) -> &'t str {
        self.of(self.masked, at).trim_ascii()
    }

    fn is_comment(&self, at: usize) -> bool {
        self.masked_at(at).is_empty() && !self.text_at(at).is_empty()
    }

    /// Returns the head of a definition on one line, without the brace that opens its body.
    pub(super) fn signature(&self, symbol: &Symbol) -> String {
        let mut head = String::new();
        let mut open = 0_i32;
        for at in (symbol.line as usize).saturating_sub(1)..(symbol.line as usize).saturating_add(7) {
            if at >= self.count() {
                break;
            }
            let line = self.line(at);
            if !head.is_empty() {
                head.push(' ');
            }
            head.push_str(line.trim());
            let masked = self.masked_at(at);
            open += masked.bytes().fold(0, |open, byte| match byte {
                b'(' | b'[' => open + 1,
                b')' | b']' => open - 1,
                _ => open,
            });
            if open <= 0 || head.len() > MAX_SIGNATURE {
                break;
            }
        }
        let head = head.replace("( ", "(").replace(", )", ")");
        bounded(head.trim_end_matches(['{', ' ', '\t']), MAX_SIGNATURE)
    }

    /// Returns the text about a definition: as a rule some lines, without the signs of comments.
    pub(super) fn doc(&self, symbol: &Symbol) -> String {
        let line = (symbol.line as usize).saturating_sub(1);
        let mut found = Vec::new();
        let mut at = line;
        let lowest = line.saturating_sub(MAX_LINES);
        while at > lowest {
            at -= 1;
            let masked = self.masked_at(at);
            if self.is_comment(at) {
                found.push(prose(self.text_at(at)));
            } else if masked.is_empty() && found.is_empty() && at + 1 < line && at > 0 && self.is_comment(at - 1) {
                // An empty line between what is said and the attributes.
            } else if !is_attribute(masked, found.is_empty() && line - at < 6) {
                break;
            }
        }
        found.reverse();
        let has_body = !matches!(symbol.kind, SymbolKind::Constant | SymbolKind::Variable | SymbolKind::Property);
        if found.is_empty() && has_body {
            self.below(line, &mut found);
        }
        found.join("\n")
    }

    /// Returns the line and the text of what is said about the file itself: the first comment before the first
    /// definition, unless it is about that.
    pub(super) fn file_doc(&self, first: Option<&Symbol>) -> (u32, String) {
        let end = first.map_or(self.count(), |symbol| (symbol.line as usize).saturating_sub(1)).min(MAX_LINES);
        let marks = ["\"\"\"", "'''"];
        let is_text = |at: &usize| marks.iter().any(|mark| self.text_at(*at).trim_start_matches('r').starts_with(mark));
        let says = |at: &usize| is_text(at) || self.is_comment(*at) && !prose(self.text_at(*at)).is_empty();
        let Some(start) = (0..end).find(says) else { return (1, String::new()) };
        let mut found = Vec::new();
        let stands_alone = if is_text(&start) {
            let mark = if self.text_at(start).contains(marks[0]) { marks[0] } else { marks[1] };
            let mut at = start;
            loop {
                let line = self.text_at(at);
                found.push(line.trim_start_matches('r').replace(mark, ""));
                let ends = line.matches(mark).count() >= if at == start { 2 } else { 1 };
                at += 1;
                if ends || at >= start + MAX_LINES || at >= self.count() {
                    break true;
                }
            }
        } else {
            let mut at = start;
            let mut is_law = false;
            while at < end && self.is_comment(at) {
                is_law |= LAW.as_ref().is_some_and(|law| law.is_match(self.text_at(at)));
                found.push(prose(self.text_at(at)));
                at += 1;
            }
            // What ends right above a definition is about that; in Rust and Go it may say that it is about the file.
            let line = self.text_at(start);
            !is_law && (at < end || line.starts_with("//!") || line.starts_with("// Package "))
        };
        let line = u32::try_from(start + 1).unwrap_or(1);
        (line, if stands_alone { found.join("\n") } else { String::new() })
    }

    /// Adds the lines of a text that is the first thing in a body, as Python has it.
    fn below(&self, line: usize, found: &mut Vec<String>) {
        let mut at = line;
        while at < line + MAX_LINES && !self.masked_at(at).ends_with(':') {
            at += 1;
        }
        let first = self.text_at(at + 1).trim_start_matches(['r', 'R', 'u', 'f', 'b']);
        let Some(mark) = ["\"\"\"", "'''"].into_iter().find(|mark| first.starts_with(mark)) else { return };
        let mut rest = &first[mark.len()..];
        for next in at + 2..at + 2 + MAX_LINES {
            if let Some((before, _)) = rest.split_once(mark) {
                found.push(before.trim().to_owned());
                return;
            }
            found.push(rest.trim().to_owned());
            rest = self.text_at(next);
        }
    }
}

/// Returns the first sentence of a text on one line.
pub(super) fn first_sentence(doc: &str) -> String {
    let lines = doc.lines().map(str::trim).skip_while(|line| line.is_empty());
    let paragraph: Vec<&str> = lines.take_while(|line| !line.is_empty() && !line.starts_with('@')).collect();
    let text = paragraph.join(" ");
    let end = [". ", "! ", "? "].iter().filter_map(|end| text.find(end)).min().map_or(text.len(), |at| at + 1);
    bounded(&text[..end], MAX_SENTENCE)
}

/// Returns what a line of a comment says: nothing for one that is for a program or only draws a line.
fn prose(line: &str) -> String {
    if line.starts_with("#!") {
        return String::new();
    }
    let line = line.trim_start_matches(['/', '*', '#', '!', '-', ';', ' ', '\t']);
    let line = line.trim_end_matches(['*', '/', ' ', '=', '-', '#']);
    let text = if line.contains('<') && line.contains('>') { without_tags(line) } else { line.to_owned() };
    if NO_PROSE.as_ref().is_some_and(|no_prose| no_prose.is_match(&text)) {
        return String::new();
    }
    text.trim().to_owned()
}

fn without_tags(line: &str) -> String {
    let mut text = String::new();
    let mut in_tag = false;
    for sign in line.chars() {
        match sign {
            '<' => in_tag = true,
            '>' if in_tag => in_tag = false,
            _ if in_tag => {}
            sign => text.push(sign),
        }
    }
    text
}

/// What is in a line of a license, which says nothing of what it stands above.
const LICENSE: &str =
    r"Copyright \(|Copyright ©|SPDX-|Licensed under|Permission is hereby|Permission to use|Redistribution and use";
static LAW: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(LICENSE).ok());
/// The same, and what is in a line for a program.
static NO_PROSE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let magic = r"frozen_string_literal|-\*-|eslint-|noinspection|pylint:|rubocop:|nolint|type:";
    Regex::new(&format!("{LICENSE}|{magic}")).ok()
});

/// Returns `true` for a line that may stand between a definition and what is said about it.
fn is_attribute(masked: &str, is_near: bool) -> bool {
    masked.starts_with("#[")
        || masked.starts_with('@')
        || masked.starts_with('[') && masked.ends_with(']')
        || masked.starts_with("template")
        || is_near && !masked.is_empty() && masked.len() < 60 && !masked.ends_with([';', '}', '{', ':', ',', ')'])
}

/// Returns `text` on one line with at most so many characters.
pub(super) fn bounded(text: &str, most: usize) -> String {
    let mut line = String::new();
    for word in text.split(|sign: char| sign.is_whitespace() || sign.is_control()).filter(|word| !word.is_empty()) {
        if !line.is_empty() {
            line.push(' ');
        }
        line.extend(word.chars().take(most));
        if line.len() > 4 * most {
            break;
        }
    }
    if let Some((cut, _)) = line.char_indices().nth(most) {
        line.truncate(cut);
        line.push('…');
    }
    line
}
