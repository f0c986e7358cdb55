//! Here-documents, cut out of a line before its grammar is looked at.
//!
//! Owns where bash begins and ends them. Leaves what their text means to `line`. Invariant: a line in which that is not certain
//! is an error that says why.

/// Stands for a here-document in the line without them, before its number. No file is called so.
pub(super) const MARK: char = '\u{e000}';
const UNENDED: &str = "a here-document in it has no end";
const UNCLEAR: &str = "a part of it is not understood";

/// The text that a command gets as its input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HereDoc {
    pub(super) text: String,
    /// Whether the text stands for itself. Otherwise the shell fills it in.
    pub(super) is_literal: bool,
}

/// What the scanner is within.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Within {
    /// Commands, up to a parenthesis.
    Parens,
    Quotes,
    Backticks,
    /// `${…}`
    Braces,
    /// `((…))`
    Sum,
}

/// What stands in a line where a here-document is wanted.
struct Wanted {
    end: String,
    strips_tabs: bool,
    is_literal: bool,
}

struct Scanner<'a> {
    rest: &'a str,
    kept: String,
    within: Vec<Within>,
    wanted: Vec<Wanted>,
    found: Vec<HereDoc>,
}

/// Returns a line without its here-documents, and these.
pub(super) fn cut(line: &str) -> Result<(String, Vec<HereDoc>), &'static str> {
    if line.contains(MARK) {
        return Err(UNCLEAR);
    }
    if !line.contains("<<") {
        return Ok((line.to_owned(), Vec::new()));
    }
    let mut scanner = Scanner::over(line);
    while scanner.step()? {}
    if scanner.wanted.is_empty() { Ok((scanner.kept, scanner.found)) } else { Err(UNENDED) }
}

/// Returns the commands that the shell runs while it fills in a text, as lines.
pub(super) fn commands_in(text: &str) -> Result<Vec<String>, &'static str> {
    let (mut rest, mut lines) = (text, Vec::new());
    while let Some(at) = rest.find(['\\', '`', '$']) {
        let (sign, after) = rest[at..].split_at(1);
        rest = match sign {
            "\\" => after.get(after.chars().next().map_or(0, char::len_utf8)..).unwrap_or_default(),
            "`" => {
                let (inside, after) = after.split_once('`').ok_or(UNCLEAR)?;
                if inside.contains('\\') {
                    return Err(UNCLEAR);
                }
                lines.push(inside.to_owned());
                after
            }
            _ => match after.strip_prefix('(').filter(|inside| !inside.starts_with('(')) {
                None => after,
                Some(inside) => {
                    let end = end_of_parens(inside)?;
                    lines.push(inside[..end].to_owned());
                    &inside[end..]
                }
            },
        };
    }
    Ok(lines)
}

/// Returns where the parenthesis ends that stands before a text.
fn end_of_parens(text: &str) -> Result<usize, &'static str> {
    let mut scanner = Scanner { within: vec![Within::Parens], ..Scanner::over(text) };
    loop {
        let left = scanner.rest.len();
        if !scanner.step()? {
            return Err(UNCLEAR);
        }
        if scanner.within.is_empty() {
            return Ok(text.len() - left);
        }
    }
}

impl<'a> Scanner<'a> {
    fn over(line: &'a str) -> Self {
        Self { rest: line, kept: String::new(), within: Vec::new(), wanted: Vec::new(), found: Vec::new() }
    }

    fn keep(&mut self, bytes: usize) {
        let (kept, rest) = self.rest.split_at(bytes);
        self.kept.push_str(kept);
        self.rest = rest;
    }

