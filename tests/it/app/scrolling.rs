//! Views into transcripts stay where the user put them.

use std::fmt::Write as _;

use belvedere::agent::{EventKind, ToolEvent};
use belvedere::app::key::{Input, Mouse, MouseKind};
use belvedere::app::{Effect, Event, LogMatch, LogNews, LogRequest, LogSpan};
use belvedere::message::{AgentId, ToolResult};
use belvedere::tool::ToolView;
use belvedere::tui::view::theme::{ColorDepth, Theme};

use crate::screens::stage::{Stage, tool_started};

fn long_talk() -> Stage {
    let mut stage = Stage::new(100, 20).with_model();
    stage.asks("count");
    let mut text = String::new();
    for number in 0..100 {
        let _ = writeln!(text, "line {number}\n");
    }
    stage.says(0, &text);
    stage
}

fn first_row(stage: &mut Stage) -> String {
    stage.text().lines().next().unwrap_or_default().trim().to_owned()
}

#[test]
fn a_view_follows_the_tail_until_it_is_moved() {
    let mut stage = long_talk();
    assert!(stage.text().contains("line 99"));
    stage.says(0, "line 100\n\n");
    assert!(stage.text().contains("line 100"));
    stage.keys("<pageup><pageup>");
    let first = first_row(&mut stage);
    for number in 101..140 {
        stage.says(0, &format!("line {number}\n\n"));
        assert_eq!(first_row(&mut stage), first, "the view moved at line {number}");
    }
    assert!(stage.text().contains("78 new ↓ end"), "{}", stage.text());
    stage.keys("<esc>");
    assert!(stage.text().contains("line 139"));
}

#[test]
fn scrolling_down_to_the_end_follows_again() {
    let mut stage = long_talk();
    stage.draw();
    stage.keys("<pageup>");
    stage.draw();
    stage.keys("<pagedown>");
    stage.draw();
    assert_eq!(stage.app.pane(AgentId::MAIN).scroll.at, None);
}

#[test]
fn a_resize_keeps_the_place() {
    let mut stage = long_talk();
    stage.keys("<pageup><pageup>");
    let first = first_row(&mut stage);
    stage.resize(70, 20);
    assert_eq!(first_row(&mut stage), first);
}

#[test]
fn a_search_finds_and_goes_on() {
    let mut stage = long_talk();
    stage.spawns(1, "explore", "Read");
    stage.starts(1);
    let text: String =
        (0..200).map(|number| format!("row {number}{}\n\n", if number % 50 == 7 { " needle" } else { "" })).collect();
    stage.says(1, &text);
    stage.draw();
    stage.keys("<alt+1><alt+1>/needle<enter>");
    assert!(stage.text().contains("row 157 needle"), "{}", stage.text());
    stage.keys("N");
    assert!(stage.text().contains("row 107 needle"));
    stage.keys("N");
    assert!(stage.text().contains("row 57 needle"));
    stage.keys("n");
    assert!(stage.text().contains("row 107 needle"));
    stage.keys("g");
    assert!(stage.text().contains("row 0"));
    stage.keys("/nowhere<enter>");
    assert!(stage.text().contains("no match"));
}

#[test]
fn a_new_search_looks_everywhere_wherever_the_view_stands() {
    let mut stage = long_talk();
    stage.spawns(1, "explore", "Read");
    stage.starts(1);
    let text: String =
        (0..200).map(|number| format!("row {number}{}\n\n", if number == 97 { " thread" } else { "" })).collect();
    stage.says(1, &text);
    stage.draw();
    stage.keys("<alt+1><alt+1>g/thread<enter>");
    assert!(stage.text().contains("row 97 thread"), "{}", stage.text());
    // What the search before found does not bound this one.
    stage.keys("/row 150<enter>");
    assert!(stage.text().contains("row 150") && !stage.text().contains("no match"), "{}", stage.text());
}

#[test]
fn the_end_key_leads_to_the_bottom_from_the_composer() {
    let mut stage = long_talk();
    stage.keys("half a thought<pageup><pageup>");
    let text = stage.text();
    assert!(!text.contains("line 99") && text.contains("more ↓ end"), "{text}");
    // In the middle of the line it is the key of the composer.
    stage.keys("<home><end>");
    assert!(!stage.text().contains("line 99"), "{}", stage.text());
    stage.keys("<end>");
    let text = stage.text();
    assert!(text.contains("line 99") && !text.contains("more ↓"), "{text}");
    assert_eq!(stage.app.composer().text(), "half a thought");
}

