//! The lists of the composer beside an open question.

use belvedere::app::Event;
use belvedere::app::composer::History;
use belvedere::tui::view::theme::{ColorDepth, Theme};

use crate::screens::scenes;
use crate::screens::stage::{Stage, as_text};

const LISTS: [&str; 3] = ["/", "look at @s", "<ctrl+r>a"];

fn asked(width: u16, height: u16, before: &str) -> Stage {
    let mut stage = scenes::approval(width, height);
    stage.event(Event::FilesListed((0..12).map(|at| format!("src/file{at}.rs")).collect()));
    stage.keys("an earlier message<enter>");
    stage.keys(before);
    stage.draw();
    stage
}

fn rows(stage: &mut Stage, from: u16, to: u16) -> Vec<String> {
    let (buffer, _) = stage.draw();
    let rows = as_text(&buffer);
    rows.lines().skip(usize::from(from)).take(usize::from(to - from)).map(str::to_owned).collect()
}

#[test]
fn no_list_covers_a_question() {
    for (width, height) in [(200, 50), (120, 36), (80, 24), (60, 15)] {
        for keys in LISTS {
            let mut stage = asked(width, height, "");
            let area = stage.app.regions().approvals;
            let before = rows(&mut stage, area.y, area.bottom());
            stage.keys(keys);
            assert_eq!(stage.app.regions().approvals, area, "{keys}");
            assert_eq!(rows(&mut stage, area.y, area.bottom()), before, "{width}x{height} {keys}\n{}", stage.text());
            let (_, painted) = stage.draw();
            assert!(!painted.drawn.list.is_empty(), "{width}x{height} {keys}: the list is there\n{}", stage.text());
        }
    }
}

#[test]
fn no_list_covers_the_keys_that_answer_however_small_the_screen() {
    for width in [20, 40, 80] {
        for height in (1..=12).chain([15, 20, 29]) {
            for (before, keys) in ["", "<f6><tab><f6>"].into_iter().flat_map(|before| LISTS.map(|keys| (before, keys)))
            {
                let mut stage = asked(width, height, before);
                let area = stage.app.regions().approvals;
                if area.is_empty() {
                    continue;
                }
                let last = rows(&mut stage, area.bottom() - 1, area.bottom());
                stage.keys(keys);
                let area = stage.app.regions().approvals;
                let now = rows(&mut stage, area.bottom() - 1, area.bottom());
                assert_eq!(now, last, "{width}x{height} {before} {keys}\n{}", stage.text());
            }
        }
    }
}

#[test]
fn the_list_stands_above_the_question() {
    for (width, height) in [(80, 24), (60, 15)] {
        let mut stage = asked(width, height, "");
        let before = stage.frame();
        stage.keys("look at @s");
        insta::assert_snapshot!(format!("list-and-question-{width}x{height}"), stage.added_since(&before));
    }
}

#[test]
fn a_list_hides_no_sign_of_a_name() {
    let mut stage = Stage::new(80, 24);
    stage.event(Event::FilesListed(vec!["src/a\u{202e}gnp.rs".to_owned(), "src/a\u{1b}[31m.rs".to_owned()]));
    stage.keys("@src/a");
    let text = stage.text();
    assert!(text.contains("src/a⍰gnp.rs") && text.contains("src/a␛[31m.rs"), "{text}");
}

