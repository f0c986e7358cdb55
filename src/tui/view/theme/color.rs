//! Colours as values: their names, what a terminal can show of them, and how well they can be read.
//!
//! Owns parsing, reduction and contrast. Leaves meaning to the theme. Invariant: a reduced colour is one that the
//! depth can show.
#![allow(clippy::disallowed_types, reason = "part of the theme, the one place that may name colours")]

use anyhow::{Result, bail};
use ratatui::style::Color;

/// How many colours a terminal shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ColorDepth {
    /// None: the user set `NO_COLOR`, or the terminal is dumb.
    None,
    /// The sixteen of the terminal's own palette.
    Ansi16,
    /// The 256 of xterm.
    Ansi256,
    TrueColor,
}

impl ColorDepth {
    /// Finds the depth from the environment: `variable` returns a variable's value.
    #[must_use]
    pub fn detect(variable: impl Fn(&str) -> Option<String>) -> Self {
        let value = |name: &str| variable(name).unwrap_or_default().to_lowercase();
        let term = value("TERM");
        if !value("NO_COLOR").is_empty() || term == "dumb" {
            return Self::None;
        }
        let direct =
            term.ends_with("-direct") || ["xterm-kitty", "xterm-ghostty", "alacritty"].contains(&term.as_str());
        if matches!(value("COLORTERM").as_str(), "truecolor" | "24bit") || direct || !value("WT_SESSION").is_empty() {
            Self::TrueColor
        } else if term.contains("256") {
            Self::Ansi256
        } else {
            Self::Ansi16
        }
    }

    #[must_use]
    pub fn reduce(self, color: Color) -> Color {
        match (self, color) {
            (Self::None, _) => Color::Reset,
            (Self::Ansi256, Color::Rgb(r, g, b)) => Color::Indexed(nearest_256([r, g, b])),
            (Self::Ansi16, Color::Rgb(r, g, b)) => nearest_16([r, g, b]),
            (Self::Ansi16, Color::Indexed(index)) if index >= 16 => nearest_16(rgb_of_index(index)),
            _ => color,
        }
    }

    /// Returns the nearest colour that the terminal shows and that can be read on these grounds as well as the colour
    /// itself, up to a contrast of `least`.
    #[must_use]
    pub(super) fn reduce_on(self, color: Color, grounds: &[Color], least: f64) -> Color {
        let (Self::Ansi256, Color::Rgb(r, g, b)) = (self, color) else { return self.reduce(color) };
        let needed: Vec<(Color, f64)> =
            grounds.iter().filter_map(|ground| Some((*ground, contrast(color, *ground)?.min(least)))).collect();
        let readable = |index: &u8| {
            let shown = Color::Indexed(*index);
            needed.iter().all(|(ground, least)| contrast(shown, *ground).is_none_or(|found| found >= *least))
        };
        let nearest = PALETTE.filter(readable).min_by_key(|index| distance(rgb_of_index(*index), [r, g, b]));
        nearest.map_or_else(|| self.reduce(color), Color::Indexed)
    }
}

/// The entries of xterm's colours that are the same on every terminal.
const PALETTE: std::ops::RangeInclusive<u8> = 16..=255;

/// The terminal's own sixteen: names, and the values of xterm, used only to find the nearest.
const ANSI: [(&str, Color, [u8; 3]); 16] = [
    ("ansi-black", Color::Black, [0, 0, 0]),
    ("ansi-red", Color::Red, [205, 0, 0]),
    ("ansi-green", Color::Green, [0, 205, 0]),
    ("ansi-yellow", Color::Yellow, [205, 205, 0]),
    ("ansi-blue", Color::Blue, [0, 0, 238]),
    ("ansi-magenta", Color::Magenta, [205, 0, 205]),
    ("ansi-cyan", Color::Cyan, [0, 205, 205]),
    ("ansi-white", Color::Gray, [229, 229, 229]),
    ("ansi-bright-black", Color::DarkGray, [127, 127, 127]),
    ("ansi-bright-red", Color::LightRed, [255, 0, 0]),
    ("ansi-bright-green", Color::LightGreen, [0, 255, 0]),
    ("ansi-bright-yellow", Color::LightYellow, [255, 255, 0]),
    ("ansi-bright-blue", Color::LightBlue, [92, 92, 255]),
    ("ansi-bright-magenta", Color::LightMagenta, [255, 0, 255]),
    ("ansi-bright-cyan", Color::LightCyan, [0, 255, 255]),
    ("ansi-bright-white", Color::White, [255, 255, 255]),
];

