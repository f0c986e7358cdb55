//! Worktrees with the real binary: what a run leaves, how it says so, and how the next one finds what a crash has left.

use std::process::Stdio;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::Bench;
use super::plain::Session;
use crate::support::git;

/// Told when a child has made its change and asks again.
type Changed = mpsc::UnboundedSender<()>;

/// A main agent that sends one rewriter out, and the rewriter; where the task says so, it never comes to its end.
async fn answer(State(changed): State<Changed>, body: Bytes) -> Response {
    let request: Value = serde_json::from_slice(&body).unwrap();
    let messages = request["messages"].as_array().unwrap();
    let turn = messages.iter().filter(|message| message["role"] == "assistant").count();
    let first = messages[0].to_string();
    let call = |name: &str, input: Value| json!({"type": "tool_use", "id": format!("toolu_{turn}"), "name": name, "input": input});
    let block = match (first.contains("WHAT:"), turn) {
        (false, 0) => {
            let how = ["hang", "list"].into_iter().find(|how| first.contains(how)).unwrap_or("end");
            let prompt = format!("WHAT: rewrite the shop and {how}. WHERE: src/lib.rs. RETURN: one word.");
            call("Agent", json!({"description": "rewrite", "subagent_type": "rewriter", "prompt": prompt}))
        }
        (true, 0) if first.contains("list") => call("Bash", json!({"command": "ls"})),
        (true, 1) if first.contains("list") => call("Bash", json!({"command": "git status"})),
        (true, 2) if first.contains("list") => json!({"type": "text", "text": "<summary>done</summary>"}),
        (true, 0) => call("Read", json!({"file_path": "src/lib.rs"})),
        (true, 1) => call("Edit", json!({"file_path": "src/lib.rs", "old_string": "A shop", "new_string": "The shop"})),
        (true, _) if first.contains("hang") => {
            let _ = changed.send(());
            std::future::pending().await
        }
        _ => json!({"type": "text", "text": "<summary>done</summary>"}),
    };
    streamed(&block)
}

/// Returns a reply of one block as a service streams it.
pub(super) fn streamed(block: &Value) -> Response {
    streamed_all(std::slice::from_ref(block))
}

/// Returns a reply of some blocks, the last of which says why it ends.
pub(super) fn streamed_all(blocks: &[Value]) -> Response {
    let event = |value: Value| format!("event: {}\ndata: {value}\n\n", value["type"].as_str().unwrap());
    let message = json!({"id": "m", "type": "message", "role": "assistant", "content": [], "model": "m",
        "usage": {"input_tokens": 1, "output_tokens": 1}});
    let mut out = vec![json!({"type": "message_start", "message": message})];
    let mut stop = "end_turn";
    for (index, block) in blocks.iter().enumerate() {
        let mut start = block.clone();
        let delta = if block["type"] == "text" {
            start["text"] = json!("");
            json!({"type": "text_delta", "text": block["text"]})
        } else {
            stop = "tool_use";
            start["input"] = json!({});
            json!({"type": "input_json_delta", "partial_json": block["input"].to_string()})
        };
        out.push(json!({"type": "content_block_start", "index": index, "content_block": start}));
        out.push(json!({"type": "content_block_delta", "index": index, "delta": delta}));
        out.push(json!({"type": "content_block_stop", "index": index}));
    }
    out.push(json!({"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {"output_tokens": 1}}));
    out.push(json!({"type": "message_stop"}));
    ([("content-type", "text/event-stream")], out.into_iter().map(event).collect::<String>()).into_response()
}

/// A repository with a rewriter that works apart, and a model for it. Returns its address and who tells of changes.
pub(super) async fn bench() -> (Bench, String, mpsc::UnboundedReceiver<()>) {
    let bench = Bench::new();
    git(bench.project.path(), ["init", "-q", "-b", "main"]);
    git(bench.project.path(), ["add", "-A"]);
    git(bench.project.path(), ["commit", "-q", "-m", "first"]);
    let head = "---\nname: rewriter\ndescription: d\nisolation: worktree\n---\nYou rewrite.";
    bench.at_home(".claude/agents/rewriter.md", head);
    let (changed, changes) = mpsc::unbounded_channel();
    let app = Router::new().fallback(answer).with_state(changed);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, app).await });
    (bench, base, changes)
}

