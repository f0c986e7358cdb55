//! A model server on loopback that speaks any of the four wire formats, and plays replies that a test plans.
//!
//! Owns the form of requests and streams. Leaves what is said to the test.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::response::Response;
use belvedere::message::ProviderRow;
use belvedere::provider::Provider;
use belvedere::provider::choice::{ModelChoice, ModelPreferences, choose, connect};
use belvedere::provider::rate_limiter::RateLimiters;
use belvedere::provider::table::{ProviderEnv, ProviderTable};
use serde_json::{Value, json};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wire {
    Messages,
    Chat,
    Responses,
    Gemini,
}

pub(super) const WIRES: [Wire; 4] = [Wire::Messages, Wire::Chat, Wire::Responses, Wire::Gemini];

/// What the model answers.
#[derive(Debug, Clone, Default)]
pub(super) struct PlannedReply {
    pub(super) thinking: String,
    pub(super) text: String,
    /// Tools, and the JSON text of their inputs.
    pub(super) calls: Vec<(String, String)>,
    /// Whether the limit on output cut it off.
    pub(super) is_cut: bool,
}

impl PlannedReply {
    pub(super) fn say(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    pub(super) fn call(tool: &str, input: &Value) -> Self {
        Self { calls: vec![(tool.to_owned(), input.to_string())], ..Self::default() }
    }
}

/// What a server was sent, and a connection to it.
pub(super) struct ModelServer {
    pub(super) provider: Arc<dyn Provider>,
    pub(super) requests: Arc<Mutex<Vec<Value>>>,
}

impl ModelServer {
    /// Starts a server that answers each request as `plan` says.
    pub(super) async fn start(wire: Wire, plan: impl Fn(&Value) -> PlannedReply + Send + Sync + 'static) -> Self {
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (seen, plan) = (requests.clone(), Arc::new(plan));
        let answer = move |body: Bytes| {
            let request: Value = serde_json::from_slice(&body).unwrap();
            let stream = wire.stream(&plan(&request));
            seen.lock().unwrap().push(request);
            std::future::ready(
                Response::builder().header("content-type", "text/event-stream").body(Body::from(stream)).unwrap(),
            )
        };
        let place = crate::support::serve(Router::new().fallback(axum::routing::post(answer))).await;
        Self { provider: wire.connect(&place), requests }
    }

    /// Returns the requests so far that hold this text.
    pub(super) fn requests_with(&self, text: &str) -> Vec<String> {
        let requests = self.requests.lock().unwrap();
        requests.iter().map(Value::to_string).filter(|request| request.contains(text)).collect()
    }
}

impl Wire {
    fn connect(self, place: &str) -> Arc<dyn Provider> {
        let (name, path) = match self {
            Self::Messages => ("anthropic", ""),
            Self::Chat => ("openai", "/v1"),
            Self::Responses => ("responses", "/v1"),
            Self::Gemini => ("gemini", "/v1beta"),
        };
        let row = format!("wire = {name:?}\nurl = \"http://{place}{path}\"\n");
        let row = toml::from_str::<ProviderRow>(&row).unwrap().named("here").unwrap();
        let env = ProviderEnv::new(ProviderTable::with(&[row]), |_| None);
        let wishes = ModelPreferences { flag: Some("here/m".to_owned()), config: None, settings: None, env };
        let Ok(ModelChoice::Connect(endpoint)) = choose(&wishes) else { panic!("no connection is chosen") };
        connect(endpoint, &RateLimiters::default()).0
    }

