//! A subagent that has ended goes on: at the user's word, or at its parent's.

use std::sync::Arc;
use std::time::Duration;

use belvedere::agent::{AgentEvent, EventKind, RunMode, ToolEvent, TurnEvent};
use belvedere::message::{AgentId, Message, MessageId, ToolResult};
use belvedere::provider::Request;
use belvedere::subagent::Command;
use belvedere::subagent::read_back::transcript_of;
use serde_json::{Value, json};

use super::{assert_ends, assert_grows, assert_valid, heard, nap, quiet, requests_of, statuses};
use crate::agent::{agent, last_of_main, reply, results, script, task};
use crate::support::{Parts, Session, standard_tools};

const CHILD: AgentId = AgentId(1);

fn resume(text: Option<&str>) -> Command {
    Command::Resume { agent: CHILD, message: text.map(|text| (MessageId(1), text.into())) }
}

/// A call of `Agent` that has one go on.
fn go_on(who: &str, prompt: &str) -> Value {
    json!({"call": "Agent", "input": {"description": "go on", "prompt": prompt, "resume": who}})
}

fn child(requests: &[Request]) -> Vec<String> {
    let last = requests.last().unwrap().messages.iter();
    last.filter_map(|message| match message.as_ref() {
        Message::User { text } => Some(text.clone()),
        Message::ToolResults { results } => Some(results.iter().map(ToolResult::joined_text).collect()),
        Message::Assistant(_) => None,
    })
    .collect()
}

#[tokio::test(start_paused = true)]
async fn who_goes_on_remembers_to_the_byte_what_it_was_told_and_what_was_cut_off() {
    let provider = script(&[
        reply(json!({"task": "go", "turn": 0}), vec![agent("general-purpose", "one")]),
        reply(json!({"task": "go"}), vec![json!({"say": "noted"})]),
        reply(json!({"task": "called one", "turn": 0}), vec![json!({"call": "Nap", "input": {"ms": 2_000}})]),
        reply(
            json!({"task": "called one", "turn": 1}),
            vec![json!({"say": "so far "}), json!({"call": "Nap", "input": {"ms": 50_000}})],
        ),
        reply(json!({"task": "called one", "last": "second thoughts"}), vec![json!({"fail": "bad_request"})]),
        reply(json!({"task": "called one"}), vec![json!({"say": "<summary>all done</summary>"})]),
    ]);
    let mut parts = Parts::new(provider.clone());
    parts.tools = standard_tools().with(nap());
    let mut session = Session::start(parts);
    session.say("go");
    let naps = |event: &belvedere::agent::AgentEvent| {
        (event.agent == CHILD && matches!(event.kind, EventKind::Tool(ToolEvent::Started { .. }))).then_some(())
    };
    session.wait(naps).await;
    session.send(Command::Message { agent: CHILD, id: MessageId(1), text: "and the tests".into() });
    session.wait(naps).await;
    session.send(Command::Stop { agent: CHILD });
    session.ended(AgentId::MAIN).await;
    session.send(resume(Some("second thoughts")));
    session.ended(CHILD).await;
    session.ended(AgentId::MAIN).await;
    session.send(resume(None));
    session.ended(CHILD).await;
    session.ended(AgentId::MAIN).await;
    let requests = requests_of(&provider, "called one");
    assert_grows(&requests);
    requests.iter().for_each(assert_valid);
    let told = child(&requests);
    assert!(told[2].starts_with("and the tests\n\n<system-reminder>"), "{told:#?}");
    assert_eq!((told[3].as_str(), told[4].as_str()), ("interrupted", "second thoughts"), "{told:#?}");
    assert!(told[5].starts_with("Continue where you stopped"), "{told:#?}");
    let main = last_of_main(&provider);
    assert_eq!(heard(&main, "general-purpose-1"), ["result", "message", "message"]);
    let seen = session.quit().await;
    assert_ends(&seen);
    assert_eq!(statuses(&seen, CHILD), ["cancelled", "failed", "completed"]);
}

