//! Secrets in what agents read, write, run and say: the model works with them, everyone else sees that they are masked.

use belvedere::agent::{EventKind, LogEvent, Outcome, ToolEvent, TurnEvent};
use belvedere::message::AgentId;
use belvedere::permission::{Answer, Preview};
use belvedere::session::Secrets;
use belvedere::subagent::Command;
use belvedere::tool::ToolView;
use serde_json::json;

use super::{reply, script};
use crate::support::{Parts, Session};

const RANDOM: &str = "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8";
const NAMED: &str = "the key of a service";

fn token() -> String {
    format!("ghp_{RANDOM}")
}

/// Returns everything that is seen of a session.
fn seen(session: &Session, outcome: &Outcome) -> String {
    let lines = session.seen.iter().map(|event| serde_json::to_string(&LogEvent::Agent((**event).clone())).unwrap());
    lines.collect::<String>() + &outcome.text
}

#[tokio::test]
async fn a_token_in_a_file_and_in_an_answer_is_masked_for_everyone_but_the_model() {
    let token = token();
    let (first, rest) = token.split_at(15);
    let provider = script(&[
        reply(json!({"turn": 0}), vec![json!({"call": "Read", "input": {"file_path": "leak.env"}})]),
        reply(
            json!({"turn": 1}),
            vec![
                json!({"call": "Edit", "input": {"file_path": "leak.env", "old_string": "GH=", "new_string": "GITHUB="}}),
            ],
        ),
        reply(
            json!({"turn": 2}),
            vec![
                json!({"think": format!("It is {token}.")}),
                json!({"say": format!("The tokens are {first}")}),
                json!({"wait_ms": 100}),
                json!({"say": format!("{rest} and {NAMED}.")}),
            ],
        ),
    ]);
    let mut parts = Parts::new(provider.clone());
    parts.mode = belvedere::permission::PermissionMode::AcceptEdits;
    let secrets = Secrets::default();
    parts.secrets = secrets.clone();
    let mut session = Session::start(parts);
    let leak = format!("GH={token}\n-----BEGIN PRIVATE KEY-----\nMII{RANDOM}\n-----END PRIVATE KEY-----\n");
    std::fs::write(session.root().join("leak.env"), &leak).unwrap();
    secrets.learn([NAMED]);
    let outcome = session.ask("go").await;
    assert_eq!(std::fs::read_to_string(session.root().join("leak.env")).unwrap(), leak.replace("GH=", "GITHUB="));
    assert!(format!("{:?}", provider.requests()).contains(&token), "the model works with the file as it is");
    assert_eq!(outcome.text, "The tokens are *** and ***.");
    let seen = seen(&session, &outcome);
    assert!(!seen.contains(RANDOM) && !seen.contains(NAMED) && seen.contains("GH=***"), "{seen}");
    let diff = session.of(AgentId::MAIN).find_map(|kind| match kind {
        EventKind::Tool(ToolEvent::Ended { view: Some(ToolView::Diff(diff)), .. }) => Some(diff.clone()),
        _ => None,
    });
    let lines: Vec<String> = diff.unwrap().hunks[0].lines.iter().map(|line| line.text.trim_end().to_owned()).collect();
    assert_eq!(lines, ["GH=***", "GITHUB=***", "***", "***", "***"]);
    let said = session.of(AgentId::MAIN).filter_map(|kind| match kind {
        EventKind::Turn(TurnEvent::Text { text }) => Some(text.as_str()),
        _ => None,
    });
    assert_eq!(said.collect::<Vec<_>>(), ["The tokens are ", "*** and ***."], "in pieces, as they came");
    session.quit().await;
}

#[tokio::test]
async fn a_question_shows_all_that_would_run_and_the_ends_of_tokens() {
    let token = token();
    let block = "-----BEGIN PRIVATE KEY-----";
    let command = format!("echo {token} > out; echo '{block}'; touch ran");
    let provider = script(&[
        reply(json!({"turn": 0}), vec![json!({"call": "Bash", "input": {"command": command, "description": token}})]),
        reply(
            json!({"turn": 1}),
            vec![json!({"call": "Write", "input": {"file_path": "key", "content": format!("{block}\n{token}\n")}})],
        ),
        reply(json!({"turn": 2}), vec![json!({"say": "done"})]),
    ]);
    let mut session = Session::start(Parts::new(provider));
    session.say("go");
    let mut asked = Vec::new();
    for _ in 0..2 {
        let request = session
            .wait(|event| match &event.kind {
                EventKind::Tool(ToolEvent::ApprovalRequested { request }) => Some(request.clone()),
                _ => None,
            })
            .await;
        session.send(Command::Answer { id: request.id.clone(), answer: Answer::Once });
        asked.push(request);
    }
    let outcome = session.ended(AgentId::MAIN).await;
    let shown = asked[0].act().into_owned();
    assert_eq!(shown, format!("echo ghp_***q7R8 > out; echo '{block}'; touch ran"));
    assert!(format!("{:?}", asked[0].grant).contains("ghp_***q7R8"), "{:?}", asked[0].grant);
    let Some(Preview::Diff(diff)) = &asked[1].preview else { panic!("{asked:?}") };
    let lines: Vec<&str> = diff.hunks[0].lines.iter().map(|line| line.text.trim_end()).collect();
    assert_eq!(lines, [block, "ghp_***q7R8"]);
    let seen = seen(&session, &outcome);
    assert!(!seen.contains(RANDOM), "{seen}");
    assert_eq!(std::fs::read_to_string(session.root().join("out")).unwrap().trim(), token, "what was asked for is run");
    assert!(session.root().join("ran").exists());
    session.quit().await;
}
