//! The real binary without a screen, as a shell runs it.

mod acp;
mod callbacks;
mod canaries;
mod certificates;
mod choosing;
mod claude_setup;
mod context;
mod effort;
mod external;
mod free;
mod given;
mod plain;

use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use belvedere::headless::{FIRST_BYTE_TIMEOUT, with_piped};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use tempfile::TempDir;

mod ground;
mod guards;
mod hook_types;
mod hooks;
mod keyring;
mod keys;
mod launchers;
mod mcp;
mod memory;
mod models;
mod own_servers;
mod plain_commands;
mod processes;
mod programs;
mod providers;
mod rate_limit;
mod ruling;
mod services;
mod setup_programs;
mod skills;
mod traps;
mod trust;
mod worktrees;

/// A project, and a home of its own for the program.
struct Bench {
    project: TempDir,
    home: TempDir,
}

impl Bench {
    fn new() -> Self {
        let bench = Self { project: tempfile::tempdir().unwrap(), home: tempfile::tempdir().unwrap() };
        bench.file("Cargo.toml", "[package]\nname = \"shop\"\n\n[dev-dependencies]\nproptest = \"1\"\n");
        bench.file(
            "src/lib.rs",
            "//! A shop.\n\n/// Checks a password.\npub fn verify_password() -> bool {\n    true\n}\n",
        );
        bench.file("tests/shop.rs", "#[test]\nfn opens() {}\n");
        bench
    }

