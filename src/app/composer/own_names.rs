//! Which names in the text are the user's own: what is mentioned by typing, or chosen from a list.
//!
//! Owns telling them from those that were pasted, in this session. Leaves what comes of a mention to the engine. Invariant: a
//! name counts only where it stands in the text as it is shown, and only once the user has typed some of it, chosen it, or
//! pasted nothing but it.

use std::collections::BTreeSet;

use super::Composer;
use crate::message::{UserText, mentions};

#[derive(Debug, Default)]
pub(super) struct OwnNames {
    known: BTreeSet<String>,
    /// What is being typed: it may still become another one.
    typing: Option<String>,
}

impl OwnNames {
    /// Takes note of names that the user has chosen or written elsewhere.
    pub(super) fn add<'t>(&mut self, names: impl Iterator<Item = &'t str>) {
        self.known.extend(names.map(str::to_owned));
    }

    fn has(&self, name: &str) -> bool {
        self.known.contains(name) || self.typing.as_deref() == Some(name)
    }
}

impl Composer {
    /// Takes note of the name that the user has just typed in.
    pub(super) fn note_typed(&mut self) {
        let editor = &self.draft.editor;
        let Some(line) = editor.lines().get(editor.cursor().0).filter(|line| line.contains('@')) else {
            return self.end_name(None);
        };
        let cursor = editor.before_cursor().len();
        let at_cursor = |name: &str, end: usize| cursor <= end && cursor + name.len() + 1 > end;
        let name = mentions(line).find(|mention| at_cursor(mention.name, mention.end));
        self.end_name(name.map(|mention| mention.name.to_owned()));
    }

    /// Goes on with another name. The one before counts if it was left as it is.
    fn end_name(&mut self, next: Option<String>) {
        let before = self.own.typing.take();
        if let Some(before) = before.filter(|before| next.as_ref() != Some(before))
            && mentions(&self.draft.editor.text()).any(|mention| mention.name == before)
        {
            self.own.known.insert(before);
        }
        self.own.typing = next;
    }

    /// Takes a text that the user has written elsewhere, beginning with this one.
    pub(in crate::app) fn set_written(&mut self, text: &str) {
        let before = self.expanded();
        let known: BTreeSet<&str> = mentions(&before).map(|mention| mention.name).collect();
        self.own.add(mentions(text).map(|mention| mention.name).filter(|name| !known.contains(name)));
        self.set_text(text);
    }

    /// Returns what is written as it would be sent, and which of its names the user has named.
    pub(in crate::app) fn said(&self) -> UserText {
        let shown = self.text();
        let own = mentions(&shown).map(|mention| mention.name).filter(|name| self.own.has(name));
        UserText::naming(self.expanded(), own.map(str::to_owned).collect(), shown.trim_start().starts_with('/'))
    }
}
