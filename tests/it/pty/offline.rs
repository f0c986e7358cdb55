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
    terminal.wait("the subagent is done", |screen| screen.contains("agents  1 done"));
}

#[test]
fn the_first_frame_needs_no_model() {
    let home = Home::new();
    let terminal = home.start((80, 24), &["--model", "anthropic/opus"]);
    terminal.send("typed at once");
    terminal.shows("typed at once");
    terminal.shows("ANTHROPIC_API_KEY");
}

#[test]
fn keys_that_come_with_a_change_of_size_are_kept() {
    let home = Home::new();
    let terminal = home.start((100, 30), &["--model", "offline"]);
    terminal.shows("offline");
    let letters: String = ('a'..='z').collect();
    for (at, letter) in letters.chars().enumerate() {
        terminal.resize(if at % 2 == 0 { 90 } else { 100 }, 30);
        terminal.send(&letter.to_string());
    }
    terminal.shows(&letters);
}

#[test]
fn a_burst_larger_than_one_read_is_taken_whole() {
    let home = Home::new();
    let terminal = home.start((100, 30), &["--model", "offline"]);
    terminal.shows("offline");
    let burst: String = (0..400).map(|number| format!("{number:03} ")).collect();
    terminal.send(&burst);
    terminal.send("end");
    terminal.shows("399 end");
}

#[test]
fn an_answer_for_the_project_holds_after_a_new_start() {
    let home = Home::new();
    let project = tempfile::tempdir().unwrap();
    let made = project.path().join("made.txt");
    let terminal = home.start_in(project.path(), (80, 24), &["--model", "offline"]);
    terminal.shows("offline");
    terminal.send("run `touch made.txt`\r");
    terminal.shows("this exact command");
    terminal.send("\x1b[17~");
    terminal.shows("p project");
    // A key within a moment of the question would answer nothing.
    terminal
        .wait("a second has passed", |screen| screen.contains("allow Bash?  ") && !screen.contains("allow Bash?  0s"));
    terminal.send("p");
    terminal.wait("the file", |_| made.exists());
    terminal.send("\x03\x03");
    terminal.ended();
    std::fs::remove_file(&made).unwrap();

    let terminal = home.start_in(project.path(), (80, 24), &["--model", "offline"]);
    terminal.shows("offline");
    terminal.send("run `touch made.txt`\r");
    let screen = terminal.wait("the file", |_| made.exists());
    assert!(!screen.contains("this exact command"), "{screen}");
    terminal.send("/permissions\r");
    terminal.shows("Bash(touch made.txt)");
}
