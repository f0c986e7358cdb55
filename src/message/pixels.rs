//! The size of a picture in pixels, from its header.
//!
//! A picture that a model's service refuses, being broken or too large, would fail every later request of the
//! conversation; so it is judged before it gets in. Layouts after the specifications of PNG, GIF89a, JFIF and WebP.

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
