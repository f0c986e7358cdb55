//! Reading source text by its looks: definitions, doc comments, the purpose of a file.
//!
//! Owns what is known of languages. Leaves ranking to `search`. Invariant: works line by line on what a tool showed.

use std::collections::BTreeMap;

use super::paths::extension;
use super::{contains_any, lists, sentence};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Definition {
    /// The language's word, such as `fn` or `class`; `=` for a value bound to a name.
    pub(crate) keyword: String,
    pub(crate) symbol: String,
    /// Columns of white space before it.
    pub(crate) indent: usize,
}

impl Definition {
    /// Returns the word for people.
    pub(crate) fn noun(&self) -> &'static str {
        match self.keyword.as_str() {
            "fn" | "def" | "func" | "function" | "fun" | "sub" => "function",
            "struct" => "struct",
            "enum" => "enum",
            "trait" => "trait",
            "class" => "class",
            "interface" | "protocol" => "interface",
            "type" | "union" | "typedef" => "type",
            "mod" | "module" | "package" | "namespace" => "module",
            "macro_rules!" | "#define" | "macro" => "macro",
            "impl" => "implementation",
            "const" | "static" => "constant",
            _ => "value",
        }
    }
}

const MODIFIERS: &str = "pub export default async unsafe extern \"C\" public private protected abstract final override inline virtual declare \
    internal sealed open data suspend readonly partial static const local";

const KEYWORDS: &str = "fn struct enum trait union class def func function fun type interface protocol const static mod module macro_rules! macro \
    impl let var val #define typedef namespace sub object";

pub(crate) fn definition(line: &str) -> Option<Definition> {
    let indent = line.len() - line.trim_start().len();
    let trimmed = line.trim();
    if is_comment(trimmed) {
        return None;
    }
    let mut words = trimmed.split_whitespace().peekable();
    let mut keyword: Option<&str> = None;
    while let Some(word) = words.peek().copied() {
        let bare = word.split('(').next().unwrap_or(word);
        let is_modifier = lists(MODIFIERS, bare) || word.starts_with("pub(");
        if lists(KEYWORDS, word) || word == "function*" {
            keyword = Some(word.trim_end_matches('*'));
            words.next();
            if !lists(MODIFIERS, word) {
                break;
            }
        } else if is_modifier && (!word.contains('(') || word.starts_with("pub(")) {
            words.next();
        } else {
            break;
        }
    }
    let rest = words.collect::<Vec<_>>().join(" ");
    match keyword {
        Some(keyword) => named(keyword, &rest, indent),
        None => bound(trimmed, indent).or_else(|| signature(trimmed, indent)),
    }
}

fn named(keyword: &str, rest: &str, indent: usize) -> Option<Definition> {
    let rest = rest.strip_prefix("mut ").unwrap_or(rest);
    // A Go method names its receiver first.
    let rest = if keyword == "func" && rest.starts_with('(') { rest.split_once(')')?.1.trim_start() } else { rest };
    let rest = if keyword == "impl" { implemented(rest) } else { rest };
    let symbol: String = rest.chars().take_while(|c| c.is_alphanumeric() || "_$".contains(*c)).collect();
    // One of a list of imported names.
    if keyword == "type" && rest.strip_prefix(symbol.as_str()) == Some(",") {
        return None;
    }
    (symbol.chars().any(char::is_alphabetic)).then(|| Definition { keyword: keyword.to_owned(), symbol, indent })
}

/// Returns what an `impl` block is for: the type, past generics and the trait.
fn implemented(rest: &str) -> &str {
    let rest = match rest.strip_prefix('<') {
        Some(_) => rest.split_once("> ").map_or(rest, |(_, after)| after),
        None => rest,
    };
    rest.split_once(" for ").map_or(rest, |(_, after)| after)
}

/// Reads `NAME = value` and `object.name = function …`.
fn bound(line: &str, indent: usize) -> Option<Definition> {
    let (left, right) = line.split_once('=')?;
    let (left, right) = (left.split(':').next()?.trim(), right.trim_start());
    let symbol = left.rsplit('.').next()?;
    let is_name = !symbol.is_empty() && symbol.chars().all(|c| c.is_alphanumeric() || "_$".contains(c));
    let is_path = left.chars().all(|c| c.is_alphanumeric() || "_$.".contains(c));
    let is_shouted = symbol.len() > 2 && !symbol.chars().any(char::is_lowercase) && indent == 0;
    let is_function = left.contains('.') && ["function", "async", "class ", "("].iter().any(|w| right.starts_with(w));
    if !is_name || !is_path || right.starts_with(['=', '>']) || !(is_shouted || is_function) {
        return None;
    }
    let keyword = if is_function { "function" } else { "=" };
    Some(Definition { keyword: keyword.to_owned(), symbol: symbol.to_owned(), indent })
}

