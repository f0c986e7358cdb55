//! What stands in front of the panes: popups, the wizard, and the view of all agents.
//!
//! Owns which popup is open, and the wizard, open or left. Leaves drawing to the views. Invariant: at most one popup is
//! open, and it is offered a key first.

pub(super) mod actions;
pub mod agent_files;
pub(super) mod agent_lists;
pub(super) mod line_edit;
pub mod list;
pub(super) mod outputs;
pub(super) mod popup;
pub(super) mod question_form;
pub(super) mod rewind;
pub(super) mod trust;
pub mod wizard;

use self::list::{ListKind, ListPopup};
use self::popup::Popup;
use self::wizard::Wizard;

#[derive(Debug, Default)]
pub(super) struct Overlay {
    popup: Option<Popup>,
    /// Last line that what is in front, or the open question, can scroll to.
    end: usize,
    /// Lines of a text that are seen at once.
    rows: usize,
    /// Apart, because it is large and seldom there.
    wizard: Box<Wizard>,
}

impl Overlay {
    pub(super) fn popup(&self) -> Option<&Popup> {
        self.popup.as_ref()
    }

    pub(super) fn popup_mut(&mut self) -> Option<&mut Popup> {
        self.popup.as_mut()
    }

    pub(super) fn open(&mut self, popup: Popup) {
        self.popup = Some(popup);
    }

    pub(super) fn close(&mut self) -> Option<Popup> {
        self.popup.take()
    }

    pub(super) fn is_open(&self) -> bool {
        self.popup.is_some()
    }

    pub(super) fn wizard_is_open(&self) -> bool {
        self.popup == Some(Popup::Wizard)
    }

    pub(super) fn wizard(&self) -> &Wizard {
        &self.wizard
    }

    pub(super) fn wizard_mut(&mut self) -> &mut Wizard {
        &mut self.wizard
    }

    pub(super) fn end(&self) -> usize {
        self.end
    }

    pub(super) fn set_end(&mut self, end: usize, rows: usize) {
        (self.end, self.rows) = (end, rows);
    }

    /// Returns how far a page goes: as many lines as are seen of a text, but one; ten entries of a list.
    pub(super) fn page(&self) -> isize {
        match &self.popup {
            Some(Popup::List(_)) | None => 10,
            Some(_) => isize::try_from(self.rows.saturating_sub(1).max(1)).unwrap_or(10),
        }
    }

    pub(super) fn list(&self) -> Option<&ListPopup> {
        match &self.popup {
            Some(Popup::List(list)) => Some(list),
            _ => None,
        }
    }

    pub(super) fn list_mut(&mut self) -> Option<&mut ListPopup> {
        match &mut self.popup {
            Some(Popup::List(list)) => Some(list),
            _ => None,
        }
    }

    /// Returns the place of the chosen entry if this list is open.
    pub(super) fn chosen_in(&self, kind: &ListKind) -> Option<usize> {
        self.list().filter(|list| list.kind.name == kind.name).map(|list| list.chosen)
    }

    /// Moves the text that is open.
    pub(super) fn scroll(&mut self, by: isize) {
        let end = self.end;
        if let Some(scroll) = self.popup.as_mut().and_then(Popup::scroll) {
            *scroll = (*scroll).min(end).saturating_add_signed(by).min(end);
        }
        if let Some(Popup::CommandOutput { scroll, .. }) = &mut self.popup
            && *scroll == end
        {
            *scroll = usize::MAX;
        }
    }

    /// Keeps the choice within a list that has changed.
    pub(super) fn clamp_choice(&mut self, kind: &ListKind, entries: usize) {
        if let Some(list) = self.list_mut().filter(|list| list.kind.name == kind.name) {
            list.chosen = list.chosen.min(entries.saturating_sub(1));
        }
    }
}
