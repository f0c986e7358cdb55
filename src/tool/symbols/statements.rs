//! Definitions of languages in which a statement may take many lines: what stands before `{` and `;`.
//!
//! Owns putting statements together: blanks as one, what is in parentheses left out, lines of a preprocessor apart.
//! Invariant: of two branches of a condition the second begins as the first did, so that braces stay in balance.

use super::language::SymbolScope;
use super::outline::{OpenScope, Outline, Symbol, is_in_function};

/// Bytes of a statement that rules see.
const MAX_HEAD: usize = 2_000;

/// A statement so far.
#[derive(Clone, Default)]
struct Head {
    text: String,
    /// At which byte a new line begins, and which.
    lines: Vec<(usize, usize)>,
    /// Parentheses that are open.
    parens: u32,
    /// Whether what is in the open parentheses counts.
    keeps: bool,
    /// Whether rules have seen it, before a brace in its value.
    is_seen: bool,
}

impl Head {
    fn push(&mut self, sign: char, line: usize) {
        if self.text.len() >= MAX_HEAD {
            return;
        }
        if sign == ' ' && (self.text.is_empty() || self.text.ends_with(' ')) {
            return;
        }
        if self.lines.last().is_none_or(|(_, last)| *last != line) {
            self.lines.push((self.text.len(), line));
        }
        self.text.push(sign);
    }

    fn line_of(&self, at: usize) -> usize {
        self.lines.iter().rev().find(|(from, _)| *from <= at).map_or(1, |(_, line)| *line)
    }
}

struct Reader<'t> {
    outline: Outline<'t>,
    stack: Vec<OpenScope>,
    resumed: Vec<Head>,
    head: Head,
    line: usize,
    /// For each open condition of the preprocessor, the state at its begin and at the end of its first branch.
    branches: Vec<(usize, Option<usize>)>,
}

pub(super) fn statements(outline: Outline<'_>) -> Vec<Symbol> {
    let masked = outline.masked;
    let mut reader = Reader {
        outline,
        stack: Vec::new(),
        resumed: Vec::new(),
        head: Head::default(),
        line: 1,
        branches: Vec::new(),
    };
    let mut continued = false;
    for (number, line) in masked.text.split('\n').enumerate() {
        reader.line = number + 1;
        let is_directive = reader.outline.language.preprocessor && (continued || line.trim_start().starts_with('#'));
        if is_directive {
            if !continued {
                reader.directive(line.trim());
            }
            continued = line.trim_end().ends_with('\\');
            continue;
        }
        continued = false;
        for sign in line.chars() {
            reader.sign(sign);
        }
        reader.sign(' ');
    }
    let last = masked.inside.len();
    while let Some(scope) = reader.stack.pop() {
        reader.outline.close(&scope, last);
    }
    reader.outline.symbols
}

impl Reader<'_> {
    fn directive(&mut self, line: &str) {
        let word = line.trim_start_matches(['#', ' ', '\t']);
        if word.starts_with("if") {
            self.branches.push((self.stack.len(), None));
        } else if word.starts_with("el") {
            // Braces that the first branch has opened are opened by the second once more.
            let depth = self.stack.len();
            if let Some((before, first)) = self.branches.last_mut() {
                let before = *before;
                first.get_or_insert(depth);
                while self.stack.len() > before {
                    self.close();
                }
                self.head.parens = 0;
            }
        } else if word.starts_with("endif") {
            self.branches.pop();
        } else if let Some(found) = self.outline.find(line, SymbolScope::File, true, &[]) {
            let (line, scope) = (self.line, [OpenScope::plain(SymbolScope::File)]);
            self.outline.add(found, line, &scope);
        }
    }

    fn sign(&mut self, sign: char) {
        let collects =
            !is_in_function(&self.stack) && self.stack.last().is_none_or(|scope| scope.scope != SymbolScope::Block);
        match sign {
            '{' => self.open(collects),
            '}' => {
                self.close();
            }
            '(' => {
                if self.head.parens == 0 {
                    self.head.push('(', self.line);
                    self.head.keeps = true;
                }
                self.head.parens += 1;
            }
            ')' => {
                self.head.parens = self.head.parens.saturating_sub(1);
                if self.head.parens == 0 {
                    self.head.push(')', self.line);
                }
            }
            _ if self.head.parens == 1 && self.head.keeps => {
                // Of what is in parentheses only the name of a pointer counts.
                let begins = self.head.text.trim_end().ends_with('(');
                self.head.keeps = if begins { matches!(sign, '*' | '^' | ' ') } else { sign != ',' };
                if self.head.keeps && collects && !(begins && sign.is_whitespace()) {
                    self.head.push(sign, self.line);
                }
            }
            _ if self.head.parens > 0 => {}
            ';' => {
                if collects {
                    self.evaluate(';');
                }
                self.head = Head::default();
            }
            _ if collects => self.head.push(if sign.is_whitespace() { ' ' } else { sign }, self.line),
            _ => {}
        }
    }

    fn open(&mut self, collects: bool) {
        let in_parens = self.head.parens > 0;
        let scope = if collects && !in_parens { self.evaluate('{') } else { None };
        let scope = scope.unwrap_or_else(|| OpenScope::plain(SymbolScope::Block));
        let mut head = std::mem::take(&mut self.head);
        let is_typedef = head.text.starts_with("typedef ");
        head.is_seen = !in_parens && !is_typedef;
        let goes_on = in_parens || is_typedef || has_value(&head.text);
        self.resumed.push(if goes_on { head } else { Head::default() });
        self.stack.push(scope);
    }

    fn close(&mut self) {
        if let Some(scope) = self.stack.pop() {
            self.outline.close(&scope, self.line);
        }
        self.head = self.resumed.pop().unwrap_or_default();
    }

    /// Adds what the statement defines; returns the scope of its body.
    fn evaluate(&mut self, end: char) -> Option<OpenScope> {
        if self.head.is_seen {
            return None;
        }
        let rules = self.outline.language.rules();
        let scope = self.stack.last().map_or(SymbolScope::File, |scope| scope.scope);
        let mut text = std::mem::take(&mut self.head.text);
        if let Some(drop) = &rules.drop {
            // What is dropped leaves blanks, so that places stay what they are.
            let blanked = drop.replace_all(&text, |dropped: &regex::Captures<'_>| " ".repeat(dropped[0].len()));
            text = blanked.into_owned();
        }
        let kept = text.trim_end().len();
        text.truncate(kept);
        text.push(end);
        let scope = self.outline.find(&text, scope, false, &self.stack).map(|found| {
            let line = self.head.line_of(found.name_start.min(kept.saturating_sub(1)));
            self.outline.add(found, line, &self.stack)
        });
        text.pop();
        self.head.text = text;
        scope
    }
}

/// Returns `true` if a statement has come to a value, which may have braces and go on after them.
fn has_value(head: &str) -> bool {
    head.contains(" = ") || head.ends_with('=') || head.ends_with("= ") || head.contains("=>")
}
