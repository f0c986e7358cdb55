//! Replies that run into a limit, and models that repeat themselves: what they hear, and when a run ends.

use std::sync::Arc;

use belvedere::agent::{Outcome, Status};
use belvedere::message::AgentId;
use belvedere::provider::Request;
use belvedere::provider::scripted::Scripted;
use belvedere::tool::{ScriptedTool, ToolSet};
use serde_json::{Value, json};

use super::wires::{ModelServer, PlannedReply, WIRES, Wire};
use crate::agent::{agent, last_of_main, reply, results, script};
use crate::support::{Parts, Session};

fn read(file: &str) -> Vec<Value> {
    vec![json!({"call": "Read", "input": {"file_path": file}})]
}

async fn run(provider: Arc<Scripted>, change: impl FnOnce(&mut Parts)) -> (Outcome, Session) {
    let mut parts = Parts::new(provider);
    parts.files = vec![("a.txt", "ALPHA\n".to_owned()), ("b.txt", "BETA\n".to_owned())];
    change(&mut parts);
    let mut session = Session::start(parts);
    let outcome = session.ask("go").await;
    (outcome, session)
}

fn last_words(request: &Request) -> String {
    format!("{:?}", request.messages.last().unwrap())
}

#[tokio::test]
async fn a_model_that_repeats_a_call_is_told_once_and_then_stopped() {
    let provider = script(&[reply(json!({}), read("a.txt"))]);
    let (outcome, session) = run(provider.clone(), |_| {}).await;
    let reason = outcome.reason.unwrap_or_default();
    assert_eq!((outcome.status, outcome.turns), (Status::Failed, 11), "{reason}");
    assert!(reason.starts_with("The model repeated itself") && reason.contains("Read"), "{reason}");
    let told: Vec<usize> = provider
        .requests()
        .iter()
        .enumerate()
        .filter(|(_, request)| last_words(request).contains("You repeat yourself"))
        .map(|(at, _)| at)
        .collect();
    assert_eq!(told, [6], "once, after the first call was repeated five times");
    session.quit().await;
}

#[tokio::test]
async fn calls_in_turn_and_refused_ones_are_repeated_too() {
    let in_turn = (0..20).map(|turn| reply(json!({"turn": turn}), read(if turn % 2 == 0 { "a.txt" } else { "b.txt" })));
    let unknown = vec![reply(json!({}), vec![json!({"call": "Teleport", "input": {}})])];
    let broken = vec![reply(json!({}), vec![json!({"call": "Read", "raw": "{\"file_path\": "})])];
    for lines in [in_turn.collect(), unknown, broken] {
        let (outcome, session) = run(script(&lines), |_| {}).await;
        assert_eq!(outcome.status, Status::Failed);
        assert!(outcome.reason.unwrap_or_default().starts_with("The model repeated itself"));
        session.quit().await;
    }
}

#[tokio::test]
async fn a_model_that_heeds_the_words_goes_on() {
    let mut lines: Vec<Value> = (0..6).map(|turn| reply(json!({"turn": turn}), read("a.txt"))).collect();
    lines.extend((6..9).map(|turn| reply(json!({"turn": turn}), read("b.txt"))));
    lines.push(reply(json!({}), vec![json!({"say": "done"})]));
    let (outcome, session) = run(script(&lines), |_| {}).await;
    assert_eq!((outcome.status, outcome.text.as_str()), (Status::Completed, "done"));
    session.quit().await;
}

#[tokio::test]
async fn a_child_that_repeats_itself_is_no_completed_one() {
    let provider = script(&[
        reply(json!({"task": "go", "turn": 0}), vec![agent("explore", "circles")]),
        reply(json!({"task": "circles"}), read("a.txt")),
        reply(json!({"task": "go"}), vec![json!({"say": "composed"})]),
    ]);
    let (outcome, session) = run(provider.clone(), |_| {}).await;
    assert_eq!(outcome.text, "composed");
    let report = results(&last_of_main(&provider))[0].joined_text();
    assert!(report.starts_with("status: failed\n") && report.contains("repeated itself"), "{report}");
    session.quit().await;
}

#[tokio::test(start_paused = true)]
async fn calls_that_wait_may_be_repeated() {
    let line = json!({"tool": "Wait", "title": "", "summary": "", "ms": 3_000}).to_string();
    let tools: ToolSet = ScriptedTool::parse(&line).unwrap().into_iter().collect();
    let wait = reply(json!({}), vec![json!({"call": "Wait", "input": {}})]);
    let (outcome, session) = run(script(&[wait]), |parts| {
        parts.tools = tools;
        parts.main_limits.max_turns = Some(20);
    })
    .await;
    assert_eq!((outcome.status, outcome.turns), (Status::TurnLimit, 21));
    session.quit().await;
}

