//! Plans that the user approves, and questions that the user answers, through the real loop.

use belvedere::agent::{EventKind, SessionEvent, ToolEvent};
use belvedere::message::{AgentId, ToolResult};
use belvedere::permission::{Answer, ApprovalRequest, PermissionMode, QuestionAnswer};
use belvedere::provider::scripted::Scripted;
use belvedere::subagent::{Children, Command};
use serde_json::{Value, json};
use std::sync::Arc;

use super::{agent, reply, results, script};
use crate::support::{Parts, Session};

fn session(mode: PermissionMode, lines: &[Value], change: impl FnOnce(&mut Parts)) -> (Arc<Scripted>, Session) {
    let provider = script(lines);
    let mut parts = Parts::new(provider.clone());
    parts.mode = mode;
    change(&mut parts);
    (provider, Session::start(parts))
}

async fn asked(session: &mut Session) -> ApprovalRequest {
    session
        .wait(|event| match &event.kind {
            EventKind::Tool(ToolEvent::ApprovalRequested { request }) => Some(request.clone()),
            _ => None,
        })
        .await
}

fn offered(provider: &Scripted, request: usize) -> Vec<String> {
    provider.requests()[request].tools.iter().map(|tool| tool.name.clone()).collect()
}

fn texts(provider: &Scripted) -> Vec<String> {
    results(provider.requests().last().unwrap()).iter().map(ToolResult::joined_text).collect()
}

fn write() -> Value {
    json!({"call": "Write", "input": {"file_path": "made.txt", "content": "x"}})
}

fn plan(text: &str) -> Value {
    json!({"call": "ExitPlanMode", "input": {"plan": text}})
}

#[tokio::test]
async fn nothing_is_changed_before_a_yes_and_the_edited_plan_is_what_is_approved() {
    let (provider, mut session) = session(
        PermissionMode::Plan,
        &[
            reply(json!({"turn": 0}), vec![write(), plan("1. write made.txt")]),
            reply(json!({"turn": 1}), vec![plan("1. write made.txt\n2. test it")]),
            reply(
                json!({"turn": 2}),
                vec![
                    json!({"call": "TodoWrite", "input": {"todos": [{"content": "write", "status": "pending"}]}}),
                    write(),
                ],
            ),
            reply(json!({}), vec![json!({"say": "done"})]),
        ],
        |_| {},
    );
    session.say("make it");
    let first = asked(&mut session).await;
    assert!(first.is_of_plan() && !session.root().join("made.txt").exists());
    session.send(Command::Answer { id: first.id, answer: Answer::No { comment: Some("test it too".to_owned()) } });
    let second = asked(&mut session).await;
    let yes = Answer::Plan { accepts_edits: true, text: Some("only write it".to_owned()) };
    session.send(Command::Answer { id: second.id, answer: yes });
    session
        .wait_session(|event| {
            matches!(event, SessionEvent::ModeChanged { mode: PermissionMode::AcceptEdits }).then_some(())
        })
        .await;
    session.ended(AgentId::MAIN).await;
    assert!(session.root().join("made.txt").exists(), "edits are accepted");
    let texts = texts(&provider);
    assert!(texts[1].contains("keep planning: test it too"), "{texts:?}");
    assert!(texts[2].contains("edited the plan") && texts[2].ends_with("only write it"), "{texts:?}");
    assert!(texts[3].starts_with("Noted: 1 entry"), "{texts:?}");
    assert!(offered(&provider, 0).contains(&"ExitPlanMode".to_owned()));
    assert!(!offered(&provider, 2).contains(&"ExitPlanMode".to_owned()), "plan mode is off");
    session.quit().await;
}

#[tokio::test]
async fn a_plan_that_nobody_can_approve_becomes_the_answer_and_one_outside_of_plan_mode_is_needless() {
    let lines = [
        reply(json!({"turn": 0}), vec![plan("1. do it"), ask(&["Which one?"])]),
        reply(json!({}), vec![json!({"say": "the plan"})]),
    ];
    let (provider, mut alone) = session(PermissionMode::Plan, &lines, |parts| parts.unattended = true);
    alone.ask("plan it").await;
    let said = texts(&provider);
    assert!(said[0].contains("Give the plan as your answer"), "{said:?}");
    assert!(said[1].contains("say in your answer what you have assumed"), "{said:?}");
    alone.quit().await;
    let (provider, mut free) = session(PermissionMode::Default, &lines[..], |parts| parts.unattended = true);
    free.ask("do it").await;
    assert!(texts(&provider)[0].contains("Plan mode is off"), "{:?}", texts(&provider));
    assert!(!offered(&provider, 0).contains(&"ExitPlanMode".to_owned()));
    free.quit().await;
}

