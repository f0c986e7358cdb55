//! Trees of agents in the real loop: chains of five, stops in the middle, questions from the deepest, reports.

use std::collections::BTreeMap;
use std::sync::Arc;

use belvedere::agent::{AgentEvent, EventKind, LogEvent, Spawn, Status, ToolEvent, TurnEvent};
use belvedere::app::{Effect, Event};
use belvedere::message::AgentId;
use belvedere::permission::Answer;
use belvedere::provider::Request;
use belvedere::provider::scripted::Scripted;
use belvedere::subagent::Command;
use serde_json::{Value, json};

use super::{agent, reply, script};
use crate::screens::stage::Stage;
use crate::support::{Parts, Session};

fn spawned(name: &'static str) -> impl FnMut(&AgentEvent) -> Option<AgentId> {
    move |event| match &event.kind {
        EventKind::Spawned(Spawn { description, .. }) if description == name => Some(event.agent),
        _ => None,
    }
}

/// `one` sends out `a`, `b` and `c`, and each of them three more.
fn tree(leaf: &[Value]) -> Arc<Scripted> {
    let send = |name: &str, below: &[String]| {
        let calls = below.iter().map(|name| agent("general-purpose", name)).collect();
        reply(json!({"task": format!("called {name}."), "turn": 0}), calls)
    };
    let names = |of: &str| (1..=3).map(|number| format!("{of}{number}")).collect::<Vec<_>>();
    let mut lines = vec![
        reply(json!({"task": "go", "turn": 0}), vec![agent("general-purpose", "one")]),
        send("one", &["a".to_owned(), "b".to_owned(), "c".to_owned()]),
    ];
    for middle in ["a", "b", "c"] {
        lines.push(send(middle, &names(middle)));
        lines.push(reply(
            json!({"task": format!("called {middle}.")}),
            vec![json!({"say": format!("<summary>report of {middle}</summary>")})],
        ));
    }
    lines.push(reply(json!({"task": "called one."}), vec![json!({"say": "<summary>report of one</summary>"})]));
    lines.push(reply(json!({"task": "go"}), vec![json!({"say": "answered"})]));
    lines.extend(leaf.iter().cloned());
    script(&lines)
}

fn parts(provider: Arc<Scripted>, depth: u32) -> Parts {
    let mut parts = Parts::new(provider);
    parts.limits.max_depth = depth;
    parts.limits.max_parallel = 16;
    parts
}

/// Plays the tree and returns what happened to each agent, by its title.
async fn played(stop: Option<&'static str>) -> BTreeMap<String, Vec<String>> {
    let leaf = reply(json!({}), vec![json!({"wait_ms": 5_000}), json!({"say": "<summary>report of a leaf</summary>"})]);
    let mut session = Session::start(parts(tree(&[leaf]), 3));
    session.say("go");
    if let Some(name) = stop {
        let agent = session.wait(spawned(name)).await;
        // All nine are at work by then.
        let mut begun = 0;
        session
            .wait(|event| {
                begun +=
                    usize::from(matches!(event.kind, EventKind::Turn(TurnEvent::Started { .. })) && event.agent.0 > 4);
                (begun == 9).then_some(())
            })
            .await;
        session.send(Command::Stop { agent });
    }
    assert_eq!(session.ended(AgentId::MAIN).await.text, "answered");
    let seen = session.quit().await;
    let titles: BTreeMap<AgentId, String> = seen
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::Spawned(spawn) => Some((event.agent, spawn.description.clone())),
            _ => None,
        })
        .collect();
    let mut told: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for event in &seen {
        if let Some(title) = titles.get(&event.agent) {
            told.entry(title.clone()).or_default().push(format!("{:?}", event.kind));
        }
    }
    told
}

#[tokio::test(start_paused = true)]
async fn stopping_one_in_the_middle_stops_all_below_it_and_nothing_else() {
    let whole = played(None).await;
    let stopped = played(Some("b")).await;
    assert_eq!(whole.len(), 13);
    for (title, events) in &stopped {
        let last = events.last().unwrap();
        match title.as_str() {
            "b" | "b1" | "b2" | "b3" => {
                assert!(last.contains("Ended") && last.contains("Cancelled"), "{title}: {last}");
                assert!(events.iter().any(|event| event.starts_with("Stopping")), "{title}: {events:#?}");
                assert_eq!(events.iter().filter(|event| event.starts_with("Ended")).count(), 1);
            }
            // It reads the report of a stopped one.
            "one" => assert!(last.contains("Completed"), "{last}"),
            _ => assert_eq!(events, &whole[title], "{title} took notice"),
        }
    }
}

/// `one` sends out `two`, and so on; the last one does as told.
fn chain(depth: usize, last: Vec<Value>) -> Arc<Scripted> {
    const NAMES: [&str; 5] = ["one", "two", "three", "four", "five"];
    let mut lines = vec![reply(json!({"task": "go", "turn": 0}), vec![agent("general-purpose", NAMES[0])])];
    for pair in NAMES[..depth].windows(2) {
        let when = json!({"task": format!("called {}.", pair[0]), "turn": 0});
        lines.push(reply(when, vec![agent("general-purpose", pair[1])]));
    }
    lines.push(reply(json!({"task": format!("called {}.", NAMES[depth - 1]), "turn": 0}), last));
    lines.extend(NAMES.map(|name| {
        let say = format!("<summary>report of {name}</summary>");
        reply(json!({"task": format!("called {name}.")}), vec![json!({"say": say})])
    }));
    lines.push(reply(json!({}), vec![json!({"say": "answered"})]));
    script(&lines)
}

