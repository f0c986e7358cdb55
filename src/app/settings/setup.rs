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
    /// The present time.
    pub now: Instant,
    /// Columns and rows of the terminal.
    pub size: (u16, u16),
    /// The working directory, as shown.
    pub folder: String,
    /// The permission mode.
    pub mode: PermissionMode,
    /// The keys.
    pub keymap: Keymap,
    /// What went wrong before the screen began, one line each.
    pub notices: Vec<String>,
    /// Whether the terminal reports the mouse.
    pub mouse: MouseCapture,
    /// How the agents are placed.
    pub arrangement: Arrangement,
    /// Whose keys edit the message.
    pub editing: Editing,
    /// Whether signs may move.
    pub motion: Movement,
    /// Names of the themes to choose from.
    pub themes: Vec<String>,
    /// Name of the theme that is drawn.
    pub theme: String,
    /// Where the clocks on the wall are read.
    pub zone: TimeZone,
}

/// Whether signs move while something is at work.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Movement {
    /// They do.
    #[default]
    Full,
    /// They stand still; only clocks count.
    Reduced,
}

/// Whose keys edit the message.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Editing {
    /// Those of Emacs and the shells.
    #[default]
    Emacs,
    /// Those of vi.
    Vi,
}
