//! Pictures that are painted over cells: when they are sent, and what takes them away.

use std::num::NonZeroU16;
use std::sync::Arc;

use belvedere::tui::terminal::{Canvas, FrameBackend, Marks, PlacedPicture, Scrolled};
use ratatui::layout::{Rect, Size};

use super::links::Bytes;

/// A canvas with what a terminal shows of it, on which pictures are signs.
struct Shown {
    canvas: Canvas<Bytes>,
    bytes: Bytes,
    emulator: vt100::Parser,
}

impl Shown {
    fn new() -> Self {
        let bytes = Bytes::default();
        let canvas = Canvas::new(FrameBackend::with_size(bytes.clone(), Size::new(8, 5)));
        let emulator = vt100::Parser::new(NonZeroU16::new(5).unwrap(), NonZeroU16::new(8).unwrap(), 0);
        Self { canvas, bytes, emulator }
    }

    /// Draws rows of text with pictures.
    fn draw(&mut self, rows: [&str; 5], pictures: &[PlacedPicture], scrolled: Option<Scrolled>) -> Drawn {
        let marks = Marks { pictures: pictures.to_vec(), scrolled, ..Marks::default() };
        let render = |buf: &mut ratatui::buffer::Buffer| {
            for (y, row) in (0..).zip(rows) {
                buf.set_string(0, y, row, ratatui::style::Style::new());
            }
            marks
        };
        self.canvas.draw(render).unwrap();
        let written = self.bytes.take();
        self.emulator.process(written.as_bytes());
        let screen = self.emulator.screen().contents();
        let rows: Vec<&str> = screen.lines().map(str::trim_end).collect();
        Drawn { screen: rows.join("\n"), sent: written.matches("##").count(), written }
    }
}

/// The screen after a frame, and how often a picture was sent.
struct Drawn {
    screen: String,
    sent: usize,
    written: String,
}

impl Drawn {
    #[track_caller]
    fn is(&self, screen: &str, sent: usize) {
        assert_eq!((self.screen.as_str(), self.sent), (screen, sent), "{:?}", self.written);
    }
}

/// A picture of two cells in a row.
fn picture(x: u16, y: u16) -> PlacedPicture {
    PlacedPicture { area: Rect { x, y, width: 2, height: 1 }, bytes: Arc::from(*b"##") }
}

#[test]
fn one_that_stays_is_sent_once_and_again_when_a_cell_of_it_is_written() {
    let mut shown = Shown::new();
    let rows = ["one", "", "two", "", ""];
    shown.draw(rows, &[picture(0, 1)], None).is("one\n##\ntwo", 1);
    shown.draw(rows, &[picture(0, 1)], None).is("one\n##\ntwo", 0);
    // Beside it.
    let rows = ["ONE", "", "TWO", "", ""];
    shown.draw(rows, &[picture(0, 1)], None).is("ONE\n##\nTWO", 0);
    // In it.
    let rows = ["ONE", " x", "TWO", "", ""];
    shown.draw(rows, &[picture(0, 1)], None).is("ONE\n##\nTWO", 1);
    shown.canvas.repaint();
    shown.draw(rows, &[picture(0, 1)], None).is("ONE\n##\nTWO", 1);
}

#[test]
fn one_that_goes_or_moves_leaves_nothing_behind() {
    let mut shown = Shown::new();
    let rows = ["one", "", "two", "", ""];
    shown.draw(rows, &[picture(0, 1), picture(3, 1)], None).is("one\n## ##\ntwo", 2);
    shown.draw(rows, &[picture(1, 1)], None).is("one\n ##\ntwo", 1);
    shown.draw(rows, &[], None).is("one\n\ntwo", 0);
    shown.draw(rows, &[picture(0, 1)], None).is("one\n##\ntwo", 1);
    let rows = ["one", "text", "two", "", ""];
    shown.draw(rows, &[], None).is("one\ntext\ntwo", 0);
}

#[test]
fn rows_with_one_over_them_are_written_and_do_not_scroll() {
    let mut shown = Shown::new();
    let up = || Some(Scrolled { rows: 0..4, lines: 1 });
    shown.draw(["one", "", "two", "three", "end"], &[picture(0, 1)], None);
    shown.draw(["", "two", "three", "", "end"], &[picture(0, 0)], up()).is("##\ntwo\nthree\n\nend", 1);
    shown.draw(["two", "three", "", "", "end"], &[], up()).is("two\nthree\n\n\nend", 0);
    let drawn = shown.draw(["three", "", "", "", "end"], &[], up());
    drawn.is("three\n\n\n\nend", 0);
    assert!(drawn.written.contains("\x1b[1;4r"), "without one they scroll again");
}
