//! Pictures: whatever their bytes, what comes of one that is too large is a picture that services take.

use belvedere::message::{FittedPicture, PictureFacts};

/// More than services take, so that each picture has to be decoded.
const PADDING: usize = 4_000_000;

pub(super) fn pictures(bytes: &[u8]) {
    let mut padded = bytes.to_vec();
    padded.resize(bytes.len() + PADDING, 0);
    if let Ok(picture) = FittedPicture::of(padded) {
        assert_eq!(PictureFacts::of(&picture.bytes), Ok(picture.facts));
        assert!(
            picture.before.is_some() && picture.facts.width.max(picture.facts.height) <= 1_568,
            "{:?}",
            picture.facts
        );
    }
}
