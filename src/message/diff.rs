//! A change to one file as data: shown before an approval, after an edit, and kept in the log.

use std::borrow::Cow;
use std::collections::HashSet;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::reveal_line;

/// The difference between two versions of one file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FileDiff {
    /// The file, absolute.
    #[serde(serialize_with = "crate::message::serialize_path")]
    pub path: PathBuf,
    pub added: usize,
    pub removed: usize,
    /// Changed places with their context, in file order.
    pub hunks: Vec<Hunk>,
    /// Number of changed lines that were left out because the change is too large to show.
    #[serde(default)]
    pub omitted: usize,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Hunk {
    /// The lines, context included.
    pub lines: Vec<DiffLine>,
}

/// What a line of a file may end with; nothing, where the file ends before.
const LINE_ENDS: [&str; 4] = ["\r\n", "\n", "\r", ""];

impl Hunk {
    /// Takes their ends off the lines, unless rows would look the same without them that are not, or a carriage return
    /// would hide beside lines that have none.
    pub fn cut_ends(&mut self) {
        let shows = self.ends_differ();
        for line in self.lines.iter_mut().filter(|line| !shows || line.kind == LineKind::Context) {
            line.text.truncate(line.text.len() - line_end(&line.text).len());
        }
    }

    fn ends_differ(&self) -> bool {
        let of = |wanted: fn(LineKind) -> bool| {
            let lines = self.lines.iter().filter(move |line| wanted(line.kind));
            lines.map(|line| line.text.split_at(line.text.len() - line_end(&line.text).len()))
        };
        let removed: HashSet<(&str, &str)> = of(|kind| kind == LineKind::Removed).collect();
        let is_twin = |(text, end): (&str, &str)| {
            LINE_ENDS.into_iter().any(|other| other != end && removed.contains(&(text, other)))
        };
        let hides_return = |own: fn(LineKind) -> bool, others: fn(LineKind) -> bool| {
            let known: HashSet<&str> = of(others).map(|(_, end)| end).collect();
            !known.is_empty() && of(own).any(|(_, end)| end.contains('\r') && !known.contains(end))
        };
        of(|kind| kind == LineKind::Added).any(is_twin)
            || hides_return(|kind| kind == LineKind::Added, |kind| kind != LineKind::Added)
            || hides_return(|kind| kind == LineKind::Removed, |kind| kind != LineKind::Removed)
    }
}

/// Returns what ends a line of a file; nothing at the end of a file that lacks it.
pub fn line_end(line: &str) -> &'static str {
    LINE_ENDS.into_iter().find(|end| line.ends_with(end)).unwrap_or_default()
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DiffLine {
    /// Whether the line came, went or stayed.
    pub kind: LineKind,
    /// Line number from 1: in the new version, or in the old one for a removed line.
    pub number: usize,
    /// The text, without its line end unless that changes.
    pub text: String,
}

impl DiffLine {
    /// Returns the text with a sign for all that would not be seen.
    pub fn revealed(&self) -> Cow<'_, str> {
        reveal_line(&self.text)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LineKind {
    /// In both versions.
    Context,
    /// Only in the new version.
    Added,
    /// Only in the old version.
    Removed,
}

impl LineKind {
    /// Returns the sign before such a line.
    pub fn sign(self) -> char {
        match self {
            Self::Context => ' ',
            Self::Added => '+',
            Self::Removed => '-',
        }
    }
}
