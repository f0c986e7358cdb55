//! The two APIs as a server speaks them: a planned answer as the events of its stream, and what a request holds.

use std::sync::Arc;

use belvedere::provider::Provider;
use belvedere::provider::choice::{ModelChoice, ModelPreferences, choose, connect};
use belvedere::provider::rate_limiter::RateLimiters;
use belvedere::provider::table::{ProviderEnv, ProviderTable};
use serde_json::{Value, json};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Api {
    Anthropic,
    Chat,
}

/// What a model answers.
#[derive(Debug, Clone)]
pub(crate) struct Planned {
    /// Piece by piece.
    pub(crate) text: Vec<String>,
    /// Tools and their inputs.
    pub(crate) calls: Vec<(String, Value)>,
}

impl Api {
    /// Returns a connection to a server on loopback.
    pub(crate) fn connect(self, base: &str) -> Arc<dyn Provider> {
        let flag = match self {
            Self::Anthropic => "anthropic/m",
            Self::Chat => "openai/m",
        };
        let env = ProviderEnv::new(ProviderTable::default(), |name| match name {
            "ANTHROPIC_API_KEY" => Some("test-key-of-anthropic".to_owned()),
            "ANTHROPIC_BASE_URL" => Some(base.to_owned()),
            "OPENAI_BASE_URL" => Some(format!("{base}/v1")),
            _ => None,
        });
        let Ok(ModelChoice::Connect(endpoint)) =
            choose(&ModelPreferences { flag: Some(flag.to_owned()), config: None, settings: None, env })
        else {
            panic!("no connection is chosen");
        };
        connect(endpoint, &RateLimiters::default()).0
    }

    /// Returns the number of tool results in a request and its first user text.
    pub(crate) fn conversation(self, request: &Value) -> (usize, String) {
        let messages = request["messages"].as_array().unwrap();
        let first = messages.iter().find(|message| message["role"] == "user").unwrap();
        (self.results(request).len(), first["content"].to_string())
    }

    /// Returns the ids and the words of the tool results in a request.
    pub(crate) fn results(self, request: &Value) -> Vec<(String, String)> {
        let messages = request["messages"].as_array().unwrap();
        let of = |part: &Value, id: &str| (part[id].as_str().unwrap().to_owned(), part["content"].to_string());
        match self {
            Self::Chat => messages
                .iter()
                .filter(|message| message["role"] == "tool")
                .map(|message| of(message, "tool_call_id"))
                .collect(),
            Self::Anthropic => {
                let parts = messages.iter().filter_map(|message| message["content"].as_array()).flatten();
                parts.filter(|part| part["type"] == "tool_result").map(|part| of(part, "tool_use_id")).collect()
            }
        }
    }

    /// Returns the stream that says so, event by event. The last but one is the stop.
    pub(crate) fn events(self, plan: &Planned) -> Vec<String> {
        match self {
            Self::Anthropic => anthropic(plan),
            Self::Chat => chat(plan),
        }
    }

    /// Returns one event as this API frames it.
    pub(crate) fn event(self, value: &Value) -> String {
        match self {
            Self::Anthropic => format!("event: {}\ndata: {value}\n\n", value["type"].as_str().unwrap_or("unknown")),
            Self::Chat => format!("data: {value}\n\n"),
        }
    }
}

fn anthropic(plan: &Planned) -> Vec<String> {
    let event = |value: Value| Api::Anthropic.event(&value);
    let usage = json!({"input_tokens": 10, "output_tokens": 1});
    let mut pieces = vec![
        event(
            json!({"type": "message_start", "message": {"id": "m", "type": "message", "role": "assistant", "content": [], "model": "m", "stop_reason": null, "usage": usage}}),
        ),
        event(json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}})),
    ];
    for text in &plan.text {
        pieces.push(event(
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}}),
        ));
    }
    pieces.push(event(json!({"type": "content_block_stop", "index": 0})));
    for (at, (name, input)) in plan.calls.iter().enumerate() {
        let index = at + 1;
        pieces.push(event(json!({"type": "content_block_start", "index": index, "content_block": {"type": "tool_use", "id": format!("toolu_{at}"), "name": name, "input": {}}})));
        pieces.push(event(json!({"type": "content_block_delta", "index": index, "delta": {"type": "input_json_delta", "partial_json": input.to_string()}})));
        pieces.push(event(json!({"type": "content_block_stop", "index": index})));
    }
    let stop = if plan.calls.is_empty() { "end_turn" } else { "tool_use" };
    pieces.push(event(json!({"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {"output_tokens": 5}})));
    pieces.push(event(json!({"type": "message_stop"})));
    pieces
}

fn chat(plan: &Planned) -> Vec<String> {
    let chunk = |delta: Value, finish: Value| {
        Api::Chat.event(&json!({"id": "c", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}))
    };
    let mut pieces = Vec::new();
    for text in &plan.text {
        pieces.push(chunk(json!({"role": "assistant", "content": text}), Value::Null));
    }
    for (index, (name, input)) in plan.calls.iter().enumerate() {
        let function = json!({"name": name, "arguments": input.to_string()});
        let call = json!({"index": index, "id": format!("call_{index}"), "type": "function", "function": function});
        pieces.push(chunk(json!({"tool_calls": [call]}), Value::Null));
    }
    let finish = if plan.calls.is_empty() { "stop" } else { "tool_calls" };
    pieces.push(chunk(json!({}), json!(finish)));
    pieces.push("data: [DONE]\n\n".to_owned());
    pieces
}
