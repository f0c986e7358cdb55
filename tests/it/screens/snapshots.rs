//! Frames as text: a dozen whole screens as a gallery, and of every other view the region it is about, at the sizes
//! people have.

use super::agent_files;
use super::scenes;
use super::stage::{Region, Stage};
use super::views::{VIEWS, View, open};

const SIZES: [(u16, u16); 4] = [(200, 50), (120, 40), (80, 24), (60, 15)];

/// Compares what a scene shows at each size with what it showed before, all sizes in one file.
pub(crate) fn check(name: &str, mut shown: impl FnMut(u16, u16) -> String) {
    let parts = SIZES.map(|(width, height)| format!("{width}x{height}\n{}", shown(width, height)));
    insta::assert_snapshot!(name, parts.join("\n"));
}

/// Compares one region of a scene.
pub(super) fn check_region(name: &str, region: Region, scene: impl Fn(u16, u16) -> Stage) {
    check(name, |width, height| scene(width, height).region(region));
}

#[test]
fn gallery() {
    let screen = |name: &str, sizes: &[(u16, u16)], scene: fn(u16, u16) -> Stage| {
        for (width, height) in sizes {
            insta::assert_snapshot!(format!("screen-{name}-{width}x{height}"), scene(*width, *height).text());
        }
    };
    screen("welcome", &[(80, 24)], scenes::welcome);
    screen("talk", &[(80, 24)], scenes::talk);
    screen("eight-agents", &SIZES, scenes::eight_agents);
    screen("approval", &[(120, 40), (60, 15)], scenes::approval);
    screen("full", &[(120, 40)], scenes::full);
    screen("ended", &[(80, 24)], scenes::ended);
    screen("timeline", &[(200, 50)], scenes::timeline);
    screen("agents", &[(120, 40)], |width, height| agent_files::stage(width, height, agent_files::everything()));
}

#[test]
fn conversations() {
    check_region("conversation-welcome", Region::Conversation, scenes::welcome);
    check_region("conversation-talk", Region::Conversation, scenes::talk);
    check_region("conversation-eight-agents", Region::Conversation, scenes::eight_agents);
    check_region("conversation-ended", Region::Conversation, scenes::ended);
}

#[test]
fn agents() {
    check_region("agents-lives", Region::Agents, scenes::lives);
    check_region("agents-ended", Region::Agents, scenes::ended);
    check_region("agents-approval", Region::Agents, scenes::approval);
    check_region("agents-second-run", Region::Agents, |width, height| {
        let mut stage = scenes::lives(width, height);
        stage.keys("<alt+3><alt+3>");
        stage
    });
}

#[test]
fn questions() {
    check_region("question", Region::Approvals, scenes::approval);
}

#[test]
fn timeline() {
    check_region("timeline", Region::Timeline, scenes::timeline);
}

#[test]
fn every_other_view() {
    // They stand above, or differ from another in nothing that a frame shows.
    let known = ["question", "focus-2", "focus-3", "full-1", "full-found", "quit"];
    for view in VIEWS.iter().filter(|view| !view.0.starts_with("files-") && !known.contains(&view.0)) {
        check(&format!("view-{}", view.0), |width, height| region_of(*view, width, height));
    }
}

/// Returns what a view is about: a region where it only changes that, else all that it puts on the screen.
fn region_of(view: View, width: u16, height: u16) -> String {
    let (name, editing, _) = view;
    let mut stage = open(view, width, height, "it");
    match name {
        "composer" | "vi" | "targeted" | "queued" | "unread" | "stop-all" => stage.region(Region::Composer),
        "question-whole" | "question-edit" | "comment" => stage.region(Region::Approvals),
        "bars" => stage.region(Region::Timeline),
        "agent" | "agent-folded" | "full-5" => stage.region(Region::Agents),
        name if name.starts_with("layout-") => stage.region(Region::Agents),
        _ => {
            let before = open(("before", editing, ""), width, height, "it").frame();
            stage.added_since(&before)
        }
    }
}