    /// Returns the stream that says so.
    pub(super) fn stream(self, reply: &PlannedReply) -> String {
        let events = match self {
            Self::Messages => messages(reply),
            Self::Chat => chat(reply),
            Self::Responses => responses(reply),
            Self::Gemini => gemini(reply),
        };
        events.iter().map(|event| format!("data: {event}\n\n")).collect()
    }
}

/// Cuts a text where servers do: anywhere.
fn pieces(text: &str) -> Vec<String> {
    let letters: Vec<char> = text.chars().collect();
    letters.chunks(7).map(|piece| piece.iter().collect()).collect()
}

fn messages(reply: &PlannedReply) -> Vec<Value> {
    let usage = json!({"input_tokens": 10, "output_tokens": 1});
    let mut events = vec![json!({"type": "message_start", "message": {"usage": usage}})];
    let mut index = 0;
    let mut block = |start: Value, deltas: Vec<Value>| {
        events.push(json!({"type": "content_block_start", "index": index, "content_block": start}));
        events.extend(
            deltas.into_iter().map(|delta| json!({"type": "content_block_delta", "index": index, "delta": delta})),
        );
        events.push(json!({"type": "content_block_stop", "index": index}));
        index += 1;
    };
    if !reply.thinking.is_empty() {
        let deltas =
            pieces(&reply.thinking).into_iter().map(|text| json!({"type": "thinking_delta", "thinking": text}));
        block(json!({"type": "thinking", "thinking": ""}), deltas.collect());
    }
    if !reply.text.is_empty() {
        let deltas = pieces(&reply.text).into_iter().map(|text| json!({"type": "text_delta", "text": text}));
        block(json!({"type": "text", "text": ""}), deltas.collect());
    }
    for (number, (name, input)) in reply.calls.iter().enumerate() {
        let delta = json!({"type": "input_json_delta", "partial_json": input});
        block(json!({"type": "tool_use", "id": format!("toolu_{number}"), "name": name, "input": {}}), vec![delta]);
    }
    let stop = match (reply.is_cut, reply.calls.is_empty()) {
        (true, _) => "max_tokens",
        (false, true) => "end_turn",
        (false, false) => "tool_use",
    };
    events.push(json!({"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {"output_tokens": 5}}));
    events.push(json!({"type": "message_stop"}));
    events
}

fn chat(reply: &PlannedReply) -> Vec<Value> {
    let chunk =
        |delta: Value, finish: Value| json!({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]});
    let mut events: Vec<Value> = Vec::new();
    events
        .extend(pieces(&reply.thinking).into_iter().map(|text| chunk(json!({"reasoning_content": text}), Value::Null)));
    events.extend(pieces(&reply.text).into_iter().map(|text| chunk(json!({"content": text}), Value::Null)));
    for (index, (name, input)) in reply.calls.iter().enumerate() {
        let function = json!({"name": name, "arguments": input});
        let call = json!({"index": index, "id": format!("call_{index}"), "type": "function", "function": function});
        events.push(chunk(json!({"tool_calls": [call]}), Value::Null));
    }
    let finish = match (reply.is_cut, reply.calls.is_empty()) {
        (true, _) => "length",
        (false, true) => "stop",
        (false, false) => "tool_calls",
    };
    events.push(chunk(json!({}), json!(finish)));
    events
}

fn responses(reply: &PlannedReply) -> Vec<Value> {
    let mut events = Vec::new();
    let mut at = 0;
    if !reply.thinking.is_empty() {
        events.extend(
            pieces(&reply.thinking).into_iter().map(
                |text| json!({"type": "response.reasoning_summary_text.delta", "output_index": at, "delta": text}),
            ),
        );
        at += 1;
    }
    if !reply.text.is_empty() {
        events.extend(
            pieces(&reply.text)
                .into_iter()
                .map(|text| json!({"type": "response.output_text.delta", "output_index": at, "delta": text})),
        );
        at += 1;
    }
    for (number, (name, input)) in reply.calls.iter().enumerate() {
        let item =
            json!({"type": "function_call", "call_id": format!("call_{number}"), "name": name, "arguments": input});
        events.push(json!({"type": "response.output_item.done", "output_index": at, "item": item}));
        at += 1;
    }
    let usage = json!({"input_tokens": 10, "output_tokens": 5});
    events.push(if reply.is_cut {
        let details = json!({"reason": "max_output_tokens"});
        json!({"type": "response.incomplete", "response": {"usage": usage, "incomplete_details": details}})
    } else {
        json!({"type": "response.completed", "response": {"usage": usage}})
    });
    events
}

fn gemini(reply: &PlannedReply) -> Vec<Value> {
    let part = |part: Value| json!({"candidates": [{"content": {"role": "model", "parts": [part]}}]});
    let mut events: Vec<Value> = Vec::new();
    events.extend(pieces(&reply.thinking).into_iter().map(|text| part(json!({"text": text, "thought": true}))));
    events.extend(pieces(&reply.text).into_iter().map(|text| part(json!({"text": text}))));
    for (name, input) in &reply.calls {
        // A call comes whole on this wire: one that is cut does not come at all.
        if let Ok(args) = serde_json::from_str::<Value>(input) {
            events.push(part(json!({"functionCall": {"name": name, "args": args}})));
        }
    }
    let finish = if reply.is_cut { "MAX_TOKENS" } else { "STOP" };
    events.push(json!({"candidates": [{"finishReason": finish}]}));
    events
}
