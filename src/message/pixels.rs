//! The size of a picture in pixels, from its header.
//!
//! A picture that a model's service refuses, being broken or too large, would fail every later request of the
//! conversation; so it is judged before it gets in. Layouts after the specifications of PNG, GIF89a, JFIF and WebP.

use std::io::Cursor;

/// Most pixels of a picture whose every line is decoded before it is sent.
const MOST_DECODED: u64 = 50_000_000;

/// Returns `true` if a picture is there to its end: a PNG is decoded, of the others the last mark is looked for.
pub(super) fn is_complete(bytes: &[u8]) -> bool {
    match bytes {
        [0x89, b'P', ..] => is_complete_png(bytes),
        [b'G', ..] => bytes.contains(&0x2c) && bytes.iter().rev().find(|byte| **byte != 0) == Some(&0x3b),
        [0xff, 0xd8, rest @ ..] => {
            rest.windows(2).any(|two| two == [0xff, 0xda]) && rest.windows(2).any(|two| two == [0xff, 0xd9])
        }
        [b'R', ..] => {
            bytes.get(4..8).is_some_and(|size| usize::try_from(little(size)).is_ok_and(|size| size + 8 <= bytes.len()))
        }
        _ => false,
    }
}

fn is_complete_png(bytes: &[u8]) -> bool {
    let Some((width, height)) = pixels(bytes) else { return false };
    if u64::from(width) * u64::from(height) > MOST_DECODED {
        return bytes.windows(4).any(|four| four == b"IEND");
    }
    let Ok(mut reader) = png::Decoder::new(Cursor::new(bytes)).read_info() else { return false };
    loop {
        match reader.next_row() {
            Ok(Some(_)) => {}
            Ok(None) => return true,
            Err(_) => return false,
        }
    }
}

/// Returns width and height, or nothing for what is no whole header of a picture.
pub(super) fn pixels(bytes: &[u8]) -> Option<(u32, u32)> {
    let found = match bytes {
        [0x89, b'P', ..] if bytes.get(12..16)? == b"IHDR" => (big(bytes.get(16..20)?), big(bytes.get(20..24)?)),
        [b'G', ..] => (little(bytes.get(6..8)?), little(bytes.get(8..10)?)),
        [0xff, 0xd8, rest @ ..] => jpeg(rest)?,
        [b'R', ..] => webp(bytes)?,
        _ => return None,
    };
    (found.0 > 0 && found.1 > 0).then_some(found)
}

fn big(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0, |number, byte| (number << 8) | u32::from(*byte))
}

fn little(bytes: &[u8]) -> u32 {
    bytes.iter().rev().fold(0, |number, byte| (number << 8) | u32::from(*byte))
}

/// Walks the segments up to the frame header, which has the size.
fn jpeg(mut rest: &[u8]) -> Option<(u32, u32)> {
    loop {
        let [0xff, marker, after @ ..] = rest else { return None };
        match marker {
            // Fill bytes.
            0xff => rest = &rest[1..],
            0xc0..=0xcf if !matches!(marker, 0xc4 | 0xc8 | 0xcc) => {
                return Some((big(after.get(5..7)?), big(after.get(3..5)?)));
            }
            _ => {
                let length = usize::try_from(big(after.get(..2)?)).ok()?;
                rest = after.get(length.max(2)..)?;
            }
        }
    }
}

fn webp(bytes: &[u8]) -> Option<(u32, u32)> {
    match bytes.get(12..16)? {
        b"VP8X" => Some((little(bytes.get(24..27)?) + 1, little(bytes.get(27..30)?) + 1)),
        b"VP8L" => {
            let packed = little(bytes.get(21..25)?);
            Some(((packed & 0x3fff) + 1, ((packed >> 14) & 0x3fff) + 1))
        }
        b"VP8 " => Some((little(bytes.get(26..28)?) & 0x3fff, little(bytes.get(28..30)?) & 0x3fff)),
        _ => None,
    }
}
