//! Pixels as sixel, the graphics of the VT340: bands of six rows, each color of a band after the other.
//!
//! Owns choosing the colors and writing the sequence. Leaves which pixels those are to `painting`. Invariants: the sequence
//! says how large the picture is, and leaves what is not opaque as it was; no color is beyond the registers that were given.

use std::fmt::Write as _;
use std::ops::Range;

use crate::message::Thumbnail;

/// Rows of pixels of one band.
pub(super) const BAND: u32 = 6;
/// Bits of a channel by which colors are told apart.
const BITS: u32 = 5;
/// The number of a pixel that is not drawn.
const NOTHING: u8 = u8::MAX;
/// Colors that a picture can have, besides [`NOTHING`].
const MAX_COLORS: usize = 255;
/// Repeats from which on a count is shorter than the signs.
const WORTH_COUNTING: usize = 4;

/// A picture in few colors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PaletteImage {
    width: usize,
    /// The number of each pixel's color, row by row.
    numbers: Vec<u8>,
    colors: Vec<[u8; 3]>,
}

impl PaletteImage {
    /// Returns a picture in at most so many colors.
    pub(super) fn of(picture: &Thumbnail, colors: u16) -> Self {
        let opaque = |pixel: &[u8]| pixel[3] >= 128;
        let mut bins = vec![Bin::default(); 1 << (3 * BITS)];
        for pixel in picture.pixels.chunks_exact(4).filter(|pixel| opaque(pixel)) {
            bins[bin_of(pixel)].add(pixel);
        }
        let (colors, table) = palette(&bins, usize::from(colors).clamp(2, MAX_COLORS));
        let number = |pixel: &[u8]| if opaque(pixel) { table[bin_of(pixel)] } else { NOTHING };
        let numbers = picture.pixels.chunks_exact(4).map(number).collect();
        Self { width: picture.width as usize, numbers, colors }
    }

    /// Returns bytes that it takes in memory.
    pub(super) fn size(&self) -> usize {
        self.numbers.len()
    }

    /// Returns the sequence that draws some rows of pixels where the cursor stands.
    pub(super) fn sixel(&self, rows: Range<u32>) -> Vec<u8> {
        let height = self.numbers.len() / self.width.max(1);
        let (start, end) = (rows.start as usize, (rows.end as usize).min(height));
        let drawn = &self.numbers[start.min(end) * self.width..end * self.width];
        // The second number leaves what is not drawn as it was.
        let mut out = format!("\x1bP0;1;0q\"1;1;{};{}", self.width, drawn.len() / self.width.max(1));
        let mut is_used = [false; 256];
        for number in drawn {
            is_used[usize::from(*number)] = true;
        }
        for (number, [red, green, blue]) in self.colors.iter().enumerate().filter(|(number, _)| is_used[*number]) {
            let percent = |value: &u8| (u32::from(*value) * 100 + 127) / 255;
            let _ = write!(out, "#{number};2;{};{};{}", percent(red), percent(green), percent(blue));
        }
        for (index, band) in drawn.chunks(self.width.max(1) * BAND as usize).enumerate() {
            if index > 0 {
                out.push('-');
            }
            self.band(band, &mut out);
        }
        out.push_str("\x1b\\");
        out.into_bytes()
    }

    /// Writes the colors of one band over each other.
    fn band(&self, band: &[u8], out: &mut String) {
        let mut lines: Vec<(u8, Vec<u8>)> = Vec::new();
        let mut line_of = [usize::MAX; 256];
        for (row, numbers) in band.chunks(self.width).enumerate() {
            for (column, number) in numbers.iter().enumerate().filter(|(_, number)| **number != NOTHING) {
                let line = &mut line_of[usize::from(*number)];
                if *line == usize::MAX {
                    *line = lines.len();
                    lines.push((*number, Vec::new()));
                }
                let signs = &mut lines[*line].1;
                if signs.len() <= column {
                    signs.resize(column + 1, 0);
                }
                signs[column] |= 1 << row;
            }
        }
        for (index, (number, signs)) in lines.iter().enumerate() {
            let _ = write!(out, "{}#{number}", if index > 0 { "$" } else { "" });
            for run in signs.chunk_by(|a, b| a == b) {
                let sign = char::from(b'?' + run[0]);
                if run.len() >= WORTH_COUNTING {
                    let _ = write!(out, "!{}{sign}", run.len());
                } else {
                    out.extend(std::iter::repeat_n(sign, run.len()));
                }
            }
        }
    }
}

