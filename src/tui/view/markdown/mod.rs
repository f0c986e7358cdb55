//! Markdown into lines, while it streams.
//!
//! Owns the text of one message and its laid-out lines. Leaves code to the highlighter and columns to `wrap`.
//! Invariants: pushing a text in any cut gives the same lines as setting it at once; what a push costs does not grow
//! with what came before the block it falls into, unless it names the address of a link before it.

mod blocks;
mod code;
mod phrase;
mod references;
mod split;
mod table;

use std::ops::Range;

use ratatui::text::Line;

use self::blocks::{BlockRows, BlockStyle, write_blocks};
use self::code::CodeBlock;
use self::phrase::labels_in;
pub use self::phrase::{Label, Lined};
use self::references::References;
use self::split::{CodeFence, MarkdownPart, first_part, with_table_rule};
use super::highlight::Highlighter;
use super::theme::Theme;
use super::wrap::mark_parted;
use crate::message::sanitize;

/// What stands before code.
const CODE_INDENT: &str = "  ";

/// Where a part begins, and what the layout knew there.
#[derive(Debug, Clone, Copy)]
struct Mark {
    bytes: usize,
    lines: usize,
    in_list: bool,
}

/// One streamed Markdown text and its lines.
#[derive(Debug, Default)]
pub struct MarkdownDoc {
    source: String,
    style: BlockStyle,
    /// Bytes of the source that are laid out for good, and the number of their lines.
    frozen: usize,
    frozen_lines: usize,
    /// All lines; those after the frozen ones are laid out anew when text arrives.
    lines: Vec<Line<'static>>,
    /// What in the lines leads somewhere, in their order.
    labels: Vec<Label>,
    /// The block of code that is being written, at the left edge.
    open: Option<(CodeFence, CodeBlock)>,
    codes: Vec<CodeBlock>,
    references: References,
    /// Whether the next block goes on with the list before it.
    in_list: bool,
    /// What the lines were laid out for: width and theme.
    laid_for: Option<(u16, u64)>,
    /// Bytes of the source at the last layout.
    laid_bytes: usize,
}

impl MarkdownDoc {
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns an empty text whose blocks follow each other without an empty line, for a place where every row counts.
    #[must_use]
    pub fn tight() -> Self {
        Self { style: BlockStyle { is_tight: true, ..BlockStyle::default() }, ..Self::default() }
    }

    /// Returns an empty text for what an author has written in an editor, whose paragraphs take the width there is.
    #[must_use]
    pub fn flowing() -> Self {
        Self { style: BlockStyle { is_flowing: true, ..BlockStyle::default() }, ..Self::default() }
    }

    /// Appends a piece, cut anywhere.
    pub fn push(&mut self, delta: &str) {
        self.source.push_str(delta);
    }

    /// Replaces the text; one that only goes on costs what a push does.
    pub fn set(&mut self, text: &str) {
        if let Some(rest) = text.strip_prefix(self.source.as_str()) {
            self.source.push_str(rest);
        } else {
            text.clone_into(&mut self.source);
            self.laid_for = None;
        }
    }

    /// Returns the lines for a width and a theme; only what changed since the last call is laid out.
    pub fn lines(&mut self, width: u16, theme: &Theme, highlighter: &Highlighter) -> &[Line<'static>] {
        let wanted = Some((width, theme.id()));
        if self.laid_for != wanted {
            self.forget_layout();
            self.laid_for = wanted;
        }
        if self.laid_bytes != self.source.len() {
            self.lay_out(width, theme);
            while let Some(part) = self.references.outdated() {
                self.go_back(part);
                self.lay_out(width, theme);
            }
            self.laid_bytes = self.source.len();
        }
        self.highlight(width, theme, highlighter);
        &self.lines
    }

    /// Returns what leads somewhere in some of the lines, as they were laid out last.
    pub fn labels(&self, rows: Range<usize>) -> &[Label] {
        labels_in(&self.labels, rows)
    }

    fn forget_layout(&mut self) {
        let source = std::mem::take(&mut self.source);
        *self = Self { source, style: self.style, ..Self::default() };
    }

    fn go_back(&mut self, part: Mark) {
        self.open = None;
        (self.frozen, self.frozen_lines, self.in_list) = (part.bytes, part.lines, part.in_list);
    }

