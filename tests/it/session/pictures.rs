//! The pictures of a session: their numbers, and their files.

use base64::Engine as _;
use belvedere::message::{FittedPicture, PictureFacts, Thumbnail, picture_numbers, without_picture_marks};
use belvedere::session::{PictureStore, Secrets, Store, read_picture};

use super::store;
use crate::support::png;

/// The header of a picture of this size.
fn header(width: u32, height: u32) -> Vec<u8> {
    [b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".as_slice(), &width.to_be_bytes(), &height.to_be_bytes()].concat()
}

#[test]
fn numbers_go_on_where_the_session_goes_on() {
    let state = tempfile::tempdir().unwrap();
    let store = store(state.path());
    let pictures = store.pictures();
    assert_eq!((pictures.keep(&png(1, 1)).unwrap(), pictures.keep(&png(2, 2)).unwrap()), (1, 2));
    let dir = store.dir().to_path_buf();
    let again = Store::reopen(state.path(), &dir, Secrets::default()).unwrap().pictures();
    assert_eq!(again.keep(&png(3, 3)).unwrap(), 3);
    let found = again.load(&[1, 3, 4]);
    assert_eq!(found.keys().copied().collect::<Vec<_>>(), [1, 3]);
    let bytes = base64::engine::general_purpose::STANDARD.decode(&*found[&1].data).unwrap();
    assert_eq!((found[&1].media_type, bytes), ("image/png", png(1, 1)));
    let started = "2026-11-22T06:30:00.5Z".parse().unwrap();
    let fork = Store::new(state.path(), std::path::Path::new("/src/shop"), started, Secrets::default());
    fork.copy_from(&dir).unwrap();
    assert_eq!(fork.pictures().load(&[2]).len(), 1, "a copy has the pictures too");
    let unkept = PictureStore::default();
    assert_eq!((unkept.keep(&png(1, 1)).unwrap(), unkept.load(&[1]).len()), (1, 1));
}

#[test]
fn marks_are_read_as_they_are_written() {
    let text = "[Image #2] and [Image #12][Image #2] but [Image #], [Image #x], [Image #1234567] and [Image #3";
    assert_eq!(picture_numbers(text), [2, 12]);
    assert!(without_picture_marks(text).starts_with("[Image] and [Image][Image] but [Image #], "));
}

#[test]
fn what_services_refuse_is_refused_here() {
    let facts = PictureFacts::of(&png(640, 480)).unwrap();
    assert_eq!(facts.words(), "640×480 png");
    assert!(PictureFacts::of(&header(9_000, 2)).unwrap_err().contains("the limit is 8000 per side"));
    let whole = png(64, 48);
    for end in 24..whole.len() - 16 {
        assert!(PictureFacts::of(&whole[..end]).is_err(), "cut off behind {end} of {} bytes", whole.len());
    }
    let mut damaged = whole.clone();
    damaged[41] ^= 0xff;
    assert!(PictureFacts::of(&damaged).unwrap_err().contains("cut off or damaged"));
    assert!(PictureFacts::of(b"text").unwrap_err().contains("no PNG, JPEG, GIF or WebP"));
    let large = [png(2, 2), vec![0; 4_000_000]].concat();
    assert!(PictureFacts::of(&large).unwrap_err().contains("4.0 MB; the limit is 3.9 MB"));
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(read_picture(folder.path()).unwrap_err(), "is no file");
}

/// Returns a PNG of this size whose left half is red and whose right half is blue.
fn halves(width: u32, height: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width, height);
    encoder.set_color(png::ColorType::Rgb);
    let pixel = |x: u32| if x < width / 2 { [255, 0, 0] } else { [0, 0, 255] };
    let data: Vec<u8> = (0..height).flat_map(|_| (0..width).flat_map(pixel)).collect();
    encoder.write_header().unwrap().write_image_data(&data).unwrap();
    bytes
}

fn pixels_of(bytes: &[u8]) -> Vec<u8> {
    let mut reader = png::Decoder::new(std::io::Cursor::new(bytes)).read_info().unwrap();
    let mut data = vec![0; reader.output_buffer_size().unwrap()];
    reader.next_frame(&mut data).unwrap();
    data
}

#[test]
fn what_is_too_large_is_made_smaller() {
    let wide = FittedPicture::of(halves(8_400, 20)).unwrap();
    assert_eq!(wide.words(), "1568×3 png, made smaller from 8400×20");
    let data = pixels_of(&wide.bytes);
    let row = &data[..1_568 * 3];
    assert!(row[..784 * 3].chunks(3).all(|pixel| pixel == [255, 0, 0]));
    assert!(row[784 * 3..].chunks(3).all(|pixel| pixel == [0, 0, 255]));
    // What stands behind the picture counts as well.
    let padded = [halves(40, 30), vec![0; 4_000_000]].concat();
    let small = FittedPicture::of(padded).unwrap();
    assert_eq!((small.words().as_str(), small.before), ("40×30 png, made smaller from 40×30", Some((40, 30))));
    assert_eq!(pixels_of(&small.bytes), pixels_of(&halves(40, 30)));
    let fits = FittedPicture::of(halves(40, 30)).unwrap();
    assert_eq!((fits.bytes, fits.before), (halves(40, 30), None));
    let broken = FittedPicture::of(header(9_000, 2)).unwrap_err();
    assert!(broken.contains("the limit is 8000 per side"), "what cannot be read is refused: {broken}");
    let vast = FittedPicture::of(header(60_000, 60_000)).unwrap_err();
    assert!(vast.contains("60000×60000 pixels"), "{vast}");
}

#[test]
fn a_photo_is_turned_as_the_camera_was_held() {
    // 32 pixels wide, 16 high, red on the left, with the orientation that calls for a quarter turn to the right.
    let photo = include_bytes!("../../fixtures/pictures/turned.jpg");
    let padded = [photo.as_slice(), &vec![0; 4_000_000]].concat();
    let upright = FittedPicture::of(padded).unwrap();
    assert_eq!(upright.words(), "16×32 png, made smaller from 32×16");
    let data = pixels_of(&upright.bytes);
    let (top, bottom) = data.split_at(data.len() / 2);
    assert!(top.chunks(3).all(|pixel| pixel[0] > 200 && pixel[2] < 50), "red is on top");
    assert!(bottom.chunks(3).all(|pixel| pixel[2] > 200 && pixel[0] < 50), "blue is below");
}

#[test]
fn what_a_screen_shows_is_a_small_copy_of_what_can_be_read_whole() {
    let small = Thumbnail::of(&halves(900, 600), (300, 100)).unwrap();
    assert_eq!((small.width, small.height), (150, 100));
    assert_eq!(pixels_of(&small.png().unwrap())[..3], [255, 0, 0]);
    let same = Thumbnail::of(&halves(30, 20), (300, 100)).unwrap();
    assert_eq!((same.width, same.height), (30, 20), "never made larger");
    let thin = Thumbnail::of(&halves(8_000, 2), (300, 100)).unwrap();
    assert_eq!((thin.width, thin.height), (300, 1));
    let whole = halves(300, 300);
    assert!(Thumbnail::of(&whole[..whole.len() / 2], (300, 100)).is_none(), "cut off");
    assert!(Thumbnail::of(&header(8_000, 8_000), (300, 100)).is_none(), "a bomb: its header alone is read");
    assert!(Thumbnail::of(b"GIF89a\x01\0\x01\0", (300, 100)).is_none(), "no decoder for it");
}
