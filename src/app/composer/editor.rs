//! The editing of text, on top of the text area crate, which nothing else sees.
//!
//! Owns the buffer, the cursor, the kill ring and undo. Adds what the crate lacks: motion by graphemes and by the rows
//! of a soft wrap. Invariant: the cursor never stands within a grapheme.

use tui_textarea::{CursorMove, TextArea};
use unicode_segmentation::UnicodeSegmentation as _;

use super::chips::Chips;
use super::layout::ComposerRows;

#[derive(Debug, Default)]
pub(super) struct Editor {
    area: TextArea<'static>,
}

impl Editor {
    pub(super) fn text(&self) -> String {
        self.area.lines().join("\n")
    }

    pub(super) fn lines(&self) -> &[String] {
        self.area.lines()
    }

    pub(super) fn is_empty(&self) -> bool {
        matches!(self.area.lines(), [only] if only.is_empty())
    }

    /// Returns line and column of the cursor, the column in characters.
    pub(super) fn cursor(&self) -> (usize, usize) {
        self.area.cursor()
    }

    /// Replaces the text; undo does not reach behind this.
    pub(super) fn set(&mut self, text: &str) {
        let yank = self.area.yank_text();
        self.area = TextArea::default();
        self.area.set_yank_text(yank);
        self.insert(text);
    }

    pub(super) fn insert(&mut self, text: &str) {
        if !text.is_empty() {
            self.area.insert_str(text);
        }
    }

    pub(super) fn remove_all(&mut self) {
        self.area.select_all();
        self.area.cut();
    }

    pub(super) fn newline(&mut self) {
        self.area.insert_newline();
    }

    /// Returns the part of the cursor's line before the cursor.
    pub(super) fn before_cursor(&self) -> String {
        let (line, column) = self.area.cursor();
        self.area.lines()[line].chars().take(column).collect()
    }

    /// Returns the part of the cursor's line after the cursor.
    pub(super) fn after_cursor(&self) -> String {
        let (line, column) = self.area.cursor();
        self.area.lines()[line].chars().skip(column).collect()
    }

    /// Returns the characters of the grapheme before the cursor; 1 for a line end.
    fn grapheme_before(&self) -> usize {
        self.before_cursor().graphemes(true).next_back().map_or(1, |grapheme| grapheme.chars().count())
    }

    /// Returns the characters of the grapheme after the cursor; 1 for a line end.
    fn grapheme_after(&self) -> usize {
        self.after_cursor().graphemes(true).next().map_or(1, |grapheme| grapheme.chars().count())
    }

    pub(super) fn move_back(&mut self, chars: usize) {
        for _ in 0..chars {
            self.area.move_cursor(CursorMove::Back);
        }
    }

    pub(super) fn move_forward(&mut self, chars: usize) {
        for _ in 0..chars {
            self.area.move_cursor(CursorMove::Forward);
        }
    }

    pub(super) fn left(&mut self) {
        self.move_back(self.grapheme_before());
    }

    pub(super) fn right(&mut self) {
        self.move_forward(self.grapheme_after());
    }

    pub(super) fn delete_back(&mut self, chars: usize) {
        let (line, column) = self.area.cursor();
        if (line, column) == (0, 0) {
            return;
        }
        self.move_back(chars);
        self.delete_forward(chars);
    }

    pub(super) fn delete_forward(&mut self, chars: usize) {
        // The crate puts what `delete_str` removes on its kill ring, where single characters do not belong.
        let yank = self.area.yank_text();
        self.area.delete_str(chars);
        self.area.set_yank_text(yank);
    }

    pub(super) fn delete_grapheme_back(&mut self) {
        self.delete_back(self.grapheme_before());
    }

    pub(super) fn delete_grapheme(&mut self) {
        self.delete_forward(self.grapheme_after());
    }

    pub(super) fn home(&mut self) {
        self.area.move_cursor(CursorMove::Head);
    }

    pub(super) fn end(&mut self) {
        self.area.move_cursor(CursorMove::End);
    }

    pub(super) fn top(&mut self) {
        self.area.move_cursor(CursorMove::Top);
        self.home();
    }

