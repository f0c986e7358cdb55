//! What is wrong with something the user wrote, and where.

use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// A fault that does not stop the program: a key nobody knows, a file that cannot be used, a log that cannot be kept.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Diagnostic {
    pub path: Option<PathBuf>,
    /// Line in that file, from 1.
    pub line: Option<usize>,
    /// Column in that line, in characters, from 1.
    pub column: Option<usize>,
    /// What is wrong, what was done about it, and what the user can do.
    pub message: String,
    /// Whether something that may forbid or limit does not hold because of it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub loses_guard: bool,
}

impl Diagnostic {
    #[must_use]
    pub fn new(message: impl Into<String>) -> Self {
        Self { path: None, line: None, column: None, message: message.into(), loses_guard: false }
    }

    /// Returns a diagnostic about a whole file.
    #[must_use]
    pub fn in_file(path: impl Into<PathBuf>, message: impl Into<String>) -> Self {
        Self { path: Some(path.into()), ..Self::new(message) }
    }

    /// Returns the same diagnostic about something that may have forbidden or limited what happens.
    #[must_use]
    pub fn losing_guard(mut self) -> Self {
        self.loses_guard = true;
        self
    }

    /// Returns the same diagnostic at the place of byte `offset` of `text`, the file's content.
    #[must_use]
    pub fn at(mut self, text: &str, offset: usize) -> Self {
        let before = text.get(..offset).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |end| end + 1);
        self.line = Some(before.matches('\n').count() + 1);
        self.column = Some(before[line_start..].chars().count() + 1);
        self
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(path) = &self.path {
            write!(f, "{}:", path.display())?;
            for number in [self.line, self.column].into_iter().flatten() {
                write!(f, "{number}:")?;
            }
            f.write_str(" ")?;
        }
        f.write_str(&self.message)
    }
}