/// Names of colours beside the ones of the terminal, as CSS defines them or as agent files use them.
const NAMED: [(&str, [u8; 3]); 60] = [
    ("red", [0xe0, 0x5f, 0x5f]),
    ("blue", [0x5f, 0x9f, 0xe8]),
    ("green", [0x5f, 0xb8, 0x6a]),
    ("yellow", [0xd8, 0xb2, 0x4a]),
    ("purple", [0xa9, 0x7f, 0xe0]),
    ("orange", [0xe0, 0x90, 0x4f]),
    ("pink", [0xe8, 0x85, 0xb4]),
    ("cyan", [0x4f, 0xb8, 0xc4]),
    ("black", [0x00, 0x00, 0x00]),
    ("white", [0xff, 0xff, 0xff]),
    ("gray", [0x80, 0x80, 0x80]),
    ("grey", [0x80, 0x80, 0x80]),
    ("silver", [0xc0, 0xc0, 0xc0]),
    ("slate", [0x70, 0x80, 0x90]),
    ("slategray", [0x70, 0x80, 0x90]),
    ("magenta", [0xff, 0x00, 0xff]),
    ("fuchsia", [0xff, 0x00, 0xff]),
    ("violet", [0xee, 0x82, 0xee]),
    ("indigo", [0x4b, 0x00, 0x82]),
    ("lavender", [0xe6, 0xe6, 0xfa]),
    ("plum", [0xdd, 0xa0, 0xdd]),
    ("orchid", [0xda, 0x70, 0xd6]),
    ("teal", [0x00, 0x80, 0x80]),
    ("turquoise", [0x40, 0xe0, 0xd0]),
    ("aqua", [0x00, 0xff, 0xff]),
    ("sky", [0x87, 0xce, 0xeb]),
    ("skyblue", [0x87, 0xce, 0xeb]),
    ("navy", [0x00, 0x00, 0x80]),
    ("royalblue", [0x41, 0x69, 0xe1]),
    ("steelblue", [0x46, 0x82, 0xb4]),
    ("lightblue", [0xad, 0xd8, 0xe6]),
    ("darkblue", [0x00, 0x00, 0x8b]),
    ("lime", [0x00, 0xff, 0x00]),
    ("emerald", [0x50, 0xc8, 0x78]),
    ("mint", [0x98, 0xff, 0x98]),
    ("olive", [0x80, 0x80, 0x00]),
    ("darkgreen", [0x00, 0x64, 0x00]),
    ("lightgreen", [0x90, 0xee, 0x90]),
    ("forestgreen", [0x22, 0x8b, 0x22]),
    ("seagreen", [0x2e, 0x8b, 0x57]),
    ("gold", [0xff, 0xd7, 0x00]),
    ("amber", [0xff, 0xbf, 0x00]),
    ("khaki", [0xf0, 0xe6, 0x8c]),
    ("beige", [0xf5, 0xf5, 0xdc]),
    ("tan", [0xd2, 0xb4, 0x8c]),
    ("brown", [0xa5, 0x2a, 0x2a]),
    ("chocolate", [0xd2, 0x69, 0x1e]),
    ("coral", [0xff, 0x7f, 0x50]),
    ("salmon", [0xfa, 0x80, 0x72]),
    ("tomato", [0xff, 0x63, 0x47]),
    ("crimson", [0xdc, 0x14, 0x3c]),
    ("maroon", [0x80, 0x00, 0x00]),
    ("rose", [0xff, 0x00, 0x7f]),
    ("hotpink", [0xff, 0x69, 0xb4]),
    ("deeppink", [0xff, 0x14, 0x93]),
    ("darkred", [0x8b, 0x00, 0x00]),
    ("darkorange", [0xff, 0x8c, 0x00]),
    ("peach", [0xff, 0xda, 0xb9]),
    ("ivory", [0xff, 0xff, 0xf0]),
    ("bronze", [0xcd, 0x7f, 0x32]),
];

