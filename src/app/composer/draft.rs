//! One text that is being written: what is typed, what was pasted, and what can be undone.
//!
//! Owns keeping these together while another text is written. Leaves editing to `Composer`.

use super::chips::Chips;
use super::editor::Editor;
use crate::message::sanitize;

#[derive(Debug, Default)]
pub struct Draft {
    pub(super) editor: Editor,
    pub(super) chips: Chips,
}

impl Draft {
    /// Returns a draft of a text; one too large to edit becomes a chip.
    #[must_use]
    pub fn of(text: &str) -> Self {
        let mut draft = Self::default();
        match draft.chips.add(text) {
            Some(label) => draft.editor.set(&label),
            None => draft.editor.set(&sanitize(text)),
        }
        draft
    }

    pub fn is_empty(&self) -> bool {
        self.editor.is_empty()
    }

    /// Returns the text as it is shown, where a paste is its label.
    pub(super) fn lines(&self) -> &[String] {
        self.editor.lines()
    }

    /// Returns the text as it would be sent.
    pub fn expanded(&self) -> String {
        self.chips.expand(&self.editor.text())
    }
}