    fn lay_out(&mut self, width: u16, theme: &Theme) {
        self.lines.truncate(self.frozen_lines);
        let frozen_lines = self.frozen_lines;
        self.labels.truncate(self.labels.partition_point(|label| label.row < frozen_lines));
        self.codes.retain(|code| code.first_row().is_some_and(|row| row < frozen_lines));
        while self.freeze_next(width, theme) {}
        self.frozen_lines = self.lines.len();
        let rest = &self.source[self.frozen..];
        if let Some((fence, code)) = &self.open {
            self.references.replace_latest(Vec::new());
            if !rest.is_empty() && !fence.may_be_closed_by(rest) {
                let preview = code.preview(&sanitize(rest), width, theme);
                if code.is_empty() {
                    leave_gap(&mut self.lines, self.in_list, self.style.is_tight);
                }
                self.lines.extend(preview);
            }
        } else {
            let mut rows = write_blocks(
                &with_table_rule(&sanitize(rest)),
                |name| self.references.fixed(name),
                (width, self.style),
                theme,
            );
            self.references.replace_latest(std::mem::take(&mut rows.defined));
            self.append(rows);
        }
    }

    /// Lays out the next part that is complete; returns `false` if there is none.
    fn freeze_next(&mut self, width: u16, theme: &Theme) -> bool {
        if self.open.is_some() {
            return self.freeze_code_line(width, theme);
        }
        let rest = &self.source[self.frozen..];
        match first_part(rest) {
            MarkdownPart::Blank(bytes) => self.frozen += bytes,
            MarkdownPart::CodeFence(fence, info, bytes) => {
                let indent = Line::from(CODE_INDENT);
                self.open = Some((fence, CodeBlock::new(&sanitize(info), indent.clone(), indent)));
                self.frozen += bytes;
                self.in_list = false;
            }
            MarkdownPart::Blocks(bytes) => self.freeze_blocks(bytes, width, theme),
            MarkdownPart::ListHead(bytes) => {
                self.freeze_blocks(bytes, width, theme);
                self.in_list = true;
            }
            MarkdownPart::Open => return false,
        }
        true
    }

    fn freeze_blocks(&mut self, bytes: usize, width: u16, theme: &Theme) {
        let end = self.frozen + bytes;
        let part = Mark { bytes: self.frozen, lines: self.lines.len(), in_list: self.in_list };
        let text = sanitize(&self.source[self.frozen..end]);
        let mut rows = write_blocks(&text, |name| self.references.find(name), (width, self.style), theme);
        let (defined, looked_up) = (std::mem::take(&mut rows.defined), std::mem::take(&mut rows.looked_up));
        self.references.fix(part, defined, looked_up);
        self.append(rows);
        self.in_list = false;
        self.frozen = end;
    }

    /// Takes the next complete line of the open block of code.
    fn freeze_code_line(&mut self, width: u16, theme: &Theme) -> bool {
        let rest = &self.source[self.frozen..];
        let Some(end) = memchr::memchr(b'\n', rest.as_bytes()) else { return false };
        let line = &rest[..end];
        self.frozen += end + 1;
        match self.open.take() {
            Some((fence, mut code)) if fence.is_closed_by(line) => {
                code.close();
                self.codes.push(code);
            }
            Some((fence, mut code)) => {
                if code.is_empty() {
                    leave_gap(&mut self.lines, self.in_list, self.style.is_tight);
                }
                code.push(&sanitize(line), width, theme, &mut self.lines);
                self.open = Some((fence, code));
            }
            None => {}
        }
        true
    }

    /// Appends blocks, with an empty line before them where one belongs.
    fn append(&mut self, rows: BlockRows) {
        if rows.lines.is_empty() {
            return;
        }
        leave_gap(&mut self.lines, self.in_list, self.style.is_tight);
        let start = self.lines.len();
        self.lines.extend(rows.lines);
        self.labels.extend(rows.labels.into_iter().map(|label| label.moved(start, 0)));
        self.codes.extend(rows.codes.into_iter().map(|code| code.moved_down(start)));
    }

    fn highlight(&mut self, width: u16, theme: &Theme, highlighter: &Highlighter) {
        let lines = &mut self.lines;
        self.codes.retain_mut(|code| code.highlight(lines, width, theme, highlighter));
        if let Some((_, code)) = &mut self.open {
            code.highlight(lines, width, theme, highlighter);
        }
    }
}

/// Leaves an empty line before the next block where one belongs, or marks that it is left out.
fn leave_gap(lines: &mut Vec<Line<'static>>, in_list: bool, is_tight: bool) {
    match lines.last_mut().filter(|_| !in_list) {
        Some(last) if is_tight => mark_parted(last),
        Some(_) => lines.push(Line::default()),
        None => {}
    }
}
