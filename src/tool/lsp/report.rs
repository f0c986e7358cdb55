//! What a language server says of a file, as a model reads it.
//!
//! Owns order and bounds: errors first, then warnings, a line for each. Invariant: the words are those of a program that
//! reads strangers' code, so that none of them reaches anyone unescaped.

use std::fmt::Write as _;

use super::wire::WireDiagnostic;
use crate::message::without_speakers;
use crate::tool::file::path::revealed_line;
use crate::tool::limit::counted;

/// Lines about one file.
const MAX_LINES: usize = 20;
const LINE_CHARS: usize = 300;
const CODE_CHARS: usize = 60;
const ERROR: u8 = 1;
const WARNING: u8 = 2;

/// Errors and warnings of one file, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct FileReport {
    pub(super) errors: usize,
    pub(super) warnings: usize,
    lines: String,
}

impl FileReport {
    pub(super) fn of(diagnostics: &[WireDiagnostic]) -> Self {
        let severity = |found: &WireDiagnostic| found.severity.unwrap_or(ERROR);
        let mut told: Vec<&WireDiagnostic> = diagnostics.iter().filter(|found| severity(found) <= WARNING).collect();
        told.sort_by_key(|found| (severity(found), found.range.start.line, found.range.start.character));
        let errors = told.iter().filter(|found| severity(found) <= ERROR).count();
        let mut lines = String::new();
        for found in told.iter().take(MAX_LINES) {
            let kind = if severity(found) <= ERROR { "error" } else { "warning" };
            let (line, column) =
                (found.range.start.line.saturating_add(1), found.range.start.character.saturating_add(1));
            let words = found.message.split_whitespace().collect::<Vec<_>>().join(" ");
            let _ = write!(lines, "\n{line}:{column} {kind}: {}", revealed_line(&words, LINE_CHARS));
            let code = found.code.as_ref().map(|code| code.as_str().map_or_else(|| code.to_string(), str::to_owned));
            if let Some(code) = code.filter(|code| !code.is_empty()) {
                let _ = write!(lines, " [{}]", revealed_line(&code, CODE_CHARS));
            }
        }
        if told.len() > MAX_LINES {
            let _ = write!(lines, "\n… and {} more", told.len() - MAX_LINES);
        }
        Self { errors, warnings: told.len() - errors, lines: without_speakers(&lines).into_owned() }
    }

    pub(super) fn is_clean(&self) -> bool {
        self.errors + self.warnings == 0
    }

    /// Returns how many there are, such as `1 error, 2 warnings`.
    pub(super) fn counts(&self) -> String {
        let counts = [(self.errors, "error"), (self.warnings, "warning")];
        let counts: Vec<String> =
            counts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| counted(*count, what)).collect();
        if counts.is_empty() { "no problems".to_owned() } else { counts.join(", ") }
    }

    /// Returns all of it, under the name of the server and of the file.
    pub(super) fn words(&self, server: &str, file: &str) -> String {
        format!("\n[{server}: {} in {file}]{}", self.counts(), self.lines)
    }
}
