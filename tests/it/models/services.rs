//! Strict services, each a row of rules, and one conversation of a tool call with each of them.

use std::path::Path;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use belvedere::agent::{EventKind, Status};
use belvedere::message::{AgentId, ProviderRow};
use belvedere::provider::Provider;
use belvedere::provider::choice::{ModelChoice, ModelPreferences, choose, connect};
use belvedere::provider::rate_limiter::RateLimiters;
use belvedere::provider::table::{ProviderEnv, ProviderTable};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::support::{Parts, Session, model, serve};

#[derive(Deserialize)]
struct Fixture {
    service: Vec<Row>,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    name: String,
    #[serde(default = "chat")]
    wire: String,
    model: String,
    dialect: Option<String>,
    /// JSON that the reply with the call holds beside it.
    delta: Option<String>,
    /// JSON that the call itself holds beside its function.
    call: Option<String>,
    requests: usize,
    #[serde(default)]
    refuses: Vec<Refusal>,
}

fn chat() -> String {
    "openai".to_owned()
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Refusal {
    rule: Rule,
    says: String,
    #[serde(default = "bad_request")]
    status: u16,
}

fn bad_request() -> u16 {
    400
}

/// What a service refuses.
#[derive(Clone, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Rule {
    /// A reply with calls that lacks this field.
    LacksWithCalls(String),
    /// A field, by its place.
    Has(String),
    /// A number that is larger than this.
    Above(String, u64),
    /// A reply with any field but these.
    UnknownInReply(Vec<String>),
    /// More output than the window leaves beside an input of this size.
    Window(u64, u64),
    NullContent,
    NullInChoices,
    LongIds,
    /// A reply whose first call has no signature of Gemini's.
    UnsignedCall,
    /// A reply of the Messages API with or without a thought.
    ThinkingBlock,
    NoThinkingBlock,
}

fn replies(body: &Value) -> Vec<&Value> {
    let messages = body["messages"].as_array().into_iter().flatten();
    messages.filter(|message| message["role"] == "assistant").collect()
}

fn calls(body: &Value) -> Vec<&Value> {
    replies(body).into_iter().flat_map(|reply| reply["tool_calls"].as_array().into_iter().flatten()).collect()
}

/// Returns `true` if a choice somewhere is `null` where the type is a plain text.
fn has_null_choice(value: &Value) -> bool {
    let is_one = value["type"] == "string" && value["enum"].as_array().is_some_and(|all| all.contains(&Value::Null));
    is_one
        || match value {
            Value::Object(fields) => fields.values().any(has_null_choice),
            Value::Array(items) => items.iter().any(has_null_choice),
            _ => false,
        }
}

impl Rule {
    fn is_broken(&self, body: &Value) -> bool {
        let with_calls = replies(body).into_iter().filter(|reply| reply.get("tool_calls").is_some());
        let first_is_thought = |reply: &Value| reply["content"][0]["type"] == "thinking";
        match self {
            Self::LacksWithCalls(field) => {
                let is_missing = |value: &Value| value.is_null() || value == "" || value == &json!([]);
                with_calls.into_iter().any(|reply| is_missing(&reply[field.as_str()]))
            }
            Self::Has(place) => body.pointer(place).is_some(),
            Self::Above(place, most) => body.pointer(place).and_then(Value::as_u64).is_some_and(|asked| asked > *most),
            Self::UnknownInReply(known) => {
                let fields = replies(body).into_iter().filter_map(Value::as_object).flat_map(serde_json::Map::keys);
                fields.into_iter().any(|field| !known.contains(field))
            }
            Self::Window(window, input) => {
                let asked = body["max_tokens"].as_u64().or(body["max_completion_tokens"].as_u64());
                asked.expect("a limit") + input > *window
            }
            Self::NullContent => replies(body).iter().any(|reply| reply["content"].is_null()),
            Self::NullInChoices => has_null_choice(&body["tools"]),
            Self::LongIds => {
                let is_short = |id: &str| id.len() == 9 && id.chars().all(|c| c.is_ascii_alphanumeric());
                calls(body).iter().any(|call| !is_short(call["id"].as_str().expect("an id")))
            }
            Self::UnsignedCall => with_calls
                .into_iter()
                .any(|reply| reply.pointer("/tool_calls/0/extra_content/google/thought_signature").is_none()),
            Self::ThinkingBlock => replies(body).into_iter().any(first_is_thought),
            Self::NoThinkingBlock => !replies(body).into_iter().all(first_is_thought),
        }
    }
}

