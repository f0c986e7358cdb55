//! What a message asks for by the way it is written, besides being sent.
//!
//! Pure. Owns the signs for it; the screen says what they mean before anything is sent. Leaves carrying it out to the
//! front ends. Invariant: a sign within a sentence means nothing, and a message that begins with a space is only sent.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageIntent<'a> {
    Send,
    /// `!ls`: the user runs a command of their own.
    Run(&'a str),
    /// `do this &`: an agent in the background does it.
    HandOff(&'a str),
}

impl<'a> MessageIntent<'a> {
    #[must_use]
    pub fn of(text: &'a str) -> Self {
        if let Some(line) = text.strip_prefix('!') {
            let line = line.trim();
            return if line.is_empty() { Self::Send } else { Self::Run(line) };
        }
        let task = text.trim_end().strip_suffix('&').filter(|task| task.ends_with(char::is_whitespace));
        match task.map(str::trim).filter(|task| !task.is_empty() && !text.starts_with([' ', '/'])) {
            Some(task) => Self::HandOff(task),
            None => Self::Send,
        }
    }

    /// Says where the message goes, if that is not where messages go.
    #[must_use]
    pub fn label(self) -> Option<&'static str> {
        match self {
            Self::Send => None,
            Self::Run(_) => Some("→ your shell"),
            Self::HandOff(_) => Some("→ background agent"),
        }
    }
}
