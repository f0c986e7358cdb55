//! Frames on their way to the terminal, changes of files, the composer's cells, and pictures of all that.

use std::cell::RefCell;
use std::io::{self, Write};
use std::rc::Rc;

use belvedere::app::composer::{Composer, History};
use belvedere::message::{DiffLine, FileDiff, Hunk, LineKind};
use belvedere::tui::terminal::FrameBackend;
use belvedere::tui::view::composer::render;
use belvedere::tui::view::diff::{diff_lines, whole_diff};
use belvedere::tui::view::theme::{ColorDepth, Theme};
use ratatui::Terminal;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect, Size};
use ratatui::text::Text;
use ratatui::widgets::Widget as _;

use crate::screens::svg::{to_png, to_svg};

fn theme() -> Theme {
    Theme::load("dark", ColorDepth::TrueColor).unwrap()
}

/// Keeps every write apart.
#[derive(Clone, Default)]
struct Writes(Rc<RefCell<Vec<Vec<u8>>>>);

impl Write for Writes {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().push(bytes.to_vec());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Writes {
    fn take(&self) -> Vec<String> {
        self.0.borrow_mut().drain(..).map(|bytes| String::from_utf8(bytes).unwrap()).collect()
    }
}

#[test]
fn a_frame_is_one_write_and_an_unchanged_one_is_none() {
    let writes = Writes::default();
    let backend = FrameBackend::with_size(writes.clone(), Size::new(20, 2));
    let mut terminal = Terminal::new(backend).unwrap();
    writes.take();
    let mut draw = |text: &str, cursor: Option<Position>| {
        terminal
            .draw(|frame| {
                frame.render_widget(Text::raw(text.to_owned()), frame.area());
                if let Some(at) = cursor {
                    frame.set_cursor_position(at);
                }
            })
            .unwrap();
        writes.take()
    };
    let first = draw("hello", None);
    assert_eq!(first.len(), 1);
    assert!(first[0].starts_with("\x1b[?2026h") && first[0].ends_with("\x1b[?2026l"), "{first:?}");
    assert!(first[0].contains("hello"));
    assert_eq!(draw("hello", None), Vec::<String>::new());
    let moved = draw("hello", Some(Position::new(3, 1)));
    assert_eq!(moved, ["\x1b[?2026h\x1b[2;4H\x1b[?25h\x1b[?2026l"]);
    assert_eq!(draw("hello", Some(Position::new(3, 1))), Vec::<String>::new());
    let changed = draw("hellO", Some(Position::new(3, 1)));
    assert_eq!(changed.len(), 1);
    assert!(changed[0].ends_with("\x1b[2;4H\x1b[?25h\x1b[?2026l"), "the cursor goes back to its place: {changed:?}");
}

#[test]
fn a_repaint_writes_every_cell_and_asks_nothing() {
    let writes = Writes::default();
    let mut terminal = Terminal::new(FrameBackend::with_size(writes.clone(), Size::new(10, 1))).unwrap();
    terminal.draw(|frame| frame.render_widget("same", frame.area())).unwrap();
    writes.take();
    terminal.backend_mut().invalidate();
    terminal.swap_buffers();
    terminal.draw(|frame| frame.render_widget("same", frame.area())).unwrap();
    let written = writes.take().concat();
    assert!(written.contains("\x1b[2J") && written.contains("same") && !written.contains("\x1b[6n"), "{written:?}");
}

/// A terminal that is gone.
struct Gone;

impl Write for Gone {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::ErrorKind::BrokenPipe.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_terminal_that_is_gone_is_an_error() {
    let mut terminal = Terminal::new(FrameBackend::with_size(Gone, Size::new(10, 1))).unwrap();
    let error = terminal.draw(|frame| frame.render_widget("x", frame.area())).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
}

fn line(kind: LineKind, number: usize, text: &str) -> DiffLine {
    DiffLine { kind, number, text: text.to_owned() }
}

fn diff() -> FileDiff {
    let lines = vec![
        line(LineKind::Context, 9, "fn login() {"),
        line(LineKind::Removed, 10, "    let token = session(user);"),
        line(LineKind::Added, 10, "    let token = jwt(user);"),
        line(LineKind::Added, 11, "\tlog(\x1b[31mtoken);"),
        line(LineKind::Context, 12, "}"),
    ];
    let far = vec![line(LineKind::Removed, 120, "gone")];
    FileDiff {
        path: "/x/login.rs".into(),
        added: 2,
        removed: 2,
        hunks: vec![Hunk { lines }, Hunk { lines: far }],
        omitted: 0,
    }
}

fn shown(diff: &FileDiff, columns: u16, max: usize) -> Vec<String> {
    diff_lines(diff, columns, &theme(), max).iter().map(|line| line.to_string().trim_end().to_owned()).collect()
}

#[test]
fn a_change_shows_numbers_signs_and_words() {
    assert_eq!(
        shown(&diff(), 40, 20),
        [
            "  9   fn login() {",
            " 10 -     let token = session(user);",
            " 10 +     let token = jwt(user);",
            " 11 +     log(␛[31mtoken);",
            " 12   }",
            "    …",
            "120 - gone",
        ]
    );
    let theme = theme();
    let lines = diff_lines(&diff(), 40, &theme, 20);
    let emphasised: String =
        lines[2].spans.iter().filter(|span| span.style == theme.diff_added_word).map(|span| &*span.content).collect();
    assert_eq!(emphasised, "jwt");
    assert!(lines.iter().all(|line| line.width() <= 40));
}

#[test]
fn a_tab_in_the_place_of_spaces_shows() {
    let lines = vec![line(LineKind::Removed, 1, "\ta:\tb"), line(LineKind::Added, 1, "    a:    b")];
    let diff = FileDiff { hunks: vec![Hunk { lines }], ..diff() };
    assert_eq!(shown(&diff, 40, 20), ["1 - →   a:→   b", "1 +     a:    b"]);
}

#[test]
fn a_long_change_says_what_it_leaves_out() {
    assert_eq!(shown(&diff(), 40, 3)[2], "    … 3 more changed lines");
    let omitted = FileDiff { omitted: 7, ..diff() };
    assert_eq!(shown(&omitted, 40, 20).last().unwrap(), "    … 7 more changed lines");
    for (columns, max) in [(0, 5), (1, 1), (5, 0), (3, 100)] {
        let lines = diff_lines(&diff(), columns, &theme(), max);
        assert!(lines.len() <= max && lines.iter().all(|line| line.width() <= usize::from(columns)));
    }
}

/// Returns the text of the rows without the columns before it, one line of the file per entry.
fn joined(rows: &[String], gutter: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for row in rows {
        let (before, text): (String, String) = (row.chars().take(gutter).collect(), row.chars().skip(gutter).collect());
        match lines.last_mut().filter(|_| before.trim().is_empty()) {
            Some(line) => line.push_str(&text),
            None => lines.push(text),
        }
    }
    lines
}

#[test]
fn a_whole_change_loses_nothing_of_a_wide_line() {
    let wide: String = (0..1_000).map(|at| format!("{at:>9};")).collect();
    let cjk = "漢字か".repeat(40);
    let lines = vec![line(LineKind::Context, 9, &wide), line(LineKind::Context, 10, &cjk)];
    let change = FileDiff { hunks: vec![Hunk { lines }], ..diff() };
    for columns in [20, 56, 57] {
        let rows: Vec<String> = whole_diff(&change, columns, &theme()).iter().map(|row| row.line.to_string()).collect();
        assert_eq!(joined(&rows, 5), [wide.clone(), cjk.clone()], "{columns}");
        assert_eq!(rows.iter().filter(|row| row.trim_start().starts_with("9 ")).count(), 1);
    }
    let theme = theme();
    for columns in 0..30 {
        let rows = whole_diff(&diff(), columns, &theme);
        assert!(rows.iter().all(|row| row.line.width() <= usize::from(columns).max(1)), "{columns}");
    }
    let rows: Vec<_> = whole_diff(&diff(), 20, &theme).into_iter().map(|row| row.line).collect();
    let shown: Vec<String> = rows.iter().map(ToString::to_string).collect();
    assert_eq!(shown[1..4], [" 10 -     let token ", "      = session(user", "      );            "], "{shown:#?}");
    assert_eq!(rows[3].spans.last().unwrap().style, theme.diff_removed, "the ground reaches the edge in every row");
    let emphasised: String = rows
        .iter()
        .flat_map(|row| &row.spans)
        .filter(|span| span.style == theme.diff_added_word)
        .map(|span| &*span.content)
        .collect();
    assert_eq!(emphasised, "jwt");
}

#[test]
fn the_composer_draws_its_text_and_places_its_cursor() {
    let mut composer = Composer::new(History::default());
    let area = Rect::new(1, 1, 12, 3);
    let mut buffer = Buffer::empty(Rect::new(0, 0, 14, 5));
    assert_eq!(render(&composer, area, &mut buffer, &theme()), Position::new(3, 1));
    composer.insert("look at @src/main.rs");
    assert_eq!(composer.height(12), 3);
    let cursor = render(&composer, area, &mut buffer, &theme());
    assert!(area.contains(cursor));
    assert_eq!(buffer[(3, 2)].symbol(), "@");
    assert_eq!(Some(buffer[(3, 2)].fg), theme().accent.fg);
    for (width, height) in [(0, 0), (1, 1), (2, 1), (3, 1), (4, 2)] {
        let area = Rect::new(0, 0, width, height);
        let cursor = render(&composer, area, &mut buffer, &theme());
        assert!(area.is_empty() || area.contains(cursor));
    }
}

#[test]
fn a_screen_becomes_a_picture() {
    let theme = theme();
    let mut buffer = Buffer::empty(Rect::new(0, 0, 40, 9));
    let text = Text::from(diff_lines(&diff(), 40, &theme, 20));
    text.render(Rect::new(0, 0, 40, 7), &mut buffer);
    buffer.set_string(0, 7, "▾▸›◆●→•▎─│┼…✓✗⚠■·↓↑☐☑⠋⠹⏎ <&> \"q\"", theme.accent);
    buffer.set_string(0, 8, "dim 日本 wide", theme.link);
    let svg = to_svg(&buffer, theme.background());
    assert!(svg.contains("&lt;") && svg.contains("&amp;"));
    assert!(svg.contains(">日</text>"));
    let png = to_png(&svg);
    assert!(png.starts_with(b"\x89PNG"));
    if let Some(path) = std::env::var_os("BELVEDERE_PICTURE") {
        std::fs::write(path, png).unwrap();
    }
}
