//! What is sent over the Responses API.

use belvedere::message::{
    AssistantMessage, Block, Dialect, Effort, Message, ResultPart, ToolCall, ToolInput, ToolResult,
};
use belvedere::provider::{Feature, Habits, Request, anthropic, responses};
use serde_json::{Value, json};

use super::{habits, object, request, spec};

fn body(request: &Request, may_think: bool) -> (Value, Vec<Feature>) {
    let (json, held) = responses::request_body(request, &habits(Dialect::OpenAi, may_think)).expect("a body");
    (serde_json::from_slice(&json).expect("JSON"), held)
}

fn conversation() -> Request {
    let call = |id: &str, input| Block::ToolCall(ToolCall { id: id.to_owned(), name: "Read".to_owned(), input });
    let thought =
        |text: &str, signature: &str| Block::Thinking { text: text.to_owned(), signature: Some(signature.to_owned()) };
    let text = |text: &str| Block::Text { text: text.to_owned() };
    let picture = ResultPart::Image { media_type: "image/png".to_owned(), data: "AAAA".to_owned() };
    let messages = vec![
        Message::user("a"),
        Message::Assistant(AssistantMessage::new(vec![
            thought("Hm.", "responses:rs_1:gAAA"),
            text("I look."),
            thought("", "responses:gBBB"),
            call("c1", object(r#"{"b": 1}"#)),
            call("c2", ToolInput::Malformed("{".to_owned())),
        ])),
        Message::ToolResults {
            results: vec![
                ToolResult { call_id: "c1".to_owned(), content: vec![picture], is_error: false },
                ToolResult::error("c2", "no"),
            ],
        },
        // Of another service, and of an answer that was cut off.
        Message::Assistant(AssistantMessage::new(vec![
            thought("Elsewhere.", "EqQBCg=="),
            text("one"),
            thought("cut", "responses:gCCC"),
        ])),
        Message::user(" "),
        Message::user("b"),
    ];
    Request { model: "gpt-5.2".to_owned(), effort: Some(Effort::Max), ..request(messages, &["Read"]) }
}

#[test]
fn a_conversation_is_written_with_its_reasoning_in_place() {
    let call = |id: &str, arguments: &str| json!({"type": "function_call", "call_id": id, "name": "Read", "arguments": arguments});
    let said = |text: &str| json!({"type": "message", "role": "assistant", "content": text});
    let asked =
        |text: &str| json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]});
    let expected = json!({
        "model": "gpt-5.2",
        "instructions": "Be brief.",
        "max_output_tokens": 100,
        "reasoning": {"effort": "xhigh", "summary": "auto"},
        "include": ["reasoning.encrypted_content"],
        "store": false,
        "stream": true,
        "tools": [{
            "type": "function",
            "name": "Read",
            "description": "Read it",
            "parameters": {"type": "object", "properties": {"path": {"type": "string"}}},
            "strict": false,
        }],
        "input": [
            asked("a"),
            {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Hm."}], "encrypted_content": "gAAA"},
            said("I look."),
            {"type": "reasoning", "summary": [], "encrypted_content": "gBBB"},
            call("c1", r#"{"b":1}"#),
            call("c2", r#"{"malformed_input":"{"}"#),
            {"type": "function_call_output", "call_id": "c1", "output": [
                {"type": "input_text", "text": "(no output)"},
                {"type": "input_image", "image_url": "data:image/png;base64,AAAA", "detail": "auto"},
            ]},
            {"type": "function_call_output", "call_id": "c2", "output": "Error: no"},
            said("one"),
            asked("b"),
        ],
    });
    let (body, held) = body(&conversation(), true);
    assert_eq!(body, expected);
    assert_eq!(held, [Feature::Pictures, Feature::Thinking]);
}

#[test]
fn a_model_that_does_not_reason_gets_no_word_of_it() {
    let elsewhere = Request { model: "gpt-4.1".to_owned(), effort: None, ..conversation() };
    for (request, may_think) in [(&elsewhere, true), (&conversation(), false)] {
        let (body, _) = body(request, may_think);
        assert_eq!((body.get("reasoning"), body.get("include")), (None, None));
        assert!(!body["input"].to_string().contains("encrypted_content"), "{body}");
    }
}

#[test]
fn a_model_that_nobody_knows_is_told_how_hard_to_think_if_it_is_asked_for() {
    let asked = Request { model: "grok-9".to_owned(), effort: Some(Effort::High), ..conversation() };
    assert_eq!(body(&asked, true).0["reasoning"], json!({"effort": "high", "summary": "auto"}));
    let unasked = Request { effort: None, ..asked };
    assert_eq!(body(&unasked, true).0.get("reasoning"), None);
}

#[test]
fn a_turn_without_tools_keeps_those_that_the_service_has_read() {
    let request = Request { withheld: [spec("Read")].into(), ..request(vec![Message::user("a")], &[]) };
    let (body, _) = body(&request, true);
    assert_eq!((&body["tools"][0]["name"], &body["tool_choice"]), (&json!("Read"), &json!("none")));
}

#[test]
fn the_messages_api_is_not_sent_reasoning_of_this_one() {
    let (json, _) = anthropic::request_body(&conversation(), &Habits::of(Dialect::Anthropic)).expect("a body");
    let body: Value = serde_json::from_slice(&json).expect("JSON");
    let text = body["messages"].to_string();
    assert!(text.contains("EqQBCg==") && !text.contains("gAAA"), "{text}");
}

#[test]
fn a_search_is_a_tool_of_the_service_and_its_citations_are_read() {
    use belvedere::message::{SearchForm, ServedKind};
    use belvedere::provider::{SearchBounds, StreamEvent};
    let bounds = SearchBounds {
        form: SearchForm::Tool,
        allowed_domains: vec!["docs.rs".to_owned()],
        blocked_domains: Vec::new(),
    };
    let request = Request { tools: std::sync::Arc::default(), search: Some(bounds), ..conversation() };
    let (json, _) = responses::request_body(&request, &Habits::of(Dialect::OpenAi)).expect("a body");
    let body: Value = serde_json::from_slice(&json).expect("JSON");
    assert_eq!(body["tools"], json!([{"type": "web_search", "filters": {"allowed_domains": ["docs.rs"]}}]));
    let cited =
        json!({"type": "url_citation", "url": "https://docs.rs/x", "title": "x", "start_index": 0, "end_index": 2});
    let message =
        json!({"type": "message", "content": [{"type": "output_text", "text": "It is.", "annotations": [cited]}]});
    let output = json!([{"type": "web_search_call", "id": "ws_1", "status": "completed"}, message]);
    let usage = json!({"input_tokens": 9, "output_tokens": 3});
    let answer = json!({"object": "response", "status": "completed", "output": output, "usage": usage});
    let mut feed = responses::feed(super::service("openai"));
    feed.document(answer.to_string().as_bytes()).expect("an answer");
    let events: Vec<StreamEvent> = std::iter::from_fn(|| feed.next_event()).collect();
    let hits = events.iter().find_map(|event| match event {
        StreamEvent::Served(step) => Some(&step.kind),
        _ => None,
    });
    assert!(matches!(hits, Some(ServedKind::Cited { hits }) if hits[0].url == "https://docs.rs/x"), "{events:?}");
    let counts = |event: &StreamEvent| matches!(event, StreamEvent::Usage(usage) if usage.searches == 1);
    assert!(events.iter().any(counts), "{events:?}");
}
