//! Messages of the user to one subagent, through the real loop.

use std::sync::Arc;

use belvedere::agent::{EventKind, Status, TurnEvent};
use belvedere::message::{AgentId, Message, MessageId};
use belvedere::provider::Request;
use belvedere::provider::scripted::Scripted;
use belvedere::subagent::Command;
use serde_json::{Value, json};

use super::{delegate, last_of_main, reply, script, task};
use crate::support::{Parts, Session};

const ONE: AgentId = AgentId(1);

fn tell(text: &str) -> Command {
    Command::Message { agent: ONE, id: MessageId(1), text: text.into() }
}

/// A turn that lasts long enough to be spoken into.
fn slow() -> Vec<Value> {
    let call = json!({"call": "Glob", "input": {"pattern": "*.none"}});
    vec![json!({"say": "looking"}), json!({"wait_ms": 500}), call]
}

fn requests_of(provider: &Scripted, name: &str) -> Vec<Request> {
    let own = |request: &Request| *request.messages[0] == Message::user(task(name));
    provider.requests().into_iter().filter(own).collect()
}

/// Waits until agent 1 speaks.
async fn hear_one(session: &mut Session) {
    session
        .wait(|event| {
            (event.agent == ONE && matches!(event.kind, EventKind::Turn(TurnEvent::Text { .. }))).then_some(())
        })
        .await;
}

/// Two subagents work; the first is told something or not. Returns all requests of the first, second and main agent.
async fn two_at_work(told: Option<&str>) -> [Vec<Request>; 3] {
    let provider = script(&[
        reply(json!({"task": "go", "turn": 0}), delegate(&["one", "two"])),
        reply(json!({"task": "go", "turn": 1}), vec![json!({"say": "done"})]),
        reply(json!({"task": "called one", "turn": 0}), slow()),
        reply(json!({"task": "called two", "turn": 0}), slow()),
        reply(json!({"turn": 1}), vec![json!({"say": "<summary>found</summary>"})]),
    ]);
    let mut session = Session::start(Parts::new(provider.clone()));
    session.say("go");
    hear_one(&mut session).await;
    if let Some(text) = told {
        session.send(tell(text));
    }
    assert_eq!(session.ended(AgentId::MAIN).await.text, "done");
    let read = session.of(ONE).filter(|kind| matches!(kind, EventKind::UserMessage { .. })).count();
    assert_eq!(read, 1 + usize::from(told.is_some()), "the task, and what it was told");
    session.quit().await;
    let main = vec![last_of_main(&provider)];
    [requests_of(&provider, "one"), requests_of(&provider, "two"), main]
}

#[tokio::test(start_paused = true)]
async fn a_message_reaches_only_its_agent_and_before_its_next_request() {
    let [one, two, main] = two_at_work(Some("CANARY: look in tests too")).await;
    let said = |request: &Request| format!("{:?}", request.messages);
    assert!(!said(&one[0]).contains("CANARY"));
    assert!(matches!(*one[1].messages[2], Message::ToolResults { .. }), "the results stand right after their calls");
    let Message::User { text } = &*one[1].messages[3] else { panic!("{:#?}", one[1].messages) };
    assert!(text.starts_with("CANARY: look in tests too\n\n"), "{text}");
    assert!(main.iter().chain(&two).all(|request| !said(request).contains("CANARY")));
    let [without, calm, _] = two_at_work(None).await;
    let all = |requests: &[Request]| requests.iter().map(|request| request.messages.clone()).collect::<Vec<_>>();
    assert_eq!((all(&two), without.len()), (all(&calm), one.len()), "who was told nothing works as if nobody was");
}

#[tokio::test(start_paused = true)]
async fn an_agent_about_to_end_goes_on_with_what_it_was_told() {
    let provider = script(&[
        reply(json!({"task": "go", "turn": 0}), delegate(&["one"])),
        reply(json!({"task": "go", "turn": 1}), vec![json!({"say": "done"})]),
        reply(json!({"last": "and the tests"}), vec![json!({"say": "<summary>with the tests</summary>"})]),
        reply(
            json!({"task": "called one"}),
            vec![json!({"say": "that is "}), json!({"wait_ms": 500}), json!({"say": "all"})],
        ),
    ]);
    let mut session = Session::start(Parts::new(provider.clone()));
    session.say("go");
    hear_one(&mut session).await;
    session.send(tell("and the tests?"));
    let outcome = session.ended(ONE).await;
    assert_eq!((outcome.status, outcome.turns), (Status::Completed, 2));
    assert_eq!(outcome.text, "<summary>with the tests</summary>", "its last words are its report");
    session.ended(AgentId::MAIN).await;
    session.quit().await;
}

