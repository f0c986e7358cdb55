//! Answers of services: the same events however the bytes were cut, in the order the loop relies on, and bounded.

use std::collections::BTreeSet;
use std::sync::Arc;

use belvedere::message::Secret;
use belvedere::network::sse::{Parser, SseEvent, TooLarge};
use belvedere::provider::table::ProviderTable;
use belvedere::provider::{Credential, ErrorKind, Feed, ReplySize, Service, StreamEvent, anthropic, gemini, openai};

use super::Choices;

/// What a part of a reply counts besides its text, see [`ReplySize`].
const PART_COST: usize = 256;

type NewFeed = fn(Service) -> Feed;
const FORMATS: [(&str, NewFeed); 3] =
    [("anthropic", anthropic::feed), ("openai", openai::feed), ("gemini", gemini::feed)];

/// An answer, without where its texts were divided.
#[derive(Debug, Default, PartialEq)]
struct Answer {
    events: Vec<StreamEvent>,
    error: Option<ErrorKind>,
}

pub(super) fn answers(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let (name, feed) = *choices.pick(&FORMATS);
    let size = *choices.pick(&[
        ReplySize::of_tokens(0),
        ReplySize { content: 600, wire: 1 << 20 },
        ReplySize { content: 1 << 20, wire: 300 },
        ReplySize { content: 2_000, wire: 4_000 },
    ]);
    let cuts: [usize; 4] = std::array::from_fn(|_| choices.below(40) + 1);
    let bytes = choices.rest();
    let new = || feed(service(name)).bounded(size);
    let whole = decode(new(), &[bytes]);
    check_order(&whole);
    assert!(content(&whole.events) <= size.content, "{} bytes of {}", content(&whole.events), size.content);
    let pieces = cut(bytes, cuts);
    assert_eq!(decode(new(), &pieces), whole, "the cuts of {pieces:?} make a difference");
    assert_eq!(events(&pieces), events(&[bytes]), "events do not depend on the cuts");

    let mut document = new();
    if document.document(bytes).is_ok() {
        check_order(&Answer { events: merged(std::iter::from_fn(|| document.next_event())), error: None });
    }
}

fn service(name: &str) -> Service {
    let row = Arc::clone(ProviderTable::default().get(name).unwrap());
    Service::new(row, Credential::Key(Secret::new("sk-secret-1234").unwrap()))
}

/// Cuts bytes into pieces of these sizes, over and over.
fn cut(mut bytes: &[u8], sizes: [usize; 4]) -> Vec<&[u8]> {
    let mut pieces = Vec::new();
    for size in sizes.into_iter().cycle() {
        if bytes.is_empty() {
            break;
        }
        let (piece, rest) = bytes.split_at(size.min(bytes.len()));
        pieces.push(piece);
        bytes = rest;
    }
    pieces
}

fn decode(mut feed: Feed, pieces: &[&[u8]]) -> Answer {
    let mut events = Vec::new();
    let mut result = Ok(());
    for piece in pieces {
        result = feed.push(piece);
        events.extend(std::iter::from_fn(|| feed.next_event()));
        if result.is_err() {
            break;
        }
    }
    if result.is_ok() {
        result = feed.end();
        events.extend(std::iter::from_fn(|| feed.next_event()));
    }
    Answer { events: merged(events), error: result.err().map(|error| error.kind) }
}

/// Joins neighbouring pieces of one text.
fn merged(events: impl IntoIterator<Item = StreamEvent>) -> Vec<StreamEvent> {
    let mut all: Vec<StreamEvent> = Vec::new();
    for event in events {
        match (all.last_mut(), &event) {
            (Some(StreamEvent::Text(text)), StreamEvent::Text(more))
            | (Some(StreamEvent::Thinking(text)), StreamEvent::Thinking(more)) => text.push_str(more),
            (
                Some(StreamEvent::ToolCallDelta { index, json }),
                StreamEvent::ToolCallDelta { index: same, json: more },
            ) if index == same => json.push_str(more),
            _ => all.push(event),
        }
    }
    all
}

/// An answer that is whole has stopped, one that is not has not; each call begins once, and before its input.
fn check_order(answer: &Answer) {
    let (mut calls, mut has_stopped) = (BTreeSet::new(), false);
    for event in &answer.events {
        let is_late = has_stopped && !matches!(event, StreamEvent::Usage(_));
        assert!(!is_late, "{event:?} after the stop");
        match event {
            StreamEvent::ToolCallStart { index, .. } => assert!(calls.insert(*index), "two calls in one"),
            StreamEvent::ToolCallDelta { index, .. } => assert!(calls.contains(index), "an input of no call"),
            StreamEvent::Stop(_) => has_stopped = true,
            StreamEvent::Text(_)
            | StreamEvent::Thinking(_)
            | StreamEvent::ThinkingSignature(_)
            | StreamEvent::RedactedThinking(_)
            | StreamEvent::Served(_)
            | StreamEvent::PromptRead { .. }
            | StreamEvent::Usage(_) => {}
        }
    }
    assert_eq!(has_stopped, answer.error.is_none(), "a call of an answer without its end would be carried out");
}

/// Returns what the events hold, counted as [`ReplySize`] does.
fn content(events: &[StreamEvent]) -> usize {
    let cost = |event: &StreamEvent| match event {
        StreamEvent::Text(text)
        | StreamEvent::Thinking(text)
        | StreamEvent::ThinkingSignature(text)
        | StreamEvent::RedactedThinking(text) => text.len(),
        StreamEvent::ToolCallDelta { json, .. } => json.len(),
        StreamEvent::ToolCallStart { id, name, .. } => id.len() + name.len() + PART_COST,
        StreamEvent::Served(step) => step.size(),
        StreamEvent::PromptRead { .. } | StreamEvent::Usage(_) | StreamEvent::Stop(_) => 0,
    };
    events.iter().map(cost).sum()
}

fn events(pieces: &[&[u8]]) -> Vec<(String, String)> {
    let mut parser = Parser::default();
    let mut events = Vec::new();
    let mut keep = |event: SseEvent<'_>| {
        events.push((event.name.to_owned(), event.data.to_owned()));
        Ok::<(), TooLarge>(())
    };
    pieces.iter().try_for_each(|piece| parser.push(piece, &mut keep)).unwrap();
    parser.finish(keep).unwrap();
    events
}
