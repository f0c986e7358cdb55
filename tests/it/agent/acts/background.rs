//! Subagents in the background: when their reports arrive, whom they wake, and who waits for them.

use std::time::Duration;

use belvedere::agent::{AtEnd, Author, EventKind, RunMode, SessionEvent, TurnEvent};
use belvedere::message::{AgentId, ToolResult};
use belvedere::provider::scripted::Scripted;
use belvedere::subagent::{Children, Command};
use serde_json::{Value, json};

use super::{assert_ends, assert_valid, heard, nap, quiet, requests_of, statuses};
use crate::agent::{agent, last_of_main, reply, results, script};
use crate::support::{Parts, Session, standard_tools};

const CHILD: AgentId = AgentId(1);

/// A call of `Agent` that is not waited for.
fn behind(name: &str) -> Value {
    let mut call = agent("explore", name);
    call["input"]["run_in_background"] = json!(true);
    call
}

#[expect(clippy::needless_pass_by_value, reason = "json! makes values")]
fn about(name: &str, input: Value) -> Value {
    json!({"call": name, "input": input})
}

/// A subagent that takes so many seconds.
fn takes(name: &str, seconds: u64) -> Value {
    let steps = vec![json!({"wait_ms": seconds * 1000}), json!({"say": format!("<summary>{name} is done</summary>")})];
    reply(json!({"task": format!("called {name}")}), steps)
}

/// The main agent's turns, and then what it always says.
fn main_turns(turns: Vec<Vec<Value>>) -> Vec<Value> {
    let turns = turns.into_iter().enumerate().map(|(at, steps)| reply(json!({"task": "go", "turn": at}), steps));
    turns.chain([reply(json!({"task": "go"}), vec![json!({"say": "noted"})])]).collect()
}

fn start(lines: &[Vec<Value>], change: impl FnOnce(&mut Parts)) -> (std::sync::Arc<Scripted>, Session) {
    let provider = script(&lines.concat());
    let mut parts = Parts::new(provider.clone());
    parts.tools = standard_tools().with(nap());
    change(&mut parts);
    (provider, Session::start(parts))
}

/// Who wrote the messages that reached the main agent.
fn authors(session: &Session) -> Vec<Author> {
    let messages = session.of(AgentId::MAIN).filter_map(|kind| match kind {
        EventKind::UserMessage { by, .. } => Some(by.clone()),
        _ => None,
    });
    messages.collect()
}

fn ends_of_main(session: &Session) -> usize {
    session.of(AgentId::MAIN).filter(|kind| matches!(kind, EventKind::Ended { .. })).count()
}

async fn minute(session: &mut Session) {
    quiet(session, Duration::from_mins(1)).await;
}

#[tokio::test(start_paused = true)]
async fn reports_that_arrive_together_wake_a_main_agent_at_rest_with_one_message() {
    let main = main_turns(vec![vec![behind("one"), behind("two"), behind("three")]]);
    let (provider, mut session) = start(&[main, vec![takes("one", 9), takes("two", 9), takes("three", 9)]], |_| {});
    session.say("go");
    minute(&mut session).await;
    let [Author::User, Author::Subagents(all)] = &authors(&session)[..] else { panic!("{:?}", authors(&session)) };
    assert_eq!(all.len(), 3);
    assert_eq!(ends_of_main(&session), 2);
    assert_eq!(requests_of(&provider, "go").len(), 3);
    provider.requests().iter().for_each(assert_valid);
    assert_ends(&session.quit().await);
}

#[tokio::test(start_paused = true)]
async fn a_busy_main_agent_reads_a_report_at_its_next_step() {
    let nap = about("Nap", json!({"ms": 20_000}));
    let main = main_turns(vec![vec![behind("one")], vec![nap]]);
    let (provider, mut session) = start(&[main, vec![takes("one", 9)]], |_| {});
    session.say("go");
    minute(&mut session).await;
    assert_eq!(authors(&session), [Author::User, Author::Subagents(vec![CHILD])]);
    assert_eq!(ends_of_main(&session), 1, "nobody had to wake it");
    let requests = requests_of(&provider, "go");
    assert_eq!((requests.len(), heard(&requests[2], "explore-1")), (3, vec!["message"]));
    assert_ends(&session.quit().await);
}