    fn file(&self, path: &str, text: &str) {
        let path = self.project.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn at_home(&self, path: &str, text: &str) {
        let path = self.home.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_belvedere"));
        command
            .args(args)
            .current_dir(self.project.path())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", self.home.path())
            // What these are about is asked only where there is no sandbox.
            .env("BELVEDERE_SANDBOX_ENABLED", "false")
            .stdin(Stdio::null());
        command
    }

    fn ask(&self, prompt: &str, more: &[&str]) -> Output {
        self.command(&[&["-p", prompt, "--model", "offline"], more].concat()).output().unwrap()
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn an_answer_goes_to_standard_output_and_progress_to_standard_error() {
    let output = Bench::new().ask("Use a subtask to find what testing framework this project uses", &[]);
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{err}");
    assert!(out.contains("proptest") && out.contains("Cargo.toml:5"), "{out}");
    let spawned = err.lines().filter(|line| line.starts_with('[') && line.ends_with('…')).count();
    let done = err.lines().filter(|line| line.starts_with('[') && line.contains(" - done (")).count();
    assert_eq!((spawned, done), (1, 1), "{err}");
}

#[test]
fn json_is_one_object_and_stream_json_one_object_a_line() {
    let bench = Bench::new();
    let output = bench.ask("where is verify_password defined?", &["--output-format", "json"]);
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&result["type"], &result["is_error"]), (&"result".into(), &false.into()));
    assert!(result["result"].as_str().unwrap().contains("src/lib.rs:4"), "{result}");
    let output = bench.ask("where is verify_password defined?", &["--output-format", "events"]);
    let lines: Vec<Value> = text(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.last().unwrap()["type"], "result");
    for event in ["model_chosen", "user_message", "spawned", "tool_ended", "turn_ended", "ended"] {
        assert!(lines.iter().any(|line| line["event"] == event), "no {event}");
    }
}

#[test]
fn json_has_what_all_agents_used_and_what_is_left_of_the_budget() {
    let bench = Bench::new();
    let flags = ["--output-format", "json", "--budget-tokens", "2M"];
    let output = bench.ask("where is verify_password defined?", &flags);
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    let tree = &result["tree"];
    let used = tree["total_tokens"].as_u64().unwrap();
    assert!(tree["agents"].as_u64().unwrap() >= 2, "{tree}");
    assert!(used > result["usage"]["input_tokens"].as_u64().unwrap(), "{result}");
    assert_eq!(tree["budget"]["tokens_left"].as_u64(), Some(2_000_000 - used));
    assert_eq!((tree["cost_usd"].as_f64(), tree["unpriced_tokens"].as_u64()), (Some(0.0), Some(0)), "offline is free");
    let output = bench.ask("where is verify_password defined?", &["--output-format", "json", "--budget-tokens", "2k"]);
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((output.status.code(), &result["status"]), (Some(3), &"budget".into()), "{result}");
    assert!(result["reason"].as_str().unwrap().contains("--budget-tokens"), "{result}");
    let output = bench.ask("hello", &["--budget-tokens", "lots"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("200k or 1.5M"));
}

#[test]
fn what_is_piped_in_joins_the_prompt() {
    let bench = Bench::new();
    let mut child = bench
        .command(&["-p", "--model", "offline"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"where is verify_password defined?\n").unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(text(&output.stdout).contains("src/lib.rs:4"), "{output:?}");
}

#[test]
fn what_would_ask_is_refused_and_the_refusal_names_the_flag() {
    let bench = Bench::new();
    let made = bench.project.path().join("made.txt");
    let output = bench.ask("run `touch made.txt`", &["--output-format", "events"]);
    assert!(text(&output.stdout).contains("--allowedTools 'Bash(touch made.txt)'"), "{output:?}");
    assert!(!made.exists());
    bench.ask("run `touch made.txt`", &["--allowedTools", "Bash(touch:*),Write"]);
    assert!(made.exists());
}

#[test]
fn wrong_usage_and_failures_have_their_own_status() {
    let bench = Bench::new();
    let status = |args: &[&str]| {
        let output = bench.command(args).output().unwrap();
        let err = text(&output.stderr);
        assert!(!err.contains("panicked"), "{err}");
        (output.status.code().unwrap(), err)
    };
    assert_eq!(status(&["-p"]).0, 2);
    assert_eq!(status(&["-p", "x", "--permission-mode", "yolo"]).0, 2);
    assert_eq!(status(&["-p", "x", "--allowedTools", "Bash("]).0, 2);
    assert_eq!(status(&["--output-format", "json"]).0, 2);
    let (code, err) = status(&["-p", "x", "--model", "anthropic/opus"]);
    assert_eq!(code, 1);
    assert!(err.contains("ANTHROPIC_API_KEY"), "{err}");
    let (code, err) = status(&["-p", "x", "--cd", "/nowhere/at/all"]);
    assert_eq!(code, 2, "{err}");
    let (code, _) = status(&["-p", "explain this repository", "--model", "offline", "--max-turns", "1"]);
    assert_eq!(code, 3);
}

#[test]
fn a_reader_that_goes_away_ends_the_program_quietly() {
    let bench = Bench::new();
    let mut child = bench
        .command(&["-p", "explain this repository", "--model", "offline", "--output-format", "events"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let status = child.wait().unwrap();
    let mut err = String::new();
    child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
    assert_eq!(status.code(), Some(141), "{err}");
    assert!(!err.contains("panicked"), "{err}");
}

#[test]
fn an_open_pipe_that_nobody_writes_to_is_not_waited_for() {
    let (reader, writer) = std::io::pipe().unwrap();
    let soon = std::time::Duration::from_millis(1);
    assert_eq!(with_piped(Some(" ask "), Some(reader), soon).unwrap().text, "ask");
    drop(writer);
    let with = |prompt: Option<&str>, text: &'static str| with_piped(prompt, Some(text.as_bytes()), FIRST_BYTE_TIMEOUT);
    assert_eq!(with(Some("ask"), "of this\n").unwrap().text, "ask\n\nof this");
    assert_eq!(with(None, "ask\n").unwrap().text, "ask");
    assert_eq!(with(Some("ask"), "").unwrap().text, "ask");
    assert!(with(Some(" "), " \n").is_err());
    let said = with(Some("see @a.png"), "and @b.png").unwrap();
    assert_eq!(
        said.mentions().map(|mention| mention.name).collect::<Vec<_>>(),
        ["a.png"],
        "what is piped in names nothing"
    );
}

#[test]
fn a_reader_that_reads_no_further_does_not_keep_an_interrupt_from_working() {
    let bench = Bench::new();
    let mut child = bench
        .command(&["-p", "--model", "offline", "--output-format", "events"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // Far more than a pipe holds.
    child.stdin.take().unwrap().write_all(&b"where is verify_password? ".repeat(6_000)).unwrap();
    let mut out = child.stdout.take().unwrap();
    out.read_exact(&mut [0]).unwrap();
    kill(Pid::from_raw(i32::try_from(child.id()).unwrap()), Signal::SIGINT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_behind_standard_output_is_a_failure_that_says_so() {
    let bench = Bench::new();
    for format in ["text", "stream-json", "events"] {
        let output = bench
            .command(&["-p", "where is verify_password?", "--model", "offline", "--output-format", format])
            .stdout(std::fs::File::create("/dev/full").unwrap())
            .output()
            .unwrap();
        let err = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{err}");
        assert!(err.contains("cannot write to standard output"), "{err}");
    }
}

#[test]
fn a_project_whose_name_is_not_unicode_is_kept_and_told_like_any_other() {
    use std::os::unix::ffi::OsStrExt as _;
    let bench = Bench::new();
    let folder = bench.project.path().join(std::ffi::OsStr::from_bytes(b"caf\xe9"));
    if std::fs::create_dir(&folder).is_err() {
        return; // This file system knows no such names.
    }
    let output = bench
        .command(&["-p", "run `echo hi > made.txt`", "--model", "offline", "--output-format", "events"])
        .args(["--permission-mode", "bypassPermissions"])
        .current_dir(&folder)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(text(&output.stdout).lines().all(|line| serde_json::from_str::<Value>(line).is_ok()));
    let mut kept = Vec::new();
    collect(&bench.home.path().join(".local/state/belvedere/sessions"), &mut kept);
    assert!(kept.iter().any(|path| path.ends_with("meta.json")), "{kept:?}");
}

#[test]
fn a_project_file_full_of_faults_is_told_in_short() {
    let bench = Bench::new();
    let lines: Vec<String> = (0..3_000).map(|number| format!("nonsense_{number} = 1")).collect();
    bench.file(".git/HEAD", "ref: refs/heads/main\n");
    bench.file(".belvedere/config.toml", &lines.join("\n"));
    let output = bench.ask("where is verify_password defined?", &[]);
    assert!(output.status.success(), "{output:?}");
    let err = text(&output.stderr);
    assert_eq!(err.lines().filter(|line| line.contains("nonsense_")).count(), 20, "{err}");
    assert!(err.contains("2980 more problems"), "{err}");
}

#[test]
fn the_session_is_kept_and_holds_no_key() {
    let bench = Bench::new();
    let secret = "sk-test-very-secret-key-0123456789";
    bench.file("leak.txt", &format!("the key is {secret}\n"));
    let output = bench
        .command(&["-p", "read all .txt files", "--model", "offline", "--output-format", "events"])
        .env("ANTHROPIC_API_KEY", secret)
        .output()
        .unwrap();
    assert!(output.status.success());
    assert!(!text(&output.stdout).contains(secret) && !text(&output.stderr).contains(secret), "{output:?}");
    let mut logs = Vec::new();
    collect(&bench.home.path().join(".local/state/belvedere/sessions"), &mut logs);
    let all: String = logs.iter().map(|path| std::fs::read_to_string(path).unwrap()).collect();
    assert!(logs.iter().any(|path| path.ends_with("main.jsonl")), "{logs:?}");
    assert!(all.contains("the key is ***"), "{all}");
    assert!(!all.contains(secret));
}

fn collect(folder: &Path, files: &mut Vec<std::path::PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { collect(&path, files) } else { files.push(path) }
    }
}

#[test]
fn an_agent_that_is_not_there_ends_the_program_before_it_begins() {
    use belvedere::services::{FrontEnd, Options, SessionKind, bootstrap};
    let bench = Bench::new();
    bench.file(".claude/agents/mine.md", "---\nname: Mine\ndescription: d\n---\nYou work.");
    let wanted = |agent: &str| Options {
        resume: None,
        directory: bench.project.path().to_path_buf(),
        model: None,
        fallback_model: None,
        effort: None,
        mode: None,
        allowed: Vec::new(),
        denied: Vec::new(),
        trust: true,
        budget: belvedere::message::BudgetLimit::default(),
        max_turns: None,
        front_end: FrontEnd::Headless,
        kind: SessionKind::Live,
        plugins: Vec::new(),
        agents: Vec::new(),
        given: belvedere::services::GivenSetup::default(),
        agent: Some(agent.to_owned()),
        program: std::path::PathBuf::new(),
        secrets: belvedere::session::Secrets::default(),
    };
    let error = format!("{:#}", bootstrap(wanted("nobody")).unwrap_err());
    assert!(error.starts_with("no agent `nobody`; available: general-purpose, explore"), "{error}");
    assert!(error.contains("Mine"), "{error}");
    assert_eq!(bootstrap(wanted("mine")).unwrap().agent.unwrap().name, "Mine");
}

#[test]
fn a_request_that_is_cut_off_says_what_it_took() {
    for (format, signal, status) in
        [("json", Signal::SIGINT, 130), ("events", Signal::SIGTERM, 143), ("json", Signal::SIGHUP, 143)]
    {
        let bench = Bench::new();
        let gate = bench.project.path().join("gate");
        assert!(Command::new("mkfifo").arg(&gate).status().unwrap().success());
        let mut child = bench
            .command(&["-p", "--model", "offline", "--output-format", format, "run `echo go > gate; sleep 60`"])
            .args(["--permission-mode", "bypassPermissions"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // The command says that it runs.
        let (sent, works) = std::sync::mpsc::channel();
        std::thread::spawn(move || sent.send(std::fs::read_to_string(gate)));
        assert_eq!(works.recv_timeout(std::time::Duration::from_secs(20)).unwrap().unwrap(), "go\n");
        kill(Pid::from_raw(i32::try_from(child.id()).unwrap()), signal).unwrap();
        let mut out = String::new();
        child.stdout.take().unwrap().read_to_string(&mut out).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(status));
        let last: Value = serde_json::from_str(out.lines().last().unwrap_or_default()).unwrap();
        assert_eq!((&last["type"], &last["is_error"]), (&"result".into(), &true.into()), "{out}");
        assert!(last["tree"]["agents"].as_u64() >= Some(1) && last["usage"].is_object(), "{out}");
    }
}

#[test]
fn broken_agent_files_are_named_in_every_form_of_a_session() {
    let bench = Bench::new();
    bench.at_home(".claude/agents/bad.md", "no head at all\n");
    bench.at_home(".claude/agents/fine.md", "---\nname: fine\ndescription: d\n---\nYou work.\n");
    let asked = bench.ask("where is verify_password defined?", &[]);
    let plain = bench.command(&["--plain", "--model", "offline"]).output().unwrap();
    for (form, said) in [("-p", text(&asked.stderr)), ("--plain", text(&plain.stdout) + &text(&plain.stderr))] {
        assert!(said.lines().any(|line| line.contains("bad.md")), "{form}: {said}");
        assert!(!said.contains("fine.md"), "{form}: {said}");
    }
}
