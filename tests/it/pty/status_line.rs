//! A status line that a command of the settings writes.

use std::path::Path;

use serde_json::{Value, json};

use super::Home;

fn set(folder: &Path, command: &str) {
    std::fs::create_dir_all(folder.join(".claude")).unwrap();
    let settings = json!({"statusLine": {"type": "command", "command": command, "padding": 2}});
    std::fs::write(folder.join(".claude/settings.json"), settings.to_string()).unwrap();
}

#[test]
fn the_users_command_is_told_of_the_session_and_writes_a_row() {
    let home = Home::new();
    set(
        home.path(),
        r#"cat > "$HOME/part"; mv "$HOME/part" "$HOME/told.json"; printf '\033[32mgreen \033]0;title\007row\033[0m\n'"#,
    );
    let project = tempfile::tempdir().unwrap();
    let terminal = home.start_in(project.path(), (80, 24), &["--model", "offline"]);
    terminal.wait("the row", |screen| screen.lines().any(|row| row.starts_with("   green row")));
    let told: Value = serde_json::from_slice(&std::fs::read(home.path().join("told.json")).unwrap()).unwrap();
    for key in ["session_id", "transcript_path", "cwd", "model", "workspace", "version", "cost", "context_window"] {
        assert!(!told[key].is_null(), "no {key} in {told}");
    }
    assert_eq!(told["workspace"]["project_dir"], json!(project.path().canonicalize().unwrap()));
}

#[test]
fn a_projects_command_waits_for_trust() {
    let home = Home::new();
    let project = tempfile::tempdir().unwrap();
    set(project.path(), "touch ran; echo the row of the project");
    set(home.path(), "echo the row of the user");
    let terminal = home.start_in(project.path(), (80, 24), &["--model", "offline"]);
    terminal.shows("runs status line: touch ran; echo");
    terminal.shows("the row of the user");
    assert!(!project.path().join("ran").exists(), "it ran before it was trusted");
    // A key within a moment of the question would answer nothing.
    terminal.answers("y", |screen| screen.contains("the row of the project"));
}
