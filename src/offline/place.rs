//! A place in the project: how a report writes it, how a reader of the report gets it back, how it is quoted.
//!
//! Owns the form of a citation. Leaves choosing places to `rank`. Invariant: what is quoted was in a tool result.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::source::{self, Definition};

/// A line worth opening.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) path: String,
    pub(super) line: usize,
    /// What stands there, such as `function` or `use`.
    pub(super) label: String,
    /// The line's text.
    pub(super) text: String,
}

impl Place {
    /// Writes the place as one line of a report.
    pub(super) fn bullet(&self) -> String {
        let is_quote = self.label != "file";
        let text = if is_quote { quotable(&self.text) } else { safe(&self.text) };
        // What a file says of itself is a text put together from its lines, not one line as it stands.
        let quote = if is_quote { "`" } else { "" };
        format!("- `{}:{}` {}: {quote}{text}{quote}", self.path, self.line, self.label)
    }

    /// Reads a place back from a line of a report.
    pub(super) fn parse(line: &str) -> Option<Self> {
        let (cite, rest) = line.trim().strip_prefix("- `")?.split_once('`')?;
        let (path, number) = cite.rsplit_once(':')?;
        let (label, text) = rest.split_once(": ")?;
        Some(Self {
            path: path.to_owned(),
            line: number.parse().ok()?,
            label: label.trim().to_owned(),
            text: text.strip_prefix('`').and_then(|text| text.strip_suffix('`')).unwrap_or(text).to_owned(),
        })
    }

    /// Returns the definition that the line begins.
    pub(super) fn definition(&self) -> Option<Definition> {
        source::definition(&self.text)
    }

    /// Returns the lines around the place as a fenced excerpt: its doc comment, its line, the beginning of its body.
    pub(super) fn excerpt(&self, lines: &BTreeMap<usize, String>, most: usize) -> Option<String> {
        let own = lines.get(&self.line)?;
        let is_definition = source::definition(own).is_some();
        let doc_start = source::doc_of(lines, self.line).map_or(self.line, |(first, _)| first.min(self.line));
        let has_short_doc = self.line - doc_start <= 7;
        let start = match (is_definition, has_short_doc) {
            (true, true) => doc_start,
            (true, false) => self.line,
            (false, _) => self.line.saturating_sub(2).max(1),
        };
        let indent = own.len() - own.trim_start().len();
        let mut shown: Vec<(usize, &str)> = Vec::new();
        for (number, line) in lines.range(start..) {
            let is_gap = shown.last().is_some_and(|(last, _)| *number != last + 1);
            if is_gap || shown.len() >= most || (!is_definition && *number > self.line + 3) {
                break;
            }
            let depth = line.len() - line.trim_start().len();
            let outside = *number > self.line && is_definition && !line.trim().is_empty() && depth <= indent;
            let closes = line.trim_start().starts_with(['}', ')', ']']) || matches!(line.trim(), "{" | "where");
            if outside && !closes {
                break;
            }
            shown.push((*number, line));
            let ends = *number >= self.line && is_definition && ends_alone(line);
            if (outside && closes && !line.trim_end().ends_with(['{', ':', 'e'])) || (ends && depth <= indent) {
                break;
            }
        }
        while shown.last().is_some_and(|(_, line)| line.trim().is_empty()) {
            shown.pop();
        }
        let width = shown.last()?.0.to_string().len();
        let fence = if shown.iter().any(|(_, line)| line.contains("```")) { "````" } else { "```" };
        let mut out = format!("{fence}{}\n", source::fence(&self.path));
        for (number, line) in shown {
            let _ = writeln!(out, "{number:>width$}  {}", source::clip(line, 140));
        }
        out.push_str(fence);
        Some(out)
    }
}

/// Tells whether a definition ends on its first line.
fn ends_alone(line: &str) -> bool {
    let line = line.trim_end();
    line.ends_with(';') || (line.ends_with('}') && line.contains('{'))
}

/// Makes a source line safe inside a report and inside backquotes.
pub(super) fn quotable(text: &str) -> String {
    safe(&source::clip(text.trim(), 160)).replace('`', "'")
}

/// Makes a text safe inside a report: it cannot end or begin a part of it.
pub(super) fn safe(text: &str) -> String {
    let mut text = text.to_owned();
    for tag in ["summary", "findings", "answer"] {
        text =
            text.replace(&format!("<{tag}>"), &format!("‹{tag}›")).replace(&format!("</{tag}>"), &format!("‹/{tag}›"));
    }
    text
}