/// Starts a session whose one subagent is at work, and reads what it is sent before its next turn.
async fn while_one_works() -> (Arc<Scripted>, Session) {
    let provider = script(&[
        reply(json!({"task": "go", "turn": 0}), delegate(&["one"])),
        reply(json!({"task": "called one", "turn": 0}), slow()),
        reply(json!({"turn": 1}), vec![json!({"say": "done"})]),
    ]);
    let mut session = Session::start(Parts::new(provider.clone()));
    session.say("go");
    hear_one(&mut session).await;
    (provider, session)
}

#[tokio::test(start_paused = true)]
async fn of_two_equal_messages_the_later_one_can_be_taken_back() {
    let (_, mut session) = while_one_works().await;
    for id in [7, 8] {
        session.send(Command::Message { agent: ONE, id: MessageId(id), text: "CANARY".into() });
    }
    session.send(Command::Untell { agent: ONE, id: MessageId(8) });
    session.ended(AgentId::MAIN).await;
    let read = session.of(ONE).filter_map(|kind| match kind {
        EventKind::UserMessage { id, .. } => *id,
        _ => None,
    });
    assert_eq!(read.collect::<Vec<_>>(), [MessageId(7)]);
    session.quit().await;
}

#[tokio::test(start_paused = true)]
async fn what_is_taken_back_in_time_is_never_read() {
    let (provider, mut session) = while_one_works().await;
    session.send(tell("CANARY one"));
    session.send(Command::Untell { agent: ONE, id: MessageId(1) });
    session.send(tell("second thoughts"));
    session.ended(AgentId::MAIN).await;
    let one = format!("{:?}", requests_of(&provider, "one"));
    assert!(one.contains("second thoughts") && !one.contains("CANARY"), "{one}");
    session.quit().await;
}

#[tokio::test(start_paused = true)]
async fn who_waits_for_its_turn_reads_it_once_it_starts() {
    let provider = script(&[
        reply(json!({"task": "go", "turn": 0}), delegate(&["zero", "one"])),
        reply(json!({"task": "called zero"}), vec![json!({"wait_ms": 500}), json!({"say": "zero"})]),
        reply(json!({"task": "called one"}), vec![json!({"say": "one"})]),
        reply(json!({"turn": 1}), vec![json!({"say": "done"})]),
    ]);
    let mut parts = Parts::new(provider.clone());
    parts.limits.max_parallel = 1;
    let mut session = Session::start(parts);
    session.say("go");
    let queued = session.wait(|event| match &event.kind {
        EventKind::Spawned(spawn) if spawn.description == "one" => Some(event.agent),
        _ => None,
    });
    let agent = queued.await;
    session.send(Command::Message { agent, id: MessageId(1), text: "early".into() });
    session.ended(AgentId::MAIN).await;
    let first = &requests_of(&provider, "one")[0];
    assert!(matches!(&*first.messages[1], Message::User { text } if text.starts_with("early")), "{first:#?}");
    session.quit().await;
}

#[tokio::test(start_paused = true)]
async fn who_has_ended_hears_nothing_and_nobody_hears_it_instead() {
    let provider = script(&[
        reply(json!({"task": "go", "turn": 0}), delegate(&["one"])),
        reply(json!({"task": "called one"}), vec![json!({"say": "one"})]),
        reply(json!({"task": "go"}), vec![json!({"wait_ms": 500}), json!({"say": "done"})]),
    ]);
    let mut session = Session::start(Parts::new(provider.clone()));
    session.say("go");
    session.ended(ONE).await;
    session.send(tell("CANARY"));
    session.send(Command::Message { agent: AgentId(9), id: MessageId(1), text: "CANARY".into() });
    session.ended(AgentId::MAIN).await;
    session.ask("go on").await;
    assert!(!format!("{:?}", provider.requests()).contains("CANARY"));
    session.quit().await;
}

#[tokio::test(start_paused = true)]
async fn the_last_turn_at_a_limit_reads_it_too() {
    let provider = script(&[
        reply(json!({"task": "go", "turn": 0}), delegate(&["one"])),
        reply(json!({"task": "called one", "turn": 0}), slow()),
        reply(json!({"turn": 1}), vec![json!({"say": "done"})]),
    ]);
    let mut parts = Parts::new(provider.clone());
    parts.limits.child.max_turns = Some(1);
    let mut session = Session::start(parts);
    session.say("go");
    hear_one(&mut session).await;
    session.send(tell("one thing more"));
    assert_eq!(session.ended(ONE).await.status, Status::TurnLimit);
    session.ended(AgentId::MAIN).await;
    assert!(format!("{:?}", requests_of(&provider, "one")[1]).contains("one thing more"));
    session.quit().await;
}
