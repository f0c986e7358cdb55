//! A key or a token, and what the user's settings say of where one is.
//!
//! Owns keeping it out of what is printed by accident. Leaves masking it in texts to `session`. Invariant: its `Debug` is
//! `***`, and it has no other way to be written than [`Secret::expose`].

use std::fmt;
use std::sync::Arc;

/// A key or a token. It is printed as `***` and sent to the service it belongs to only.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Arc<str>);

impl Secret {
    /// Returns the text without surrounding white space; `None` if nothing is left.
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        let text = text.trim();
        (!text.is_empty()).then(|| Self(text.into()))
    }

    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// Where the key of a service comes from if no variable holds it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeySettings {
    /// A command line for `sh` that prints the key.
    pub command: Option<String>,
    /// The key itself.
    pub key: Option<Secret>,
}
