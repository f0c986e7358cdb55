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
        Some(name) => child(&messages, &name, results, &text),
        None if last.starts_with("write ") && messages.last().is_some_and(|message| message["role"] == "user") => {
            let input = json!({"file_path": "made.txt", "content": last});
            calls(&[(format!("write-{results}"), "Write", input)])
        }
        None if last.starts_with("run ") && messages.last().is_some_and(|message| message["role"] == "user") => {
            let input = json!({"command": last.trim_start_matches("run ")});
            calls(&[(format!("run-{results}"), "Bash", input)])
        }
        None if last.starts_with("look at ") => {
            let input = json!({"task_id": last.trim_start_matches("look at ")});
            if messages.last().is_some_and(|message| message["role"] == "user") {
                calls(&[(format!("look-{results}"), "TaskOutput", input)])
            } else {
                (json!({"content": "looked"}), "stop")
            }
        }
        None if first.contains("send them out") => main(&messages, results, &text),
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

fn calls(calls: &[(String, &str, Value)]) -> (Value, &'static str) {
    let call = |(at, (id, name, input)): (usize, &(String, &str, Value))| {
        json!({"index": at, "id": id, "type": "function",
            "function": {"name": name, "arguments": input.to_string()}})
    };
    let calls: Vec<Value> = calls.iter().enumerate().map(call).collect();
    (json!({"tool_calls": calls}), "tool_calls")
}

/// Returns `true` if a call was cut off before its agent was there, and was not made again.
fn was_lost(messages: &[Value], id: &str) -> bool {
    let of = |message: &&Value| message["tool_call_id"] == id;
    let cut = ["interrupted", "Error: interrupted"];
    let is_cut = messages.iter().find(of).is_some_and(|result| cut.iter().any(|words| result["content"] == **words));
    is_cut && !messages.iter().any(|message| message["tool_call_id"] == format!("{id}-again"))
}

fn order(name: &str, isolated: bool) -> Value {
    let mut order = json!({"description": format!("child {name}"), "subagent_type": "general-purpose",
        "prompt": format!("You are child {name}. Read the manifest twice, then say that you are done.")});
    if isolated {
        order["isolation"] = "worktree".into();
    }
    order
}

fn main(messages: &[Value], results: usize, text: &str) -> (Value, &'static str) {
    let order = |number: usize, id: String| (id, "Agent", order(&number.to_string(), number == 2));
    if results == 0 {
        return calls(&(0..CHILDREN).map(|number| order(number, format!("main-{number}"))).collect::<Vec<_>>());
    }
    let missing: Vec<usize> = (0..CHILDREN).filter(|number| !text.contains(&done(&number.to_string()))).collect();
    let lost = missing.iter().filter(|number| was_lost(messages, &format!("main-{number}")));
    let again: Vec<_> = lost.map(|number| order(*number, format!("main-{number}-again"))).collect();
    if !again.is_empty() {
        return calls(&again);
    }
    let words = if missing.is_empty() { "ALL DONE".to_owned() } else { format!("missing: {missing:?}") };
    (json!({"content": words}), "stop")
}

/// Returns what a child reports.
pub(super) fn done(name: &str) -> String {
    format!("child {name} is done")
}

fn child(messages: &[Value], name: &str, results: usize, text: &str) -> (Value, &'static str) {
    let read = |id: &str| calls(&[(format!("{name}-{id}"), "Read", json!({"file_path": "Cargo.toml"}))]);
    // They have a child of their own.
    let is_parent = name == "0" || name == "1";
    let below = |id: String| calls(&[(id, "Agent", order(&format!("{name}-below"), false))]);
    match results {
        0 if is_parent => below(format!("{name}-below")),
        _ if is_parent && was_lost(messages, &format!("{name}-below")) => below(format!("{name}-below-again")),
        0 => read("first"),
        1 => read("second"),
        2 if name == "3" => calls(&[(format!("{name}-third"), "Bash", json!({"command": "touch asked"}))]),
        _ if is_parent && !text.contains(&done(&format!("{name}-below"))) => {
            (json!({"content": format!("<summary>child {name} waits</summary>")}), "stop")
        }
        _ => (json!({"content": format!("<summary>{}</summary>", done(name))}), "stop"),
    }
}
