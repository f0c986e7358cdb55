//! Providers: what they send, how they read answers, and how they fail.

#![allow(
    clippy::expect_used,
    reason = "a test that cannot go on says why; clippy spares only the test functions themselves"
)]

use std::path::Path;
use std::sync::Arc;

use belvedere::message::{Dialect, Message, ProviderRow, Secret, ToolInput, ToolSpec, Usage};
use belvedere::provider::table::ProviderTable;
use belvedere::provider::{
    Credential, Feature, Feed, Habits, ProviderError, Request, Service, StopReason, StreamEvent,
};

mod attachments;
mod bounds;
mod choice;
mod conformance;
mod dialects;
mod discover;
mod foreign;
mod http;
mod policy;
mod rate_limiter;
mod rows;
mod scripted;
mod server;
mod servers;
mod sse;
mod too_long;
mod wire_anthropic;
mod wire_gemini;
mod wire_openai;
mod wire_responses;

/// An answer, folded from its events.
#[derive(Debug, Default, PartialEq)]
struct Answer {
    text: String,
    thinking: String,
    signature: String,
    redacted: String,
    calls: Vec<(String, String, ToolInput)>,
    usage: Usage,
    stop: Option<StopReason>,
}

/// Folds events as the loop does, and checks their grammar on the way.
fn fold(events: impl IntoIterator<Item = StreamEvent>) -> Answer {
    let mut answer = Answer::default();
    let mut inputs: Vec<String> = Vec::new();
    for event in events {
        assert!(answer.stop.is_none() || matches!(event, StreamEvent::Usage(_)), "{event:?} after the stop");
        match event {
            StreamEvent::Text(text) => answer.text += &text,
            StreamEvent::Thinking(text) => answer.thinking += &text,
            StreamEvent::ThinkingSignature(text) => answer.signature += &text,
            StreamEvent::RedactedThinking(text) => answer.redacted += &text,
            StreamEvent::Served(_) | StreamEvent::PromptRead { .. } => {}
            StreamEvent::ToolCallStart { index, id, name } => {
                assert_eq!(index, answer.calls.len(), "calls begin in order");
                answer.calls.push((id, name, ToolInput::Malformed(String::new())));
                inputs.push(String::new());
            }
            StreamEvent::ToolCallDelta { index, json } => inputs[index] += &json,
            StreamEvent::Usage(usage) => answer.usage = usage,
            StreamEvent::Stop(reason) => answer.stop = Some(reason),
        }
    }
    for (call, json) in answer.calls.iter_mut().zip(inputs) {
        call.2 = ToolInput::parse(&json);
    }
    answer
}

/// Decodes bytes that arrive in pieces of `size`.
fn decode(mut feed: Feed, bytes: &[u8], size: usize) -> (Answer, Result<(), ProviderError>) {
    let mut events = Vec::new();
    let mut result = Ok(());
    for piece in bytes.chunks(size) {
        result = feed.push(piece);
        events.extend(std::iter::from_fn(|| feed.next_event()));
        if result.is_err() {
            break;
        }
    }
    if result.is_ok() {
        result = feed.end();
        events.extend(std::iter::from_fn(|| feed.next_event()));
    }
    (fold(events), result)
}

fn fixture(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/providers").join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Returns the built-in row of a service.
fn row(name: &str) -> Arc<ProviderRow> {
    ProviderTable::default().get(name).expect("a row").clone()
}

fn key(text: &str) -> Credential {
    Credential::Key(Secret::new(text).expect("a key"))
}

fn service(name: &str) -> Service {
    Service::new(row(name), key("sk-secret-1234"))
}

/// Returns the habits of servers of a dialect, which may have refused settings for reasoning.
fn habits(dialect: Dialect, may_think: bool) -> Habits {
    let habits = Habits::of(dialect);
    if may_think { habits } else { habits.without(Feature::Thinking) }
}

fn object(json: &str) -> ToolInput {
    ToolInput::parse(json)
}

fn spec(name: &str) -> ToolSpec {
    ToolSpec {
        name: name.to_owned(),
        description: format!("{name} it"),
        input_schema: serde_json::json!({"type": "object", "properties": {"path": {"type": "string"}}}),
    }
}

fn request(messages: Vec<Message>, tools: &[&str]) -> Request {
    Request {
        model: "m".to_owned(),
        system: "Be brief.".into(),
        messages: messages.into_iter().map(Arc::new).collect(),
        tools: tools.iter().map(|name| spec(name)).collect(),
        withheld: Arc::default(),
        max_output_tokens: 100,
        effort: None,
        thinking_tokens: None,
        attachments: std::sync::Arc::default(),
        waits_long: false,
        search: None,
    }
}
