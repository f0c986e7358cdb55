//! A real terminal is given back in every way out. The child is this test binary, in a pty of its own.
#![cfg(unix)]

use std::io::Read as _;

use base64::Engine as _;
use belvedere::app::{AgentStatus, MouseCapture, ProgramState, ProgramStatus};
use belvedere::tui::terminal::program_status::{StatusReporter, shows_progress};
use belvedere::tui::terminal::{Marks, Terminal, install_panic_hook, restore};
use portable_pty::{CommandBuilder, PtySize, native_pty_system};
use ratatui::buffer::Buffer;
use ratatui::style::Style;

/// What the child does after its first frame.
const WAY_OUT: &str = "BELVEDERE_TEST_WAY_OUT";

/// Runs the child below in a pty, checks that the line discipline is as it was, and returns what it wrote.
fn run(way_out: &str) -> String {
    let pty = native_pty_system().openpty(PtySize { rows: 10, cols: 40, ..PtySize::default() }).unwrap();
    let before = pty.master.get_termios().unwrap();
    let mut command = CommandBuilder::new(std::env::current_exe().unwrap());
    command.args(["--exact", "text::terminal::child", "--ignored", "--nocapture", "--test-threads", "1"]);
    command.env(WAY_OUT, way_out);
    let mut child = pty.slave.spawn_command(command).unwrap();
    let mut reader = pty.master.try_clone_reader().unwrap();
    child.wait().unwrap();
    let after = pty.master.get_termios().unwrap();
    assert_eq!((before.local_flags, before.input_flags), (after.local_flags, after.input_flags), "{way_out}");
    drop(pty.slave);
    drop(pty.master);
    let mut written = Vec::new();
    // A pty whose other side is closed ends with an error on Linux.
    let _ = reader.read_to_end(&mut written);
    String::from_utf8_lossy(&written).into_owned()
}

/// Draws some words.
fn words(frame: &mut Buffer, words: &str) -> Marks {
    frame.set_string(0, 0, words, Style::new());
    Marks::default()
}

#[test]
#[ignore = "the child of the other tests, which run it in a pty"]
fn child() {
    let Some(way_out) = std::env::var_os(WAY_OUT) else { return };
    install_panic_hook(Some("/the/log".into()));
    let mut terminal = Terminal::enter(MouseCapture::On, b"", StatusReporter::new(false)).unwrap();
    terminal.draw(|frame| words(frame, "first-frame")).unwrap();
    match way_out.to_str() {
        Some("panic") => panic!("boom"),
        Some("other thread") => {
            std::thread::spawn(|| panic!("elsewhere")).join().unwrap_err();
            terminal.draw(|frame| words(frame, "unharmed")).unwrap();
        }
        Some("signal") => std::thread::spawn(restore).join().unwrap(),
        Some("suspend") => {
            terminal.suspend();
            terminal.resume().unwrap();
            terminal.draw(|frame| words(frame, "first-frame")).unwrap();
        }
        _ => {}
    }
    drop(terminal);
    restore();
}

const ENTER: &str = "\x1b[?1049h";
const LEAVE: &str = "\x1b[?1049l";

/// Checks the order of what the child wrote, and that each mode was left as often as it was entered.
fn assert_given_back(written: &str) {
    let (enter, frame, leave) = (written.find(ENTER), written.find("first-frame"), written.rfind(LEAVE));
    assert!(enter.is_some() && enter < frame && frame < leave, "{written:?}");
    for (on, off) in [
        (ENTER, LEAVE),
        ("\x1b[?2004h", "\x1b[?2004l"),
        ("\x1b[?1004h", "\x1b[?1004l"),
        ("\x1b[?1036h", "\x1b[?1036r"),
        ("\x1b[?1039h", "\x1b[?1039r"),
        ("\x1b[?1000h", "\x1b[?1000l"),
        ("\x1b[>1u", "\x1b[<1u"),
    ] {
        assert_eq!(written.matches(on).count(), written.matches(off).count(), "{on:?} in {written:?}");
        assert!(written.contains(on), "{on:?} in {written:?}");
    }
    assert!(!written.contains("\x1b[?1003h"), "moves of the mouse are not reported: {written:?}");
    assert!(written.rfind("\x1b[?25l") < written.rfind("\x1b[?25h"), "the cursor is shown: {written:?}");
    assert!(!written.contains("\x1b[6n") && !written.contains("\x1b[c"), "nothing is asked: {written:?}");
}

#[test]
fn every_way_out_gives_the_terminal_back() {
    for way_out in ["drop", "panic", "signal", "suspend", "other thread"] {
        assert_given_back(&run(way_out));
    }
}

#[test]
fn a_panic_is_told_on_the_screen_that_was_given_back() {
    let written = run("panic");
    let after = written.split(LEAVE).last().unwrap();
    assert!(after.contains("boom") && after.contains("/the/log"), "{written:?}");
}

#[test]
fn a_panic_elsewhere_leaves_the_screen_alone() {
    let written = run("other thread");
    assert!(written.find("unharmed").is_some_and(|at| at < written.find(LEAVE).unwrap()), "{written:?}");
    assert!(!written.contains("elsewhere"));
}

