//! Definitions that begin with a line: in languages whose bodies stand in braces, and in those that indent them.
//!
//! Owns where a body begins and ends. Leaves what a line defines to the rules of its language.

use super::language::SymbolScope;
use super::mask::FILLER;
use super::outline::{FoundSymbol, OpenScope, Outline, Symbol, is_in_function};

/// Bytes and lines that a rule may look at.
const MAX_WINDOW: usize = 2_000;
const MAX_JOINED: usize = 25;

/// Returns the lines of a text with their ends.
fn full_lines(text: &str) -> impl Iterator<Item = &str> {
    let ends = memchr::memchr_iter(b'\n', text.as_bytes()).map(|end| end + 1).chain([text.len()]);
    ends.scan(0, |start, end| Some(&text[std::mem::replace(start, end)..end])).filter(|line| !line.is_empty())
}

struct Braces<'t> {
    outline: Outline<'t>,
    stack: Vec<OpenScope>,
    /// For each open scope, the sign that ends it and the parentheses that were open around it.
    open: Vec<(u8, u32)>,
    parens: u32,
    /// The scope of the next brace.
    pending: Option<(OpenScope, u8, u32)>,
}

/// Returns the definitions of a file whose bodies stand in braces.
pub(super) fn braces(outline: Outline<'_>) -> Vec<Symbol> {
    let masked = outline.masked;
    let mut state = Braces { outline, stack: Vec::new(), open: Vec::new(), parens: 0, pending: None };
    let mut start = 0;
    for (number, line) in full_lines(&masked.text).enumerate() {
        let inside = masked.inside.get(number).copied().unwrap_or(false);
        let mut body = start;
        if line.trim_ascii().is_empty() {
            if state.parens == 0 && !inside {
                state.pending = None;
            }
        } else if !inside && let Some(end) = state.definition(start, line, number + 1) {
            body = start + end;
        }
        state.signs(&masked.text.as_bytes()[start..start + line.len()], body - start, number + 1);
        start += line.len();
    }
    let last = masked.inside.len();
    while let Some(scope) = state.stack.pop() {
        state.outline.close(&scope, last);
    }
    state.outline.symbols
}

impl Braces<'_> {
    /// Adds what a line defines; returns where its name ends.
    fn definition(&mut self, start: usize, line: &str, number: usize) -> Option<usize> {
        let window = window(&self.outline, start, line);
        if let Some((scope, _, parens)) = &self.pending
            && scope.symbol.is_some()
            && scope.scope == SymbolScope::Type
            && self.parens == parens + 1
        {
            let found = self.outline.find(window, SymbolScope::Params, false, &self.stack)?;
            self.outline.add(found, number, std::slice::from_ref(scope));
            return None;
        }
        let scope = self.stack.last().map_or(SymbolScope::File, |scope| scope.scope);
        let mut found = if self.parens == 0 { self.outline.find(window, scope, false, &self.stack) } else { None };
        // A definition at the margin stands in no function: something before it was read wrongly.
        let at_margin = line.starts_with(|c: char| c.is_ascii_alphabetic());
        if found.is_none() && at_margin && (self.parens > 0 || is_in_function(&self.stack)) {
            found = self.outline.find(window, SymbolScope::File, false, &[]).filter(FoundSymbol::is_sure);
            if found.is_some() {
                self.parens = 0;
                while let Some(scope) = self.stack.pop() {
                    self.outline.close(&scope, number.saturating_sub(1));
                }
                self.open.clear();
            }
        }
        let found = found?;
        let (end, opener) = (found.name_end, found.opener);
        // The name may stand on a later line of the window.
        let later = window[..found.name_start.min(window.len())].bytes().filter(|byte| *byte == b'\n').count();
        let scope = self.outline.add(found, number + later, &self.stack);
        self.pending = Some((scope, opener, self.parens));
        Some(end.min(line.len()))
    }

    /// Follows parentheses and braces; what is pending counts from `body` on.
    fn signs(&mut self, line: &[u8], body: usize, number: usize) {
        let counts = self.outline.language.parens;
        for (at, byte) in line.iter().enumerate() {
            match byte {
                b'(' | b'[' if counts => {
                    let is_body = at >= body && *byte == b'(';
                    match self.pending.take_if(|pending| is_body && pending.1 == b'(' && pending.2 == self.parens) {
                        Some((scope, ..)) => self.push(scope, b')'),
                        None => self.parens += 1,
                    }
                }
                b')' | b']' if counts => {
                    if self.parens == 0 && self.open.last().is_some_and(|(close, _)| close == byte) {
                        self.pop(number);
                    } else {
                        self.parens = self.parens.saturating_sub(1);
                    }
                }
                b'{' => {
                    let fits = |pending: &mut (OpenScope, u8, u32)| {
                        at >= body && pending.1 == b'{' && pending.2 == self.parens
                    };
                    let scope = self
                        .pending
                        .take_if(fits)
                        .map_or_else(|| OpenScope::plain(SymbolScope::Block), |(scope, ..)| scope);
                    self.push(scope, b'}');
                }
                b'}' => {
                    self.pending = None;
                    while self.open.last().is_some_and(|(close, _)| *close != b'}') {
                        self.pop(number);
                    }
                    self.pop(number);
                }
                b';' if self.parens == 0 && at >= body => self.pending = None,
                _ => {}
            }
        }
    }

    fn push(&mut self, scope: OpenScope, close: u8) {
        self.stack.push(scope);
        self.open.push((close, self.parens));
        self.parens = 0;
    }

    fn pop(&mut self, number: usize) {
        if let (Some(scope), Some((_, parens))) = (self.stack.pop(), self.open.pop()) {
            self.outline.close(&scope, number);
            self.parens = parens;
        }
    }
}

