//! What would come back with a message, read from the record of sessions that went on and were copied.

use std::path::Path;
use std::process::Stdio;

use belvedere::services::plan_rewind;
use belvedere::session::{Secrets, Store};
use belvedere::tool::{FileCopies, Writers};

use super::{Bench, out};

fn write(bench: &Bench, flags: &[&str], text: &str) {
    let args = [&["--permission-mode", "bypassPermissions"], flags, &["-p", text]].concat();
    out(&bench.run(&args));
    assert_eq!(std::fs::read_to_string(bench.project.path().join("made.txt")).unwrap(), text);
}

/// Takes the files of the last messages back, and returns what is in the file then.
fn rewound(bench: &Bench, dir: &Path, messages: usize) -> Option<String> {
    let root = bench.project.path().canonicalize().unwrap();
    let state = bench.home.path().join(".local/state/belvedere");
    let store = Store::reopen(&state, dir, Secrets::default()).unwrap();
    let plan = plan_rewind(&store, &root, messages).unwrap();
    assert_eq!((plan.commands, plan.merges, plan.stays.len()), (0, 0, 0), "{plan:?}");
    for file in plan.files {
        assert_eq!(file.shown, "made.txt");
        file.rewind.put_back(&Writers::keeping(FileCopies::below(store.copies_dir()))).unwrap();
    }
    std::fs::read_to_string(root.join("made.txt")).ok()
}

#[test]
fn files_of_an_earlier_run_come_back() {
    let bench = Bench::new();
    write(&bench, &[], "write one");
    // Another run has to read it first: the model does not, so that it is somebody else's until it is gone.
    std::fs::remove_file(bench.project.path().join("made.txt")).unwrap();
    write(&bench, &["-c"], "write two");
    let session = bench.sessions().pop().unwrap();
    assert_eq!(rewound(&bench, &session, 3), Some("write two".to_owned()), "there is no such message");
    assert_eq!(rewound(&bench, &session, 1), None);
    write(&bench, &["-c", "--fork-session"], "write three");
    let copy = bench.sessions().into_iter().find(|dir| *dir != session).unwrap();
    assert_eq!(rewound(&bench, &copy, 1), None, "the copies went with the session");
}

#[test]
fn what_commands_did_comes_back_also_after_a_crash() {
    let bench = Bench::new();
    let root = bench.project.path().canonicalize().unwrap();
    let put = |name: &str, text: &str| {
        std::fs::create_dir_all(root.join(name).parent().unwrap()).unwrap();
        std::fs::write(root.join(name), text).unwrap();
    };
    put("src/main.rs", "fn main() {}\n");
    put("src/deep/lib.rs", "pub mod a;\n");
    put(".gitignore", "out/\n");
    put("out/kept", "by hand");
    let bypass = ["--permission-mode", "bypassPermissions"];
    let line = "run rm -rf src out; echo new > made.txt; git branch -q other; git checkout -q other";
    out(&bench.run(&[&bypass[..], &["-p", line]].concat()));
    assert!(!root.join("src").exists());
    // A command that the end of the program cuts off.
    let line = "run echo half > half.txt; echo changed > Cargo.toml; sleep 600";
    let mut program = bench.command(&[&bypass[..], &["-c", "-p", line]].concat());
    let mut program = program.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    super::until("the command runs", || {
        std::fs::read_to_string(root.join("Cargo.toml")).is_ok_and(|text| text == "changed\n")
    });
    program.kill().unwrap();
    program.wait().unwrap();
    out(&bench.run(&["-c", "-p", "say apple"]));
    let session = bench.sessions().pop().unwrap();
    let state = bench.home.path().join(".local/state/belvedere");
    let store = Store::reopen(&state, &session, Secrets::default()).unwrap();
    let plan = plan_rewind(&store, &root, 3).unwrap();
    assert_eq!((plan.commands, plan.stays.as_slice()), (0, &[][..]), "{plan:?}");
    let shown: Vec<&str> = plan.files.iter().map(|file| file.shown.as_str()).collect();
    assert_eq!(shown, ["Cargo.toml", "half.txt", "made.txt", "src/deep/lib.rs", "src/main.rs"]);
    assert_eq!(plan.notes.len(), 3, "{:?}", plan.notes);
    assert_eq!(plan.notes[0], "Ignored files are not restored; changed or deleted: out");
    assert!(plan.notes[1].starts_with("git: HEAD was on ma"), "{:?}", plan.notes);
    assert_eq!(plan.notes[2], "git: branch other is new: git branch -D other");
    drop(store);
    let mut command = bench.command(&["--plain", "-c"]);
    let mut program = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    std::io::Write::write_all(&mut program.stdin.take().unwrap(), b"/rewind 3\n/rewind 3 both\n").unwrap();
    let said = out(&program.wait_with_output().unwrap());
    assert!(said.contains("rewound: 3 messages undone, 5 files restored"), "{said}");
    assert_eq!(std::fs::read_to_string(root.join("src/deep/lib.rs")).unwrap(), "pub mod a;\n");
    assert!(!root.join("made.txt").exists() && !root.join("half.txt").exists());
    assert!(std::fs::read_to_string(root.join("Cargo.toml")).unwrap().contains("shop"));
}

#[test]
fn a_command_that_was_not_allowed_has_done_nothing() {
    let bench = Bench::new();
    bench.run(&["-p", "run git branch -D keep; echo new > made.txt"]);
    let session = bench.sessions().pop().unwrap();
    let state = bench.home.path().join(".local/state/belvedere");
    let store = Store::reopen(&state, &session, Secrets::default()).unwrap();
    let plan = plan_rewind(&store, &bench.project.path().canonicalize().unwrap(), 1).unwrap();
    assert_eq!((plan.commands, plan.files.len()), (0, 0), "{plan:?}");
    assert!(!bench.project.path().join("made.txt").exists());
}

#[test]
fn lines_show_what_would_come_back_and_take_it_back_at_the_second_asking() {
    use std::io::Write as _;
    let bench = Bench::new();
    write(&bench, &[], "write one");
    let mut command = bench.command(&["--plain", "-c", "--permission-mode", "bypassPermissions"]);
    let mut program = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let lines = "/rewind\n/rewind 1 both\n/rewind 1 all\n/rewind 1 both\n";
    program.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    let said = out(&program.wait_with_output().unwrap());
    for line in [
        "  1 write one",
        "1 message would be undone",
        "1 file would change:",
        "made.txt +0 −1",
        "  - write one",
        "to rewind: /rewind 1 both, conversation or files",
        "rewound: 1 message undone, 1 file restored",
    ] {
        assert!(said.lines().any(|found| found.ends_with(line)), "{line}\n{said}");
    }
    let of_program = said.lines().filter(|line| line.starts_with("made.txt"));
    assert_eq!(of_program.count(), 0, "no file is called as a line of the program is: {said}");
    assert!(!bench.project.path().join("made.txt").exists());
    out(&bench.run(&["-c", "-p", "say pear"]));
    assert!(!bench.model.requests().last().unwrap().contains("write one"), "the model knows nothing of it");
}