#[tokio::test(start_paused = true)]
async fn one_that_the_user_stops_wakes_nobody_and_is_told_with_the_next_message() {
    let main = main_turns(vec![vec![behind("one")]]);
    let (provider, mut session) = start(&[main, vec![takes("one", 99)]], |_| {});
    session.ask("go").await;
    session.send(Command::Stop { agent: CHILD });
    minute(&mut session).await;
    assert_eq!((statuses(&session.seen, CHILD), ends_of_main(&session)), (vec!["cancelled"], 1));
    session.ask("and now?").await;
    assert_eq!(heard(&last_of_main(&provider), "explore-1"), ["message"]);
    minute(&mut session).await;
    assert_eq!(ends_of_main(&session), 2);
    assert_ends(&session.quit().await);
}

#[tokio::test(start_paused = true)]
async fn the_task_tools_tell_stop_and_speak_and_no_report_comes_twice() {
    let output = |input: Value| about("TaskOutput", input);
    let main = main_turns(vec![
        vec![behind("one"), behind("two")],
        vec![output(json!({"task_id": "explore-1", "block": false}))],
        vec![output(json!({"task_id": "1", "timeout_ms": 1_000}))],
        vec![about("SendMessage", json!({"to": "explore-1", "message": "and the tests"}))],
        vec![output(json!({"task_id": "explore-1"})), about("TaskStop", json!({"task_id": "explore-2"}))],
        vec![output(json!({"task_id": "explore-9"}))],
    ]);
    let told = reply(json!({"last": "and the tests"}), vec![json!({"say": "<summary>with the tests</summary>"})]);
    let (provider, mut session) = start(&[main, vec![told, takes("one", 9), takes("two", 300)]], |_| {});
    session.ask("go").await;
    minute(&mut session).await;
    assert_eq!((authors(&session), ends_of_main(&session)), (vec![Author::User], 1), "all was told by the tools");
    session.ask("anything else?").await;
    let main = last_of_main(&provider);
    assert_eq!(heard(&main, "explore-2"), ["result"]);
    let texts: Vec<String> = results(&main).iter().map(ToolResult::joined_text).collect();
    assert!(texts[2].starts_with("status: running\n") && texts[3].starts_with("status: running\n"), "{texts:#?}");
    assert!(texts[4].contains("reads this before its next step"), "{texts:#?}");
    assert!(texts[5].starts_with("status: completed\n") && texts[5].contains("with the tests"), "{texts:#?}");
    assert!(texts[6].starts_with("status: cancelled\n"), "{texts:#?}");
    assert!(texts[7].contains("You have: explore-1, explore-2"), "{texts:#?}");
    provider.requests().iter().for_each(assert_valid);
    assert_ends(&session.quit().await);
}

#[tokio::test(start_paused = true)]
async fn a_report_of_each_run_is_told_also_when_a_tool_tells_the_last() {
    let nap = about("Nap", json!({"ms": 30_000, "alone": true}));
    let main = main_turns(vec![vec![behind("one")], vec![nap, about("TaskOutput", json!({"task_id": "explore-1"}))]]);
    let (provider, mut session) = start(&[main, vec![takes("one", 9)]], |_| {});
    session.say("go");
    session.ended(CHILD).await;
    session.send(Command::Resume { agent: CHILD, message: None });
    minute(&mut session).await;
    assert_eq!(statuses(&session.seen, CHILD), ["completed", "completed"]);
    assert_eq!(heard(&last_of_main(&provider), "explore-1"), ["result", "message"]);
    assert_ends(&session.quit().await);
}

