//! Masks a text that arrives in pieces, such as an answer while it streams.
//!
//! Owns what has to wait for the next piece. Leaves what a token looks like to `tokens`. Invariants: no piece that is let
//! through ends within a secret; what waits is bounded, and most texts do not wait at all.

use super::Secrets;

/// Most bytes that wait: more than a private key has.
const MAX_HELD: usize = 16 * 1024;

#[derive(Debug, Default)]
pub struct PieceMask {
    held: String,
}

impl PieceMask {
    /// Takes the next piece, and returns what can be shown by now.
    pub fn push(&mut self, secrets: &Secrets, piece: &str) -> String {
        self.held.push_str(piece);
        let settled = secrets.settled(&self.held);
        if self.held.len() - settled > MAX_HELD {
            return self.finish(secrets);
        }
        let rest = self.held.split_off(settled);
        let shown = std::mem::replace(&mut self.held, rest);
        secrets.mask(&shown).into_owned()
    }

    /// Returns what still waits, at the end of the text.
    pub fn finish(&mut self, secrets: &Secrets) -> String {
        let rest = std::mem::take(&mut self.held);
        secrets.mask(&rest).into_owned()
    }
}