fn data(events: &[Value]) -> String {
    events.iter().map(|event| format!("data: {event}\n\n")).collect()
}

/// Returns the reply with a call, or the answer once the call has its result.
fn said(row: &Row, body: &str) -> String {
    let is_answered = ["\"role\":\"tool\"", "\"tool_result\"", "function_call_output", "functionResponse"];
    let is_answered = is_answered.iter().any(|mark| body.contains(mark));
    let input = json!({"path": "."});
    let merged = |mut value: Value, more: &Option<String>| {
        let more = more.as_deref().map_or(json!({}), |more| serde_json::from_str(more).expect("JSON"));
        let fields = value.as_object_mut().expect("an object");
        fields.extend(more.as_object().expect("an object").clone());
        value
    };
    match (row.wire.as_str(), is_answered) {
        ("openai", false) => {
            let function = json!({"name": "LS", "arguments": input.to_string()});
            let call = merged(json!({"index": 0, "id": "call_1", "type": "function", "function": function}), &row.call);
            let delta = merged(json!({"role": "assistant", "content": null}), &row.delta);
            let chunk =
                |delta: Value, end: Value| json!({"choices": [{"index": 0, "delta": delta, "finish_reason": end}]});
            data(&[
                chunk(delta, Value::Null),
                chunk(json!({"tool_calls": [call]}), Value::Null),
                chunk(json!({}), "tool_calls".into()),
            ])
        }
        ("openai", true) => {
            data(&[json!({"choices": [{"index": 0, "delta": {"content": "Done."}, "finish_reason": "stop"}]})])
        }
        ("anthropic", false) => {
            data(&[json!({"type": "message", "role": "assistant", "stop_reason": "tool_use", "content": [
                {"type": "thinking", "thinking": "I look."},
                {"type": "tool_use", "id": "toolu_1", "name": "LS", "input": input},
            ]})])
        }
        ("anthropic", true) => data(&[
            json!({"type": "message", "stop_reason": "end_turn", "content": [{"type": "text", "text": "Done."}]}),
        ]),
        ("gemini", false) => data(&[json!({"candidates": [{"finishReason": "STOP", "content": {"parts": [
            {"functionCall": {"name": "LS", "args": input}, "thoughtSignature": "c2ln"},
        ]}}]})]),
        ("gemini", true) => {
            data(&[json!({"candidates": [{"finishReason": "STOP", "content": {"parts": [{"text": "Done."}]}}]})])
        }
        (_, false) => data(&[json!({"type": "response.completed", "response": {"output": [
            {"type": "function_call", "call_id": "call_1", "name": "LS", "arguments": input.to_string()},
        ]}})]),
        (_, true) => data(&[json!({"type": "response.completed", "response": {"output": [
            {"type": "message", "content": [{"type": "output_text", "text": "Done."}]},
        ]}})]),
    }
}

/// What a service was asked, and whether it refused that.
type Asked = Arc<Mutex<Vec<(Value, Option<String>)>>>;

fn answer(row: &Row, asked: &Asked, body: &str) -> Response {
    let request: Value = serde_json::from_str(body).expect("JSON");
    let refusal = row.refuses.iter().find(|refusal| refusal.rule.is_broken(&request));
    asked.lock().unwrap().push((request, refusal.map(|refusal| refusal.says.clone())));
    match refusal {
        Some(Refusal { says, status, .. }) => {
            let error = json!({"error": {"message": says, "type": "invalid_request_error"}}).to_string();
            (StatusCode::from_u16(*status).unwrap(), [("content-type", "application/json")], error).into_response()
        }
        None => ([("content-type", "text/event-stream")], said(row, body)).into_response(),
    }
}

