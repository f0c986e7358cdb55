//! One of eight is stopped, and the other seven do not notice.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use belvedere::agent::{EventKind, RunMode, ToolEvent, TurnEvent};
use belvedere::message::{AgentId, Message};
use belvedere::provider::scripted::Scripted;
use belvedere::provider::{EventStream, Provider, ProviderError, Request};
use belvedere::subagent::Command;
use futures::StreamExt as _;
use futures::future::BoxFuture;
use serde_json::{Value, json};

use super::{assert_ends, assert_grows, assert_valid, deaf, nap, requests_of, statuses};
use crate::agent::{agent, reply, script};
use crate::support::{Parts, Session, standard_tools};

const NAMES: [&str; 8] = ["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth"];
const THIRD: AgentId = AgentId(3);

/// Counts the open requests by task.
struct Counted {
    inner: Arc<Scripted>,
    open: Open,
}

type Open = Arc<Mutex<BTreeMap<String, usize>>>;

/// One request, open until it is dropped.
struct Guard(Open, String);

impl Drop for Guard {
    fn drop(&mut self) {
        *self.0.lock().unwrap().get_mut(&self.1).unwrap() -= 1;
    }
}

impl Provider for Counted {
    fn name(&self) -> &'static str {
        "counted"
    }

    fn stream(&self, request: Request) -> BoxFuture<'_, Result<EventStream, ProviderError>> {
        let Message::User { text } = request.messages[0].as_ref() else { panic!("{request:?}") };
        *self.open.lock().unwrap().entry(text.clone()).or_default() += 1;
        let guard = Guard(self.open.clone(), text.clone());
        Box::pin(async move {
            let stream = self.inner.stream(request).await?;
            let guarded = stream.map(move |event| {
                let _open = &guard;
                event
            });
            Ok(guarded.boxed())
        })
    }
}