fn command(bench: &Bench, base: &str, prompt: &str) -> std::process::Command {
    let args = [
        "-p",
        prompt,
        "--model",
        "anthropic/opus",
        "--permission-mode",
        "bypassPermissions",
        "--output-format",
        "json",
    ];
    let mut command = bench.command(&args);
    command.env("ANTHROPIC_API_KEY", "k").env("ANTHROPIC_BASE_URL", base);
    command
}

fn shop(bench: &Bench) -> String {
    std::fs::read_to_string(bench.project.path().join("src/lib.rs")).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_without_a_screen_says_what_it_leaves() {
    let (bench, base, _changes) = bench().await;
    let mut command = command(&bench, &base, "rewrite it");
    let output = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
    let (out, err) = (super::text(&output.stdout), super::text(&output.stderr));
    assert!(output.status.success(), "{err}");
    assert!(shop(&bench).contains("A shop"));
    let result: Value = serde_json::from_str(&out).unwrap();
    let tree = &result["worktrees"][0];
    assert_eq!(
        (&tree["agent"], &tree["files"], &tree["lines_added"]),
        (&json!("rewriter-1"), &json!(["src/lib.rs"]), &json!(1))
    );
    let branch = tree["branch"].as_str().unwrap();
    let line = format!("rewriter-1: not merged: 1 file, +1 −1, branch {branch}, {}", tree["path"].as_str().unwrap());
    assert!(err.lines().any(|found| found == line), "{err}");
    assert!(err.contains("Merge or discard them with /worktrees"), "{err}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worktree_makes_no_program_of_the_project_trusted() {
    let (bench, base, _changes) = bench().await;
    let canary = bench.home.path().join("canary");
    let programs = bench.project.path().join("node_modules/.bin");
    super::free::set_traps(&programs, &canary);
    for mode in ["default", "plan"] {
        let args = ["-p", "rewrite it and list", "--model", "anthropic/opus", "--permission-mode", mode];
        let mut command = bench.command(&args);
        command.env("ANTHROPIC_API_KEY", "k").env("ANTHROPIC_BASE_URL", &base);
        command.env("PATH", format!("{}:{}", programs.display(), std::env::var("PATH").unwrap()));
        let output = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
        let err = super::text(&output.stderr);
        assert!(output.status.success() && err.contains("[rewriter]"), "{err}");
        assert!(!canary.exists(), "a program of the project ran in mode {mode}: {err}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_killed_program_leaves_is_offered_and_merged_by_the_next() {
    let (bench, base, mut changes) = bench().await;
    let mut killed = command(&bench, &base, "rewrite it and hang");
    let mut killed = killed.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    changes.recv().await.unwrap();
    killed.kill().unwrap();
    killed.wait().unwrap();
    assert!(shop(&bench).contains("A shop"));
    let bench = tokio::task::spawn_blocking(move || {
        let mut session = Session::offline(&bench);
        session.until("unmerged worktrees from earlier runs: 1; see /worktrees");
        session.line("/worktrees");
        session.until("rewriter-1: 1 file, +1 −1, branch belvedere/");
        session.line("/discard rewriter-1");
        session.until("/discard rewriter-1 again discards 1 file, +1 −1");
        session.line("/merge rewriter-1");
        session.until("merged into the project, not committed · 1 file: src/lib.rs");
        session.line("/worktrees");
        session.until("no unmerged worktrees");
        assert_eq!(session.end().0, 0);
        bench
    });
    let bench = bench.await.unwrap();
    assert!(shop(&bench).contains("The shop"));
    assert_eq!(git(bench.project.path(), ["branch", "--list", "belvedere/*"]), "");
}
