//! What the mouse does.

use belvedere::agent::{EventKind, Status, ToolEvent};
use belvedere::app::key::{Input, Mouse, MouseKind};
use belvedere::app::wizard::WizardStep;
use belvedere::app::{Effect, Event, Focus, Popup};
use belvedere::message::AgentId;
use belvedere::subagent::Command;
use belvedere::tui::view::theme::{ColorDepth, Theme};

use crate::screens::scenes;
use crate::screens::stage::{Stage, tool_started};

fn mouse(stage: &mut Stage, kind: MouseKind, column: u16, row: u16) -> Vec<Effect> {
    stage.event(Event::Input(Input::Mouse(Mouse { kind, column, row })))
}

#[test]
fn a_click_chooses_folds_and_stops() {
    let mut stage = scenes::eight_agents(120, 40);
    stage.draw();
    let title = stage.app.regions().pane(AgentId(2)).unwrap().area;
    mouse(&mut stage, MouseKind::Press, title.x + 10, title.y + 1);
    assert_eq!((stage.app.focus(), stage.app.marked_agent()), (Focus::Composer, Some(AgentId(2))));
    let effects = mouse(&mut stage, MouseKind::Press, title.right() - 1, title.y);
    assert_eq!(effects, [Effect::Command(Command::Stop { agent: AgentId(2) })]);
    mouse(&mut stage, MouseKind::Press, title.x, title.y);
    assert_eq!(stage.app.regions().pane(AgentId(2)).unwrap().area.height, 1);
}

#[test]
fn the_wheel_moves_what_is_under_the_pointer() {
    let mut stage = scenes::eight_agents(120, 40);
    stage.says(1, &"more\n\n".repeat(50));
    stage.draw();
    let pane = stage.app.regions().pane(AgentId(1)).unwrap().area;
    mouse(&mut stage, MouseKind::WheelUp, pane.x + 5, pane.y + 2);
    stage.draw();
    assert!(stage.app.pane(AgentId(1)).scroll.at.is_some());
    assert_eq!(stage.app.pane(AgentId::MAIN).scroll.at, None);
    assert_eq!(stage.app.focus(), Focus::Composer, "looking is not choosing");
}

#[test]
fn the_border_can_be_dragged() {
    let mut stage = scenes::eight_agents(120, 40);
    let divider = stage.app.regions().divider;
    mouse(&mut stage, MouseKind::Press, divider.x, 5);
    mouse(&mut stage, MouseKind::Drag, 80, 5);
    mouse(&mut stage, MouseKind::Release, 80, 5);
    assert!(stage.app.regions().divider.x.abs_diff(80) <= 2);
}

/// Presses the button at one place, moves to another and lets go, with a frame after each, and returns what is copied.
fn drag(stage: &mut Stage, from: (u16, u16), to: (u16, u16)) -> Option<String> {
    mouse(stage, MouseKind::Press, from.0, from.1);
    stage.draw();
    mouse(stage, MouseKind::Drag, to.0, to.1);
    stage.draw();
    mouse(stage, MouseKind::Release, to.0, to.1);
    stage.effects.clear();
    stage.draw();
    stage.effects.iter().find_map(|effect| match effect {
        Effect::Copy(text) => Some(text.clone()),
        _ => None,
    })
}

/// Returns where a text stands on the screen.
fn find(stage: &mut Stage, text: &str) -> (u16, u16) {
    let frame = stage.text();
    let found = frame.lines().enumerate().find(|(_, line)| line.contains(text));
    let (row, line) = found.unwrap_or_else(|| panic!("{text} is not on the screen:\n{frame}"));
    let column = line[..line.find(text).unwrap()].chars().count();
    (u16::try_from(column).unwrap(), u16::try_from(row).unwrap())
}

#[test]
fn a_drag_copies_clean_text_of_one_region() {
    let words =
        "Sessions used to be kept in a signed cookie, set by the login handler and read by the guard of every page";
    let mut stage = scenes::eight_agents(120, 40);
    stage.main(belvedere::agent::EventKind::Turn(belvedere::agent::TurnEvent::Started { turn: 2 }));
    stage.says(0, &format!("{words}.\n\nSecond paragraph, 漢字 too.\n"));
    let from = find(&mut stage, "Sessions used");
    let to = find(&mut stage, "漢字");
    assert!(to.1 > from.1 + 2, "the first paragraph takes more than a row");
    let copied = drag(&mut stage, from, (to.0 + 3, to.1)).unwrap();
    assert_eq!(copied, format!("{words}.\n\nSecond paragraph, 漢字"));
    assert_eq!(drag(&mut stage, to, from).unwrap(), format!("{words}.\n\nSecond paragraph, 漢"), "upwards, too");
    assert_eq!(drag(&mut stage, from, from), None, "a click copies nothing");
}

