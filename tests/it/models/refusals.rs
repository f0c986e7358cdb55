//! Refusals in any words: what is too long, what cannot be read, and what was counted wrongly.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use belvedere::agent::{ContextEvent, EventKind, Outcome, Status};
use belvedere::message::AgentId;
use belvedere::provider::Model;
use serde_json::{Value, json};

use super::services::connected;
use crate::support::{Parts, Session, model, png, serve};

/// What a server says to a request.
type Says = Arc<dyn Fn(&Value) -> Result<Value, (u16, String)> + Send + Sync>;

/// Returns a session with a server over Chat Completions, and what the server is asked.
async fn session(says: Says, window: Option<u64>) -> (Session, Arc<Mutex<Vec<Value>>>) {
    let asked: Arc<Mutex<Vec<Value>>> = Arc::default();
    let seen = asked.clone();
    let app = Router::new().fallback(move |body: Bytes| async move {
        let request: Value = serde_json::from_slice(&body).expect("JSON");
        let said = says(&request);
        seen.lock().unwrap().push(request);
        let answer: Response = match said {
            Ok(usage) => {
                let end =
                    json!({"choices": [{"delta": {"content": "Done."}, "finish_reason": "stop"}], "usage": usage});
                ([("content-type", "text/event-stream")], format!("data: {end}\n\n")).into_response()
            }
            Err((status, words)) => {
                let error = json!({"error": {"message": words}}).to_string();
                (StatusCode::from_u16(status).unwrap(), [("content-type", "application/json")], error).into_response()
            }
        };
        answer
    });
    let model = Model { context_window: window, max_output_tokens: 1_000, ..model() };
    let parts = Parts { model, ..Parts::new(connected("openai", None, &serve(app).await)) };
    (Session::start(parts), asked)
}

fn notices(session: &Session) -> Vec<String> {
    let texts = session.of(AgentId::MAIN).filter_map(|kind| match kind {
        EventKind::Notice { text } => Some(text.clone()),
        _ => None,
    });
    texts.collect()
}

fn was_compacted(session: &Session) -> bool {
    session.of(AgentId::MAIN).any(|kind| matches!(kind, EventKind::Context(ContextEvent::Compacted { .. })))
}

