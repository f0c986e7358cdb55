//! A request typed on the screen, answered by the offline model with real tools.

use super::Home;

#[test]
fn a_question_is_answered_with_a_place_that_is_right() {
    let home = Home::new();
    let project = tempfile::tempdir().unwrap();
    std::fs::write(
        project.path().join("lib.rs"),
        "//! A shop.\n\n/// Checks a password.\npub fn verify_password() {}\n",
    )
    .unwrap();
    let terminal = home.start_in(project.path(), (120, 40), &["--model", "offline"]);
    terminal.shows("offline");
    terminal.send("where is verify_password defined?\r");
    terminal.shows("lib.rs:4");
    terminal.wait("three subagents done", |screen| screen.matches('✓').count() >= 3);
}

#[test]
fn the_first_frame_needs_no_model() {
    let home = Home::new();
    let terminal = home.start((80, 24), &["--model", "anthropic/opus"]);
    terminal.send("typed at once");
    terminal.shows("typed at once");
    terminal.shows("ANTHROPIC_API_KEY");
}
