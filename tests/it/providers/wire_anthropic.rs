//! What is sent to the Messages API.

use belvedere::message::{
    AssistantMessage, Block, Dialect, Effort, Message, ResultPart, ToolCall, ToolInput, ToolResult,
};
use belvedere::provider::{Habits, Request, anthropic};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{object, request};

fn body(request: &Request) -> Value {
    let (json, _) = anthropic::request_body(request, &Habits::of(Dialect::Anthropic)).expect("a body");
    serde_json::from_slice(&json).expect("JSON")
}

fn assistant(content: Vec<Block>) -> Message {
    Message::Assistant(AssistantMessage::new(content))
}

fn text(text: &str) -> Block {
    Block::Text { text: text.to_owned() }
}

fn call(id: &str, name: &str, input: ToolInput) -> Block {
    Block::ToolCall(ToolCall { id: id.to_owned(), name: name.to_owned(), input })
}

fn results(id: &str) -> Message {
    Message::ToolResults { results: vec![ToolResult::text(id, "x")] }
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
fn what_may_wait_long_is_kept_for_an_hour_as_a_whole() {
    let request = Request { waits_long: true, ..request(vec![Message::user("Hi")], &["Read", "Grep"]) };
    let sent = body(&request);
    let hour = json!({"type": "ephemeral", "ttl": "1h"});
    let marked = [&sent["system"][0], &sent["tools"][1], &sent["messages"][0]["content"][0]];
    assert!(marked.iter().all(|part| part["cache_control"] == hour), "{sent}");
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

#[test]
fn a_last_turn_keeps_the_tools_as_they_were_and_forbids_them() {
    let said = || vec![Message::user("a"), assistant(vec![call("c", "Read", object("{}"))]), results("c")];
    let before = body(&request(said(), &["Read", "Grep"]));
    let mut last = request(said(), &[]);
    last.withheld = request(said(), &["Read", "Grep"]).tools;
    let last = body(&last);
    assert_eq!((&last["tools"], &last["system"]), (&before["tools"], &before["system"]), "what is kept is found again");
    assert_eq!((before.get("tool_choice"), &last["tool_choice"]), (None, &json!({"type": "none"})));
}

#[test]
fn effort_is_said_only_where_it_is_asked_for() {
    let mut request = request(vec![Message::user("a")], &[]);
    assert_eq!(body(&request).get("output_config"), None);
    request.effort = Some(Effort::XHigh);
    assert_eq!(body(&request)["output_config"], json!({"effort": "xhigh"}));
}

/// Messages that a transcript can hold, with ids and texts of every kind.
fn conversation() -> impl Strategy<Value = Vec<Message>> {
    let words = || prop::sample::select(vec!["", " \n", "text", "ends with space ", "ü🦀"]);
    let block = (0..4_u8, words()).prop_map(|(kind, words)| match kind {
        0 => text(words),
        1 => Block::Thinking { text: words.to_owned(), signature: None },
        2 => Block::Thinking { text: words.to_owned(), signature: Some("sig".to_owned()) },
        _ => call("", words, ToolInput::parse(words)),
    });
    let step = prop_oneof![
        words().prop_map(|words| vec![Message::user(words)]),
        (prop::collection::vec(block, 1..5), words()).prop_map(|(content, words)| {
            let reply = AssistantMessage::new(content);
            let results: Vec<_> = reply.tool_calls().map(|_| ToolResult::text("", words)).collect();
            let results = (!results.is_empty()).then_some(Message::ToolResults { results });
            std::iter::once(Message::Assistant(reply)).chain(results).collect()
        }),
    ];
    prop::collection::vec(step, 0..8).prop_map(|steps| {
        let mut number = 0;
        let mut messages = vec![Message::user("task")];
        for mut message in steps.into_iter().flatten() {
            match &mut message {
                Message::Assistant(reply) => {
                    number += 100;
                    for (at, block) in reply.content.iter_mut().enumerate() {
                        if let Block::ToolCall(call) = block {
                            call.id = format!("t:{}", number + at);
                        }
                    }
                }
                Message::ToolResults { results } => {
                    let Some(Message::Assistant(reply)) = messages.last() else { continue };
                    for (result, call) in results.iter_mut().zip(reply.tool_calls()) {
                        result.call_id.clone_from(&call.id);
                    }
                }
                Message::User { .. } => {}
            }
            messages.push(message);
        }
        messages
    })
}

proptest! {
    #[test]
    fn whatever_a_transcript_holds_passes_the_checks_of_the_api(messages in conversation()) {
        let body = body(&request(messages, &[]));
        let turns = body["messages"].as_array().expect("messages");
        let mut open: Vec<Value> = Vec::new();
        for (at, turn) in turns.iter().enumerate() {
            prop_assert_eq!(&turn["role"], if at % 2 == 0 { "user" } else { "assistant" });
            let blocks = turn["content"].as_array().expect("blocks");
            prop_assert!(blocks.last().is_some_and(|block| block["type"] != "thinking"), "{}", body);
            let (mut answered, mut past_results) = (Vec::new(), false);
            let calls = std::mem::take(&mut open);
            for block in blocks {
                let blank = block["text"].as_str().is_some_and(|text| text.trim().is_empty());
                prop_assert!(!blank, "{}", body);
                match block["type"].as_str() {
                    Some("tool_use") => {
                        prop_assert!(block["input"].is_object());
                        open.push(block["id"].clone());
                    }
                    Some("tool_result") => {
                        prop_assert!(!past_results, "results open their message");
                        answered.push(block["tool_use_id"].clone());
                    }
                    _ => past_results = true,
                }
            }
            prop_assert_eq!(calls, answered);
        }
        prop_assert!(body.to_string().matches("cache_control").count() <= 4);
    }
}

#[test]
fn models_that_think_in_silence_are_asked_for_a_summary() {
    let thinking = |model: &str| {
        let mut request = request(vec![Message::user("a")], &[]);
        request.model = model.to_owned();
        body(&request).get("thinking").cloned()
    };
    let wanted = Some(json!({"type": "adaptive", "display": "summarized"}));
    assert_eq!(thinking("claude-opus-5-5"), wanted);
    assert_eq!(thinking("claude-haiku-5-5"), wanted);
    assert_eq!(thinking("claude-opus-4-8"), wanted);
    assert_eq!(thinking("claude-fable-6"), wanted);
    assert_eq!(thinking("claude-sonnet-4-6"), wanted);
    assert_eq!(thinking("claude-3-5-haiku"), None);
    assert_eq!(thinking("kimi-k3"), None);
}

#[test]
fn models_that_are_told_how_much_to_think_keep_room_for_the_answer() {
    let sent = |model: &str, max_output_tokens, effort| {
        let mut request = request(vec![Message::user("a")], &[]);
        (request.model, request.max_output_tokens, request.effort) = (model.to_owned(), max_output_tokens, effort);
        let body = body(&request);
        (body.get("thinking").map(|thinking| thinking["budget_tokens"].clone()), body.get("output_config").cloned())
    };
    let budget = |tokens: u32| Some(json!(tokens));
    for model in ["claude-sonnet-4-5", "claude-haiku-4-5-20251001", "claude-sonnet-4-20250514", "claude-3-7-sonnet"] {
        assert_eq!(sent(model, 32_000, None), (budget(16_000), None), "{model}");
        assert_eq!(sent(model, 32_000, Some(Effort::Low)), (budget(4_000), None), "{model}");
        assert_eq!(sent(model, 32_000, Some(Effort::Max)), (budget(28_000), None), "{model}");
        assert_eq!(sent(model, 4_000, Some(Effort::Low)), (budget(1_024), None), "{model}");
        assert_eq!(sent(model, 2_000, Some(Effort::Max)), (None, None), "{model}: the least budget leaves no room");
    }
    let opus = sent("claude-opus-4-5", 32_000, Some(Effort::High));
    assert_eq!(opus, (budget(16_000), Some(json!({"effort": "high"}))), "it takes both");
}

#[test]
fn the_tokens_that_the_user_allows_for_thinking_are_those_that_are_sent() {
    let sent = |model: &str, tokens| {
        let mut request = request(vec![Message::user("a")], &[]);
        (request.model, request.max_output_tokens) = (model.to_owned(), 32_000);
        (request.effort, request.thinking_tokens) = (Some(Effort::Low), Some(tokens));
        body(&request).get("thinking").cloned()
    };
    let budget = |tokens: u32| Some(json!({"type": "enabled", "budget_tokens": tokens}));
    assert_eq!(sent("claude-sonnet-4-5", 9_000), budget(9_000));
    assert_eq!(sent("claude-sonnet-4-5", 7), budget(1_024), "the least that the service takes");
    assert_eq!(sent("claude-sonnet-4-5", 900_000), budget(30_976), "the answer keeps room");
    assert_eq!(sent("claude-sonnet-4-5", 0), None);
    assert_eq!(sent("claude-opus-5-5", 9_000), Some(json!({"type": "adaptive", "display": "summarized"})));
    assert_eq!(sent("claude-opus-5-5", 0), Some(json!({"type": "disabled"})));
    assert_eq!(sent("claude-3-5-haiku", 0), None);
}

#[test]
fn a_budget_to_think_comes_only_where_the_reply_has_begun_with_a_thought() {
    let thinks = |messages: Vec<Message>| {
        let mut request = request(messages, &[]);
        (request.model, request.max_output_tokens) = ("claude-sonnet-4-5".to_owned(), 32_000);
        body(&request)["thinking"]["type"] == "enabled"
    };
    let thought = || Block::Thinking { text: "hm".to_owned(), signature: Some("sig".to_owned()) };
    let looks = |id: &str| call(id, "Read", object("{}"));
    let go = || Message::user("go");
    assert!(thinks(vec![go(), assistant(vec![thought(), looks("1")]), results("1")]));
    let later =
        vec![go(), assistant(vec![thought(), looks("1")]), results("1"), assistant(vec![looks("2")]), results("2")];
    assert!(thinks(later), "the first reply to a message counts");
    let mut unthought = vec![go(), assistant(vec![looks("1")]), results("1")];
    assert!(!thinks(unthought.clone()));
    unthought.extend([assistant(vec![text("done")]), Message::user("more")]);
    assert!(thinks(unthought), "a new message begins anew");
}