/// A state of the third: its first steps, and how it is known to be in it.
type State = (&'static str, Vec<Value>, fn(&EventKind) -> bool);

fn states() -> Vec<State> {
    let wait = || json!({"wait_ms": 5_000});
    let say = || json!({"say": "I look. "});
    let limited = json!({"fail": "rate_limit", "detail": "slow down", "retry_after_ms": 5_000});
    let write = json!({"call": "Write", "input": {"file_path": "new.txt", "content": "x"}});
    vec![
        ("queued", vec![json!({"say": "<summary>went on</summary>"})], |kind| matches!(kind, EventKind::Spawned(_))),
        ("starting", vec![wait(), say()], |kind| matches!(kind, EventKind::Turn(TurnEvent::Started { .. }))),
        ("silent", vec![json!({"think": "Hm."}), wait(), say()], |kind| {
            matches!(kind, EventKind::Turn(TurnEvent::Thinking { .. }))
        }),
        ("speaking", vec![say(), wait(), say()], |kind| matches!(kind, EventKind::Turn(TurnEvent::Text { .. }))),
        ("stopping", vec![json!({"call": "Deaf", "input": {"ms": 3_000}})], |kind| {
            matches!(kind, EventKind::Tool(ToolEvent::Started { .. }))
        }),
        ("in a tool", vec![json!({"call": "Nap", "input": {"ms": 5_000}})], |kind| {
            matches!(kind, EventKind::Tool(ToolEvent::Started { .. }))
        }),
        ("asking", vec![write], |kind| matches!(kind, EventKind::Tool(ToolEvent::ApprovalRequested { .. }))),
        ("rate limited", vec![limited], |kind| matches!(kind, EventKind::Turn(TurnEvent::Retrying { .. }))),
    ]
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Third {
    Left,
    Stopped,
}

/// Plays eight at work. Returns what each of the seven others sent and told, without times and places.
async fn eight(state: &State, third: Third) -> Vec<String> {
    let (name, steps, pick) = state;
    let calls: Vec<Value> = NAMES.iter().map(|name| agent("general-purpose", name)).collect();
    let mut lines = vec![reply(json!({"task": "go", "turn": 0}), calls)];
    lines.push(reply(json!({"task": "go"}), vec![json!({"say": "noted"})]));
    let mut plot = reply(json!({"task": "called third", "turn": 0}), steps.clone());
    plot["times"] = json!(1);
    lines.push(plot);
    lines.push(reply(json!({"task": "called third"}), vec![json!({"say": "<summary>went on</summary>"})]));
    for (at, name) in NAMES.iter().enumerate().filter(|(at, _)| *at != 2) {
        let task = format!("called {name}");
        let first = vec![
            json!({"say": "one two three four", "every_ms": 300}),
            json!({"wait_ms": 100 * at}),
            json!({"call": "Nap", "input": {"ms": 2_000}}),
        ];
        lines.push(reply(json!({"task": task, "turn": 0}), first));
        lines.push(reply(json!({"task": task}), vec![json!({"say": format!("<summary>{name} is done</summary>")})]));
    }
    let scripted = script(&lines);
    let open = Open::default();
    let mut parts = Parts::new(Arc::new(Counted { inner: scripted.clone(), open: open.clone() }));
    parts.tools = standard_tools().with(nap()).with(deaf());
    if *name == "queued" {
        parts.limits.max_parallel = 2;
    }
    let mut session = Session::start(parts);
    session.say("go");
    session.wait(|event| (event.agent == THIRD && pick(&event.kind)).then_some(())).await;
    if third == Third::Stopped {
        session.send(Command::Stop { agent: THIRD });
        session.send(Command::Stop { agent: THIRD });
        assert_eq!(session.ended(THIRD).await.status.name(), "cancelled", "{name}");
        let open = open.lock().unwrap().iter().any(|(task, count)| task.contains("called third") && *count > 0);
        assert!(!open, "{name}: a connection is left");
        session.send(Command::Resume { agent: THIRD, message: None });
        session
            .wait(|event| {
                matches!(event.kind, EventKind::Resumed { run: 2, run_mode: RunMode::Background }).then_some(())
            })
            .await;
        assert_eq!(session.ended(THIRD).await.text, "<summary>went on</summary>", "{name}");
    } else if *name == "asking" {
        let questions = session.seen.iter().find_map(|event| match &event.kind {
            EventKind::Tool(ToolEvent::ApprovalRequested { request }) => Some(request.id.clone()),
            _ => None,
        });
        let answer = belvedere::permission::Answer::No { comment: None };
        session.send(Command::Answer { id: questions.unwrap(), answer });
    }
    super::quiet(&mut session, std::time::Duration::from_secs(30)).await;
    let root = session.root().display().to_string();
    let seen = session.quit().await;
    assert_ends(&seen);
    scripted.requests().iter().for_each(assert_valid);
    assert!(open.lock().unwrap().values().all(|open| *open == 0), "{name}");
    assert_grows(&requests_of(&scripted, "called third"));
    let ends: &[&str] = if third == Third::Stopped { &["cancelled", "completed"] } else { &["completed"] };
    assert_eq!(statuses(&seen, THIRD), ends, "{name}");
    let others = NAMES.iter().zip(1..).filter(|(_, id)| AgentId(*id) != THIRD);
    others
        .map(|(name, id)| {
            let told = seen.iter().filter(|event| event.agent == AgentId(id)).map(|event| match event.kind.clone() {
                EventKind::Ended { mut outcome } => {
                    outcome.elapsed_ms = 0;
                    EventKind::Ended { outcome }
                }
                kind => kind,
            });
            let told: Vec<EventKind> = told.collect();
            let sent = requests_of(&scripted, &format!("called {name}"));
            format!("{sent:#?}\n{told:#?}").replace(&root, "ROOT")
        })
        .collect()
}

#[tokio::test(start_paused = true)]
async fn seven_are_to_the_byte_what_they_are_without_the_stop_of_the_eighth() {
    for state in states() {
        let (left, stopped) = (eight(&state, Third::Left).await, eight(&state, Third::Stopped).await);
        for (left, stopped) in left.iter().zip(&stopped) {
            let differs = left.lines().zip(stopped.lines()).find(|(left, stopped)| left != stopped);
            assert!(left == stopped, "{}: {differs:?}", state.0);
        }
    }
}
