//! Pictures that are painted over cells: by sixel, or by the protocol of iTerm2.
//!
//! Owns a picture's pixels and the sequences that paint some of its rows of cells. Leaves where they stand to `placeholder`
//! and when they are painted to the terminal. Invariants: what is painted stays within its cells; a sequence is at most
//! [`MAX_BYTES`] long.

use std::ops::Range;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::sixel::{BAND, PaletteImage};
use super::{MAX_COLUMNS, MAX_ROWS, MAX_SIDE};
use crate::message::Thumbnail;

/// Bytes of the sequence of a whole picture.
const MAX_BYTES: usize = 512 * 1024;
/// The numbers of colors to try, until the sequence is short enough. With the last it is, whatever the picture shows.
const FEWER_COLORS: [u16; 3] = [64, 16, 4];
/// The parts of its size that a picture for iTerm2, which makes it as large as its cells, is tried at.
const PARTS: [u32; 4] = [1, 2, 4, 8];

/// A picture that is painted over cells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Painting {
    pub(super) columns: u16,
    pub(super) rows: u16,
    /// Pixels of a cell's height.
    cell_height: u32,
    pixels: Pixels,
    /// What paints all of it.
    pub(super) whole: Arc<[u8]>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Pixels {
    Sixel(PaletteImage),
    Iterm(Thumbnail),
}

impl Painting {
    /// Returns a picture for sixel with so many colors, over cells of these pixels.
    pub(super) fn sixel(bytes: &[u8], cell: (u32, u32), colors: u16) -> Option<Self> {
        // Whole bands, so that the last one does not end below the last cell.
        let height = (MAX_ROWS * cell.1).min(MAX_SIDE) / BAND * BAND;
        let picture = Thumbnail::of(bytes, ((MAX_COLUMNS * cell.0).min(MAX_SIDE), height))?;
        let banded = picture.height.div_ceil(BAND) * BAND;
        let (columns, rows) = cells((picture.width, banded), cell)?;
        let fewer = FEWER_COLORS.into_iter().filter(|fewer| *fewer < colors);
        let mut made = None;
        for colors in std::iter::once(colors).chain(fewer) {
            let pixels = PaletteImage::of(&picture, colors);
            let whole = pixels.sixel(0..picture.height);
            let is_short = whole.len() <= MAX_BYTES;
            made = Some((pixels, whole));
            if is_short {
                break;
            }
        }
        let (pixels, whole) = made?;
        Some(Self { columns, rows, cell_height: cell.1, pixels: Pixels::Sixel(pixels), whole: whole.into() })
    }

    /// Returns a picture for the protocol of iTerm2, over cells of these pixels.
    pub(super) fn iterm(bytes: &[u8], cell: (u32, u32)) -> Option<Self> {
        PARTS.into_iter().find_map(|part| {
            let cell = (cell.0.div_ceil(part), cell.1.div_ceil(part));
            let room = ((MAX_COLUMNS * cell.0).min(MAX_SIDE / part), (MAX_ROWS * cell.1).min(MAX_SIDE / part));
            let picture = Thumbnail::of(bytes, room)?;
            let (columns, rows) = cells((picture.width, picture.height), cell)?;
            let picture = picture.on_canvas(u32::from(columns) * cell.0, u32::from(rows) * cell.1);
            let whole = iterm(&picture, columns, rows)?;
            let pixels = Pixels::Iterm(picture);
            (whole.len() <= MAX_BYTES).then(|| Self { columns, rows, cell_height: cell.1, pixels, whole: whole.into() })
        })
    }

    /// Returns bytes that it takes in memory.
    pub(super) fn size(&self) -> usize {
        let pixels = match &self.pixels {
            Pixels::Sixel(image) => image.size(),
            Pixels::Iterm(picture) => picture.pixels.len(),
        };
        pixels + self.whole.len()
    }

    /// Returns what paints some of its rows of cells where the cursor stands.
    pub(super) fn part(&self, rows: Range<u16>) -> Arc<[u8]> {
        if rows == (0..self.rows) {
            return self.whole.clone();
        }
        let pixels = u32::from(rows.start) * self.cell_height..u32::from(rows.end) * self.cell_height;
        match &self.pixels {
            Pixels::Sixel(image) => {
                // A band that went on below the last row would be over what stands there.
                let height = (pixels.end - pixels.start) / BAND * BAND;
                image.sixel(pixels.start..pixels.start + height).into()
            }
            Pixels::Iterm(picture) => {
                let count = rows.end.saturating_sub(rows.start);
                iterm(&picture.rows(pixels), self.columns, count).unwrap_or_default().into()
            }
        }
    }
}

/// Returns how many columns and rows of cells some pixels fill.
pub(super) fn cells(pixels: (u32, u32), cell: (u32, u32)) -> Option<(u16, u16)> {
    let count = |pixels: u32, cell: u32, most: u32| u16::try_from(pixels.div_ceil(cell).clamp(1, most)).ok();
    Some((count(pixels.0, cell.0, MAX_COLUMNS)?, count(pixels.1, cell.1, MAX_ROWS)?))
}

/// Returns the sequence that paints a picture over so many cells (OSC 1337).
fn iterm(picture: &Thumbnail, columns: u16, rows: u16) -> Option<Vec<u8>> {
    let png = picture.png()?;
    let (size, data) = (png.len(), STANDARD.encode(png));
    let keys = format!("inline=1;size={size};width={columns};height={rows};preserveAspectRatio=0");
    Some(format!("\x1b]1337;File={keys}:{data}\x07").into_bytes())
}