/// Reads a method or a C function: `name(arguments) {`.
fn signature(line: &str, indent: usize) -> Option<Definition> {
    if !line.ends_with('{') || line.contains(" = ") || line.starts_with(['}', '.', '"', '\'', '(', '[']) {
        return None;
    }
    let before = line.split_once('(')?.0.trim_end();
    let symbol = before.rsplit([' ', '*', ':']).next()?;
    let first = before.split(' ').next()?;
    let is_flow = |word: &str| {
        ["if", "for", "while", "switch", "catch", "return", "else", "match", "loop", "in", "with", "do", "try", "fn"]
            .contains(&word)
    };
    let plain = before.chars().all(|c| c.is_alphanumeric() || "_$ *:<>,~&".contains(c));
    let is_name = symbol.chars().next().is_some_and(|c| c.is_alphabetic() || c == '_');
    (plain && is_name && !is_flow(symbol) && !is_flow(first) && !symbol.contains('<')).then(|| Definition {
        keyword: "function".to_owned(),
        symbol: symbol.to_owned(),
        indent,
    })
}

pub(crate) fn is_comment(line: &str) -> bool {
    let hash = line.starts_with('#') && !["#[", "#!", "#define", "#include"].iter().any(|w| line.starts_with(w));
    hash || ["//", "/*", "*", "--", "\"\"\"", "'''", "<!--"].iter().any(|mark| line.starts_with(mark))
}

/// Returns `true` if a line only brings a name in from elsewhere.
pub(crate) fn is_import(line: &str) -> bool {
    let line = line.trim_start();
    let starts =
        ["use ", "import ", "from ", "pub use ", "#include", "mod ", "pub mod ", "pub(crate) mod ", "pub(crate) mod "];
    starts.iter().any(|start| line.starts_with(start))
        || line.contains("= require(")
        || line.contains(" from '")
        || line.contains(" from \"")
}

/// Returns the name of the function around a line, where its beginning was seen.
pub(crate) fn enclosing(lines: &BTreeMap<usize, String>, at: usize) -> Option<String> {
    let depth = |line: &str| line.len() - line.trim_start().len();
    let mut least = depth(lines.get(&at)?);
    let mut expected = at;
    for (number, line) in lines.range(..at).rev() {
        if *number + 1 != expected {
            return None;
        }
        expected = *number;
        if line.trim().is_empty() || depth(line) >= least {
            continue;
        }
        if let Some(found) =
            definition(line).filter(|found| found.noun() == "function" || line.trim_end().ends_with("=> {"))
        {
            return Some(found.symbol);
        }
        // The closing line of a wide signature stands as far out as its first one.
        let is_rest = matches!(line.trim(), "where" | "{") || line.trim_start().starts_with([')', '}', ']']);
        if !is_rest {
            least = depth(line);
        }
    }
    None
}

/// Returns a comment's text without its marks.
pub(crate) fn uncomment(line: &str) -> &str {
    let line = line.trim();
    let line = line.trim_start_matches(['/', '!', '#', '*', ';']).trim_end_matches("*/");
    line.trim().trim_matches('"').trim_matches('\'').trim()
}

/// Returns the comment lines right above a line, first to last.
fn comment_above(lines: &BTreeMap<usize, String>, at: usize) -> Vec<(usize, &str)> {
    let mut above: Vec<(usize, &str)> = Vec::new();
    for number in (1..at).rev() {
        let Some(line) = lines.get(&number).map(|line| line.trim()) else { break };
        let before = lines.get(&(number - 1)).map_or("", |line| line.trim());
        let is_gap = line.is_empty() && above.is_empty() && (before == "*/" || before.starts_with("///"));
        if line.starts_with("#[") || line.starts_with('@') || line.ends_with(")]") || is_gap {
            continue;
        }
        if !is_comment(line) || line.starts_with("#!") {
            break;
        }
        above.push((number, line));
    }
    above.reverse();
    above
}

/// Returns the first known line of a doc comment whose beginning is not known.
pub(crate) fn doc_cut(lines: &BTreeMap<usize, String>, at: usize) -> Option<usize> {
    let first = comment_above(lines, at).first()?.0;
    (first > 1 && !lines.contains_key(&(first - 1))).then_some(first)
}

/// Returns the doc comment of the definition at `at`, with the number of its first line.
pub(crate) fn doc_of(lines: &BTreeMap<usize, String>, at: usize) -> Option<(usize, String)> {
    // A comment whose beginning was not seen would be quoted from its middle.
    if doc_cut(lines, at).is_some() {
        return None;
    }
    let above = comment_above(lines, at);
    let text = first_paragraph(above.iter().map(|(_, line)| *line)).filter(|text| !is_boilerplate(text));
    match (above.first(), text) {
        (Some((number, _)), Some(text)) => Some((*number, text)),
        _ => docstring(lines, at),
    }
}

/// Returns the line of a doc comment that states a default or a limit.
pub(crate) fn doc_value(lines: &BTreeMap<usize, String>, at: usize) -> Option<(usize, String)> {
    let above = comment_above(lines, at);
    let states = |line: &str| {
        let lower = uncomment(line).to_lowercase();
        let phrases = ["default is", "defaults to", "by default", "default:", "at most", "default value is"];
        phrases.iter().any(|words| lower.contains(words)) || lower.starts_with("default ")
    };
    let from = above.iter().position(|(_, line)| states(line))?;
    let mut text = String::new();
    for (_, line) in above[from..].iter().take(4) {
        let line = uncomment(line);
        if line.is_empty() || line.starts_with('@') {
            break;
        }
        text.push_str(if text.is_empty() { "" } else { " " });
        text.push_str(line);
        if line.ends_with(['.', ':']) || text.contains(". ") {
            break;
        }
    }
    Some((above[from].0, sentence(&text, 220)))
}