#[test]
fn a_selection_stays_at_its_text_while_the_agent_goes_on() {
    let mut stage = scenes::eight_agents(120, 40);
    stage.says(1, "\n\nalpha beta gamma\n\n");
    let from = find(&mut stage, "alpha");
    mouse(&mut stage, MouseKind::Press, from.0, from.1);
    stage.draw();
    for line in 0..200 {
        stage.says(1, &format!("line {line}\n\n"));
        stage.draw();
    }
    mouse(&mut stage, MouseKind::Drag, from.0 + 3, from.1);
    stage.draw();
    stage.effects.clear();
    mouse(&mut stage, MouseKind::Release, from.0 + 3, from.1);
    stage.draw();
    let copied = stage.effects.iter().find_map(|effect| match effect {
        Effect::Copy(text) => Some(text.clone()),
        _ => None,
    });
    let copied = copied.expect("nothing was copied");
    assert!(copied.starts_with("alpha beta gamma\n\n") && copied.contains("line 100"), "{copied}");
}

/// Clicks so many times at one place and returns what is copied.
fn clicks(stage: &mut Stage, count: usize, at: (u16, u16)) -> Option<String> {
    stage.wait(1_000);
    stage.effects.clear();
    for _ in 0..count {
        mouse(stage, MouseKind::Press, at.0, at.1);
        stage.draw();
        mouse(stage, MouseKind::Release, at.0, at.1);
        stage.draw();
    }
    stage.effects.iter().rev().find_map(|effect| match effect {
        Effect::Copy(text) => Some(text.clone()),
        _ => None,
    })
}

#[test]
fn a_double_click_copies_a_word_and_a_third_the_line() {
    let line =
        "The guard in src/auth/guard.rs checks 漢字 first, and every page that needs an account reads it from there";
    let mut stage = scenes::eight_agents(120, 40);
    stage.main(belvedere::agent::EventKind::Turn(belvedere::agent::TurnEvent::Started { turn: 2 }));
    stage.says(0, &format!("{line}.\n\nAnother one.\n"));
    let at = find(&mut stage, "auth/guard");
    assert_eq!(clicks(&mut stage, 1, at), None);
    assert_eq!(clicks(&mut stage, 2, at).as_deref(), Some("src/auth/guard.rs"));
    assert_eq!(clicks(&mut stage, 3, at), Some(format!("{line}.")), "also where it is wrapped");
    let wide = find(&mut stage, "漢字");
    assert_eq!(clicks(&mut stage, 2, (wide.0 + 1, wide.1)).as_deref(), Some("漢字"));
}

#[test]
fn the_chip_keeps_its_colours_over_any_text() {
    let mut stage = Stage::new(60, 14).with_model();
    stage.theme(Theme::load("terminal-16", ColorDepth::Ansi16).unwrap());
    stage.asks("go");
    stage.says(0, &format!("{}\n\nlast\n", "`code in its own colour over the whole of a row and more` ".repeat(30)));
    stage.draw();
    stage.keys("<pageup>");
    let (column, row) = find(&mut stage, " more ↓");
    let (buffer, _) = stage.draw();
    let styles: Vec<_> = (column..column + 8).map(|x| buffer[(x, row)].style()).collect();
    assert!(styles.iter().all(|style| *style == styles[7] && *style != buffer[(column - 2, row)].style()));
}

#[test]
fn a_row_with_nothing_at_its_end_does_not_run_into_the_next() {
    let mut stage = Stage::new(36, 20).with_model();
    stage.asks("go");
    stage.spawns(1, "explore", "Find");
    stage.starts(1);
    stage.ends(1, Status::Completed, "It is in the login handler.", None);
    stage.agent(0, tool_started("t", "Bash", "make"));
    stage.agent(
        0,
        EventKind::Tool(ToolEvent::Progress { call_id: "t".to_owned(), tail: "first line\nlast line\n".to_owned() }),
    );
    stage.keys("/layout hidden<enter>");
    for text in ["It is in", "first line"] {
        let at = find(&mut stage, text);
        let copied = clicks(&mut stage, 3, at).unwrap();
        assert!(copied.trim_start().starts_with(text) && !copied.contains("last"), "{copied:?}");
    }
}

