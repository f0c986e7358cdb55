//! A small reader of Rust source: enough to tell code from comments and strings, and to find functions and paths.
//!
//! Owns the scanning; leaves the rules to `tidy`. Invariant: blanking keeps every line where it was.

use std::iter::Peekable;
use std::str::Chars;

/// Replaces comments and the contents of string and character literals by blanks. Line ends stay.
pub(super) fn blank(source: &str) -> String {
    let mut blanker = Blanker { rest: source.chars().peekable(), out: String::with_capacity(source.len()) };
    blanker.run();
    blanker.out
}

struct Blanker<'a> {
    rest: Peekable<Chars<'a>>,
    out: String,
}

impl Blanker<'_> {
    fn run(&mut self) {
        while let Some(c) = self.rest.next() {
            match c {
                '/' if self.rest.peek() == Some(&'/') => self.line_comment(),
                '/' if self.rest.peek() == Some(&'*') => self.block_comment(),
                '"' => self.string(),
                '\'' => self.quote(),
                'r' | 'b' | 'c' if !self.out.ends_with(is_word) => self.maybe_prefixed(c),
                c => self.out.push(c),
            }
        }
    }

    fn hide(&mut self, c: char) {
        self.out.push(if c == '\n' { '\n' } else { ' ' });
    }

    fn line_comment(&mut self) {
        self.out.push(' ');
        while let Some(c) = self.rest.next_if(|c| *c != '\n') {
            self.hide(c);
        }
    }

    fn block_comment(&mut self) {
        self.out.push(' ');
        let (mut depth, mut before) = (0_u32, '/');
        while let Some(c) = self.rest.next() {
            self.hide(c);
            match (before, c) {
                ('/', '*') => depth += 1,
                ('*', '/') => depth -= 1,
                _ => {
                    before = c;
                    continue;
                }
            }
            before = ' ';
            if depth == 0 {
                return;
            }
        }
    }

    fn string(&mut self) {
        self.out.push('"');
        while let Some(c) = self.rest.next() {
            match c {
                '"' => return self.out.push('"'),
                '\\' => {
                    self.hide(c);
                    if let Some(escaped) = self.rest.next() {
                        self.hide(escaped);
                    }
                }
                c => self.hide(c),
            }
        }
    }

    /// A character literal or a lifetime.
    fn quote(&mut self) {
        let mut ahead = self.rest.clone();
        let first = ahead.next();
        if first != Some('\\') && ahead.next() != Some('\'') {
            return self.out.push('\'');
        }
        self.out.push('\'');
        while let Some(c) = self.rest.next() {
            match c {
                '\'' => return self.out.push('\''),
                '\\' => {
                    self.hide(c);
                    if let Some(escaped) = self.rest.next() {
                        self.hide(escaped);
                    }
                }
                c => self.hide(c),
            }
        }
    }

    /// `r"…"`, `r#"…"#`, `br"…"`, `b"…"`, `c"…"`, `b'…'`, or a plain word.
    fn maybe_prefixed(&mut self, first: char) {
        self.out.push(first);
        if first != 'r' && self.rest.peek() == Some(&'r') {
            let mut ahead = self.rest.clone();
            ahead.next();
            if matches!(ahead.peek(), Some('"' | '#')) {
                self.out.push('r');
                self.rest.next();
                self.raw_string();
            }
        } else if first == 'r' {
            self.raw_string();
        }
    }

    fn raw_string(&mut self) {
        let mut ahead = self.rest.clone();
        let mut fence = 0;
        while ahead.next_if_eq(&'#').is_some() {
            fence += 1;
        }
        if ahead.next() != Some('"') {
            return; // a raw identifier or a plain word
        }
        self.rest = ahead;
        self.out.extend(std::iter::repeat_n(' ', fence));
        self.out.push('"');
        while let Some(c) = self.rest.next() {
            if c == '"' {
                let mut end = self.rest.clone();
                if (0..fence).all(|_| end.next() == Some('#')) {
                    self.rest = end;
                    self.out.push('"');
                    return self.out.extend(std::iter::repeat_n(' ', fence));
                }
            }
            self.hide(c);
        }
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// A function with a body.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Function {
    pub(super) name: String,
    /// Line of the `fn`, from 1.
    pub(super) line: usize,
    /// From the line of the `fn` to that of the closing brace, both counted.
    pub(super) lines: usize,
}

