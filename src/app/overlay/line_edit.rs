//! A single line of text that is being typed, for searches, the palette and comments.
//!
//! Owns the text and its cursor. Leaves the composer's many lines to `composer`. Invariant: the cursor stands
//! between two graphemes.

use unicode_segmentation::UnicodeSegmentation as _;

use crate::app::key::{Key, KeyCode, Mods};
use crate::message::sanitize_line;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LineEdit {
    text: String,
    /// Byte offset.
    cursor: usize,
}

impl LineEdit {
    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn before_cursor(&self) -> &str {
        &self.text[..self.cursor]
    }

    /// Inserts a text, on one line.
    pub fn insert(&mut self, text: &str) {
        let text = sanitize_line(text);
        self.text.insert_str(self.cursor, &text);
        self.cursor += text.len();
    }

    /// Takes a key and returns whether it meant something.
    pub fn key(&mut self, key: Key) -> bool {
        let ctrl = key.mods == Mods::CTRL;
        match key.code {
            KeyCode::Char(c) if key.mods == Mods::NONE => self.insert(c.encode_utf8(&mut [0; 4])),
            KeyCode::Backspace if key.mods == Mods::NONE => {
                let from = self.previous();
                self.text.drain(from..self.cursor);
                self.cursor = from;
            }
            KeyCode::Delete => {
                let to = self.following();
                self.text.drain(self.cursor..to);
            }
            KeyCode::Left => self.cursor = self.previous(),
            KeyCode::Right => self.cursor = self.following(),
            KeyCode::Home => self.cursor = 0,
            KeyCode::End => self.cursor = self.text.len(),
            KeyCode::Char('a') if ctrl => self.cursor = 0,
            KeyCode::Char('e') if ctrl => self.cursor = self.text.len(),
            KeyCode::Char('u') if ctrl => {
                self.text.drain(..self.cursor);
                self.cursor = 0;
            }
            KeyCode::Char('w') if ctrl => {
                let kept = self.text[..self.cursor].trim_end();
                let from = kept.rfind(char::is_whitespace).map_or(0, |at| self.text.ceil_char_boundary(at + 1));
                self.text.drain(from..self.cursor);
                self.cursor = from;
            }
            _ => return false,
        }
        true
    }

    fn previous(&self) -> usize {
        self.text[..self.cursor].grapheme_indices(true).next_back().map_or(0, |(at, _)| at)
    }

    fn following(&self) -> usize {
        self.text[self.cursor..].graphemes(true).next().map_or(self.cursor, |grapheme| self.cursor + grapheme.len())
    }
}
