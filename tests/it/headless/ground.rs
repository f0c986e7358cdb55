//! What is free where there is no project.

use super::{Bench, text};

#[test]
fn in_a_home_nothing_is_read_unasked_and_it_is_said_why() {
    let bench = Bench::new();
    bench.file(".ssh/id_rsa", "verify_password lies here");
    let question = "where is verify_password defined?";
    let mut command = bench.command(&["-p", question, "--model", "offline"]);
    let output = command.env("HOME", bench.project.path()).output().unwrap();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(err.contains("No project here") && err.contains("everything asks"), "{err}");
    assert!(!out.contains("src/lib.rs:4") && !out.contains("id_rsa"), "{out}");
    let output = bench.ask(question, &[]);
    assert!(text(&output.stdout).contains("src/lib.rs:4") && !text(&output.stderr).contains("No project here"));
}