#[tokio::test(start_paused = true)]
async fn one_whose_stop_nobody_waited_for_is_told_with_the_next_message() {
    let mut deaf = agent("general-purpose", "deaf");
    deaf["input"]["run_in_background"] = json!(true);
    let nap = about("Nap", json!({"ms": 1_000, "alone": true}));
    let main = main_turns(vec![vec![deaf], vec![nap, about("TaskStop", json!({"task_id": "1"}))]]);
    let deaf = reply(json!({"task": "called deaf"}), vec![about("Deaf", json!({"ms": 3_000}))]);
    let (provider, mut session) = start(&[main, vec![deaf]], |parts| {
        parts.tools = standard_tools().with(super::nap()).with(super::deaf());
    });
    session.say("go");
    session.wait(|event| matches!(event.kind, EventKind::Stopping { .. }).then_some(())).await;
    session.send(Command::Interrupt { children: Children::Keep });
    minute(&mut session).await;
    assert_eq!((statuses(&session.seen, CHILD), ends_of_main(&session)), (vec!["cancelled"], 1));
    session.ask("and now?").await;
    let main = last_of_main(&provider);
    let told = results(&main)[2].joined_text();
    assert!(told.starts_with("status: running\n"), "{told}");
    assert_eq!(heard(&main, "general-purpose-1"), ["result", "message"]);
    assert_ends(&session.quit().await);
}

#[tokio::test(start_paused = true)]
async fn an_interrupt_leaves_alone_who_works_in_the_background() {
    let stall = vec![json!({"say": "I "}), json!({"stall": true})];
    let main = main_turns(vec![vec![behind("one")], stall]);
    let (provider, mut session) = start(&[main, vec![takes("one", 20)]], |_| {});
    session.say("go");
    session.wait(|event| matches!(event.kind, EventKind::Turn(TurnEvent::Text { .. })).then_some(())).await;
    session.send(Command::Interrupt { children: Children::Stop });
    minute(&mut session).await;
    assert_eq!((statuses(&session.seen, CHILD), ends_of_main(&session)), (vec!["completed"], 2));
    assert_eq!(heard(&last_of_main(&provider), "explore-1"), ["message"]);
    assert_ends(&session.quit().await);
}

#[tokio::test(start_paused = true)]
async fn one_that_goes_on_waits_also_for_those_it_had_sent_out_before() {
    let lines = vec![
        reply(json!({"task": "go", "turn": 0}), vec![agent("general-purpose", "one")]),
        reply(json!({"task": "go"}), vec![json!({"say": "noted"})]),
        reply(json!({"task": "called one", "turn": 0}), vec![behind("two")]),
        reply(json!({"task": "called one", "last": "Continue where you stopped"}), vec![behind("three")]),
        reply(json!({"task": "called one", "turn": 1}), vec![json!({"fail": "bad_request"})]),
        reply(json!({"task": "called one"}), vec![json!({"say": "<summary>all in</summary>"})]),
        takes("two", 40),
        takes("three", 90),
    ];
    let (provider, mut session) = start(&[lines], |parts| parts.limits.max_depth = 2);
    session.ask("go").await;
    session.send(Command::Resume { agent: CHILD, message: None });
    quiet(&mut session, Duration::from_mins(2)).await;
    let one = requests_of(&provider, "called one").pop().unwrap();
    assert_eq!([heard(&one, "explore-2"), heard(&one, "explore-3")], [vec!["message"], vec!["message"]]);
    let main = last_of_main(&provider);
    assert_eq!([heard(&main, "general-purpose-1").len(), heard(&main, "explore-3").len()], [2, 0]);
    assert_ends(&session.quit().await);
}

#[tokio::test(start_paused = true)]
async fn an_agent_below_waits_for_those_it_sent_to_the_background() {
    let lines = vec![
        reply(json!({"task": "go", "turn": 0}), vec![agent("general-purpose", "one")]),
        reply(json!({"task": "go"}), vec![json!({"say": "noted"})]),
        reply(json!({"task": "called one", "turn": 0}), vec![behind("two")]),
        reply(json!({"task": "called one", "turn": 1}), vec![json!({"say": "I wait."})]),
        reply(json!({"task": "called one"}), vec![json!({"say": "<summary>two has reported</summary>"})]),
        takes("two", 40),
    ];
    let (provider, mut session) = start(&[lines], |parts| parts.limits.max_depth = 2);
    session.ask("go").await;
    let report = results(&last_of_main(&provider))[0].joined_text();
    assert!(report.contains("two has reported") && !report.contains("I wait"), "{report}");
    let one = requests_of(&provider, "called one").pop().unwrap();
    assert_eq!(heard(&one, "explore-2"), ["message"]);
    assert_ends(&session.quit().await);
}

