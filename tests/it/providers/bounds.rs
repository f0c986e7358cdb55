//! A reply has a size, whatever a server sends; and what is damaged on the way is never taken for whole.

use belvedere::agent::turn::{Turn, TurnBuilder};
use belvedere::message::{AgentId, Block, ToolInput};
use belvedere::provider::{Feed, ReplySize, StopReason, StreamEvent, anthropic, gemini, openai};

use super::{fixture, service};
use crate::support::Dice;

/// Small, so that the tests are quick; the bound is the same code at every size.
const SIZE: ReplySize = ReplySize { content: 64 << 10, wire: 1 << 20 };

fn claude() -> Feed {
    anthropic::feed(service("anthropic"))
}

fn gpt() -> Feed {
    openai::feed(service("openai"))
}

fn google() -> Feed {
    gemini::feed(service("gemini"))
}

fn part(json: &str) -> String {
    data(&format!(r#"{{"candidates":[{{"content":{{"parts":[{json}]}}}}]}}"#))
}

/// What came of a stream, and how much of it was read.
struct Ending {
    turn: Turn,
    fed: usize,
    events: usize,
}

/// Feeds what `event` makes of 0, 1, 2 … until the feed takes no more, and folds what comes out as the loop does.
fn run(feed: Feed, event: impl Fn(usize) -> String) -> Ending {
    let mut feed = feed.bounded(SIZE);
    let mut builder = TurnBuilder::default();
    let (mut fed, mut events) = (0, 0);
    for number in 0.. {
        let bytes = event(number).into_bytes();
        fed += bytes.len();
        assert!(fed <= SIZE.wire + bytes.len(), "it reads on without end");
        feed.push(&bytes).expect("no error");
        for event in std::iter::from_fn(|| feed.next_event()) {
            events += 1;
            builder.push(event);
        }
        if feed.is_complete() {
            break;
        }
    }
    let turn = builder.finish(AgentId::MAIN, &mut std::collections::HashSet::new());
    Ending { turn, fed, events }
}

/// Returns what a reply holds: its text in bytes, and what each part takes besides.
fn held(turn: &Turn) -> usize {
    let size = |block: &Block| match block {
        Block::Text { text } => text.len(),
        Block::Thinking { text, signature } => text.len() + signature.as_ref().map_or(0, String::len),
        Block::RedactedThinking { data } => data.len(),
        Block::Served(step) => step.size(),
        Block::ToolCall(call) => {
            let input = match &call.input {
                ToolInput::Object(map) => serde_json::to_string(map).expect("JSON").len(),
                ToolInput::Malformed(text) => text.len(),
            };
            call.id.len() + call.name.len() + input
        }
    };
    turn.message.content.iter().map(|block| size(block) + 128).sum()
}

fn data(json: &str) -> String {
    format!("data: {json}\n\n")
}

fn delta(kind: &str, field: &str, text: &str) -> String {
    data(&format!(r#"{{"type":"content_block_delta","index":0,"delta":{{"type":"{kind}","{field}":"{text}"}}}}"#))
}

fn block(index: usize, kind: &str) -> String {
    data(&format!(
        r#"{{"type":"content_block_start","index":{index},"content_block":{{"type":"{kind}","id":"c{index}","name":"Read"}}}}"#
    ))
}

fn chunk(delta: &str) -> String {
    data(&format!(r#"{{"choices":[{{"delta":{delta}}}]}}"#))
}

type Case = (&'static str, fn() -> Feed, fn(usize) -> String);

/// Streams without an end, each of its own kind.
const ENDLESS: [Case; 26] = [
    ("text", claude, |_| delta("text_delta", "text", &"a".repeat(5_000))),
    ("wide text", claude, |_| delta("text_delta", "text", &"中".repeat(1_001))),
    ("text in one event", claude, |_| delta("text_delta", "text", &"a".repeat(900_000))),
    ("thinking", claude, |_| delta("thinking_delta", "thinking", &"a".repeat(5_000))),
    ("thinking in tags", claude, |n| {
        delta("text_delta", "text", &["a ", "<think>"][usize::from(n == 0)].repeat(1_000))
    }),
    ("tool input", claude, |n| {
        if n == 0 { block(0, "tool_use") } else { delta("input_json_delta", "partial_json", &"a".repeat(5_000)) }
    }),
    ("a signature", claude, |n| {
        if n == 0 { block(0, "thinking") } else { delta("signature_delta", "signature", &"a".repeat(5_000)) }
    }),
    ("calls", claude, |n| block(n, "tool_use")),
    ("calls of one index", claude, |n| block(n, "tool_use").replace(&format!("\"index\":{n},"), "\"index\":0,")),
    ("one call again and again", claude, |_| block(0, "tool_use")),
    ("encrypted blocks", claude, |n| block(n, "redacted_thinking")),
    ("unknown blocks", claude, |n| block(n, "hologram")),
    ("thoughts and words by turns", claude, |n| {
        if n % 2 == 0 { delta("text_delta", "text", "a") } else { delta("thinking_delta", "thinking", "a") }
    }),
    ("blanks before a tag", claude, |_| delta("text_delta", "text", &" ".repeat(500))),
    ("pings", claude, |_| data(r#"{"type":"ping"}"#)),
    ("comments", claude, |_| format!(": {}\n", "a".repeat(5_000))),
    ("text", gpt, |_| chunk(&format!(r#"{{"content":"{}"}}"#, "a".repeat(5_000)))),
    ("thinking", gpt, |_| chunk(&format!(r#"{{"reasoning_content":"{}"}}"#, "a".repeat(5_000)))),
    ("calls", gpt, |n| {
        chunk(&format!(
            r#"{{"tool_calls":[{{"index":{n},"id":"c{n}","function":{{"name":"LS","arguments":"{{}}"}}}}]}}"#
        ))
    }),
    ("calls without a name", gpt, |n| {
        chunk(&format!(r#"{{"tool_calls":[{{"index":{n},"function":{{"arguments":"{{}}"}}}}]}}"#))
    }),
    ("input without a name", gpt, |_| {
        chunk(&format!(r#"{{"tool_calls":[{{"index":0,"function":{{"arguments":"{}"}}}}]}}"#, "a".repeat(5_000)))
    }),
    ("text", google, |_| part(&format!(r#"{{"text":"{}"}}"#, "a".repeat(5_000)))),
    ("thinking", google, |_| part(&format!(r#"{{"text":"{}","thought":true}}"#, "a".repeat(5_000)))),
    ("calls", google, |_| part(r#"{"functionCall":{"name":"LS","args":{"path":"a"}}}"#)),
    ("signatures", google, |_| part(&format!(r#"{{"text":"","thoughtSignature":"{}"}}"#, "a".repeat(5_000)))),
    ("a name that is repeated", gpt, |_| {
        chunk(r#"{"tool_calls":[{"index":0,"function":{"name":"LS","arguments":"{\"a\":\"}"}}]}"#)
    }),
];

/// Those of which nothing, or one thing, is a part of the reply.
const EMPTY: [&str; 7] = [
    "pings",
    "comments",
    "a signature",
    "unknown blocks",
    "one call again and again",
    "calls without a name",
    "input without a name",
];

#[test]
fn a_stream_without_an_end_is_cut_off_and_keeps_what_came() {
    for (what, feed, event) in ENDLESS {
        let Ending { turn, fed, events } = run(feed(), event);
        assert_eq!(turn.stop, Some(StopReason::MaxTokens), "{what}");
        let held = held(&turn);
        assert!(held <= SIZE.content, "{what}: {held} bytes are kept");
        assert!(events <= SIZE.wire / 50, "{what}: {events} events of {fed} bytes");
        let is_content = !EMPTY.contains(&what);
        assert!(!is_content || held > SIZE.content / 8, "{what}: {held} bytes are kept");
    }
}

#[test]
fn the_size_of_a_reply_follows_what_was_asked_for() {
    assert_eq!(ReplySize::of_tokens(100).content, 1 << 20);
    assert_eq!(ReplySize::of_tokens(128_000).content, 2_048_000);
    assert_eq!(ReplySize::of_tokens(u32::MAX).content, 64 << 20);
    // A token that comes alone in an event of a kilobyte is read to the end.
    assert!(ReplySize::of_tokens(64_000).wire >= 32_000 * 1_024);
}

#[test]
fn an_answer_as_large_as_was_asked_for_is_whole() {
    let text = "word ".repeat(13_000);
    let bytes = delta("text_delta", "text", &text) + &data(r#"{"type":"message_stop"}"#);
    let Ending { turn, .. } = run(claude(), |_| bytes.clone());
    assert_eq!((turn.stop, turn.message.text()), (Some(StopReason::EndTurn), text));
}

/// Makes a random damage to a stream.
fn damage(bytes: &mut Vec<u8>, dice: &mut Dice) {
    let at = |dice: &mut Dice, len: usize| usize::try_from(dice.roll(u64::try_from(len.max(1)).unwrap())).unwrap();
    let from = at(dice, bytes.len());
    match dice.roll(7) {
        0 => bytes.truncate(from),
        1 => bytes[from] ^= 1 << dice.roll(8),
        2 => drop(bytes.drain(from..(from + at(dice, 40)).min(bytes.len()))),
        3 => {
            // A value becomes one of another type.
            let values = ["null", "-1", "[]", "{}", "\"x\"", "1e999", "true", "[{\"text\":[1]}]"];
            if let Some(colon) = bytes[from..].iter().position(|byte| *byte == b':') {
                let start = from + colon + 1;
                let end = bytes[start..]
                    .iter()
                    .position(|byte| b",}\n".contains(byte))
                    .map_or(bytes.len(), |end| start + end);
                bytes.splice(start..end, dice.pick(&values).bytes());
            }
        }
        4 => {
            // A line is lost, or comes twice.
            let end = bytes[from..].iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |end| from + end + 1);
            let start = bytes[..from].iter().rposition(|byte| *byte == b'\n').map_or(0, |start| start + 1);
            let line = bytes[start..end].to_vec();
            let twice = if dice.roll(2) == 0 { Vec::new() } else { [line.clone(), line].concat() };
            bytes.splice(start..end, twice);
        }
        5 => drop(bytes.splice(from..from, dice.pick(&["\n", "\r", "\u{0}", "}", "\"", "data: ", "\n\n"]).bytes())),
        _ => bytes.insert(from, u8::try_from(dice.roll(256)).unwrap()),
    }
    if bytes.is_empty() {
        bytes.push(b'\n');
    }
}

#[test]
fn a_thousand_damaged_streams_are_neither_believed_whole_nor_fatal() {
    let mut dice = Dice::new(10);
    let (mut whole, mut failed) = (0, 0);
    for number in 0..1_000_u32 {
        let (name, feed): (_, fn() -> Feed) = *dice.pick(&[
            ("anthropic_text", claude as fn() -> Feed),
            ("anthropic_tools", claude),
            ("anthropic_thinking", claude),
            ("anthropic_usage", claude),
            ("anthropic_redacted", claude),
            ("openai_text", gpt),
            ("openai_tools", gpt),
            ("openai_thinking", gpt),
            ("openai_usage", gpt),
            ("ollama_whole_calls", gpt),
            ("interleaved", gpt),
            ("function_call", gpt),
            ("gemini_text", google),
            ("gemini_tools", google),
            ("gemini_thinking", google),
            ("gemini_usage", google),
        ]);
        let mut bytes = fixture(&format!("{name}.sse"));
        for _ in 0..=dice.roll(3) {
            damage(&mut bytes, &mut dice);
        }
        let mut feed = feed().bounded(SIZE);
        let size = usize::try_from(1 + dice.roll(200)).unwrap();
        let result = bytes.chunks(size).try_for_each(|piece| feed.push(piece)).and_then(|()| feed.end());
        let mut builder = TurnBuilder::default();
        let mut stopped = false;
        for event in std::iter::from_fn(|| feed.next_event()) {
            stopped |= matches!(event, StreamEvent::Stop(_));
            builder.push(event);
        }
        let turn = builder.finish(AgentId::MAIN, &mut std::collections::HashSet::new());
        assert!(held(&turn) <= SIZE.content, "{number}");
        assert_eq!(stopped, result.is_ok(), "{number}: {result:?}");
        let text = String::from_utf8_lossy(&bytes);
        let marks = ["stop_reason", "message_stop", "finish_reason", "[DONE]", "finishReason"];
        assert!(!stopped || marks.iter().any(|mark| text.contains(mark)), "{number}: whole without an end: {text}");
        whole += u32::from(stopped);
        failed += u32::from(!stopped);
    }
    assert!(whole > 200 && failed > 200, "{whole} and {failed}");
}
