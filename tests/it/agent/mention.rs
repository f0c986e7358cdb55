//! Mentions of agents in what the user says.

use belvedere::agent::EventKind;
use belvedere::message::{AgentId, Message, UserText};
use belvedere::offline::{Offline, Pace};
use belvedere::subagent::mention::explain;
use serde_json::json;
use std::sync::Arc;

use super::{defined, reply, script};
use crate::support::{Parts, Session};

fn of(text: &str) -> Vec<String> {
    let names = ["explore", "explore-deep", "Code Reviewer", "v1.2"].map(str::to_owned);
    let told = explain(&UserText::typed(text), &names);
    assert!(told.starts_with(text));
    told.split("to the agent `").skip(1).filter_map(|rest| Some(rest.split_once('`')?.0.to_owned())).collect()
}

#[test]
fn names_are_found_whatever_their_case_and_blanks() {
    assert_eq!(of("@agent-explore look"), ["explore"]);
    assert_eq!(of("(@agent-EXPLORE, please)"), ["explore"]);
    assert_eq!(of("use @run-agent-code-reviewer."), ["Code Reviewer"]);
    assert_eq!(of("@agent-v1.2."), ["v1.2"]);
    assert_eq!(of("@agent-explore and @agent-code-reviewer and @agent-explore"), ["explore", "Code Reviewer"]);
}

#[test]
fn the_longest_name_wins_and_a_longer_word_is_another() {
    assert_eq!(of("@agent-explore-deep x"), ["explore-deep"]);
    for text in [
        "@agent-explorer",
        "@agent-explore-x",
        "@agent-nobody",
        "me@agent-explore",
        "@agent-",
        "@explore",
        "@",
        "@agent-é",
    ] {
        assert!(of(text).is_empty(), "{text}");
    }
}

#[tokio::test]
async fn the_model_reads_it_and_the_user_does_not() {
    let provider = script(&[reply(json!({}), vec![json!({"say": "done"})])]);
    let mut session = Session::start(Parts::new(provider.clone()));
    let said = "@agent-Explore find the tests, @agent-nobody";
    session.ask(said).await;
    let read = provider.requests()[0].messages[0].as_ref().clone();
    let reminder = "The user asks you to delegate this to the agent `explore` with the Agent tool.";
    assert_eq!(read, Message::user(format!("{said}\n\n<system-reminder>\n{reminder}\n</system-reminder>")));
    let shown = session.of(AgentId::MAIN).find_map(|kind| match kind {
        EventKind::UserMessage { text, .. } => Some(text.clone()),
        _ => None,
    });
    assert_eq!(shown.as_deref(), Some(said));
    session.quit().await;
}

#[tokio::test]
async fn an_agent_that_may_not_be_used_is_no_mention() {
    let provider = script(&[reply(json!({}), vec![json!({"say": "done"})])]);
    let mut parts = Parts::new(provider.clone());
    parts.lead = Some(Arc::new(defined("name: lead\ntools: Read, Agent(plan)")));
    let mut session = Session::start(parts);
    session.ask("@agent-explore @agent-plan").await;
    let read = format!("{:?}", provider.requests()[0].messages[0]);
    assert!(read.contains("`plan`") && !read.contains("`explore`"), "{read}");
    session.quit().await;
}

#[tokio::test]
async fn the_offline_model_delegates_to_it() {
    let mut parts = Parts::new(Arc::new(Offline::new(Pace::Instant)));
    parts.files = vec![("src/login.rs", "pub fn verify_password() {}\n".to_owned())];
    let mut session = Session::start(parts);
    session.ask("@agent-code-writer where is verify_password defined?").await;
    let spawns: Vec<(String, String)> = session
        .quit()
        .await
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::Spawned(spawn) => Some((spawn.agent_type.clone(), spawn.prompt.clone())),
            _ => None,
        })
        .collect();
    assert_eq!(spawns.len(), 1, "{spawns:?}");
    assert_eq!(spawns[0].0, "code-writer");
    assert!(spawns[0].1.contains("verify_password") && !spawns[0].1.contains("system-reminder"), "{}", spawns[0].1);
}
