//! How a user who looks elsewhere is notified that something needs a look.
//!
//! Owns the bytes, and which of them suit a terminal. Leaves when to tell to `app`. Invariant: the words are made safe
//! before they stand in an escape sequence, so that no agent's name ends it early.

use crate::message::sanitize_line;

const MOST: usize = 200;

/// How the user is notified.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notifier {
    Bell,
    /// OSC 9, which iTerm2 brought up, and the bell.
    Osc9,
    /// OSC 777, which rxvt brought up, and the bell.
    Osc777,
    Off,
}

impl Notifier {
    /// Returns the way of a setting; `auto`, and what is not known, means what suits the terminal. `variable` looks up
    /// the environment.
    #[must_use]
    pub fn choose(setting: &str, variable: impl Fn(&str) -> Option<String>) -> Self {
        match setting {
            "bell" => Self::Bell,
            "osc9" => Self::Osc9,
            "osc777" => Self::Osc777,
            "off" => Self::Off,
            _ => Self::suiting(&variable),
        }
    }

    fn suiting(variable: impl Fn(&str) -> Option<String>) -> Self {
        let term = variable("TERM").unwrap_or_default();
        let begins = |names: &[&str]| names.iter().any(|name| term.starts_with(name));
        // Multiplexers pass on the bell only; a console would print the rest.
        if variable("TMUX").is_some() || begins(&["screen", "tmux", "linux"]) {
            Self::Bell
        } else if begins(&["rxvt", "foot"]) {
            Self::Osc777
        } else {
            Self::Osc9
        }
    }

    #[must_use]
    pub fn bytes(self, text: &str) -> Vec<u8> {
        let text: String = sanitize_line(text).chars().take(MOST).collect();
        match self {
            Self::Bell => b"\x07".to_vec(),
            Self::Osc9 => format!("\x1b]9;{text}\x07\x07").into_bytes(),
            // A semicolon would begin another field.
            Self::Osc777 => format!("\x1b]777;notify;Belvedere;{}\x07\x07", text.replace(';', ",")).into_bytes(),
            Self::Off => Vec::new(),
        }
    }
}
