//! What comes from the keyboard, the mouse and the terminal, as plain data.
//!
//! Owns the chord type and its spelling, such as `ctrl+x` or `<enter>`. Leaves the translation from the terminal
//! library to `tui::input`, and meaning to `keymap`. Invariant: a chord printed and parsed again is the same chord.

use std::fmt;
use std::str::FromStr;

use anyhow::{Context as _, Result, bail};

/// A key without its modifiers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum KeyCode {
    /// A character as typed: `A` is `shift` already applied.
    Char(char),
    Enter,
    Esc,
    Tab,
    Backspace,
    Delete,
    Insert,
    Up,
    Down,
    Left,
    Right,
    Home,
    End,
    PageUp,
    PageDown,
    /// A function key, from 1.
    F(u8),
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Mods(u8);

impl Mods {
    pub const NONE: Self = Self(0);
    /// Shift; never set on a character, whose case shows it.
    pub const SHIFT: Self = Self(1);
    /// Alt, also called Option or Meta.
    pub const ALT: Self = Self(2);
    pub const CTRL: Self = Self(4);

    #[must_use]
    pub fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    #[must_use]
    pub fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    #[must_use]
    pub fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    pub code: KeyCode,
    pub mods: Mods,
}

impl Key {
    /// Returns a chord in its one canonical form: shift on a character is dropped, shifted letters are upper case,
    /// and letters with control are lower case, as terminals cannot tell them apart.
    #[must_use]
    pub fn new(code: KeyCode, mods: Mods) -> Self {
        match code {
            KeyCode::Char(c) => {
                let c = if mods.contains(Mods::CTRL) {
                    c.to_ascii_lowercase()
                } else if mods.contains(Mods::SHIFT) {
                    c.to_uppercase().next().unwrap_or(c)
                } else {
                    c
                };
                Self { code: KeyCode::Char(c), mods: mods.without(Mods::SHIFT) }
            }
            _ => Self { code, mods },
        }
    }

    #[must_use]
    pub fn plain(code: KeyCode) -> Self {
        Self::new(code, Mods::NONE)
    }

    /// Returns the character that the key types, if it types one.
    pub fn typed(&self) -> Option<char> {
        match self.code {
            KeyCode::Char(c) if self.mods == Mods::NONE => Some(c),
            _ => None,
        }
    }

    /// Reads a run of chords as tests write them: plain characters are themselves, chords stand in angle brackets,
    /// such as `hi<enter>` or `<ctrl+x><ctrl+x>`. A literal `<` is `<lt>`.
    pub fn parse_sequence(text: &str) -> Result<Vec<Self>> {
        let mut keys = Vec::new();
        let mut rest = text;
        while let Some(c) = rest.chars().next() {
            if c == '<' {
                let end = rest.find('>').with_context(|| format!("a `<` in {text:?} is never closed"))?;
                keys.push(rest[..=end].parse()?);
                rest = &rest[end + 1..];
            } else {
                keys.push(Self::plain(KeyCode::Char(c)));
                rest = &rest[c.len_utf8()..];
            }
        }
        Ok(keys)
    }

    /// Reads one binding: one chord, or several with spaces between, such as `ctrl+x ctrl+x`.
    pub fn parse_chords(text: &str) -> Result<Vec<Self>> {
        let keys: Vec<Self> = text.split_whitespace().map(str::parse).collect::<Result<_>>()?;
        if keys.is_empty() {
            bail!("a key binding is empty");
        }
        Ok(keys)
    }
}

/// Names of the keys that are no single character; the first name of a key is the one it is printed with.
const NAMES: &[(&str, KeyCode)] = &[
    ("enter", KeyCode::Enter),
    ("return", KeyCode::Enter),
    ("esc", KeyCode::Esc),
    ("escape", KeyCode::Esc),
    ("tab", KeyCode::Tab),
    ("backspace", KeyCode::Backspace),
    ("delete", KeyCode::Delete),
    ("del", KeyCode::Delete),
    ("insert", KeyCode::Insert),
    ("up", KeyCode::Up),
    ("down", KeyCode::Down),
    ("left", KeyCode::Left),
    ("right", KeyCode::Right),
    ("home", KeyCode::Home),
    ("end", KeyCode::End),
    ("pageup", KeyCode::PageUp),
    ("pgup", KeyCode::PageUp),
    ("pagedown", KeyCode::PageDown),
    ("pgdn", KeyCode::PageDown),
    ("space", KeyCode::Char(' ')),
    ("lt", KeyCode::Char('<')),
    ("plus", KeyCode::Char('+')),
];

impl FromStr for Key {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        let inner = text.strip_prefix('<').and_then(|rest| rest.strip_suffix('>')).unwrap_or(text);
        let mut rest = if inner.is_empty() { text } else { inner };
        let mut mods = Mods::NONE;
        while let Some((name, after)) = rest.split_once('+') {
            if after.is_empty() || name.is_empty() {
                break;
            }
            mods = mods.with(match name.to_ascii_lowercase().as_str() {
                "ctrl" | "control" => Mods::CTRL,
                "alt" | "option" | "meta" => Mods::ALT,
                "shift" => Mods::SHIFT,
                _ => bail!("{name:?} in the key {text:?} is not a modifier; use ctrl, alt or shift"),
            });
            rest = after;
        }
        let mut chars = rest.chars();
        if let (Some(c), None) = (chars.next(), chars.next()) {
            return Ok(Self::new(KeyCode::Char(c), mods));
        }
        let name = rest.to_ascii_lowercase();
        if let Some((_, code)) = NAMES.iter().find(|(known, _)| *known == name) {
            return Ok(Self::new(*code, mods));
        }
        match name.strip_prefix('f').and_then(|number| number.parse::<u8>().ok()) {
            Some(number @ 1..=24) => Ok(Self::new(KeyCode::F(number), mods)),
            _ => bail!("{text:?} is not a key; write a character or a name such as enter, esc, space, f6, pageup"),
        }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (held, name) in [(Mods::CTRL, "ctrl+"), (Mods::ALT, "alt+"), (Mods::SHIFT, "shift+")] {
            if self.mods.contains(held) {
                f.write_str(name)?;
            }
        }
        match self.code {
            KeyCode::Char(' ') => f.write_str("space"),
            KeyCode::Char(c) => write!(f, "{c}"),
            KeyCode::F(number) => write!(f, "f{number}"),
            code => match NAMES.iter().find(|(_, known)| *known == code) {
                Some((name, _)) => f.write_str(name),
                None => write!(f, "{code:?}"),
            },
        }
    }
}

/// Everything a terminal sends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    Key(Key),
    /// Text was pasted, in one piece and of any size.
    Paste(String),
    Mouse(Mouse),
    Resize {
        /// Columns.
        width: u16,
        /// Rows.
        height: u16,
    },
    FocusGained,
    FocusLost,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mouse {
    pub kind: MouseKind,
    /// Column, from 0.
    pub column: u16,
    /// Row, from 0.
    pub row: u16,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MouseKind {
    Press,
    Drag,
    Release,
    /// The wheel turned away from the user.
    WheelUp,
    /// The wheel turned towards the user.
    WheelDown,
}
