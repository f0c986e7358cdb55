//! What is sent over the Gemini API, and what its errors mean.

use std::time::Duration;

use belvedere::agent::turn::TurnBuilder;
use belvedere::message::{
    AgentId, AssistantMessage, Attachment, Block, Dialect, Effort, Message, ResultPart, ToolCall, ToolInput, ToolResult,
};
use belvedere::provider::{ErrorKind, Feature, Http, Provider, Request, Service, StopReason, gemini};
use futures::StreamExt;
use serde_json::{Value, json};

use super::server::{Reply, Server};
use super::{decode, fold, habits, key, object, request, row, service, spec};

fn body(request: &Request, may_think: bool) -> (Value, Vec<Feature>) {
    let (json, held) = gemini::request_body(request, &habits(Dialect::Compatible, may_think)).expect("a body");
    (serde_json::from_slice(&json).expect("JSON"), held)
}

fn call(id: &str, input: ToolInput) -> Block {
    Block::ToolCall(ToolCall { id: id.to_owned(), name: "Read".to_owned(), input })
}

fn thought(text: &str, signature: &str) -> Block {
    Block::Thinking { text: text.to_owned(), signature: Some(signature.to_owned()) }
}

fn text(text: &str) -> Block {
    Block::Text { text: text.to_owned() }
}

fn reply(content: Vec<Block>) -> Message {
    Message::Assistant(AssistantMessage::new(content))
}

