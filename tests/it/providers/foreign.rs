//! What of a conversation belongs to another model, and is sent to no other.

use belvedere::message::{AssistantMessage, Block, Message, ToolCall, ToolResult};
use belvedere::provider::{Http, Provider, Service};

use super::server::{Reply, Server};
use super::{key, object, request, row};

#[tokio::test]
async fn what_another_model_thought_is_sent_to_no_other() {
    let long = format!("call_1__thought__{}", "x".repeat(300));
    for wire in ["openai", "anthropic", "gemini"] {
        for (service, model, is_own) in [(wire, "m", true), (wire, "other", false), ("groq", "m", false)] {
            let mut reply = AssistantMessage::new(vec![
                Block::Thinking { text: "Secret.".to_owned(), signature: None },
                Block::Thinking {
                    text: String::new(),
                    signature: Some(r#"chat:{"as":"reasoning_content"}"#.to_owned()),
                },
                Block::ToolCall(ToolCall { id: long.clone(), name: "Read".to_owned(), input: object("{}") }),
            ]);
            reply.set_origin(service, model);
            let results = vec![ToolResult::text(&long, "x")];
            let messages = vec![Message::user("a"), Message::Assistant(reply), Message::ToolResults { results }];
            let server = Server::start(Reply::new(400, "application/json", r#"{"error":{"message":"no"}}"#)).await;
            let base = server.base.parse().expect("an address");
            let http = Http::new(Service::new(row(wire), key("sk-secret-1234")), &base);
            let _ = http.stream(request(messages, &["Read"])).await;
            let body = server.seen()[0].body.clone();
            assert!(is_own || !body.contains("Secret."), "{service}/{model} over {wire}: {body}");
            if wire == "openai" {
                assert_eq!((body.contains("Secret."), body.contains(&long)), (is_own, is_own), "{service}/{model}");
            }
            let short = format!("call_{}", &body[body.find("call_").expect("an id") + 5..][..24]);
            assert!(is_own || body.matches(&short).count() == 2, "the call and its result: {body}");
        }
    }
}
