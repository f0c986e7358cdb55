//! One list that the decoders of all wire formats pass, on recorded bytes cut at every size.

use belvedere::message::Usage;
use belvedere::provider::{ErrorKind, Feed, StopReason, anthropic, gemini, openai, responses};
use proptest::prelude::*;

use super::{Answer, decode, fixture, object, service};

struct Format {
    name: &'static str,
    feed: fn() -> Feed,
    /// The format's words for each stop reason.
    stops: &'static [(&'static str, StopReason)],
    stopped: fn(&str) -> String,
}

const FORMATS: [Format; 4] = [
    Format {
        name: "anthropic",
        feed: || anthropic::feed(service("anthropic")),
        stops: &[
            ("end_turn", StopReason::EndTurn),
            ("max_tokens", StopReason::MaxTokens),
            ("stop_sequence", StopReason::StopSequence),
            ("tool_use", StopReason::ToolUse),
            ("refusal", StopReason::Refusal),
            ("pause_turn", StopReason::PauseTurn),
            ("model_context_window_exceeded", StopReason::ContextWindow),
        ],
        stopped: |reason| {
            format!(
                "data: {{\"type\":\"message_delta\",\"delta\":{{\"stop_reason\":\"{reason}\"}},\"usage\":{{\"output_tokens\":1}}}}\n\ndata: {{\"type\":\"message_stop\"}}\n\n"
            )
        },
    },
    Format {
        name: "openai",
        feed: || openai::feed(service("openai")),
        stops: &[
            ("stop", StopReason::EndTurn),
            ("length", StopReason::MaxTokens),
            ("content_filter", StopReason::Refusal),
            // Nothing was called, so there is nothing to wait for.
            ("tool_calls", StopReason::EndTurn),
        ],
        stopped: |reason| {
            format!("data: {{\"choices\":[{{\"delta\":{{}},\"finish_reason\":\"{reason}\"}}]}}\n\ndata: [DONE]\n\n")
        },
    },
    Format {
        name: "responses",
        feed: || responses::feed(service("openai")),
        stops: &[
            ("completed", StopReason::EndTurn),
            ("max_output_tokens", StopReason::MaxTokens),
            ("content_filter", StopReason::Refusal),
        ],
        stopped: |reason| match reason {
            "completed" => "data: {\"type\":\"response.completed\",\"response\":{}}\n\n".to_owned(),
            _ => format!(
                "data: {{\"type\":\"response.incomplete\",\"response\":{{\"incomplete_details\":{{\"reason\":\"{reason}\"}}}}}}\n\n"
            ),
        },
    },
    Format {
        name: "gemini",
        feed: || gemini::feed(service("gemini")),
        stops: &[
            ("STOP", StopReason::EndTurn),
            ("MAX_TOKENS", StopReason::MaxTokens),
            ("SAFETY", StopReason::Refusal),
            ("RECITATION", StopReason::Refusal),
            ("PROHIBITED_CONTENT", StopReason::Refusal),
        ],
        stopped: |reason| format!("data: {{\"candidates\":[{{\"finishReason\":\"{reason}\"}}]}}\n\n"),
    },
];

fn usage(input: u64, output: u64) -> Usage {
    Usage { input, output, ..Usage::default() }
}

