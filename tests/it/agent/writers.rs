//! Subagents that edit one file at the same time, through the real loop.

use std::fmt::Write as _;
use std::sync::Arc;

use belvedere::agent::{EventKind, Status, ToolEvent};
use belvedere::message::{AgentId, Message, ToolResult};
use belvedere::permission::PermissionMode;
use belvedere::provider::{EventStream, Provider, ProviderError, Request, StopReason, StreamEvent};
use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt};
use serde_json::{Value, json};

use super::{agent, reply, results, script, task};
use crate::support::{Parts, Session};

fn bypass(provider: Arc<dyn Provider>, file: String) -> Parts {
    let mut parts = Parts::new(provider);
    parts.mode = PermissionMode::BypassPermissions;
    parts.files = vec![("a.txt", file)];
    parts
}

fn edit(old: &str, new: &str) -> Value {
    json!({"call": "Edit", "input": {"file_path": "a.txt", "old_string": old, "new_string": new}})
}

#[tokio::test(start_paused = true)]
async fn the_second_of_two_children_is_told_of_the_first_and_both_edits_stay() {
    let look = json!({"call": "Read", "input": {"file_path": "a.txt"}});
    let one = |turn: u32| json!({"task": "called one", "turn": turn});
    let two = |turn: u32| json!({"task": "called two", "turn": turn});
    let told = "a.txt was changed by general-purpose-1 since you read it (Edit, ";
    let provider = script(&[
        reply(one(0), vec![look.clone()]),
        reply(one(1), vec![json!({"wait_ms": 5_000}), edit("alpha", "ALPHA")]),
        reply(one(2), vec![json!({"say": "<summary>one</summary>"})]),
        reply(two(0), vec![look.clone()]),
        reply(two(1), vec![json!({"wait_ms": 10_000}), edit("beta", "BETA")]),
        reply(json!({"task": "called two", "turn": 2, "last": told}), vec![look]),
        reply(two(3), vec![edit("beta", "BETA")]),
        reply(two(4), vec![json!({"say": "<summary>two</summary>"})]),
        reply(json!({"turn": 0}), vec![agent("general-purpose", "one"), agent("general-purpose", "two")]),
        reply(json!({"turn": 1}), vec![json!({"say": "both"})]),
    ]);
    let mut session = Session::start(bypass(provider, "alpha\nbeta\n".to_owned()));
    let outcome = session.ask("go").await;
    assert_eq!((outcome.status, outcome.text.as_str()), (Status::Completed, "both"));
    let file = std::fs::read_to_string(session.root().join("a.txt")).unwrap();
    assert_eq!(file, "ALPHA\nBETA\n");
    let said: Vec<&str> = session
        .of(AgentId(2))
        .filter_map(|kind| match kind {
            EventKind::Tool(ToolEvent::Ended { summary, .. }) => Some(summary.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(said.len(), 4);
    assert_eq!(said[1], format!("{told}5 s ago). Read it again before you edit it."), "a pane shows who it was");
    session.quit().await;
}

/// Agents and edits of each.
const AGENTS: usize = 8;
const EDITS: usize = 6;

/// Every child changes its own lines of one file, and reads again whenever it is refused.
struct Stubborn;

impl Stubborn {
    fn steps(request: &Request) -> Vec<StreamEvent> {
        if request.tools.iter().any(|tool| tool.name == "Agent") {
            let calls = (0..AGENTS).map(|number| {
                let prompt = task(&format!("number {number}"));
                ("Agent", json!({"description": "edit", "subagent_type": "general-purpose", "prompt": prompt}))
            });
            let done = request.messages.len() > 1;
            return if done { vec![StreamEvent::Text("done".to_owned())] } else { calls_of(calls) };
        }
        let own = (0..AGENTS).find(|number| first_words(request).contains(&format!("number {number}."))).unwrap();
        let results = results(request);
        let done = results.iter().filter(|result| text(result).starts_with("Changed")).count();
        let knows = results.last().is_some_and(|result| !result.is_error);
        match done {
            EDITS => vec![StreamEvent::Text("<summary>done</summary>".to_owned())],
            _ if !knows => calls_of([("Read", json!({"file_path": "a.txt"}))]),
            next => {
                let (old, new) = (format!("line {own}.{next} old\n"), format!("line {own}.{next} new\n"));
                let input = json!({"file_path": "a.txt", "old_string": old, "new_string": new});
                calls_of([("Edit", input)])
            }
        }
    }
}

fn first_words(request: &Request) -> String {
    match request.messages[0].as_ref() {
        Message::User { text } => text.clone(),
        other => panic!("{other:?}"),
    }
}

fn text(result: &ToolResult) -> String {
    serde_json::to_value(&result.content[0]).unwrap()["text"].as_str().unwrap().to_owned()
}

fn calls_of(calls: impl IntoIterator<Item = (&'static str, Value)>) -> Vec<StreamEvent> {
    let mut events = Vec::new();
    for (index, (name, input)) in calls.into_iter().enumerate() {
        events.push(StreamEvent::ToolCallStart { index, id: String::new(), name: name.to_owned() });
        events.push(StreamEvent::ToolCallDelta { index, json: input.to_string() });
    }
    events.push(StreamEvent::Stop(StopReason::ToolUse));
    events
}

impl Provider for Stubborn {
    fn name(&self) -> &'static str {
        "stubborn"
    }

    fn stream(&self, request: Request) -> BoxFuture<'_, Result<EventStream, ProviderError>> {
        let events = Self::steps(&request);
        async move { Ok(futures::stream::iter(events).map(Ok).boxed()) }.boxed()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_edits_of_many_agents_lose_nothing() {
    let mut file = String::new();
    for agent in 0..AGENTS {
        for line in 0..EDITS {
            writeln!(file, "line {agent}.{line} old").unwrap();
        }
    }
    let mut parts = bypass(Arc::new(Stubborn), file.clone());
    parts.limits.child.max_turns = None;
    parts.limits.child.max_tool_calls = None;
    let mut session = Session::start(parts);
    let outcome = session.ask("go").await;
    assert_eq!(outcome.status, Status::Completed);
    let found = std::fs::read_to_string(session.root().join("a.txt")).unwrap();
    assert_eq!(found, file.replace("old", "new"));
    session.quit().await;
}
