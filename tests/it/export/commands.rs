//! `belvedere export` and `/export`, with the real binary.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

use crate::pty::terminal::Terminal;

/// A home, and in it a project.
struct Bench {
    home: TempDir,
}

impl Bench {
    fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        fs::create_dir_all(home.path().join("shop/.git")).unwrap();
        fs::write(home.path().join("shop/lib.rs"), "pub fn receipt() {}\n").unwrap();
        Self { home }
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_belvedere"));
        command
            .args(args)
            .current_dir(self.home.path().join("shop"))
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", self.home.path())
            .stdin(Stdio::null());
        command
    }

    fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    fn out(&self, args: &[&str]) -> String {
        let output = self.run(args);
        let err = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{args:?}: {err}");
        String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
    }

    fn err(&self, args: &[&str]) -> String {
        let output = self.run(args);
        assert_eq!(output.status.code(), Some(1), "{args:?}");
        String::from_utf8(output.stderr).unwrap()
    }

    /// Returns the names of the project's sessions, oldest first.
    fn sessions(&self) -> Vec<String> {
        let projects = fs::read_dir(self.home.path().join(".local/state/belvedere/sessions")).unwrap();
        let folders = projects.flat_map(|project| fs::read_dir(project.unwrap().path()).unwrap());
        let mut names: Vec<String> = folders.map(|one| one.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

#[test]
fn a_session_is_exported_by_its_name_its_beginning_or_its_short_id() {
    let bench = Bench::new();
    assert!(bench.err(&["export"]).contains("no session of this project yet"));
    bench.out(&["-p", "where is receipt defined?", "--model", "offline"]);
    let name = bench.sessions().remove(0);
    let short = name.rsplit('-').next().unwrap();
    let path = PathBuf::from(bench.out(&["export"]));
    assert_eq!(path.parent().unwrap(), bench.home.path().join(".local/state/belvedere/exports"));
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(fs::read_to_string(&path).unwrap().contains("> where is receipt defined?"));
    for (id, place) in [(name.as_str(), "a.json"), (short, "b.html"), (&name[..10], "c.md")] {
        let path = bench.out(&["export", id, "--output", place]);
        assert_eq!(PathBuf::from(&path), bench.home.path().join("shop").join(place));
        let text = fs::read_to_string(path).unwrap();
        assert!(text.starts_with(["{\"v\":1", "<!DOCTYPE", "# Session"][usize::from(place.as_bytes()[0] - b'a')]));
    }
    assert!(bench.err(&["export", "--output", "a.json"]).contains("a.json cannot be made"));
    assert!(bench.err(&["export", "nothing-like-it"]).contains("no session"));
    bench.out(&["-p", "hello", "--model", "offline"]);
    let both = bench.err(&["export", &name[..4]]);
    assert!(both.contains(&bench.sessions()[0]) && both.contains(&bench.sessions()[1]), "{both}");
}

#[test]
fn a_session_of_lines_exports_itself() {
    let bench = Bench::new();
    let mut child =
        bench.command(&["--plain", "--model", "offline"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    writeln!(input, "where is receipt defined?").unwrap();
    assert!(lines.any(|line| line.contains("is defined at")), "it was answered");
    writeln!(input, "/export html talk.html").unwrap();
    drop(input);
    let place = bench.home.path().join("shop/talk.html");
    assert!(lines.any(|line| line.contains(&format!("exported to {}", place.display()))), "it waits for the export");
    assert!(child.wait().unwrap().success());
    assert!(fs::read_to_string(place).unwrap().contains("<p>where is receipt defined?</p>"));
}

#[test]
fn a_replay_shows_a_session_and_starts_none() {
    let bench = Bench::new();
    bench.out(&["-p", "where is receipt defined?", "--model", "offline"]);
    let before = bench.sessions();
    let (home, shop) = (bench.home.path(), bench.home.path().join("shop"));
    let env = [("HOME", home.to_str().unwrap())];
    let terminal = Terminal::start(120, 30, &["replay", "--speed", "end"], &shop, &env);
    terminal.shows("replay paused to the end");
    terminal.shows("is defined at");
    terminal.send("xwhello\r");
    terminal.send("q");
    assert_eq!(terminal.ended().exit_code(), 0);
    assert_eq!(bench.sessions(), before);
    assert!(bench.err(&["replay"]).contains("a replay needs a terminal"));
}
