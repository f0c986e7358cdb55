//! Words of models, tools and files that would break the screen, in every place of every view.

use belvedere::app::layout::LayoutForm;
use belvedere::message::sanitize_line;
use ratatui::buffer::Buffer;
use unicode_width::UnicodeWidthStr;

use super::stage::{Stage, as_text};
use super::views::{VIEWS, open};

const WORDS: [(&str, &str); 4] = [
    ("scripts", "漢字かな交じり文设置 مرحبا بالعالم שלום नि्क"),
    ("clusters", "👩‍👩‍👧‍👦👍🏽🇩🇪❤️☎️ e\u{301}\u{302}\u{303}\u{20dd}a\u{308} \u{301}\u{302}"),
    (
        "controls",
        "a\tb\r\nc\rd\u{1b}[31mred\u{1b}[2J\u{1b}[9;9H\u{1b}]0;t\u{7}\u{1b}]8;;http://x\u{1b}\\l\u{9b}1m\u{0}\u{8}\u{7f}\
         \u{202e}gnp.exe\u{202c}\u{200f}\u{2066}x\u{2069}\u{feff}\u{200b}\u{ad}\u{e0041}\t.",
    ),
    ("long", ""),
];

/// Nothing in a cell that moves others, and every column where it belongs.
fn assert_straight(stage: &Stage, buffer: &Buffer, what: &str) {
    let area = buffer.area;
    let text = as_text(buffer);
    for (y, line) in (0..).zip(text.lines()) {
        assert_eq!(sanitize_line(line), line, "{what}: hostile text in row {y}:\n{text}");
        let mut x = 0;
        while x < area.width {
            let symbol = buffer[(x, y)].symbol();
            let width = u16::try_from(symbol.width()).unwrap();
            assert!((1..=2).contains(&width), "{what}: {symbol:?} at {x},{y} takes {width} columns:\n{text}");
            for covered in x + 1..x + width {
                assert!(covered < area.width, "{what}: {symbol:?} leaves row {y}:\n{text}");
                let under = buffer[(covered, y)].symbol();
                assert!(under.trim().is_empty(), "{what}: {symbol:?} at {x},{y} covers {under:?}:\n{text}");
            }
            x += width;
        }
        assert_eq!(x, area.width, "{what}: row {y}");
    }
    let regions = stage.app.regions();
    if stage.app.popup().is_none() && stage.app.agent_files().is_none() && regions.form == LayoutForm::Side {
        for at in regions.divider.positions().filter(|at| at.y > 0) {
            assert_eq!(buffer[at].symbol(), "│", "{what}: the border at {at}:\n{text}");
        }
    }
    for (corner, last) in [("╭", "╰"), ("┌", "└"), ("╮", "╯"), ("┐", "┘")] {
        for at in area.positions().filter(|at| buffer[*at].symbol() == corner) {
            let mut below = (at.y + 1..area.height).map(|y| buffer[(at.x, y)].symbol());
            let end = below.find(|symbol| !["│", "├", "┤", "┃", "█", "▐"].contains(symbol));
            // A box may stand in front of another.
            assert!(end == Some(last) || end == Some(corner), "{what}: the border below {at} ends in {end:?}:\n{text}");
        }
    }
}

#[test]
fn no_words_bend_a_view() {
    // More than the screen holds.
    let long = "wide".repeat(600);
    for (kind, words) in WORDS {
        let words = if words.is_empty() { &long } else { words };
        for view in VIEWS {
            let mut stage = open(view, 80, 24, words);
            if view.2.ends_with(char::is_alphabetic) {
                stage.event(belvedere::app::Event::Input(belvedere::app::key::Input::Paste(words.to_owned())));
            }
            let (buffer, _) = stage.draw();
            assert_straight(&stage, &buffer, &format!("{kind} in {}", view.0));
        }
    }
}
