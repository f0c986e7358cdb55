//! An agent restricted to `Read, Grep` cannot write in any way.

use std::sync::Arc;

use belvedere::agent::{EventKind, ToolEvent};
use belvedere::definition::{AgentDefinition, Catalog};
use belvedere::message::{AgentId, ToolResult};
use belvedere::permission::PermissionMode;
use belvedere::provider::scripted::Scripted;
use serde_json::{Value, json};

use super::{agent, defined, reply, results, script, task};
use crate::support::{Parts, Session};

fn write() -> Value {
    json!({"call": "Write", "input": {"file_path": "made.txt", "content": "x"}})
}

/// A session in which everything is allowed, with agents that may nest.
fn parts(provider: &Arc<Scripted>, definitions: &[&str]) -> Parts {
    let mut parts = Parts::new(provider.clone());
    parts.mode = PermissionMode::BypassPermissions;
    parts.limits.max_depth = 2;
    parts.catalog = Catalog::of(definitions.iter().map(|head| defined(head)).collect());
    parts
}

/// Says "go", and checks that nothing was written. Returns all results of the agent whose task is named.
async fn nothing_is_written(parts: Parts, provider: &Scripted, name: &str) -> String {
    let mut session = Session::start(parts);
    session.ask("go").await;
    assert!(!session.root().join("made.txt").exists(), "a file was written");
    session.quit().await;
    let of_agent = |request: &belvedere::provider::Request| {
        format!("{:?}", request.messages.first()).contains(&format!("called {name}."))
    };
    let last = provider.requests().into_iter().rfind(of_agent).unwrap();
    results(&last).iter().map(ToolResult::joined_text).collect::<Vec<_>>().join("\n")
}

/// The replies: the main agent spawns `reader`, which makes these calls.
fn reader_calls(calls: Vec<Value>) -> Arc<Scripted> {
    script(&[
        reply(json!({"task": "go", "turn": 0}), vec![agent("reader", "reading")]),
        reply(json!({"task": "work called reading", "turn": 0}), calls),
        reply(json!({}), vec![json!({"say": "done"})]),
    ])
}

const READER: &str = "name: reader\ntools: Read, Grep";

#[tokio::test]
async fn not_by_a_tool() {
    let provider = reader_calls(vec![write(), json!({"call": "Bash", "input": {"command": "touch made.txt"}})]);
    let told = nothing_is_written(parts(&provider, &[READER]), &provider, "reading").await;
    assert!(told.contains("There is no tool `Write` here. Available: Read, Grep."), "{told}");
    assert!(told.contains("There is no tool `Bash` here"), "{told}");
}

#[tokio::test]
async fn not_by_an_alias() {
    let input = json!({"file_path": "made.txt", "content": "x", "old_string": "", "new_string": "x", "edits": []});
    let names = ["MultiEdit", "FileWrite", "FileEdit", "write", "WRITE", " Write ", "bash"];
    let provider = reader_calls(names.iter().map(|name| json!({"call": name, "input": input})).collect());
    let told = nothing_is_written(parts(&provider, &[READER]), &provider, "reading").await;
    assert_eq!(told.matches("There is no tool").count(), names.len(), "{told}");
}

#[tokio::test]
async fn not_by_the_allowed_tools_of_a_call() {
    let mut call = agent("reader", "reading");
    call["input"]["allowed_tools"] = json!(["Read", "Write", "*"]);
    let provider = script(&[
        reply(json!({"task": "go", "turn": 0}), vec![call]),
        reply(json!({"task": "work called reading", "turn": 0}), vec![write()]),
        reply(json!({}), vec![json!({"say": "done"})]),
    ]);
    nothing_is_written(parts(&provider, &[READER]), &provider, "reading").await;

    let mut call = agent("reader", "reading");
    call["input"]["allowed_tools"] = json!(["Write", "Foo", "mcp__x__*", "Read("]);
    let provider =
        script(&[reply(json!({"task": "go", "turn": 0}), vec![call]), reply(json!({}), vec![json!({"say": "done"})])]);
    let mut session = Session::start(parts(&provider, &[READER]));
    session.ask("go").await;
    let told = results(&provider.requests().pop().unwrap())[0].joined_text();
    for reason in [
        "Write is not among this agent's tools",
        "Foo is not a tool",
        "mcp__x__* is not a tool",
        "Read( has a scope that is not understood",
    ] {
        assert!(told.contains(reason), "{told}");
    }
    assert!(session.quit().await.iter().all(|event| !matches!(event.kind, EventKind::Spawned(_))));
}

/// The main agent spawns `reader`, that one spawns a `writer`, and the writer writes.
fn nested() -> Arc<Scripted> {
    script(&[
        reply(json!({"task": "go", "turn": 0}), vec![agent("reader", "reading")]),
        reply(json!({"task": "work called reading", "turn": 0}), vec![agent("writer", "writing")]),
        reply(
            json!({"task": "work called writing", "turn": 0}),
            vec![write(), json!({"call": "Bash", "input": {"command": "touch made.txt"}})],
        ),
        reply(json!({}), vec![json!({"say": "done"})]),
    ])
}