#[tokio::test(start_paused = true)]
async fn who_was_stopped_before_it_began_goes_on_with_its_task() {
    let provider = script(&[
        reply(json!({"task": "go", "turn": 0}), vec![agent("explore", "zero"), agent("explore", "one")]),
        reply(json!({"task": "called zero"}), vec![json!({"wait_ms": 60_000}), json!({"say": "zero"})]),
        reply(json!({"task": "called one"}), vec![json!({"say": "one"})]),
        reply(json!({}), vec![json!({"say": "noted"})]),
    ]);
    let mut parts = Parts::new(provider.clone());
    parts.limits.max_parallel = 1;
    let mut session = Session::start(parts);
    session.say("go");
    let one = AgentId(2);
    session.wait(|event| (event.agent == one && matches!(event.kind, EventKind::Spawned(_))).then_some(())).await;
    session.send(Command::Stop { agent: one });
    session.ended(one).await;
    // The only place is taken: it waits, visibly, and may be stopped there once more.
    session.send(Command::Resume { agent: one, message: Some((MessageId(1), "look in tests".into())) });
    session.wait(|event| matches!(event.kind, EventKind::Resumed { run: 2, .. }).then_some(())).await;
    session.send(Command::Stop { agent: one });
    session.ended(one).await;
    session.send(Command::Resume { agent: one, message: None });
    session.ended(one).await;
    let order: Vec<(AgentId, &EventKind)> = session
        .seen
        .iter()
        .filter(|event| !event.agent.is_main())
        .filter(|event| matches!(event.kind, EventKind::Started | EventKind::Ended { .. }))
        .map(|event| (event.agent, &event.kind))
        .collect();
    let started = order.iter().position(|(agent, kind)| (*agent, *kind) == (one, &EventKind::Started)).unwrap();
    let freed = order.iter().position(|(agent, kind)| *agent == CHILD && matches!(kind, EventKind::Ended { .. }));
    assert!(freed.unwrap() < started, "{order:#?}");
    let told = child(&requests_of(&provider, "called one"));
    assert_eq!((told[0].as_str(), told[1].as_str()), (task("one").as_str(), "look in tests"), "{told:#?}");
    assert!(told[2].starts_with("Continue where you stopped"), "{told:#?}");
    quiet(&mut session, Duration::from_mins(1)).await;
    session.ask("anything else?").await;
    let heard = heard(&last_of_main(&provider), "explore-2");
    assert_eq!(heard, ["result", "message", "message"]);
    assert_ends(&session.quit().await);
}

#[tokio::test(start_paused = true)]
async fn a_parent_has_its_own_go_on_by_name_or_number() {
    let resumed = |at: usize, who: &str, last: &str| {
        let mut call = go_on(who, last);
        call["input"]["context"] = json!("src/lib.rs");
        reply(json!({"task": "go", "turn": at}), vec![call])
    };
    let mut behind = go_on("explore-1", "and the last");
    behind["input"]["run_in_background"] = json!(true);
    let provider = script(&[
        reply(json!({"task": "go", "turn": 0}), vec![agent("explore", "one")]),
        resumed(1, "explore-1", "and the tests"),
        resumed(2, " 1 ", "and the docs"),
        reply(json!({"task": "go", "turn": 3}), vec![behind]),
        reply(json!({"task": "go", "turn": 4}), vec![go_on("explore-1", "more"), go_on("explore-7", "more")]),
        reply(
            json!({"task": "go", "turn": 6}),
            vec![json!({"call": "SendMessage", "input": {"to": "explore-1", "message": "one word more"}})],
        ),
        reply(json!({"task": "go"}), vec![json!({"say": "noted"})]),
        reply(
            json!({"task": "called one", "last": "and the last"}),
            vec![json!({"wait_ms": 9_000}), json!({"say": "<summary>late</summary>"})],
        ),
        reply(json!({"task": "called one"}), vec![json!({"say": "<summary>well</summary>"})]),
    ]);
    let mut session = Session::start(Parts::new(provider.clone()));
    session.say("go");
    quiet(&mut session, Duration::from_mins(1)).await;
    let main = last_of_main(&provider);
    let texts: Vec<String> = results(&main).iter().map(ToolResult::joined_text).collect();
    assert!(texts[1].starts_with("status: completed") && texts[2].starts_with("status: completed"), "{texts:#?}");
    assert!(texts[3].starts_with("explore-1 is running in the background"), "{texts:#?}");
    assert!(texts[4].contains("explore-1 is still running"), "{texts:#?}");
    assert!(texts[5].contains("no subagent `explore-7`. You have: explore-1"), "{texts:#?}");
    assert!(texts[6].contains("resumed with your message in the background"), "{texts:#?}");
    assert_eq!(heard(&main, "explore-1"), ["result", "result", "result", "message", "message"]);
    let requests = requests_of(&provider, "called one");
    assert_grows(&requests);
    let told = child(&requests);
    let context = |words: &str| format!("{words}\n\n<context>\nsrc/lib.rs\n</context>");
    let expected = [task("one"), context("and the tests"), context("and the docs"), "and the last".to_owned()];
    assert_eq!((&told[..4], told[4].as_str()), (&expected[..], "one word more"));
    let seen = session.quit().await;
    assert_ends(&seen);
    assert_eq!(statuses(&seen, CHILD), ["completed"; 5]);
}

