//! What the terminal shows is what was drawn, whatever was scrolled and skipped to save bytes.

use std::cell::RefCell;
use std::fmt::Write as _;
use std::io;
use std::rc::Rc;

use belvedere::tui::terminal::{Canvas, FrameBackend, title_sequence};
use ratatui::layout::Size;

use super::scenes;
use super::stage::{Stage, as_text};

/// A terminal that keeps what is written to it.
#[derive(Clone)]
struct Emulator(Rc<RefCell<vt100::Parser>>, Rc<RefCell<usize>>);

impl io::Write for Emulator {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().process(bytes);
        *self.1.borrow_mut() += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct Show {
    emulator: Emulator,
    canvas: Canvas<Emulator>,
}

impl Show {
    fn new(width: u16, height: u16) -> Self {
        let emulator = Emulator(
            Rc::new(RefCell::new(vt100::Parser::new(height.try_into().unwrap(), width.try_into().unwrap(), 0))),
            Rc::default(),
        );
        let canvas = Canvas::new(FrameBackend::with_size(emulator.clone(), Size::new(width, height)));
        Self { emulator, canvas }
    }

    /// Draws a frame on the terminal, checks that the terminal shows it, and returns how many bytes it took.
    fn frame(&mut self, stage: &mut Stage) -> usize {
        let before = *self.emulator.1.borrow();
        let (buffer, painted) = stage.draw();
        self.canvas
            .draw(|next| {
                next.clone_from(&buffer);
                painted.marks
            })
            .unwrap();
        let shown = self.emulator.0.borrow().screen().contents();
        let trim =
            |text: &str| -> Vec<String> { text.trim_end().lines().map(|row| row.trim_end().to_owned()).collect() };
        assert_eq!(trim(&shown), trim(&as_text(&buffer)));
        *self.emulator.1.borrow() - before
    }
}

#[test]
fn a_streaming_answer_scrolls_for_a_few_bytes() {
    let mut stage = Stage::new(120, 40).with_model();
    let mut show = Show::new(120, 40);
    stage.asks("tell me a long story");
    let mut bytes = 0;
    let mut tokens = 0;
    for frame in 0..300 {
        let mut text = String::new();
        for word in 0..16 {
            let _ = write!(text, "wo{} ", frame * word % 97);
            tokens += 1;
        }
        text.push_str(if frame % 6 == 0 { "\n\n" } else { "" });
        stage.says(0, &text);
        stage.wait(16);
        bytes += show.frame(&mut stage);
    }
    assert!(bytes / tokens <= 40, "{} bytes for a token", bytes / tokens);
}

#[test]
fn scrolling_by_hand_shows_what_was_drawn() {
    for scene in [scenes::ended, scenes::approval, scenes::talk] {
        let mut stage = scene(100, 24);
        let mut show = Show::new(100, 24);
        let text: String = (0..80).map(|line| format!("line {line}\n\n")).collect();
        stage.says(0, &text);
        show.frame(&mut stage);
        for keys in ["<pageup>", "<pageup>", "<pagedown>", "<f1>", "<esc>", "<pageup>", "<pagedown>", "<pagedown>", "x"]
        {
            stage.keys(keys);
            show.frame(&mut stage);
            stage.says(0, "more words\n\nand more\n\n");
            show.frame(&mut stage);
        }
    }
}

#[test]
fn a_frame_that_changes_nothing_writes_nothing() {
    let mut stage = scenes::eight_agents(200, 50);
    let mut show = Show::new(200, 50);
    // A frame says how much a pane has to show, and the next one gives it the rows.
    for _ in 0..3 {
        show.frame(&mut stage);
    }
    assert_eq!(show.frame(&mut stage), 0);
}

#[test]
fn nothing_in_a_title_ends_the_sequence_that_sets_it() {
    assert_eq!(title_sequence("belvedere: 2 agents"), "\u{1b}]0;belvedere: 2 agents\u{7}");
    for hostile in [
        "a\u{1b}]0;b\u{7}c",
        "a\u{1b}\\\u{1b}[2Jb",
        "a\u{9d}52;c;b\u{9c}c",
        "a\r\nb\u{7f}\u{202e}c",
        "\u{1b}P$q\u{1b}\\",
    ] {
        let sequence = title_sequence(hostile);
        let inner = sequence.strip_prefix("\u{1b}]0;").and_then(|rest| rest.strip_suffix('\u{7}')).expect(&sequence);
        assert!(!inner.chars().any(char::is_control) && !inner.contains('\u{202e}'), "{inner:?} of {hostile:?}");
    }
}
