//! What is sent to the Messages API.

use belvedere::message::{AssistantMessage, Block, Message, ResultPart, ToolCall, ToolInput, ToolResult};
use belvedere::provider::{Request, anthropic};
use serde_json::{Value, json};

use super::{object, request};

fn body(request: &Request) -> Value {
    serde_json::from_slice(&anthropic::request_body(request).expect("a body")).expect("JSON")
}

fn assistant(content: Vec<Block>) -> Message {
    Message::Assistant(AssistantMessage { content })
}

fn text(text: &str) -> Block {
    Block::Text { text: text.to_owned() }
}

fn call(id: &str, name: &str, input: ToolInput) -> Block {
    Block::ToolCall(ToolCall { id: id.to_owned(), name: name.to_owned(), input })
}

#[test]
fn a_first_request_has_three_breakpoints() {
    let request = request(vec![Message::user("Hi")], &["Read", "Grep"]);
    let schema = json!({"type": "object", "properties": {"path": {"type": "string"}}});
    let expected = json!({
        "model": "m",
        "max_tokens": 100,
        "stream": true,
        "system": [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}],
        "tools": [
            {"name": "Read", "description": "Read it", "input_schema": schema},
            {"name": "Grep", "description": "Grep it", "input_schema": schema, "cache_control": {"type": "ephemeral"}},
        ],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "Hi", "cache_control": {"type": "ephemeral"}}]},
        ],
    });
    assert_eq!(body(&request), expected);
}

#[test]
fn a_turn_with_tools_comes_back_as_the_api_demands() {
    let picture = ResultPart::Image { media_type: "image/png".to_owned(), data: "AAAA".to_owned() };
    let results = vec![
        ToolResult::text("t1", "42"),
        ToolResult {
            call_id: "t2".to_owned(),
            content: vec![ResultPart::Text { text: " ".to_owned() }, picture],
            is_error: false,
        },
        ToolResult::error("t3", ""),
        ToolResult::text("t4", ""),
    ];
    let request = request(
        vec![
            Message::user("Hi"),
            assistant(vec![
                Block::Thinking { text: "unsigned".to_owned(), signature: None },
                Block::Thinking { text: "hm".to_owned(), signature: Some("sig".to_owned()) },
                Block::RedactedThinking { data: "enc".to_owned() },
                text("  \n"),
                call("t1", "Read", object(r#"{"b": 1, "a": 2}"#)),
                call("t2", "Read", ToolInput::Malformed("{\"a\": ".to_owned())),
                call("t3", "Read", object("{}")),
                call("t4", "Read", object("{}")),
            ]),
            Message::ToolResults { results },
            Message::user("Go on"),
        ],
        &["Read"],
    );
    let expected = json!([
        {"role": "user", "content": [{"type": "text", "text": "Hi", "cache_control": {"type": "ephemeral"}}]},
        {"role": "assistant", "content": [
            {"type": "thinking", "thinking": "hm", "signature": "sig"},
            {"type": "redacted_thinking", "data": "enc"},
            {"type": "tool_use", "id": "t1", "name": "Read", "input": {"b": 1, "a": 2}},
            {"type": "tool_use", "id": "t2", "name": "Read", "input": {"malformed_input": "{\"a\": "}},
            {"type": "tool_use", "id": "t3", "name": "Read", "input": {}},
            {"type": "tool_use", "id": "t4", "name": "Read", "input": {}},
        ]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "42"}]},
            {"type": "tool_result", "tool_use_id": "t2", "content": [
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}},
            ]},
            {"type": "tool_result", "tool_use_id": "t3", "content": [{"type": "text", "text": "(failed without a message)"}], "is_error": true},
            {"type": "tool_result", "tool_use_id": "t4"},
            {"type": "text", "text": "Go on", "cache_control": {"type": "ephemeral"}},
        ]},
    ]);
    assert_eq!(body(&request)["messages"], expected);
}

#[test]
fn roles_alternate_and_only_the_last_two_user_messages_are_breakpoints() {
    let thought = Block::Thinking { text: "hm".to_owned(), signature: Some("sig".to_owned()) };
    let request = request(
        vec![
            Message::user("a"),
            // Nothing of this may be sent, so what the user said around it becomes one message.
            assistant(vec![thought, text(" ")]),
            Message::user("b"),
            assistant(vec![text("one"), text("two")]),
            Message::user("c"),
            assistant(vec![text("three")]),
            Message::user("d"),
            assistant(vec![text("four \n")]),
        ],
        &[],
    );
    let body = body(&request);
    let messages = body["messages"].as_array().expect("messages");
    let roles: Vec<&str> = messages.iter().filter_map(|message| message["role"].as_str()).collect();
    assert_eq!(roles, ["user", "assistant", "user", "assistant", "user", "assistant"]);
    assert_eq!(messages[0]["content"], json!([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]));
    let marked: Vec<bool> = messages.iter().map(|message| message.to_string().contains("cache_control")).collect();
    assert_eq!(marked, [false, false, true, false, true, false]);
    assert_eq!(messages[5]["content"][0]["text"], "four", "an open end must not be white space");
    assert_eq!(body.get("tools"), None);
}

#[test]
fn a_turn_without_tools_defines_the_tools_of_the_past_and_forbids_them() {
    let request = request(
        vec![
            Message::user("a"),
            assistant(vec![call("call:1/x", "Read me", object("{}")), call("", "Read me", object("{}"))]),
            Message::ToolResults { results: vec![ToolResult::text("call:1/x", "x"), ToolResult::text("", "y")] },
        ],
        &[],
    );
    let body = body(&request);
    assert_eq!(body["tool_choice"], json!({"type": "none"}));
    assert_eq!(body["tools"].as_array().map(Vec::len), Some(1));
    assert_eq!(body["tools"][0]["name"], "Read_me");
    let ids = (&body["messages"][1]["content"][0]["id"], &body["messages"][2]["content"][0]["tool_use_id"]);
    assert_eq!(ids, (&json!("call_1_x"), &json!("call_1_x")));
}