#[tokio::test(start_paused = true)]
async fn nobody_reaches_the_subagent_of_another() {
    let about = |name: &str, input: Value| json!({"call": name, "input": input});
    let provider = script(&[
        reply(json!({"task": "go", "turn": 0}), vec![agent("general-purpose", "one")]),
        reply(json!({"task": "called one", "turn": 0}), vec![agent("explore", "two")]),
        reply(
            json!({"task": "go", "turn": 1}),
            vec![
                go_on("explore-2", "more"),
                about("SendMessage", json!({"to": "2", "message": "more"})),
                about("TaskStop", json!({"task_id": "explore-2"})),
                about("TaskOutput", json!({"task_id": "explore-2"})),
            ],
        ),
        reply(json!({}), vec![json!({"say": "<summary>done</summary>"})]),
    ]);
    let mut parts = Parts::new(provider.clone());
    parts.limits.max_depth = 2;
    let mut session = Session::start(parts);
    session.ask("go").await;
    let refused = results(&last_of_main(&provider)).split_off(1);
    assert_eq!(refused.len(), 4);
    for result in refused {
        assert!(result.is_error && result.joined_text().contains("You have: general-purpose-1"), "{result:?}");
    }
    let seen = session.quit().await;
    assert_eq!(statuses(&seen, AgentId(2)), ["completed"]);
}

#[tokio::test(start_paused = true)]
async fn a_log_that_cannot_be_read_is_a_failure_that_says_so() {
    let provider = script(&[
        reply(json!({"task": "go", "turn": 0}), vec![agent("explore", "one")]),
        reply(json!({"task": "go", "turn": 1}), vec![go_on("explore-1", "and the tests")]),
        reply(json!({}), vec![json!({"say": "noted"})]),
    ]);
    let mut parts = Parts::new(provider.clone());
    parts.read_back = Some(Arc::new(|_, _| Box::pin(async { Err("its log is gone.".to_owned()) })));
    let mut session = Session::start(parts);
    session.ask("go").await;
    let results = results(&last_of_main(&provider));
    let text = results[1].joined_text();
    assert!(results[1].is_error && text.starts_with("status: failed\n"), "{text}");
    assert!(text.contains("reason: Cannot resume: its log is gone."), "{text}");
    let seen = session.quit().await;
    assert_ends(&seen);
    assert_eq!(statuses(&seen, CHILD), ["completed", "failed"]);
}

#[tokio::test(start_paused = true)]
async fn one_stopped_while_its_log_is_read_is_stopped_and_not_broken() {
    let provider = script(&[
        reply(json!({"task": "go", "turn": 0}), vec![agent("explore", "one")]),
        reply(json!({}), vec![json!({"say": "noted"})]),
    ]);
    let mut parts = Parts::new(provider.clone());
    parts.read_back = Some(Arc::new(|_, _| Box::pin(std::future::pending())));
    let mut session = Session::start(parts);
    session.ask("go").await;
    session.send(resume(None));
    let run_mode = session.wait(|event| match event.kind {
        EventKind::Resumed { run_mode, .. } => Some(run_mode),
        _ => None,
    });
    assert_eq!(run_mode.await, RunMode::Background);
    session.send(Command::Stop { agent: CHILD });
    assert_eq!(session.ended(CHILD).await.status.name(), "cancelled");
    session.send(Command::Resume { agent: AgentId(7), message: None });
    let notice = session.wait(|event| match &event.kind {
        EventKind::Notice { text } => Some(text.clone()),
        _ => None,
    });
    assert!(!notice.await.is_empty());
    assert_ends(&session.quit().await);
}