/// Every case with the answer it must give in each format.
fn cases() -> Vec<(&'static str, Answer)> {
    let text = "Grüße, 世界! 🦀\nSecond \"line\"\t\\end.".to_owned();
    let stop = |reason| Some(reason);
    let call = |id: &str, name: &str, json: &str| (id.to_owned(), name.to_owned(), object(json));
    vec![
        ("text", Answer { text, usage: usage(25, 12), stop: stop(StopReason::EndTurn), ..Answer::default() }),
        (
            "tools",
            Answer {
                text: "I look at both.".to_owned(),
                calls: vec![
                    call("toolu_01", "Grep", r#"{"pattern": "café \"x\" 🦀", "path": "src"}"#),
                    call("toolu_02", "LS", "{}"),
                ],
                usage: usage(25, 40),
                stop: stop(StopReason::ToolUse),
                ..Answer::default()
            },
        ),
        (
            "thinking",
            Answer {
                thinking: "The user wants a file.".to_owned(),
                calls: vec![call("toolu_01", "Read", r#"{"file_path": "/a"}"#)],
                usage: usage(25, 30),
                stop: stop(StopReason::ToolUse),
                ..Answer::default()
            },
        ),
        (
            "usage",
            Answer {
                text: "ok".to_owned(),
                usage: Usage { input: 3, output: 7, cache_read: 1500, cache_write: 200, ..Usage::default() },
                stop: stop(StopReason::EndTurn),
                ..Answer::default()
            },
        ),
        ("empty", Answer { usage: usage(25, 2), stop: stop(StopReason::EndTurn), ..Answer::default() }),
    ]
}

#[test]
fn every_case_gives_the_same_answer_however_the_bytes_are_cut() {
    for format in &FORMATS {
        for (case, mut expected) in cases() {
            let bytes = fixture(&format!("{}_{case}.sse", format.name));
            match (case, format.name) {
                ("thinking", "anthropic") => "EqQBCg+/IYw==".clone_into(&mut expected.signature),
                ("thinking", "openai") => r#"chat:{"as":"reasoning_content"}"#.clone_into(&mut expected.signature),
                ("thinking", "responses") => "responses:rs_1:gAAAAABo+/c=".clone_into(&mut expected.signature),
                ("thinking", "gemini") => "gemini:call:CrwBAXLI+/c=".clone_into(&mut expected.signature),
                // It does not count what it keeps.
                ("usage", "gemini") => expected.usage.cache_write = 0,
                _ => {}
            }
            for size in 1..=bytes.len() {
                let (answer, result) = decode((format.feed)(), &bytes, size);
                assert_eq!(result, Ok(()), "{} {case} cut at {size}", format.name);
                assert_eq!(answer, expected, "{} {case} cut at {size}", format.name);
            }
        }
    }
}

#[test]
fn an_error_in_the_stream_is_typed_and_what_came_before_it_is_kept() {
    for format in &FORMATS {
        let named = fixture(&format!("{}_error.sse", format.name));
        // Some gateways drop the names of events, and the type of an error.
        let nameless = without_names(&named);
        let bare = String::from_utf8(nameless.clone()).unwrap().replace(r#"{"type":"error","error""#, r#"{"error""#);
        for bytes in [named, nameless, bare.into_bytes()] {
            for size in 1..=bytes.len() {
                let (answer, result) = decode((format.feed)(), &bytes, size);
                assert_eq!(answer.text, "Half an ans");
                assert_eq!(answer.stop, None);
                let error = result.expect_err(format.name);
                assert_eq!((error.kind, error.detail.as_str()), (ErrorKind::Overloaded, "Overloaded"));
            }
        }
    }
}

/// Returns a stream without the names of its events.
fn without_names(bytes: &[u8]) -> Vec<u8> {
    let lines = bytes.split_inclusive(|byte| *byte == b'\n').filter(|line| !line.starts_with(b"event:"));
    lines.flatten().copied().collect()
}

/// Reads what each format has to bear: bytes that give this answer however they are cut, in small pieces or none.
fn bears(format: &Format, bytes: &[u8], expected: &Answer, what: &str) {
    for size in (1..24).chain([bytes.len()]) {
        let (answer, result) = decode((format.feed)(), bytes, size);
        assert_eq!((result, &answer), (Ok(()), expected), "{}, {what}, cut at {size}", format.name);
    }
}

#[test]
fn what_is_not_known_or_of_another_type_is_passed_over() {
    let strange: [&[&str]; 4] = [
        &[
            r#"{"type":"content_block_start","index":7,"content_block":{"type":"hologram","data":[1,2],"text":{"a":1},"input":5}}"#,
            r#"{"type":"content_block_delta","index":7,"delta":{"type":"hologram_delta","text":["a"],"partial_json":"{"}}"#,
            "{\"type\":\"content_block_start\",\"index\":7,\"content_block\":{\"type\":\"server_tool_use\"}}\n\ndata: \
             {\"type\":\"content_block_delta\",\"index\":7,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"{}\"}}",
            r#"{"type":"content_block_delta","index":"x","delta":"y"}"#,
            r#"{"type":"content_block_delta","index":-1,"delta":{"type":"text_delta","text":null}}"#,
            r#"{"type":"content_block_start","index":[],"content_block":"text"}"#,
            r#"{"type":"content_block_stop","index":{"a":1}}"#,
            r#"{"type":"message_start","message":"hello"}"#,
            r#"{"type":"message_start","message":{"usage":"much"}}"#,
            r#"{"type":"message_delta","delta":5,"usage":{"output_tokens":"12","input_tokens":-1}}"#,
            r#"{"type":"message_delta","delta":{"stop_reason":null},"usage":{"output_tokens":-1,"input_tokens":1e99}}"#,
            r#"{"type":"weather","message":{"usage":{"output_tokens":99}},"index":true}"#,
            r#"{"type":7}"#,
            r#"{"kind":"none"}"#,
        ],
        &[
            r#"{"choices":"none","usage":7}"#,
            r#"{"choices":[5,{"delta":"x"}]}"#,
            r#"{"choices":[{"delta":{"tool_calls":"none","function_call":3,"content":{"a":1}}}]}"#,
            r#"{"choices":[{"delta":{"tool_calls":[7]},"message":9,"finish_reason":false}]}"#,
            r#"{"choices":[],"usage":{"prompt_tokens":-1,"completion_tokens":[1]}}"#,
            r#"{"object":3}"#,
        ],
        &[
            r#"{"type":"response.output_item.added","output_index":7,"item":{"type":"hologram","call_id":[1],"content":5}}"#,
            r#"{"type":"response.output_item.done","output_index":"x","item":"none"}"#,
            r#"{"type":"response.output_text.delta","output_index":0,"delta":{"a":1}}"#,
            r#"{"type":"response.web_search_call.searching","output_index":-1,"item_id":4}"#,
            r#"{"type":"response.in_progress","response":"hello"}"#,
            r#"{"type":7}"#,
            r#"{"kind":"none"}"#,
        ],
        &[
            r#"{"candidates":"none","usageMetadata":7,"promptFeedback":[]}"#,
            r#"{"candidates":[5,{"content":"x"}]}"#,
            r#"{"candidates":[{"content":{"parts":{"text":"x"}},"finishReason":null}]}"#,
            r#"{"candidates":[{"content":{"parts":[7,{"functionCall":"Read"},{"executableCode":{"code":"x"}},{"text":{"a":1}}]}}]}"#,
            r#"{"candidates":[{"content":{"parts":[{"text":"","thought":"yes","thoughtSignature":null}]}}]}"#,
            r#"{"candidates":[],"promptFeedback":{"safetyRatings":[]},"usageMetadata":{"promptTokenCount":-1}}"#,
            r#"{"error":null,"modelVersion":4}"#,
        ],
    ];
    let both = ["keep-alive", "still at work", "5", "null", "\"hello\"", "[1, 2]"];
    for (format, strange) in FORMATS.iter().zip(strange) {
        let (_, expected) = cases().remove(0);
        let whole = String::from_utf8(fixture(&format!("{}_text.sse", format.name))).unwrap();
        let (first, rest) = whole.split_once("\n\n").unwrap();
        for data in strange.iter().copied().chain(both) {
            let bytes = format!("{first}\n\ndata: {data}\n\n{rest}");
            bears(format, bytes.as_bytes(), &expected, data);
        }
    }
}

#[test]
fn counts_in_a_strange_form_do_not_cost_the_end_of_an_answer() {
    for (count, output) in [(r#""12""#, 12), ("-1", 0), ("null", 0), ("[]", 0), ("1e300", 0)] {
        let claude = format!(
            "data: {{\"type\":\"message_delta\",\"delta\":{{\"stop_reason\":\"end_turn\"}},\"usage\":{{\"output_tokens\":{count}}}}}\n\ndata: {{\"type\":\"message_stop\"}}\n\n"
        );
        let gpt = format!(
            "data: {{\"choices\":[{{\"delta\":{{}},\"finish_reason\":\"stop\"}}],\"usage\":{{\"completion_tokens\":{count}}}}}\n\ndata: [DONE]\n\n"
        );
        let expected = Answer { usage: usage(0, output), stop: Some(StopReason::EndTurn), ..Answer::default() };
        let responses = format!(
            "data: {{\"type\":\"response.completed\",\"response\":{{\"usage\":{{\"output_tokens\":{count}}}}}}}\n\n"
        );
        let gemini = format!(
            "data: {{\"candidates\":[{{\"finishReason\":\"STOP\"}}],\"usageMetadata\":{{\"candidatesTokenCount\":{count}}}}}\n\n"
        );
        for (format, bytes) in FORMATS.iter().zip([claude, gpt, responses, gemini]) {
            bears(format, bytes.as_bytes(), &expected, count);
        }
    }
}

#[test]
fn an_input_whose_call_was_lost_is_a_broken_connection() {
    let lost = "data: {\"type\":\"content_block_delta\",\"index\":7,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"{}\"}}\n\n";
    let bytes = [&fixture("anthropic_early.sse"), lost.as_bytes()].concat();
    let error = decode(anthropic::feed(service("anthropic")), &bytes, 9).1.expect_err("its beginning is missing");
    assert_eq!(error.kind, ErrorKind::Interrupted, "{error:?}");
}

#[test]
fn pieces_that_came_before_a_whole_item_count_once_and_late_ones_only_whole() {
    let item = |kind: &str, rest: &str| format!("{{\"type\":\"{kind}\",\"output_index\":1,{rest}}}");
    let call = |arguments: &str| {
        format!(
            "\"item\":{{\"type\":\"function_call\",\"call_id\":\"t\",\"name\":\"Read\",\"arguments\":\"{arguments}\"}}"
        )
    };
    let whole = item("response.output_item.done", &call("{\\\"a\\\":1}"));
    let begun = item("response.output_item.added", &call(""));
    let piece = item("response.function_call_arguments.delta", "\"delta\":\"{\\\"a\\\":1}\"");
    let last = r#"{"type":"response.completed","response":{"output":[{"type":"function_call","call_id":"t","name":"Read","arguments":"{\"a\":1}"}]}}"#;
    for events in [vec![&begun, &piece, &whole], vec![&whole], vec![&begun, &whole], vec![]] {
        let events = events.into_iter().map(String::as_str).chain([last]);
        let bytes: String = events.map(|data| format!("data: {data}\n\n")).collect();
        let (answer, result) = decode(responses::feed(service("openai")), bytes.as_bytes(), 11);
        assert_eq!(result, Ok(()), "{bytes}");
        assert_eq!(answer.calls, [("t".to_owned(), "Read".to_owned(), object(r#"{"a":1}"#))], "{bytes}");
        assert_eq!(answer.stop, Some(StopReason::ToolUse));
    }
}

#[test]
fn an_answer_that_failed_at_the_service_is_a_typed_error() {
    let data = r#"{"type":"response.failed","response":{"status":"failed","error":{"code":"rate_limit_exceeded","message":"Slow down"}}}"#;
    let (_, result) = decode(responses::feed(service("openai")), format!("data: {data}\n\n").as_bytes(), 64);
    let error = result.expect_err("it failed");
    assert_eq!((error.kind, error.detail.as_str()), (ErrorKind::RateLimit, "Slow down"));
}

#[test]
fn a_broken_event_in_mid_answer_is_a_broken_connection() {
    for format in &FORMATS {
        let begun = fixture(&format!("{}_early.sse", format.name));
        for broken in ["{\"type\":\"content_bl", "{\"choices\":[{\"del", "{\"candidates\":[", "<html>", "{\"a\":1}}"] {
            let bytes = [&begun, format!("data: {broken}\n\n").as_bytes()].concat();
            for size in [1, 2, 3, 7, bytes.len()] {
                let (answer, result) = decode((format.feed)(), &bytes, size);
                let error = result.expect_err("an event that cannot be read");
                assert!(error.is_transient(), "{}: {error}", format.name);
                assert!(!error.to_string().contains("base URL"), "{error}");
                assert_eq!((answer.text.as_str(), answer.stop), ("Half an ans", None));
            }
        }
    }
}

/// Makes a stream of one event for each piece of text.
fn pieces(format: &Format, pieces: &[&str]) -> Vec<u8> {
    let event = |piece: &&str| {
        let text = serde_json::Value::from(*piece);
        match format.name {
            "anthropic" => format!(
                "data: {{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{{\"type\":\"text_delta\",\"text\":{text}}}}}\n\n"
            ),
            "responses" => format!("data: {{\"type\":\"response.output_text.delta\",\"delta\":{text}}}\n\n"),
            "gemini" => {
                format!("data: {{\"candidates\":[{{\"content\":{{\"parts\":[{{\"text\":{text}}}]}}}}]}}\n\n")
            }
            _ => format!("data: {{\"choices\":[{{\"delta\":{{\"content\":{text}}}}}]}}\n\n"),
        }
    };
    (pieces.iter().map(event).collect::<String>() + &(format.stopped)(format.stops[0].0)).into_bytes()
}

#[test]
fn reasoning_in_tags_is_no_part_of_the_answer() {
    let far = format!("{}<think>x</think>", " ".repeat(300));
    for (text, thinking, answer) in [
        ("<think>\nHm </th.\n</think>\n\nOk </think>", "\nHm </th.\n", "Ok </think>"),
        (" \n<think></think>Ok", "", "Ok"),
        ("<think>never closed </thi", "never closed </thi", ""),
        ("<thing> is a tag", "", "<thing> is a tag"),
        ("Write <think>x</think>", "", "Write <think>x</think>"),
        ("<thi", "", "<thi"),
        (&far, "", &far),
    ] {
        for format in &FORMATS {
            let letters: Vec<String> = text.chars().map(String::from).collect();
            let letters: Vec<&str> = letters.iter().map(String::as_str).collect();
            for cut in [vec![text], letters] {
                let (read, result) = decode((format.feed)(), &pieces(format, &cut), 64);
                assert_eq!(result, Ok(()));
                assert_eq!((read.thinking.as_str(), read.text.as_str()), (thinking, answer), "{} {text}", format.name);
            }
        }
    }
}

#[test]
fn a_whole_answer_in_one_document_is_read() {
    let claude = r#"{"type":"message","id":"m","role":"assistant","content":[{"type":"thinking","thinking":"Hm.","signature":"s"},{"type":"text","text":"I look."},{"type":"tool_use","id":"t","name":"Read","input":{"a":1}}],"stop_reason":"tool_use","usage":{"input_tokens":3,"output_tokens":7}}"#;
    let gpt = r#"{"id":"m","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","reasoning_content":"Hm.","content":"I look.","tool_calls":[{"id":"t","type":"function","function":{"name":"Read","arguments":"{\"a\":1}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":3,"completion_tokens":7}}"#;
    let responses = r#"{"id":"r","object":"response","status":"completed","error":null,"output":[{"type":"reasoning","summary":[{"type":"summary_text","text":"Hm."}],"encrypted_content":"s"},{"type":"message","content":[{"type":"output_text","text":"I look."}]},{"type":"function_call","call_id":"t","name":"Read","arguments":"{\"a\":1}"}],"usage":{"input_tokens":3,"output_tokens":7}}"#;
    let gemini = r#"{"candidates":[{"content":{"role":"model","parts":[{"text":"Hm.","thought":true},{"text":"I look."},{"functionCall":{"id":"t","name":"Read","args":{"a":1}},"thoughtSignature":"s"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":3,"candidatesTokenCount":5,"thoughtsTokenCount":2}}"#;
    let documents = [
        (claude, "s"),
        (gpt, r#"chat:{"as":"reasoning_content"}"#),
        (responses, "responses:s"),
        (gemini, "gemini:call:s"),
    ];
    for (format, (document, signature)) in FORMATS.iter().zip(documents) {
        let mut feed = (format.feed)();
        assert_eq!(feed.document(document.as_bytes()), Ok(()), "{}", format.name);
        let expected = Answer {
            text: "I look.".to_owned(),
            thinking: "Hm.".to_owned(),
            signature: signature.to_owned(),
            calls: vec![("t".to_owned(), "Read".to_owned(), object(r#"{"a":1}"#))],
            usage: usage(3, 7),
            stop: Some(StopReason::ToolUse),
            ..Answer::default()
        };
        assert_eq!(super::fold(std::iter::from_fn(|| feed.next_event())), expected, "{}", format.name);
        for none in ["{}", "[]", "{\"data\":[]}", "nothing"] {
            let error = (format.feed)().document(none.as_bytes()).expect_err("no answer");
            assert_eq!(error.kind, ErrorKind::Protocol, "{}: {error:?}", format.name);
        }
    }
}

#[test]
fn an_answer_that_breaks_off_is_a_transient_error() {
    for format in &FORMATS {
        let whole = fixture(&format!("{}_early.sse", format.name));
        // Also in the middle of an event: a cut connection is no fault of the server's words.
        for bytes in [&whole[..], &whole[..whole.len() - 9], &[]] {
            let (answer, result) = decode((format.feed)(), bytes, 7);
            assert_eq!(answer.stop, None);
            let error = result.expect_err("the answer has no end");
            assert!(error.is_transient(), "{error}");
            assert!(error.to_string().contains("ended early"), "{error}");
        }
    }
}

#[test]
fn every_stop_reason_is_known_and_an_unknown_one_is_kept() {
    for format in &FORMATS {
        let unknown = [("solar_flare", StopReason::Other("solar_flare".to_owned()))];
        for (word, expected) in format.stops.iter().chain(&unknown) {
            let bytes = (format.stopped)(word);
            let (answer, result) = decode((format.feed)(), bytes.as_bytes(), bytes.len());
            assert_eq!((result, answer.stop.as_ref()), (Ok(()), Some(expected)), "{} {word}", format.name);
        }
    }
}

#[test]
fn a_stop_counts_though_the_end_mark_is_missing() {
    for format in &FORMATS {
        let whole = (format.stopped)(format.stops[0].0);
        let (first, _) = whole.split_once("\n\n").expect("two events");
        for bytes in [format!("{first}\n\n"), first.to_owned()] {
            let (answer, result) = decode((format.feed)(), bytes.as_bytes(), 5);
            assert_eq!((result, answer.stop), (Ok(()), Some(StopReason::EndTurn)), "{}", format.name);
        }
    }
}

#[test]
fn what_is_no_json_is_a_protocol_error() {
    for format in &FORMATS {
        let (_, result) = decode((format.feed)(), b"data: <html>\n\n", 4);
        assert!(result.as_ref().is_err_and(|error| error.kind == ErrorKind::Protocol), "{}: {result:?}", format.name);
    }
}

#[test]
fn a_key_that_the_service_repeats_is_blotted_out() {
    let body = "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"authentication_error\",\"message\":\"bad key sk-secret-1234\\u001b[31m\"}}\n\n";
    for format in &FORMATS {
        let (_, result) = decode((format.feed)(), body.as_bytes(), body.len());
        let error = result.expect_err("an error event");
        assert_eq!(error.kind, ErrorKind::Authentication, "{error:?}");
        let words = format!("{error} {error:?}");
        assert!(words.contains("bad key ***") && !words.contains("secret") && !words.contains('\u{1b}'), "{words}");
    }
}

#[test]
fn encrypted_reasoning_is_handed_on() {
    let (answer, _) = decode(anthropic::feed(service("anthropic")), &fixture("anthropic_redacted.sse"), 3);
    assert_eq!((answer.redacted.as_str(), answer.text.as_str()), ("EmwKAhgB", "Done."));
}

#[test]
fn an_input_that_comes_whole_with_its_block_counts_once() {
    let start = r#"data: {"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t","name":"Read","input":{"a":1}}}"#;
    let delta = r#"data: {"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"a\":1}"}}"#;
    for events in [vec![start], vec![start, delta]] {
        let bytes = format!("{}\n\ndata: {{\"type\":\"message_stop\"}}\n\n", events.join("\n\n"));
        let (answer, result) = decode(anthropic::feed(service("anthropic")), bytes.as_bytes(), bytes.len());
        assert_eq!(result, Ok(()));
        assert_eq!(answer.calls, [("t".to_owned(), "Read".to_owned(), object(r#"{"a":1}"#))]);
        assert_eq!(answer.stop, Some(StopReason::ToolUse));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]
    #[test]
    fn mangled_bytes_never_panic(
        case in 0..FORMATS.len() * 7,
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..3_u8), 1..12),
        size in 1..64_usize,
    ) {
        let format = &FORMATS[case % FORMATS.len()];
        let name = ["text", "tools", "thinking", "usage", "empty", "error", "early"][case / FORMATS.len()];
        let mut bytes = fixture(&format!("{}_{name}.sse", format.name));
        for (at, byte, kind) in edits {
            let at = at.index(bytes.len());
            match kind {
                0 => bytes[at] = byte,
                1 => bytes.insert(at, byte),
                _ => bytes.truncate(at.max(1)),
            }
        }
        let mut feed = (format.feed)();
        let fed = bytes.chunks(size).try_for_each(|piece| feed.push(piece));
        let _ = fed.and_then(|()| feed.end());
        while feed.next_event().is_some() {}
    }
}