#[tokio::test]
async fn not_by_a_nested_agent() {
    let reader = "name: reader\ntools: Read, Grep, Agent";
    let provider = nested();
    let told = nothing_is_written(parts(&provider, &[reader, "name: writer"]), &provider, "writing").await;
    assert!(told.contains("There is no tool `Write` here. Available: Read, Grep."), "{told}");

    let provider = nested();
    let mut session = Session::start(parts(&provider, &[reader, "name: writer\ntools: Write, Edit"]));
    session.ask("go").await;
    session.quit().await;
    let refused = format!("{:?}", provider.requests());
    assert!(refused.contains("Write is not among its parent's tools"), "{refused}");
}

#[tokio::test]
async fn a_nested_agent_has_the_scopes_and_the_mode_of_the_one_above() {
    let reader = "name: reader\ntools: Read, Write(docs/**), Bash(git log:*), Agent\npermissionMode: plan";
    let provider = nested();
    let mut mild = defined(reader);
    mild.permission_mode = None;
    for (definition, expected) in [(mild, "only as `Write(docs/**)` allows"), (defined(reader), "Plan mode")] {
        let mut parts = parts(&provider, &[]);
        let allowed = if expected == "Plan mode" { defined("name: reader\npermissionMode: plan") } else { definition };
        parts.catalog = Catalog::of(vec![
            AgentDefinition { name: "reader".to_owned(), ..allowed },
            defined("name: writer\npermissionMode: bypassPermissions"),
        ]);
        let provider = nested();
        parts.provider = provider.clone();
        let told = nothing_is_written(parts, &provider, "writing").await;
        assert!(told.contains(expected), "{told}");
    }
}

#[tokio::test]
async fn the_stricter_mode_holds_also_when_the_session_changes_its_own() {
    let provider = reader_calls(vec![write()]);
    for (session_mode, own_mode, asks) in [
        (PermissionMode::Default, "bypassPermissions", true),
        (PermissionMode::BypassPermissions, "default", true),
        (PermissionMode::BypassPermissions, "acceptEdits", false),
        (PermissionMode::AcceptEdits, "acceptEdits", false),
    ] {
        let mut parts = parts(&provider, &[&format!("name: reader\npermissionMode: {own_mode}")]);
        parts.provider = reader_calls(vec![write()]);
        parts.mode = session_mode;
        let mut session = Session::start(parts);
        session.say("go");
        let asked = session
            .wait(|event| match &event.kind {
                EventKind::Tool(ToolEvent::ApprovalRequested { .. }) => Some(true),
                EventKind::Ended { .. } if event.agent == AgentId(1) => Some(false),
                _ => None,
            })
            .await;
        assert_eq!(asked, asks, "{session_mode} and {own_mode}");
        session.quit().await;
    }
}

#[tokio::test]
async fn a_child_of_the_main_agent_has_what_the_main_agent_has() {
    let provider = script(&[
        reply(json!({"task": "go", "turn": 0}), vec![agent("writer", "writing")]),
        reply(json!({"task": "work called writing", "turn": 0}), vec![write()]),
        reply(json!({}), vec![json!({"say": "done"})]),
    ]);
    let mut session = Session::start(parts(&provider, &["name: writer"]));
    session.ask("go").await;
    assert!(session.root().join("made.txt").exists());
    session.quit().await;
}

#[tokio::test]
async fn an_agent_lets_only_the_kinds_it_names_work_for_it() {
    let boss = "name: boss\ntools: Read, Agent(reader, Some Helper)";
    let provider = script(&[
        reply(json!({"task": "go", "turn": 0}), vec![agent("boss", "leading")]),
        reply(
            json!({"task": "work called leading", "turn": 0}),
            vec![agent("writer", "writing"), agent("reader", "reading")],
        ),
        reply(json!({}), vec![json!({"say": "done"})]),
    ]);
    let definitions = [boss, READER, "name: writer", "name: some-helper"];
    let told = nothing_is_written(parts(&provider, &definitions), &provider, "leading").await;
    assert!(told.contains("This agent may not use `writer`. Available: reader, some-helper."), "{told}");
    assert!(told.contains("agent: reader-2 (reader)"), "{told}");
    let leading = provider.requests().into_iter().nth(1).unwrap();
    let offer = &leading.tools.iter().find(|tool| tool.name == "Agent").unwrap().description;
    assert!(offer.contains("- reader:") && offer.contains("- some-helper:"), "{offer}");
    assert!(!offer.contains("- writer:") && !offer.contains("- boss:"), "{offer}");
}

#[tokio::test(start_paused = true)]
async fn the_shorter_of_two_times_ends_a_run() {
    let mut slow = defined("name: slow");
    slow.max_time = Some(std::time::Duration::from_millis(20));
    let provider = script(&[
        reply(json!({"task": "go", "turn": 0}), vec![agent("slow", "waiting")]),
        reply(json!({"task": "work called waiting"}), vec![json!({"stall": true})]),
        reply(json!({}), vec![json!({"say": "done"})]),
    ]);
    let mut parts = Parts::new(provider.clone());
    parts.catalog = Catalog::of(vec![slow]);
    let mut session = Session::start(parts);
    session.ask("go").await;
    let told = results(&provider.requests().pop().unwrap())[0].joined_text();
    assert!(told.starts_with("status: timed_out"), "{told}");
    assert!(told.contains(&task("waiting")) || told.contains("reached its time limit"), "{told}");
    session.quit().await;
}