#[test]
fn a_click_in_a_list_takes_what_is_under_it() {
    let mut stage = scenes::eight_agents(120, 40);
    stage.keys("/tasks<enter>");
    let at = find(&mut stage, "plan-2");
    mouse(&mut stage, MouseKind::Press, at.0, at.1);
    assert_eq!(stage.app.focused_agent(), Some(AgentId(2)));
    stage.keys("<esc><ctrl+p>layout");
    let at = find(&mut stage, "choose the layout (");
    mouse(&mut stage, MouseKind::Press, at.0, at.1);
    let at = find(&mut stage, "side ");
    mouse(&mut stage, MouseKind::Press, at.0, at.1);
    stage.draw();
    mouse(&mut stage, MouseKind::Press, at.0, at.1);
    assert!(stage.app.popup().is_none() && stage.text().contains("layout: side"), "{}", stage.text());

    let mut stage = scenes::ended(120, 40);
    stage.keys("/theme<enter>");
    let at = find(&mut stage, "high-contrast");
    mouse(&mut stage, MouseKind::Press, at.0, at.1);
    assert_eq!(stage.app.theme(), "dark", "the first click shows it");
    stage.draw();
    mouse(&mut stage, MouseKind::Press, at.0, at.1);
    assert_eq!((stage.app.theme(), stage.app.popup()), ("high-contrast", None));

    stage.keys("/mo");
    let at = find(&mut stage, "/mode ");
    mouse(&mut stage, MouseKind::Press, at.0, at.1);
    assert_eq!(stage.app.composer().text(), "/mode ");
}

#[test]
fn a_click_beside_a_popup_only_closes_it() {
    let mut stage = scenes::eight_agents(120, 40);
    stage.draw();
    let title = stage.app.regions().pane(AgentId(2)).unwrap().area;
    stage.keys("<ctrl+p>");
    let effects = mouse(&mut stage, MouseKind::Press, title.right() - 1, title.y);
    assert!(effects.is_empty(), "{effects:?}");
    assert_eq!((stage.app.popup(), stage.app.focus()), (None, Focus::Composer));
}

/// Clicks on a text of the screen.
fn click(stage: &mut Stage, text: &str) {
    let at = find(stage, text);
    mouse(stage, MouseKind::Press, at.0, at.1);
    stage.draw();
}

/// Turns the wheel to one end.
fn turn(stage: &mut Stage, kind: MouseKind) {
    for _ in 0..30 {
        mouse(stage, kind, 10, 10);
    }
}

#[test]
fn a_new_agent_takes_clicks() {
    for (width, height) in [(80, 24), (60, 15)] {
        let mut stage = super::wizard::open(width, height);
        let step = |stage: &Stage| stage.app.wizard().step();
        click(&mut stage, "write it yourself");
        assert_eq!(step(&stage), WizardStep::Where);
        mouse(&mut stage, MouseKind::Press, 0, 0);
        assert_eq!(step(&stage), WizardStep::Where, "a click beside it changes nothing");
        assert_eq!(stage.app.popup(), Some(&Popup::Wizard));
        stage.keys("<down>");
        click(&mut stage, "/home/ada/.claude/agents");
        stage.keys("tester<enter>Tests.<enter>You test.<enter>6");
        assert_eq!(step(&stage), WizardStep::Tools);
        click(&mut stage, "custom");
        click(&mut stage, "☑ Read");
        assert!(!stage.app.wizard().has_tool("Read") && stage.app.wizard().has_tool("LS"), "{}", stage.text());
        turn(&mut stage, MouseKind::WheelDown);
        click(&mut stage, "☑ Agent");
        assert!(!stage.app.wizard().has_tool("Agent"), "the wheel shows the last one");
        stage.keys("<enter>7");
        turn(&mut stage, MouseKind::WheelDown);
        click(&mut stage, "another:");
        assert_eq!(step(&stage), WizardStep::Model, "its name is typed");
        turn(&mut stage, MouseKind::WheelUp);
        click(&mut stage, "inherit");
        assert_eq!(step(&stage), WizardStep::Summary);
        stage.keys("8");
        click(&mut stage, "orange");
        assert_eq!(step(&stage), WizardStep::Summary);
        let draft = stage.app.wizard().draft();
        assert_eq!((draft.color.as_deref(), draft.model), (Some("orange"), None));
        let path = stage.app.wizard().path().unwrap();
        assert_eq!(
            path,
            std::path::Path::new("/home/ada/.claude/agents/tester.md"),
            "both rows of a folder are its own"
        );
    }
}
