//! What servers make of the Chat Completions API.

use belvedere::message::ToolInput;
use belvedere::provider::{ErrorKind, ProviderError, StopReason, anthropic, openai};

use super::{Answer, decode, fixture, object, service};

/// Reads an answer, and makes sure that it is the same however the bytes are cut.
fn read(bytes: &[u8]) -> Answer {
    let whole = decode(openai::feed(service("openai")), bytes, bytes.len());
    for size in [1, 2, 3, 7, 64] {
        assert_eq!(decode(openai::feed(service("openai")), bytes, size), whole, "cut at {size}");
    }
    assert_eq!(whole.1, Ok(()));
    whole.0
}

#[test]
fn two_calls_are_told_apart_however_little_the_server_says() {
    for (name, ids) in [
        ("ollama_whole_calls.sse", ["call_a", "call_b"]),
        ("no_id_no_index.sse", ["", ""]),
        ("same_index_no_id.sse", ["", ""]),
        ("object_arguments.sse", ["c1", "c2"]),
        ("repeated_name_and_ids.sse", ["c1", "c2"]),
        ("interleaved.sse", ["c1", "c2"]),
        ("late_name.sse", ["c1", "c2"]),
    ] {
        let answer = read(&fixture(name));
        let call = |id: &str, path: &str| {
            (id.to_owned(), "Read".to_owned(), object(&format!("{{\"file_path\": \"{path}\"}}")))
        };
        assert_eq!(answer.calls, [call(ids[0], "/a"), call(ids[1], "/b")], "{name}");
        assert_eq!(answer.stop, Some(StopReason::ToolUse), "{name}");
    }
}

#[test]
fn the_form_before_tool_calls_is_read() {
    let answer = read(&fixture("function_call.sse"));
    assert_eq!(answer.calls, [(String::new(), "Read".to_owned(), object(r#"{"file_path":"/a"}"#))]);
    assert_eq!(answer.stop, Some(StopReason::ToolUse));
}

#[test]
fn nulls_comments_and_a_missing_end_mark_are_borne() {
    let answer = read(&fixture("nulls.sse"));
    assert_eq!((answer.text.as_str(), answer.stop), ("ok!", Some(StopReason::EndTurn)));
}

#[test]
fn reasoning_has_two_names_and_counts_once() {
    let answer = read(&fixture("openrouter_reasoning.sse"));
    assert_eq!((answer.thinking.as_str(), answer.text.as_str()), ("Hm.", "ok"));
    assert_eq!((answer.usage.input, answer.usage.output), (9, 3));
    let both = b"data: {\"choices\":[{\"delta\":{\"reasoning\":\"Hm.\",\"reasoning_content\":\"Hm.\"},\"finish_reason\":\"stop\"}]}\n\n";
    assert_eq!(read(both).thinking, "Hm.");
}

#[test]
fn token_counts_in_a_strange_form_do_not_cost_the_answer() {
    let bytes = b"data: {\"choices\":[{\"delta\":{\"content\":\"ok\"},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":\"7\"}}\n\n";
    assert_eq!(read(bytes).text, "ok");
    let cached = b"data: {\"choices\":[],\"usage\":{\"prompt_tokens\":10,\"completion_tokens\":1,\"prompt_cache_hit_tokens\":4}}\n\ndata: [DONE]\n\n";
    assert_eq!((read(cached).usage.input, read(cached).usage.cache_read), (6, 4));
}

#[test]
fn a_message_that_comes_whole_and_in_parts_is_read() {
    assert_eq!(read(&fixture("whole_message.sse")).text, "ok");
}

#[test]
fn a_call_that_never_gets_a_name_reaches_the_loop() {
    let bytes = b"data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"{}\"}}]}}]}\n\ndata: [DONE]\n\n";
    assert_eq!(read(bytes).calls, [(String::new(), String::new(), ToolInput::parse("{}"))]);
}

#[test]
fn errors_in_the_stream_come_in_many_shapes() {
    let classify = |data: &str| {
        let bytes = format!("data: {data}\n\n");
        decode(openai::feed(service("openai")), bytes.as_bytes(), 9).1.expect_err("an error")
    };
    let words = |error: ProviderError| error.to_string();
    assert_eq!(classify(r#"{"error":{"code":429,"message":"slow down"},"choices":[]}"#).kind, ErrorKind::RateLimit);
    assert_eq!(classify(r#"{"error":{"type":"server_error","message":"oh"}}"#).kind, ErrorKind::Internal);
    assert_eq!(
        classify(r#"{"object":"error","message":"maximum context length is 10","code":400}"#).kind,
        ErrorKind::ContextTooLong
    );
    assert_eq!(
        classify(r#"{"error":{"message":"m","type":"exceed_context_size_error","code":400}}"#).kind,
        ErrorKind::ContextTooLong
    );
    assert_eq!(
        classify(r#"{"choices":[{"delta":{},"finish_reason":"error","error":{"code":502,"message":"upstream"}}]}"#)
            .kind,
        ErrorKind::Internal
    );
    let plain = classify(r#"{"error":"model runner has crashed"}"#);
    assert!(words(plain).contains("model runner has crashed"));
}

#[test]
fn fields_of_a_strange_kind_do_not_cost_the_answer() {
    let bytes = b"data: {\"choices\":[{\"delta\":{\"content\":\"ok\",\"reasoning\":{\"summary\":[]},\"refusal\":false},\"finish_reason\":\"stop\"}]}\n\n";
    assert_eq!(read(bytes).text, "ok");
}

#[test]
fn an_error_that_is_no_event_is_told_all_the_same() {
    let begun = "data: {\"choices\":[{\"delta\":{\"content\":\"ok\"}}]}\n\n";
    let claude = "data: {\"type\":\"ping\"}\n\n";
    for end in ["", "\n"] {
        let bytes = |begin: &str| {
            format!("{begin}{{\"error\":{{\"message\":\"out of memory\",\"code\":500}}}}{end}").into_bytes()
        };
        for size in [1, 7, 500] {
            let (answer, result) = decode(openai::feed(service("openai")), &bytes(begun), size);
            assert_eq!(answer.text, "ok");
            assert!(
                result
                    .is_err_and(|error| (error.kind, error.detail.as_str()) == (ErrorKind::Internal, "out of memory"))
            );
            let (_, result) = decode(anthropic::feed(service("anthropic")), &bytes(claude), size);
            assert!(
                result
                    .is_err_and(|error| (error.kind, error.detail.as_str()) == (ErrorKind::Internal, "out of memory"))
            );
        }
    }
}

#[test]
fn what_only_keeps_a_connection_open_is_no_sign_of_the_model() {
    for (mut feed, bytes) in [
        (anthropic::feed(service("anthropic")), "event: ping\ndata: {\"type\":\"ping\"}\n\n"),
        (openai::feed(service("openai")), ": still at work\n\n: still at work\n\n"),
    ] {
        feed.push(bytes.as_bytes()).unwrap();
        assert_eq!(feed.next_event(), None);
    }
}
