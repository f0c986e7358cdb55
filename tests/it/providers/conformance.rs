//! One list that the decoders of all wire formats pass, on recorded bytes cut at every size.

use belvedere::message::Usage;
use belvedere::provider::{Feed, ProviderError, StopReason, anthropic, openai};
use proptest::prelude::*;

use super::{Answer, decode, fixture, object, service};

struct Format {
    name: &'static str,
    feed: fn() -> Feed,
    /// The format's words for each stop reason.
    stops: &'static [(&'static str, StopReason)],
    stopped: fn(&str) -> String,
}

const FORMATS: [Format; 2] = [
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
];

fn usage(input: u64, output: u64) -> Usage {
    Usage { input, output, ..Usage::default() }
}

/// Every case with the answer it must give in either format.
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
                usage: Usage { input: 3, output: 7, cache_read: 1500, cache_write: 200 },
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
            if case == "thinking" && format.name == "anthropic" {
                "EqQBCg+/IYw==".clone_into(&mut expected.signature);
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
        let bytes = fixture(&format!("{}_error.sse", format.name));
        for size in 1..=bytes.len() {
            let (answer, result) = decode((format.feed)(), &bytes, size);
            assert_eq!(answer.text, "Half an ans");
            assert_eq!(answer.stop, None);
            let Err(ProviderError::Overloaded { detail, .. }) = result else { panic!("{}: {result:?}", format.name) };
            assert_eq!(detail, "Overloaded");
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
        assert!(matches!(result, Err(ProviderError::Protocol { .. })), "{}: {result:?}", format.name);
    }
}

#[test]
fn a_key_that_the_service_repeats_is_blotted_out() {
    let body = "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"authentication_error\",\"message\":\"bad key sk-secret-1234\\u001b[31m\"}}\n\n";
    for format in &FORMATS {
        let (_, result) = decode((format.feed)(), body.as_bytes(), body.len());
        let error = result.expect_err("an error event");
        assert!(matches!(error, ProviderError::Authentication { .. }), "{error:?}");
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