/// Speaks at length, until the server refuses it.
async fn speak(status: u16, words: &'static str) -> (Outcome, bool) {
    let says = move |request: &Value| {
        let size = request["messages"].to_string().len();
        if size > 60_000 { Err((status, words.to_owned())) } else { Ok(json!({"prompt_tokens": size / 4 + 6_000})) }
    };
    let (mut session, _) = session(Arc::new(says), None).await;
    for _ in 0..3 {
        session.ask(&"A long story. ".repeat(1_200)).await;
    }
    let outcome = session.ask(&"The end of it. ".repeat(1_000)).await;
    let compacted = was_compacted(&session);
    session.quit().await;
    (outcome, compacted)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_too_long_is_understood_in_any_words() {
    for (status, words) in [
        (400, "This model's maximum prompt length is 131072 but the request contains 537812 tokens."),
        (422, "`inputs` must have less than 4096 tokens. Given: 5024"),
        (400, "Invalid request: Your request exceeded model token limit: 131072"),
        (400, "Prompt exceeds max length"),
        (400, "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 30720]"),
        (400, "prompt token count of 138040 exceeds the limit of 128000"),
        (400, "Request payload size exceeds the limit: 20971520 bytes."),
        (400, "The decoder prompt (length 9027) is longer than the maximum model length of 8192."),
        (400, "Current length is 12417 while limit is 8192: the prompt is larger than that"),
        (413, "Payload Too Large"),
        // Words of no service that is known here.
        (400, "La requête est refusée."),
        (422, "unprocessable"),
    ] {
        let (outcome, compacted) = speak(status, words).await;
        assert_eq!((outcome.status, compacted), (Status::Completed, true), "{words}: {:?}", outcome.reason);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refusal_for_another_reason_is_tried_shorter_once_and_keeps_its_words() {
    let says = |request: &Value| {
        let size = request["messages"].to_string().len();
        if request["messages"].to_string().contains("forbidden") {
            return Err((400, "This word may not be said.".to_owned()));
        }
        Ok(json!({"prompt_tokens": size / 4 + 6_000}))
    };
    let (mut session, asked) = session(Arc::new(says), None).await;
    session.ask(&"A long story. ".repeat(3_000)).await;
    let before = asked.lock().unwrap().len();
    let outcome = session.ask("the forbidden word").await;
    assert!(
        outcome.reason.as_deref().unwrap_or_default().contains("This word may not be said."),
        "{:?}",
        outcome.reason
    );
    assert!(asked.lock().unwrap().len() - before <= 3, "the request, a summary, and once more");
    session.quit().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_count_that_cannot_be_empties_no_conversation() {
    for usage in [
        json!({"prompt_tokens": 1_000_000_000_u64, "completion_tokens": 5}),
        json!({"prompt_tokens": 100, "completion_tokens": 1_000_000_000_u64}),
        json!({"prompt_tokens": 100, "prompt_tokens_details": {"cached_tokens": 900_000_000_u64}}),
    ] {
        let counted = usage.clone();
        let (mut session, asked) = session(Arc::new(move |_: &Value| Ok(counted.clone())), Some(200_000)).await;
        session.ask("My name is Anna.").await;
        let outcome = session.ask("What is my name?").await;
        assert_eq!(outcome.status, Status::Completed);
        assert!(!was_compacted(&session), "{usage}");
        let last = asked.lock().unwrap().last().unwrap()["messages"].to_string();
        assert!(last.contains("My name is Anna."), "{usage}: {last}");
        assert!(outcome.usage.total() < 100_000, "{usage}: {:?}", outcome.usage);
        session.quit().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_picture_that_a_service_refuses_is_not_sent_again() {
    for words in [
        "messages.2.content.0.image.source.base64: Could not process image",
        "image exceeds 5 MB maximum: 6000000 bytes > 5242880 bytes",
        "The image data you provided does not represent a valid image.",
    ] {
        let says = move |request: &Value| {
            let pictures = request["messages"].to_string().matches("image_url\":").count();
            if pictures > 1 { Err((400, words.to_owned())) } else { Ok(json!({"prompt_tokens": 9_000})) }
        };
        let (mut session, asked) = session(Arc::new(says), Some(200_000)).await;
        for name in ["good.png", "bad.png"] {
            std::fs::write(session.root().join(name), png(4, 4)).unwrap();
        }
        session.ask("see @good.png").await;
        let outcome = session.ask("see @bad.png").await;
        assert_eq!(outcome.status, Status::Completed, "{words}: {:?}", outcome.reason);
        let said = notices(&session);
        assert!(said.iter().any(|text| text.starts_with("[Image #2]: left out from now on")), "{said:?}");
        let before = asked.lock().unwrap().len();
        session.ask("go on").await;
        let last = asked.lock().unwrap().last().unwrap()["messages"].to_string();
        assert_eq!((asked.lock().unwrap().len() - before, last.matches("image_url\":").count()), (1, 1));
        session.quit().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tool_whose_schema_a_service_refuses_costs_itself_alone() {
    for words in [
        "Invalid schema for function 'Glob': schema must have type 'object'",
        "tools.3.custom.input_schema: JSON schema is invalid. It must match JSON Schema draft 2020-12",
        "GenerateContentRequest.tools[0].function_declarations[3].parameters.properties: should be non-empty for OBJECT type",
    ] {
        let third: Arc<Mutex<Option<String>>> = Arc::default();
        let known = third.clone();
        let says = move |request: &Value| {
            let names: Vec<&str> = request["tools"]
                .as_array()
                .unwrap()
                .iter()
                .filter_map(|tool| tool["function"]["name"].as_str())
                .collect();
            let mut third = known.lock().unwrap();
            let bad = third.get_or_insert_with(|| if words.contains("Glob") { "Glob" } else { names[3] }.to_owned());
            if names.contains(&bad.as_str()) {
                Err((400, words.to_owned()))
            } else {
                Ok(json!({"prompt_tokens": 9_000}))
            }
        };
        let (mut session, asked) = session(Arc::new(says), Some(200_000)).await;
        let outcome = session.ask("go").await;
        assert_eq!(outcome.status, Status::Completed, "{words}: {:?}", outcome.reason);
        let bad = third.lock().unwrap().clone().unwrap();
        let said = notices(&session);
        assert!(said.iter().any(|text| text.starts_with(&format!("tool {bad}: left out"))), "{said:?}");
        assert_eq!(asked.lock().unwrap().len(), 2, "{words}");
        session.quit().await;
    }
}