#[test]
fn the_words_on_what_arrived_cover_no_text() {
    let mut stage = Stage::new(40, 12).with_model();
    stage.asks("count");
    let text: String = (0..60).map(|number| format!("line {number} {}end\n\n", "x".repeat(22))).collect();
    stage.says(0, &text);
    stage.keys("<pageup><pageup>");
    let text = stage.text();
    let chip = text.lines().find(|line| line.contains("more ↓ end")).unwrap();
    assert_eq!(chip.trim(), "more ↓ end", "{text}");
}

/// An agent in full view whose whole transcript fits.
fn short_work() -> Stage {
    let mut stage = Stage::new(100, 24);
    stage.asks("read");
    stage.spawns(1, "explore", "Read");
    stage.starts(1);
    let text = (1..=5).map(|number| format!("- case_{number} of the login")).collect::<Vec<_>>().join("\n");
    stage.says(1, &text);
    stage.draw();
    stage.keys("<alt+1><alt+1>");
    stage
}

#[test]
fn a_search_counts_and_moves_also_where_everything_is_visible() {
    let mut stage = short_work();
    stage.keys("/login");
    assert!(stage.text().contains("5 of 5"), "while it is typed\n{}", stage.text());
    stage.keys("<enter>");
    for (key, place) in
        [("N", "4 of 5"), ("N", "3 of 5"), ("n", "4 of 5"), ("n", "5 of 5"), ("n", "1 of 5"), ("N", "5 of 5")]
    {
        stage.keys(key);
        let text = stage.text();
        assert!(text.contains(place) && !text.contains("no match"), "{key}: {text}");
    }
}

#[test]
fn the_current_match_is_told_apart_and_the_line_of_the_search_covers_nothing() {
    let mut stage = short_work();
    stage.keys("/login<enter>");
    stage.draw();
    stage.keys("N");
    stage.draw();
    let (buffer, _) = stage.draw();
    let theme = Theme::load("dark", ColorDepth::TrueColor).unwrap();
    let grounds: Vec<_> = (0..24)
        .filter_map(|y| {
            (0..100)
                .find(|x| {
                    buffer[(*x, y)].bg == theme.search_match.bg.unwrap()
                        || buffer[(*x, y)].bg == theme.search_current.bg.unwrap()
                })
                .map(|x| buffer[(x, y)].bg)
        })
        .collect();
    let (plain, current) = (theme.search_match.bg.unwrap(), theme.search_current.bg.unwrap());
    assert_eq!(grounds, [plain, plain, plain, current, plain]);
    let text = stage.text();
    assert!((1..=5).all(|number| text.contains(&format!("case_{number} of the login"))), "{text}");
    assert!(text.contains("/login  4 of 5   n next  N previous  esc close"), "{text}");
    stage.keys("<esc>");
    let text = stage.text();
    assert!(!text.contains("4 of 5") && text.contains("case_1"), "the search is closed, the view is not\n{text}");
}

#[test]
fn a_search_that_is_given_up_leaves_the_view_where_it_was() {
    let mut stage = long_talk();
    stage.spawns(1, "explore", "Read");
    stage.starts(1);
    let text: String = (0..200).map(|number| format!("row {number}\n\n")).collect();
    stage.says(1, &text);
    stage.draw();
    stage.keys("<alt+1><alt+1>");
    stage.keys("/row 50");
    assert!(stage.text().contains("row 50"), "{}", stage.text());
    stage.keys("<esc>");
    let text = stage.text();
    assert!(text.contains("row 199") && !text.contains(" of "), "{text}");
}

#[test]
fn what_a_child_keeps_is_bounded() {
    let mut stage = Stage::new(100, 30);
    stage.spawns(1, "explore", "Read");
    stage.starts(1);
    for number in 0..2_000 {
        stage.calls(1, &format!("c{number}"), "Read", &"x".repeat(500), "done");
    }
    let cells = &stage.app.agents().get(AgentId(1)).unwrap().cells;
    assert!(cells.bytes() <= 256 * 1024);
    assert!(cells.is_cut());
}