/// Reads a colour: `#rrggbb`, `#rgb`, a name, `ansi-…` for one of the terminal's own, or `default`.
pub(super) fn parse(text: &str) -> Result<Color> {
    let name = text.trim().to_lowercase().replace(['_', ' '], "-");
    if let Some(hex) = name.strip_prefix('#') {
        return match parse_hex(hex) {
            Some([r, g, b]) => Ok(Color::Rgb(r, g, b)),
            None => bail!("{text:?} is not a color; write it as #rrggbb"),
        };
    }
    if name == "default" {
        return Ok(Color::Reset);
    }
    if let Some((_, color, _)) = ANSI.iter().find(|(known, ..)| *known == name) {
        return Ok(*color);
    }
    let name = name.replace('-', "");
    match NAMED.iter().find(|(known, _)| *known == name) {
        Some((_, [r, g, b])) => Ok(Color::Rgb(*r, *g, *b)),
        None => bail!("{text:?} is not a color; write a name such as blue, or #rrggbb"),
    }
}

fn parse_hex(hex: &str) -> Option<[u8; 3]> {
    let digits: Vec<u8> =
        hex.chars().map(|c| c.to_digit(16).and_then(|d| u8::try_from(d).ok())).collect::<Option<_>>()?;
    match digits.len() {
        3 => Some([digits[0] * 17, digits[1] * 17, digits[2] * 17]),
        6 => Some([0, 2, 4].map(|at| digits[at] * 16 + digits[at + 1])),
        _ => None,
    }
}

/// Returns the value of an entry of xterm's 256 colours.
fn rgb_of_index(index: u8) -> [u8; 3] {
    const STEPS: [u8; 6] = [0, 95, 135, 175, 215, 255];
    match index {
        0..=15 => ANSI[usize::from(index)].2,
        16..=231 => {
            let at = usize::from(index - 16);
            [STEPS[at / 36], STEPS[at / 6 % 6], STEPS[at % 6]]
        }
        _ => [8 + (index - 232) * 10; 3],
    }
}

fn distance(a: [u8; 3], b: [u8; 3]) -> u32 {
    // Weights of the eye's sensitivity to red, green and blue.
    a.iter().zip(b).zip([3, 6, 1]).map(|((a, b), weight)| weight * u32::from(a.abs_diff(b)).pow(2)).sum()
}

fn nearest_256(rgb: [u8; 3]) -> u8 {
    PALETTE.min_by_key(|index| distance(rgb_of_index(*index), rgb)).unwrap_or(16)
}

fn nearest_16(rgb: [u8; 3]) -> Color {
    ANSI.iter().min_by_key(|(.., value)| distance(*value, rgb)).map_or(Color::Reset, |(_, color, _)| *color)
}

/// Returns the one of these colours that is nearest, the terminal's own sixteen taken for xterm's.
pub(super) fn nearest_of(color: Color, among: &[Color]) -> Option<Color> {
    let value = |color: Color| rgb(color).or_else(|| Some(ANSI.iter().find(|(_, own, _)| *own == color)?.2));
    let sought = value(color)?;
    among.iter().copied().min_by_key(|near| value(*near).map_or(u32::MAX, |near| distance(near, sought)))
}

/// Returns the value of a colour, where it has one that does not depend on the terminal.
fn rgb(color: Color) -> Option<[u8; 3]> {
    match color {
        Color::Rgb(r, g, b) => Some([r, g, b]),
        Color::Indexed(index) if index >= 16 => Some(rgb_of_index(index)),
        _ => None,
    }
}

/// Relative luminance as WCAG 2 defines it.
fn luminance(rgb: [u8; 3]) -> f64 {
    let linear = rgb.map(|channel| {
        let c = f64::from(channel) / 255.0;
        if c <= 0.04045 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) }
    });
    0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
}

/// Returns the contrast of two colours as WCAG 2 defines it, from 1 to 21, where both have a value of their own.
pub(super) fn contrast(a: Color, b: Color) -> Option<f64> {
    let (a, b) = (luminance(rgb(a)?), luminance(rgb(b)?));
    Some((a.max(b) + 0.05) / (a.min(b) + 0.05))
}

/// Mixes a colour with black or white until it stands out from the ground by `least`.
pub(super) fn legible(color: Color, background: Color, least: f64) -> Color {
    let (Some(mut value), Some(ground)) = (rgb(color), rgb(background)) else { return color };
    let target: u8 = if luminance(ground) < 0.2 { 255 } else { 0 };
    for _ in 0..16 {
        let mixed = Color::Rgb(value[0], value[1], value[2]);
        if contrast(mixed, background).is_none_or(|contrast| contrast >= least) {
            return mixed;
        }
        value = value.map(|channel| {
            if target > channel { channel + (target - channel).div_ceil(6) } else { channel - channel.div_ceil(6) }
        });
    }
    Color::Rgb(value[0], value[1], value[2])
}
