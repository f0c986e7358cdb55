//! Web addresses as links of the terminal (OSC 8), by the bytes that are written.

use std::cell::RefCell;
use std::io::{self, Write};
use std::rc::Rc;

use belvedere::tui::terminal::{Canvas, FrameBackend, Link, Linking, Marks, linking};
use ratatui::layout::{Rect, Size};
use ratatui::style::Style;

use crate::screens::stage::Stage;

#[derive(Clone, Default)]
struct Bytes(Rc<RefCell<Vec<u8>>>);

impl Write for Bytes {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Bytes {
    fn take(&self) -> String {
        String::from_utf8(std::mem::take(&mut *self.0.borrow_mut())).unwrap()
    }
}

/// A terminal of one row that shows `go` with a link.
fn show(canvas: &mut Canvas<Bytes>, url: &str) {
    let link = Link { area: Rect::new(0, 0, 2, 1), url: url.to_owned() };
    canvas
        .draw(|buf| {
            buf.set_string(0, 0, "go on", Style::default());
            Marks { links: vec![link], ..Marks::default() }
        })
        .unwrap();
}

fn canvas(linking: Linking) -> (Canvas<Bytes>, Bytes) {
    let bytes = Bytes::default();
    (Canvas::new(FrameBackend::with_size(bytes.clone(), Size::new(10, 1))).with_links(linking), bytes)
}

#[test]
fn each_cell_opens_and_closes_its_link() {
    let (mut canvas, bytes) = canvas(Linking::On);
    show(&mut canvas, "https://example.org/a");
    let written = bytes.take();
    assert_eq!(written.matches(";https://example.org/a\x1b\\").count(), 2, "{written:?}");
    assert_eq!(written.matches("\x1b]8;;\x1b\\").count(), 2, "{written:?}");
    let ids: Vec<&str> = written.split("\x1b]8;id=").skip(1).filter_map(|part| part.split(';').next()).collect();
    assert_eq!(ids[0], ids[1], "the cells of a link belong together");
    show(&mut canvas, "https://example.org/a");
    assert_eq!(bytes.take(), "", "an unchanged link is not written again");
    show(&mut canvas, "https://example.org/b");
    assert_eq!(bytes.take().matches(";https://example.org/b\x1b\\").count(), 2, "a changed link is");
}

#[test]
fn an_address_cannot_end_the_sequence() {
    let (mut canvas, bytes) = canvas(Linking::On);
    show(&mut canvas, "https://example.org/\x1b\\;\x07é");
    let written = bytes.take();
    assert!(written.contains(";https://example.org/%1B\\%3B%07%C3%A9\x1b\\"), "{written:?}");
}

#[test]
fn a_poor_terminal_is_not_told() {
    for (term, expected) in [(Some("xterm-256color"), Linking::On), (Some("dumb"), Linking::Off), (None, Linking::Off)]
    {
        assert_eq!(linking(term), expected);
    }
    let (mut canvas, bytes) = canvas(linking(Some("linux")));
    show(&mut canvas, "https://example.org/a");
    assert!(!bytes.take().contains("\x1b]8"));
}

/// Returns the addresses of a drawn answer.
fn links(columns: u16, text: &str) -> Vec<(String, u16)> {
    let mut stage = Stage::new(columns, 20).with_model();
    stage.asks("where?");
    stage.says(0, text);
    let (_, painted) = stage.draw();
    painted.marks.links.into_iter().map(|link| (link.url, link.area.width)).collect()
}

#[test]
fn addresses_of_the_web_are_found_and_nothing_else() {
    let found = links(100, "See https://example.org/a_(b), or [the page](http://example.org/c).");
    assert_eq!(found, [("https://example.org/a_(b)".to_owned(), 25), ("http://example.org/c".to_owned(), 20)]);
    assert!(links(100, "file:///etc/passwd javascript:alert(1) https:// ftp://example.org").is_empty());
}

#[test]
fn an_address_goes_on_in_the_next_row() {
    let url = format!("https://example.org/{}", "x".repeat(60));
    let found = links(44, &format!("{url} and on"));
    assert!(found.len() > 1 && found.iter().all(|(whole, _)| *whole == url), "{found:?}");
    assert_eq!(found.iter().map(|(_, width)| usize::from(*width)).sum::<usize>(), url.len());
}