#[test]
fn completions_and_searches_stand_above_the_composer() {
    let mut stage = Stage::new(60, 15);
    stage.event(Event::HistoryLoaded(History::parse(&History::line("fix the\nlogin"))));
    stage.keys("/l");
    let (buffer, painted) = stage.draw();
    let text = as_text(&buffer);
    assert!(text.contains(" /layout    choose the layout: auto, side"), "the names stand in one column\n{text}");
    let chosen = painted.drawn.list[0].0;
    let theme = Theme::load("dark", ColorDepth::TrueColor).unwrap();
    assert_eq!(Some(buffer[(chosen.x, chosen.y)].bg), theme.selected_row.bg, "the chosen row is marked");
    for width in 1..12 {
        let mut narrow = Stage::new(width, 15);
        narrow.keys("/l");
        narrow.draw();
    }
    stage.keys("<esc><ctrl+u>");
    assert!(!stage.text().contains("history"), "{}", stage.text());
    stage.keys("<ctrl+r>z");
    assert!(stage.text().contains("┌ sent messages ─"), "{}", stage.text());
    assert!(stage.text().contains("│ › z  "), "{}", stage.text());
    assert!(stage.text().contains("│ no matching messages"), "{}", stage.text());
    stage.keys("<backspace>f");
    assert!(stage.text().contains("│ › f  "), "{}", stage.text());
    assert!(stage.text().contains("│ fix the…"), "{}", stage.text());
}

#[test]
fn the_search_through_sent_messages_opens_with_the_newest() {
    let mut stage = Stage::new(80, 24);
    let history = (1..=12).map(|number| History::line(&format!("message {number}"))).collect::<String>();
    stage.event(Event::HistoryLoaded(History::parse(&history)));
    stage.keys("<ctrl+r>");
    let (buffer, painted) = stage.draw();
    let text = as_text(&buffer);
    let rows: Vec<&str> = text.lines().filter(|line| line.contains("message ")).collect();
    assert!(rows[0].starts_with("│ message 12 "), "{text}");
    assert_eq!(rows.len(), 8, "{text}");
    assert!(text.contains(" 1 of 12 "), "{text}");
    let cursor = painted.marks.cursor.unwrap();
    assert_eq!(buffer[(cursor.x - 2, cursor.y)].symbol(), "›", "the cursor stands in the query\n{text}");
    stage.keys("2");
    assert!(stage.text().contains(" 1 of 2 "), "12 and 2 hold it\n{}", stage.text());
    stage.keys("<down><enter>");
    assert_eq!(stage.app.composer().text(), "message 2");
}

#[test]
fn the_keys_are_filtered_by_typing_and_pages_are_pages() {
    let mut stage = Stage::new(80, 24);
    stage.keys("?");
    let first = stage.text();
    assert!(!first.contains("… │"), "nothing is cut\n{first}");
    let rows = first.lines().filter(|line| line.starts_with('│')).count();
    stage.keys("<pagedown>");
    assert!(stage.text().contains(&format!(" {rows}–")), "a page but one line\n{}", stage.text());
    stage.keys("/wrap up");
    let text = stage.text();
    assert!(text.contains("wrap up: report now") && !text.contains("open the command palette"), "{text}");
    assert!(text.contains("/wrapup [N]"), "commands are among them\n{text}");
    stage.keys("zzz");
    assert!(stage.text().contains("no key or command matches"), "{}", stage.text());
    stage.keys("<esc>");
    assert!(stage.text().contains("search sent messages"), "esc shows all again\n{}", stage.text());
    stage.keys("<esc>");
    assert_eq!(stage.app.popup(), None);
}

#[test]
fn the_palette_begins_with_commands_and_with_what_begins_as_typed() {
    let mut stage = Stage::new(100, 30).with_model();
    let entries = |stage: &mut Stage, keys: &str| -> Vec<String> {
        stage.keys(&format!("<esc><ctrl+p>{keys}"));
        let text = stage.text();
        let rows = text.lines().filter_map(|line| line.split_once('│')?.1.split_once('│'));
        rows.skip(1).map(|(row, _)| row.trim().to_owned()).collect()
    };
    let found = entries(&mut stage, "mo");
    assert!(found[0].starts_with("/mode ") && found[1].starts_with("/model "), "{found:#?}");
    assert!(entries(&mut stage, "")[0].starts_with("/help"));
    let found = entries(&mut stage, "page");
    assert!(found[0].contains("pageup"), "what can be done here comes first: {found:#?}");
}
