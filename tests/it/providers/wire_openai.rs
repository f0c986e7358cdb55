//! What is sent to servers of the Chat Completions API.

use belvedere::message::{
    AssistantMessage, Block, Dialect, Effort, Message, ResultPart, ToolCall, ToolInput, ToolResult,
};
use belvedere::provider::{Feature, Habits, Request, openai};
use serde_json::{Value, json};

use super::{object, request};

fn body(request: &Request, dialect: Dialect) -> Value {
    let (json, _) = openai::request_body(request, &Habits::of(dialect)).expect("a body");
    serde_json::from_slice(&json).expect("JSON")
}

fn conversation() -> Request {
    let call = |id: &str, input| Block::ToolCall(ToolCall { id: id.to_owned(), name: "Read".to_owned(), input });
    let thought = |text: &str| Block::Thinking { text: text.to_owned(), signature: Some("sig".to_owned()) };
    let text = |text: &str| Block::Text { text: text.to_owned() };
    let picture = ResultPart::Image { media_type: "image/png".to_owned(), data: "AAAA".to_owned() };
    let messages = vec![
        Message::user("a"),
        Message::Assistant(AssistantMessage::new(vec![thought("old"), call("c0", object("{}"))])),
        Message::ToolResults { results: vec![ToolResult::text("c0", "")] },
        Message::Assistant(AssistantMessage::new(vec![text("one"), text("two")])),
        Message::user("b"),
        Message::user("c"),
        Message::Assistant(AssistantMessage::new(vec![
            thought("new"),
            call("c1", object(r#"{"b": 1, "a": "ü"}"#)),
            call("c2", ToolInput::Malformed("{".to_owned())),
        ])),
        Message::ToolResults {
            results: vec![
                ToolResult { call_id: "c1".to_owned(), content: vec![picture], is_error: false },
                ToolResult::error("c2", "no"),
            ],
        },
        Message::user("d"),
    ];
    request(messages, &["Read"])
}

#[test]
fn a_conversation_is_written_for_any_server() {
    let call = |id: &str, arguments: &str| json!({"id": id, "type": "function", "function": {"name": "Read", "arguments": arguments}});
    let expected = json!({
        "model": "m",
        "max_tokens": 100,
        "stream": true,
        "stream_options": {"include_usage": true},
        "tools": [{"type": "function", "function": {
            "name": "Read",
            "description": "Read it",
            "parameters": {"type": "object", "properties": {"path": {"type": "string"}}},
        }}],
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "a"},
            {"role": "assistant", "content": null, "tool_calls": [call("c0", "{}")]},
            {"role": "tool", "tool_call_id": "c0", "content": "(no output)"},
            {"role": "assistant", "content": "one\n\ntwo"},
            {"role": "user", "content": "b\n\nc"},
            {"role": "assistant", "content": null, "tool_calls": [
                call("c1", r#"{"b":1,"a":"ü"}"#),
                call("c2", r#"{"malformed_input":"{"}"#),
            ]},
            {"role": "tool", "tool_call_id": "c1", "content": "(no output)"},
            {"role": "tool", "tool_call_id": "c2", "content": "Error: no"},
            {"role": "user", "content": [
                {"type": "text", "text": "Images from the tool results above:"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
                {"type": "text", "text": "d"},
            ]},
        ],
    });
    assert_eq!(body(&conversation(), Dialect::Compatible), expected);
}

#[test]
fn names_that_a_model_made_up_are_sent_back_in_a_form_the_api_takes() {
    let call =
        |name: &str| Block::ToolCall(ToolCall { id: "c".to_owned(), name: name.to_owned(), input: object("{}") });
    let long = "x".repeat(80);
    let content = vec![call(""), call("read file"), call(&long), call("Read")];
    let messages = vec![Message::user("a"), Message::Assistant(AssistantMessage::new(content))];
    let body = body(&request(messages, &[]), Dialect::Compatible);
    let names: Vec<&str> = body["messages"][2]["tool_calls"]
        .as_array()
        .expect("calls")
        .iter()
        .filter_map(|call| call["function"]["name"].as_str())
        .collect();
    assert_eq!(names, ["unnamed", "read_file", &long[..64], "Read"]);
}

#[test]
fn deepseek_gets_back_the_reasoning_of_every_message_with_calls() {
    let mut request = conversation();
    let call = Block::ToolCall(ToolCall { id: "c3".to_owned(), name: "Read".to_owned(), input: object("{}") });
    request.messages.push(std::sync::Arc::new(Message::Assistant(AssistantMessage::new(vec![call]))));
    let body = body(&request, Dialect::DeepSeek);
    let reasoning: Vec<&Value> = body["messages"]
        .as_array()
        .expect("messages")
        .iter()
        .filter_map(|turn| turn.get("reasoning_content"))
        .collect();
    assert_eq!(reasoning, [&json!("old"), &json!("new"), &json!("")]);
}

#[test]
fn blank_words_are_not_sent() {
    let mut request = request(vec![Message::user(" "), Message::user("a")], &[]);
    request.system = "".into();
    let body = body(&request, Dialect::Compatible);
    assert_eq!(body["messages"], json!([{"role": "user", "content": "a"}]));
    assert_eq!(body.get("tools"), None);
}

#[test]
fn effort_is_said_as_it_is_asked_for_and_not_to_a_server_that_has_refused_it() {
    let asked = Request { effort: Some(Effort::Low), ..request(vec![Message::user("a")], &[]) };
    for dialect in [Dialect::DeepSeek, Dialect::Compatible] {
        assert_eq!(body(&asked, dialect)["reasoning_effort"], "low");
        let unasked = Request { effort: None, thinking_tokens: Some(0), ..asked.clone() };
        assert_eq!(body(&unasked, dialect).get("reasoning_effort"), None);
        let (json, held) =
            openai::request_body(&asked, &Habits::of(dialect).without(Feature::Thinking)).expect("a body");
        assert!(!String::from_utf8(json).expect("UTF-8").contains("effort") && !held.contains(&Feature::Thinking));
        let (_, held) = openai::request_body(&asked, &Habits::of(dialect)).expect("a body");
        assert_eq!(held, [Feature::MaxTokens, Feature::StreamOptions, Feature::Thinking]);
    }
}

#[test]
fn what_another_model_thought_goes_to_no_other_and_ids_are_made_fit_alike() {
    let long = format!("call_1__thought__{}", "x".repeat(300));
    let mut reply = AssistantMessage::new(vec![
        Block::Thinking { text: "Hm.".to_owned(), signature: Some(r#"chat:{"as":"reasoning_content"}"#.to_owned()) },
        Block::ToolCall(ToolCall { id: long.clone(), name: "Read".to_owned(), input: object("{}") }),
    ]);
    reply.set_origin("openai", "m");
    let messages = vec![
        Message::user("a"),
        Message::Assistant(reply),
        Message::ToolResults { results: vec![ToolResult::text(&long, "x")] },
    ];
    let own = body(&request(messages.clone(), &[]), Dialect::Compatible);
    assert_eq!(
        (&own["messages"][2]["reasoning_content"], &own["messages"][2]["tool_calls"][0]["id"]),
        (&json!("Hm."), &json!(long))
    );
    let (mistral, other) = (Habits::of(Dialect::Mistral), request(messages, &[]));
    let (json, held) = openai::request_body(&other, &mistral).expect("a body");
    let written: Value = serde_json::from_slice(&json).expect("JSON");
    let id = written["messages"][2]["tool_calls"][0]["id"].as_str().expect("an id");
    assert!(id.len() == 9 && id.chars().all(|c| c.is_ascii_alphanumeric()), "{id}");
    assert_eq!(written["messages"][3]["tool_call_id"], id);
    assert!(!held.contains(&Feature::LongIds) && held.contains(&Feature::OwnReasoning));
}
