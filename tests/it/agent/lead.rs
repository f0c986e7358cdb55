//! The main agent working as a definition.

use std::sync::Arc;

use belvedere::agent::{EventKind, Status};
use belvedere::definition::{AgentDefinition, Catalog};
use belvedere::message::{AgentId, Effort, Message, ToolResult};
use belvedere::permission::PermissionMode;
use belvedere::provider::scripted::Scripted;
use belvedere::subagent::Command;
use serde_json::json;

use super::{agent, defined, reply, results, script};
use crate::support::{Parts, Session};

fn led(provider: &Arc<Scripted>, definition: AgentDefinition) -> Parts {
    let mut parts = Parts::new(provider.clone());
    parts.mode = PermissionMode::BypassPermissions;
    parts.lead = Some(Arc::new(definition));
    parts
}

#[tokio::test]
async fn its_prompt_tools_and_rules_are_the_definitions() {
    let provider = script(&[
        reply(
            json!({"turn": 0}),
            vec![
                json!({"call": "Write", "input": {"file_path": "a.txt", "content": "x"}}),
                json!({"call": "Bash", "input": {"command": "touch b.txt"}}),
                json!({"call": "Bash", "input": {"command": "echo fine"}}),
            ],
        ),
        reply(json!({}), vec![json!({"say": "done"})]),
    ]);
    let mut session = Session::start(led(&provider, defined("name: lead\ntools: Read, Bash(echo:*)")));
    session.ask("go").await;
    assert!(!session.root().join("a.txt").exists() && !session.root().join("b.txt").exists());
    session.quit().await;
    let request = provider.requests().pop().unwrap();
    let tools: Vec<&str> = request.tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(tools, ["Read", "Bash", "TaskOutput", "TaskStop"], "its commands it can read and stop");
    assert!(request.system.starts_with("You work.\n\n# Safety"), "{}", request.system);
    assert!(request.system.contains("Working directory: `/") && !request.system.contains("# Delegation"));
    assert!(!request.system.contains("You are Belvedere"));
    let failed: Vec<bool> = results(&request).iter().map(|result| result.is_error).collect();
    assert_eq!(failed, [true, true, false]);
}

#[tokio::test]
async fn what_it_hands_on_is_what_it_has() {
    let provider = script(&[
        reply(json!({"task": "go", "turn": 0}), vec![agent("writer", "writing"), agent("other", "othering")]),
        reply(
            json!({"task": "work called writing", "turn": 0}),
            vec![json!({"call": "Write", "input": {"file_path": "a.txt", "content": "x"}})],
        ),
        reply(json!({}), vec![json!({"say": "done"})]),
    ]);
    let mut parts = led(&provider, defined("name: lead\ntools: Read, Agent(writer)"));
    parts.catalog = Catalog::of(vec![defined("name: writer"), defined("name: other")]);
    let mut session = Session::start(parts);
    session.ask("go").await;
    assert!(!session.root().join("a.txt").exists());
    session.quit().await;
    let last = provider.requests().pop().unwrap();
    assert!(last.system.contains("# Delegation"), "{}", last.system);
    let told: Vec<String> = results(&last).iter().map(ToolResult::joined_text).collect();
    assert!(told[1].contains("This agent may not use `other`. Available: writer."), "{told:?}");
}

#[tokio::test]
async fn its_mode_effort_and_turns_hold() {
    let write = json!({"call": "Write", "input": {"file_path": "a.txt", "content": "x"}});
    let provider = script(&[
        reply(json!({"turn": 0}), vec![write.clone()]),
        reply(json!({"last": "limit of this run"}), vec![json!({"say": "cut"})]),
        reply(json!({}), vec![write]),
    ]);
    let mut lead = defined("name: lead\npermissionMode: plan\nmaxTurns: 1");
    lead.effort = Some(Effort::Low);
    let mut session = Session::start(led(&provider, lead));
    let outcome = session.ask("go").await;
    assert_eq!(outcome.status, Status::TurnLimit);
    session.send(Command::SetMode(PermissionMode::BypassPermissions));
    session.ask("again").await;
    assert!(!session.root().join("a.txt").exists());
    session.quit().await;
}

#[tokio::test]
async fn its_first_words_come_before_the_first_message() {
    let provider = script(&[reply(json!({}), vec![json!({"say": "done"})])]);
    let mut lead = defined("name: lead");
    lead.initial_prompt = Some("Begin like this.\n".to_owned());
    let mut session = Session::start(led(&provider, lead));
    session.ask("go").await;
    session.ask("more").await;
    let said = |at: usize| {
        let request = provider.requests()[at].clone();
        let users = request.messages.iter().filter_map(|message| match message.as_ref() {
            Message::User { text } => Some(text.clone()),
            _ => None,
        });
        users.collect::<Vec<_>>()
    };
    assert_eq!(said(1), ["Begin like this.\n\ngo", "more"]);
    let shown: Vec<String> = session
        .of(AgentId::MAIN)
        .filter_map(|kind| match kind {
            EventKind::UserMessage { text, .. } => Some(text.clone()),
            _ => None,
        })
        .collect();
    assert_eq!(shown, ["go", "more"]);
    session.quit().await;
}

#[tokio::test]
async fn one_of_which_no_tool_is_left_says_so() {
    let provider = script(&[reply(json!({}), vec![json!({"say": "done"})])]);
    let mut session = Session::start(led(&provider, defined("name: lead\ntools: Browser, mcp__x__*")));
    let outcome = session.ask("go").await;
    assert_eq!(outcome.status, Status::Failed);
    let reason = outcome.reason.unwrap();
    assert!(reason.contains("Browser is not a tool, mcp__x__* is not a tool"), "{reason}");
    session.quit().await;
}
