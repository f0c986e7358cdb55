//! A scripted model on loopback, whose answer depends on nothing but the request: whoever asks again is answered alike.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use tokio::sync::Semaphore;

/// Children of the main agent. The first two have one child each.
pub(super) const CHILDREN: usize = 8;
/// How long the model thinks.
const LATENCY: Duration = Duration::from_millis(15);

pub(super) struct Model {
    place: String,
    shared: Arc<Shared>,
    _runtime: Runtime,
}

struct Shared {
    requests: Mutex<Vec<String>>,
    /// What answers wait for that were asked to wait.
    gate: Semaphore,
}

impl Model {
    pub(super) fn start() -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
        let place = listener.local_addr().unwrap().to_string();
        let shared = Arc::new(Shared { requests: Mutex::default(), gate: Semaphore::new(0) });
        let router = Router::new().fallback(answer).with_state(Arc::clone(&shared));
        runtime.spawn(async move { axum::serve(listener, router).await });
        Self { place, shared, _runtime: runtime }
    }

    pub(super) fn base(&self) -> String {
        format!("http://{}/v1", self.place)
    }

    /// Returns the bodies of all requests so far.
    pub(super) fn requests(&self) -> Vec<String> {
        self.shared.requests.lock().unwrap().clone()
    }

    /// Lets the answers go that were asked to wait.
    pub(super) fn release(&self) {
        self.shared.gate.add_permits(1_000);
    }
}

async fn answer(State(shared): State<Arc<Shared>>, body: Bytes) -> Response {
    let text = String::from_utf8_lossy(&body).into_owned();
    let Ok(request) = serde_json::from_str::<Value>(&text) else { return "{}".into_response() };
    shared.requests.lock().unwrap().push(text.clone());
    let messages = request["messages"].as_array().cloned().unwrap_or_default();
    let said =
        |message: &Value| message["content"].as_str().map_or_else(|| message["content"].to_string(), str::to_owned);
    let first = messages.iter().find(|message| message["role"] == "user").map(said).unwrap_or_default();
    let last = messages.iter().rfind(|message| message["role"] == "user").map(said).unwrap_or_default();
    let results = messages.iter().filter(|message| message["role"] == "tool").count();
    if last.contains("say wait") {
        let _released = shared.gate.acquire().await.unwrap();
    }
    tokio::time::sleep(LATENCY).await;
    let (delta, reason) = match task(&first) {
        Some(name) => child(&name, results, &text),
        None if first.contains("send them out") => main(results, &text),
        None => (json!({"content": format!("You said: {last}")}), "stop"),
    };
    let chunk =
        |delta: &Value, reason: Value| json!({"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]});
    let (begun, end) = (chunk(&delta, Value::Null), chunk(&json!({}), reason.into()));
    let usage = json!({"choices": [], "usage": {"prompt_tokens": 100, "completion_tokens": 10}});
    let stream = format!("data: {begun}\n\ndata: {end}\n\ndata: {usage}\n\ndata: [DONE]\n\n");
    ([("content-type", "text/event-stream")], stream).into_response()
}

/// Returns the name of the child whose task this is.
fn task(first: &str) -> Option<String> {
    let (_, rest) = first.split_once("You are child ")?;
    Some(rest.split('.').next()?.to_owned())
}

fn calls(calls: &[(&str, Value)], id: &str) -> (Value, &'static str) {
    let call = |(at, (name, input)): (usize, &(&str, Value))| {
        json!({"index": at, "id": format!("{id}-{at}"), "type": "function",
            "function": {"name": name, "arguments": input.to_string()}})
    };
    let calls: Vec<Value> = calls.iter().enumerate().map(call).collect();
    (json!({"tool_calls": calls}), "tool_calls")
}

fn order(name: &str, isolated: bool) -> Value {
    let mut order = json!({"description": format!("child {name}"), "subagent_type": "general-purpose",
        "prompt": format!("You are child {name}. Read the manifest twice, then say that you are done.")});
    if isolated {
        order["isolation"] = "worktree".into();
    }
    order
}

fn main(results: usize, text: &str) -> (Value, &'static str) {
    if results == 0 {
        let orders: Vec<(&str, Value)> =
            (0..CHILDREN).map(|number| ("Agent", order(&number.to_string(), number == 2))).collect();
        return calls(&orders, "main");
    }
    let missing: Vec<String> =
        (0..CHILDREN).map(|number| number.to_string()).filter(|name| !text.contains(&done(name))).collect();
    let words = if missing.is_empty() { "ALL DONE".to_owned() } else { format!("missing: {}", missing.join(" ")) };
    (json!({"content": words}), "stop")
}

/// Returns what a child reports.
pub(super) fn done(name: &str) -> String {
    format!("child {name} is done")
}

fn child(name: &str, results: usize, text: &str) -> (Value, &'static str) {
    let read = || ("Read", json!({"file_path": "Cargo.toml"}));
    // The number of results of Read alone: those of its own child come besides.
    let is_parent = name == "0" || name == "1";
    match results {
        0 if is_parent => calls(&[("Agent", order(&format!("{name}-below"), false))], name),
        0 => calls(&[read()], &format!("{name}-first")),
        1 => calls(&[read()], &format!("{name}-second")),
        2 if name == "3" => calls(&[("Bash", json!({"command": "touch asked"}))], &format!("{name}-third")),
        _ if is_parent && !text.contains(&done(&format!("{name}-below"))) => {
            (json!({"content": format!("<summary>child {name} waits</summary>")}), "stop")
        }
        _ => (json!({"content": format!("<summary>{}</summary>", done(name))}), "stop"),
    }
}