/// Returns what rules see of a line: the line, or all lines of the parentheses that it opens.
fn window<'t>(outline: &Outline<'t>, start: usize, line: &str) -> &'t str {
    let text = &outline.masked.text[start..];
    let mut end = line.trim_ascii_end().len();
    if outline.language.join {
        let depth = |line: &str| {
            line.bytes().fold(0_i32, |depth, byte| match byte {
                b'(' => depth + 1,
                b')' => depth - 1,
                _ => depth,
            })
        };
        let mut open = depth(&text[..end]);
        for next in text[line.len()..].split_inclusive('\n').take(MAX_JOINED) {
            if open <= 0 || end > MAX_WINDOW {
                break;
            }
            open += depth(next);
            end = end.max(line.len()) + next.len();
        }
        end = end.min(text.len());
    }
    let mut end = end.min(MAX_WINDOW);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// Returns the definitions of a file whose bodies are indented.
pub(super) fn indent(mut outline: Outline<'_>) -> Vec<Symbol> {
    let masked = outline.masked;
    let (mut stack, mut indents): (Vec<OpenScope>, Vec<usize>) = (Vec::new(), Vec::new());
    let (mut start, mut parens, mut last) = (0, 0_u32, 0);
    for (number, line) in full_lines(&masked.text).enumerate() {
        let at = start;
        start += line.len();
        let body = line.trim_start_matches([' ', '\t']);
        let indent = line.len() - body.len();
        let first = body.bytes().next().unwrap_or(b'\n');
        let inside = masked.inside.get(number).copied().unwrap_or(false);
        if body.trim_ascii_end().is_empty() || inside && (first == FILLER || !first.is_ascii_alphabetic()) {
            continue;
        }
        if parens == 0 || indent == 0 && is_word(body, &["def", "class", "module"]) {
            let closes = is_word(body, &["end"]) || matches!(first, b'}' | b')' | b']');
            let goes_on = is_word(body, &["rescue", "ensure", "else", "elsif", "except", "finally", "elif"]);
            while indents.last().is_some_and(|around| *around >= indent) && !goes_on {
                indents.pop();
                if let Some(scope) = stack.pop() {
                    outline.close(&scope, if closes { number + 1 } else { last });
                }
            }
            let scope = stack.last().map_or(SymbolScope::File, |scope: &OpenScope| scope.scope);
            let window = window(&outline, at, line);
            if let Some(found) = outline.find(window, scope, false, &stack) {
                parens = 0;
                let scope = outline.add(found, number + 1, &stack);
                stack.push(scope);
                indents.push(indent);
            }
        }
        for byte in line.bytes() {
            match byte {
                b'(' | b'[' => parens += 1,
                b')' | b']' => parens = parens.saturating_sub(1),
                _ => {}
            }
        }
        last = number + 1;
    }
    while let Some(scope) = stack.pop() {
        outline.close(&scope, last);
    }
    outline.symbols
}

fn is_word(text: &str, words: &[&str]) -> bool {
    let length = text.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count();
    words.contains(&&text[..length])
}
