//! The parser of server-sent events, against an independent one.

use belvedere::network::sse::{EVENT_CAP, Parser, SseEvent, TooLarge};
use futures::{FutureExt, StreamExt};
use proptest::prelude::*;

type Owned = (String, String);

fn parse(bytes: &[u8], size: usize) -> Vec<Owned> {
    let mut parser = Parser::default();
    let mut events = Vec::new();
    for piece in bytes.chunks(size.max(1)) {
        let keep = |event: SseEvent<'_>| {
            events.push((event.name.to_owned(), event.data.to_owned()));
            Ok::<(), TooLarge>(())
        };
        parser.push(piece, keep).expect("small events");
    }
    events
}

fn oracle(bytes: &[u8]) -> Vec<Owned> {
    let stream = sse_stream::SseByteStream::new(futures::stream::iter([Ok::<_, std::convert::Infallible>(bytes)]));
    let events = stream.collect::<Vec<_>>().now_or_never().expect("the stream never waits");
    // The oracle hands out events without data, which the specification drops.
    let events = events.into_iter().map_while(Result::ok).filter_map(|event| {
        let data = event.data?;
        Some((event.event.unwrap_or_default(), data))
    });
    events.collect()
}

const SAMPLES: [&str; 9] = [
    "data: a\n\ndata: b\r\n\r\ndata: c\r\rdata:d\n\n",
    "\u{feff}event: x\ndata: 1\ndata: 2\ndata\ndata:  3\n\n",
    ": comment\n\nid: 7\nretry: 10\ndata: ü 世界 🦀\n\n",
    "event: a\n\ndata: name is gone\n\n",
    "data\n\ndata:\n\n",
    "data: cut",
    "data: cut\n",
    "\n\n\r\n\r\rdata: x\r\n\n\r\n",
    "dat: a\ndata : b\ndata: c: d\nevent: y\nevent: z\n\n",
];

#[test]
fn events_are_those_of_the_oracle_however_the_bytes_are_cut() {
    for sample in SAMPLES {
        let expected = oracle(sample.as_bytes());
        for size in 1..=sample.len() {
            assert_eq!(parse(sample.as_bytes(), size), expected, "{sample:?} cut at {size}");
        }
    }
}

#[test]
fn an_event_beyond_the_cap_is_refused_in_linear_time() {
    let piece = vec![b'x'; 64 * 1024];
    for start in ["data: ", "no field at all"] {
        let mut parser = Parser::default();
        let ignore = |_: SseEvent<'_>| Ok::<(), TooLarge>(());
        parser.push(start.as_bytes(), ignore).expect("small");
        let pushed = (0..1000).take_while(|_| parser.push(&piece, ignore).is_ok()).count();
        assert_eq!(pushed, EVENT_CAP / piece.len() - 1);
    }
    let mut parser = Parser::default();
    let line = format!("data: {}\n", "x".repeat(1024 * 1024));
    let pushed = (0..1000).take_while(|_| parser.push(line.as_bytes(), |_| Ok::<(), TooLarge>(())).is_ok()).count();
    assert_eq!(pushed, 15);
}

#[test]
fn the_last_event_may_lack_its_empty_line() {
    let mut parser = Parser::default();
    let mut events = Vec::new();
    parser.push(b"data: [DONE]", |_| Ok::<(), TooLarge>(())).expect("small");
    let keep = |event: SseEvent<'_>| {
        events.push(event.data.to_owned());
        Ok::<(), TooLarge>(())
    };
    parser.finish(keep).expect("small");
    assert_eq!(events, ["[DONE]"]);
}

proptest! {
    #[test]
    fn any_text_gives_the_events_of_the_oracle(
        pieces in prop::collection::vec(
            prop::sample::select(vec![
                "data", "event", ":", " ", "\n", "\r", "\r\n", "\n\n", "x", "ü", "🦀", "data: ", "event: e", "\u{feff}", "id: 1",
            ]),
            0..40,
        ),
        size in 1..9_usize,
    ) {
        let text = pieces.concat();
        prop_assert_eq!(parse(text.as_bytes(), size), oracle(text.as_bytes()));
    }
}