#[test]
fn a_frame_after_a_suspend_is_complete() {
    let written = run("suspend");
    assert_eq!(written.matches("first-frame").count(), 2, "{written:?}");
}

#[test]
fn the_state_of_each_agent_is_told_in_records_that_change_alone() {
    let status = |main, agents: &[(&[u32], &str, ProgramState)]| ProgramStatus {
        title: "belvedere".to_owned(),
        main,
        agents: agents
            .iter()
            .map(|(path, name, state)| AgentStatus {
                path: path.to_vec(),
                name: (*name).to_owned(),
                task: "find\x1b\\ it".to_owned(),
                state: *state,
            })
            .collect(),
    };
    let told =
        |reporter: &mut StatusReporter, status: &ProgramStatus| String::from_utf8(reporter.bytes(status)).unwrap();
    let mut reporter = StatusReporter::new(true);
    let (working, asks) = (ProgramState::Working, ProgramState::NeedsPermission);
    // A terminal that has not answered gets no records.
    assert_eq!(told(&mut reporter, &status(working, &[])), "\x1b]0;belvedere\x07\x1b]9;4;3;0\x1b\\");
    reporter.answered().store(true, std::sync::atomic::Ordering::Relaxed);
    let bytes = told(&mut reporter, &status(working, &[(&[1], "a", working), (&[1, 2], "b", asks)]));
    let title = base64::engine::general_purpose::STANDARD.encode("b: find it");
    assert_eq!(
        bytes,
        format!(
            "\x1b]9;4;4;100\x1b\\\x1b]7501;state=working:app=belvedere\x1b\\\
             \x1b]7501;state=working:title={}:id=1\x1b\\\
             \x1b]7501;state=blocked:kind=permission:title={title}:id=1/2\x1b\\",
            base64::engine::general_purpose::STANDARD.encode("a: find it")
        )
    );
    assert_eq!(told(&mut reporter, &status(working, &[(&[1], "a", working), (&[1, 2], "b", asks)])), "");
    // What is below one that is gone is written again.
    let bytes = told(&mut reporter, &status(ProgramState::Done, &[(&[1, 2], "b", ProgramState::Failed)]));
    assert!(bytes.starts_with("\x1b]9;4;0;0\x1b\\\x1b]7501;state=clear:id=1\x1b\\"), "{bytes:?}");
    assert!(bytes.contains("state=done:app=belvedere") && bytes.contains("state=error:title="), "{bytes:?}");
    assert_eq!(reporter.take_back(), b"\x1b]7501;state=clear\x1b\\");
    assert_eq!(StatusReporter::new(true).take_back(), b"");
}

#[test]
fn progress_is_shown_only_where_it_is_no_notification() {
    let shows = |variables: &'static [(&str, &str)]| {
        shows_progress(|name| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned()))
    };
    assert!(shows(&[("TERM_PROGRAM", "ghostty"), ("TERM_PROGRAM_VERSION", "1.3.1")]));
    assert!(shows(&[("TERM_PROGRAM", "iTerm.app"), ("TERM_PROGRAM_VERSION", "3.6.6")]));
    assert!(shows(&[("WT_SESSION", "x")]));
    assert!(!shows(&[("TERM_PROGRAM", "iTerm.app"), ("TERM_PROGRAM_VERSION", "3.5.0")]));
    assert!(!shows(&[("TERM_PROGRAM", "ghostty"), ("TERM_PROGRAM_VERSION", "1.3.1"), ("TMUX", "x")]));
    assert!(!shows(&[("TERM", "xterm-256color")]));
}

#[test]
fn a_notification_is_one_sequence_of_the_terminal() {
    use belvedere::tui::notifier::Notifier;
    let in_terminal = |term: &'static str| move |name: &str| (name == "TERM").then(|| term.to_owned());
    for (setting, term, bytes) in [
        ("bell", "xterm-256color", "\x07"),
        ("osc9", "xterm-256color", "\x1b]9;a ␛ b; c\x07\x07"),
        ("osc777", "xterm-256color", "\x1b]777;notify;Belvedere;a ␛ b, c\x07\x07"),
        ("off", "xterm-256color", ""),
        ("auto", "xterm-256color", "\x1b]9;a ␛ b; c\x07\x07"),
        ("auto", "foot", "\x1b]777;notify;Belvedere;a ␛ b, c\x07\x07"),
        ("auto", "tmux-256color", "\x1bPtmux;\x1b\x1b]9;a ␛ b; c\x07\x1b\\\x07"),
        ("osc777", "tmux", "\x1bPtmux;\x1b\x1b]777;notify;Belvedere;a ␛ b, c\x07\x1b\\\x07"),
        ("bell", "tmux", "\x07"),
        ("auto", "screen", "\x07"),
        ("auto", "linux", "\x07"),
    ] {
        let told = Notifier::choose(setting, in_terminal(term)).bytes("a \x1b\x07 b; c");
        assert_eq!(String::from_utf8(told).unwrap(), bytes, "{setting} {term}");
    }
}
