//! The terminal is given back in every way out.

use nix::sys::signal::Signal;

use super::{Home, SIZES, Terminal};

const COMPOSER: &str = "Ask, or describe a task";

#[test]
fn ctrl_c_twice_quits() {
    let home = Home::new();
    for size in SIZES {
        let terminal = home.start(size, &["--model", "offline"]);
        terminal.shows("offline");
        terminal.send("\x03");
        terminal.shows("again");
        terminal.send("\x03");
        assert_eq!(terminal.ended().exit_code(), 0);
    }
}

#[test]
fn the_quit_command_quits() {
    let home = Home::new();
    let terminal = home.start((80, 24), &["--model", "offline"]);
    terminal.shows(COMPOSER);
    terminal.send("/quit\r");
    assert_eq!(terminal.ended().exit_code(), 0);
}

#[test]
fn a_signal_gives_the_terminal_back_and_is_the_status() {
    let home = Home::new();
    let signals = [
        (Signal::SIGTERM, 143),
        (Signal::SIGHUP, 143),
        (Signal::SIGINT, 130),
        (Signal::SIGQUIT, 131),
        (Signal::SIGABRT, 134),
        (Signal::SIGUSR1, 138),
    ];
    let running: Vec<_> = signals.map(|(signal, status)| (home.start((100, 30), &["demo"]), signal, status)).into();
    for (terminal, signal, status) in running {
        terminal.shows("Find auth files");
        terminal.signal(signal);
        assert_eq!(terminal.ended().exit_code(), status, "{signal}");
    }
}

/// The end of a session's leader closes the terminal of all that run in it, which is told by a signal and by an error.
#[cfg(target_os = "linux")]
#[test]
fn a_terminal_that_closes_ends_the_session_in_order() {
    let program = env!("CARGO_BIN_EXE_belvedere");
    for _ in 0..4 {
        let home = Home::new();
        let env = [("HOME", home.path().to_str().unwrap())];
        let shell = ["--norc", "-c", &format!("'{program}' demo; true")];
        let terminal = Terminal::start_program("bash", (100, 30), &shell, home.path(), &env);
        terminal.shows("Find auth files");
        let children = format!("/proc/{0}/task/{0}/children", terminal.process());
        let program: i32 = std::fs::read_to_string(children).unwrap().trim().parse().unwrap();
        terminal.signal(Signal::SIGKILL);
        let deadline = std::time::Instant::now() + std::time::Duration::from_mins(1);
        while std::fs::exists(format!("/proc/{program}")).unwrap() {
            assert!(std::time::Instant::now() < deadline, "it goes on without a terminal");
            std::thread::yield_now();
        }
        let mut ended = 0;
        for file in crate::session::files(&home.path().join(".local/state/belvedere/sessions")) {
            // The index holds the ends of all.
            let is_record = file.extension().is_some_and(|extension| extension == "jsonl");
            if is_record && !file.ends_with("index.jsonl") {
                let text = std::fs::read_to_string(&file).unwrap();
                assert_eq!(text.matches(r#""event":"ended""#).count(), 1, "{}: {text}", file.display());
                ended += 1;
            }
        }
        assert!(ended > 1, "{ended} agents were kept");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_stop_from_outside_gives_the_terminal_to_the_shell_and_takes_it_again() {
    let home = Home::new();
    let program = env!("CARGO_BIN_EXE_belvedere");
    // With job control, so that the shell goes on when the program is stopped.
    let script = format!(
        "set -m; '{program}' --model offline; \
         printf 'stopped '; stty -a | grep -o ' -\\?icanon'; read line; fg >/dev/null; echo over $?"
    );
    let env = [("HOME", home.path().to_str().unwrap())];
    let terminal = Terminal::start_program("bash", (80, 24), &["--norc", "-c", &script], home.path(), &env);
    terminal.shows(COMPOSER);
    terminal.send("draft");
    terminal.shows("draft");
    let children = format!("/proc/{0}/task/{0}/children", terminal.process());
    let program = std::fs::read_to_string(children).unwrap().trim().parse().unwrap();
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(program), Signal::SIGTSTP).unwrap();
    let screen = terminal.shows("stopped  icanon");
    assert!(!screen.contains(COMPOSER), "{screen}");
    terminal.send("\r");
    // The draft is there again, and keys are the program's.
    terminal.shows("draft");
    terminal.send(" again");
    terminal.shows("draft again");
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(program), Signal::SIGTERM).unwrap();
    terminal.shows("over 143");
    terminal.ended();
}

#[test]
fn a_signal_while_the_editor_is_open_is_not_lost() {
    let home = Home::new();
    let editor = home.path().join("editor");
    std::fs::write(&editor, "#!/bin/sh\nprintf 'editing\\n'; read line\n").unwrap();
    std::fs::set_permissions(&editor, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let env = [("HOME", home.path().to_str().unwrap()), ("EDITOR", editor.to_str().unwrap())];
    let terminal = Terminal::start(80, 24, &["--model", "offline"], home.path(), &env);
    terminal.shows(COMPOSER);
    terminal.send("\x07");
    terminal.shows("editing");
    terminal.signal(Signal::SIGTERM);
    terminal.send("\r");
    assert_eq!(terminal.ended().exit_code(), 143);
}

#[test]
fn no_terminal_is_a_clear_error() {
    let home = Home::new();
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_belvedere"))
        .env_clear()
        .env("HOME", home.path())
        .stdin(std::process::Stdio::null())
        .output()
        .unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{err}");
    assert!(output.stdout.is_empty(), "nothing but the error is written");
    assert!(err.contains("-p") && !err.contains("panicked"), "{err}");
}

#[test]
fn a_terminal_that_goes_away_ends_the_program() {
    use portable_pty::{CommandBuilder, PtySize, native_pty_system};
    use std::io::Read as _;

    let home = Home::new();
    let pair = native_pty_system().openpty(PtySize { rows: 24, cols: 80, pixel_width: 0, pixel_height: 0 }).unwrap();
    // A shell that ignores the hang-up hands that on to the program.
    let mut command = CommandBuilder::new("sh");
    command.args(["-c", &format!("trap '' HUP; exec '{}' --model offline", env!("CARGO_BIN_EXE_belvedere"))]);
    command.env("HOME", home.path());
    command.cwd(home.path());
    let mut child = pair.slave.spawn_command(command).unwrap();
    drop(pair.slave);
    let mut reader = pair.master.try_clone_reader().unwrap();
    let (mut seen, mut buffer) = (Vec::new(), [0; 4096]);
    while !String::from_utf8_lossy(&seen).contains("Ask, or") {
        let count = reader.read(&mut buffer).unwrap();
        seen.extend_from_slice(&buffer[..count]);
    }
    drop(reader);
    drop(pair.master);
    // Whether the signal or the terminal is noticed first decides on the status; that it ends is what counts.
    child.wait().unwrap();
}
