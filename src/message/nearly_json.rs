//! Tool input that is nearly JSON, read as what it can only mean.
//!
//! Pure. Owns the slips that models and servers make when they write an object: a fence around it, a JSON text within a JSON
//! text, raw line breaks and unknown escapes in strings, single quotes, bare names, trailing commas, Python's words, an
//! object twice, a missing last brace. Invariant: what could mean two things is not read at all; above all, a string or a
//! number that may have been cut off is never taken for a whole one.

use serde_json::{Map, Number, Value};

/// How deep values may lie within each other.
const MAX_DEPTH: usize = 64;
/// How often a JSON text may hold another.
const MAX_TEXTS: usize = 2;

/// Reads the object that a text holds, if it can only be one.
#[must_use]
pub(super) fn read_object(text: &str) -> Option<Map<String, Value>> {
    read_text(text, MAX_TEXTS)
}

fn read_text(text: &str, texts: usize) -> Option<Map<String, Value>> {
    let text = without_fence(text.trim());
    if text.is_empty() || matches!(text, "null" | "None") {
        return Some(Map::new());
    }
    if text.starts_with('"') {
        let inner: String = serde_json::from_str(text).ok()?;
        return read_text(&inner, texts.checked_sub(1)?);
    }
    let mut reader = Reader { rest: text };
    let mut found: Option<Map<String, Value>> = None;
    while reader.rest.starts_with('{') {
        let Value::Object(next) = reader.value(0)? else { return None };
        reader.skip_blanks();
        // An empty object before the real one, or the same one twice, says nothing more.
        match &found {
            Some(before) if !before.is_empty() && !next.is_empty() && *before != next => return None,
            Some(before) if !before.is_empty() => {}
            _ => found = Some(next),
        }
    }
    is_noise(reader.rest).then_some(found)?
}

/// Returns what stands in a fence of three backquotes, if it is fenced.
fn without_fence(text: &str) -> &str {
    let Some(inner) = text.strip_prefix("```") else { return text };
    let inner = inner.trim_start_matches(|c: char| c.is_ascii_alphanumeric());
    inner.trim_end().strip_suffix("```").unwrap_or(inner).trim()
}

/// Returns `true` for what may follow an object without a meaning: closing braces too many, and marks of chat templates.
fn is_noise(rest: &str) -> bool {
    let rest = rest.trim_matches(|c: char| c.is_whitespace() || c == '}');
    let is_mark =
        |open: &str, close: &str| rest.starts_with(open) && rest.ends_with(close) && !rest.contains(['{', '"']);
    rest.is_empty() || is_mark("<|", "|>") || is_mark("</", ">")
}

struct Reader<'a> {
    rest: &'a str,
}

impl Reader<'_> {
    fn skip_blanks(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn take(&mut self, wanted: char) -> bool {
        let Some(rest) = self.rest.strip_prefix(wanted) else { return false };
        self.rest = rest;
        true
    }

    fn value(&mut self, depth: usize) -> Option<Value> {
        if depth > MAX_DEPTH {
            return None;
        }
        self.skip_blanks();
        match self.rest.chars().next()? {
            '{' => self.object(depth),
            '[' => self.list(depth),
            quote @ ('"' | '\'') => self.string(quote).map(Value::String),
            _ => self.word(),
        }
    }

    fn object(&mut self, depth: usize) -> Option<Value> {
        self.take('{');
        let mut all = Map::new();
        loop {
            self.skip_blanks();
            if self.take('}') {
                return Some(Value::Object(all));
            }
            let name = match self.rest.chars().next()? {
                quote @ ('"' | '\'') => self.string(quote)?,
                _ => self.bare_name()?,
            };
            self.skip_blanks();
            if !self.take(':') {
                return None;
            }
            let value = self.value(depth + 1)?;
            // Of two values under one name, nothing says which is meant.
            if all.get(&name).is_some_and(|before| *before != value) {
                return None;
            }
            let is_open_ended = value.is_number();
            all.insert(name, value);
            self.skip_blanks();
            if self.rest.is_empty() && depth == 0 && !is_open_ended {
                // The last brace is missing; of a number, more may be.
                return Some(Value::Object(all));
            }
            if !self.take(',') && !self.rest.starts_with('}') {
                return None;
            }
        }
    }

    fn list(&mut self, depth: usize) -> Option<Value> {
        self.take('[');
        let mut all = Vec::new();
        loop {
            self.skip_blanks();
            if self.take(']') {
                return Some(Value::Array(all));
            }
            all.push(self.value(depth + 1)?);
            self.skip_blanks();
            if !self.take(',') && !self.rest.starts_with(']') {
                return None;
            }
        }
    }

    /// Reads a string to the quote that ends it. A quote within one that is not escaped makes it unclear where it ends.
    fn string(&mut self, quote: char) -> Option<String> {
        let mut text = String::new();
        let mut signs = self.rest.char_indices().skip(1);
        loop {
            match signs.next()? {
                (at, sign) if sign == quote => {
                    self.rest = &self.rest[at + quote.len_utf8()..];
                    let next = self.rest.trim_start().chars().next();
                    return matches!(next, None | Some(',' | '}' | ']' | ':')).then_some(text);
                }
                (_, '\\') => match signs.next()?.1 {
                    'n' => text.push('\n'),
                    't' => text.push('\t'),
                    'r' => text.push('\r'),
                    'b' => text.push('\u{8}'),
                    'f' => text.push('\u{c}'),
                    'u' => {
                        let mut code = || {
                            let digits: String = signs.by_ref().take(4).map(|(_, digit)| digit).collect();
                            u16::from_str_radix(&digits, 16).ok().filter(|_| digits.len() == 4)
                        };
                        let first = code()?;
                        let units = if (0xd800..0xdc00).contains(&first) {
                            let is_pair = matches!((signs.next()?.1, signs.next()?.1), ('\\', 'u'));
                            let digits: String = signs.by_ref().take(4).map(|(_, digit)| digit).collect();
                            vec![first, u16::from_str_radix(&digits, 16).ok().filter(|_| is_pair)?]
                        } else {
                            vec![first]
                        };
                        text.push_str(&String::from_utf16(&units).ok()?);
                    }
                    sign @ ('"' | '\'' | '\\' | '/') => text.push(sign),
                    // A backslash that escapes nothing stands for itself, as in a regular expression.
                    sign => text.extend(['\\', sign]),
                },
                (_, sign) => text.push(sign),
            }
        }
    }

    fn bare_name(&mut self) -> Option<String> {
        let end = self.rest.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '-')))?;
        let (name, rest) = self.rest.split_at(end);
        self.rest = rest;
        (!name.is_empty()).then(|| name.to_owned())
    }

    /// Reads a number, or one of the words that JSON and Python know.
    fn word(&mut self) -> Option<Value> {
        let end =
            self.rest.find(|c: char| c.is_whitespace() || matches!(c, ',' | '}' | ']')).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        match word {
            "true" | "True" => Some(Value::Bool(true)),
            "false" | "False" => Some(Value::Bool(false)),
            "null" | "None" => Some(Value::Null),
            _ => serde_json::from_str::<Number>(word).ok().map(Value::Number),
        }
    }
}
