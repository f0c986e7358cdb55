//! Frames as text, at the sizes people have.

use super::scenes;
use super::stage::Stage;
use super::views::{VIEWS, open};

const SIZES: [(u16, u16); 4] = [(200, 50), (120, 40), (80, 24), (60, 15)];

pub(super) fn check(name: &str, scene: impl Fn(u16, u16) -> Stage) {
    for (width, height) in SIZES {
        insta::assert_snapshot!(format!("{name}-{width}x{height}"), scene(width, height).text());
    }
}

#[test]
fn welcome() {
    check("welcome", scenes::welcome);
}

#[test]
fn eight_agents() {
    check("eight-agents", scenes::eight_agents);
}

#[test]
fn approval() {
    check("approval", scenes::approval);
}

#[test]
fn full() {
    check("full", scenes::full);
}

#[test]
fn ended() {
    check("ended", scenes::ended);
}

#[test]
fn talk() {
    check("talk", scenes::talk);
}

#[test]
fn lives() {
    check("lives", scenes::lives);
}

#[test]
fn a_second_run() {
    check("second-run", |width, height| {
        let mut stage = scenes::lives(width, height);
        stage.keys("<alt+3><alt+3>");
        stage
    });
}

#[test]
fn help() {
    check("help", |width, height| {
        let mut stage = scenes::eight_agents(width, height);
        stage.keys("<f1>");
        stage
    });
}

#[test]
fn timeline() {
    check("timeline", scenes::timeline);
}

#[test]
fn every_other_view() {
    // They stand above, or differ from another in nothing that a frame shows.
    let known = ["keys", "question", "focus-2", "focus-3", "full-1", "full-found", "quit"];
    for view in VIEWS.iter().filter(|view| !view.0.starts_with("files-") && !known.contains(&view.0)) {
        let frames: Vec<String> = SIZES
            .iter()
            .map(|(width, height)| format!("{width}x{height}\n{}", open(*view, *width, *height, "it").text()))
            .collect();
        insta::assert_snapshot!(format!("view-{}", view.0), frames.join("\n"));
    }
}
