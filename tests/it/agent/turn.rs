//! Stream events become messages, and messages become steps.

use std::collections::HashSet;
use std::time::Duration;

use belvedere::agent::step::{MAX_CONTINUATIONS, Step, StepFacts, Tries};
use belvedere::agent::turn::{Turn, TurnBuilder};
use belvedere::message::{AgentId, Block, ToolInput, Usage};
use belvedere::provider::{StopReason, StreamEvent};

fn fold(events: Vec<StreamEvent>) -> Turn {
    let mut builder = TurnBuilder::default();
    for event in events {
        builder.push(event);
    }
    builder.finish(AgentId::MAIN, &mut HashSet::new())
}

fn start(index: usize, id: &str) -> StreamEvent {
    StreamEvent::ToolCallStart { index, id: id.to_owned(), name: "Read".to_owned() }
}

fn input(index: usize, json: &str) -> StreamEvent {
    StreamEvent::ToolCallDelta { index, json: json.to_owned() }
}

#[test]
fn a_reply_begins_with_the_first_that_the_model_has_written() {
    let mut builder = TurnBuilder::default();
    let events = [StreamEvent::Usage(Usage { input: 7, ..Usage::default() }), start(0, "a"), input(0, "{}")];
    for (event, seconds) in events.into_iter().zip(1..) {
        builder.push(event);
        builder.arrived(Duration::from_secs(seconds));
    }
    assert_eq!(builder.finish(AgentId::MAIN, &mut HashSet::new()).latency, Some(Duration::from_secs(2)));
    let mut silent = TurnBuilder::default();
    silent.push(StreamEvent::Stop(StopReason::EndTurn));
    silent.arrived(Duration::from_secs(1));
    assert_eq!(silent.cut().latency, None);
}

#[test]
fn interleaved_calls_keep_their_own_input() {
    let turn = fold(vec![
        StreamEvent::Text("Let me ".into()),
        StreamEvent::Text("look.".into()),
        start(0, "a"),
        start(1, "b"),
        input(1, r#"{"file_path":"#),
        input(0, r#"{"file_path":"x"}"#),
        input(1, r#""y"}"#),
        StreamEvent::Stop(StopReason::ToolUse),
    ]);
    assert_eq!(turn.message.text(), "Let me look.");
    let paths: Vec<_> = turn.message.tool_calls().map(|call| call.input.str("file_path").unwrap()).collect();
    assert_eq!(paths, ["x", "y"]);
}

#[test]
fn missing_and_repeated_ids_are_made_unique() {
    let turn = fold(vec![start(0, ""), start(1, "same"), start(2, "same"), start(3, "")]);
    let ids: HashSet<_> = turn.message.tool_calls().map(|call| call.id.clone()).collect();
    assert_eq!(ids.len(), 4);
    assert!(ids.iter().all(|id| !id.is_empty()));
}

#[test]
fn input_that_is_no_object_is_kept_for_the_error() {
    let turn = fold(vec![start(0, "a"), input(0, r#"{"file_path": "x"#)]);
    let call = turn.message.tool_calls().next().unwrap();
    assert_eq!(call.input, ToolInput::Malformed(r#"{"file_path": "x"#.into()));
}

#[test]
fn a_signature_closes_its_reasoning() {
    let turn = fold(vec![
        StreamEvent::Thinking("first".into()),
        StreamEvent::ThinkingSignature("sig".into()),
        StreamEvent::Thinking("second".into()),
    ]);
    let signatures: Vec<_> = turn
        .message
        .content
        .iter()
        .map(|block| match block {
            Block::Thinking { text, signature } => (text.as_str(), signature.as_deref()),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(signatures, [("first", Some("sig")), ("second", None)]);
}

#[test]
fn reasoning_that_is_not_shown_keeps_every_signature() {
    let proof = |text: &str| StreamEvent::ThinkingSignature(text.to_owned());
    let turn = fold(vec![proof("one"), proof("two"), StreamEvent::Text("ok".to_owned())]);
    let block = |proof: &str| Block::Thinking { text: String::new(), signature: Some(proof.to_owned()) };
    assert_eq!(turn.message.content[..2], [block("one"), block("two")]);
}

#[test]
fn a_cut_reply_keeps_its_text_only() {
    let mut builder = TurnBuilder::default();
    builder.push(StreamEvent::Thinking("hm".into()));
    builder.push(StreamEvent::Text("I found".into()));
    builder.push(start(0, "a"));
    let turn = builder.cut();
    assert_eq!(turn.message.content, [Block::Text { text: "I found".into() }]);
}

/// Returns what follows from a reply that came so many times before.
fn next_step(turn: &Turn, before: u32) -> Step {
    let answer = turn.message.text();
    let facts = StepFacts { has_tools: true, answer: &answer, is_waiting: false, output_tokens: 8_192 };
    let mut tries = Tries::default();
    for _ in 0..before {
        tries.step(turn, &facts);
    }
    tries.step(turn, &facts)
}

#[test]
fn stop_reasons_lead_to_steps() {
    let said = |stop: StopReason| fold(vec![StreamEvent::Text("so".into()), StreamEvent::Stop(stop)]);
    assert_eq!(next_step(&said(StopReason::EndTurn), 0), Step::Finish);
    assert_eq!(next_step(&said(StopReason::StopSequence), 0), Step::Finish);
    assert_eq!(next_step(&said(StopReason::PauseTurn), 0), Step::Continue(None));
    assert!(matches!(next_step(&said(StopReason::MaxTokens), 0), Step::Continue(Some(_))));
    assert!(matches!(next_step(&said(StopReason::MaxTokens), MAX_CONTINUATIONS), Step::Fail(_)));
    assert!(matches!(next_step(&said(StopReason::Refusal), 0), Step::Fail(_)));
    assert_eq!(next_step(&said(StopReason::ContextWindow), 0), Step::Full);
    let cut = fold(vec![start(0, "a"), input(0, "{\"a\": \"b"), StreamEvent::Stop(StopReason::MaxTokens)]);
    assert!(matches!(next_step(&cut, 0), Step::Tools(calls) if calls.len() == 1), "the model can mend it");
    assert!(matches!(next_step(&cut, MAX_CONTINUATIONS), Step::Fail(_)), "but not for ever");
    let called = fold(vec![start(0, "a"), StreamEvent::Stop(StopReason::EndTurn)]);
    assert!(matches!(next_step(&called, 0), Step::Tools(calls) if calls.len() == 1));
}
