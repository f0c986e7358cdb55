//! An agent file, or a skill, in two: the block of fields, and the prompt.
//!
//! Owns where the block begins and ends. Leaves what it says to `frontmatter`. Invariant: a file whose head has a `name`
//! or a `description` is cut, also where a `---` line is missing; what was mended is told.

use std::borrow::Cow;

use super::keys;

/// A file cut in two.
pub(super) struct Cut<'a> {
    /// What stands between the rules.
    pub(super) block: &'a str,
    pub(super) lines_before: usize,
    pub(super) body: &'a str,
    /// What had to be guessed, and the line that it is about.
    pub(super) error: Option<(usize, &'static str)>,
}

/// Lines of a file that are looked through for a block that has no end.
const MAX_HEAD: usize = 400;

const NO_HEAD: &str = "no `---` line at the top, so this is not an agent file. Put `name` and `description` between \
                       two `---` lines there, or move the file out of the folder";
const NO_END: &str = "the frontmatter has no closing `---` line. Add one after the last field";
const EMPTY: &str = "the file is empty. Define an agent in it, or delete it";

/// Strips a byte order mark and normalises line ends.
pub(super) fn normalise(text: &str) -> Cow<'_, str> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.contains('\r') { Cow::Owned(text.replace("\r\n", "\n").replace('\r', "\n")) } else { Cow::Borrowed(text) }
}

/// Cuts the normalised file of a skill, which need not have a block: all of it is the body then.
pub(super) fn cut_skill(text: &str) -> Cut<'_> {
    let whole = Cut { block: "", lines_before: 0, body: text, error: None };
    let (before, is_fenced) = preamble(text);
    let head = &text[before..];
    let first = head.split_inclusive('\n').next().unwrap_or_default();
    let inside = &head[first.len()..];
    // A limit with a slip is one, and no text.
    let is_limit = |word: &str| keys::SKILL.synonym(word).is_some() || keys::SKILL.may_limit(word);
    let is_key = |line: &str| {
        keys::SKILL.at_start_of(line.trim_start()).is_some()
            || keys::FieldKeys::word_of(line).is_some_and(|(word, _)| is_limit(word))
    };
    let has_key = |block: &str| block.lines().any(is_key);
    let lines_before = text[..before].matches('\n').count() + 1;
    if !is_rule(first) {
        return whole;
    }
    let indent = first.len() - first.trim_start().len();
    if let Some((end, rest)) = end_of(inside, indent) {
        let (block, body) = (&inside[..end], &inside[rest..]);
        // Between two rules may stand a part of the text.
        if !block.trim().is_empty() && !has_key(block) && !block.trim_start().starts_with('{') {
            return whole;
        }
        return unwrapped(Cut { block, lines_before, body, error: None }, is_fenced);
    }
    let blank = inside.find("\n\n").map_or(inside.len(), |at| at + 1);
    let (block, body) = inside.split_at(blank);
    if !has_key(block) {
        return whole;
    }
    unwrapped(Cut { block, lines_before, body, error: Some((lines_before, NO_END)) }, is_fenced)
}

/// Cuts a normalised file at the `---` lines around its block. The error says why it cannot be, and where.
pub(super) fn cut(text: &str) -> Result<Cut<'_>, (usize, &'static str)> {
    if text.trim().is_empty() {
        return Err((1, EMPTY));
    }
    let (before, is_fenced) = preamble(text);
    let lines_of = |text: &str| text.matches('\n').count();
    let head = &text[before..];
    let line = lines_of(&text[..before]) + 1;
    let first = head.split_inclusive('\n').next().unwrap_or_default();
    if is_rule(first) {
        let indent = first.len() - first.trim_start().len();
        let inside = &head[first.len()..];
        let cut = if let Some((end, rest)) = end_of(inside, indent) {
            Cut { block: &inside[..end], lines_before: line, body: &inside[rest..], error: None }
        } else {
            let end = guessed_end(inside).ok_or((line, NO_END))?;
            Cut { block: &inside[..end], lines_before: line, body: &inside[end..], error: Some((line, NO_END)) }
        };
        return Ok(unwrapped(cut, is_fenced));
    }
    if head.starts_with('{')
        && let Some(end) = end_of_json(head)
    {
        let error = Some((line, "the frontmatter is JSON. Other programs expect YAML between two `---` lines"));
        return Ok(Cut { block: &head[..end], lines_before: line - 1, body: &head[end..], error });
    }
    if keys::AGENT.at_start_of(first).is_none() || !["name", "description"].iter().all(|key| holds(head, key)) {
        return Err((line, NO_HEAD));
    }
    let error = Some((line, "the frontmatter has no opening `---` line. Add one before the first field"));
    let (end, rest) = match end_of(head, 0) {
        Some(end) => end,
        None => guessed_end(head).map(|end| (end, end)).ok_or((line, NO_HEAD))?,
    };
    Ok(unwrapped(Cut { block: &head[..end], lines_before: line - 1, body: &head[rest..], error }, is_fenced))
}

