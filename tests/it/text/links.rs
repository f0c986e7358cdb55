//! Web addresses as links of the terminal (OSC 8), by the bytes that are written.

use std::cell::RefCell;
use std::io::{self, Write};
use std::rc::Rc;

use belvedere::agent::Status;
use belvedere::tui::terminal::{Canvas, FrameBackend, Link, Linking, Marks, linking};
use ratatui::buffer::CellWidth as _;
use ratatui::layout::{Rect, Size};
use ratatui::style::Style;

use crate::screens::stage::Stage;

/// Keeps what is written.
#[derive(Clone, Default)]
pub(super) struct Bytes(Rc<RefCell<Vec<u8>>>);

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
    pub(super) fn take(&self) -> String {
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

#[test]
fn a_wide_label_is_written_whole() {
    let bytes = Bytes::default();
    let mut canvas = Canvas::new(FrameBackend::with_size(bytes.clone(), Size::new(10, 1)));
    let link = Link { area: Rect::new(0, 0, 5, 1), url: "https://example.org/a".to_owned() };
    canvas
        .draw(|buf| {
            buf.set_string(0, 0, "文書x!", Style::default());
            Marks { links: vec![link], ..Marks::default() }
        })
        .unwrap();
    let written = bytes.take();
    let mut shown = written.clone();
    while let Some(at) = shown.find("\x1b]8;") {
        let end = at + shown[at..].find("\x1b\\").unwrap() + 2;
        shown.replace_range(at..end, "");
    }
    let signs: String = shown.chars().filter(|c| !c.is_control()).collect();
    assert!(signs.contains('文') && signs.contains('書') && !signs.contains("文 "), "{signs:?}");
    assert_eq!(written.matches(";https://example.org/a\x1b\\").count(), 3, "one for each sign: {written:?}");
}

#[test]
fn joined_pictures_are_written_as_their_first() {
    let bytes = Bytes::default();
    let mut canvas = Canvas::new(FrameBackend::with_size(bytes.clone(), Size::new(12, 1)));
    canvas
        .draw(|buf| {
            buf.set_string(0, 0, "👨\u{200d}👩\u{200d}👧 👍🏽 ⚠\u{fe0f} e\u{301}", Style::default());
            Marks::default()
        })
        .unwrap();
    let written = bytes.take();
    assert!(written.contains('👨') && written.contains('👍') && written.contains("e\u{301}"), "{written:?}");
    assert!(!written.contains(['\u{200d}', '👧', '🏽']), "{written:?}");
}

/// Draws an answer and returns what leads somewhere: the text of it, row by row, and the target.
fn leads(columns: u16, text: &str) -> Vec<(String, String)> {
    let mut stage = Stage::new(columns, 20).with_model();
    stage.asks("where?");
    stage.says(0, text);
    leads_of(&mut stage)
}

fn leads_of(stage: &mut Stage) -> Vec<(String, String)> {
    let (buffer, painted) = stage.draw();
    let shown = |link: &Link| {
        let mut covered = 0;
        let mut signs = String::new();
        for at in link.area.positions() {
            if covered == 0 {
                signs.push_str(buffer[at].symbol());
                covered = buffer[at].cell_width();
            }
            covered -= 1;
        }
        signs
    };
    painted.marks.links.iter().map(|link| (shown(link), link.url.clone())).collect()
}

fn pairs<const N: usize>(pairs: [(&str, &str); N]) -> Vec<(String, String)> {
    pairs.into_iter().map(|(text, url)| (text.to_owned(), url.to_owned())).collect()
}

#[test]
fn addresses_of_the_web_are_found_and_nothing_else() {
    let (found, url) = ("https://example.org/a_(b)", "http://example.org/c");
    assert_eq!(
        leads(100, "See https://example.org/a_(b), or [the page](http://example.org/c)."),
        pairs([(found, found), ("the page", url), (url, url)])
    );
    assert!(leads(100, "file:///etc/passwd javascript:alert(1) https:// ftp://example.org").is_empty());
}

#[test]
fn a_label_leads_to_its_target_wherever_it_stands() {
    let url = "https://example.org/x";
    let both = pairs([("the page", url), (url, url)]);
    for text in [
        "# About [the page](https://example.org/x)",
        "- one\n  - see [the page](https://example.org/x)",
        "> > as [the page](https://example.org/x) says",
        "| a | b |\n|---|---|\n| - | [the page](https://example.org/x) |",
        "1. [the **page**](https://example.org/x \"title\")",
        "![the page](https://example.org/x)",
        "text [the `page`](https://example.org/x)",
    ] {
        assert_eq!(leads(100, text), both, "{text}");
    }
}

#[test]
fn a_label_that_wraps_leads_there_in_each_row() {
    let label = "a label of words enough for several rows of the screen";
    let url = "https://example.org/x";
    for start in ["", "- ", "> ", "## "] {
        let found = leads(30, &format!("{start}[{label}]({url})"));
        let (address, words): (Vec<_>, Vec<_>) = found.into_iter().partition(|(text, _)| text.contains(['/', '.']));
        assert!(words.len() > 1 && words.iter().all(|(_, target)| target == url), "{words:?}");
        let text: Vec<String> = words.into_iter().map(|(text, _)| text).collect();
        assert_eq!(text.join(" "), label);
        assert_eq!(address.into_iter().map(|(text, _)| text).collect::<String>(), url);
    }
    let table = leads(44, &format!("| a | b |\n|---|---:|\n| {} | [{label}]({url}) |", "word ".repeat(8)));
    let text: Vec<&str> = table.iter().map(|(text, _)| text.as_str()).collect();
    assert!(text.len() > 3 && text.join(" ").starts_with(label), "{table:?}");
    assert!(table.iter().all(|(_, target)| target == url), "an address in a narrow cell is not cut: {table:?}");
}

#[test]
fn wide_and_joined_signs_keep_a_label_in_place() {
    let url = "https://example.org/x";
    for label in ["文書 を読む", "👨‍👩‍👧 family", "cafe\u{301} x", "مرحبا بك"] {
        assert_eq!(leads(100, &format!("字 - [{label}]({url})"))[0], (label.to_owned(), url.to_owned()));
    }
}

#[test]
fn a_label_that_is_the_address_shows_it_once() {
    for text in [
        "<https://example.org/x>",
        "[https://example.org/x](https://example.org/x)",
        "[https://example.org/x](https://example.org/x/)",
    ] {
        let found = leads(100, text);
        assert_eq!((found.len(), found[0].0.as_str()), (1, "https://example.org/x"), "{text}");
    }
    assert_eq!(
        leads(100, "[example.org/x](https://example.org/x), <me@example.org>"),
        pairs([("example.org/x", "https://example.org/x"), ("me@example.org", "mailto:me@example.org")])
    );
}

#[test]
fn a_label_that_reads_like_an_address_leads_nowhere_else() {
    let evil = "https://evil.example/x";
    for label in [
        "good.com",
        "www.good.com",
        "see good.com/login now",
        "good。com",
        "me@good.com",
        "192.168.0.1",
        "localhost:3000",
        "GOOD.COM",
    ] {
        let found = leads(100, &format!("[{label}]({evil})"));
        assert_eq!(found, pairs([(evil, evil)]), "{label}: only the address beside it leads there");
    }
    let found = leads(100, &format!("[https://good.com]({evil})"));
    assert_eq!(found, pairs([("https://good.com", "https://good.com"), (evil, evil)]));
    let found = leads(100, "[docs.rs](https://docs.rs/x) [Node.js](https://nodejs.org/x) [e.g. v1.2](https://a.b/x)");
    let labels: Vec<&str> = found.iter().map(|(text, _)| text.as_str()).filter(|text| !text.contains("//")).collect();
    assert_eq!(labels, ["docs.rs", "Node.js", "e.g. v1.2"]);
}

#[test]
fn hostile_targets_are_never_told() {
    for target in [
        "javascript:alert(1)",
        "JavaScript:alert(1)",
        "data:text/html,x",
        "file:///etc/passwd",
        "vscode://open",
        "src/main.rs",
        "#part",
        "//example.org",
        "https:",
        "https:///path",
        "https://ex&#27;]8;;ample.org",
        "https://ex&#x202e;ample.org",
        "https://g\u{43e}\u{43e}gle.com",
        "<https://a b.example>",
        "https://good.com\\\\@evil.com",
        "mailto:a@b.example?attach=x",
    ] {
        let found = leads(100, &format!("[label]({target})"));
        assert!(!found.iter().any(|(text, _)| text == "label"), "{target}: {found:?}");
        assert!(found.iter().all(|(text, url)| text == url), "{target}: {found:?}");
    }
    let long = format!("https://example.org/{}", "x".repeat(2_000));
    assert!(leads(100, &format!("[label]({long})")).is_empty());
}

#[test]
fn an_entity_cannot_bring_in_what_was_taken_out() {
    let mut stage = Stage::new(60, 12).with_model();
    stage.asks("go");
    stage.says(0, "a&#27;[31mb&#x202e;c [l](https://x.example/&#x202e;y) `d`");
    let text = stage.text();
    assert!(text.contains("⍰c") && text.contains("https://x.example/⍰y"), "{text}");
}

#[test]
fn a_table_leads_also_while_it_streams() {
    let mut stage = Stage::new(80, 20).with_model();
    stage.asks("where?");
    let text = "First.\n\nSee [the page](https://example.org/x).\n\n| a |\n|---|\n| [one](https://example.org/1) |\n";
    for piece in text.split_inclusive([' ', '\n', ']']) {
        stage.says(0, piece);
        stage.draw();
    }
    let targets: Vec<String> = leads_of(&mut stage).into_iter().map(|(text, _)| text).collect();
    assert_eq!(targets, ["the page", "https://example.org/x", "one", "https://example.org/1"]);
}

#[test]
fn a_label_in_a_summary_and_in_a_pane_leads_there() {
    let mut stage = Stage::new(140, 30).with_model();
    stage.asks("go");
    stage.spawns(1, "explore", "Find");
    stage.starts(1);
    stage.ends(1, Status::Completed, "# Found\n\nIn [the page](https://example.org/x).", None);
    let found = leads_of(&mut stage);
    let labels = found.iter().filter(|(text, url)| text == "the page" && url == "https://example.org/x").count();
    assert_eq!(labels, 2, "{found:?}");
}

#[test]
fn what_is_drawn_over_a_label_leads_nowhere() {
    let mut stage = Stage::new(60, 12).with_model();
    stage.asks("go");
    let rows: String = (0..8).map(|row| format!("- [label {row}](https://example.org/{row})\n")).collect();
    stage.says(0, &rows);
    let before = leads_of(&mut stage);
    stage.keys("/");
    let under = leads_of(&mut stage);
    assert!(under.len() < before.len(), "the list of commands hides some");
    assert!(under.iter().all(|pair| before.contains(pair)), "{under:?}");
}

#[test]
fn an_address_goes_on_in_the_next_row() {
    let url = format!("https://example.org/{}", "x".repeat(60));
    for text in [format!("{url} and on"), format!("```\n{url} and on\n```")] {
        let found = leads(44, &text);
        assert!(found.len() > 1 && found.iter().all(|(_, whole)| *whole == url), "{found:?}");
        assert_eq!(found.iter().map(|(text, _)| text.as_str()).collect::<String>(), url);
    }
}

#[test]
fn an_address_that_fills_its_row_does_not_take_the_next_word() {
    let url = "https://example.org/0123456789012345678901";
    assert_eq!(url.len(), 42);
    let code = &url[..40];
    for (url, text) in
        [(url, format!("{url} and on")), (url, format!("{url}\nand on")), (code, format!("```\n{code}\nand on\n```"))]
    {
        let mut stage = Stage::new(44, 20).with_model();
        stage.asks("go");
        stage.says(0, &text);
        let found = leads_of(&mut stage);
        assert!(!found.is_empty() && found.iter().all(|(_, found)| url == found), "{text}: {found:?}");
    }
}

#[test]
fn an_address_that_is_cut_is_no_link() {
    let mut stage = Stage::new(60, 12).with_model();
    stage.asks("go");
    stage.calls(0, "a", "Bash", &format!("curl https://example.org/{}", "x".repeat(80)), "done");
    assert!(leads_of(&mut stage).is_empty());
}