#[tokio::test(start_paused = true)]
async fn what_an_agent_has_not_read_before_its_end_goes_on_to_the_one_above() {
    let lines = vec![
        reply(json!({"task": "go", "turn": 0}), vec![agent("general-purpose", "one")]),
        reply(json!({"task": "go"}), vec![json!({"say": "noted"})]),
        reply(json!({"task": "called one", "turn": 0}), vec![behind("two"), behind("three")]),
        reply(json!({"task": "called one"}), vec![json!({"wait_ms": 20_000}), json!({"fail": "bad_request"})]),
        takes("two", 9),
        takes("three", 40),
    ];
    let (provider, mut session) = start(&[lines], |parts| parts.limits.max_depth = 2);
    session.say("go");
    minute(&mut session).await;
    assert_eq!(statuses(&session.seen, CHILD), ["failed"]);
    session.ask("anything else?").await;
    let main = requests_of(&provider, "go").pop().unwrap();
    let each = ["general-purpose-1", "explore-2", "explore-3"].map(|name| heard(&main, name));
    assert_eq!(each, [vec!["result"], vec!["message"], vec!["message"]]);
    assert_ends(&session.quit().await);
}

#[tokio::test(start_paused = true)]
async fn a_main_agent_waits_for_one_that_was_moved_to_the_foreground() {
    let speech = vec![json!({"say": "I "}), json!({"wait_ms": 5_000}), json!({"say": "am done."})];
    let main = main_turns(vec![vec![behind("one"), behind("two")], speech]);
    let (provider, mut session) = start(&[main, vec![takes("one", 20), takes("two", 300)]], |_| {});
    session.say("go");
    session.wait(|event| matches!(event.kind, EventKind::Turn(TurnEvent::Text { .. })).then_some(())).await;
    session.send(Command::Move { agent: CHILD, run_mode: RunMode::Foreground });
    let outcome = session.ended(AgentId::MAIN).await;
    assert_eq!((outcome.text.as_str(), statuses(&session.seen, CHILD)), ("noted", vec!["completed"]));
    assert_eq!(heard(&last_of_main(&provider), "explore-1"), ["message"]);
    assert!(statuses(&session.seen, AgentId(2)).is_empty(), "the other one is not waited for");
    assert_ends(&session.quit().await);
}

#[tokio::test(start_paused = true)]
async fn an_interrupt_keeps_or_stops_also_one_that_was_moved_to_the_foreground() {
    for children in [Children::Keep, Children::Stop] {
        let main = main_turns(vec![vec![behind("one")], vec![json!({"say": "I "}), json!({"stall": true})]]);
        let (provider, mut session) = start(&[main, vec![takes("one", 20)]], |_| {});
        session.say("go");
        session.wait(|event| matches!(event.kind, EventKind::Turn(TurnEvent::Text { .. })).then_some(())).await;
        session.send(Command::Move { agent: CHILD, run_mode: RunMode::Foreground });
        session.send(Command::Interrupt { children });
        minute(&mut session).await;
        let (status, ends) = if children == Children::Keep { ("completed", 2) } else { ("cancelled", 1) };
        assert_eq!((statuses(&session.seen, CHILD), ends_of_main(&session)), (vec![status], ends), "{children:?}");
        session.ask("and now?").await;
        assert_eq!(heard(&last_of_main(&provider), "explore-1"), ["message"], "{children:?}");
        assert_ends(&session.quit().await);
    }
}

#[tokio::test(start_paused = true)]
async fn a_main_agent_that_fails_leaves_nobody_in_the_foreground() {
    let fails = vec![json!({"say": "I "}), json!({"wait_ms": 5_000}), json!({"fail": "bad_request"})];
    let main = main_turns(vec![vec![behind("one")], fails]);
    let (provider, mut session) = start(&[main, vec![takes("one", 90)]], |_| {});
    session.say("go");
    session.wait(|event| matches!(event.kind, EventKind::Turn(TurnEvent::Text { .. })).then_some(())).await;
    session.send(Command::Move { agent: CHILD, run_mode: RunMode::Foreground });
    assert_eq!(session.ended(AgentId::MAIN).await.status.name(), "failed");
    assert_eq!(session.ask("and now?").await.text, "noted", "it does not wait before it answers");
    assert!(statuses(&session.seen, CHILD).is_empty());
    quiet(&mut session, Duration::from_secs(100)).await;
    assert_eq!(heard(&last_of_main(&provider), "explore-1"), ["message"]);
    assert_ends(&session.quit().await);
}

