//! Shapes of calls, from `tests/fixtures/models/calls.toml`: which are carried out, and as what.

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use belvedere::agent::{EventKind, ToolEvent, TurnEvent};
use belvedere::message::{AgentId, ToolResult};
use belvedere::permission::PermissionMode;
use serde::Deserialize;
use serde_json::{Value, json};

use super::wires::{ModelServer, PlannedReply, WIRES, Wire};
use crate::support::{Parts, Session};

#[derive(Deserialize)]
struct Calls {
    call: Vec<Vec<String>>,
}

/// One row of the file.
#[derive(Clone)]
struct CallShape {
    name: String,
    number: usize,
    tool: String,
    input: String,
    is_done: bool,
    /// What the result holds.
    holds: String,
    /// What its file holds afterwards.
    file: Option<String>,
}

const FILE: &str = "one\ntwo\nthree\n";
/// Calls of one reply.
const GROUP: usize = 42;

fn shapes() -> Vec<CallShape> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/models/calls.toml");
    let rows = toml::from_str::<Calls>(&std::fs::read_to_string(path).unwrap()).unwrap().call;
    let shape = |(number, row): (usize, Vec<String>)| {
        let filled = |at: usize| row[at].replace("{n}", &number.to_string());
        assert!(matches!(row[3].as_str(), "done" | "refused") && row.len() <= 6, "{row:?}");
        CallShape {
            name: row[0].clone(),
            number,
            tool: row[1].clone(),
            input: filled(2),
            is_done: row[3] == "done",
            holds: filled(4),
            file: row.get(5).cloned(),
        }
    };
    rows.into_iter().enumerate().map(shape).collect()
}

/// Plays shapes as the calls of one reply, after their files were read; returns what is wrong with what came of them.
async fn play(wire: Wire, is_child: bool, shapes: Vec<CallShape>) -> Vec<String> {
    let input = |value: Value| value.to_string();
    let read = |shape: &CallShape| ("Read".to_owned(), input(json!({"file_path": format!("f{}.txt", shape.number)})));
    let first = PlannedReply { calls: shapes.iter().map(read).collect(), ..PlannedReply::default() };
    let calls = shapes.iter().map(|shape| (shape.tool.clone(), shape.input.clone())).collect();
    let replies = [first, PlannedReply { calls, ..PlannedReply::default() }, PlannedReply::say("It is all done.")];
    let prompt = "The child's task. WHAT: play the calls. WHERE: here. RETURN: a word.";
    let delegated = PlannedReply::call("Agent", &json!({"description": "plays", "prompt": prompt}));
    let turns = AtomicUsize::new(0);
    let server = ModelServer::start(wire, move |request: &Value| {
        let is_main = request.to_string().contains("main task");
        match (is_child && is_main, request.to_string().contains("status: completed")) {
            (true, false) => delegated.clone(),
            (true, true) => PlannedReply::say("It is all done."),
            (false, _) => replies[turns.fetch_add(1, Ordering::SeqCst).min(2)].clone(),
        }
    })
    .await;
    let mut parts = Parts::new(server.provider.clone());
    parts.mode = PermissionMode::BypassPermissions;
    parts.folder = Some(folder(&shapes));
    let mut session = Session::start(parts);
    session.ask("main task").await;
    let agent = if is_child { AgentId(1) } else { AgentId::MAIN };
    let ids: Vec<String> = session
        .of(agent)
        .filter_map(|kind| match kind {
            EventKind::Turn(TurnEvent::Ended { message, .. }) => Some(message),
            _ => None,
        })
        .nth(1)
        .map(|message| message.tool_calls().map(|call| call.id.clone()).collect())
        .unwrap_or_default();
    let results: HashMap<String, ToolResult> = session
        .of(agent)
        .filter_map(|kind| match kind {
            EventKind::Tool(ToolEvent::Ended { result, .. }) => Some((result.call_id.clone(), result.clone())),
            _ => None,
        })
        .collect();
    assert_eq!(ids.len(), shapes.len(), "{wire:?}: every call arrives");
    let root = session.root();
    let wrong = shapes.iter().zip(&ids).filter_map(|(shape, id)| {
        let result = &results[id];
        let text = result.joined_text();
        let file = std::fs::read_to_string(root.join(format!("f{}.txt", shape.number))).unwrap();
        let is_right = result.is_error != shape.is_done
            && text.contains(&shape.holds)
            && file == *shape.file.as_deref().unwrap_or(FILE);
        (!is_right).then(|| format!("{wire:?} {is_child} {}: {text:?}, and the file {file:?}", shape.name))
    });
    let wrong = wrong.collect();
    session.quit().await;
    wrong
}

fn folder(shapes: &[CallShape]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let put = |path: &str, text: &str| std::fs::write(folder.path().join(path), text).unwrap();
    std::fs::create_dir_all(folder.path().join("sub")).unwrap();
    std::fs::create_dir_all(folder.path().join("with blank")).unwrap();
    put("a.txt", "ALPHA\nBETA\n");
    put("sub/b.txt", "GAMMA\n");
    put("code.rs", "fn helper() {}\n");
    for shape in shapes {
        put(&format!("f{}.txt", shape.number), FILE);
    }
    folder
}

async fn check(wire: Wire) {
    let all = shapes();
    assert!(all.len() >= 150, "{} shapes", all.len());
    // That wire carries calls as JSON within JSON: what is none cannot be said in it.
    let can_say = |shape: &CallShape| {
        wire != Wire::Gemini || serde_json::from_str::<Value>(&shape.input).is_ok_and(|input| input.is_object())
    };
    let said: Vec<CallShape> = all.into_iter().filter(can_say).collect();
    let mut wrong = Vec::new();
    for is_child in [false, true] {
        for group in said.chunks(GROUP) {
            wrong.extend(play(wire, is_child, group.to_vec()).await);
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), 2 * said.len(), wrong.join("\n"));
}

#[tokio::test]
async fn calls_come_to_what_they_mean_over_messages() {
    check(WIRES[0]).await;
}

#[tokio::test]
async fn calls_come_to_what_they_mean_over_chat_completions() {
    check(WIRES[1]).await;
}

#[tokio::test]
async fn calls_come_to_what_they_mean_over_responses() {
    check(WIRES[2]).await;
}

#[tokio::test]
async fn calls_come_to_what_they_mean_over_gemini() {
    check(WIRES[3]).await;
}
