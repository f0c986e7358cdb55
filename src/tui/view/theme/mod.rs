//! Every colour of the screen, by meaning.
//!
//! Owns the themes of `assets/themes` and those of the user, the reduction to what a terminal can show, and the glyph sets. Leaves what is
//! drawn with them to the other views. Invariant: no other file of the program names a colour.
#![allow(clippy::disallowed_types, reason = "this is the one place that may name colours")]

mod color;
mod glyphs;
mod sheet;
mod themes;

use std::sync::atomic::{AtomicU64, Ordering};

use ratatui::buffer::Cell;
use ratatui::style::{Color, Modifier, Style};

use self::sheet::ThemeSheet;

pub use color::ColorDepth;
pub use glyphs::Glyphs;
pub use themes::{AUTO, ThemeFile, Themes};

/// Source of [`Theme::id`].
static NEXT_ID: AtomicU64 = AtomicU64::new(1);

/// Declares the styles once: field, documentation, and what a terminal without colours shows.
macro_rules! styles {
    ($($field:ident, $mono:literal, $doc:literal;)*) => {
        /// Styles by meaning.
        #[derive(Debug, Clone)]
        pub struct Theme {
            id: u64,
            depth: ColorDepth,
            background: Color,
            contrast: f64,
            agents: Vec<Color>,
            pub glyphs: Glyphs,
            $(#[doc = $doc] pub $field: Style,)*
        }

        impl Theme {
            /// Names of all styles, as a theme file spells them.
            pub const STYLES: &'static [&'static str] = &[$(stringify!($field),)*];

            /// Returns a style by the name a theme file gives it.
            pub fn style(&self, name: &str) -> Option<Style> {
                match name {
                    $(stringify!($field) => Some(self.$field),)*
                    _ => None,
                }
            }

            /// Returns what a sheet says, as far as a terminal of this depth can show it.
            fn of(sheet: &ThemeSheet, depth: ColorDepth) -> Self {
                let style = |name: &str, mono: &str| match depth {
                    ColorDepth::None => sheet::parse_style(mono).unwrap_or_default(),
                    _ => reduced(sheet.style(name), sheet, depth),
                };
                Self {
                    id: NEXT_ID.fetch_add(1, Ordering::Relaxed),
                    depth,
                    background: sheet.background,
                    contrast: sheet.contrast,
                    agents: sheet.agents.clone(),
                    glyphs: Glyphs::UNICODE,
                    $($field: style(stringify!($field), $mono),)*
                }
            }
        }
    };
}

styles! {
    text, "", "Text.";
    muted, "dim", "Text that matters less.";
    faint, "dim", "Text that only fills in: line numbers, rules.";
    accent, "bold", "What the eye should find.";
    user, "bold", "What the user said.";
    border, "dim", "Borders.";
    border_focused, "bold", "The border of the focus.";
    title, "bold", "Titles of regions and panes.";
    heading, "bold", "Headings of Markdown.";
    code, "bold", "Code within a line.";
    code_block, "", "Code in blocks, where nothing else applies.";
    link, "underline", "Links.";
    quote, "italic", "Quoted text.";
    success, "", "Went well.";
    warning, "bold", "Needs a look.";
    error, "bold", "Went wrong.";
    diff_added, "", "An added line.";
    diff_removed, "dim", "A removed line.";
    diff_added_word, "bold underline", "What changed within an added line.";
    diff_removed_word, "bold strike", "What changed within a removed line.";
    selection, "reversed", "Text that is selected.";
    selected_row, "reversed", "The chosen row; without a colour of its own its texts keep theirs.";
    search_match, "reversed", "A match of a search.";
    search_current, "reversed bold underline", "The match that a search has come to.";
    chip, "reversed", "Small labels on their own ground.";
    status_bar, "dim", "The status line.";
    approval, "bold", "A question that waits for the user.";
    placeholder, "dim", "What an empty field says.";
    tool, "bold", "Names of tools.";
    keyword, "bold", "Keywords of code.";
    string, "", "Strings of code.";
    comment, "dim italic", "Comments of code.";
    number, "", "Numbers and constants of code.";
    function, "", "Names of functions.";
    type_name, "", "Names of types.";
    variable, "", "Names of variables and fields.";
    operator, "", "Operators and punctuation.";
}

