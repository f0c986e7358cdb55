//! What a message names with an `@`: files, resources of servers, agents.
//!
//! Pure. Owns how a mention is written, and which of a message are the user's own. Leaves what comes of one to `subagent`.
//! Invariant: what was pasted or piped in names nothing and calls nothing, whatever it says.

use std::collections::BTreeSet;

/// Bytes of a name.
const MAX_NAME: usize = 4 << 10;

/// A name with an `@` before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mention<'t> {
    /// Without the `@` and quotes.
    pub name: &'t str,
    /// Where it ends in the text, in bytes.
    pub end: usize,
}

/// Returns what a text mentions: `@logo.png`, `@"my logo.png"`, `(@server:uri)`.
pub fn mentions(text: &str) -> impl Iterator<Item = Mention<'_>> {
    let mut from = 0;
    std::iter::from_fn(move || {
        loop {
            let at = from + text[from..].find('@')?;
            if text[..at].chars().next_back().is_some_and(char::is_alphanumeric) {
                from = at + 1;
                continue;
            }
            let rest = &text[at + 1..];
            let quoted = rest.strip_prefix('"').and_then(|rest| rest.lines().next()?.split_once('"'));
            let (name, length) = if let Some((name, _)) = quoted {
                (name, name.len() + 2)
            } else {
                let word = rest.split(char::is_whitespace).next().unwrap_or_default();
                let word = word.trim_end_matches(['.', ',', ';', ':', '!', '?', ')', ']', '"', '\'']);
                (word, word.len())
            };
            from = at + 1 + length;
            if !name.is_empty() && name.len() <= MAX_NAME {
                return Some(Mention { name, end: from });
            }
        }
    })
}

/// A message of the user, which may hold what others have written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UserText {
    pub text: String,
    /// The names that the user has typed, or chosen from a list.
    own: BTreeSet<String>,
    /// Whether a `/` at its beginning is the user's own.
    calls: bool,
}

impl UserText {
    /// Returns a text that the user has typed.
    pub fn typed(text: impl Into<String>) -> Self {
        let text = text.into();
        let own = mentions(&text).map(|mention| mention.name.to_owned()).collect();
        Self { text, own, calls: true }
    }

    /// Returns a text of which the user has typed these names, and its beginning if `calls`.
    #[must_use]
    pub fn naming(text: String, own: BTreeSet<String>, calls: bool) -> Self {
        Self { text, own, calls }
    }

    /// Returns another text, in which the same names are the user's own.
    #[must_use]
    pub fn with_text(self, text: String) -> Self {
        Self { text, ..self }
    }

    /// Returns a part of it, which is no call.
    #[must_use]
    pub fn part(self, text: String) -> Self {
        Self { text, calls: false, ..self }
    }

    /// Returns what the user mentions.
    pub fn mentions(&self) -> impl Iterator<Item = Mention<'_>> {
        let own = (!self.own.is_empty()).then(|| mentions(&self.text)).into_iter().flatten();
        own.filter(|mention| self.own.contains(mention.name))
    }

    /// Returns what is mentioned in what the user has pasted or piped in.
    pub fn others(&self) -> impl Iterator<Item = Mention<'_>> {
        mentions(&self.text).filter(|mention| !self.own.contains(mention.name))
    }

    /// Returns the text if a `/` at its beginning is the user's own, and may call a skill or a prompt.
    pub fn calling(&self) -> Option<&str> {
        self.calls.then_some(&self.text)
    }
}

/// A text that was pasted or piped in.
impl From<String> for UserText {
    fn from(text: String) -> Self {
        Self { text, ..Self::default() }
    }
}

impl From<&str> for UserText {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}
