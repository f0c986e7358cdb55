//! Which service gets to see what a subagent works on: the real binary before a server that speaks both APIs.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::Uri;
use axum::response::{IntoResponse as _, Response};
use serde_json::{Value, json};

use super::Bench;

/// What was asked of which API: path, model and the task.
type Asked = Arc<Mutex<Vec<(String, String, String)>>>;

const KINDS: [&str; 6] = ["quick", "cheap", "other", "junk", "strange", "plain"];

async fn answer(State(asked): State<Asked>, uri: Uri, body: Bytes) -> Response {
    let request: Value = serde_json::from_slice(&body).unwrap();
    let text = request["messages"].to_string();
    asked.lock().unwrap().push((uri.path().to_owned(), request["model"].as_str().unwrap().to_owned(), text.clone()));
    let event = |value: Value| format!("event: {}\ndata: {value}\n\n", value["type"].as_str().unwrap());
    let is_first_of_main = text.contains("spawn them all") && !text.contains("tool_result");
    let call = |(at, kind): (usize, &&str)| {
        let prompt = format!("WHAT: the work of {kind}-kind. WHERE: here. RETURN: one word.");
        let input = json!({"description": kind, "subagent_type": kind, "prompt": prompt});
        json!({"type": "tool_use", "id": format!("toolu_{at}"), "name": "Agent", "input": input})
    };
    let blocks: Vec<Value> = if is_first_of_main {
        KINDS.iter().enumerate().map(call).collect()
    } else {
        vec![json!({"type": "text", "text": "done"})]
    };
    if uri.path().ends_with("/chat/completions") {
        let chunk =
            json!({"id": "c", "choices": [{"index": 0, "delta": {"content": "done"}, "finish_reason": "stop"}]});
        return ([("content-type", "text/event-stream")], format!("data: {chunk}\n\ndata: [DONE]\n\n")).into_response();
    }
    let mut out = event(
        json!({"type": "message_start", "message": {"id": "m", "type": "message", "role": "assistant", "content": [], "model": "m", "usage": {"input_tokens": 1, "output_tokens": 1}}}),
    );
    for (index, block) in blocks.iter().enumerate() {
        let mut start = block.clone();
        let delta = match block["type"].as_str() {
            Some("text") => json!({"type": "text_delta", "text": block["text"]}),
            _ => json!({"type": "input_json_delta", "partial_json": block["input"].to_string()}),
        };
        match block["type"].as_str() {
            Some("text") => start["text"] = json!(""),
            _ => start["input"] = json!({}),
        }
        out += &event(json!({"type": "content_block_start", "index": index, "content_block": start}));
        out += &event(json!({"type": "content_block_delta", "index": index, "delta": delta}));
        out += &event(json!({"type": "content_block_stop", "index": index}));
    }
    let stop = if is_first_of_main { "tool_use" } else { "end_turn" };
    out += &event(json!({"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {"output_tokens": 1}}));
    out += &event(json!({"type": "message_stop"}));
    ([("content-type", "text/event-stream")], out).into_response()
}

/// Asks the binary; returns path and model for each kind, and standard error.
async fn asked(environment: &[(&str, &str)]) -> (Vec<(String, String)>, String) {
    let bench = Bench::new();
    let head = |name: &str, model: &str| format!("---\nname: {name}\ndescription: d\nmodel: {model}\n---\nYou work.");
    for (name, model) in
        [("quick", "quick"), ("cheap", "Penny"), ("other", "openai/gpt-5.2"), ("junk", "gpt-9"), ("plain", "inherit")]
    {
        bench.at_home(&format!(".claude/agents/{name}.md"), &head(name, model));
    }
    bench.at_home(".config/belvedere/config.toml", "[aliases]\npenny = \"anthropic/claude-haiku-4-5\"\n");
    bench.file(".claude/agents/strange.md", &head("strange", "openai/gpt-5.2"));
    bench.file(".belvedere/config.toml", "[aliases]\npenny = \"openai/evil\"\n");
    let asked = Asked::default();
    let app = Router::new().fallback(answer).with_state(asked.clone());
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let server = tokio::spawn(async move { axum::serve(listener, app).await });
    let mut command =
        bench.command(&["-p", "spawn them all", "--trust", "--model", "anthropic/opus", "--output-format", "events"]);
    command.env("ANTHROPIC_API_KEY", "k").env("ANTHROPIC_BASE_URL", &base).env("OPENAI_BASE_URL", format!("{base}/v1"));
    command.envs(environment.iter().copied());
    let output = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
    server.abort();
    let seen = asked.lock().unwrap();
    let of_kind = |kind: &str| {
        let found =
            seen.iter().find(|(_, _, text)| text.contains(&format!("{kind}-kind")) && !text.contains("spawn them all"));
        found.map(|(path, model, _)| (path.clone(), model.clone())).unwrap_or_default()
    };
    let said = super::text(&output.stdout) + &super::text(&output.stderr);
    (KINDS.iter().map(|kind| of_kind(kind)).collect(), said)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_user_chooses_services_and_a_project_does_not() {
    let (models, said) = asked(&[]).await;
    let expected = [
        ("/v1/messages", "claude-haiku-5-5"),
        ("/v1/messages", "claude-haiku-4-5"),
        ("/v1/chat/completions", "gpt-5.2"),
        ("/v1/chat/completions", "gpt-9"),
        ("/v1/messages", "claude-opus-5-5"),
        ("/v1/messages", "claude-opus-5-5"),
    ];
    assert_eq!(models, expected.map(|(path, model)| (path.to_owned(), model.to_owned())), "{said}");
    assert!(said.contains("a project may not set `aliases`"), "{said}");
    assert!(
        said.contains("anthropic has no model `openai/gpt-5.2`") && said.contains("Using opus 5.5 instead."),
        "{said}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_environment_comes_before_the_definitions() {
    let (models, said) = asked(&[("CLAUDE_CODE_SUBAGENT_MODEL", "sonnet")]).await;
    assert!(models.iter().all(|(_, model)| model == "claude-sonnet-5-5"), "{models:?} {said}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_gateway_has_subagent_models_of_any_name() {
    let (models, said) = asked(&[("CLAUDE_CODE_SUBAGENT_MODEL", "glm-4.5-air"), ("ANTHROPIC_AUTH_TOKEN", "t")]).await;
    assert!(models.iter().all(|(path, model)| path == "/v1/messages" && model == "glm-4.5-air"), "{models:?} {said}");
}