impl Theme {
    /// Returns a theme that comes with the program, for a terminal of this depth.
    #[must_use]
    pub fn load(name: &str, depth: ColorDepth) -> Option<Self> {
        ThemeSheet::builtin(name).map(|sheet| Self::of(&sheet, depth))
    }

    #[must_use]
    pub fn with_glyphs(self, glyphs: Glyphs) -> Self {
        Self { id: NEXT_ID.fetch_add(1, Ordering::Relaxed), glyphs, ..self }
    }

    pub fn depth(&self) -> ColorDepth {
        self.depth
    }

    /// Returns a number that no other theme of this process has, for caches of laid-out lines.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Returns the ground the theme is made for; the terminal's own is never painted over.
    pub fn background(&self) -> Color {
        self.background
    }

    /// Returns the style of an agent: the colour of its definition where it is one, else one that its type always
    /// has.
    pub fn agent(&self, color: Option<&str>, agent_type: &str) -> Style {
        if self.depth == ColorDepth::None {
            return Style::new().add_modifier(Modifier::BOLD);
        }
        let named = color.and_then(|name| color::parse(name).ok()).filter(|color| *color != Color::Reset);
        let color = match named {
            // Nobody knows the ground, so that only the theme's own colours are sure to stand out from it.
            Some(color) if self.background == Color::Reset => {
                color::nearest_of(color, &self.agents).unwrap_or(Color::Reset)
            }
            // Someone else chose it, for another ground.
            Some(color) => self.grounds().fold(color, |color, ground| color::legible(color, ground, self.contrast)),
            None if self.agents.is_empty() => return self.accent,
            None => self.agents[stable_hash(agent_type) % self.agents.len()],
        };
        let grounds: Vec<Color> = self.grounds().collect();
        Style::new().fg(self.depth.reduce_on(color, &grounds, self.contrast))
    }

    /// Returns the ground of a block of code, if it has one of its own.
    pub fn code_ground(&self) -> Style {
        Style { bg: self.code_block.bg, ..Style::new() }
    }

    /// Returns the grounds on which texts stand in colours of their own.
    fn grounds(&self) -> impl Iterator<Item = Color> {
        let row = self.selected_row.bg.filter(|_| self.selected_row.fg.is_none());
        [Some(self.background), row].into_iter().flatten()
    }
}

/// Returns a style in the colours that the depth has. A text that could be read before can be read after.
fn reduced(style: Style, sheet: &ThemeSheet, depth: ColorDepth) -> Style {
    let bg = style.bg.map(|color| depth.reduce(color));
    let row = sheet.style("selected_row");
    let row = row.bg.filter(|_| row.fg.is_none()).map(|color| depth.reduce(color));
    let grounds: Vec<Color> = match bg {
        Some(own) => vec![own],
        None => [Some(sheet.background), row].into_iter().flatten().collect(),
    };
    Style { fg: style.fg.map(|color| depth.reduce_on(color, &grounds, sheet.contrast)), bg, ..style }
}

/// FNV-1a, which gives the same number in every run and on every machine.
fn stable_hash(text: &str) -> usize {
    let hash = text.bytes().fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    hash as usize
}

/// Returns the style of a cell that shows a part of a picture: its color is the number that the terminal knows the picture by.
pub(in crate::tui::view) fn picture_style(id: u32) -> Style {
    let [_, red, green, blue] = id.to_be_bytes();
    Style::new().fg(Color::Rgb(red, green, blue))
}

/// Returns the picture that a cell of this look names.
pub(in crate::tui::view) fn picture_id(cell: &Cell) -> Option<u32> {
    match cell.fg {
        Color::Rgb(red, green, blue) => Some(u32::from_be_bytes([0, red, green, blue])),
        _ => None,
    }
}

/// Returns the look of a cell that names a picture no longer.
pub(in crate::tui::view) fn without_picture() -> Style {
    Style::new().fg(Color::Reset)
}