#[tokio::test]
async fn a_call_that_was_cut_off_hears_of_the_limit_which_is_raised() {
    let whole = json!({"file_path": "b.txt", "content": "line\n"}).to_string();
    for wire in WIRES.into_iter().filter(|wire| *wire != Wire::Gemini) {
        let half = whole[..whole.len() - 4].to_owned();
        let server = ModelServer::start(wire, move |request| {
            let is_second = request.to_string().contains("Not run");
            let cut = PlannedReply { calls: vec![("Write".into(), half.clone())], is_cut: true, ..Default::default() };
            if is_second { PlannedReply::say("I write it in parts later.") } else { cut }
        })
        .await;
        let mut parts = Parts::new(server.provider.clone());
        parts.model.most_output_tokens = 6_000;
        let mut session = Session::start(parts);
        session.ask("go").await;
        let requests = server.requests_with("go");
        let words = "Not run: the limit of 4,096 output tokens cut your reply off inside this call.";
        assert!(requests[1].contains(words) && requests[1].contains("in parts"), "{wire:?}: {}", requests[1]);
        assert!(!requests[1].contains("Send it again"), "{wire:?}");
        assert!(requests[0].contains(":4096,") && requests[1].contains(":6000,"), "{wire:?}: {}", requests[1]);
        session.quit().await;
    }
}

#[tokio::test]
async fn a_call_of_more_than_a_megabyte_hears_that_it_is_too_long() {
    let raw = format!("{{\"file_path\": \"b.txt\", \"content\": \"{}", "x".repeat(1_100_000));
    let provider = script(&[
        reply(json!({"turn": 0}), vec![json!({"call": "Write", "raw": raw}), json!({"stop": "max_tokens"})]),
        reply(json!({}), vec![json!({"say": "done"})]),
    ]);
    let (_, session) = run(provider.clone(), |parts| parts.model.context_window = None).await;
    let result = results(provider.requests().last().unwrap())[0].joined_text();
    assert!(result.starts_with("Not run: this call is too long. More than 1 MB arrived"), "{result}");
    session.quit().await;
}

#[tokio::test]
async fn thoughts_markup_and_loops_that_fill_the_limit_are_not_gone_on_with() {
    let markup = "<tool_call>\n{\"name\": \"Write\", \"arguments\": {\"file_path\": \"b.txt\", \"content\": \"li";
    let bare = "{\"name\": \"Write\", \"arguments\": {\"file_path\": \"b.txt\", \"content\": \"li";
    let circle = "and so on, ".repeat(400);
    for (step, words) in [
        (json!({"think": "Hm."}), "Think less"),
        (json!({"say": markup}), "in parts"),
        (json!({"say": bare}), "in parts"),
        (json!({"say": circle}), "It repeated itself"),
    ] {
        let provider = script(&[
            reply(json!({"turn": 0}), vec![step.clone(), json!({"stop": "max_tokens"})]),
            reply(json!({}), vec![json!({"say": "It is done."})]),
        ]);
        let provider = if step["think"].is_string() {
            script(&[
                json!({"times": 1, "steps": [step, {"stop": "max_tokens"}]}),
                reply(json!({}), vec![json!({"say": "It is done."})]),
            ])
        } else {
            provider
        };
        let (outcome, session) = run(provider.clone(), |_| {}).await;
        assert_eq!((outcome.status, outcome.text.as_str()), (Status::Completed, "It is done."), "{words}");
        let heard = last_words(&provider.requests()[1]);
        assert!(heard.contains("the limit of 4,096 output tokens") && heard.contains(words), "{heard}");
        session.quit().await;
    }
}

#[tokio::test]
async fn a_last_turn_that_writes_a_call_is_no_report() {
    let markup = "<tool_call>{\"name\": \"Read\", \"arguments\": {\"file_path\": \"a.txt\"}}</tool_call>";
    let provider = script(&[
        reply(json!({"task": "go", "turn": 0}), vec![agent("explore", "circles")]),
        reply(json!({"task": "circles", "turn": 0}), read("a.txt")),
        reply(json!({"task": "circles"}), vec![json!({"say": markup})]),
        reply(json!({"task": "go"}), vec![json!({"say": "composed"})]),
    ]);
    let (_, session) = run(provider.clone(), |parts| parts.limits.child.max_turns = Some(1)).await;
    let outcome = session.of(AgentId(1)).find_map(|kind| match kind {
        belvedere::agent::EventKind::Ended { outcome } => Some(outcome.clone()),
        _ => None,
    });
    let outcome = outcome.unwrap();
    assert!(outcome.status == Status::TurnLimit && outcome.is_broken_off(), "{outcome:?}");
    let report = results(&last_of_main(&provider))[0].joined_text();
    assert!(!report.contains("tool_call>"), "{report}");
    session.quit().await;
}
