//! Pictures made smaller: those that are too large for services, and those that a terminal shows.
//!
//! Owns decoding PNG and JPEG, averaging pixels, and turning a photo upright. Leaves what services take to `attachment`.
//! Invariants: what is decoded is within bounds of size and memory, and of what is sent to services only what they refuse otherwise; what cannot be decoded stays
//! refused, with the same words.

use std::borrow::Cow;
use std::io::Cursor;
use std::ops::Range;

use zune_jpeg::JpegDecoder;
use zune_jpeg::zune_core::bytestream::ZCursor;
use zune_jpeg::zune_core::colorspace::ColorSpace;
use zune_jpeg::zune_core::options::DecoderOptions;

use super::attachment::{IMAGE_BYTES, PictureFacts};
use super::pixels::pixels;

/// Pixels of the longer side of what is made smaller: services make it no larger than that, too.
const LONGER_SIDE: usize = 1_568;
/// Pixels of a picture that is decoded.
const MAX_PIXELS: u64 = 50_000_000;
/// Pixels of a picture that is decoded to be shown.
const MAX_SHOWN_PIXELS: u64 = 25_000_000;
/// Bytes that decoding a PNG may take.
const MAX_DECODED: usize = 512 << 20;
/// How often it is made smaller still, by a quarter.
const TRIES: usize = 5;
const SHORT: usize = 2;
/// The tag of the orientation in the directory of a TIFF.
const ORIENTATION: u16 = 0x0112;

/// A picture that services take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FittedPicture {
    pub bytes: Vec<u8>,
    pub facts: PictureFacts,
    /// Width and height that it had before it was made smaller.
    pub before: Option<(u32, u32)>,
}

impl FittedPicture {
    /// Returns the picture, made smaller if services take no larger one. The error says of it what is wrong, and what to
    /// do: `is …`. Takes a second or two for a large one.
    pub fn of(bytes: Vec<u8>) -> Result<Self, String> {
        match PictureFacts::of(&bytes) {
            Ok(facts) => Ok(Self { bytes, facts, before: None }),
            Err(why) => shrunk(&bytes).ok_or(why),
        }
    }

    /// Returns size and kind, such as `640×480 png`.
    pub fn words(&self) -> String {
        let shown = self.facts.words();
        self.before.map_or(shown.clone(), |(width, height)| format!("{shown}, made smaller from {width}×{height}"))
    }
}

/// A small copy of a picture, as its pixels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Thumbnail {
    pub width: u32,
    pub height: u32,
    /// Red, green, blue and opacity of each pixel, row by row.
    pub pixels: Vec<u8>,
}

impl Thumbnail {
    /// Returns a copy that has room in so many pixels of width and height, or one of the same size. `None` if it is no whole
    /// PNG or JPEG, or has too many pixels. Takes up to a second.
    #[must_use]
    pub fn of(bytes: &[u8], (width, height): (u32, u32)) -> Option<Self> {
        let (raster, orientation) = decoded(bytes, MAX_SHOWN_PIXELS)?;
        let is_turned = orientation >= 5;
        let side = |pixels: u32| usize::try_from(pixels).unwrap_or(usize::MAX).max(1);
        let (room_x, room_y) = if is_turned { (side(height), side(width)) } else { (side(width), side(height)) };
        let longer = raster.width.max(raster.height);
        // The side that is the tighter one.
        let fitting = (longer * room_x / raster.width).min(longer * room_y / raster.height).clamp(1, longer);
        let small = raster.scaled(fitting).upright(orientation);
        let (width, height) = (small.width.try_into().ok()?, small.height.try_into().ok()?);
        Some(Self { width, height, pixels: small.rgba() })
    }

    /// Returns it with so many pixels of width and height, those that it has not in nothing. Cuts off what is beyond them.
    #[must_use]
    pub fn on_canvas(&self, width: u32, height: u32) -> Self {
        let (from, to) = (self.width as usize * 4, width as usize * 4);
        let mut pixels = vec![0; to * height as usize];
        for (row, target) in self.pixels.chunks_exact(from).zip(pixels.chunks_exact_mut(to)) {
            let kept = from.min(to);
            target[..kept].copy_from_slice(&row[..kept]);
        }
        Self { width, height, pixels }
    }

