//! What of a memory file reaches a model, and which other files it imports.
//!
//! Pure. Owns comments and `@path`. Leaves where a path leads to `find`. Source of the format: the documentation of Claude
//! Code. Invariant: what stands in code, as a span or as a block, is neither a comment nor an import.

use std::borrow::Cow;
use std::ops::Range;

use pulldown_cmark::{Event, Options, Parser, Tag};

/// Imports of one file that are looked at.
const MAX_IMPORTS: usize = 200;
/// Bytes of the longest path that is looked for.
const MAX_PATH: usize = 1_024;
/// Endings of files that are plainly meant to be imported: `@app.route` is not.
const TEXT_ENDINGS: [&str; 9] = ["md", "mdx", "markdown", "txt", "rst", "adoc", "toml", "yaml", "yml"];

/// A place in a text where another file is imported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct MemoryImport {
    /// Byte of its `@`.
    pub(super) at: usize,
    /// As written, without `@`.
    pub(super) path: String,
}

impl MemoryImport {
    /// Returns `true` if nothing but a file can be meant: names of people and of packages begin with `@`, too.
    pub(super) fn is_plainly_a_path(&self) -> bool {
        let is_rooted = ["./", "../", "~/", "/"].iter().any(|start| self.path.starts_with(start));
        let ending = self.path.rsplit('/').next().and_then(|name| name.rsplit_once('.')).map(|(_, ending)| ending);
        is_rooted || ending.is_some_and(|ending| TEXT_ENDINGS.iter().any(|known| known.eq_ignore_ascii_case(ending)))
    }
}

/// Returns the text without its comments, `<!-- … -->`, that begin a block.
pub(super) fn without_comments(text: &str) -> Cow<'_, str> {
    if !text.contains("<!--") {
        return Cow::Borrowed(text);
    }
    let blocks = ranges(text, |event| matches!(event, Event::Start(Tag::HtmlBlock)));
    let mut kept = String::with_capacity(text.len());
    let mut from = 0;
    for block in blocks {
        let Some(rest) = beyond_comments(&text[block.clone()]) else { continue };
        kept.push_str(&text[from..block.start]);
        if !rest.trim().is_empty() {
            kept.push_str(rest);
        }
        from = block.end;
    }
    kept.push_str(&text[from..]);
    Cow::Owned(kept)
}

/// Returns what follows the comments that a block begins with; `None` if it begins with none.
fn beyond_comments(block: &str) -> Option<&str> {
    let mut rest = block;
    while let Some(comment) = rest.trim_start().strip_prefix("<!--") {
        rest = comment.split_once("-->").map_or("", |(_, rest)| rest);
    }
    (rest.len() < block.len()).then_some(rest)
}

/// Returns the files that a text imports.
pub(super) fn imports(text: &str) -> Vec<MemoryImport> {
    if !text.contains('@') {
        return Vec::new();
    }
    let code = ranges(text, |event| matches!(event, Event::Code(_) | Event::Start(Tag::CodeBlock(_))));
    let is_code = |at: usize| {
        let before = code.partition_point(|range| range.start <= at);
        before.checked_sub(1).is_some_and(|last| code[last].contains(&at))
    };
    let begins = |at: &usize| text[..*at].chars().next_back().is_none_or(char::is_whitespace);
    let signs = memchr::memchr_iter(b'@', text.as_bytes()).filter(begins).filter(|at| !is_code(*at));
    signs.filter_map(|at| Some(MemoryImport { at, path: path_at(&text[at + 1..])? })).take(MAX_IMPORTS).collect()
}

/// Returns the path that a text begins with. A space in it is written `\ `.
fn path_at(text: &str) -> Option<String> {
    let first = text.chars().next()?;
    if !(first.is_alphanumeric() || matches!(first, '.' | '_' | '-' | '~' | '/')) {
        return None;
    }
    let mut path = String::new();
    let mut signs = text.chars().peekable();
    while let Some(c) = signs.next() {
        match c {
            '\\' if signs.next_if_eq(&' ').is_some() => path.push(' '),
            c if c.is_whitespace() || path.len() > MAX_PATH => break,
            c => path.push(c),
        }
    }
    let path = path.split('#').next().unwrap_or_default();
    // A sentence goes on, or ends, behind it.
    let path = path.trim_end_matches(['.', ',', ';', ':', '!', '?', ')', ']', '}', '\'', '"', '*', '_']);
    Some(path.to_owned()).filter(|path| !path.is_empty() && path.len() <= MAX_PATH)
}

/// Returns where the events stand that count, in their order.
fn ranges(text: &str, counts: impl Fn(&Event<'_>) -> bool) -> Vec<Range<usize>> {
    let events = Parser::new_ext(text, Options::empty()).into_offset_iter();
    events.filter(|(event, _)| counts(event)).map(|(_, range)| range).collect()
}