/// Connects to a service that a row of the user's settings describes.
pub(super) fn connected(wire: &str, dialect: Option<&str>, place: &str) -> Arc<dyn Provider> {
    let base = if wire == "gemini" { format!("http://{place}/v1beta") } else { format!("http://{place}/v1") };
    let mut row = json!({"wire": wire, "url": base});
    if let Some(dialect) = dialect {
        row["dialect"] = dialect.into();
    }
    let row: ProviderRow = serde_json::from_value(row).unwrap();
    let env = ProviderEnv::new(ProviderTable::with(&[row.named("own").unwrap()]), |_| None);
    let flag = Some("own/m".to_owned());
    let Ok(ModelChoice::Connect(endpoint)) = choose(&ModelPreferences { flag, config: None, settings: None, env })
    else {
        panic!("no connection is chosen");
    };
    connect(endpoint, &RateLimiters::default()).0
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_strict_service_answers_in_the_end_and_is_asked_no_more_than_it_takes() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/models/services.toml");
    let fixture: Fixture = toml::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    assert!(fixture.service.len() >= 16);
    for row in fixture.service {
        let asked = Asked::default();
        let (server, seen) = (row.clone(), asked.clone());
        let app = Router::new().fallback(move |body: Bytes| async move {
            answer(&server, &seen, std::str::from_utf8(&body).expect("UTF-8"))
        });
        let provider = connected(&row.wire, row.dialect.as_deref(), &serve(app).await);
        let model = belvedere::provider::Model { id: row.model.clone(), ..model() };
        let mut session = Session::start(Parts { model, ..Parts::new(provider) });
        let outcome = session.ask("go").await;
        let asked = std::mem::take(&mut *asked.lock().unwrap());
        let refusals: Vec<_> = asked.iter().filter_map(|(_, refusal)| refusal.as_deref()).collect();
        let name = &row.name;
        assert_eq!(
            (outcome.status, outcome.text.as_str()),
            (Status::Completed, "Done."),
            "{name}: {:?} {refusals:?}",
            outcome.reason
        );
        assert_eq!(asked.len(), row.requests, "{name}: {refusals:?}");
        let notices: Vec<_> =
            session.of(AgentId::MAIN).filter(|kind| matches!(kind, EventKind::Notice { .. })).collect();
        assert!(notices.is_empty(), "{name}: a form is nothing to speak of: {notices:?}");
        session.quit().await;
    }
}

/// Plays a server whose first answer is a refusal of what the model wrote; returns the requests that it got.
async fn refused_call(first: (u16, &'static str, String)) -> (Status, Vec<Value>) {
    let asked: Arc<Mutex<Vec<Value>>> = Arc::default();
    let seen = asked.clone();
    let app = Router::new().fallback(move |body: Bytes| async move {
        let mut asked = seen.lock().unwrap();
        asked.push(serde_json::from_slice(&body).expect("JSON"));
        if asked.len() == 1 {
            let (status, kind, text) = first;
            return (StatusCode::from_u16(status).unwrap(), [("content-type", kind)], text).into_response();
        }
        let end = json!({"choices": [{"index": 0, "delta": {"content": "Done."}, "finish_reason": "stop"}]});
        ([("content-type", "text/event-stream")], data(&[end])).into_response()
    });
    let mut session = Session::start(Parts::new(connected("openai", None, &serve(app).await)));
    let outcome = session.ask("go").await;
    session.quit().await;
    let asked = std::mem::take(&mut *asked.lock().unwrap());
    (outcome.status, asked)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_the_server_refuses_goes_back_to_the_model() {
    let error = |written: &str| {
        let words = "Tool call validation failed: parameters for tool Read did not match schema";
        json!({"error": {"message": words, "type": "invalid_request_error", "code": "tool_use_failed", "failed_generation": written}})
    };
    let begun = json!({"choices": [{"index": 0, "delta": {"content": "I look."}, "finish_reason": null}]});
    for (written, heard) in [
        (r#"{"name": "Read", "arguments": {"file_path": 5, "nonsense_9": {}}}"#, "Read"),
        (r#"{"name": "Read", "arguments": "{\"nonsense_9\": 1}"}"#, "Read"),
        (r#"[{"name": "Nothing", "parameters": {}}]"#, "There is no tool `Nothing` here"),
    ] {
        let stream = |event: &str| format!("{}{event}data: {}\n\n", data(std::slice::from_ref(&begun)), error(written));
        for first in [
            (400, "application/json", error(written).to_string()),
            (200, "text/event-stream", stream("event: error\n")),
            (200, "text/event-stream", stream("")),
        ] {
            let (status, asked) = refused_call(first).await;
            assert_eq!((status, asked.len()), (Status::Completed, 2), "{written}");
            let messages = asked[1]["messages"].as_array().unwrap();
            let result = messages.last().unwrap();
            assert!(result["role"] == "tool" && result["content"].as_str().unwrap().contains(heard), "{result}");
            let call = &messages[messages.len() - 2]["tool_calls"][0];
            assert_eq!(call["id"], result["tool_call_id"], "{messages:?}");
        }
    }
    // What is no call is asked for again.
    let (status, asked) = refused_call((400, "application/json", error("<function=Read{oh").to_string())).await;
    assert_eq!((status, asked.len()), (Status::Completed, 2));
    assert_eq!(asked[0]["messages"], asked[1]["messages"]);
}
