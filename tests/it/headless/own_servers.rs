//! Servers of the user's own: the size of their context, and prompts that they cut. The real binary before imitations.

use std::collections::BTreeMap;
use std::process::Output;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{StatusCode, Uri};
use axum::response::{IntoResponse as _, Response};
use serde_json::{Value, json};

use super::{Bench, text};

struct Imitation {
    /// What it answers beside the chat, by path.
    answers: BTreeMap<&'static str, Value>,
    /// What it counts in each prompt.
    counted: u64,
    asked: Mutex<Vec<(String, Value)>>,
}

async fn answer(State(server): State<Arc<Imitation>>, uri: Uri, body: Bytes) -> Response {
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    let path = uri.path().to_owned();
    server.asked.lock().unwrap().push((path.clone(), body.clone()));
    let usage = json!({"prompt_tokens": server.counted, "completion_tokens": 5});
    let events = [("content-type", "text/event-stream")];
    if path.ends_with("/chat/completions") {
        let has_result = body["messages"].as_array().unwrap().iter().any(|message| message["role"] == "tool");
        let call = json!({"tool_calls": [{"index": 0, "id": "call_1", "type": "function",
            "function": {"name": "Read", "arguments": "{\"file_path\": \"src/lib.rs\"}"}}]});
        let (delta, end) = if has_result { (json!({"content": "done"}), "stop") } else { (call, "tool_calls") };
        let chunk = json!({"choices": [{"index": 0, "delta": delta, "finish_reason": end}], "usage": usage});
        let progress = |read: u64| {
            let progress = json!({"total": 9_000, "cache": 0, "processed": read, "time_ms": 1});
            let chunk = json!({"choices": [{"index": 0, "delta": {"role": "assistant", "content": null}, "finish_reason": null}],
                "prompt_progress": progress});
            format!("data: {chunk}\n\n")
        };
        let read = if body["return_progress"] == true { progress(4_500) + &progress(9_000) } else { String::new() };
        return (events, format!("{read}data: {chunk}\n\ndata: [DONE]\n\n")).into_response();
    }
    if path.ends_with("/messages") {
        let message = json!({"type": "message", "content": [{"type": "text", "text": "done"}],
            "stop_reason": "end_turn", "usage": {"input_tokens": server.counted, "output_tokens": 1}});
        return ([("content-type", "application/json")], message.to_string()).into_response();
    }
    match server.answers.get(path.as_str()) {
        Some(found) => found.to_string().into_response(),
        None => (StatusCode::NOT_FOUND, "404 page not found").into_response(),
    }
}

