//! MCP servers with the real binary: its subcommand, trust, and processes that end.

use std::process::Output;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Bytes;
use serde_json::{Value, json};

use super::services::stream;
use super::{Bench, text};

fn said(output: &Output) -> String {
    text(&output.stdout) + &text(&output.stderr)
}

pub(super) fn script() -> String {
    format!("{}/tests/fixtures/mcp/server.sh", env!("CARGO_MANIFEST_DIR"))
}

/// Runs `belvedere mcp …` and returns its status and what it says.
fn mcp(bench: &Bench, words: &[&str]) -> (i32, String) {
    let output = bench.command(&[&["mcp"], words].concat()).env("ANTHROPIC_API_KEY", "canary").output().unwrap();
    (output.status.code().unwrap(), said(&output).replace(bench.home.path().to_str().unwrap(), "HOME"))
}

/// Waits until none of these processes is left.
pub(super) fn gone(pids: &str) -> bool {
    let until = Instant::now() + Duration::from_secs(20);
    while Instant::now() < until {
        let is_there = |pid: &str| {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            !stat.is_empty() && !stat.contains(") Z ")
        };
        if !pids.split_whitespace().any(is_there) {
            return true;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    false
}

#[test]
fn a_server_is_added_tested_listed_and_removed() {
    let bench = Bench::new();
    let (pids, script) = (bench.project.path().join("pids"), script());
    let env = format!("PIDS={}", pids.display());
    let (code, out) = mcp(&bench, &["add", "own", "-e", &env, "-e", "A=${B:-two words}", "--", "bash", &script]);
    assert_eq!((code, out.contains("Added own to HOME/.config/belvedere/config.toml.")), (0, true), "{out}");
    let (code, out) = mcp(&bench, &["add", "web", "https://example.com/mcp", "-H", "X-Key: ${NONE:-1}"]);
    assert_eq!(code, 0, "{out}");
    let (code, out) = mcp(&bench, &["add", "own", "--", "other"]);
    assert_eq!((code, out.contains("has a server `own` already")), (2, true), "{out}");
    let (_, out) = mcp(&bench, &["list"]);
    assert!(
        out.contains("own  config.toml  stdio  bash")
            && out.contains("web  config.toml  http   [http] https://example"),
        "{out}"
    );
    let (code, out) = mcp(&bench, &["test", "own"]);
    assert_eq!((code, out.as_str()), (0, "own: connected  1 tool\n  mcp__own__env\n"));
    let pids = std::fs::read_to_string(pids).unwrap();
    assert!(gone(&pids), "the server and what it has started have ended");
    let (code, out) = mcp(&bench, &["remove", "own"]);
    assert_eq!(code, 0, "{out}");
    assert!(!mcp(&bench, &["list"]).1.contains("own "));
    assert_eq!(mcp(&bench, &["remove", "own"]).0, 1);
    assert_eq!(mcp(&bench, &["test", "own"]).0, 2);
}

#[test]
fn what_a_server_says_of_its_use_is_no_question_to_the_offline_model() {
    let bench = Bench::new();
    assert_eq!(mcp(&bench, &["add", "own", "--", "bash", &script()]).0, 0);
    let events = text(&bench.ask("where is verify_password defined?", &["--output-format", "events"]).stdout);
    let told = events.lines().any(|event| event.contains("MCP server instructions: own"));
    let ended = events.lines().last().is_some_and(|end| end.contains("`src/lib.rs:4`"));
    assert!(told && ended, "{events}");
}

#[test]
fn a_projects_server_starts_only_where_it_is_trusted() {
    let bench = Bench::new();
    let pids = bench.project.path().join("pids");
    let env = format!("PIDS={}", pids.display());
    assert_eq!(mcp(&bench, &["add", "theirs", "-s", "project", "-e", &env, "--", "bash", &script()]).0, 0);
    let (code, out) = mcp(&bench, &["test", "theirs"]);
    assert_eq!((code, out.as_str()), (0, "theirs: off  you have not trusted it: /trust\n"));
    let output = bench.ask("hello", &[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(said(&output).contains("brings 1 MCP server that you have not trusted"), "{output:?}");
    assert!(!pids.exists(), "it was not started");
    assert_eq!(mcp(&bench, &["test", "theirs", "--trust"]).0, 0);
    assert!(pids.exists());
}

#[test]
fn an_address_that_was_trusted_is_no_program_of_that_name() {
    let bench = Bench::new();
    let servers = |entry: &str| bench.file(".mcp.json", &format!(r#"{{"mcpServers": {{"docs": {entry}}}}}"#));
    servers(r#"{"type": "http", "url": "http://127.0.0.1:9/${SECRET:-mcp}"}"#);
    let (code, out) = mcp(&bench, &["login", "docs"]);
    let expected = "docs is not to be reached: you have not trusted it: /trust";
    assert_eq!((code, out.contains(expected)), (1, true), "{out}");
    let mut session = super::plain::Session::offline(&bench);
    session.until("not used until you trust it");
    session.line("/trust");
    session.line("/trust yes");
    assert_eq!(session.end().0, 0);
    assert!(!mcp(&bench, &["get", "docs"]).1.contains("off:"));
    for entry in [
        r#"{"command": "http://127.0.0.1:9/${SECRET:-mcp}"}"#,
        r#"{"command": "[http]", "args": ["http://127.0.0.1:9/${SECRET:-mcp}"]}"#,
        r#"{"type": "sse", "url": "http://127.0.0.1:9/${SECRET:-mcp}"}"#,
    ] {
        servers(entry);
        let (_, out) = mcp(&bench, &["get", "docs"]);
        assert!(out.contains("off: you have not trusted it"), "{entry}: {out}");
    }
}

/// Asks for one answer, with a server that is slower than the request would be. Returns whether its tool was offered.
async fn is_offered(env: &[(&str, &str)]) -> String {
    let handler = |body: Bytes| async move {
        let request: Value = serde_json::from_slice(&body).unwrap_or_default();
        let tools = request["tools"].as_array().cloned().unwrap_or_default();
        let is_there = tools.iter().any(|tool| tool["function"]["name"] == "mcp__own__env");
        let (_, kind, content) = stream(&json!({"content": is_there.to_string()}), "stop");
        ([("content-type", kind)], content)
    };
    let base = format!("http://{}/v1", crate::support::serve(Router::new().fallback(handler)).await);
    let bench = Bench::new();
    let slow = format!("read -rt 0.6 < <(sleep 9); exec bash '{}'", script());
    assert_eq!(mcp(&bench, &["add", "own", "--", "bash", "-c", &slow]).0, 0);
    let mut command = bench.command(&["-p", "go", "--model", "openai/tiny"]);
    command.env("OPENAI_BASE_URL", base).envs(env.iter().copied());
    let output = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
    text(&output.stdout).trim().to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_request_waits_for_servers_unless_the_environment_says_otherwise() {
    assert_eq!(is_offered(&[]).await, "true");
    assert_eq!(is_offered(&[("MCP_CONNECTION_NONBLOCKING", "true")]).await, "false");
}

#[test]
fn a_session_ends_its_servers() {
    let bench = Bench::new();
    let pids = bench.project.path().join("pids");
    let env = format!("PIDS={}", pids.display());
    assert_eq!(mcp(&bench, &["add", "own", "-e", &env, "--", "bash", &script()]).0, 0);
    let mut session = super::plain::Session::offline(&bench);
    let until = Instant::now() + Duration::from_secs(20);
    while !pids.exists() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(5));
    }
    session.line("/mcp nobody");
    session.until("no MCP server of that name");
    session.line("/quit");
    let (code, out) = session.end();
    assert_eq!(code, 0, "{out}");
    assert!(gone(&std::fs::read_to_string(pids).unwrap()), "nothing outlives the session");
}
