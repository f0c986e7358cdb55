//! Pictures of a screen, from its buffer: SVG cell by cell, and PNG from that.
//!
//! Every glyph has its own place, so that a fallback font cannot shift what comes after it.
#![allow(clippy::disallowed_types, reason = "pictures are made of colours")]

use std::fmt::Write as _;
use std::sync::Arc;

use ratatui::buffer::{Buffer, Cell};
use ratatui::style::{Color, Modifier};
use resvg::usvg::fontdb::Database;
use resvg::{tiny_skia, usvg};
use unicode_width::UnicodeWidthStr as _;

/// Size of a cell in pixels, and the font size whose advance is one cell.
const CELL: (u32, u32) = (9, 17);
const FONT_SIZE: f32 = 14.95;
/// From the top of a cell to the baseline of its text.
const BASELINE: u32 = 13;
const MARGIN: u32 = 8;

/// What a cell looks like once reversal and dimming are applied.
#[derive(PartialEq)]
struct Look {
    fg: [u8; 3],
    bg: [u8; 3],
    modifier: Modifier,
}

/// Draws a buffer; `ground` is the terminal's own background.
pub(crate) fn to_svg(buffer: &Buffer, ground: Color) -> String {
    let area = buffer.area;
    let ground = rgb(ground).unwrap_or([0x16, 0x18, 0x1d]);
    let text = if luma(ground) < 128 { [0xd5, 0xd8, 0xde] } else { [0x24, 0x29, 0x2f] };
    let (width, height) = (u32::from(area.width) * CELL.0 + 2 * MARGIN, u32::from(area.height) * CELL.1 + 2 * MARGIN);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" font-family=\"'DejaVu Sans Mono', monospace\" font-size=\"{FONT_SIZE}\" \
         xml:space=\"preserve\">\n<rect width=\"100%\" height=\"100%\" rx=\"6\" fill=\"{}\"/>\n",
        hex(ground)
    );
    for row in 0..area.height {
        let y = MARGIN + u32::from(row) * CELL.1;
        let mut run = Run::default();
        let mut column = 0;
        while column < area.width {
            let cell = &buffer[(area.x + column, area.y + row)];
            let look = look(cell, text, ground);
            let columns = u16::try_from(cell.symbol().width()).unwrap_or(1).max(1);
            if run.look.as_ref() != Some(&look) {
                run.draw(&mut svg, y, ground);
                run = Run { look: Some(look), ..Run::default() };
            }
            run.push(cell.symbol(), MARGIN + u32::from(column) * CELL.0, u32::from(columns) * CELL.0);
            column += columns;
        }
        run.draw(&mut svg, y, ground);
    }
    svg.push_str("</svg>\n");
    svg
}

/// Cells beside each other that look the same.
#[derive(Default)]
struct Run {
    look: Option<Look>,
    /// What stands where.
    symbols: Vec<(u32, String)>,
    start: u32,
    width: u32,
}

impl Run {
    fn push(&mut self, symbol: &str, x: u32, width: u32) {
        if self.width == 0 {
            self.start = x;
        }
        self.width += width;
        if !symbol.trim().is_empty() {
            self.symbols.push((x, symbol.to_owned()));
        }
    }

    fn draw(&self, svg: &mut String, y: u32, ground: [u8; 3]) {
        let (Some(look), Self { start, width, .. }) = (&self.look, self) else { return };
        if look.bg != ground {
            let _ = writeln!(
                svg,
                "<rect x=\"{start}\" y=\"{y}\" width=\"{width}\" height=\"{}\" fill=\"{}\" \
                 shape-rendering=\"crispEdges\"/>",
                CELL.1,
                hex(look.bg)
            );
        }
        let fill = hex(look.fg);
        // A position for each character; a wide symbol, or one of several characters, has a text of its own.
        let is_single =
            |(_, symbol): &&(u32, String)| symbol.chars().count() == 1 && symbol.width() == 1 && dots(symbol).is_none();
        let (single, other): (Vec<_>, Vec<_>) = self.symbols.iter().partition(is_single);
        if !single.is_empty() {
            let places: Vec<String> = single.iter().map(|(x, _)| x.to_string()).collect();
            let text: String = single.iter().map(|(_, symbol)| symbol.as_str()).collect();
            write_text(svg, &places.join(" "), y, look, &text);
        }
        for (x, symbol) in other {
            match dots(symbol) {
                Some(dots) => braille(svg, dots, *x, y, &fill),
                None => write_text(svg, &x.to_string(), y, look, symbol),
            }
        }
        for (modifier, at) in [(Modifier::UNDERLINED, BASELINE + 2), (Modifier::CROSSED_OUT, BASELINE - 4)] {
            if look.modifier.contains(modifier) {
                let y = y + at;
                let _ = writeln!(svg, "<rect x=\"{start}\" y=\"{y}\" width=\"{width}\" height=\"1\" fill=\"{fill}\"/>");
            }
        }
    }
}

fn write_text(svg: &mut String, places: &str, y: u32, look: &Look, text: &str) {
    let bold = if look.modifier.contains(Modifier::BOLD) { " font-weight=\"bold\"" } else { "" };
    let italic = if look.modifier.contains(Modifier::ITALIC) { " font-style=\"italic\"" } else { "" };
    let (y, fill, text) = (y + BASELINE, hex(look.fg), escape(text));
    let _ = writeln!(svg, "<text x=\"{places}\" y=\"{y}\" fill=\"{fill}\"{bold}{italic}>{text}</text>");
}

