//! Every colour of the screen, by meaning.
//!
//! Owns the themes of `assets/themes`, the reduction to what a terminal can show, and the glyph sets. Leaves what is
//! drawn with them to the other views. Invariant: no other file of the program names a colour.
#![allow(clippy::disallowed_types, reason = "this is the one place that may name colours")]

mod color;
mod glyphs;

use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context as _, Result, bail};
use ratatui::style::{Color, Modifier, Style};

pub use color::ColorDepth;
pub use glyphs::Glyphs;

/// The themes that come with the program, by name.
const BUILTIN: [(&str, &str); 4] = [
    ("dark", include_str!("../../../assets/themes/dark.toml")),
    ("light", include_str!("../../../assets/themes/light.toml")),
    ("high-contrast", include_str!("../../../assets/themes/high-contrast.toml")),
    ("terminal-16", include_str!("../../../assets/themes/terminal-16.toml")),
];

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
            agents: Vec<Style>,
            /// The signs to draw with.
            pub glyphs: Glyphs,
            $(#[doc = $doc] pub $field: Style,)*
        }

        impl Theme {
            /// Names of all styles, as a theme file spells them.
            pub const STYLES: &'static [&'static str] = &[$(stringify!($field),)*];

            /// Returns a style by the name a theme file gives it.
            #[must_use]
            pub fn style(&self, name: &str) -> Option<Style> {
                match name {
                    $(stringify!($field) => Some(self.$field),)*
                    _ => None,
                }
            }

            fn build(
                id: u64,
                depth: ColorDepth,
                background: Color,
                agents: Vec<Style>,
                mut style: impl FnMut(&'static str, &'static str) -> Result<Style>,
            ) -> Result<Self> {
                Ok(Self { id, depth, background, agents, glyphs: Glyphs::UNICODE, $($field: style(stringify!($field), $mono)?,)* })
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
    heading, "bold underline", "Headings of Markdown.";
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
    selection, "reversed", "The chosen entry.";
    search_match, "reversed", "A match of a search.";
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
    /// Returns a theme that comes with the program, for a terminal of this depth. Without colours every theme is the
    /// same one, of modifiers only.
    pub fn load(name: &str, depth: ColorDepth) -> Result<Self> {
        let Some((_, toml)) = BUILTIN.iter().find(|(known, _)| *known == name) else {
            bail!("there is no theme {name:?}; choose one of {}", Self::names().join(", "));
        };
        Self::parse(toml, depth)
    }

    /// Returns the names of the themes that come with the program.
    #[must_use]
    pub fn names() -> Vec<&'static str> {
        BUILTIN.iter().map(|(name, _)| *name).collect()
    }

    /// Reads a theme file: `background` names the ground it is made for, `agents` the colours of agents without one
    /// of their own, and every other key a style such as `"#c0c0c0 on #202020 bold"`.
    pub fn parse(toml: &str, depth: ColorDepth) -> Result<Self> {
        let table: toml::Table = toml.parse().context("the theme file is no valid TOML")?;
        let known = |key: &String| key == "background" || key == "agents" || Self::STYLES.contains(&key.as_str());
        if let Some(key) = table.keys().find(|key| !known(key)) {
            bail!("the theme names {key:?}, which is no style; the styles are {}", Self::STYLES.join(", "));
        }
        let text = |key: &str| table.get(key).and_then(toml::Value::as_str);
        let background = text("background").map(color::parse).transpose()?.unwrap_or(Color::Reset);
        let names = table.get("agents").and_then(toml::Value::as_array).cloned().unwrap_or_default();
        let agents = names
            .iter()
            .filter_map(toml::Value::as_str)
            .map(|name| Ok(Style::new().fg(depth.reduce(color::parse(name)?))))
            .collect::<Result<Vec<Style>>>()?;
        Self::build(NEXT_ID.fetch_add(1, Ordering::Relaxed), depth, background, agents, |name, mono| {
            let spec = if depth == ColorDepth::None { mono } else { text(name).unwrap_or(mono) };
            parse_style(spec, depth).with_context(|| format!("style {name} of the theme"))
        })
    }

    /// Returns the theme with another set of signs.
    #[must_use]
    pub fn with_glyphs(self, glyphs: Glyphs) -> Self {
        Self { id: NEXT_ID.fetch_add(1, Ordering::Relaxed), glyphs, ..self }
    }

    /// Returns another theme of the program for the same terminal, drawn with the same signs.
    ///
    /// # Errors
    /// There is no theme of this name.
    pub fn other(&self, name: &str) -> Result<Self> {
        Ok(Self::load(name, self.depth)?.with_glyphs(self.glyphs))
    }

    /// Returns the ground of a chosen row whose texts keep their colours. Where the ground is a reversal, they cannot:
    /// each colour would become a ground of its own.
    #[must_use]
    pub fn selected_row(&self) -> Style {
        let reversed = self.selection.add_modifier.contains(Modifier::REVERSED);
        let plain = reversed.then_some(Color::Reset);
        Style { fg: plain, bg: plain.or(self.selection.bg), ..self.selection }
    }

    /// Returns a number that no other theme of this process has, for caches of laid-out lines.
    #[must_use]
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Returns the ground the theme is made for; the terminal's own is never painted over.
    #[must_use]
    pub fn background(&self) -> Color {
        self.background
    }

    /// Returns the style of an agent: the colour of its definition where it is one, else one that its type always
    /// has.
    #[must_use]
    pub fn agent(&self, color: Option<&str>, agent_type: &str) -> Style {
        if self.depth == ColorDepth::None {
            return Style::new().add_modifier(Modifier::BOLD);
        }
        let named = color.and_then(|name| color::parse(name).ok()).filter(|color| *color != Color::Reset);
        match named {
            Some(color) => Style::new().fg(self.depth.reduce(self.legible(color))),
            None if self.agents.is_empty() => self.accent,
            None => self.agents[stable_hash(agent_type) % self.agents.len()],
        }
    }

    /// Moves a colour that someone else chose away from the ground until it can be read.
    fn legible(&self, color: Color) -> Color {
        color::legible(color, self.background)
    }
}

/// FNV-1a, which gives the same number in every run and on every machine.
fn stable_hash(text: &str) -> usize {
    let hash = text.bytes().fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    hash as usize
}

/// Reads a style: a colour, `on` a colour, and modifiers, in any order.
fn parse_style(spec: &str, depth: ColorDepth) -> Result<Style> {
    let mut style = Style::new();
    let mut words = spec.split_whitespace();
    while let Some(word) = words.next() {
        style = match word {
            "bold" => style.add_modifier(Modifier::BOLD),
            "dim" => style.add_modifier(Modifier::DIM),
            "italic" => style.add_modifier(Modifier::ITALIC),
            "underline" => style.add_modifier(Modifier::UNDERLINED),
            "reversed" => style.add_modifier(Modifier::REVERSED),
            "strike" => style.add_modifier(Modifier::CROSSED_OUT),
            "on" => style.bg(depth.reduce(color::parse(words.next().context("`on` needs a colour")?)?)),
            _ => style.fg(depth.reduce(color::parse(word)?)),
        };
    }
    Ok(style)
}
