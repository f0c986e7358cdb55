//! How a user who looks elsewhere is notified that something needs a look.
//!
//! Owns the bytes, and which of them suit a terminal. Leaves when to tell to `app`. Invariant: the words are made safe
//! before they stand in an escape sequence, so that no agent's name ends it early.

use super::terminal::through_tmux;
use crate::message::sanitize_line;

const MOST: usize = 200;

/// How the user is notified.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Notifier {
    way: Way,
    /// Whether tmux has to hand it on to the terminal.
    through_tmux: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
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
        let term = variable("TERM").unwrap_or_default();
        let begins = |names: &[&str]| names.iter().any(|name| term.starts_with(name));
        let through_tmux = variable("TMUX").is_some() || begins(&["tmux"]);
        let way = match setting {
            "bell" => Way::Bell,
            "osc9" => Way::Osc9,
            "osc777" => Way::Osc777,
            "off" => Way::Off,
            // screen passes on the bell only; a console would print the rest.
            _ if !through_tmux && begins(&["screen", "linux"]) => Way::Bell,
            _ if begins(&["rxvt", "foot"]) => Way::Osc777,
            _ => Way::Osc9,
        };
        Self { way, through_tmux }
    }

    #[must_use]
    pub fn bytes(self, text: &str) -> Vec<u8> {
        let text: String = sanitize_line(text).chars().take(MOST).collect();
        let words = match self.way {
            Way::Off => return Vec::new(),
            Way::Bell => String::new(),
            Way::Osc9 => format!("\x1b]9;{text}\x07"),
            // A semicolon would begin another field.
            Way::Osc777 => format!("\x1b]777;notify;Belvedere;{}\x07", text.replace(';', ",")),
        };
        let words = if self.through_tmux && !words.is_empty() { through_tmux(&words) } else { words };
        (words + "\x07").into_bytes()
    }
}