#[tokio::test(start_paused = true)]
async fn a_conversation_that_waits_for_reports_ends_once_it_has_answered_them() {
    let main = main_turns(vec![vec![behind("one"), behind("two")]]);
    let waits = |parts: &mut Parts| parts.at_end = AtEnd::WaitForReports;
    let (provider, mut session) = start(&[main, vec![takes("one", 9), takes("two", 90)]], waits);
    let outcome = session.ask("go").await;
    assert_eq!((outcome.status.name(), outcome.turns), ("completed", 4));
    let main = last_of_main(&provider);
    assert_eq!([heard(&main, "explore-1"), heard(&main, "explore-2")], [vec!["message"], vec!["message"]]);
    assert_ends(&session.quit().await);
}

#[tokio::test(start_paused = true)]
async fn nothing_of_the_background_reaches_a_conversation_that_was_begun_anew() {
    let mut hears_nothing = agent("general-purpose", "deaf");
    hears_nothing["input"]["run_in_background"] = json!(true);
    let main = main_turns(vec![vec![behind("one"), behind("two"), hears_nothing]]);
    let deaf = reply(json!({"task": "called deaf"}), vec![about("Deaf", json!({"ms": 3_000}))]);
    let children = vec![deaf, takes("one", 9), takes("two", 50), reply(json!({}), vec![json!({"say": "fresh"})])];
    let change = |parts: &mut Parts| {
        parts.tools = standard_tools().with(super::deaf());
        parts.at_end = AtEnd::WaitForReports;
    };
    let (provider, mut session) = start(&[main, children], change);
    session.say("go");
    // One has reported, one works, and one takes a while to end.
    session.ended(CHILD).await;
    session.send(Command::Clear);
    session.wait_session(|event| matches!(event, SessionEvent::Cleared).then_some(())).await;
    assert_eq!(session.ask("hello").await.text, "fresh");
    minute(&mut session).await;
    assert_eq!(statuses(&session.seen, AgentId(3)), ["cancelled"]);
    // What goes on all the same goes on for nobody.
    session.send(Command::Resume { agent: AgentId(3), message: None });
    minute(&mut session).await;
    assert_eq!(statuses(&session.seen, AgentId(3)), ["cancelled", "turn_limit"]);
    assert_eq!(session.ask("anything else?").await.text, "fresh");
    let requests = requests_of(&provider, "hello");
    assert_eq!(requests.len(), 2);
    let said: Vec<_> = requests.iter().map(|request| &request.messages).collect();
    assert!(!format!("{said:?}").contains("agent: "), "{said:#?}");
    assert_ends(&session.quit().await);
}

#[tokio::test(start_paused = true)]
async fn the_report_of_one_whose_parent_has_ended_reaches_the_main_agent() {
    let lines = vec![
        reply(json!({"task": "go", "turn": 0}), vec![agent("general-purpose", "one")]),
        reply(json!({"task": "go"}), vec![json!({"say": "noted"})]),
        reply(json!({"task": "called one", "turn": 0}), vec![agent("explore", "two")]),
        reply(json!({"task": "called one"}), vec![json!({"say": "<summary>well</summary>"})]),
        takes("two", 9),
    ];
    let (provider, mut session) = start(&[lines], |parts| parts.limits.max_depth = 2);
    session.ask("go").await;
    session.send(Command::Resume { agent: AgentId(2), message: None });
    minute(&mut session).await;
    let main = last_of_main(&provider);
    assert_eq!((heard(&main, "explore-2"), ends_of_main(&session)), (vec!["message"], 2));
    assert_ends(&session.quit().await);
}
