//! Drafting an agent through the real loop: a subagent like any other, of which no conversation hears.

use std::sync::Arc;

use belvedere::agent::{EventKind, Spawn, Status, TurnEvent};
use belvedere::definition::{AgentDraft, Catalog, Source, Tier, parse};
use belvedere::message::AgentId;
use belvedere::offline::{Offline, Pace};
use belvedere::permission::PermissionMode;
use belvedere::provider::scripted::Scripted;
use belvedere::subagent::{Command, DRAFT_CALL, TreeLimits, drafting_agent};
use futures::FutureExt as _;
use serde_json::json;

use crate::support::{Parts, Session};

fn script(lines: &[serde_json::Value]) -> Arc<Scripted> {
    let text: Vec<String> = lines.iter().map(ToString::to_string).collect();
    Arc::new(Scripted::from_jsonl(&text.join("\n")).unwrap())
}

fn draft(wish: &str) -> Command {
    Command::Draft { wish: wish.to_owned() }
}

async fn spawned(session: &mut Session) -> (AgentId, Spawn) {
    let spawn = |event: &belvedere::agent::AgentEvent| match &event.kind {
        EventKind::Spawned(spawn) => Some((event.agent, spawn.clone())),
        _ => None,
    };
    session.wait(spawn).await
}

const FILE: &str = "---\nname: canary-maker\ndescription: Use it for CANARY-report.\n---\nYou sing.";

#[test]
fn the_agent_that_drafts_is_faultless_and_not_on_offer() {
    let text = include_str!("../../../assets/prompts/draft-agent.md");
    let parsed = parse(text, Source { tier: Tier::BuiltIn, path: None });
    assert_eq!(parsed.diagnostics, []);
    let agent = drafting_agent().unwrap();
    assert_eq!(agent.permission_mode, Some(PermissionMode::Plan));
    assert!(Catalog::builtin().get(&agent.name).is_none());
}

#[tokio::test]
async fn a_draft_is_a_visible_subagent_that_the_conversation_never_hears_of() {
    let provider = script(&[
        json!({"when": {"task": "for this request", "turn": 0}, "steps": [{"call": "LS", "input": {"path": "."}}]}),
        json!({"when": {"task": "for this request", "turn": 1}, "steps": [{"say": format!("<summary>CANARY</summary><answer>\n{FILE}\n</answer>")}]}),
        json!({"when": {"task": "hello"}, "steps": [{"say": "hi"}]}),
    ]);
    let mut session = Session::start(Parts::new(provider.clone()));
    session.ask("hello").await;
    session.send(draft("sings"));
    let (id, spawn) = spawned(&mut session).await;
    assert_eq!(
        (spawn.parent, spawn.call_id.as_str(), spawn.agent_type.as_str()),
        (AgentId::MAIN, DRAFT_CALL, "draft-agent")
    );
    let mut tools = spawn.tools.clone();
    tools.sort_unstable();
    assert_eq!(tools, ["Glob", "Grep", "LS", "Read"], "it only reads");
    assert!(spawn.prompt.contains("sings"));
    let outcome = session.ended(id).await;
    assert_eq!((outcome.status, outcome.tool_calls), (Status::Completed, 1));
    assert_eq!(AgentDraft::from_answer(&outcome.text).unwrap().name, "canary-maker");
    session.ask("hello again").await;
    let of_main = |request: &belvedere::provider::Request| request.tools.iter().any(|tool| tool.name == "Agent");
    let after = provider.requests().into_iter().rfind(of_main).unwrap();
    let heard = format!("{after:?}");
    assert!(!heard.contains("CANARY") && !heard.contains("draft-agent") && !heard.contains("sings"), "{heard}");
    session.quit().await;
}

#[tokio::test]
async fn a_draft_is_stopped_like_any_other() {
    let provider =
        script(&[json!({"when": {"task": "for this request"}, "steps": [{"say": "half"}, {"stall": true}]})]);
    let mut session = Session::start(Parts::new(provider));
    session.send(draft("stalls"));
    let (id, _) = spawned(&mut session).await;
    session.wait(|event| matches!(&event.kind, EventKind::Turn(TurnEvent::Text { .. })).then_some(())).await;
    session.send(Command::Stop { agent: id });
    assert_eq!(session.ended(id).await.status, Status::Cancelled);
    session.quit().await;
}

#[tokio::test]
async fn a_draft_needs_no_leave_to_delegate() {
    let provider = script(&[json!({"when": {"task": "for this request"}, "steps": [{"say": FILE}]})]);
    let limits = TreeLimits { max_depth: 0, max_per_request: 0, ..TreeLimits::default() };
    let mut session = Session::start(Parts { limits, ..Parts::new(provider) });
    session.send(draft("anything"));
    let (id, _) = spawned(&mut session).await;
    assert_eq!(session.ended(id).await.status, Status::Completed);
    session.quit().await;
}

#[tokio::test]
async fn a_draft_without_a_model_ends_with_the_reason() {
    let connecting = async { Err("There is no key.".to_owned()) }.boxed().shared();
    let mut session = Session::start(Parts { connecting: Some(connecting), ..Parts::new(script(&[])) });
    session.send(draft("anything"));
    let (id, _) = spawned(&mut session).await;
    let outcome = session.ended(id).await;
    assert_eq!((outcome.status, outcome.reason.as_deref()), (Status::Failed, Some("There is no key.")));
    session.quit().await;
}

#[tokio::test]
async fn a_draft_that_still_waits_for_a_model_keeps_nobody_from_quitting() {
    let connecting = std::future::pending().boxed().shared();
    let session = Session::start(Parts { connecting: Some(connecting), ..Parts::new(script(&[])) });
    session.send(draft("anything"));
    session.quit().await;
}

#[tokio::test]
async fn the_offline_model_leaves_drafts_to_a_language_model() {
    let mut session = Session::start(Parts::new(Arc::new(Offline::new(Pace::Instant))));
    session.send(draft("reviews the SQL migrations"));
    let (id, _) = spawned(&mut session).await;
    let outcome = session.ended(id).await;
    assert_eq!(outcome.status, Status::Failed);
    let reason = outcome.reason.unwrap_or_default();
    assert!(reason.contains("a draft needs a language model") && reason.contains("ANTHROPIC_API_KEY"), "{reason}");
    session.quit().await;
}
