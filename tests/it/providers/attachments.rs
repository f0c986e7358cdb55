//! Pictures that messages name by their numbers, in each wire form.

use std::sync::Arc;

use belvedere::message::{Attachment, Attachments, Dialect, Message, ResultPart, ToolResult};
use belvedere::provider::{Feature, Habits, Request, anthropic, openai, responses};
use serde_json::{Value, json};

use super::request;

fn conversation() -> Request {
    let result = |number| ToolResult {
        call_id: format!("c{number}"),
        content: vec![ResultPart::Text { text: "a.png: image/png".to_owned() }, ResultPart::Attached { number }],
        is_error: false,
    };
    let call = |id: &str| belvedere::message::ToolCall {
        id: id.to_owned(),
        name: "Read".to_owned(),
        input: super::object("{}"),
    };
    let calls = ["c2", "c9"].map(|id| belvedere::message::Block::ToolCall(call(id)));
    let messages = vec![
        Message::user("first"),
        Message::user("compare [Image #3] with [Image #1], [Image #3] and [Image #7] [Image #x]"),
        Message::Assistant(belvedere::message::AssistantMessage::new(calls.to_vec())),
        Message::ToolResults { results: vec![result(2), result(9)] },
    ];
    let picture = |media_type, data: &str| Attachment { media_type, data: data.into() };
    let attachments: Attachments =
        [(1, picture("image/png", "QQ==")), (2, picture("image/gif", "Qg==")), (3, picture("image/jpeg", "Qw=="))]
            .into_iter()
            .collect();
    Request { attachments: Arc::new(attachments), ..request(messages, &["Read"]) }
}

#[test]
fn the_messages_api_gets_blocks() {
    let (json, held) = anthropic::request_body(&conversation(), &Habits::of(Dialect::Compatible)).unwrap();
    let body: Value = serde_json::from_slice(&json).unwrap();
    let image = |media_type: &str, data: &str| json!({"type": "image", "source": {"type": "base64", "media_type": media_type, "data": data}});
    let said = &body["messages"][0]["content"];
    assert_eq!(said[1], image("image/jpeg", "Qw=="));
    assert_eq!(said[2], image("image/png", "QQ=="));
    assert!(said[3]["text"].as_str().unwrap().starts_with("compare [Image #3]"));
    let results = &body["messages"][2]["content"];
    assert_eq!(results[0]["content"][1], image("image/gif", "Qg=="));
    assert_eq!(results[1]["content"][1]["text"], "[not sent with this request]");
    assert_eq!(held, [Feature::Pictures]);
}

#[test]
fn chat_completions_gets_parts() {
    let (json, mut held) = openai::request_body(&conversation(), &Habits::of(Dialect::OpenAi)).unwrap();
    let body: Value = serde_json::from_slice(&json).unwrap();
    let image = |url: &str| json!({"type": "image_url", "image_url": {"url": url}});
    let said = &body["messages"][1]["content"];
    assert_eq!(said[0], json!({"type": "text", "text": "first"}));
    assert_eq!((&said[1], &said[2]), (&image("data:image/jpeg;base64,Qw=="), &image("data:image/png;base64,QQ==")));
    assert!(said[3]["text"].as_str().unwrap().starts_with("compare"));
    let last = body["messages"].as_array().unwrap().last().unwrap();
    assert_eq!(last["content"][1], image("data:image/gif;base64,Qg=="));
    held.retain(|feature| feature.is_missed());
    assert_eq!(held, [Feature::Pictures]);
}

#[test]
fn a_document_is_a_block_of_its_own() {
    let mut request = conversation();
    let document = Attachment { media_type: "application/pdf", data: "JVBERi0=".into() };
    Arc::make_mut(&mut request.attachments).insert(9, document);
    let (json, held) = anthropic::request_body(&request, &Habits::of(Dialect::Anthropic)).unwrap();
    let body: Value = serde_json::from_slice(&json).unwrap();
    let source = json!({"type": "base64", "media_type": "application/pdf", "data": "JVBERi0="});
    assert_eq!(body["messages"][2]["content"][1]["content"][1], json!({"type": "document", "source": source}));
    assert_eq!(held, [Feature::Documents]);
    let (json, mut held) = openai::request_body(&request, &Habits::of(Dialect::OpenAi)).unwrap();
    let body: Value = serde_json::from_slice(&json).unwrap();
    let last = body["messages"].as_array().unwrap().last().unwrap();
    let file = json!({"filename": "document.pdf", "file_data": "data:application/pdf;base64,JVBERi0="});
    assert_eq!(last["content"][2], json!({"type": "file", "file": file}));
    held.retain(|feature| feature.is_missed());
    assert_eq!(held, [Feature::Documents, Feature::Pictures]);
}

#[test]
fn the_responses_api_gets_items() {
    let mut request = conversation();
    let document = Attachment { media_type: "application/pdf", data: "JVBERi0=".into() };
    Arc::make_mut(&mut request.attachments).insert(9, document);
    let (json, held) = responses::request_body(&request, &Habits::of(Dialect::OpenAi)).unwrap();
    let body: Value = serde_json::from_slice(&json).unwrap();
    let image = |url: &str| json!({"type": "input_image", "image_url": url, "detail": "auto"});
    let said = &body["input"][1]["content"];
    assert_eq!((&said[0], &said[1]), (&image("data:image/jpeg;base64,Qw=="), &image("data:image/png;base64,QQ==")));
    let results: Vec<&Value> =
        body["input"].as_array().unwrap().iter().filter(|item| item["output"].is_array()).collect();
    assert_eq!(results[0]["output"][1], image("data:image/gif;base64,Qg=="));
    let file =
        json!({"type": "input_file", "filename": "document.pdf", "file_data": "data:application/pdf;base64,JVBERi0="});
    assert_eq!(results[1]["output"][1], file);
    assert_eq!(held[..2], [Feature::Documents, Feature::Pictures]);
}

#[test]
fn a_picture_goes_once_where_it_is_named_first() {
    let mut request = conversation();
    request.messages.push(Arc::new(Message::user("again [Image #1], [Image #2]")));
    for (json, _) in [
        anthropic::request_body(&request, &Habits::of(Dialect::Anthropic)).unwrap(),
        openai::request_body(&request, &Habits::of(Dialect::OpenAi)).unwrap(),
        responses::request_body(&request, &Habits::of(Dialect::OpenAi)).unwrap(),
    ] {
        let body = String::from_utf8(json).unwrap();
        for data in ["QQ==", "Qg==", "Qw=="] {
            assert_eq!(body.matches(data).count(), 1, "{data} in {body}");
        }
        let named = body.find("compare").unwrap();
        assert!(body.find("QQ==").unwrap() < named, "{body}");
    }
}
