//! `belvedere agents` on a terminal: questions, the editor, colours.

use super::{Home, Terminal};

#[test]
fn new_asks_for_what_is_missing_and_opens_the_editor() {
    let home = Home::new();
    let editor = home.path().join("editor");
    std::fs::write(&editor, "#!/bin/sh\nprintf 'Be brief.\\n' >> \"$1\"\n").unwrap();
    std::fs::set_permissions(&editor, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let env = [("HOME", home.path().to_str().unwrap()), ("EDITOR", editor.to_str().unwrap())];
    let terminal = Terminal::start(80, 24, &["agents", "new"], home.path(), &env);
    terminal.shows("Name: ");
    terminal.send("Not A Name\r");
    terminal.shows("lowercase letters");
    terminal.send("tester\r");
    terminal.shows("When to use it: ");
    terminal.send("\r");
    terminal.shows("Say when to use it.");
    terminal.send("Runs the tests\r");
    terminal.shows("[all]: ");
    terminal.send("Read, Bash\r");
    terminal.shows("[inherit]: ");
    terminal.send("\r");
    terminal.shows("project-kode) [user]: ");
    terminal.send("\r");
    terminal.shows(".claude/agents/tester.md");
    assert_eq!(terminal.ended().exit_code(), 0);
    let text = std::fs::read_to_string(home.path().join(".claude/agents/tester.md")).unwrap();
    let head = "---\nname: \"tester\"\ndescription: \"Runs the tests\"\ntools: [\"Read\", \"Bash\"]\n---\n";
    assert_eq!(text, format!("{head}\nYou are tester. Runs the tests\nBe brief.\n"));
}

#[test]
fn leaving_the_questions_writes_nothing() {
    let home = Home::new();
    let terminal = home.start((80, 24), &["agents", "new", "tester"]);
    terminal.shows("When to use it: ");
    terminal.send("\x04");
    terminal.shows("nothing was written");
    assert_eq!(terminal.ended().exit_code(), 2);
    assert!(!home.path().join(".claude").exists());
}

#[test]
fn names_have_their_colour_unless_the_user_wants_none() {
    let home = Home::new();
    let path = home.path().to_str().unwrap();
    for (more, coloured) in [(None, true), (Some(("NO_COLOR", "1")), false)] {
        let env: Vec<(&str, &str)> = [("HOME", path)].into_iter().chain(more).collect();
        let terminal = Terminal::start(80, 60, &["agents"], home.path(), &env);
        let screen = terminal.shows("agents: 10 active");
        assert!(screen.lines().all(|line| line.chars().count() <= 80) && screen.contains('…'), "{screen}");
        assert_eq!(terminal.has_colours(), coloured);
        assert_eq!(terminal.ended().exit_code(), 0);
    }
}
