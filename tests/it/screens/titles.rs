//! Titles of panes and lines of subagents: what gives way, and to what.

use belvedere::agent::Status;
use belvedere::tui::view::theme::{ColorDepth, Glyphs, Theme};

use super::scenes;
use super::stage::Stage;

const TASKS: [(&str, &str); 4] = [
    ("explore", "Find auth files"),
    ("plan", "Design the migration"),
    ("search-specialist", "Find token crates"),
    ("test-writer", "Write session tests"),
];

fn four_agents(width: u16, height: u16) -> Stage {
    let mut stage = Stage::new(width, height).with_model();
    stage.asks("go");
    for (agent, (kind, title)) in (1..).zip(TASKS) {
        stage.spawns(agent, kind, title);
        stage.starts(agent);
    }
    stage
}

#[test]
fn a_description_is_whole_at_every_size_people_have() {
    for (width, height) in [(200, 50), (120, 40), (80, 24), (60, 20)] {
        let text = four_agents(width, height).text();
        for (_, title) in TASKS {
            let whole = text.lines().filter(|line| line.contains(&format!(" {title} "))).count();
            assert_eq!(whole, 1, "{title}, once in its pane's title, at {width}x{height}:\n{text}");
        }
    }
}

#[test]
fn a_title_says_its_state_in_a_sign_and_a_word_at_any_width() {
    for width in 16..=130 {
        let mut stage = four_agents(width, 24);
        stage.keys("/layout rail<enter>");
        stage.ends(2, Status::Failed, "", Some("gone"));
        let text = stage.text();
        let rows: Vec<&str> = text.lines().filter(|line| line.starts_with('▸')).collect();
        assert_eq!(rows.len(), 4, "at {width}:\n{text}");
        assert!(rows.iter().filter(|row| row.contains("✗ failed")).count() == 1, "at {width}:\n{text}");
        let thinking = rows.iter().filter(|row| row.contains(" thinking")).count();
        assert_eq!(thinking, 3, "at {width}:\n{text}");
    }
}

#[test]
fn descriptions_stand_in_line_where_there_is_room() {
    let mut stage = four_agents(200, 50);
    stage.keys("/layout below<enter>");
    let text = stage.text();
    let column = |title: &str| text.lines().find_map(|line| line.strip_prefix("▾")?.find(title)).unwrap();
    let columns: Vec<usize> = TASKS.iter().map(|(_, title)| column(title)).collect();
    assert!(columns.iter().all(|at| *at == columns[0]), "{columns:?}\n{text}");
}

#[test]
fn two_columns_stand_only_while_both_have_something_to_show() {
    let mut stage = four_agents(200, 50);
    stage.text();
    assert_eq!(stage.columns(), 2);
    for agent in [1, 3] {
        stage.ends(agent, Status::Completed, "<summary>done</summary>", None);
    }
    stage.text();
    stage.wait(4_000);
    assert_eq!(stage.columns(), 1, "nothing but titles would stand in the left one");
}

#[test]
fn a_poor_terminal_gets_signs_it_can_show() {
    let glyphs = |term: &str| {
        Glyphs::detect(|name| match name {
            "LANG" => Some("en_US.UTF-8".to_owned()),
            "TERM" => Some(term.to_owned()),
            _ => None,
        })
    };
    assert_eq!(
        [glyphs("xterm-256color"), glyphs("linux"), glyphs("dumb")],
        [Glyphs::UNICODE, Glyphs::ASCII, Glyphs::ASCII]
    );
    for scene in [scenes::eight_agents, scenes::approval, scenes::full, scenes::ended, scenes::welcome] {
        let mut stage = scene(120, 40);
        stage.theme(Theme::load("dark", ColorDepth::TrueColor).unwrap().with_glyphs(Glyphs::ASCII));
        let text = stage.text();
        assert!(text.is_ascii(), "{text}");
    }
    let mut stage = scenes::eight_agents(120, 40);
    assert!(stage.text().contains("↓ agents"));
    stage.theme(Theme::load("dark", ColorDepth::TrueColor).unwrap().with_glyphs(Glyphs::ASCII));
    assert!(stage.text().contains("down agents"));
}

#[test]
fn a_terminal_that_has_just_become_smaller_or_larger_is_drawn_on() {
    for scene in [scenes::eight_agents, scenes::approval, scenes::full, scenes::timeline, scenes::welcome] {
        let mut stage = scene(120, 40);
        let whole = stage.draw_on(120, 40);
        for (width, height) in [(90, 30), (130, 20), (60, 50), (200, 60), (1, 1), (0, 0)] {
            let buffer = stage.draw_on(width, height);
            let known = buffer.area.intersection(whole.area);
            assert!(known.positions().all(|at| buffer[at] == whole[at]), "{width}x{height}");
        }
    }
}
