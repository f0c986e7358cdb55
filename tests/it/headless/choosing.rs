//! Questions of an agent in the session of lines: what answers them, and what never does.

use axum::Router;
use axum::body::Bytes;
use axum::response::Response;
use serde_json::{Value, json};

use super::Bench;
use super::plain::Session;
use super::worktrees::streamed;

/// A model that asks one question, and then says that it is done.
async fn answer(body: Bytes) -> Response {
    let request: Value = serde_json::from_slice(&body).unwrap();
    let turn = request["messages"].as_array().unwrap().iter().filter(|one| one["role"] == "assistant").count();
    if turn > 0 {
        return streamed(&json!({"type": "text", "text": "done"}));
    }
    let options = json!([{"label": "Rows"}, {"label": "Columns"}]);
    let questions = json!([{"question": "Which layout?", "options": options}]);
    let input = json!({"questions": questions});
    streamed(&json!({"type": "tool_use", "id": "toolu_0", "name": "AskUserQuestion", "input": input}))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_an_order_is_never_an_answer() {
    let bench = Bench::new();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, Router::new().fallback(answer)).await });
    let out = tokio::task::spawn_blocking(move || {
        let model = [("ANTHROPIC_API_KEY", "k"), ("ANTHROPIC_BASE_URL", base.as_str())];
        let mut session = Session::start_with(&bench, &["--plain", "--model", "anthropic/opus"], &model);
        session.line("choose");
        session.until("Which layout?");
        session.line("!touch made");
        session.until("not run: a command of your own is typed by itself");
        session.line("do it later &");
        session.until("not handed on: answer the question first");
        session.line(" /tasks");
        session.until("no agents yet");
        session.line("/nonsense");
        session.until("no command /nonsense");
        assert!(!bench.project.path().join("made").exists());
        session.line("rows, but wide");
        session.until("main: done");
        session.end().1
    })
    .await
    .unwrap();
    assert!(out.contains("rows, but wide") && !out.contains("→ !touch"), "{out}");
}