/// Returns the Braille pattern that a symbol is.
fn dots(symbol: &str) -> Option<char> {
    symbol.chars().next().filter(|first| ('\u{2800}'..='\u{28FF}').contains(first))
}

/// Draws a Braille pattern, which the font does not have: two columns of four dots.
fn braille(svg: &mut String, symbol: char, x: u32, y: u32, fill: &str) {
    const DOTS: [(u32, u32); 8] = [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2), (0, 3), (1, 3)];
    let bits = u32::from(symbol) - 0x2800;
    for (_, (column, row)) in DOTS.iter().enumerate().filter(|(bit, _)| bits & (1 << bit) != 0) {
        let (cx, cy) = (x + 3 + column * 4, y + 3 + row * 4);
        let _ = writeln!(svg, "<circle cx=\"{cx}\" cy=\"{cy}\" r=\"1.3\" fill=\"{fill}\"/>");
    }
}

fn look(cell: &Cell, text: [u8; 3], ground: [u8; 3]) -> Look {
    let (mut fg, mut bg) = (rgb(cell.fg).unwrap_or(text), rgb(cell.bg).unwrap_or(ground));
    if cell.modifier.contains(Modifier::REVERSED) {
        std::mem::swap(&mut fg, &mut bg);
    }
    if cell.modifier.contains(Modifier::DIM) {
        fg = std::array::from_fn(|at| u8::midpoint(fg[at], u8::midpoint(fg[at], bg[at])));
    }
    Look { fg, bg, modifier: cell.modifier }
}

/// Returns the value of a colour; `None` for the terminal's own.
fn rgb(color: Color) -> Option<[u8; 3]> {
    const BASE: [[u8; 3]; 16] = [
        [0x1d, 0x1f, 0x26],
        [0xe0, 0x5f, 0x6f],
        [0x8c, 0xc5, 0x70],
        [0xe0, 0xaf, 0x68],
        [0x7a, 0xa2, 0xf7],
        [0xbb, 0x9a, 0xf7],
        [0x5f, 0xc9, 0xc0],
        [0xc8, 0xcc, 0xd4],
        [0x60, 0x66, 0x72],
        [0xf7, 0x76, 0x8e],
        [0xb4, 0xe1, 0xa0],
        [0xff, 0xd0, 0x89],
        [0x9f, 0xc3, 0xff],
        [0xd5, 0xb8, 0xff],
        [0x8a, 0xe8, 0xe0],
        [0xff, 0xff, 0xff],
    ];
    const STEPS: [u8; 6] = [0, 95, 135, 175, 215, 255];
    let index = match color {
        Color::Reset => return None,
        Color::Rgb(r, g, b) => return Some([r, g, b]),
        Color::Indexed(index) => usize::from(index),
        Color::Black => 0,
        Color::Red => 1,
        Color::Green => 2,
        Color::Yellow => 3,
        Color::Blue => 4,
        Color::Magenta => 5,
        Color::Cyan => 6,
        Color::Gray => 7,
        Color::DarkGray => 8,
        Color::LightRed => 9,
        Color::LightGreen => 10,
        Color::LightYellow => 11,
        Color::LightBlue => 12,
        Color::LightMagenta => 13,
        Color::LightCyan => 14,
        Color::White => 15,
    };
    Some(match index {
        0..16 => BASE[index],
        16..232 => [STEPS[(index - 16) / 36], STEPS[(index - 16) / 6 % 6], STEPS[(index - 16) % 6]],
        _ => [u8::try_from(8 + (index - 232) * 10).unwrap(); 3],
    })
}

fn luma([r, g, b]: [u8; 3]) -> u32 {
    (u32::from(r) * 3 + u32::from(g) * 6 + u32::from(b)) / 10
}

fn hex([r, g, b]: [u8; 3]) -> String {
    format!("#{r:02x}{g:02x}{b:02x}")
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Draws an SVG with the fonts of the fixtures, larger than it is, so that text is sharp: a wide picture
/// less so, because it is shown smaller than a narrow one.
pub(crate) fn to_png(svg: &str) -> Vec<u8> {
    let mut fonts = Database::new();
    fonts.load_font_data(include_bytes!("../../fixtures/fonts/DejaVuSansMono.ttf").to_vec());
    fonts.load_font_data(include_bytes!("../../fixtures/fonts/DejaVuSansMono-Bold.ttf").to_vec());
    let options = usvg::Options { fontdb: Arc::new(fonts), ..usvg::Options::default() };
    let tree = usvg::Tree::from_str(svg, &options).expect("the SVG is well formed");
    let scale = if tree.size().width() > 1_200.0 { 1.5 } else { 2.0 };
    let size = tree.size().to_int_size().scale_by(scale).expect("the picture has a size");
    let mut pixels = tiny_skia::Pixmap::new(size.width(), size.height()).expect("the picture has a size");
    resvg::render(&tree, tiny_skia::Transform::from_scale(scale, scale), &mut pixels.as_mut());
    pixels.encode_png().expect("a picture can be encoded")
}
