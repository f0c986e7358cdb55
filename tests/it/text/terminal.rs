//! A real terminal is given back in every way out. The child is this test binary, in a pty of its own.
#![cfg(unix)]

use std::io::Read as _;

use belvedere::app::MouseCapture;
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
    let mut terminal = Terminal::enter(MouseCapture::On, b"").unwrap();
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
        ("auto", "tmux-256color", "\x07"),
        ("auto", "linux", "\x07"),
    ] {
        let told = Notifier::choose(setting, in_terminal(term)).bytes("a \x1b\x07 b; c");
        assert_eq!(String::from_utf8(told).unwrap(), bytes, "{setting} {term}");
    }
}
