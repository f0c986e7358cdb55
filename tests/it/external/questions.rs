//! Who is asked: before a program is started, and before it makes a call that it asks about.

use belvedere::agent::{EventKind, Status, ToolEvent};
use belvedere::message::{AgentId, ToolResult};
use belvedere::permission::{
    AccessKind, Answer, ApprovalRequest, PermissionMode, Places, Rule, RuleEffect, RuleOrigin, RuleSet, ToolKind,
};
use belvedere::subagent::Command;

use super::{ONE, Programs, session_of};
use crate::agent::{last_of_main, results};
use crate::support::{Parts, Session};

async fn asked(session: &mut Session, agent: AgentId) -> ApprovalRequest {
    session
        .wait(|event| match &event.kind {
            EventKind::Tool(ToolEvent::ApprovalRequested { request }) if event.agent == agent => Some(request.clone()),
            _ => None,
        })
        .await
}

fn rules(effect: RuleEffect, text: &str) -> RuleSet {
    let places = Places { project: std::path::Path::new("/"), home: None };
    let kind = |tool: &str| if tool == "Bash" { ToolKind::Execute } else { ToolKind::Other };
    RuleSet::default().with(effect, &RuleOrigin::Flag, [Rule::parse(text, places, kind)])
}

fn asking(parts: &mut Parts) {
    parts.mode = PermissionMode::Default;
}

#[tokio::test]
async fn the_program_is_asked_about_before_it_is_started() {
    let programs = Programs::default();
    let (mut session, provider) = session_of("plain", &programs, asking);
    session.say("go");
    let request = asked(&mut session, AgentId::MAIN).await;
    assert!(
        matches!(&request.access.kind, AccessKind::Start { agent, program } if agent == "other" && program == "program plain")
    );
    assert_eq!(request.act(), "program plain");
    assert_eq!(request.grant.map(|grant| grant.to_string()).as_deref(), Some("Agent(other)"));
    session.send(Command::Answer { id: request.id, answer: Answer::No { comment: None } });
    session.ended(AgentId::MAIN).await;
    let result = results(&last_of_main(&provider)).iter().map(ToolResult::joined_text).collect::<String>();
    assert!(result.contains("The user said no"), "{result}");
    assert!(programs.told("initialize").is_empty());
    session.quit().await;
}

#[tokio::test]
async fn a_rule_for_the_agent_lets_it_start() {
    let programs = Programs::default();
    let (mut session, _) = session_of("plain", &programs, |parts| {
        asking(parts);
        parts.rules = rules(RuleEffect::Allow, "Agent(other)");
    });
    session.say("go");
    assert_eq!(session.ended(ONE).await.status, Status::Completed);
    session.quit().await;
}

#[tokio::test]
async fn plan_mode_starts_no_program() {
    let programs = Programs::default();
    let (mut session, provider) = session_of("plain", &programs, |parts| parts.mode = PermissionMode::Plan);
    session.ask("go").await;
    let result = results(&last_of_main(&provider)).iter().map(ToolResult::joined_text).collect::<String>();
    assert!(result.contains("Plan mode: this agent is another program"), "{result}");
    assert!(programs.told("initialize").is_empty());
    session.quit().await;
}

/// Has the program ask whether it may run something. Returns the question, and what it made of the answer.
async fn question(answer: Answer) -> (ApprovalRequest, String) {
    let programs = Programs::default();
    let (mut session, _) = session_of("asks", &programs, |parts| {
        asking(parts);
        parts.rules = rules(RuleEffect::Allow, "Agent(other)");
    });
    session.say("go");
    let request = asked(&mut session, ONE).await;
    session.send(Command::Answer { id: request.id.clone(), answer });
    let outcome = session.ended(ONE).await;
    session.quit().await;
    (request, outcome.text)
}

#[tokio::test]
async fn a_yes_allows_this_one_call() {
    let (request, said) = question(Answer::Always).await;
    assert!(matches!(&request.access.kind, AccessKind::Execute { command, .. } if command == "true"), "{request:?}");
    assert!(said.contains(r#""optionId":"y""#), "{said}");
}

#[tokio::test]
async fn a_no_is_a_no() {
    let (_, said) = question(Answer::No { comment: None }).await;
    assert!(said.contains(r#""optionId":"n""#), "{said}");
}

#[tokio::test]
async fn a_rule_that_denies_answers_for_the_user() {
    let programs = Programs::default();
    let (mut session, _) = session_of("asks", &programs, |parts| parts.rules = rules(RuleEffect::Deny, "Bash(true)"));
    session.say("go");
    let outcome = session.ended(ONE).await;
    assert!(outcome.text.contains(r#""optionId":"n""#), "{}", outcome.text);
    session.quit().await;
}

#[tokio::test]
async fn a_stop_withdraws_the_question() {
    let programs = Programs::default();
    let (mut session, _) = session_of("asks", &programs, |parts| {
        asking(parts);
        parts.rules = rules(RuleEffect::Allow, "Agent(other)");
    });
    session.say("go");
    asked(&mut session, ONE).await;
    session.send(Command::Stop { agent: ONE });
    assert_eq!(session.ended(ONE).await.status, Status::Cancelled);
    let told = programs.told.lock().unwrap().clone();
    let answer = told.iter().find(|message| message["id"] == 77).expect("no answer");
    assert_eq!(answer["result"]["outcome"]["outcome"], "cancelled");
    session.quit().await;
}