    pub(super) fn bottom(&mut self) {
        self.area.move_cursor(CursorMove::Bottom);
        self.end();
    }

    pub(super) fn kill_to_end(&mut self) {
        self.area.delete_line_by_end();
    }

    pub(super) fn kill_to_start(&mut self) {
        self.area.delete_line_by_head();
    }

    pub(super) fn kill_word_back(&mut self) {
        self.area.delete_word();
    }

    pub(super) fn kill_word(&mut self) {
        self.area.delete_next_word();
    }

    pub(super) fn yank(&mut self) {
        self.area.paste();
    }

    pub(super) fn undo(&mut self) {
        self.area.undo();
    }

    pub(super) fn redo(&mut self) {
        self.area.redo();
    }

    pub(super) fn word_left(&mut self) {
        self.area.move_cursor(CursorMove::WordBack);
    }

    pub(super) fn word_right(&mut self) {
        let before = self.area.cursor();
        // The end of the word, as Emacs moves, not the start of the next one as vi does.
        self.area.move_cursor(CursorMove::WordEnd);
        if self.area.cursor() == before || !self.after_cursor().is_empty() {
            self.area.move_cursor(CursorMove::Forward);
        }
    }

    /// Returns the row of the cursor and the number of rows in a soft wrap.
    pub(super) fn row_in(&self, columns: u16) -> (usize, usize) {
        let rows = ComposerRows::of(self.area.lines(), columns);
        (rows.place(self.area.cursor()).0, rows.len())
    }

    /// Moves by rows of the soft wrap, keeping the column where possible.
    pub(super) fn move_rows(&mut self, by: isize, columns: u16) {
        let rows = ComposerRows::of(self.area.lines(), columns);
        let (row, column) = rows.place(self.area.cursor());
        let target = row.saturating_add_signed(by).min(rows.len() - 1);
        let cursor = rows.cursor_at(target, column);
        self.jump(cursor);
    }

    /// Returns the place of the cursor in characters from the start of the text, line ends included.
    pub(super) fn offset(&self) -> usize {
        let (line, column) = self.area.cursor();
        self.area.lines()[..line].iter().map(|line| line.chars().count() + 1).sum::<usize>() + column
    }

    /// Moves the cursor to a place counted as by [`Editor::offset`].
    pub(super) fn go(&mut self, offset: usize) {
        let mut left = offset;
        for (at, line) in self.area.lines().iter().enumerate() {
            let length = line.chars().count();
            if left <= length {
                self.jump((at, left));
                return;
            }
            left -= length + 1;
        }
        self.bottom();
    }

    /// Returns `true` if the cursor stands behind the last character of a line that has any.
    pub(super) fn is_past_line(&self) -> bool {
        self.after_cursor().is_empty() && !self.before_cursor().is_empty()
    }

    /// Replaces a part of the text, counted as by [`Editor::offset`].
    pub(super) fn replace(&mut self, range: std::ops::Range<usize>, text: &str) {
        self.go(range.start);
        if !range.is_empty() {
            self.delete_forward(range.len());
        }
        self.insert(text);
    }

    /// Moves the cursor to a line and a character of it.
    fn jump(&mut self, (line, column): (usize, usize)) {
        // The crate's own jump counts in u16.
        match (u16::try_from(line), u16::try_from(column)) {
            (Ok(line), Ok(column)) => self.area.move_cursor(CursorMove::Jump(line, column)),
            _ => self.end(),
        }
    }

    /// Moves the cursor out of a chip, to its nearer end.
    pub(super) fn leave_chip(&mut self, chips: &Chips) {
        let (line, column) = self.area.cursor();
        let text = &self.area.lines()[line];
        let byte = text.char_indices().nth(column).map_or(text.len(), |(at, _)| at);
        let Some(range) = chips.ranges(text).into_iter().find(|range| range.start < byte && byte < range.end) else {
            return;
        };
        let near = if byte - range.start < range.end - byte { range.start } else { range.end };
        let column = text[..near].chars().count();
        self.jump((line, column));
    }
}
