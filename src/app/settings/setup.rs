//! What the screen starts with: the terminal as it was found, and what settings and flags chose.
//!
//! Owns the shape of these facts. Leaves reading them to `tui`, and what becomes of them to `App`. Invariant: all of it
//! is known before the first frame; nothing in it changes afterwards.

use std::time::Instant;

use jiff::tz::TimeZone;

use crate::app::keymap::Keymap;
use crate::app::{Arrangement, MouseCapture};
use crate::permission::PermissionMode;

/// What the screen starts with.
#[derive(Debug, Clone)]
pub struct Setup {
    pub now: Instant,
    /// Columns and rows of the terminal.
    pub size: (u16, u16),
    pub folder: String,
    pub mode: PermissionMode,
    pub keymap: Keymap,
    /// What went wrong before the screen began, one line each.
    pub notices: Vec<String>,
    pub mouse: MouseCapture,
    pub arrangement: Arrangement,
    pub editing: Editing,
    pub motion: Movement,
    pub themes: Vec<String>,
    pub theme: String,
    /// Where the clocks on the wall are read.
    pub zone: TimeZone,
    /// Whether a command of the user's writes a status line.
    pub has_status_command: bool,
    /// The slash command that the screen begins with.
    pub first: Option<&'static str>,
}

/// Whether signs move while something is at work.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Movement {
    #[default]
    Full,
    /// They stand still; only clocks count.
    Reduced,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Editing {
    #[default]
    Emacs,
    Vi,
}