async fn ask(
    answers: &[(&'static str, Value)],
    counted: u64,
    (flags, env): (&[&str], &[(&str, &str)]),
) -> (Output, Vec<(String, Value)>) {
    let answers = answers.iter().cloned().collect();
    let server = Arc::new(Imitation { answers, counted, asked: Mutex::default() });
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let place = listener.local_addr().unwrap().to_string();
    let app = Router::new().fallback(answer).with_state(server.clone());
    let serving = tokio::spawn(async move { axum::serve(listener, app).await });
    let bench = Bench::new();
    if let Some((_, config)) = env.iter().find(|(name, _)| *name == "CONFIG") {
        bench.at_home(".config/belvedere/config.toml", &config.replace("{place}", &place));
    }
    let mut command = bench.command(&[&["-p", "go"], flags].concat());
    command.envs(env.iter().map(|(name, value)| (*name, value.replace("{place}", &place))));
    let output = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
    serving.abort();
    let asked = std::mem::take(&mut *server.asked.lock().unwrap());
    (output, asked)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_size_of_the_context_is_what_the_server_has_loaded() {
    let running = |context: u64| {
        json!({"models": [{"name": "other", "context_length": 999_999},
        {"name": "qwen3:latest", "model": "qwen3:latest", "context_length": context}]})
    };
    let shown =
        json!({"model_info": {"qwen3.context_length": 262_144}, "parameters": "stop \"<|im_end|>\"\nnum_ctx   16384"});
    let props = json!({"default_generation_settings": {"n_ctx": 20_480}, "total_slots": 1});
    let listed = json!({"object": "list", "data": [{"id": "qwen3", "object": "model", "max_model_len": 40_960}]});
    let studio = json!({"data": [{"id": "qwen3", "state": "loaded", "max_context_length": 131_072, "loaded_context_length": 12_288}]});
    let idle = json!({"data": [{"id": "qwen3", "state": "not-loaded", "max_context_length": 131_072}]});
    let ollama = (&["--model", "ollama/qwen3"][..], &[("OLLAMA_HOST", "{place}")][..]);
    let openai = (&["--model", "openai/qwen3"][..], &[("OPENAI_BASE_URL", "http://{place}/v1")][..]);
    let claude = (
        &["--model", "qwen3"][..],
        &[("ANTHROPIC_BASE_URL", "http://{place}"), ("ANTHROPIC_AUTH_TOKEN", "ollama")][..],
    );
    let named = (&["--model", "openai"][..], openai.1);
    for (answers, start, window) in [
        (&[("/api/ps", running(8_192)), ("/api/show", shown.clone())][..], ollama, json!(8_192)),
        (&[("/api/ps", running(8_192))], claude, json!(8_192)),
        (&[("/api/ps", json!({"models": []})), ("/api/show", shown.clone())], ollama, json!(16_384)),
        (&[("/api/ps", json!({"models": []})), ("/api/show", json!({"model_info": {}}))], ollama, Value::Null),
        (&[("/props", props.clone())], openai, json!(20_480)),
        (&[("/api/v0/models", studio)], openai, json!(12_288)),
        (&[("/api/v0/models", idle)], openai, Value::Null),
        (&[("/v1/models", listed.clone())], openai, json!(40_960)),
        (&[("/v1/models", listed)], named, json!(40_960)),
        (&[("/props", json!({"default_generation_settings": {"n_ctx": 0}}))], openai, Value::Null),
        (&[("/props", json!("nonsense"))], openai, Value::Null),
        (&[], openai, Value::Null),
    ] {
        let (flags, env) = start;
        let flags = [flags, &["--output-format", "events"]].concat();
        let (output, asked) = ask(answers, 6_000, (&flags, env)).await;
        let lines: Vec<Value> = text(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let chosen = lines.iter().find(|line| line["event"] == "model_chosen").unwrap();
        assert_eq!(chosen["context_window"], window, "{answers:?} {asked:?} {}", text(&output.stderr));
        let last = lines.last().unwrap();
        assert_eq!(last["result"], "done", "{last}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_prompt_that_the_server_has_cut_is_said_once_with_what_to_set() {
    let openai = (&["--model", "openai/qwen3"][..], &[("OPENAI_BASE_URL", "http://{place}/v1")][..]);
    let ollama = (&["--model", "ollama/qwen3"][..], &[("OLLAMA_HOST", "{place}")][..]);
    for (counted, start, words) in [
        (4_096, ollama, Some("OLLAMA_CONTEXT_LENGTH=32768")),
        (2_048, openai, Some("-c (llama.cpp)")),
        (1_500, openai, Some("Give the server a larger context")),
        (6_100, openai, None),
        // Test servers and old ones count nothing, or what was new.
        (0, openai, None),
        (12, openai, None),
    ] {
        let (output, _) = ask(&[], counted, start).await;
        let said = text(&output.stderr);
        assert_eq!(text(&output.stdout), "done\n", "{said}");
        let notices: Vec<&str> = said.lines().filter(|line| line.contains("it cuts long prompts")).collect();
        assert_eq!(notices.len(), usize::from(words.is_some()), "{counted}: {said}");
        assert!(words.is_none_or(|words| notices[0].contains(words)), "{said}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn llama_cpp_is_asked_how_far_it_has_read_and_others_are_not() {
    let row = r#"[providers.box]\nwire = "openai"\nurl = "http://{place}/v1"\nlocal = true\ndialect = "llamacpp"\n"#;
    for (dialect, reads) in [(true, vec![0, 4_500, 9_000]), (false, vec![0])] {
        let row = if dialect { row.to_owned() } else { row.replace("dialect = \"llamacpp\"\\n", "") };
        let config = ("CONFIG", row.replace("\\n", "\n"));
        let flags = ["--model", "box/tiny", "--output-format", "events"];
        let (output, asked) = ask(&[], 6_000, (&flags, &[(config.0, config.1.as_str())])).await;
        let chats: Vec<&Value> =
            asked.iter().filter(|(path, _)| path.ends_with("completions")).map(|(_, body)| body).collect();
        assert!(
            !chats.is_empty() && chats.iter().all(|body| body.get("return_progress").is_some() == dialect),
            "{chats:?}"
        );
        let lines = text(&output.stdout);
        let events = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let read: Vec<u64> =
            events.filter(|line| line["event"] == "prompt_read").map(|line| line["read"].as_u64().unwrap()).collect();
        assert_eq!(read[..read.len() / 2], reads, "{lines}");
    }
}