    /// Returns some of its rows of pixels.
    #[must_use]
    pub fn rows(&self, rows: Range<u32>) -> Self {
        let (end, stride) = (rows.end.min(self.height), self.width as usize * 4);
        let start = rows.start.min(end);
        let pixels = self.pixels[start as usize * stride..end as usize * stride].to_vec();
        Self { width: self.width, height: end - start, pixels }
    }

    /// Returns it as a PNG, in a quick way. `None` if it has no pixels.
    #[must_use]
    pub fn png(&self) -> Option<Vec<u8>> {
        let is_opaque = self.pixels.chunks_exact(4).all(|pixel| pixel[3] == u8::MAX);
        let (color, data) = if is_opaque {
            (
                png::ColorType::Rgb,
                Cow::Owned(self.pixels.chunks_exact(4).flat_map(|pixel| &pixel[..3]).copied().collect()),
            )
        } else {
            (png::ColorType::Rgba, Cow::Borrowed(&self.pixels))
        };
        let mut out = Vec::new();
        let mut encoder = png::Encoder::new(&mut out, self.width, self.height);
        encoder.set_depth(png::BitDepth::Eight);
        encoder.set_color(color);
        encoder.set_compression(png::Compression::Fast);
        encoder.write_header().ok()?.write_image_data(&data).ok()?;
        Some(out)
    }
}

/// A decoded picture.
struct Raster {
    width: usize,
    height: usize,
    /// Bytes of a pixel.
    channels: usize,
    data: Vec<u8>,
}

fn shrunk(bytes: &[u8]) -> Option<FittedPicture> {
    let before = pixels(bytes)?;
    let (raster, orientation) = decoded(bytes, MAX_PIXELS)?;
    let mut side = LONGER_SIDE.min(raster.width.max(raster.height));
    for _ in 0..TRIES {
        let encoded = encoded(&raster.scaled(side).upright(orientation))?;
        if encoded.len() as u64 <= IMAGE_BYTES {
            let facts = PictureFacts::of(&encoded).ok()?;
            return Some(FittedPicture { bytes: encoded, facts, before: Some(before) });
        }
        side = (side * 3 / 4).max(1);
    }
    None
}

/// Returns a picture of at most so many pixels, and how it is to be turned.
fn decoded(bytes: &[u8], most: u64) -> Option<(Raster, u16)> {
    let (width, height) = pixels(bytes)?;
    if u64::from(width) * u64::from(height) > most {
        return None;
    }
    if bytes.starts_with(b"\xff\xd8") { decoded_jpeg(bytes) } else { Some((decoded_png(bytes)?, 1)) }
}

fn decoded_png(bytes: &[u8]) -> Option<Raster> {
    let mut decoder = png::Decoder::new_with_limits(Cursor::new(bytes), png::Limits { bytes: MAX_DECODED });
    decoder.set_transformations(png::Transformations::normalize_to_color8());
    let mut reader = decoder.read_info().ok()?;
    let mut data = vec![0; reader.output_buffer_size()?];
    let frame = reader.next_frame(&mut data).ok()?;
    data.truncate(frame.buffer_size());
    let (width, height) = (usize::try_from(frame.width).ok()?, usize::try_from(frame.height).ok()?);
    let raster = Raster { width, height, channels: frame.color_type.samples(), data };
    raster.is_whole().then_some(raster)
}

/// Returns the picture, and how it is to be turned.
fn decoded_jpeg(bytes: &[u8]) -> Option<(Raster, u16)> {
    let options = DecoderOptions::default().jpeg_set_out_colorspace(ColorSpace::RGB);
    let mut decoder = JpegDecoder::new_with_options(ZCursor::new(bytes), options);
    let data = decoder.decode().ok()?;
    let facts = decoder.info()?;
    let orientation = decoder.exif().and_then(|exif| orientation(exif)).unwrap_or(1);
    let raster = Raster { width: facts.width.into(), height: facts.height.into(), channels: 3, data };
    raster.is_whole().then_some((raster, orientation))
}

