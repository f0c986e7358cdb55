//! Which pictures a terminal is asked about.
//!
//! Owns telling from the environment what may be said to a terminal. Invariant: a question is put only to terminals that are
//! known to answer it or to pass over it; that they are meant does not count for an answer.

use std::io::IsTerminal as _;

use super::terminal::Terminal;

/// Cells of Windows Terminal, in its own pixels of sixel, whatever the font. It does not say so.
const CELL_OF_WINDOWS: (u16, u16) = (10, 20);

/// What a terminal is asked, to know whether it shows pictures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PictureQuestion {
    /// Whether it knows the graphics protocol of kitty: by a picture of one pixel that it does not keep.
    Kitty,
    /// Whether it knows the protocol of iTerm2: how large a cell is.
    Iterm,
    /// How many color registers it has for sixel, and what it can at all (primary device attributes). `cell` is how large its
    /// cells are, whatever it says.
    Sixel { cell: Option<(u16, u16)> },
}

impl PictureQuestion {
    /// Returns what a terminal with these variables is asked.
    pub(super) fn of(variable: impl Fn(&str) -> Option<String>) -> Option<Self> {
        let value = |name: &str| variable(name).unwrap_or_default().to_lowercase();
        let is_set = |name: &str| !value(name).is_empty();
        let (term, program) = (value("TERM"), value("TERM_PROGRAM"));
        let is_one_of = |value: &str, names: &[&str]| names.contains(&value);
        // What stands between us and the terminal keeps cells of its own.
        let is_between = ["TMUX", "STY", "ZELLIJ"].into_iter().any(is_set)
            || ["screen", "tmux", "dumb"].iter().any(|prefix| term.starts_with(prefix));
        if is_between || is_set("NO_COLOR") {
            return None;
        }
        if is_one_of(&term, &["xterm-kitty", "xterm-ghostty"])
            || is_one_of(&program, &["kitty", "ghostty"])
            || is_set("KITTY_WINDOW_ID")
        {
            return Some(Self::Kitty);
        }
        if is_one_of(&program, &["iterm.app", "wezterm"]) || value("LC_TERMINAL") == "iterm2" || term == "wezterm" {
            return Some(Self::Iterm);
        }
        let is_windows = is_set("WT_SESSION");
        let is_known = ["foot", "mlterm", "contour", "yaft"].iter().any(|prefix| term.starts_with(prefix))
            || is_one_of(&program, &["contour", "mintty", "vscode"])
            || ["XTERM_VERSION", "KONSOLE_VERSION", "MLTERM"].into_iter().any(is_set)
            || is_windows;
        is_known.then(|| Self::Sixel { cell: is_windows.then_some(CELL_OF_WINDOWS) })
    }

    /// Returns what is sent to ask it.
    pub(super) fn bytes(self) -> &'static [u8] {
        match self {
            Self::Kitty => b"\x1b_Gi=48879,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\",
            Self::Iterm => b"\x1b]1337;ReportCellSize\x1b\\",
            Self::Sixel { .. } => b"\x1b[?1;1;0S\x1b[c",
        }
    }

    /// Returns `true` if an answer would be of use. Sixel are pixels: it has to be known how many a cell has. And what came
    /// with the answer can be given back to the library only if that reads standard input.
    pub(super) fn is_useful(self) -> bool {
        match self {
            Self::Kitty | Self::Iterm => true,
            Self::Sixel { cell } => {
                std::io::stdin().is_terminal()
                    && cell.or_else(Terminal::cell_pixels).is_some_and(|cell| cell.0 > 0 && cell.1 > 0)
            }
        }
    }
}
