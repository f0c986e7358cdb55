//! Sessions that go on: after an end, after a kill, in a copy. The real binary before a scripted model.

mod kills;
mod model;
mod reports;
mod retention;
mod rewind;
mod scarce;

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use model::Model;
use tempfile::TempDir;

/// A project, a home for the program, and a model that answers it.
struct Bench {
    project: TempDir,
    home: TempDir,
    model: Model,
}

impl Bench {
    fn new() -> Self {
        let bench =
            Self { project: tempfile::tempdir().unwrap(), home: tempfile::tempdir().unwrap(), model: Model::start() };
        std::fs::write(bench.project.path().join("Cargo.toml"), "[package]\nname = \"shop\"\n").unwrap();
        crate::support::git(bench.project.path(), ["init", "-q", "."]);
        crate::support::git(bench.project.path(), ["add", "."]);
        crate::support::git(
            bench.project.path(),
            ["-c", "user.name=me", "-c", "user.email=me@example.org", "commit", "-qm", "first"],
        );
        let config = bench.home.path().join(".config/belvedere");
        std::fs::create_dir_all(&config).unwrap();
        std::fs::write(config.join("config.toml"), "[limits]\nmax_depth = 2\n").unwrap();
        bench
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_belvedere"));
        command
            .args(["--model", "openai/tiny"])
            .args(args)
            .current_dir(self.project.path())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", self.home.path())
            // What these are about is asked only where there is no sandbox.
            .env("BELVEDERE_SANDBOX_ENABLED", "false")
            .env("OPENAI_BASE_URL", self.model.base())
            .stdin(Stdio::null());
        command
    }

    fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    /// Returns the folders of the sessions, in order of their beginning.
    fn sessions(&self) -> Vec<PathBuf> {
        let below = |dir: &Path| -> Vec<PathBuf> {
            let entries = std::fs::read_dir(dir).into_iter().flatten();
            let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
            paths.sort();
            paths
        };
        let all = below(&self.home.path().join(".local/state/belvedere/sessions"));
        all.iter().flat_map(|project| below(project)).collect()
    }
}

fn until(what: &str, is_so: impl Fn() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < Duration::from_mins(1), "{what}: not so");
        std::thread::yield_now();
    }
}

