//! Reports that the user looks at, in sessions that go on: what was withheld stays so.

use std::io::Write as _;
use std::process::Stdio;

use super::model::{CHILDREN, done};
use super::{Bench, out, until};

/// The children have this allowed, so that the only questions are those about reports.
const ALLOWED: [&str; 2] = ["--allowedTools", "Bash(touch asked)"];

fn asking() -> Bench {
    let bench = Bench::new();
    let config = bench.home.path().join(".config/belvedere/config.toml");
    let before = std::fs::read_to_string(&config).unwrap();
    std::fs::write(&config, format!("reports = \"ask\"\n{before}")).unwrap();
    bench
}

/// Goes on, has the main agent ask for a child's report, and returns what it reads.
fn looked_at(bench: &Bench, child: &str) -> String {
    out(bench.command(&["-c", "-p", &format!("look at {child}")]).args(ALLOWED).output().as_ref().unwrap());
    bench.model.requests().last().unwrap().clone()
}

fn assert_withheld(read: &str, words: &str) {
    assert!(read.contains(words), "{read}");
    for number in 0..CHILDREN {
        assert!(!read.contains(&done(&number.to_string())), "child {number}: {read}");
    }
}

#[test]
fn what_was_withheld_stays_so() {
    let bench = asking();
    // What was denied makes its end a failure.
    bench.command(&["-p", "send them out"]).args(ALLOWED).output().unwrap();
    let words = "This report is withheld: nobody is there to look at it.";
    for child in ["general-purpose-3", "general-purpose-5"] {
        let read = looked_at(&bench, child);
        assert!(read.contains("look-"), "it was asked for: {read}");
        assert_withheld(read.rsplit("look-").next().unwrap(), words);
        assert_withheld(&read, words);
    }
}

#[test]
fn what_nobody_has_answered_is_withheld() {
    let bench = asking();
    let mut command = bench.command(&["--plain"]);
    command.args(ALLOWED).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut program = command.spawn().unwrap();
    program.stdin.as_mut().unwrap().write_all(b"send them out\n").unwrap();
    until("a report is asked about", || {
        bench.sessions().iter().any(|session| {
            std::fs::read_to_string(session.join("main.jsonl")).is_ok_and(|record| record.contains("report-of-"))
        })
    });
    program.kill().unwrap();
    program.wait().unwrap();
    out(bench.command(&["-c", "-p", "say pear"]).args(ALLOWED).output().as_ref().unwrap());
    let read = bench.model.requests().into_iter().rfind(|request| request.contains("say pear")).unwrap();
    assert_withheld(&read, "[This report is withheld: nobody has answered yet.]");
}