/// Takes the end of the fence from the body, if the whole file stands in one.
fn unwrapped(cut: Cut<'_>, is_fenced: bool) -> Cut<'_> {
    let body = cut.body.trim_end();
    match body.strip_suffix("```").filter(|body| is_fenced && body.ends_with('\n')) {
        Some(body) => Cut { body, ..cut },
        None => cut,
    }
}

/// Returns how many bytes stand before the head and are none of it: blank lines, comments and the beginning of a fence.
/// Returns also whether there is such a fence around the whole file, as models write it.
fn preamble(text: &str) -> (usize, bool) {
    let mut is_fenced = false;
    let mut rest = text;
    loop {
        let line = rest.split_inclusive('\n').next().unwrap_or_default();
        let bare = line.trim_start_matches(|c: char| c.is_whitespace() || is_blank_mark(c));
        if line.is_empty() {
            break;
        } else if bare.is_empty() {
            rest = &rest[line.len()..];
        } else if bare.starts_with("<!--")
            && let Some(end) = rest.find("-->")
        {
            rest = &rest[end + 3..];
        } else if bare.starts_with("```") && !is_fenced {
            is_fenced = true;
            rest = &rest[line.len()..];
        } else {
            break;
        }
    }
    (text.len() - rest.len(), is_fenced)
}

/// Characters that nobody sees.
fn is_blank_mark(c: char) -> bool {
    matches!(c, '\u{feff}' | '\u{200b}')
}

/// Returns `true` if a line opens or ends a block: three dashes or more, and at most the name of its language.
fn is_rule(line: &str) -> bool {
    let line = line.trim_matches(|c: char| c.is_whitespace() || is_blank_mark(c));
    let rest = line.trim_start_matches('-');
    line.len() - rest.len() >= 3 && matches!(rest.trim(), "" | "yaml" | "yml" | "json")
}

/// Finds the line that ends a block, indented at most as far as the one that opened it: where it begins, and where the
/// next one does.
fn end_of(inside: &str, indent: usize) -> Option<(usize, usize)> {
    let mut offset = 0;
    for line in inside.split_inclusive('\n') {
        let end = offset + line.len();
        let dashes = line.trim().len();
        if line.len() - line.trim_start().len() <= indent && dashes >= 3 && line.trim().bytes().all(|c| c == b'-') {
            return Some((offset, end));
        }
        offset = end;
    }
    None
}

/// Guesses where a block without an end ends: at the first blank line after its `name` and its `description`. `None` if
/// it has neither.
fn guessed_end(inside: &str) -> Option<usize> {
    let mut missing = vec!["name", "description"];
    missing.retain(|key| holds(inside, key));
    if missing.is_empty() {
        return None;
    }
    let mut offset = 0;
    for line in inside.split_inclusive('\n') {
        if line.trim().is_empty() && missing.is_empty() {
            return Some(offset);
        }
        if let Some((_, key)) = keys::AGENT.at_start_of(line.trim_start()) {
            missing.retain(|missing| *missing != key);
        }
        offset += line.len();
    }
    Some(inside.len())
}

/// Returns `true` if a key stands at the start of one of the first lines.
fn holds(text: &str, key: &str) -> bool {
    text.lines()
        .take(MAX_HEAD)
        .any(|line| keys::AGENT.at_start_of(line.trim_start()).is_some_and(|(_, known)| known == key))
}

fn end_of_json(head: &str) -> Option<usize> {
    let mut values = serde_json::Deserializer::from_str(head).into_iter::<serde_json::Map<String, serde_json::Value>>();
    values.next()?.ok()?;
    Some(values.byte_offset())
}