#[test]
fn ten_thousand_lines_move_neither_view_nor_selection_and_are_counted() {
    for agent in [0, 1] {
        let mut stage = Stage::new(160, 40).with_model();
        stage.asks("count");
        stage.spawns(1, "explore", "Read");
        stage.starts(1);
        let before: String = (0..100).map(|number| format!("old {number} alpha\n\n")).collect();
        stage.says(agent, &before);
        stage.draw();
        let keys = if agent == 0 { "<pageup><pageup>" } else { "<alt+1><pageup><pageup>" };
        stage.keys(keys);
        let frame = stage.text();
        let (row, line) = (0..).zip(frame.lines()).find(|(_, line)| line.contains("alpha")).unwrap();
        let column = u16::try_from(line[..line.find("alpha").unwrap()].chars().count()).unwrap();
        let mouse = |stage: &mut Stage, kind, column| {
            stage.event(Event::Input(Input::Mouse(Mouse { kind, column, row })));
            stage.draw();
        };
        mouse(&mut stage, MouseKind::Press, column);
        mouse(&mut stage, MouseKind::Drag, column + 4);
        let shown = |stage: &mut Stage| {
            let frame = stage.text();
            frame.lines().filter(|line| line.contains("alpha")).map(str::to_owned).collect::<Vec<_>>()
        };
        let old = shown(&mut stage);
        for number in 1..=10_000 {
            stage.says(agent, &format!("line {number}\n\n"));
            if number % 500 == 0 {
                assert_eq!(shown(&mut stage)[0], old[0], "agent {agent} moved at line {number}");
                let chip = format!(" {} new ↓", 2 * number);
                assert!(stage.text().contains(&chip), "agent {agent}, {chip}: {}", stage.text());
            }
        }
        stage.effects.clear();
        mouse(&mut stage, MouseKind::Release, column + 4);
        assert!(stage.effects.contains(&Effect::Copy("alpha".to_owned())), "{:?}", stage.effects);
    }
}

#[test]
fn the_whole_output_of_a_call_is_opened_from_a_list() {
    let mut stage = Stage::new(100, 30).with_model();
    stage.asks("count");
    let whole: String = (1..=200).map(|number| format!("out {number}\n")).collect();
    let end: String = (181..=200).map(|number| format!("out {number}\n")).collect();
    stage.main(tool_started("b1", "Bash", "seq 1 200"));
    stage.main(EventKind::Tool(ToolEvent::Ended {
        result: ToolResult::text("b1", format!("{whole}\n[exit 0]")),
        summary: "exit 0, 200 lines".to_owned(),
        view: Some(ToolView::Output { text: end }),
        changes: Vec::new(),
    }));
    stage.keys("<f6><tab>");
    assert!(stage.text().contains("… 180 lines before"), "{}", stage.text());
    stage.keys("<enter>");
    assert!(stage.text().contains("Bash seq 1 200"), "{}", stage.text());
    let effects = stage.keys("<enter>");
    let span = LogSpan::Output("b1".to_owned());
    let request = LogRequest { agent: AgentId::MAIN, name: "main".to_owned(), span: span.clone() };
    assert!(effects.contains(&Effect::ReadLog(request)), "{effects:?}");
    assert!(stage.text().contains("out 181"), "what is known stands there at once\n{}", stage.text());
    stage.event(Event::LogRead(LogNews { agent: AgentId::MAIN, span, found: LogMatch::Output(whole) }));
    let text = stage.text();
    assert!(text.contains("│ out 1 ") && text.contains(" of 200 "), "{text}");
    stage.keys("G");
    assert!(stage.text().contains("│ out 200"), "{}", stage.text());
}

#[test]
fn a_long_paste_is_shown_in_part_and_opened_whole() {
    let mut stage = Stage::new(100, 30).with_model();
    let pasted: Vec<String> = (1..=500).map(|number| format!("pasted {number}")).collect();
    stage.asks(&pasted.join("\n"));
    let text = stage.text();
    assert!(text.contains("pasted 3") && !text.contains("pasted 4") && text.contains("… 497 more lines"), "{text}");
    stage.keys("<f6><enter><enter>");
    assert!(stage.text().contains(" of 500 "), "{}", stage.text());
    stage.keys("G");
    assert!(stage.text().contains("pasted 500"), "{}", stage.text());
}