/// Finds the functions of blanked source.
pub(super) fn functions(blanked: &str) -> Vec<Function> {
    let tokens = tokens(blanked);
    let mut found = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let Some(name) = tokens.get(at + 1).filter(|next| token.text == "fn" && next.text.starts_with(is_word)) else {
            continue;
        };
        let (mut inner, mut braces) = (0_usize, 0_usize);
        for token in &tokens[at + 2..] {
            match token.text {
                "(" | "[" => inner += 1,
                ")" | "]" => inner = inner.saturating_sub(1),
                ";" if inner == 0 && braces == 0 => break,
                "{" => braces += 1,
                "}" if braces == 1 && inner == 0 => {
                    let lines = token.line - tokens[at].line + 1;
                    found.push(Function { name: name.text.to_owned(), line: tokens[at].line, lines });
                    break;
                }
                "}" => braces = braces.saturating_sub(1),
                _ => {}
            }
        }
    }
    found
}

/// A path that starts at the crate's root, as its segments. A grouped import makes one path for each member.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct CratePath {
    pub(super) room: String,
    pub(super) line: usize,
}

/// Finds the rooms that blanked source names. `depth` is the number of modules above the file's own content, so that
/// `super::` chains that reach the root count as well.
pub(super) fn rooms_named(blanked: &str, depth: usize) -> Vec<CratePath> {
    let tokens = tokens(blanked);
    let mut found = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let after_path = at > 0 && tokens[at - 1].text == "::";
        let root = match tokens[at].text {
            "crate" if !after_path => Some(at + 1),
            "super" if !after_path => root_after_supers(&tokens, at, depth),
            _ => None,
        };
        at += 1;
        let Some(root) = root.filter(|root| tokens.get(*root).is_some_and(|token| token.text == "::")) else {
            continue;
        };
        found.extend(first_segments(&tokens, root + 1));
    }
    found
}

/// Returns the position after a chain of `super` that ends at the crate's root.
fn root_after_supers(tokens: &[Token<'_>], start: usize, depth: usize) -> Option<usize> {
    let mut at = start;
    let mut supers = 1;
    while tokens.get(at + 1).is_some_and(|t| t.text == "::") && tokens.get(at + 2).is_some_and(|t| t.text == "super") {
        supers += 1;
        at += 2;
    }
    (supers == depth).then_some(at + 1)
}

/// Returns the segment at `at`, or the first segments of every member of the group there.
fn first_segments(tokens: &[Token<'_>], at: usize) -> Vec<CratePath> {
    let Some(first) = tokens.get(at) else { return Vec::new() };
    if first.text != "{" {
        return vec![CratePath { room: first.text.to_owned(), line: first.line }];
    }
    let (mut depth, mut starts, mut found) = (0_usize, true, Vec::new());
    for token in &tokens[at..] {
        match token.text {
            "{" => depth += 1,
            "}" if depth == 1 => break,
            "}" => depth -= 1,
            "," if depth == 1 => starts = true,
            text if depth == 1 && starts => {
                starts = false;
                found.push(CratePath { room: text.to_owned(), line: token.line });
            }
            _ => {}
        }
    }
    found
}

/// Returns the names of the modules that blanked source declares in files of their own.
pub(super) fn modules(blanked: &str) -> Vec<String> {
    let tokens = tokens(blanked);
    tokens
        .windows(3)
        .filter(|three| three[0].text == "mod" && three[2].text == ";")
        .map(|three| three[1].text.to_owned())
        .collect()
}

struct Token<'a> {
    text: &'a str,
    line: usize,
}

fn tokens(blanked: &str) -> Vec<Token<'_>> {
    let mut found = Vec::new();
    for (index, line) in blanked.lines().enumerate() {
        let mut rest = line.trim_start();
        while let Some(c) = rest.chars().next() {
            let length = if is_word(c) {
                rest.find(|c| !is_word(c)).unwrap_or(rest.len())
            } else if rest.starts_with("::") {
                2
            } else {
                c.len_utf8()
            };
            let (text, after) = rest.split_at(length);
            found.push(Token { text, line: index + 1 });
            rest = after.trim_start();
        }
    }
    found
}