#[tokio::test]
async fn a_question_from_five_levels_down_is_named_seen_and_answered() {
    let last = vec![json!({"call": "Bash", "input": {"command": "touch made.txt"}})];
    let mut session = Session::start(parts(chain(5, last), 5));
    session.say("go");
    let asked = session
        .wait(|event| match &event.kind {
            EventKind::Tool(ToolEvent::ApprovalRequested { request }) => Some(request.id.clone()),
            _ => None,
        })
        .await;
    assert_eq!(asked.agent, AgentId(5));
    let mut stage = Stage::new(120, 40);
    let (question, before) = session.seen.split_last().unwrap();
    for event in before {
        stage.event(Event::Log(Arc::new(LogEvent::Agent(AgentEvent::clone(event)))));
    }
    stage.keys("<alt+1><space><esc>");
    assert_eq!(stage.app.regions().panes.len(), 1);
    stage.event(Event::Log(Arc::new(LogEvent::Agent(AgentEvent::clone(question)))));
    let way =
        "main › general-purpose-1 › general-purpose-2 › general-purpose-3 › general-purpose-4 › general-purpose-5";
    assert_eq!(stage.app.agents().lineage(asked.agent), way);
    let text = stage.text();
    assert!(
        text.contains("main › … › general-purpose-3 › general-purpose-4 › general-purpose-5 wants to run"),
        "{text}"
    );
    assert!(stage.app.regions().pane(AgentId(5)).is_some(), "{text}");
    let effects = stage.keys("<alt+y>");
    let answer = effects.into_iter().find_map(|effect| match effect {
        Effect::Command(command @ Command::Answer { .. }) => Some(command),
        _ => None,
    });
    assert_eq!(answer, Some(Command::Answer { id: asked, answer: Answer::Once }));
    session.send(answer.unwrap());
    assert_eq!(session.ended(AgentId::MAIN).await.status, Status::Completed);
    assert!(session.root().join("made.txt").exists());
    for depth in 1..=5 {
        let ends = session.of(AgentId(depth)).filter(|kind| matches!(kind, EventKind::Ended { .. })).count();
        assert_eq!(ends, 1, "agent {depth}");
    }
    session.quit().await;
}

#[tokio::test(start_paused = true)]
async fn two_presses_stop_a_whole_tree() {
    let mut session = Session::start(parts(chain(5, vec![json!({"say": "I "}), json!({"stall": true})]), 5));
    session.say("go");
    session
        .wait(|event| {
            (event.agent.0 == 5 && matches!(event.kind, EventKind::Turn(TurnEvent::Text { .. }))).then_some(())
        })
        .await;
    let mut stage = Stage::new(120, 40);
    for event in &session.seen {
        stage.event(Event::Log(Arc::new(LogEvent::Agent(AgentEvent::clone(event)))));
    }
    stage.keys("<alt+1><space>");
    let effects = stage.keys("<ctrl+x><ctrl+x>");
    assert_eq!(effects, [Effect::Command(Command::StopAll)], "also while a fold hides most of it");
    session.send(Command::StopAll);
    assert_eq!(session.ended(AgentId::MAIN).await.status, Status::Cancelled);
    for event in session.quit().await {
        stage.event(Event::Log(Arc::new(LogEvent::Agent(AgentEvent::clone(&event)))));
    }
    for agent in stage.app.agents().children() {
        assert_eq!(agent.outcome.as_ref().map(|outcome| outcome.status), Some(Status::Cancelled), "{}", agent.name);
    }
    assert_eq!(stage.app.agents().len(), 5);
}

#[tokio::test]
async fn past_the_deepest_level_there_is_no_tool_to_go_deeper() {
    let provider = chain(5, vec![agent("general-purpose", "six")]);
    let mut session = Session::start(parts(provider.clone(), 5));
    session.ask("go").await;
    let seen = session.quit().await;
    let spawns = seen.iter().filter(|event| matches!(event.kind, EventKind::Spawned(_))).count();
    assert_eq!(spawns, 5);
    for request in provider.requests() {
        let offered = request.tools.iter().any(|tool| tool.name == "Agent");
        assert_eq!(offered, !task_of(&request).contains("called five."), "{}", task_of(&request));
    }
}

fn task_of(request: &Request) -> String {
    format!("{:?}", request.messages[0])
}

#[tokio::test]
async fn only_reports_go_up_and_only_one_level() {
    let leaf = [
        reply(
            json!({"turn": 0}),
            vec![
                json!({"think": "canary-thought"}),
                json!({"say": "canary-words"}),
                json!({"call": "Read", "input": {"file_path": "canary.txt"}}),
            ],
        ),
        reply(json!({"turn": 1}), vec![json!({"say": "canary-preamble <summary>report of a leaf</summary>"})]),
    ];
    let provider = tree(&leaf);
    let mut parts = parts(provider.clone(), 3);
    parts.files = vec![("canary.txt", "canary-file".to_owned())];
    let mut session = Session::start(parts);
    session.ask("go").await;
    session.quit().await;
    let (mut upper, mut middle, mut leaves) = (0, 0, 0);
    for request in provider.requests() {
        let task = task_of(&request);
        let text = format!("{:?}", request.messages);
        if task.contains("called one.") || !task.contains("called ") {
            upper += 1;
            assert!(!text.contains("canary") && !text.contains("report of a leaf"), "{text}");
            assert!(task.contains("called one.") || !text.contains("report of a"), "{text}");
        } else if ["a.", "b.", "c."].iter().any(|name| task.contains(&format!("called {name}"))) {
            middle += 1;
            assert!(!text.contains("canary"), "{text}");
            assert!(request.messages.len() < 2 || text.matches("report of a leaf").count() == 3, "{text}");
        } else {
            leaves += 1;
        }
    }
    assert_eq!((upper, middle, leaves), (4, 6, 18));
}
