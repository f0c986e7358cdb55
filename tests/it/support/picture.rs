//! Pictures made for tests.

/// Returns a black PNG of this size.
pub(crate) fn png(width: u32, height: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width, height);
    encoder.set_color(png::ColorType::Grayscale);
    encoder.set_depth(png::BitDepth::One);
    let lines = vec![0; (width.div_ceil(8) * height) as usize];
    encoder.write_header().unwrap().write_image_data(&lines).unwrap();
    bytes
}
