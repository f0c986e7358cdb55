//! Reports of subagents, and the ends of runs, as people read them.
//!
//! Owns the reading of the tags a report is written with, and the words for an end. Leaves what the parent's model gets to `subagent`.
//! Invariant: a report without tags, or with broken ones, is shown whole.

use super::cells::CellKind;
use crate::agent::{Outcome, Status};

/// The tags of a report, and what stands in place of each while the report streams.
const TAGS: [(&str, &str, &str); 3] = [
    ("<summary>", "</summary>", ""),
    ("<findings>", "</findings>", "\n\n**Findings**\n\n"),
    ("<answer>", "</answer>", "\n\n**Answer**\n\n"),
];

/// Reads a report that arrives in pieces: tags become headings. A tag opens at the start of a line, so that one in the
/// middle of a text stays; the start of what may be a tag is held back until it is known.
#[derive(Debug, Clone)]
pub(in crate::app) struct TagReader {
    held: String,
    open: Option<usize>,
    line_start: bool,
}

impl Default for TagReader {
    fn default() -> Self {
        Self { held: String::new(), open: None, line_start: true }
    }
}

/// What begins at a `<`.
enum Read {
    /// A tag of this many bytes, in whose place something stands.
    Tag(usize, &'static str),
    Perhaps,
    Text,
}

impl TagReader {
    /// Returns a whole text as it would have streamed.
    pub(in crate::app) fn whole(text: &str) -> String {
        let mut reader = Self::default();
        let mut out = reader.push(text);
        out.push_str(&reader.held);
        out
    }

    /// Returns `true` within a part of a report.
    pub(in crate::app) fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Takes in a piece and returns what is to be shown of it.
    pub(in crate::app) fn push(&mut self, piece: &str) -> String {
        let mut text = std::mem::take(&mut self.held);
        text.push_str(piece);
        let mut out = String::with_capacity(text.len());
        let mut rest = text.as_str();
        while let Some(at) = rest.find('<') {
            let (before, from) = rest.split_at(at);
            self.put(before, &mut out);
            rest = match self.read(from) {
                Read::Tag(length, heading) => {
                    out.push_str(heading);
                    self.line_start = true;
                    &from[length..]
                }
                Read::Perhaps => {
                    from.clone_into(&mut self.held);
                    return out;
                }
                Read::Text => {
                    self.put("<", &mut out);
                    &from[1..]
                }
            };
        }
        self.put(rest, &mut out);
        out
    }

    fn read(&mut self, from: &str) -> Read {
        let opening = TAGS.iter().enumerate().filter(|_| self.line_start).map(|(at, tag)| (tag.0, tag.2, Some(at)));
        let closing = self.open.map(|at| (TAGS[at].1, "", None));
        let mut read = Read::Text;
        for (tag, heading, open) in opening.chain(closing) {
            if from.starts_with(tag) {
                self.open = open;
                return Read::Tag(tag.len(), heading);
            }
            if tag.starts_with(from) {
                read = Read::Perhaps;
            }
        }
        read
    }

    fn put(&mut self, text: &str, out: &mut String) {
        out.push_str(text);
        let (line, whole) = text.rsplit_once('\n').map_or((text, false), |(_, line)| (line, true));
        self.line_start = (self.line_start || whole) && line.trim().is_empty();
    }
}

/// Returns the line that says how the main agent's run ended, unless it simply ended.
pub(in crate::app) fn ending_note(outcome: &Outcome) -> Option<CellKind> {
    let reason = |otherwise: &str| outcome.reason.clone().unwrap_or_else(|| otherwise.to_owned());
    match outcome.status {
        Status::Completed => None,
        Status::Cancelled => Some(CellKind::Notice { text: reason("Interrupted. Say what to do instead.") }),
        Status::Interrupted => {
            Some(CellKind::Notice { text: reason("Interrupted: Belvedere ended. Say “continue”.") })
        }
        Status::Empty => Some(CellKind::Notice { text: reason("The model ended without an answer. Ask again.") }),
        Status::Failed => Some(CellKind::Error { text: reason("The run failed. Ask again.") }),
        Status::TurnLimit => Some(CellKind::Notice { text: reason("Stopped at the turn limit. Say “continue”.") }),
        Status::ToolLimit => {
            Some(CellKind::Notice { text: reason("Stopped at the tool call limit. Say “continue”.") })
        }
        Status::TimedOut => Some(CellKind::Error { text: reason("No output for too long. Ask again.") }),
        Status::Budget => Some(CellKind::Error { text: reason("The budget is used up.") }),
        Status::WrappedUp => Some(CellKind::Notice { text: reason("Wrapped up early. Say “continue”.") }),
    }
}