    /// Takes one sign, or what belongs together; `false` at the end.
    fn step(&mut self) -> Result<bool, &'static str> {
        let Some(c) = self.rest.chars().next() else { return Ok(false) };
        let within = self.within.last().copied();
        let runs = matches!(within, None | Some(Within::Parens | Within::Backticks));
        let starts_word = self.kept.chars().next_back().is_none_or(|c| " \t\n;&|()".contains(c));
        let follows = |text: &str| self.rest.starts_with(text);
        match c {
            '\\' => {
                let escaped = self.rest[1..].chars().next().map_or(0, char::len_utf8);
                self.keep(1 + escaped);
            }
            '\'' if within != Some(Within::Quotes) => {
                let end = self.rest[1..].find('\'').ok_or(UNCLEAR)?;
                self.keep(end + 2);
            }
            '"' => self.toggle(Within::Quotes, within),
            '`' => self.toggle(Within::Backticks, within),
            '#' if runs && starts_word => {
                let end = self.rest.find('\n').unwrap_or(self.rest.len());
                self.keep(end);
            }
            '$' if follows("$((") => self.enter(Within::Sum, 3),
            '$' if follows("$(") => self.enter(Within::Parens, 2),
            '$' if follows("${") => self.enter(Within::Braces, 2),
            '(' if runs && follows("((") => self.enter(Within::Sum, 2),
            '(' if within != Some(Within::Quotes) => self.enter(Within::Parens, 1),
            ')' if within == Some(Within::Sum) && follows("))") => self.leave(2),
            ')' if within == Some(Within::Parens) => self.leave(1),
            '}' if within == Some(Within::Braces) => self.leave(1),
            '<' if runs && follows("<<<") => self.keep(3),
            '<' if runs && follows("<<") => self.redirection()?,
            '\n' if runs && !self.wanted.is_empty() => {
                self.keep(1);
                self.bodies()?;
            }
            c => self.keep(c.len_utf8()),
        }
        Ok(true)
    }

    fn enter(&mut self, within: Within, bytes: usize) {
        self.within.push(within);
        self.keep(bytes);
    }

    fn leave(&mut self, bytes: usize) {
        self.within.pop();
        self.keep(bytes);
    }

    fn toggle(&mut self, sign: Within, within: Option<Within>) {
        if within == Some(sign) { self.leave(1) } else { self.enter(sign, 1) }
    }

    /// Reads `<<'END'`, and puts a mark in its place.
    fn redirection(&mut self) -> Result<(), &'static str> {
        let after = &self.rest[2..];
        let (strips_tabs, after) = after.strip_prefix('-').map_or((false, after), |after| (true, after));
        let after = after.trim_start_matches([' ', '\t']);
        let (mut end, mut is_literal, mut quote) = (String::new(), false, None);
        let mut signs = after.char_indices();
        let length = loop {
            let Some((at, c)) = signs.next() else { break after.len() };
            match (quote, c) {
                (Some(open), _) if open == c => quote = None,
                (None, '"' | '\'') => (quote, is_literal) = (Some(c), true),
                (None, '\\') => {
                    is_literal = true;
                    end.push(signs.next().ok_or(UNCLEAR)?.1);
                }
                (_, '$' | '`' | '\\' | '\n') if quote.is_some() || c != '\n' => return Err(UNCLEAR),
                (None, ' ' | '\t' | '\n' | ';' | '&' | '|' | '(' | ')' | '<' | '>') => break at,
                _ => end.push(c),
            }
        };
        if quote.is_some() || (end.is_empty() && !is_literal) {
            return Err(UNCLEAR);
        }
        self.kept.push('<');
        self.kept.push(MARK);
        self.kept.push_str(&(self.found.len() + self.wanted.len()).to_string());
        self.rest = &after[length..];
        self.wanted.push(Wanted { end, strips_tabs, is_literal });
        Ok(())
    }

    /// Takes away the here-documents that begin at the start of a line.
    fn bodies(&mut self) -> Result<(), &'static str> {
        for Wanted { end, strips_tabs, is_literal } in std::mem::take(&mut self.wanted) {
            let mut text = String::new();
            loop {
                if self.rest.is_empty() {
                    return Err(UNENDED);
                }
                let (line, rest) = self.rest.split_once('\n').unwrap_or((self.rest, ""));
                self.rest = rest;
                let line = if strips_tabs { line.trim_start_matches('\t') } else { line };
                if line == end {
                    break;
                }
                text.push_str(line);
                text.push('\n');
            }
            // Where the shell joins lines, the end may be another one.
            if !is_literal && text.contains("\\\n") && text.split("\\\n").skip(1).any(|rest| rest.starts_with(&end)) {
                return Err(UNCLEAR);
            }
            self.found.push(HereDoc { text, is_literal });
        }
        Ok(())
    }
}