/// The pixels whose colors look alike.
#[derive(Debug, Clone, Copy, Default)]
struct Bin {
    count: u32,
    sums: [u32; 3],
}

impl Bin {
    fn add(&mut self, pixel: &[u8]) {
        self.count += 1;
        self.sums.iter_mut().zip(pixel).for_each(|(sum, value)| *sum += u32::from(*value));
    }
}

fn bin_of(pixel: &[u8]) -> usize {
    pixel[..3].iter().fold(0, |bin, value| (bin << BITS) | usize::from(value >> (8 - BITS)))
}

/// Returns a channel of the colors of a bin, in so few steps as bins have.
fn channel(bin: usize, channel: u32) -> usize {
    (bin >> (BITS * (2 - channel))) & ((1 << BITS) - 1)
}

/// Returns at most so many colors, and the number of the one for each bin. The bins are halved, those first that hold most
/// pixels over the widest range (median cut).
fn palette(bins: &[Bin], most: usize) -> (Vec<[u8; 3]>, Vec<u8>) {
    let used: Vec<usize> = (0..bins.len()).filter(|bin| bins[*bin].count > 0).collect();
    let mut boxes = vec![ColorBox::of(used, bins)];
    while boxes.len() < most {
        let widest = boxes.iter().enumerate().max_by_key(|(_, one)| one.weight);
        let Some(at) = widest.filter(|(_, one)| one.weight > 0).map(|(at, _)| at) else { break };
        let (low, high) = boxes.swap_remove(at).halved(bins);
        boxes.extend([low, high]);
    }
    let mut table = vec![0; bins.len()];
    let mut colors = Vec::with_capacity(boxes.len());
    for (number, one) in (0..=u8::MAX).zip(&boxes) {
        one.bins.iter().for_each(|bin| table[*bin] = number);
        let count: u64 = one.bins.iter().map(|bin| u64::from(bins[*bin].count)).sum();
        let mean = |channel: usize| {
            let sum: u64 = one.bins.iter().map(|bin| u64::from(bins[*bin].sums[channel])).sum();
            u8::try_from(sum.checked_div(count).unwrap_or(0)).unwrap_or(u8::MAX)
        };
        colors.push([mean(0), mean(1), mean(2)]);
    }
    (colors, table)
}

struct ColorBox {
    bins: Vec<usize>,
    /// The channel of the widest range.
    channel: u32,
    /// How much it is to be halved: not at all if it has one bin.
    weight: u64,
}

impl ColorBox {
    fn of(held: Vec<usize>, bins: &[Bin]) -> Self {
        let range = |of: u32| {
            let values = held.iter().map(|bin| channel(*bin, of));
            values.clone().max().unwrap_or(0) - values.min().unwrap_or(0)
        };
        let (widest, channel) = (0..3).map(|channel| (range(channel), channel)).max().unwrap_or_default();
        let count: u64 = held.iter().map(|bin| u64::from(bins[*bin].count)).sum();
        Self { bins: held, channel, weight: count * widest as u64 }
    }

    /// Returns the halves of one that has several bins.
    fn halved(mut self, bins: &[Bin]) -> (Self, Self) {
        self.bins.sort_by_key(|bin| channel(*bin, self.channel));
        let count: u64 = self.bins.iter().map(|bin| u64::from(bins[*bin].count)).sum();
        let mut before = 0;
        let is_below = |bin: &&usize| {
            before += u64::from(bins[**bin].count);
            before * 2 < count
        };
        let middle = self.bins.iter().take_while(is_below).count().clamp(1, self.bins.len() - 1);
        let high = self.bins.split_off(middle);
        (Self::of(self.bins, bins), Self::of(high, bins))
    }
}
