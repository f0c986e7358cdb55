//! A change to one file as data: shown before an approval, after an edit, and kept in the log.

use std::borrow::Cow;
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

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DiffLine {
    /// Whether the line came, went or stayed.
    pub kind: LineKind,
    /// Line number from 1: in the new version, or in the old one for a removed line.
    pub number: usize,
    /// The text without its line end.
    pub text: String,
}

impl DiffLine {
    /// Returns the text with a sign for all that would not be seen.
    pub fn revealed(&self) -> Cow<'_, str> {
        reveal_line(self.text.trim_end_matches(['\n', '\r']))
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
