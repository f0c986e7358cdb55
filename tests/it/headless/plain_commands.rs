//! Plain commands of each agent that comes with the program, where its user works and in a worktree, with the real binary.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::response::Response;
use serde_json::{Value, json};

use super::Bench;
use super::worktrees::streamed_all;
use crate::support::{git, sandboxed};

/// All that have `Bash`.
const AGENTS: [&str; 8] =
    ["code", "code-writer", "explore", "general-purpose", "plan", "reviewer", "search-specialist", "test-writer"];
/// What each runs, and what it finds by that.
const COMMANDS: [(&str, &str); 12] = [
    ("ls", "Cargo.toml"),
    ("pwd", "/"),
    ("cat src/lib.rs", "A shop"),
    ("git status", "nothing to commit"),
    ("git diff", "[exit 0]"),
    ("git log", "first"),
    ("head -n 1 src/lib.rs", "A shop"),
    ("wc -l src/lib.rs", "src/lib.rs"),
    ("grep shop src/lib.rs", "A shop"),
    ("git branch", "main"),
    ("git show --stat", "first"),
    ("ls src | cat", "lib.rs"),
];

/// What each command said, by its agent.
type Said = Arc<Mutex<Vec<(String, Vec<(bool, String)>)>>>;

/// A main agent that sends one agent of each kind out, and the agents, each of which runs all commands at once.
async fn answer(State(said): State<Said>, body: Bytes) -> Response {
    let request: Value = serde_json::from_slice(&body).unwrap();
    let messages = request["messages"].as_array().unwrap();
    let turn = messages.iter().filter(|message| message["role"] == "assistant").count();
    let first = messages[0].to_string();
    let call = |number: usize, name: &str, input: Value| json!({"type": "tool_use", "id": format!("toolu_{turn}_{number}"), "name": name, "input": input});
    let done = [json!({"type": "text", "text": "<summary>done</summary>"})];
    let agent = AGENTS.iter().find(|agent| first.contains(&format!("look as {agent}.")));
    match (agent, turn) {
        (None, 0) => {
            let sent = AGENTS.iter().enumerate().map(|(number, agent)| {
                let prompt = format!("WHAT: look as {agent}. WHERE: here. RETURN: one word.");
                let mut input = json!({"description": "look", "subagent_type": agent, "prompt": prompt});
                if first.contains("apart") {
                    input["isolation"] = json!("worktree");
                }
                call(number, "Agent", input)
            });
            streamed_all(&sent.collect::<Vec<_>>())
        }
        (Some(_), 0) => {
            let calls = COMMANDS.iter().enumerate();
            let calls = calls.map(|(number, (command, _))| call(number, "Bash", json!({"command": command})));
            streamed_all(&calls.collect::<Vec<_>>())
        }
        (Some(agent), 1) => {
            let results = messages.last().unwrap()["content"].as_array().unwrap().iter();
            let results = results.filter(|block| block["type"] == "tool_result");
            let results = results.map(|block| (block["is_error"] == true, block["content"].to_string()));
            said.lock().unwrap().push(((*agent).to_owned(), results.collect()));
            streamed_all(&done)
        }
        _ => streamed_all(&done),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_agent_runs_plain_commands_where_it_works() {
    let there = tempfile::tempdir().unwrap();
    if sandboxed(there.path(), &[]).await.is_none() {
        return;
    }
    for place in ["here", "apart"] {
        let bench = Bench::new();
        git(bench.project.path(), ["init", "-q", "-b", "main"]);
        git(bench.project.path(), ["add", "-A"]);
        git(bench.project.path(), ["commit", "-q", "-m", "first"]);
        let said = Said::default();
        let app = Router::new().fallback(answer).with_state(said.clone());
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, app).await });
        let mut command = bench.command(&["-p", &format!("look {place}"), "--model", "anthropic/opus"]);
        command.env("ANTHROPIC_API_KEY", "k").env("ANTHROPIC_BASE_URL", base).env_remove("BELVEDERE_SANDBOX_ENABLED");
        let output = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
        let err = super::text(&output.stderr);
        assert!(output.status.success(), "{err}");
        let said = said.lock().unwrap();
        let mut agents: Vec<&str> = said.iter().map(|(agent, _)| agent.as_str()).collect();
        agents.sort_unstable();
        assert_eq!(agents, AGENTS, "{place}: {err}");
        for (agent, results) in said.iter() {
            assert_eq!(results.len(), COMMANDS.len(), "{place}, {agent}");
            for ((command, wanted), (is_error, words)) in COMMANDS.iter().zip(results) {
                assert!(!is_error && words.contains(wanted), "{place}, {agent}: `{command}` said {words}");
                let is_own = *command != "pwd" || words.contains("/worktrees/") == (place == "apart");
                assert!(is_own, "{place}, {agent}: {words}");
            }
        }
        assert_eq!(git(bench.project.path(), ["worktree", "list"]).lines().count(), 1);
    }
}