fn conversation() -> Request {
    let picture = ResultPart::Image { media_type: "image/png".to_owned(), data: "AAAA".to_owned() };
    let messages = vec![
        Message::user("Look at [Image #1]"),
        reply(vec![
            thought("Hm.", "gemini:thought:S0"),
            text("I look."),
            thought("", "gemini:text:S1"),
            thought("", "gemini:call:S2"),
            call("c1", object(r#"{"b": 1}"#)),
            call("c2", ToolInput::Malformed("{".to_owned())),
        ]),
        Message::ToolResults {
            results: vec![
                ToolResult { call_id: "c1".to_owned(), content: vec![picture], is_error: false },
                ToolResult::error("c2", "no"),
            ],
        },
        // Of another service.
        reply(vec![thought("Elsewhere.", "EqQBCg=="), call("c3", object("{}"))]),
        Message::ToolResults { results: vec![ToolResult::text("c3", "done")] },
        reply(vec![text("one"), thought("", "gemini:empty:S3")]),
        Message::user(" "),
        Message::user("b"),
    ];
    let attachment = Attachment { media_type: "application/pdf", data: "JVBERi0=".into() };
    Request {
        model: "gemini-4-argon".to_owned(),
        effort: Some(Effort::Medium),
        attachments: std::sync::Arc::new([(1, attachment)].into()),
        waits_long: false,
        ..request(messages, &["Read"])
    }
}

#[test]
fn a_conversation_is_written_with_each_signature_on_its_part() {
    let called = |id: &str, args: Value| json!({"id": id, "name": "Read", "args": args});
    let response =
        |id: &str, response: Value| json!({"functionResponse": {"id": id, "name": "Read", "response": response}});
    let expected = json!({
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "generationConfig": {
            "maxOutputTokens": 100,
            "thinkingConfig": {"includeThoughts": true, "thinkingLevel": "medium"},
        },
        "tools": [{"functionDeclarations": [{
            "name": "Read",
            "description": "Read it",
            "parametersJsonSchema": {"type": "object", "properties": {"path": {"type": "string"}}},
        }]}],
        "contents": [
            {"role": "user", "parts": [
                {"inlineData": {"mimeType": "application/pdf", "data": "JVBERi0="}},
                {"text": "Look at [Image #1]"},
            ]},
            {"role": "model", "parts": [
                {"text": "Hm.", "thought": true, "thoughtSignature": "S0"},
                {"text": "I look.", "thoughtSignature": "S1"},
                {"functionCall": called("c1", json!({"b": 1})), "thoughtSignature": "S2"},
                {"functionCall": called("c2", json!({"malformed_input": "{"}))},
            ]},
            {"role": "user", "parts": [
                response("c1", json!({"output": ""})),
                response("c2", json!({"error": "no"})),
                {"inlineData": {"mimeType": "image/png", "data": "AAAA"}},
            ]},
            {"role": "model", "parts": [
                {"functionCall": called("c3", json!({})), "thoughtSignature": "skip_thought_signature_validator"},
            ]},
            {"role": "user", "parts": [response("c3", json!({"output": "done"}))]},
            {"role": "model", "parts": [{"text": "one"}, {"text": "", "thoughtSignature": "S3"}]},
            {"role": "user", "parts": [{"text": "b"}]},
        ],
    });
    let (body, held) = body(&conversation(), true);
    assert_eq!(body, expected);
    assert_eq!(held, [Feature::Documents, Feature::Pictures, Feature::Thinking]);
}

#[test]
fn signatures_come_back_as_they_came() {
    let parts = json!([
        {"text": "Hm.", "thought": true},
        {"text": "I look.", "thoughtSignature": "a+/="},
        {"functionCall": {"id": "f1", "name": "Read", "args": {"a": 1}}, "thoughtSignature": "b:c"},
        {"functionCall": {"id": "f2", "name": "Read", "args": {}}},
        {"text": "", "thoughtSignature": "d"},
    ]);
    let answer = json!({"candidates": [{"content": {"parts": parts}, "finishReason": "STOP"}]});
    let mut feed = gemini::feed(service("gemini"));
    feed.document(answer.to_string().as_bytes()).expect("an answer");
    let mut builder = TurnBuilder::default();
    for event in std::iter::from_fn(|| feed.next_event()) {
        builder.push(event);
    }
    let turn = builder.finish(AgentId::MAIN, &mut std::collections::HashSet::new());
    let sent = Request { model: "gemini-4-argon".to_owned(), ..request(vec![Message::Assistant(turn.message)], &[]) };
    let mut expected = parts;
    // A thought without a proof is nothing that the service reads again.
    expected.as_array_mut().expect("parts").remove(0);
    assert_eq!(body(&sent, true).0["contents"][0]["parts"], expected);
}

#[test]
fn thinking_is_asked_for_as_each_model_takes_it() {
    let config = |model: &str, effort, may_think| {
        let request = Request { model: model.to_owned(), effort, max_output_tokens: 32_000, ..conversation() };
        body(&request, may_think).0["generationConfig"].get("thinkingConfig").cloned()
    };
    let shown = |key: &str, value: Value| Some(json!({"includeThoughts": true, key: value}));
    assert_eq!(config("gemini-2.5-pro", None, true), shown("thinkingBudget", json!(-1)));
    assert_eq!(config("gemini-2.5-flash", Some(Effort::Max), true), shown("thinkingBudget", json!(24_576)));
    assert_eq!(config("gemini-2.5-flash", Some(Effort::Low), true), shown("thinkingBudget", json!(4_000)));
    assert_eq!(config("gemini-3.8-flash", Some(Effort::High), true), shown("thinkingLevel", json!("high")));
    // What the user says of tokens counts more than an effort, where they are counted.
    let tokens = |model: &str, tokens| {
        let effort = Some(Effort::High);
        let request = Request { model: model.to_owned(), effort, thinking_tokens: Some(tokens), ..conversation() };
        body(&request, true).0["generationConfig"].get("thinkingConfig").cloned()
    };
    assert_eq!(tokens("gemini-2.5-flash", 2_000), shown("thinkingBudget", json!(2_000)));
    assert_eq!(tokens("gemini-2.5-flash", 900_000), shown("thinkingBudget", json!(24_576)));
    assert_eq!(tokens("gemini-2.5-flash", 0), Some(json!({"includeThoughts": false, "thinkingBudget": 0})));
    assert_eq!(tokens("gemini-3.8-flash", 2_000), shown("thinkingLevel", json!("high")));
    assert_eq!(tokens("gemini-3.8-flash", 0), shown("thinkingLevel", json!("low")));
    assert_eq!(config("custom-model", Some(Effort::Medium), true), shown("thinkingLevel", json!("medium")));
    assert_eq!(config("gemini-9-new", None, true), Some(json!({"includeThoughts": true})));
    assert_eq!(config("gemini-2.0-flash", None, true), None);
    assert_eq!(config("gemini-4-argon", None, false), None);
}

#[test]
fn a_turn_without_tools_keeps_those_that_the_service_has_read() {
    let request = Request { withheld: [spec("Read")].into(), ..request(vec![Message::user("a")], &[]) };
    let (body, _) = body(&request, true);
    assert_eq!(body["tools"][0]["functionDeclarations"][0]["name"], "Read");
    assert_eq!(body["toolConfig"], json!({"functionCallingConfig": {"mode": "NONE"}}));
}

/// Returns what is sent for the input of a tool.
fn schema(input_schema: Value) -> Value {
    let tool = belvedere::message::ToolSpec { input_schema, ..spec("Read") };
    let request = Request { tools: [tool].into(), ..request(vec![Message::user("a")], &[]) };
    body(&request, true).0["tools"][0]["functionDeclarations"][0]["parametersJsonSchema"].clone()
}

#[test]
fn schemas_are_written_in_the_words_that_the_service_knows() {
    let full = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "path": {"type": "string", "pattern": "^/", "minLength": 1, "default": "/", "description": "Where"},
            "kind": {"const": "file"},
            "size": {"oneOf": [{"type": "integer", "exclusiveMinimum": 0}, {"type": "null"}]},
            "odd": {"enum": ["a", null, true]},
            "of": {"description": "dropped beside a reference", "$ref": "#/definitions/Of"},
            "both": {"allOf": [{"type": "object", "properties": {"a": true}}, {"required": ["a", "gone"], "if": {}}]},
        },
        "required": ["path", "elsewhere"],
        "definitions": {"Of": {"type": "array", "items": {"type": "string", "contentEncoding": "base64"}}},
    });
    let expected = json!({
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "path": {"type": "string", "description": "Where"},
            "kind": {"enum": ["file"]},
            "size": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
            "odd": {},
            "of": {"$ref": "#/$defs/Of"},
            "both": {"type": "object", "properties": {"a": {}}, "required": ["a"]},
        },
        "required": ["path"],
        "$defs": {"Of": {"type": "array", "items": {"type": "string"}}},
    });
    assert_eq!(schema(full), expected);
    for none in [json!(true), json!([1]), json!("x"), json!({"type": "string"})] {
        assert_eq!(schema(none), json!({"type": "object"}));
    }
    // However deep it is, it ends.
    let deep = (0..100).fold(json!({"type": "string"}), |inner, _| json!({"type": "array", "items": inner}));
    assert!(schema(json!({"type": "object", "properties": {"a": deep}})).to_string().len() < 2_000);
}

