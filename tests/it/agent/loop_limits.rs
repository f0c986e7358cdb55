//! Retries, time limits, broken tools and cut replies, in paused time.

use std::sync::Arc;
use std::time::Duration;

use belvedere::agent::{EventKind, Outcome, Status, ToolEvent, TurnEvent};
use belvedere::message::{AgentId, MessageId};
use belvedere::provider::Provider;
use belvedere::provider::scripted::Scripted;
use belvedere::subagent::{Children, Command};
use belvedere::tool::{ScriptedTool, ToolSet};
use serde_json::{Value, json};

use crate::support::{Parts, Session};

fn script(lines: &[Value]) -> Arc<Scripted> {
    let text: Vec<String> = lines.iter().map(ToString::to_string).collect();
    Arc::new(Scripted::from_jsonl(&text.join("\n")).unwrap())
}

fn tools(lines: &[Value]) -> ToolSet {
    let text: Vec<String> = lines.iter().map(ToString::to_string).collect();
    ScriptedTool::parse(&text.join("\n")).unwrap().into_iter().collect()
}

async fn outcome(parts: Parts) -> (Outcome, Session) {
    let mut session = Session::start(parts);
    let outcome = session.ask("go").await;
    (outcome, session)
}

#[tokio::test(start_paused = true)]
async fn a_transient_failure_is_tried_again_and_shown() {
    let provider = script(&[
        json!({"times": 1, "steps": [{"fail": "rate_limit", "detail": "slow down", "retry_after_ms": 2000}]}),
        json!({"times": 1, "steps": [{"say": "half a"}, {"fail": "network", "detail": "gone"}]}),
        json!({"steps": [{"say": "whole"}]}),
    ]);
    let (outcome, session) = outcome(Parts::new(provider)).await;
    assert_eq!((outcome.status, outcome.text.as_str()), (Status::Completed, "whole"));
    let retries: Vec<(u32, bool)> = session
        .of(AgentId::MAIN)
        .filter_map(|kind| match kind {
            EventKind::Turn(TurnEvent::Retrying { attempt, rate_limited, wait_ms, .. }) => {
                assert!(!rate_limited || *wait_ms >= 2000, "the server's wait is obeyed");
                Some((*attempt, *rate_limited))
            }
            _ => None,
        })
        .collect();
    assert_eq!(retries, [(2, true), (3, false)]);
}

#[tokio::test(start_paused = true)]
async fn a_lasting_failure_ends_the_run_with_its_reason() {
    let provider = script(&[json!({"steps": [{"say": "I be"}, {"fail": "authentication", "detail": "no"}]})]);
    let (outcome, _session) = outcome(Parts::new(provider)).await;
    assert_eq!(outcome.status, Status::Failed);
    assert!(outcome.reason.unwrap().contains("rejected the API key"));
    assert_eq!(outcome.text, "I be");
}

#[tokio::test(start_paused = true)]
async fn silence_ends_a_run_but_a_rate_limit_is_no_silence() {
    let mut parts = Parts::new(script(&[
        json!({"times": 1, "steps": [{"fail": "rate_limit", "retry_after_ms": 100_000}]}),
        json!({"steps": [{"say": "then"}, {"stall": true}]}),
    ]));
    parts.main_limits.idle_timeout = Some(Duration::from_secs(30));
    let (outcome, _session) = outcome(parts).await;
    assert_eq!((outcome.status, outcome.text.as_str()), (Status::TimedOut, "then"));
    // Who is silent is not asked for a report.
    assert!((130_000..132_000).contains(&outcome.elapsed_ms), "{}", outcome.elapsed_ms);
    assert!(outcome.is_broken_off());
}

