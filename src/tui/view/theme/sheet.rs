//! What a theme file says, with all its colours, before it is reduced to what a terminal can show.
//!
//! Owns the format and its faults. Leaves meaning and reduction to the theme, and reading files to `tui::setup`.
//! Invariant: every text gives a sheet; what is wrong in it is left to the theme it is based on.
#![allow(clippy::disallowed_types, reason = "part of the theme, the one place that may name colours")]

use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;

use anyhow::{Context as _, Result};
use ratatui::style::{Color, Modifier, Style};
use toml::de::{DeTable, DeValue};

use super::{Theme, color};
use crate::message::Diagnostic;

/// The themes that come with the program, by name.
pub(super) const BUILTIN: [(&str, &str); 4] = [
    ("dark", include_str!("../../../../assets/themes/dark.toml")),
    ("light", include_str!("../../../../assets/themes/light.toml")),
    ("high-contrast", include_str!("../../../../assets/themes/high-contrast.toml")),
    ("terminal-16", include_str!("../../../../assets/themes/terminal-16.toml")),
];

/// The theme that a file is based on unless it names another.
const BASE: &str = "dark";

/// Least contrast of text, WCAG's level AA.
const CONTRAST: f64 = 4.5;

#[derive(Debug, Clone)]
pub(super) struct ThemeSheet {
    /// The ground it is made for.
    pub(super) background: Color,
    /// What colours that others choose are brought to.
    pub(super) contrast: f64,
    /// Colours of agents without one of their own.
    pub(super) agents: Vec<Color>,
    styles: HashMap<String, Style>,
}

impl ThemeSheet {
    pub(super) fn builtin(name: &str) -> Option<Self> {
        let (_, text) = BUILTIN.iter().find(|(known, _)| *known == name)?;
        let mut reading = Reading { sheet: Self::empty(), text, path: Path::new(name), base: name, errors: Vec::new() };
        if let Ok(table) = DeTable::parse(text) {
            reading.table(table.get_ref());
        }
        debug_assert!(reading.errors.is_empty(), "{:?}", reading.errors);
        Some(reading.sheet)
    }

    fn empty() -> Self {
        Self { background: Color::Reset, contrast: CONTRAST, agents: Vec::new(), styles: HashMap::new() }
    }

    pub(super) fn read(text: &str, path: &Path) -> (Self, Vec<Diagnostic>) {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let parsed = DeTable::parse(text);
        let written = parsed.as_ref().ok().and_then(|table| table.get_ref().get("base"));
        let named = written.and_then(|base| base.get_ref().as_str());
        let known = BUILTIN.iter().map(|(known, _)| *known).find(|known| Some(*known) == named);
        let base = known.unwrap_or(BASE);
        let sheet = Self::builtin(base).unwrap_or_else(Self::empty);
        let mut reading = Reading { sheet, text, path, base, errors: Vec::new() };
        if let (Some(written), None) = (written, known) {
            let all = BUILTIN.map(|(name, _)| name).join(", ");
            reading.report(written.span(), &format!("`base` is one of {all}; {base} is used"));
        }
        match &parsed {
            Ok(table) => reading.table(table.get_ref()),
            Err(error) => {
                let start = error.span().map_or(0, |span| span.start);
                let message = format!("{}; the theme {base} is used", error.message().trim_end_matches('.'));
                reading.report(start..start, &message);
            }
        }
        (reading.sheet, reading.errors)
    }

    pub(super) fn style(&self, name: &str) -> Style {
        self.styles.get(name).copied().unwrap_or_default()
    }
}

/// A file on its way to a sheet.
struct Reading<'a> {
    sheet: ThemeSheet,
    text: &'a str,
    path: &'a Path,
    base: &'a str,
    errors: Vec<Diagnostic>,
}

impl Reading<'_> {
    fn report(&mut self, span: Range<usize>, message: &str) {
        self.errors.push(Diagnostic::in_file(self.path, format!("{message}.")).at(self.text, span.start));
    }

    fn table(&mut self, table: &DeTable<'_>) {
        let mut entries: Vec<_> = table.iter().collect();
        entries.sort_by_key(|(key, _)| key.span().start);
        for (key, value) in entries {
            if let Err(error) = self.entry(key.get_ref(), value.get_ref()) {
                let message = format!("{error:#}; the one of the theme {} is used", self.base);
                self.report(key.span(), &message);
            }
        }
    }

    fn entry(&mut self, key: &str, value: &DeValue<'_>) -> Result<()> {
        let text = || value.as_str().with_context(|| format!("`{key}` expects a string such as \"#c0c0c0 bold\""));
        match key {
            "base" => {}
            "background" => self.sheet.background = color::parse(text()?)?,
            "contrast" => {
                let least = match value {
                    DeValue::Integer(number) => number.as_str().parse().ok(),
                    DeValue::Float(number) => number.as_str().parse().ok(),
                    _ => None,
                };
                let least = least.filter(|least| (1.0..=21.0).contains(least));
                self.sheet.contrast = least.context("`contrast` goes from 1 to 21")?;
            }
            "agents" => {
                let names = value.as_array().context("`agents` expects a list of colors")?;
                let parse = |name: &toml::Spanned<DeValue<'_>>| {
                    color::parse(name.get_ref().as_str().context("`agents` expects a list of colors")?)
                };
                self.sheet.agents = names.iter().map(parse).collect::<Result<_>>()?;
            }
            _ if Theme::STYLES.contains(&key) => {
                let style = parse_style(text()?).with_context(|| format!("`{key}`"))?;
                self.sheet.styles.insert(key.to_owned(), style);
            }
            _ => anyhow::bail!("no style `{key}`"),
        }
        Ok(())
    }
}

/// Reads a style: a colour, `on` a colour, and modifiers, in any order.
pub(super) fn parse_style(spec: &str) -> Result<Style> {
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
            "on" => style.bg(color::parse(words.next().context("`on` needs a color")?)?),
            _ => style.fg(color::parse(word)?),
        };
    }
    Ok(style)
}