/// Returns the string that opens a Python body.
fn docstring(lines: &BTreeMap<usize, String>, at: usize) -> Option<(usize, String)> {
    let first = lines.get(&at)?.trim();
    if !["def ", "async def ", "class "].iter().any(|word| first.starts_with(word)) {
        return None;
    }
    let end = (at..at + 15).find(|number| lines.get(number).is_some_and(|line| line.trim_end().ends_with(':')))?;
    let (number, first) = lines.range(end + 1..).find(|(_, line)| !line.trim().is_empty())?;
    let quote = ["\"\"\"", "'''"].into_iter().find(|q| first.trim().trim_start_matches('r').starts_with(q))?;
    quoted(lines, *number, quote).map(|text| (*number, text))
}

fn quoted(lines: &BTreeMap<usize, String>, from: usize, quote: &str) -> Option<String> {
    let mut parts = Vec::new();
    for (nth, (_, line)) in lines.range(from..).enumerate() {
        let line = line.trim();
        let body = if nth == 0 { line.trim_start_matches('r').trim_start_matches(quote) } else { line };
        let text = body.split(quote).next().unwrap_or_default().trim();
        let closes = body.contains(quote);
        if text.is_empty() && !parts.is_empty() {
            break;
        }
        if !text.is_empty() {
            parts.push(text);
        }
        if closes || parts.len() > 6 {
            break;
        }
    }
    Some(parts.join(" ")).filter(|text| !text.is_empty())
}

/// Joins the first paragraph of a comment; a title of few words takes the paragraph after it along.
fn first_paragraph<'l>(lines: impl Iterator<Item = &'l str>) -> Option<String> {
    let mut parts: Vec<&str> = Vec::new();
    let mut title = String::new();
    for line in lines {
        let text = uncomment(line);
        if text.is_empty() || text.starts_with('@') || text.starts_with("```") {
            let whole = parts.join(" ");
            let is_title = title.is_empty() && whole.split(' ').count() < 4 && !whole.ends_with('.') && text.is_empty();
            if parts.is_empty() {
                continue;
            }
            if !is_title {
                break;
            }
            title = format!("{whole}: ");
            parts.clear();
            continue;
        }
        if !text.chars().any(char::is_alphabetic) {
            continue;
        }
        parts.push(text);
    }
    let text = format!("{title}{}", parts.join(" "));
    Some(text.trim_end_matches([':', ' ']).to_owned()).filter(|text| !text.is_empty())
}

/// Returns what a file says of itself at its top, with the line it says so.
pub(crate) fn purpose(path: &str, lines: &BTreeMap<usize, String>) -> Option<(usize, String)> {
    if extension(path) == "py" {
        let (number, line) = lines.iter().find(|(_, line)| {
            let line = line.trim();
            !line.is_empty() && !line.starts_with('#')
        })?;
        let quote = ["\"\"\"", "'''"].into_iter().find(|q| line.trim().trim_start_matches('r').starts_with(q));
        return quoted(lines, *number, quote?).map(|text| (*number, text));
    }
    let is_rust = extension(path) == "rs";
    let mut block: Vec<(usize, &str)> = Vec::new();
    for (number, line) in lines.iter().take(60) {
        let line = line.trim();
        let counts = if is_rust { line.starts_with("//!") || line.starts_with("/*!") } else { is_comment(line) };
        if counts && !line.starts_with("#!") {
            block.push((*number, line));
        }
        if !counts || line.ends_with("*/") {
            if let Some(told) = told(&block) {
                return Some(told);
            }
            block.clear();
        }
        let is_preamble = line.is_empty() || line.starts_with('#') || line.contains("use strict") || counts;
        if !is_preamble && !is_rust {
            return None;
        }
    }
    told(&block)
}

/// Returns what a block of comment lines says, with the line on which it begins to.
fn told(block: &[(usize, &str)]) -> Option<(usize, String)> {
    let text = first_paragraph(block.iter().map(|(_, line)| if is_heading(line) { "" } else { *line }));
    let text = text.filter(|text| !is_boilerplate(text))?;
    let first = block.iter().find(|(_, line)| !is_heading(line) && uncomment(line).chars().any(char::is_alphabetic));
    first.map(|(number, _)| (*number, text))
}

/// Returns `true` if a comment line is a heading or a row of badges.
fn is_heading(line: &str) -> bool {
    line.starts_with("//! #") || ["[![", "![", "<"].iter().any(|mark| uncomment(line).starts_with(mark))
}

fn is_boilerplate(text: &str) -> bool {
    let phrases = "copyright|licensed under|spdx|eslint|module dependencies|module exports|module variables|all rights|@flow|coding:|pylint";
    contains_any(&text.to_ascii_lowercase(), phrases)
}
