//! Going on with an earlier session on the screen.

use std::path::Path;

use super::Home;

const ASKED: &str = "where is verify_password defined?";

/// Makes a project below the home, so that the home is none.
fn project(home: &Home) -> std::path::PathBuf {
    let project = home.path().join("shop");
    std::fs::create_dir_all(project.join("src")).unwrap();
    std::fs::write(project.join("Cargo.toml"), "[package]\nname = \"shop\"\n").unwrap();
    std::fs::write(project.join("src/lib.rs"), "/// Checks.\npub fn verify_password() -> bool {\n    true\n}\n")
        .unwrap();
    crate::support::git(&project, ["init", "-q", "."]);
    project
}

/// Asks something, waits for the answer, writes half a sentence, and kills the program.
fn killed(home: &Home, project: &Path) {
    let terminal = home.start_in(project, (120, 40), &["--model", "offline"]);
    terminal.shows("offline");
    terminal.send(ASKED);
    terminal.send("\r");
    terminal.wait("the answer", |shown| shown.contains("agents  1 done") && !shown.contains("esc interrupts"));
    terminal.send("and then half a sen");
    let unsent = "and then half a sen";
    let saved = || {
        let sessions = home.path().join(".local/state/belvedere/sessions");
        let files = walk(&sessions);
        files.iter().any(|path| {
            path.ends_with("unsent.json") && std::fs::read_to_string(path).is_ok_and(|text| text.contains(unsent))
        })
    };
    terminal.wait("the draft is saved", |_| saved());
    terminal.killed();
}

fn walk(dir: &Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { walk(&path) } else { vec![path] }).collect()
}

#[test]
fn everything_is_back_after_a_kill() {
    let home = Home::new();
    let project = project(&home);
    killed(&home, &project);
    let terminal = home.start_in(&project, (120, 40), &["--model", "offline", "-c"]);
    let shown = terminal.shows("and then half a sen");
    assert!(shown.contains(ASKED) && shown.contains("src/lib.rs:2"), "{shown}");
    assert!(shown.contains("agents  1 done"), "{shown}");
    assert!(!shown.contains("interrupted"), "nothing was running: {shown}");
    terminal.send("\x15\x0b/quit\r");
    terminal.ended();
}

#[test]
fn a_session_is_chosen_from_the_list() {
    let home = Home::new();
    let project = project(&home);
    killed(&home, &project);
    for flags in [&["--model", "offline"][..], &["--model", "offline", "--resume"]] {
        let terminal = home.start_in(&project, (120, 40), flags);
        terminal.shows("offline");
        if flags.len() == 2 {
            terminal.send("/sessions\r");
        }
        let listed = terminal.shows(ASKED);
        assert!(listed.contains("sessions") && listed.contains("1 agent"), "{listed}");
        terminal.send("verify\r");
        let shown = terminal.shows("agents  1 done");
        assert!(shown.contains("src/lib.rs:2"), "{shown}");
        terminal.send("\x15\x0b/quit\r");
        assert_eq!(terminal.ended().exit_code(), 0);
    }
}
