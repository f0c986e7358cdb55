//! How the keys of vi reach the text.
//!
//! Owns which keys vi takes and the carrying out of its deeds. Leaves their meaning to `vi` and the buffer to `editor`.
//! Invariant: without `ui.editing = "vi"` nothing here has an effect.

use super::vi::{Deed, Vi};
use super::{Composer, ViMode};
use crate::app::key::{Key, KeyCode, Mods};

impl Composer {
    /// Takes the keys of vi from now on.
    pub fn use_vi(&mut self) {
        self.vi = Some(Vi::default());
    }

    /// Returns the mode of vi; `None` where its keys are not chosen.
    pub fn vi_mode(&self) -> Option<ViMode> {
        self.vi.as_ref().map(|vi| vi.mode)
    }

    /// Returns `true` if vi takes a key before the keymap is asked.
    pub fn takes_first(&self, key: &Key) -> bool {
        let Some(vi) = &self.vi else { return false };
        let redo = (key.mods, key.code) == (Mods::CTRL, KeyCode::Char('r'));
        match (vi.mode, key.code) {
            (ViMode::Insert, KeyCode::Esc) => true,
            (ViMode::Normal, KeyCode::Esc) => vi.is_pending(),
            (ViMode::Normal, _) => redo || (key.typed().is_some() && !(self.is_empty() && key.typed() == Some('?'))),
            (ViMode::Insert, _) => false,
        }
    }

    pub(super) fn in_normal_mode(&self) -> bool {
        self.vi_mode() == Some(ViMode::Normal)
    }

    /// Leaves typing; returns `false` where the keys of vi are not chosen.
    pub(super) fn leave_insert(&mut self) -> bool {
        let Some(vi) = &mut self.vi else { return false };
        let text: Vec<char> = self.draft.editor.text().chars().collect();
        let deed = vi.leave_insert(&text, self.draft.editor.offset());
        self.carry_out(deed, &text);
        true
    }

    /// Takes a key of vi; returns `false` if it is none.
    pub(super) fn vi_key(&mut self, key: &Key) -> bool {
        let Some(vi) = &mut self.vi else { return false };
        let text: Vec<char> = self.draft.editor.text().chars().collect();
        let at = self.draft.editor.offset();
        let deed = match (key.mods, key.code, key.typed()) {
            (_, KeyCode::Esc, _) => {
                vi.cancel();
                Deed::Nothing
            }
            (Mods::CTRL, KeyCode::Char('r'), _) => Deed::Redo,
            (_, _, Some(c)) => vi.key(c, &text, at),
            _ => return false,
        };
        self.carry_out(deed, &text);
        true
    }

    fn carry_out(&mut self, deed: Deed, text: &[char]) {
        match deed {
            Deed::Nothing | Deed::Pass => {}
            Deed::Go(to) => self.draft.editor.go(to),
            Deed::ComposerRows(rows) => {
                for _ in 0..rows.unsigned_abs() {
                    let _ = if rows < 0 { self.up() } else { self.down() };
                }
            }
            Deed::Replace(range, with, at) => {
                let removed: String = text.get(range.clone()).unwrap_or_default().iter().collect();
                self.draft.editor.replace(range, &with);
                self.draft.editor.go(at);
                if let Some(vi) = &mut self.vi {
                    vi.remember(removed);
                    if vi.mode == ViMode::Normal && self.draft.editor.is_past_line() {
                        self.draft.editor.left();
                    }
                }
            }
            Deed::Undo => self.draft.editor.undo(),
            Deed::Redo => self.draft.editor.redo(),
        }
        self.draft.editor.leave_chip(&self.draft.chips);
    }
}
