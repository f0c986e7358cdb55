//! The protocol of kitty, with placeholders.
//!
//! Owns what sends a picture and what takes it away. Invariant: the terminal answers nothing.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::ShownPicture;

/// Bytes of base64 in one sequence.
const CHUNK: usize = 4_096;

/// Returns what sends a picture, and says how many cells it fills. The terminal is to answer nothing (`q=2`).
pub(super) fn upload(picture: ShownPicture, png: &[u8]) -> Vec<u8> {
    let ShownPicture { id, columns, rows } = picture;
    let data = STANDARD.encode(png);
    let mut out = String::with_capacity(data.len() + data.len() / 100 + 64);
    let mut rest = data.as_str();
    let mut keys = format!("a=T,U=1,i={id},f=100,t=d,c={columns},r={rows},q=2,");
    loop {
        let (chunk, after) = rest.split_at(rest.len().min(CHUNK));
        let more = u8::from(!after.is_empty());
        let _ = write!(out, "\x1b_G{keys}m={more};{chunk}\x1b\\");
        if after.is_empty() {
            return out.into_bytes();
        }
        (rest, keys) = (after, "q=2,".to_owned());
    }
}

/// Returns what takes a picture from the terminal, with its data.
pub(super) fn removal(picture: ShownPicture) -> Vec<u8> {
    format!("\x1b_Ga=d,d=I,i={},q=2\x1b\\", picture.id).into_bytes()
}
