//! A block of code within a text: plain at first, highlighted when the highlighter has it.
//!
//! Owns where its rows stand in the text's lines. Leaves the colours to highlighter and theme. Invariant: highlighting
//! changes styles only, never the number of rows.

use ratatui::text::{Line, Span};

use super::super::highlight::{CodeLine, Highlighter};
use super::super::theme::Theme;
use super::super::wrap::wrap_indented;

#[derive(Debug)]
pub(super) struct CodeBlock {
    lang: String,
    /// The lines so far, each with its end.
    text: String,
    /// Row of the text at which each line begins.
    rows: Vec<usize>,
    /// What stands before the first row of the block, and before all others.
    first: Line<'static>,
    rest: Line<'static>,
    /// Bytes of the text that the highlighter was last asked for.
    asked: usize,
    /// Lines that are highlighted.
    done: usize,
    /// Whether no more lines will come.
    closed: bool,
}

impl CodeBlock {
    pub(super) fn new(info: &str, first: Line<'static>, rest: Line<'static>) -> Self {
        Self {
            lang: info.split([',', ' ', '{', '\t']).next().unwrap_or_default().to_owned(),
            text: String::new(),
            rows: Vec::new(),
            first,
            rest,
            asked: 0,
            done: 0,
            closed: false,
        }
    }

    /// Returns the block as it is below `rows` more rows.
    pub(super) fn moved_down(mut self, rows: usize) -> Self {
        self.rows.iter_mut().for_each(|row| *row += rows);
        self
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Returns the first row of the block, if it has any line.
    pub(super) fn first_row(&self) -> Option<usize> {
        self.rows.first().copied()
    }

    /// Lays out one more line of clean text at the end of `out`.
    pub(super) fn push(&mut self, line: &str, width: u16, theme: &Theme, out: &mut Vec<Line<'static>>) {
        self.rows.push(out.len());
        self.text.push_str(line);
        self.text.push('\n');
        out.extend(self.plain_rows(line, self.rows.len() - 1, width, theme));
    }

    /// Returns the rows of a line that is not complete yet and not kept.
    pub(super) fn preview(&self, line: &str, width: u16, theme: &Theme) -> Vec<Line<'static>> {
        self.plain_rows(line, self.rows.len(), width, theme)
    }

    pub(super) fn close(&mut self) {
        self.closed = true;
    }

    fn plain_rows(&self, line: &str, index: usize, width: u16, theme: &Theme) -> Vec<Line<'static>> {
        self.wrap(&Line::from(Span::styled(line, theme.code_block)).style(theme.code_ground()), index, width)
    }

    fn wrap(&self, line: &Line<'_>, index: usize, width: u16) -> Vec<Line<'static>> {
        let first = if index == 0 { &self.first } else { &self.rest };
        wrap_indented(line, width, first, &self.rest)
    }

    /// Asks the highlighter and takes over what it has; returns `false` when there is nothing left to wait for.
    pub(super) fn highlight(
        &mut self,
        lines: &mut [Line<'static>],
        width: u16,
        theme: &Theme,
        highlighter: &Highlighter,
    ) -> bool {
        if self.done == self.rows.len() {
            return !self.closed;
        }
        if !highlighter.accepts(&self.lang, self.text.len()) {
            return !self.closed;
        }
        // One question at a time: asking for a longer block each frame would never see an answer.
        if self.asked == 0 {
            self.asked = self.text.len();
        }
        let Some(code) = highlighter.lines(&self.lang, &self.text[..self.asked]) else { return true };
        for (index, line) in code.iter().enumerate().skip(self.done) {
            self.replace(line, index, lines, width, theme);
        }
        self.done = code.len().min(self.rows.len());
        self.asked = 0;
        if self.done < self.rows.len() {
            self.asked = self.text.len();
            let _ = highlighter.lines(&self.lang, &self.text);
        }
        self.done < self.rows.len() || !self.closed
    }

    fn replace(&self, line: &CodeLine, index: usize, lines: &mut [Line<'static>], width: u16, theme: &Theme) {
        let spans: Vec<Span<'_>> = line.pieces().map(|(text, class)| Span::styled(text, class.style(theme))).collect();
        let rows = self.wrap(&Line::from(spans).style(theme.code_ground()), index, width);
        let Some(start) = self.rows.get(index).copied() else { return };
        let end = self.rows.get(index + 1).copied().unwrap_or(start + rows.len());
        if end - start == rows.len()
            && let Some(place) = lines.get_mut(start..end)
        {
            place.clone_from_slice(&rows);
        }
    }
}
