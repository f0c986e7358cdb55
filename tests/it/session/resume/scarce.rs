//! What a session needs and does not get: room for its files, and open files.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::{Bench, err};
use crate::session::{keep_to_the_end, line, store, texts};

/// Set in the process that may open few files.
const INSIDE: &str = "BELVEDERE_TEST_FEW_FILES";
/// More than such a process may open.
const AGENTS: usize = 40;

#[test]
fn a_session_is_saved_whole_though_few_files_may_be_open() {
    if std::env::var_os(INSIDE).is_some() {
        let state = tempfile::tempdir().unwrap();
        let store = store(state.path());
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let lines: Vec<_> = (0..AGENTS).map(|agent| line(&format!("explore-{agent}"), "kept")).collect();
        let (errors, last) = runtime.block_on(keep_to_the_end(&store, &lines));
        assert!(errors.is_empty() && last.is_none(), "{errors:?} {last:?}");
        for agent in 0..AGENTS {
            assert_eq!(texts(&store.path_of(&format!("explore-{agent}"))), ["kept"]);
        }
        return;
    }
    // A limit is the whole process's, so that this test runs once more in one of its own.
    let name = "session::resume::scarce::a_session_is_saved_whole_though_few_files_may_be_open";
    let output = Command::new("bash")
        .args(["-c", "ulimit -n 20; exec \"$0\" --exact \"$1\" --nocapture"])
        .arg(std::env::current_exe().unwrap())
        .arg(name)
        .env(INSIDE, "1")
        .output()
        .unwrap();
    let words = format!("{}{}", String::from_utf8_lossy(&output.stdout), err(&output));
    assert!(output.status.success() && words.contains("1 passed"), "{words}");
}

#[test]
fn files_that_may_not_grow_cost_records_and_nothing_else() {
    for kibibytes in [2, 6] {
        let bench = Bench::new();
        let limit = format!("ulimit -f {kibibytes}; exec \"$0\" \"$@\"");
        let allowed = ["--allowedTools", "Bash(touch asked)"];
        let mut program = bench.command(&["-p", "send them out"]);
        program.args(allowed);
        let mut limited = Command::new("bash");
        limited
            .args(["-c", &limit])
            .arg(program.get_program())
            .args(program.get_args())
            .current_dir(bench.project.path());
        limited.env_clear().envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let output = limited.output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let words = err(&output);
        assert!(output.status.success() && said.contains("ALL DONE"), "{kibibytes}: {said} {words}");
        assert!(words.contains("cannot be written: File too large"), "{words}");
        assert!(words.contains("This session is not saved whole:"), "{words}");
        let session = bench.sessions().pop().unwrap();
        let kept = records(&session);
        assert!(!kept.is_empty());
        // What was written is read, and what follows stands behind it.
        super::out(bench.command(&["-c", "-p", "say pear"]).args(allowed).output().as_ref().unwrap());
        let again = records(&session);
        assert!(kept.iter().all(|record| again.contains(record)) && again.len() > kept.len(), "{kibibytes}");
    }
}

#[test]
fn a_home_that_takes_no_file_costs_the_records_alone() {
    let bench = Bench::new();
    let output = bench.command(&["-p", "say apple"]).env("HOME", "/dev/null").output().unwrap();
    assert_eq!(super::out(&output).trim(), "You said: say apple");
    let words = err(&output);
    assert!(words.contains("cannot be created") && words.contains("Work continues"), "{words}");
    assert!(words.contains("This session is not saved whole:"), "{words}");
}

/// Returns the records of all files. Only the last line of what was written may be cut.
fn records(session: &Path) -> Vec<Value> {
    let mut found = Vec::new();
    for path in crate::session::files(session).iter().filter(|path| path.extension().is_some_and(|end| end == "jsonl"))
    {
        let text = String::from_utf8_lossy(&std::fs::read(path).unwrap()).into_owned();
        let lines: Vec<Option<Value>> = text.lines().map(|line| serde_json::from_str(line).ok()).collect();
        let broken = lines.iter().filter(|line| line.is_none()).count();
        assert!(broken <= 1, "{}: {text}", path.display());
        found.extend(lines.into_iter().flatten().map(|record| json!({"file": path, "record": record})));
    }
    found
}
