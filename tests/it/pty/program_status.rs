//! Terminals that keep a record of what the program and each of its agents is at.

use std::os::unix::fs::PermissionsExt as _;

use super::Home;
use super::terminal::Terminal;

fn count(bytes: &[u8], text: &str) -> usize {
    memchr::memmem::find_iter(bytes, text).count()
}

/// Starts the program, answers its question or not, lets a subagent run, and returns all that was written.
fn session(answers: bool, more: &[(&str, &str)]) -> Vec<u8> {
    let (home, project) = (Home::new(), tempfile::tempdir().unwrap());
    std::fs::write(project.path().join("lib.rs"), "pub fn verify_password() {}\n").unwrap();
    let env = [&[("HOME", home.path().to_str().unwrap()), ("TERM", "xterm-256color")][..], more].concat();
    let terminal = Terminal::start(100, 40, &["--model", "offline"], project.path(), &env);
    terminal.shows("offline");
    if answers {
        terminal.send("\x1b]7501;?\x1b\\");
    }
    terminal.send("Use a subtask to find where verify_password is defined\r");
    let screen = terminal.shows("is defined at");
    assert!(!screen.contains("7501"), "the answer is no input:\n{screen}");
    terminal.wait("the main agent at rest", |screen| !screen.contains("esc interrupt"));
    terminal.send("/quit\r");
    terminal.left()
}

#[test]
fn one_that_answers_gets_records_and_others_only_the_question() {
    let written = session(true, &[]);
    assert_eq!(count(&written, "\x1b]7501;?\x1b\\"), 1, "asked once");
    let text = String::from_utf8_lossy(&written);
    for record in ["state=working:app=belvedere\x1b", "state=working:title=", ":id=1\x1b", "state=done:title="] {
        assert!(text.contains(record), "{record:?}");
    }
    assert!(text.contains("\x1b]7501;state=clear\x1b\\"), "it is taken back at the end");
    assert_eq!(count(&written, "\x1b]9;4;"), 0, "this terminal would notify of progress");

    let written = session(false, &[("WT_SESSION", "1")]);
    assert_eq!(count(&written, "\x1b]7501;"), 1, "the question alone");
    assert!(count(&written, "\x1b]9;4;3;0\x1b\\") >= 1 && count(&written, "\x1b]9;4;0;0\x1b\\") >= 1);

    let written = session(false, &[("WT_SESSION", "1"), ("BELVEDERE_UI_PROGRAM_STATUS", "false")]);
    assert_eq!(count(&written, "\x1b]7501;") + count(&written, "\x1b]9;4;"), 0, "it is switched off");
}

#[test]
fn in_tmux_progress_is_handed_on_to_a_terminal_that_shows_it() {
    let (home, project, tools) = (Home::new(), tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    std::fs::write(project.path().join("lib.rs"), "pub fn verify_password() {}\n").unwrap();
    let tmux = tools.path().join("tmux");
    std::fs::write(&tmux, "#!/bin/sh\necho 'ghostty 1.2.3'\n").unwrap();
    std::fs::set_permissions(&tmux, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", tools.path().display(), std::env::var("PATH").unwrap());
    let env =
        [("HOME", home.path().to_str().unwrap()), ("TERM", "tmux-256color"), ("TMUX", "/tmp/x,1,0"), ("PATH", &path)];
    let terminal = Terminal::start(100, 40, &["--model", "offline"], project.path(), &env);
    terminal.shows("offline");
    let handed_on = |state: &str| format!("\x1bPtmux;\x1b\x1b]9;4;{state}\x1b\x1b\\\x1b\\");
    // It has to be known first which terminal it is; that takes a moment.
    while count(&terminal.written(), &handed_on("3;0")) == 0 {
        terminal.send("where is verify_password defined?\r");
        terminal.shows("is defined at");
        terminal.wait("the main agent at rest", |screen| !screen.contains("esc interrupt"));
        terminal.send("/clear\r");
        terminal.wait("an empty conversation", |screen| !screen.contains("is defined at"));
    }
    terminal.send("/quit\r");
    let written = terminal.left();
    assert!(count(&written, &handed_on("0;0")) >= 1);
    let bare = String::from_utf8_lossy(&written).replace("\x1b\x1b]9;4;", "");
    assert!(!bare.contains("\x1b]9;4;"), "tmux itself is told nothing");
}
