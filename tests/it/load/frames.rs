//! What a frame costs depends on what is visible.

use std::cell::Cell;
use std::io;
use std::rc::Rc;

use belvedere::agent::{EventKind, TurnEvent};
use belvedere::tui::terminal::{Canvas, FrameBackend};
use ratatui::layout::Size;

use crate::screens::stage::{Stage, as_text};

const WIDTH: u16 = 200;
const HEIGHT: u16 = 60;

/// A terminal that only counts what is written to it.
#[derive(Clone, Default)]
struct Meter(Rc<Cell<usize>>);

impl io::Write for Meter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.set(self.0.get() + bytes.len());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A stage before a terminal.
struct Show {
    stage: Stage,
    canvas: Canvas<Meter>,
    written: Meter,
}

impl Show {
    fn new() -> Self {
        let written = Meter::default();
        let canvas = Canvas::new(FrameBackend::with_size(written.clone(), Size::new(WIDTH, HEIGHT)));
        Self { stage: Stage::new(WIDTH, HEIGHT).with_model(), canvas, written }
    }

    fn with_children(count: u32) -> Self {
        let mut show = Self::new();
        show.stage.asks("Look at everything at once.");
        for child in 1..=count {
            show.stage.spawns(child, "explore", "look closely");
            show.stage.starts(child);
            show.stage.says(child, &"A line of what there is to say.\n\n".repeat(50));
        }
        show.settle();
        show
    }

    /// A conversation of this many steps, of a tool call and five lines each.
    fn with_steps(count: u32) -> Self {
        let mut show = Self::new();
        show.stage.asks("Work.");
        for step in 0..count {
            show.stage.calls(0, &format!("call-{step}"), "Read", "src/main.rs", "120 lines");
            show.stage.says(0, "A step of the work.\n\n- one\n- two\n- three\n- four\n\n");
        }
        show.settle();
        show
    }

    /// Draws a frame and returns how many bytes it wrote.
    fn frame(&mut self) -> usize {
        let before = self.written.0.get();
        let (buffer, painted) = self.stage.draw();
        self.canvas
            .draw(|next| {
                next.clone_from(&buffer);
                painted.marks
            })
            .unwrap();
        self.written.0.get() - before
    }

    fn settle(&mut self) {
        self.frame();
        self.frame();
    }
}

#[test]
fn an_unchanged_frame_writes_nothing() {
    for mut show in [Show::with_children(8), Show::with_children(100), Show::with_steps(2_000)] {
        assert_eq!((show.frame(), show.frame()), (0, 0));
    }
}

#[test]
fn text_of_folded_agents_asks_for_no_frame_and_changes_no_cell() {
    for count in [8, 100] {
        let mut show = Show::with_children(count);
        show.stage.keys("/layout rail<enter>");
        show.stage.wait(60_000);
        show.settle();
        for child in 1..=count {
            // Hearing from an agent that was silent changes its state, and that is seen.
            show.stage.says(child, "some ");
        }
        show.settle();
        for child in 1..=count {
            show.stage.says(child, "more words\n\nand a paragraph");
        }
        assert!(!show.stage.app.is_dirty(), "text out of sight made a frame due");
        assert_eq!(show.frame(), 0);
    }
}

#[test]
fn an_agent_that_is_one_line_changes_that_line_only() {
    let mut show = Show::with_children(100);
    show.stage.keys("/layout rail<enter>");
    show.stage.wait(60_000);
    show.settle();
    let before = as_text(&show.stage.draw().0);
    show.stage.calls(3, "call-x", "Grep", "\"needle\"", "3 hits");
    show.stage.ends_turn(3, "done with this", 1_000);
    let after = as_text(&show.stage.draw().0);
    let changed: Vec<&str> = before.lines().zip(after.lines()).filter(|(a, b)| a != b).map(|(_, b)| b).collect();
    // Its own, and those that count: the heading, the line above the composer, the status line.
    assert!(changed.len() <= 4, "{changed:#?}");
    assert!(changed.iter().any(|line| line.contains("look closely")), "{changed:#?}");
}

#[test]
fn a_streamed_word_writes_as_much_below_a_long_transcript_as_below_a_short_one() {
    let bytes = [50, 5_000].map(|steps| {
        let mut show = Show::with_steps(steps);
        show.stage.says(0, "One more ");
        show.frame();
        show.stage.says(0, "word");
        show.frame()
    });
    assert_eq!(bytes[0], bytes[1]);
    assert!(bytes[0] < 200, "{} bytes for a word", bytes[0]);
}

#[test]
fn only_what_is_seen_is_laid_out() {
    let laid = [100, 5_000].map(|steps| {
        let show = Show::with_steps(steps);
        show.stage.laid_out()
    });
    assert_eq!(laid[0], laid[1]);
    assert!(laid[0] <= usize::from(HEIGHT), "{} cells for {HEIGHT} rows", laid[0]);
}

#[test]
fn what_was_scrolled_past_is_forgotten() {
    let mut show = Show::with_steps(5_000);
    let at_the_end = show.stage.laid_out();
    show.stage.keys("<pageup>");
    show.frame();
    for _ in 0..400 {
        show.stage.keys("<pageup>");
        show.frame();
    }
    // As much as the frames pass that the views remember, and no more.
    assert!(show.stage.laid_out() < 64 * usize::from(HEIGHT), "{} cells", show.stage.laid_out());
    for _ in 0..100 {
        show.frame();
    }
    assert!(show.stage.laid_out() <= 2 * at_the_end + usize::from(HEIGHT), "{} cells", show.stage.laid_out());
}

#[test]
fn a_hidden_agent_is_not_laid_out() {
    let mut show = Show::with_children(100);
    let beside = show.stage.laid_out();
    show.stage.keys("/layout hidden<enter>");
    show.settle();
    let hidden = show.stage.laid_out();
    assert!(hidden < beside, "{hidden} and {beside}");
    for child in 1..=100 {
        show.stage.says(child, "text that nobody sees\n\n");
        show.stage.agent(child, EventKind::Turn(TurnEvent::Thinking { text: "nor this".to_owned() }));
    }
    show.settle();
    assert_eq!(show.stage.laid_out(), hidden);
}