#[tokio::test]
async fn a_request_has_its_address_and_its_key_and_no_name_of_a_model_leads_elsewhere() {
    for (suffix, model, path) in [
        ("", "gemini-4-argon", "/v1beta/models/gemini-4-argon:streamGenerateContent"),
        ("/v1beta/", "models/gemini-4-argon", "/v1beta/models/gemini-4-argon:streamGenerateContent"),
        ("/v1", "tunedModels/mine", "/v1/tunedModels/mine:streamGenerateContent"),
        ("", "../../v9/x?key=1#", "/v1beta/models/%2E%2E%2F%2E%2E%2Fv9%2Fx%3Fkey%3D1%23:streamGenerateContent"),
    ] {
        let server = Server::start(Reply::events(super::fixture("gemini_tools.sse"))).await;
        let base = format!("{}{suffix}", server.base).parse().expect("a base");
        let http = Http::new(Service::new(row("gemini"), key("sk-secret-1234")), &base);
        let asked = Request { model: model.to_owned(), ..request(vec![Message::user("Hi")], &["Read"]) };
        let stream = http.stream(asked).await.expect("an answer");
        let events: Vec<_> = stream.map(|event| event.expect("an event")).collect().await;
        assert_eq!(fold(events).calls.len(), 2);
        let seen = &server.seen()[0];
        assert_eq!((seen.path.as_str(), seen.query.as_deref()), (path, Some("alt=sse")));
        assert_eq!(seen.headers["x-goog-api-key"], "sk-secret-1234");
        assert!(!seen.headers.contains_key("authorization"));
    }
}

async fn refusal(status: u16, error: Value) -> belvedere::provider::ProviderError {
    let body = json!([{"error": error}]).to_string();
    let server = Server::start(Reply::new(status, "application/json", body)).await;
    let base = server.base.parse().expect("a base");
    let http = Http::new(Service::new(row("gemini"), key("sk-secret-1234")), &base);
    http.stream(request(vec![Message::user("Hi")], &[])).await.err().expect("a refusal")
}

#[tokio::test]
async fn errors_in_googles_form_say_what_to_do() {
    let limited = |details: Value| json!({"code": 429, "message": "Quota exceeded", "status": "RESOURCE_EXHAUSTED", "details": details});
    let info = json!({"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.5s"});
    let quota =
        |id: &str| json!({"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [{"quotaId": id}]});
    let minute = refusal(429, limited(json!([quota("GenerateRequestsPerMinutePerProject"), info]))).await;
    assert_eq!((minute.kind, minute.retry_after), (ErrorKind::RateLimit, Some(Duration::from_millis(34_500))));
    let day = refusal(429, limited(json!([quota("GenerateRequestsPerDayPerProject"), info]))).await;
    assert_eq!((day.kind, day.is_transient()), (ErrorKind::BadRequest, false));
    let odd = refusal(
        429,
        limited(json!([{"retryDelay": "soon"}, {"retryDelay": "-3s"}, 7, {"violations": {"quotaId": []}}])),
    )
    .await;
    assert_eq!((odd.kind, odd.retry_after), (ErrorKind::RateLimit, None));
    let reason = json!([{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}]);
    let key = refusal(
        400,
        json!({"code": 400, "message": "API key not valid.", "status": "INVALID_ARGUMENT", "details": reason}),
    )
    .await;
    assert_eq!(key.kind, ErrorKind::Authentication);
    assert!(key.to_string().contains("GEMINI_API_KEY") || key.to_string().contains("127.0.0.1"), "{key}");
    let full = refusal(503, json!({"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"})).await;
    assert_eq!(full.kind, ErrorKind::Overloaded);
}

#[test]
fn an_answer_that_was_blocked_or_cannot_be_read_is_said_as_such() {
    let read = |json: Value| decode(gemini::feed(service("gemini")), format!("data: {json}\n\n").as_bytes(), 9);
    let (answer, result) =
        read(json!({"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {"promptTokenCount": 4}}));
    assert_eq!((result, answer.stop, answer.usage.input), (Ok(()), Some(StopReason::Refusal), 4));
    for reason in ["MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL"] {
        let (_, result) =
            read(json!({"candidates": [{"finishReason": reason, "finishMessage": "print(\u{1b}[31mx)"}]}));
        let error = result.expect_err("no answer");
        assert!(error.is_transient() && !error.to_string().contains('\u{1b}'), "{error:?}");
    }
}
