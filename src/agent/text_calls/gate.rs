//! Holds back the markup of a call while a reply comes, so that no reader sees it as text.
//!
//! Owns what is held. Leaves to its parent whether it is a call. Invariant: what is let through and what is held make up the
//! text; text is held from the first opening of a call on, and before that no longer than one may still begin there.

use super::OPENERS;
use crate::message::{CodeBlocks, is_quoted};

#[derive(Default)]
pub(in crate::agent) struct MarkupGate {
    held: String,
    is_shut: bool,
    /// The line so far, as far as it was let through.
    line: String,
    code: CodeBlocks,
}

impl MarkupGate {
    /// Takes more of the text. Returns what can be shown.
    pub(in crate::agent) fn push(&mut self, more: &str) -> String {
        self.held.push_str(more);
        let mut shown = String::new();
        while !self.is_shut {
            let at = self.held.char_indices().map(|(at, _)| at).find(|at| may_open(&self.held[*at..]));
            let rest = self.held.split_off(at.unwrap_or(self.held.len()));
            let through = std::mem::replace(&mut self.held, rest);
            self.let_through(&through, &mut shown);
            if !OPENERS.iter().any(|opener| self.held.starts_with(opener)) {
                break;
            }
            self.is_shut = self.may_shut();
            if !self.is_shut {
                let first = self.held.chars().next().map_or(0, char::len_utf8);
                let rest = self.held.split_off(first);
                let through = std::mem::replace(&mut self.held, rest);
                self.let_through(&through, &mut shown);
            }
        }
        shown
    }

    /// Returns what is left at the end: what can be shown, because it opened nothing, and what is held.
    pub(in crate::agent) fn finish(self) -> (String, String) {
        if self.is_shut { (String::new(), self.held) } else { (self.held, String::new()) }
    }

    fn let_through(&mut self, text: &str, shown: &mut String) {
        for piece in text.split_inclusive('\n') {
            self.line.push_str(piece);
            if piece.ends_with('\n') {
                self.code.take_line(&self.line);
                self.line.clear();
            }
        }
        shown.push_str(text);
    }

    /// Returns `true` if what is opened here is not shown as code, quoted, or led into by a sentence.
    fn may_shut(&self) -> bool {
        let before = self.line.trim();
        let is_alone = before.is_empty() || before.ends_with(['.', '!', '?', '…', '。']);
        is_alone && !self.code.is_open() && !is_quoted(&self.line, self.line.len())
    }
}

/// Returns `true` if a text begins with an opening, or is the beginning of one.
fn may_open(text: &str) -> bool {
    OPENERS.iter().any(|opener| text.starts_with(opener) || opener.starts_with(text))
}