/// Reads the orientation of a photo, 1 to 8, from the first directory of its TIFF.
fn orientation(tiff: &[u8]) -> Option<u16> {
    let is_little = tiff.starts_with(b"II");
    let number = |bytes: &[u8]| {
        let add = |number: u32, byte: &u8| (number << 8) | u32::from(*byte);
        if is_little { bytes.iter().rev().fold(0, add) } else { bytes.iter().fold(0, add) }
    };
    let directory = tiff.get(usize::try_from(number(tiff.get(4..8)?)).ok()?..)?;
    let entries = directory.get(SHORT..)?.chunks_exact(12).take(number(directory.get(..SHORT)?) as usize);
    let found = entries.into_iter().find(|entry| number(&entry[..SHORT]) == u32::from(ORIENTATION))?;
    u16::try_from(number(&found[8..8 + SHORT])).ok().filter(|turn| (1..=8).contains(turn))
}

fn encoded(raster: &Raster) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let mut encoder = png::Encoder::new(&mut out, raster.width.try_into().ok()?, raster.height.try_into().ok()?);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_color(match raster.channels {
        1 => png::ColorType::Grayscale,
        2 => png::ColorType::GrayscaleAlpha,
        3 => png::ColorType::Rgb,
        _ => png::ColorType::Rgba,
    });
    encoder.write_header().ok()?.write_image_data(&raster.data).ok()?;
    Some(out)
}

impl Raster {
    fn is_whole(&self) -> bool {
        self.data.len() == self.width * self.height * self.channels && !self.data.is_empty()
    }

    /// Returns it with no side longer than this, each pixel the average of those that it stands for.
    fn scaled(&self, side: usize) -> Self {
        let longer = self.width.max(self.height);
        let less = |length: usize| (length * side / longer).clamp(1, length);
        let (width, height) = (less(self.width), less(self.height));
        let mut data = Vec::with_capacity(width * height * self.channels);
        let span = |at: usize, of: usize, from: usize| at * from / of..((at + 1) * from / of).max(at * from / of + 1);
        let mut sums = vec![0_u64; self.channels];
        for y in 0..height {
            let rows = span(y, height, self.height);
            for x in 0..width {
                let columns = span(x, width, self.width);
                sums.fill(0);
                for row in rows.clone() {
                    let from = row * self.width;
                    let pixels =
                        &self.data[(from + columns.start) * self.channels..(from + columns.end) * self.channels];
                    for pixel in pixels.chunks_exact(self.channels) {
                        sums.iter_mut().zip(pixel).for_each(|(sum, value)| *sum += u64::from(*value));
                    }
                }
                let count = (rows.len() * columns.len()) as u64;
                data.extend(sums.iter().map(|sum| u8::try_from(sum / count).unwrap_or(u8::MAX)));
            }
        }
        Self { width, height, channels: self.channels, data }
    }

    /// Returns red, green, blue and opacity of each pixel.
    fn rgba(self) -> Vec<u8> {
        let pixel = |pixel: &[u8]| match *pixel {
            [gray] => [gray, gray, gray, u8::MAX],
            [gray, opacity] => [gray, gray, gray, opacity],
            [red, green, blue] => [red, green, blue, u8::MAX],
            [red, green, blue, opacity, ..] => [red, green, blue, opacity],
            [] => [0; 4],
        };
        match self.channels {
            4 => self.data,
            channels => self.data.chunks_exact(channels).flat_map(pixel).collect(),
        }
    }

    /// Returns it turned as the camera was held.
    fn upright(self, orientation: u16) -> Self {
        if orientation == 1 {
            return self;
        }
        let (right, bottom) = (self.width - 1, self.height - 1);
        let (width, height) = if orientation < 5 { (self.width, self.height) } else { (self.height, self.width) };
        let mut data = Vec::with_capacity(self.data.len());
        for y in 0..height {
            for x in 0..width {
                let (from_x, from_y) = match orientation {
                    2 => (right - x, y),
                    3 => (right - x, bottom - y),
                    4 => (x, bottom - y),
                    5 => (y, x),
                    6 => (y, bottom - x),
                    7 => (right - y, bottom - x),
                    _ => (right - y, x),
                };
                let at = (from_y * self.width + from_x) * self.channels;
                data.extend_from_slice(&self.data[at..at + self.channels]);
            }
        }
        Self { width, height, channels: self.channels, data }
    }
}