fn out(output: &Output) -> String {
    assert!(output.status.success(), "{}", err(output));
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn err(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[test]
fn the_model_reads_what_was_said_before() {
    let bench = Bench::new();
    out(&bench.run(&["-p", "say apple"]));
    out(&bench.run(&["-c", "-p", "say pear"]));
    let said = bench.model.requests().last().unwrap().clone();
    assert!(said.contains("say apple") && said.contains("You said: say apple") && said.contains("say pear"), "{said}");
    assert_eq!(bench.sessions().len(), 1, "it is one session");

    let name = bench.sessions()[0].file_name().unwrap().to_str().unwrap().to_owned();
    let short = name.rsplit('-').next().unwrap();
    out(&bench.run(&["--resume", short, "--fork-session", "-p", "say plum"]));
    let said = bench.model.requests().last().unwrap().clone();
    assert!(said.contains("say apple") && said.contains("say pear") && said.contains("say plum"), "{said}");
    assert_eq!(bench.sessions().len(), 2, "the copy is a session of its own");
    let is_copy = |dir: &PathBuf| std::fs::read_to_string(dir.join("meta.json")).unwrap().contains("forked_from");
    let (copies, originals): (Vec<PathBuf>, Vec<PathBuf>) = bench.sessions().into_iter().partition(is_copy);
    let record = |dir: &Path| std::fs::read_to_string(dir.join("main.jsonl")).unwrap();
    let (original, copy) = (record(&originals[0]), record(&copies[0]));
    assert!(!original.contains("say plum") && copy.starts_with(&original) && copy.contains("say plum"));
    assert!(std::fs::read_to_string(copies[0].join("meta.json")).unwrap().contains(short));

    // The words of one are in both.
    let output = bench.run(&["--resume", "apple", "-p", "say fig"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(err(&output).contains("several sessions fit \"apple\"; name one:"), "{}", err(&output));
    out(&bench.run(&["--resume", "plum", "-p", "say fig"]));
    assert!(record(&copies[0]).contains("say fig"));
}

#[test]
fn the_prompt_stays_as_it_was_and_the_model_hears_what_has_changed() {
    let bench = Bench::new();
    let at = |branch: &str| crate::support::git(bench.project.path(), ["checkout", "-q", "-b", branch]);
    let system = |request: &str| {
        let request: serde_json::Value = serde_json::from_str(request).unwrap();
        request["messages"][0].to_string() + &request["tools"].to_string()
    };
    at("first");
    out(&bench.run(&["-p", "say apple"]));
    let first = bench.model.requests().last().unwrap().clone();
    assert!(system(&first).contains("Branch: `first`"), "{first}");
    at("second");
    out(&bench.run(&["-c", "-p", "say pear"]));
    let then = bench.model.requests().last().unwrap().clone();
    assert_eq!(system(&then), system(&first), "the prompt is the same to the byte");
    assert!(then.contains("What has changed") && then.contains("Branch: `second`."), "{then}");
    // What is said once goes on in the conversation; a copy begins with the same prompt.
    out(&bench.run(&["-c", "--fork-session", "-p", "say plum"]));
    let copy = bench.model.requests().last().unwrap().clone();
    assert_eq!(system(&copy), system(&first));
    // What the user changes counts.
    out(&bench.run(&["-c", "--append-system-prompt", "Be brief.", "-p", "say fig"]));
    let changed = bench.model.requests().last().unwrap().clone();
    assert!(system(&changed).contains("Be brief."), "{changed}");
}

#[test]
fn numbers_of_records_go_on() {
    let bench = Bench::new();
    out(&bench.run(&["-p", "say apple"]));
    out(&bench.run(&["-c", "-p", "say pear"]));
    let record = std::fs::read_to_string(bench.sessions()[0].join("main.jsonl")).unwrap();
    let numbers: Vec<u64> = record
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["seq"].as_u64().unwrap())
        .collect();
    assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>());
}

#[test]
fn what_cannot_go_on_is_said() {
    let bench = Bench::new();
    let output = bench.run(&["-c", "-p", "say apple"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(err(&output).contains("there is no earlier session in this project"), "{}", err(&output));
    let output = bench.run(&["--fork-session", "-p", "say apple"]);
    assert!(err(&output).contains("--fork-session needs --continue"), "{}", err(&output));
    let output = bench.run(&["--resume", "nothing", "-p", "say apple"]);
    assert!(err(&output).contains("no session is called \"nothing\""), "{}", err(&output));
}

#[test]
fn two_programs_do_not_share_a_session() {
    let bench = Bench::new();
    let mut first = bench.command(&["-p", "say wait"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    until("the model is asked", || !bench.model.requests().is_empty());
    until("the message is saved", || {
        bench
            .sessions()
            .iter()
            .any(|dir| std::fs::read_to_string(dir.join("index.jsonl")).is_ok_and(|index| index.contains("say wait")))
    });
    let output = bench.run(&["-c", "-p", "say apple"]);
    assert_eq!(output.status.code(), Some(2), "{}", err(&output));
    assert!(err(&output).contains("it is open in another program"), "{}", err(&output));
    assert!(err(&output).contains("--fork-session"), "{}", err(&output));
    bench.model.release();
    first.wait().unwrap();
    out(&bench.run(&["-c", "-p", "say apple"]));
}

#[test]
fn the_main_agent_works_as_the_same_agent_again() {
    let bench = Bench::new();
    let agents = bench.project.path().join(".claude/agents");
    std::fs::create_dir_all(&agents).unwrap();
    let file = agents.join("poet.md");
    std::fs::write(&file, "---\nname: poet\ndescription: Writes verses\n---\nYou answer in verses.\n").unwrap();
    out(&bench.run(&["--trust", "--agent", "poet", "-p", "say apple"]));
    let works_as_poet = || bench.model.requests().last().unwrap().contains("You answer in verses.");
    assert!(works_as_poet());
    out(&bench.run(&["--trust", "-c", "-p", "say pear"]));
    assert!(works_as_poet());
    out(&bench.run(&["--trust", "-c", "--fork-session", "-p", "say plum"]));
    out(&bench.run(&["--trust", "-c", "-p", "say fig"]));
    assert!(works_as_poet(), "in the copy as well");
    std::fs::remove_file(&file).unwrap();
    let output = bench.run(&["-c", "-p", "say quince"]);
    assert!(out(&output).contains("You said: say quince") && !works_as_poet());
    assert!(err(&output).contains("no agent `poet`"), "{}", err(&output));
}