#[tokio::test(start_paused = true)]
async fn a_limit_on_time_ends_a_silent_model_at_once_and_says_what_to_do() {
    for (limit, words) in [
        ("wall", "The run reached its time limit of 3 s. Ask again, or ask for less at once."),
        (
            "idle",
            "No output from the model or a tool: reached the idle time limit of 3 s. Ask again, or ask for less at once.",
        ),
    ] {
        let mut parts = Parts::new(script(&[json!({"steps": [{"stall": true}]})]));
        let three = Some(Duration::from_secs(3));
        if limit == "wall" {
            parts.main_limits.wall_timeout = three;
        } else {
            parts.main_limits.idle_timeout = three;
        }
        let (outcome, session) = outcome(parts).await;
        assert_eq!((outcome.status, outcome.reason.as_deref()), (Status::TimedOut, Some(words)));
        assert!((3_000..5_000).contains(&outcome.elapsed_ms), "{limit}: {}", outcome.elapsed_ms);
        assert!(!session.of(AgentId::MAIN).any(|kind| matches!(kind, EventKind::LastTurn { .. })), "{limit}");
        session.quit().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_may_not_take_longer_than_its_wall_limit() {
    let mut parts = Parts::new(script(&[json!({"steps": [{"call": "Wait", "input": {}}]})]));
    parts.tools = tools(&[json!({"tool": "Wait", "title": "", "summary": "", "ms": 10_000})]);
    parts.main_limits.wall_timeout = Some(Duration::from_secs(45));
    let (outcome, _session) = outcome(parts).await;
    assert_eq!(outcome.status, Status::TimedOut);
    assert!((45_000..46_000).contains(&outcome.elapsed_ms), "{}", outcome.elapsed_ms);
}

#[tokio::test(start_paused = true)]
async fn output_of_a_tool_is_a_sign_of_life() {
    let mut parts = Parts::new(script(&[
        json!({"when": {"turn": 0}, "steps": [{"call": "Talk", "input": {}}]}),
        json!({"steps": [{"say": "done"}]}),
    ]));
    let tail: Vec<String> = (0..10).map(|line| format!("line {line}")).collect();
    parts.tools = tools(&[json!({"tool": "Talk", "title": "", "summary": "", "ms": 100_000, "tail": tail})]);
    parts.main_limits.idle_timeout = Some(Duration::from_secs(15));
    let (outcome, session) = outcome(parts).await;
    assert_eq!(outcome.status, Status::Completed);
    let tails = session.of(AgentId::MAIN).filter(|kind| matches!(kind, EventKind::Tool(ToolEvent::Progress { .. })));
    assert_eq!(tails.count(), 10);
}

#[tokio::test(start_paused = true)]
async fn calls_that_only_read_overlap_and_calls_that_write_wait_their_turn() {
    let read = |n: u32| json!({"call": "Look", "input": {"n": n}});
    let write = |n: u32| json!({"call": "Change", "input": {"n": n}});
    let mut parts = Parts::new(script(&[
        json!({"when": {"turn": 0}, "steps": [read(1), read(2), write(3), write(4), read(5)]}),
        json!({"steps": [{"say": "done"}]}),
    ]));
    let diff = json!({"path": "a", "added": 0, "removed": 0, "hunks": []});
    parts.tools = tools(&[
        json!({"tool": "Look", "title": "", "summary": "", "ms": 1000}),
        json!({"tool": "Change", "title": "", "summary": "", "ms": 1000, "diff": diff}),
    ]);
    parts.mode = belvedere::permission::PermissionMode::BypassPermissions;
    let (outcome, session) = outcome(parts).await;
    assert_eq!(outcome.elapsed_ms / 1000, 4, "1 and 2 overlap; 3, 4 and 5 follow one by one");
    let most = session
        .of(AgentId::MAIN)
        .scan(0_i32, |open, kind| {
            *open += match kind {
                EventKind::Tool(ToolEvent::Started { .. }) => 1,
                EventKind::Tool(ToolEvent::Ended { .. }) => -1,
                _ => 0,
            };
            Some(*open)
        })
        .max();
    assert_eq!(most, Some(2));
}

#[tokio::test(start_paused = true)]
async fn a_reply_cut_by_the_output_cap_is_continued() {
    let provider = script(&[
        json!({"when": {"turn": 0}, "steps": [{"say": "one "}, {"stop": "max_tokens"}]}),
        json!({"steps": [{"say": "two"}]}),
    ]);
    let (outcome, _session) = outcome(Parts::new(provider)).await;
    assert_eq!((outcome.status, outcome.text.as_str()), (Status::Completed, "one two"));
}

#[tokio::test(start_paused = true)]
async fn an_answer_without_a_word_is_told_as_empty() {
    let (outcome, _session) = outcome(Parts::new(script(&[json!({"steps": [{"stop": "end_turn"}]})]))).await;
    assert_eq!(outcome.status, Status::Empty);
}

#[tokio::test(start_paused = true)]
async fn of_two_equal_messages_the_one_that_is_meant_is_taken_back() {
    let provider = script(&[json!({"steps": [{"wait_ms": 1000}, {"say": "ok"}]})]);
    let mut session = Session::start(Parts::new(provider));
    session.say("first");
    session.say("same");
    session.say("same");
    session.say("the same");
    session.send(Command::Unsend { id: MessageId(2) });
    for _ in 0..3 {
        session.ended(AgentId::MAIN).await;
    }
    let read = session.of(AgentId::MAIN).filter_map(|kind| match kind {
        EventKind::UserMessage { id, .. } => *id,
        _ => None,
    });
    assert_eq!(read.collect::<Vec<_>>(), [1, 3, 4].map(MessageId));
    session.quit().await;
}

#[tokio::test(start_paused = true)]
async fn messages_said_meanwhile_wait_and_can_be_taken_back() {
    let provider = script(&[json!({"steps": [{"wait_ms": 1000}, {"say": "ok"}]})]);
    let mut session = Session::start(Parts::new(provider.clone()));
    session.say("first");
    session.say("second, taken back");
    session.send(Command::Unsend { id: MessageId(2) });
    session.say("third");
    session.ended(AgentId::MAIN).await;
    session.ended(AgentId::MAIN).await;
    let said: Vec<&str> = session
        .of(AgentId::MAIN)
        .filter_map(|kind| match kind {
            EventKind::UserMessage { text, .. } => Some(text.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(said, ["first", "third"]);
    assert_eq!(provider.requests()[1].messages.len(), 3, "the conversation goes on");
    session.send(Command::Clear);
    session.ask("fresh").await;
    assert_eq!(provider.requests()[2].messages.len(), 1, "a cleared conversation starts anew");
    session.quit().await;
}

#[tokio::test(start_paused = true)]
async fn an_interrupted_answer_leaves_a_transcript_that_can_go_on() {
    let provider = script(&[
        json!({"when": {"turn": 0}, "steps": [{"say": "let me"}, {"call": "Wait", "input": {}}]}),
        json!({"steps": [{"say": "on we go"}]}),
    ]);
    let mut parts = Parts::new(provider.clone());
    parts.tools = tools(&[json!({"tool": "Wait", "title": "", "summary": "", "ms": 1_000_000})]);
    let mut session = Session::start(parts);
    session.say("go");
    session.wait(|event| matches!(event.kind, EventKind::Tool(ToolEvent::Started { .. })).then_some(())).await;
    session.send(Command::Interrupt { children: Children::Stop });
    assert_eq!(session.ended(AgentId::MAIN).await.status, Status::Cancelled);
    let outcome = session.ask("go on").await;
    assert_eq!(outcome.text, "on we go");
    let request = provider.requests().pop().unwrap();
    assert_eq!(request.messages.len(), 4, "task, call, its result, the next message");
    session.quit().await;
}

#[tokio::test(start_paused = true)]
async fn quitting_ends_everything() {
    let provider: Arc<dyn Provider> = script(&[json!({"steps": [{"stall": true}]})]);
    let mut session = Session::start(Parts::new(provider));
    session.say("go");
    session.wait(|event| matches!(event.kind, EventKind::Turn(TurnEvent::Started { .. })).then_some(())).await;
    let seen = session.quit().await;
    assert!(matches!(seen.last().unwrap().kind, EventKind::Ended { .. }));
}

#[tokio::test(start_paused = true)]
async fn of_many_calls_in_one_message_the_first_256_are_run_and_each_has_a_result() {
    let calls: Vec<Value> = (0..300).map(|_| json!({"call": "LS", "input": {"path": "."}})).collect();
    let provider = script(&[json!({"when": {"turn": 0}, "steps": calls}), json!({"steps": [{"say": "listed"}]})]);
    let (outcome, _session) = outcome(Parts::new(provider.clone())).await;
    assert_eq!((outcome.status, outcome.tool_calls), (Status::Completed, 256));
    let requests = provider.requests();
    let results = super::results(requests.last().unwrap());
    let refused = results.iter().filter(|result| result.joined_text().contains("a message may hold 256")).count();
    assert_eq!((results.len(), refused), (300, 44));
}

#[tokio::test(start_paused = true)]
async fn a_conversation_that_is_too_long_gets_advice_that_can_be_followed() {
    let full = json!({"fail": "context_too_long", "detail": "300 > 200"});
    let (conversed, _) = outcome(Parts::new(script(&[json!({"steps": [full]})]))).await;
    assert!(conversed.reason.unwrap().contains("/clear"));
    let provider = script(&[
        json!({"when": {"system": "You are Belvedere", "turn": 0}, "steps": super::delegate(&["a1"])}),
        json!({"when": {"task": "RETURN: a word"}, "steps": [full]}),
        json!({"steps": [{"say": "told"}]}),
    ]);
    let (_, _session) = outcome(Parts::new(provider.clone())).await;
    let report = super::results(&super::last_of_main(&provider)).remove(0).joined_text();
    assert!(report.contains("shorter task") && !report.contains("/clear"), "{report}");
}
