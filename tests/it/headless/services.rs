//! What is said about services that fail, and about calls that are refused: the real binary before a server of a test.

use std::process::Output;

use axum::Router;
use axum::body::Bytes;
use axum::http::{StatusCode, Uri};
use axum::response::{IntoResponse as _, Response};
use serde_json::{Value, json};

use super::{Bench, text};

/// An answer of the server to a request: status, kind of content and content.
pub(super) type Answer = (u16, &'static str, String);

/// Returns the chunks of a reply of the Chat Completions API, without a count of tokens.
pub(super) fn stream(delta: &Value, reason: &str) -> Answer {
    let chunk =
        |delta: &Value, reason: Value| json!({"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]});
    let (said, end) = (chunk(delta, Value::Null), chunk(&json!({}), reason.into()));
    (200, "text/event-stream", format!("data: {said}\n\ndata: {end}\n\ndata: [DONE]\n\n"))
}

/// A service on this machine that answers as a function says.
pub(super) struct Server {
    place: String,
    task: tokio::task::JoinHandle<()>,
}

impl Server {
    pub(super) async fn start(answer: fn(&str, &str) -> Answer) -> Self {
        let handler = move |uri: Uri, body: Bytes| async move {
            // A proxy is asked for a whole address.
            let (status, kind, content) = answer(&uri.to_string(), &String::from_utf8_lossy(&body));
            let response: Response =
                (StatusCode::from_u16(status).unwrap(), [("content-type", kind)], content).into_response();
            response
        };
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let place = listener.local_addr().unwrap().to_string();
        let serving = async move { axum::serve(listener, Router::new().fallback(handler)).await.unwrap() };
        Self { place, task: tokio::spawn(serving) }
    }

    /// Returns what `OPENAI_BASE_URL` is to say.
    pub(super) fn base(&self) -> String {
        format!("http://{}/v1", self.place)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Asks the binary before a server that answers like this. `{place}` in the environment stands for its address.
pub(super) async fn ask(answer: fn(&str, &str) -> Answer, more: &[&str], env: &[(&str, &str)]) -> (Output, String) {
    let server = Server::start(answer).await;
    let bench = Bench::new();
    let mut command = bench.command(&[&["-p", "go"], more].concat());
    command.envs(env.iter().map(|(name, value)| (*name, value.replace("{place}", &server.place))));
    let output = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
    let said = text(&output.stderr).replace(&server.place, "HOST");
    (output, said)
}

fn writes(_: &str, body: &str) -> Answer {
    if body.contains("\"role\":\"tool\"") {
        return stream(&json!({"content": "It is written."}), "stop");
    }
    let input = json!({"file_path": "notes.md", "content": "x"}).to_string();
    let call = json!([{"index": 0, "id": "c1", "type": "function", "function": {"name": "Write", "arguments": input}}]);
    stream(&json!({"tool_calls": call}), "tool_calls")
}

pub(super) const GATE: [(&str, &str); 1] = [("OPENAI_BASE_URL", "http://{place}/v1")];
pub(super) const TINY: [&str; 2] = ["--model", "openai/tiny"];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refused_call_leaves_a_trace() {
    let (output, said) = ask(writes, &TINY, &GATE).await;
    assert_eq!((text(&output.stdout).as_str(), output.status.code()), ("It is written.\n", Some(4)));
    let line = "[main] Write notes.md denied: nobody to ask (allow with --allowedTools 'Edit(/**)')\n";
    assert_eq!(said.matches(line).count(), 1, "{said}");

    let (output, said) = ask(writes, &[&TINY[..], &["--output-format", "json"]].concat(), &GATE).await;
    assert_eq!(output.status.code(), Some(4), "an answer with a denied call is told from one without");
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    let denial = json!({"agent": "main", "tool": "Write", "title": "notes.md", "rule": "Edit(/**)",
        "reason": "nobody to ask"});
    assert_eq!(result["permission_denials"], json!([denial]), "{said}");
    // The server counted nothing.
    assert_eq!(result["usage"]["estimated"], true, "{result}");
    assert!(
        result["usage"]["input_tokens"].as_u64().unwrap() > 1_000 && result["total_cost_usd"].is_null(),
        "{result}"
    );

    let flags = [&TINY[..], &["--permission-mode", "plan"]].concat();
    let (output, said) = ask(writes, &flags, &GATE).await;
    assert!(said.contains("[main] Write notes.md denied: Plan mode: files cannot be changed"), "{said}");
    assert_eq!(output.status.code(), Some(4), "{said}");
    let (output, said) = ask(writes, &[&TINY[..], &["--allowedTools", "Edit(/**)"]].concat(), &GATE).await;
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(!said.contains("refused"), "what is named allows it: {said}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failed_choice_is_said_once() {
    fn locked(_: &str, _: &str) -> Answer {
        (401, "application/json", r#"{"error":{"message":"no key"}}"#.to_owned())
    }
    let (output, said) = ask(locked, &[], &GATE).await;
    assert_eq!((output.status.code(), said.as_str()), (Some(1), "belvedere: HOST answered 401: set OPENAI_API_KEY.\n"));
    let (output, said) = ask(locked, &["--model", "sonet"], &[]).await;
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(said.matches("did you mean sonnet?").count(), 1, "{said}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_proxy_is_named_where_it_is_the_one_that_fails() {
    fn closed(_: &str, _: &str) -> Answer {
        (407, "text/plain", "no".to_owned())
    }
    let named = |base: &'static str, variable: &'static str, value: &'static str| {
        [("OPENAI_BASE_URL", base), (variable, value), ("OPENAI_API_KEY", "some-long-key")]
    };
    for (base, variable) in [("http://llm.invalid/v1", "HTTP_PROXY"), ("https://llm.invalid/v1", "HTTPS_PROXY")] {
        let (_, said) = ask(closed, &TINY, &named(base, variable, "http://me:hush@{place}")).await;
        assert!(
            said.contains(&format!("The proxy HOST ({variable}) requires a user name and password (407)")),
            "{said}"
        );
        assert!(!said.contains("hush") && !said.contains("retries"), "{said}");
    }
    let (output, said) = ask(closed, &TINY, &named("https://llm.invalid/v1", "HTTPS_PROXY", "me:hush@::bad")).await;
    assert_eq!(output.status.code(), Some(1));
    assert!(said.contains("The proxy in HTTPS_PROXY has an invalid address (::bad)"), "{said}");
    assert!(!said.contains("hush"), "{said}");
    // What is excepted needs no proxy, and what is on this machine neither.
    let (_, said) = ask(writes, &TINY, &[GATE[0], ("HTTP_PROXY", "::bad"), ("ALL_PROXY", "http://127.0.0.1:9")]).await;
    assert!(said.contains("Write notes.md denied"), "{said}");
}
