//! Flags for what is otherwise written in files: settings, folders, MCP servers and prompts.

use serde_json::{Value, json};

use super::services::{Answer, GATE, TINY, ask, stream};
use super::{Bench, text};

/// Says how the system prompt begins and ends.
fn mirror(_: &str, body: &str) -> Answer {
    let request: Value = serde_json::from_str(body).unwrap_or_default();
    let system = request["messages"][0]["content"].as_str().unwrap_or_default();
    let first: String = system.chars().take(18).collect();
    let last = system.lines().last().unwrap_or_default();
    stream(&json!({"content": format!("{first} … {last}")}), "stop")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn prompts_of_the_command_line_begin_and_end_the_main_agents_own() {
    let words = ["--system-prompt", "You are a librarian.", "--append-system-prompt", "Answer in one line."];
    let (output, said) = ask(mirror, &[&TINY[..], &words].concat(), &GATE).await;
    assert_eq!(text(&output.stdout), "You are a libraria … Answer in one line.\n", "{said}");
    let (output, said) =
        ask(mirror, &[&TINY[..], &["--append-system-prompt-file", "Cargo.toml"]].concat(), &GATE).await;
    let out = text(&output.stdout);
    assert!(out.starts_with("You are Belvedere") && out.ends_with("… proptest = \"1\"\n"), "{out} {said}");
}

#[test]
fn settings_of_the_command_line_count_as_the_users() {
    let bench = Bench::new();
    let run = ["-p", "run `touch made.txt`", "--model", "offline", "--settings"];
    let allow = r#"{"permissions": {"allow": ["Bash(touch:*)"]}}"#;
    bench.at_home("allow.json", allow);
    let path = bench.home.path().join("allow.json");
    for given in [allow, path.to_str().unwrap()] {
        let output = bench.command(&[&run[..], &[given]].concat()).output().unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
        std::fs::remove_file(bench.project.path().join("made.txt")).unwrap();
    }
    // What the project denies is denied all the same.
    bench.file(".claude/settings.json", r#"{"permissions": {"deny": ["Bash(touch:*)"]}}"#);
    assert_eq!(bench.command(&[&run[..], &[allow]].concat()).output().unwrap().status.code(), Some(4));
    for (given, why) in [("missing.json", "missing.json: there is no such file (--settings)."), ("{", "--settings: ")] {
        let output = bench.command(&[&run[..], &[given]].concat()).output().unwrap();
        let said = text(&output.stderr);
        assert_eq!((output.status.code(), said.contains(why)), (Some(2), true), "{said}");
    }
}

#[test]
fn folders_of_the_command_line_are_worked_in() {
    let (bench, other) = (Bench::new(), tempfile::tempdir().unwrap());
    std::fs::write(other.path().join("notes.md"), "the secret word is plover\n").unwrap();
    let path = other.path().join("notes.md");
    let prompt = format!("read {}", path.display());
    assert_eq!(bench.ask(&prompt, &[]).status.code(), Some(4));
    let output = bench.ask(&prompt, &["--add-dir", other.path().to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let output = bench.ask(&prompt, &["--add-dir", "not/there"]);
    assert_eq!((output.status.code(), text(&output.stderr).contains("(--add-dir)")), (Some(2), true));
}