fn ask(questions: &[&str]) -> Value {
    let options = json!([{"label": "A", "description": "first"}, {"label": "B", "preview": "| b |"}]);
    let one = |question: &&str| json!({"question": question, "header": "Which", "options": options});
    json!({"call": "AskUserQuestion", "input": {"questions": questions.iter().map(one).collect::<Vec<_>>()}})
}

#[tokio::test]
async fn answers_reach_the_model_and_an_interruption_cancels_the_question() {
    let (provider, mut session) = session(
        PermissionMode::Default,
        &[
            reply(json!({"turn": 0}), vec![ask(&["Which one?", "And then?"])]),
            reply(
                json!({"turn": 1}),
                vec![
                    json!({"call": "AskUserQuestion", "input": {"questions": [{"question": "One?", "options": [{"label": "A"}]}]}}),
                    ask(&["Still?"]),
                ],
            ),
            reply(json!({}), vec![json!({"say": "done"})]),
        ],
        |_| {},
    );
    session.say("choose");
    let request = asked(&mut session).await;
    assert_eq!(request.questions().map(<[_]>::len), Some(2));
    let answers = vec![
        QuestionAnswer { chosen: vec!["B".to_owned()], other: None },
        QuestionAnswer { chosen: Vec::new(), other: Some("a third way".to_owned()) },
    ];
    session.send(Command::Answer { id: request.id, answer: Answer::Choices { answers } });
    asked(&mut session).await;
    let told: Vec<String> = session
        .of(AgentId::MAIN)
        .filter_map(|kind| match kind {
            EventKind::Tool(ToolEvent::Ended { result, summary, .. }) => {
                Some(format!("{summary}|{}", result.joined_text()))
            }
            _ => None,
        })
        .collect();
    assert!(
        told[0].starts_with("B · a third way|The user has answered:\nWhich one?\n→ B\nAnd then?\n→ a third way"),
        "{told:?}"
    );
    assert!(told[1].contains("2 to 4 options"), "{told:?}");
    session.send(Command::Interrupt { children: Children::Stop });
    let result = session
        .wait(|event| match &event.kind {
            EventKind::Tool(ToolEvent::Ended { result, .. }) => Some(result.clone()),
            _ => None,
        })
        .await;
    assert!(result.is_error && result.joined_text().contains("nterrupted"), "{result:?}");
    session.ended(AgentId::MAIN).await;
    drop(provider);
    session.quit().await;
}

#[tokio::test]
async fn subagents_are_offered_no_question() {
    let (provider, mut session) = session(
        PermissionMode::Default,
        &[
            reply(json!({"task": "go", "turn": 0}), vec![agent("general-purpose", "child")]),
            reply(json!({"task": "go"}), vec![json!({"say": "noted"})]),
            reply(json!({}), vec![json!({"say": "<summary>done</summary>"})]),
        ],
        |_| {},
    );
    session.ask("go").await;
    let has = |request: usize| offered(&provider, request).contains(&"AskUserQuestion".to_owned());
    assert!(has(0) && !has(1));
    assert!(offered(&provider, 1).contains(&"TaskOutput".to_owned()), "its commands it can read");
    session.quit().await;
}

#[tokio::test]
async fn texts_that_could_not_be_read_whole_are_asked_of_nobody() {
    let ask = |question: &str, label: &str| {
        let options = json!([{"label": label}, {"label": "B"}]);
        json!({"call": "AskUserQuestion", "input": {"questions": [{"question": question, "options": options}]}})
    };
    let wide = "漢".repeat(26);
    let calls = vec![
        ask("Which?", &"x".repeat(51)),
        ask("Which?", &wide),
        ask("Which?", "two\nlines"),
        ask("Which?", "over\rwritten"),
        ask(&"x".repeat(401), "A"),
        ask(&"\n".repeat(200).replace('\n', "x\n"), "A"),
        ask(&"x".repeat(400), &format!("\u{1b}[2J{}\u{202e}", "x".repeat(45))),
    ];
    let lines = [reply(json!({"turn": 0}), calls), reply(json!({}), vec![json!({"say": "done"})])];
    let (provider, mut session) = session(PermissionMode::Default, &lines, |_| {});
    session.say("choose");
    let request = asked(&mut session).await;
    let questions = request.questions().unwrap();
    assert_eq!(questions[0].question, "x".repeat(400), "only what fits is asked: {questions:?}");
    session.send(Command::Answer { id: request.id, answer: Answer::No { comment: None } });
    session.ended(AgentId::MAIN).await;
    let texts = texts(&provider);
    let (label, question) = ("A label is longer than a line of 50", "A question is longer than 400");
    for (text, expected) in texts.iter().zip([label, label, label, label, question, question, "does not answer"]) {
        assert!(text.contains(expected), "{expected}: {texts:?}");
    }
    assert_eq!(texts.len(), 7);
    session.quit().await;
}