#[tokio::test(start_paused = true)]
async fn one_whose_long_report_is_still_being_kept_can_go_on() {
    let long = format!("<summary>{}</summary>", "a line of the report\n".repeat(40));
    let provider = script(&[
        reply(json!({"task": "go", "turn": 0}), vec![agent("explore", "one")]),
        reply(json!({"task": "called one", "turn": 0}), vec![json!({"say": long})]),
        reply(json!({}), vec![json!({"say": "noted"})]),
    ]);
    let mut parts = Parts::new(provider.clone());
    parts.limits.report_chars = 300;
    let mut session = Session::start(parts);
    session.say("go");
    session.ended(CHILD).await;
    session.send(resume(None));
    let refused = session.wait(|event| match &event.kind {
        EventKind::Resumed { .. } => Some(None),
        EventKind::Notice { text } => Some(Some(text.clone())),
        _ => None,
    });
    assert_eq!(refused.await, None);
    quiet(&mut session, Duration::from_mins(1)).await;
    let seen = session.quit().await;
    assert_ends(&seen);
    assert_eq!(statuses(&seen, CHILD), ["completed", "completed"]);
}

#[tokio::test(start_paused = true)]
async fn events_that_were_written_down_tell_the_conversation_to_the_byte() {
    let nap = |ms: u64| json!({"call": "Nap", "input": {"ms": ms}});
    let provider = script(&[
        reply(json!({"task": "go", "turn": 0}), vec![agent("general-purpose", "one")]),
        reply(json!({"task": "go"}), vec![json!({"say": "noted"})]),
        reply(
            json!({"task": "called one", "turn": 0}),
            vec![
                json!({"think": "Hm."}),
                json!({"say": "I look."}),
                nap(9_000),
                json!({"call": "Nap", "raw": "{\"ms"}),
            ],
        ),
        reply(json!({"task": "called one", "turn": 1}), vec![json!({"say": "and "}), json!({"stop": "max_tokens"})]),
        reply(json!({"task": "called one", "turn": 2}), vec![nap(1), json!({"call": "Gone", "input": {}})]),
        reply(json!({"task": "called one", "turn": 3}), vec![json!({"say": "so far, "}), json!({"stall": true})]),
        reply(json!({"task": "called one"}), vec![json!({"say": "<summary>all done</summary>"})]),
    ]);
    let mut parts = Parts::new(provider.clone());
    parts.tools = standard_tools().with(super::nap());
    let mut session = Session::start(parts);
    session.say("go");
    session
        .wait(|event| {
            matches!(event.kind, EventKind::Tool(ToolEvent::Started { .. }) if event.agent == CHILD).then_some(())
        })
        .await;
    session.send(Command::Message { agent: CHILD, id: MessageId(1), text: "and the tests".into() });
    session
        .wait(|event| {
            matches!(&event.kind, EventKind::Turn(TurnEvent::Text { text }) if text == "so far, ").then_some(())
        })
        .await;
    session.send(Command::Stop { agent: CHILD });
    session.ended(AgentId::MAIN).await;
    session.send(resume(Some("go on")));
    session.ended(CHILD).await;
    let written = session.seen.iter().filter(|event| event.agent == CHILD);
    let written: Vec<String> = written.map(|event| serde_json::to_string(event).unwrap()).collect();
    let read = written.iter().map(|line| serde_json::from_str::<AgentEvent>(line).unwrap().kind);
    let transcript = transcript_of(&read.collect::<Vec<_>>());
    let requests = requests_of(&provider, "called one");
    assert_grows(&requests);
    let (last, before) = transcript.messages().split_last().unwrap();
    assert_eq!(before, requests.last().unwrap().messages);
    assert!(matches!(last.as_ref(), Message::Assistant(reply) if reply.text() == "<summary>all done</summary>"));
    assert_ends(&session.quit().await);
}
