//! A source file with its comments and literals blanked, so that no pattern finds a definition in them.
//!
//! Owns where both begin and end. Invariant: the result has the length and the line ends of the text, so that an offset
//! in one is an offset in the other; it takes one pass, whatever the text holds.

use super::language::{COMMENT, LITERAL, Language, Literal, QUIRK, Quirk};

/// What stands for a sign of a literal.
pub(super) const FILLER: u8 = 1;

/// A text without comments and literals.
pub(super) struct Masked {
    pub(super) text: String,
    /// For each line, whether it begins inside a comment or a literal.
    pub(super) inside: Vec<bool>,
}

pub(super) fn mask(text: &str, language: &Language) -> Masked {
    let mut masker =
        Masker { bytes: text.as_bytes(), out: Vec::with_capacity(text.len()), inside: vec![false], language };
    masker.run();
    // Only whole signs are replaced, each by signs of one byte.
    Masked { text: String::from_utf8(masker.out).unwrap_or_default(), inside: masker.inside }
}

struct Masker<'t> {
    bytes: &'t [u8],
    out: Vec<u8>,
    inside: Vec<bool>,
    language: &'t Language,
}

impl Masker<'_> {
    fn run(&mut self) {
        if self.language.has(Quirk::Tags) {
            self.text_up_to_tag();
        }
        let mut heredocs: Vec<(String, bool)> = Vec::new();
        let language = self.language;
        let signs = &language.signs;
        let plain = |byte: &u8| *byte != b'\n' && signs[usize::from(*byte)] == 0;
        while self.out.len() < self.bytes.len() {
            let run = self.rest().iter().take_while(|byte| plain(byte)).count();
            let at = self.out.len();
            self.out.extend_from_slice(&self.bytes[at..at + run]);
            let Some(&byte) = self.bytes.get(at + run) else { break };
            if byte == b'\n' {
                self.keep(1);
                for (tag, indented) in std::mem::take(&mut heredocs) {
                    self.heredoc(&tag, indented);
                }
                continue;
            }
            let begins = |bit: u8| signs[usize::from(byte)] & bit != 0;
            let is_blanked = begins(COMMENT) && self.comment()
                || begins(QUIRK) && self.quirk(byte, &mut heredocs)
                || begins(LITERAL) && self.literal();
            if !is_blanked {
                self.keep(1);
            }
        }
    }

    fn rest(&self) -> &[u8] {
        &self.bytes[self.out.len()..]
    }

    fn last(&self) -> u8 {
        self.out.last().copied().unwrap_or(b'\n')
    }

    fn keep(&mut self, count: usize) {
        for _ in 0..count {
            let Some(&byte) = self.bytes.get(self.out.len()) else { return };
            self.out.push(byte);
            if byte == b'\n' {
                self.inside.push(false);
            }
        }
    }

    /// Blanks so many bytes.
    fn fill(&mut self, count: usize, filler: u8) {
        let end = self.out.len().saturating_add(count).min(self.bytes.len());
        while self.out.len() < end {
            let rest = &self.bytes[self.out.len()..end];
            let line = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
            self.out.resize(self.out.len() + line, filler);
            if line < rest.len() {
                self.out.push(b'\n');
                self.inside.push(true);
            }
        }
    }

    fn comment(&mut self) -> bool {
        let language = self.language;
        for (open, close) in &language.block_comments {
            // `=begin` and its relations count at the beginning of a line only.
            if self.rest().starts_with(open.as_bytes()) && (!open.starts_with('=') || self.last() == b'\n') {
                let length = self.block_comment(open, close);
                self.fill(length, b' ');
                return true;
            }
        }
        let loose = language.has(Quirk::LooseHash);
        for open in &language.line_comments {
            if self.rest().starts_with(open.as_bytes())
                && (!loose || open != "#" || matches!(self.last(), b' ' | b'\t' | b'\n' | b';' | b')' | b'('))
                && (open != "#" || !self.rest().starts_with(b"#["))
            {
                let length = memchr::memchr(b'\n', self.rest()).unwrap_or(self.rest().len());
                self.fill(length, b' ');
                return true;
            }
        }
        false
    }

    fn block_comment(&self, open: &str, close: &str) -> usize {
        let (rest, open, close) = (self.rest(), open.as_bytes(), close.as_bytes());
        if !self.language.nested {
            let inner = memchr::memmem::find(&rest[open.len()..], close);
            return inner.map_or(rest.len(), |inner| open.len() + inner + close.len());
        }
        let (mut at, mut depth) = (open.len(), 1);
        while at < rest.len() {
            if rest[at..].starts_with(close) {
                depth -= 1;
                at += close.len();
                if depth == 0 {
                    return at;
                }
            } else if rest[at..].starts_with(open) {
                depth += 1;
                at += open.len();
            } else {
                at += 1;
            }
        }
        rest.len()
    }

    fn literal(&mut self) -> bool {
        let language = self.language;
        let Some(literal) = language.literals.iter().find(|literal| self.rest().starts_with(literal.open.as_bytes()))
        else {
            return false;
        };
        let (open, close) = (literal.open.len(), literal.close.len());
        let inner = self.length(literal);
        self.keep(open);
        self.fill(inner, FILLER);
        if self.rest().starts_with(literal.close.as_bytes()) {
            self.keep(close);
        }
        true
    }

    /// Returns how long the inside of a literal is that begins here.
    fn length(&self, literal: &Literal) -> usize {
        let (rest, close) = (&self.rest()[literal.open.len()..], literal.close.as_bytes());
        if let Some((open, end)) = &literal.code {
            return with_code(rest, close, open.as_bytes(), end.as_bytes()).unwrap_or(rest.len());
        }
        let Some(&sign) = close.first() else { return rest.len() };
        let mut at = 0;
        while let Some(next) = rest.get(at..).and_then(|rest| memchr::memchr3(sign, b'\\', b'\n', rest)) {
            at += next;
            match rest[at] {
                b'\\' if literal.escape => at += 1,
                b'\n' if !literal.lines => return at,
                _ if rest[at..].starts_with(close) => return at,
                _ => {}
            }
            at += 1;
        }
        rest.len()
    }

    fn quirk(&mut self, byte: u8, heredocs: &mut Vec<(String, bool)>) -> bool {
        let language = self.language;
        language.quirks.iter().any(|quirk| match (quirk, byte) {
            (Quirk::Chars, b'\'') => self.char_literal(),
            (Quirk::RustRaw, b'r' | b'b') => self.rust_raw(),
            (Quirk::CppRaw, b'R') => self.cpp_raw(),
            (Quirk::Regex, b'/') => self.regex(),
            (Quirk::Question, b'?') => self.question_char(),
            (Quirk::Template, b'`') => self.template(),
            (Quirk::Percent, b'%') => self.percent(),
            (Quirk::Heredoc, b'<') => {
                heredocs.extend(self.heredoc_tag());
                false
            }
            (Quirk::Tags, b'?') if self.rest().starts_with(b"?>") => {
                self.text_up_to_tag();
                true
            }
            _ => false,
        })
    }

    fn char_literal(&mut self) -> bool {
        let rest = self.rest();
        let length = match rest.get(1) {
            Some(b'\\') => rest.iter().take(14).skip(3).position(|byte| *byte == b'\'').map(|at| at + 2),
            Some(b'\'' | b'\n') | None => None,
            Some(_) => rest.iter().take(6).skip(2).position(|byte| *byte == b'\'').map(|at| at + 1),
        };
        let Some(inner) = length.filter(|inner| {
            // `'a, 'b` are two lifetimes: what lies between is one sign.
            rest[1] == b'\\' || std::str::from_utf8(&rest[1..=*inner]).is_ok_and(|inner| inner.chars().count() == 1)
        }) else {
            self.keep(1);
            return true;
        };
        self.keep(1);
        self.fill(inner, FILLER);
        self.keep(1);
        true
    }

    /// Blanks Ruby's `?x`.
    fn question_char(&mut self) -> bool {
        let rest = self.rest();
        let is_free = matches!(self.last(), b' ' | b'(' | b',' | b'[');
        let is_one = rest.get(2).is_none_or(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_');
        if is_free && is_one && rest.get(1).is_some_and(u8::is_ascii_graphic) {
            self.keep(1);
            self.fill(1, FILLER);
            return true;
        }
        false
    }

    fn rust_raw(&mut self) -> bool {
        let rest = self.rest();
        if self.last().is_ascii_alphanumeric() || self.last() == b'_' {
            return false;
        }
        let prefix = if rest.starts_with(b"br") { 2 } else { usize::from(rest.starts_with(b"r")) };
        let hashes = rest[prefix..].iter().take_while(|byte| **byte == b'#').count();
        if prefix == 0 || rest.get(prefix + hashes) != Some(&b'"') {
            return false;
        }
        let close = [b"\"".as_slice(), &b"#".repeat(hashes)].concat();
        self.raw(prefix + hashes + 1, &close)
    }

    fn cpp_raw(&mut self) -> bool {
        let rest = self.rest();
        let Some(tag) = rest.strip_prefix(b"R\"").and_then(|rest| {
            let end = rest.iter().take(20).position(|byte| *byte == b'(')?;
            Some(rest[..end].to_vec())
        }) else {
            return false;
        };
        let close = [b")".as_slice(), &tag, b"\""].concat();
        self.raw(tag.len() + 3, &close)
    }

    /// Blanks a literal that ends with `close` and knows no escapes.
    fn raw(&mut self, open: usize, close: &[u8]) -> bool {
        self.keep(open);
        let inner = memchr::memmem::find(self.rest(), close).unwrap_or(self.rest().len());
        self.fill(inner, FILLER);
        self.keep(close.len());
        true
    }

    /// Blanks a regular expression, if an operand is expected here and not an operator.
    fn regex(&mut self) -> bool {
        let before = self.out.trim_ascii_end();
        let word = before.rsplit(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_').next().unwrap_or_default();
        let expected = match before.last() {
            None => true,
            Some(_) if !word.is_empty() => {
                matches!(
                    word,
                    b"return" | b"typeof" | b"case" | b"in" | b"of" | b"if" | b"when" | b"and" | b"or" | b"unless"
                )
            }
            Some(sign) => b"(,=:[!&|?{};+-*~<>^%".contains(sign),
        };
        if !expected {
            return false;
        }
        let rest = self.rest();
        let (mut at, mut class) = (1, false);
        while at < rest.len() && rest[at] != b'\n' {
            match rest[at] {
                b'\\' => at += 1,
                b'[' => class = true,
                b']' => class = false,
                b'/' if !class => {
                    self.keep(1);
                    self.fill(at - 1, FILLER);
                    self.keep(1);
                    return true;
                }
                _ => {}
            }
            at += 1;
        }
        false
    }

    /// Blanks a template with everything that is computed in it.
    fn template(&mut self) -> bool {
        let rest = self.rest();
        // Braces of what is computed, and templates in that.
        let (mut at, mut open): (usize, Vec<u8>) = (1, vec![b'`']);
        while at < rest.len() {
            match (rest[at], open.last()) {
                (b'\\', _) => at += 1,
                (b'`', Some(b'`')) => {
                    open.pop();
                    if open.is_empty() {
                        break;
                    }
                }
                (b'`', _) => open.push(b'`'),
                (b'$', Some(b'`')) if rest.get(at + 1) == Some(&b'{') => {
                    open.push(b'{');
                    at += 1;
                }
                (b'{', Some(b'{')) => open.push(b'{'),
                (b'}', Some(b'{')) => {
                    open.pop();
                }
                _ => {}
            }
            at += 1;
        }
        let inner = at.min(rest.len()) - 1;
        self.keep(1);
        self.fill(inner, FILLER);
        self.keep(1);
        true
    }

    /// Blanks Ruby's `%w[…]`, `%(…)` and so on.
    fn percent(&mut self) -> bool {
        let rest = self.rest();
        let letter = usize::from(rest.get(1).is_some_and(|byte| b"wWiIqQrsx".contains(byte)));
        let Some(&sign) = rest.get(1 + letter) else { return false };
        let close = match sign {
            b'(' => b')',
            b'[' => b']',
            b'{' => b'}',
            b'<' => b'>',
            b'|' | b'!' | b'/' if letter == 1 => sign,
            _ => return false,
        };
        let before = self.out.trim_ascii_end().last().copied().unwrap_or(b'\n');
        let blank = matches!(self.last(), b' ' | b'\t' | b'\n' | b'(' | b'[' | b',' | b'=');
        if letter == 0 && (!blank || before.is_ascii_alphanumeric() || before == b')') {
            return false;
        }
        let (mut at, mut depth) = (letter + 2, 1);
        while at < rest.len() {
            match rest[at] {
                b'\\' => at += 1,
                byte if byte == close => {
                    depth -= 1;
                    if depth == 0 {
                        break;
                    }
                }
                byte if byte == sign => depth += 1,
                _ => {}
            }
            at += 1;
        }
        let inner = at.min(rest.len()).saturating_sub(letter + 2);
        self.keep(1);
        self.fill(letter + 1, FILLER);
        self.fill(inner, FILLER);
        self.fill(1, FILLER);
        true
    }

    /// Returns the tag of a here document that is announced here, and whether its end may be indented.
    fn heredoc_tag(&self) -> Option<(String, bool)> {
        let rest = self.rest().strip_prefix(b"<<")?;
        if self.last() == b'<' {
            return None;
        }
        let php = self.language.has(Quirk::Tags) && rest.first() == Some(&b'<');
        let rest = if php { rest[1..].trim_ascii_start() } else { rest };
        let indented = php || matches!(rest.first(), Some(b'-' | b'~'));
        let rest = if matches!(rest.first(), Some(b'-' | b'~')) { &rest[1..] } else { rest };
        // Only a shell may have a blank there: elsewhere that is an operator.
        let rest = if self.language.parens { rest } else { rest.trim_ascii_start() };
        let rest = if matches!(rest.first(), Some(b'"' | b'\'' | b'\\')) { &rest[1..] } else { rest };
        let length = rest.iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count();
        let tag = std::str::from_utf8(&rest[..length]).ok()?;
        let is_tag = tag.starts_with(|c: char| c == '_' || c.is_ascii_uppercase() || (indented && c.is_alphabetic()));
        is_tag.then(|| (tag.to_owned(), indented))
    }

    fn heredoc(&mut self, tag: &str, indented: bool) {
        if let Some(inside) = self.inside.last_mut() {
            *inside = true;
        }
        while self.out.len() < self.bytes.len() {
            let rest = self.rest();
            let length = memchr::memchr(b'\n', rest).map_or(rest.len(), |at| at + 1);
            let line = &rest[..length];
            let line = if indented { line.trim_ascii_start() } else { line };
            let is_end = line
                .strip_prefix(tag.as_bytes())
                .is_some_and(|after| after.first().is_none_or(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_'));
            if is_end {
                self.keep(0);
                self.fill(length.saturating_sub(1), FILLER);
                return;
            }
            self.fill(length, FILLER);
        }
    }

    fn text_up_to_tag(&mut self) {
        let length = memchr::memmem::find(self.rest(), b"<?").unwrap_or(self.rest().len());
        self.fill(length, b' ');
        let rest = self.rest();
        let tag = if rest.starts_with(b"<?php") { 5 } else { 3 };
        self.fill(tag, b' ');
        if let Some(inside) = self.inside.last_mut() {
            *inside = false;
        }
    }
}

/// Returns where a literal ends in which code may stand between `open` and `end`, with literals of its own.
fn with_code(rest: &[u8], close: &[u8], open: &[u8], end: &[u8]) -> Option<usize> {
    // What is open: the literal itself, code, a bracket in code.
    let mut modes = vec![b'"'];
    let mut at = 0;
    while at < rest.len() {
        let in_text = modes.last() == Some(&b'"');
        if rest[at..].starts_with(open) && (in_text || open.starts_with(b"$")) {
            modes.push(b'c');
            at += open.len();
            continue;
        }
        if rest[at] == b'\\' {
            at += 2;
            continue;
        }
        if in_text {
            if rest[at..].starts_with(close) {
                modes.pop();
                if modes.is_empty() {
                    return Some(at);
                }
                at += close.len();
                continue;
            }
        } else if rest[at..].starts_with(close) {
            modes.push(b'"');
            at += close.len();
            continue;
        } else if rest[at..].starts_with(end) {
            modes.pop();
        } else if open.last() == Some(&rest[at]) {
            modes.push(b'c');
        } else if rest[at] == b'\'' && close != b"'" {
            // The text in single quotes is skipped if it ends on its line.
            let line = memchr::memchr2(b'\'', b'\n', &rest[at + 1..]);
            if let Some(length) = line.filter(|length| rest[at + 1 + length] == b'\'') {
                at += length + 1;
            }
        }
        at += 1;
    }
    None
}
