//! Which model answers a subagent: call, environment, definition, parent.

use std::sync::Arc;

use belvedere::agent::EventKind;
use belvedere::definition::{AgentDefinition, Catalog, Source, Tier};
use belvedere::message::AgentId;
use belvedere::provider::Price;
use belvedere::provider::scripted::Scripted;
use serde_json::json;

use super::{agent, defined, last_of_main, reply, results, script};
use crate::support::{Parts, Session};

/// Spawns one agent and returns the model it is answered by, and what the user is told on it.
async fn chosen(
    call: Option<&str>,
    environment: Option<&str>,
    definition: AgentDefinition,
) -> (String, Option<String>) {
    let mut spawn = agent("kind", "work");
    if let Some(model) = call {
        spawn["input"]["model"] = json!(model);
    }
    let provider = one_child(spawn);
    let mut parts = Parts::new(provider);
    parts.subagent_model = environment.map(str::to_owned);
    parts.catalog = Catalog::of(vec![definition]);
    let mut session = Session::start(parts);
    session.ask("go").await;
    let model = session.of(AgentId(1)).find_map(|kind| match kind {
        EventKind::Spawned(spawn) => Some(spawn.model.clone()),
        _ => None,
    });
    let note = session.of(AgentId(1)).find_map(|kind| match kind {
        EventKind::Notice { text } => Some(text.clone()),
        _ => None,
    });
    session.quit().await;
    (model.unwrap(), note)
}

fn one_child(spawn: serde_json::Value) -> Arc<Scripted> {
    script(&[reply(json!({"task": "go", "turn": 0}), vec![spawn]), reply(json!({}), vec![json!({"say": "done"})])])
}

fn of_model(model: &str) -> AgentDefinition {
    defined(&format!("name: kind\nmodel: {model}"))
}

#[tokio::test]
async fn call_then_environment_then_definition_then_parent() {
    let name = async |call, environment, definition| chosen(call, environment, definition).await.0;
    assert_eq!(name(Some("a"), Some("b"), of_model("c")).await, "a");
    assert_eq!(name(None, Some("b"), of_model("c")).await, "b");
    assert_eq!(name(None, None, of_model("c")).await, "c");
    assert_eq!(name(None, None, defined("name: kind")).await, "test");
    assert_eq!(name(Some("inherit"), Some("b"), of_model("c")).await, "test");
    assert_eq!(name(None, Some("Inherit"), of_model("c")).await, "test");
    assert_eq!(name(Some(" "), Some(""), of_model("c")).await, "c");
    assert_eq!(name(None, None, of_model("main")).await, "test");
}

#[tokio::test]
async fn a_model_that_is_not_there_is_told_and_costs_nothing() {
    for (environment, definition) in [(None, of_model("missing")), (Some("missing"), of_model("c"))] {
        let (model, note) = chosen(None, environment, definition).await;
        assert_eq!(model, "test");
        assert_eq!(note.as_deref(), Some("There is no model `missing`. Using test instead."));
    }
    let mut spawn = agent("kind", "work");
    spawn["input"]["model"] = json!("missing");
    let provider = one_child(spawn);
    let mut parts = Parts::new(provider.clone());
    parts.catalog = Catalog::of(vec![of_model("c")]);
    let mut session = Session::start(parts);
    session.ask("go").await;
    assert_eq!(results(&last_of_main(&provider))[0].joined_text(), "There is no model `missing`.");
    session.quit().await;
}

#[tokio::test]
async fn neither_a_call_nor_a_file_of_the_project_reaches_another_service() {
    let id = async |call, definition: AgentDefinition| {
        let mut spawn = agent("kind", "work");
        if let Some(model) = call {
            spawn["input"]["model"] = json!(model);
        }
        let provider = one_child(spawn);
        let mut parts = Parts::new(provider.clone());
        parts.model.price = Some(Price::FREE);
        parts.catalog = Catalog::of(vec![definition]);
        let mut session = Session::start(parts);
        session.ask("go").await;
        session.quit().await;
        provider.requests()[1].model.clone()
    };
    let of_project = |tier| AgentDefinition { source: Source { tier, path: None }, ..of_model("c") };
    assert_eq!(id(None, of_model("c")).await, "c");
    assert_eq!(id(Some("a"), of_model("c")).await, "here/a");
    assert_eq!(id(None, of_project(Tier::ProjectClaude)).await, "here/c");
    assert_eq!(id(None, of_project(Tier::ProjectKode)).await, "here/c");
}
