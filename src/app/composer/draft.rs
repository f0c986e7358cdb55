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

    /// Puts the mark of a picture in the place of a label. It is removed whole.
    pub(super) fn attach(&mut self, label: &str, number: u32) {
        let mark = self.chips.add_picture(number);
        self.put(label, &format!("{mark} "));
    }

    /// Puts a paste in the place of a label.
    pub(super) fn paste(&mut self, label: &str, text: &str) {
        let shown = self.chips.add(text).unwrap_or_else(|| sanitize(text.trim_end_matches('\r')).into_owned());
        self.put(label, &shown);
    }

    /// Puts a text in the place of a label. The cursor stays where it is in the text around it.
    pub(super) fn put(&mut self, label: &str, text: &str) {
        let all = self.editor.text();
        let Some(at) = all.find(label).map(|byte| all[..byte].chars().count()) else { return };
        let (end, cursor) = (at + label.chars().count(), self.editor.offset());
        self.editor.replace(at..end, text);
        if cursor < end {
            self.editor.go(cursor.min(at));
        } else {
            self.editor.go(cursor - end + at + text.chars().count());
        }
    }

    /// Returns the text as it would be sent.
    pub fn expanded(&self) -> String {
        self.chips.expand(&self.editor.text())
    }
}
