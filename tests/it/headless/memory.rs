//! Memory files, as the real binary finds them.

use super::{Bench, text};

#[test]
fn memory_files_alone_ask_nothing_and_context_lists_them() {
    let bench = Bench::new();
    bench.file("AGENTS.md", "Use tabs.\n");
    bench.at_home(".claude/CLAUDE.md", "Answer briefly.\n");
    bench.at_home(".config/belvedere/AGENTS.md", "Mine.\n");
    assert_eq!(bench.ask("hello", &[]).status.code(), Some(0));
    let mut session = super::plain::Session::offline(&bench);
    session.line("where is verify_password defined?");
    session.until("src/lib.rs:4");
    session.line("/context");
    session.until("  memory ");
    session.line("/memory");
    session.until("AGENTS.md: 9 characters, the project's, checked in");
    session.line("/quit");
    let (code, out) = session.end();
    assert_eq!(code, 0, "{out}");
    for path in ["AGENTS.md", ".claude/CLAUDE.md", "belvedere/AGENTS.md"] {
        let is_listed = |line: &str| line.contains("  memory ") && line.contains(&format!("{path}: "));
        assert!(out.lines().any(is_listed), "no {path} in {out}");
    }
    assert!(!out.contains("trust"), "{out}");
}

#[test]
fn imports_from_outside_wait_for_trust_and_do_not_stop_a_run_without_a_screen() {
    let bench = Bench::new();
    bench.file("CLAUDE.md", "Use tabs. @~/notes.md @~/.ssh/id_rsa\n");
    bench.at_home("notes.md", "Mine.\n");
    bench.at_home(".ssh/id_rsa", "KEY\n");
    let output = bench.ask("hello", &[]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let said = text(&output.stdout) + &text(&output.stderr);
    assert!(said.contains("notes.md`: it lies outside of the project"), "{said}");
    assert!(said.contains("id_rsa`: it may hold keys. Not read."), "{said}");
    let mut session = super::plain::Session::offline(&bench);
    session.until("This folder brings 1 import from outside, not used until you trust it: /trust");
    session.line("hello");
    session.until("it lies outside");
    session.line("/trust");
    session.line("/trust yes");
    session.line("where is verify_password defined?");
    session.until("Memory changed: ");
    // The offline model answers the question, not the message about memory.
    session.until("src/lib.rs:4");
    session.line("/quit");
    let (code, out) = session.end();
    assert_eq!(code, 0, "{out}");
    assert!(out.contains("notes.md."), "{out}");
    let output = bench.ask("hello", &[]);
    assert!(!text(&output.stderr).contains("notes.md"), "{output:?}");
}

#[test]
fn a_folder_that_brings_what_acts_is_not_read_before_it_is_trusted() {
    let bench = Bench::new();
    bench.file("CLAUDE.md", "Use tabs.\n");
    bench.file(".claude/agents/mine.md", "---\nname: mine\ndescription: d\n---\nYou work.\n");
    let mut session = super::plain::Session::offline(&bench);
    session.until("not used until you trust it");
    session.line("where is verify_password defined?");
    session.until("src/lib.rs:4");
    session.line("/context");
    session.line("/trust");
    session.line("/trust yes");
    session.line("hello");
    session.until("Memory changed: CLAUDE.md.");
    session.line("/quit");
    let (code, out) = session.end();
    assert_eq!(code, 0, "{out}");
    let before = out.split("Memory changed").next().unwrap();
    assert!(before.contains("system prompt") && !before.contains("  memory "), "{out}");
}

#[test]
fn init_writes_what_is_found_without_a_language_model_and_asks_first() {
    let bench = Bench::new();
    bench.file("README.md", "# Shop\n\nA shop that sells tea.\n");
    let mut session = super::plain::Session::offline(&bench);
    session.line("/init");
    session.until(" asks: Write AGENTS.md");
    session.line("y");
    session.until("Wrote `AGENTS.md`");
    session.line("/init");
    session.until("`AGENTS.md` is there already, and stays as it is");
    session.line("/quit");
    let (code, out) = session.end();
    assert_eq!(code, 0, "{out}");
    let written = std::fs::read_to_string(bench.project.path().join("AGENTS.md")).unwrap();
    for words in ["## What it is", "README.md:3", "## Tests", "cargo test"] {
        assert!(written.contains(words), "no {words:?} in {written}");
    }
    assert!(!bench.project.path().join("CLAUDE.md").exists());
}

#[test]
fn init_writes_nothing_where_nobody_says_yes() {
    let bench = Bench::new();
    let mut session = super::plain::Session::offline(&bench);
    session.line("/init");
    session.until(" asks: Write AGENTS.md");
    session.line("n");
    session.until("`AGENTS.md` was not written.");
    session.line("/quit");
    assert_eq!(session.end().0, 0);
    assert!(!bench.project.path().join("AGENTS.md").exists());
}
