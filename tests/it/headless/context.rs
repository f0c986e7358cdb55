//! Long conversations before a server of the test, and at the offline model: what the front ends without a screen say.

use axum::Router;
use axum::body::Bytes;
use axum::response::{IntoResponse as _, Response};
use serde_json::{Value, json};

use super::{Bench, text};

/// Answers in the format of OpenAI: a summary to who asks for one.
async fn answer(body: Bytes) -> Response {
    let request: Value = serde_json::from_slice(&body).unwrap_or_default();
    let system = request["messages"][0]["content"].as_str().unwrap_or_default();
    let said = if system.starts_with("You write the summary") { "THE SUMMARY" } else { "the answer" };
    let chunk = json!({"choices": [{"index": 0, "delta": {"content": said}, "finish_reason": "stop"}]});
    ([("content-type", "text/event-stream")], format!("data: {chunk}\n\ndata: [DONE]\n\n")).into_response()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_events_of_a_request_that_is_too_large_are_printed() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}/v1", listener.local_addr().unwrap());
    let server = tokio::spawn(async move { axum::serve(listener, Router::new().fallback(answer)).await });
    let bench = Bench::new();
    let prompt = format!("read this: {}", "a line of text\n".repeat(8_000));
    let mut command = bench.command(&["-p", &prompt, "--model", "openai/gpt-4o", "--output-format", "events"]);
    command.env("OPENAI_BASE_URL", base).env("OPENAI_API_KEY", "test-key-12345");
    command.env("BELVEDERE_LIMITS_AUTO_COMPACT_PERCENT", "10");
    let output = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
    server.abort();
    let lines: Vec<Value> = text(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |name: &str| lines.iter().find(|line| line["event"] == name).cloned();
    let compacting = of("compacting").unwrap_or_else(|| panic!("{} {}", text(&output.stdout), text(&output.stderr)));
    assert!(compacting["before"].as_u64().unwrap() > 20_000, "{compacting}");
    let compacted = of("compacted").unwrap();
    assert!(compacted["message"].as_str().unwrap().contains("THE SUMMARY"), "{compacted}");
    assert!(compacted["after"].as_u64() < compacting["before"].as_u64(), "{compacted}");
    let measured = of("context_measured").unwrap();
    assert!(measured["parts"].as_array().unwrap().iter().any(|part| part["kind"] == "summary"), "{measured}");
    let last = lines.last().unwrap();
    assert_eq!((last["type"].as_str(), last["result"].as_str()), (Some("result"), Some("the answer")));
}

#[test]
fn lines_say_what_fills_the_context_and_compact_it() {
    let bench = Bench::new();
    let mut session = super::plain::Session::offline(&bench);
    session.line("/context");
    session.until("nothing sent to the model yet");
    session.line("/compact");
    session.until("Nothing to compact yet.");
    session.line("hello");
    session.until("main: ");
    session.line("/compact keep src/lib.rs in mind");
    session.until("compacting");
    session.until("compacted: ");
    session.line("thanks");
    session.until("you: thanks");
    session.line("/context");
    session.until("context: ");
    session.until("system prompt: ");
    session.until("summary: ");
    assert_eq!(session.end().0, 0);
}
