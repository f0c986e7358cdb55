//! The loop and the tree, driven as their callers drive them.

use std::sync::Arc;

use belvedere::definition::{AgentDefinition, Source, Tier, parse};
use belvedere::message::{Message, ToolResult};
use belvedere::provider::Request;
use belvedere::provider::scripted::Scripted;
use serde_json::json;

mod acts;
mod answers;
mod asking_user;
mod border;
mod budget;
mod commands;
mod context;
mod day;
mod delegation;
mod depth;
mod draft;
mod effort;
mod fallback;
mod hook_answers;
mod hook_questions;
mod hook_words;
pub(crate) mod hooks;
mod isolation;
mod lasting;
mod lead;
mod ledger;
mod loop_limits;
mod memory;
mod mention;
mod models;
mod offer;
mod offered;
mod pictures;
mod rate_limit;
mod reaching;
mod reload;
mod report;
mod restricted;
mod rewind;
mod sandbox;
mod scopes;
mod secrets;
mod silence;
mod steering;
mod stops;
mod strangers;
mod transcript;
mod turn;
mod web_search;
mod wire;
mod writers;

/// A task long enough to be accepted.
fn task(name: &str) -> String {
    format!("WHAT: the work called {name}. WHERE: here. RETURN: a word.")
}

fn delegate(names: &[&str]) -> Vec<serde_json::Value> {
    names
        .iter()
        .map(|name| json!({"call": "Agent", "input": {"description": name, "subagent_type": "explore", "prompt": task(name)}}))
        .collect()
}

pub(crate) fn script(lines: &[serde_json::Value]) -> Arc<Scripted> {
    let text: Vec<String> = lines.iter().map(ToString::to_string).collect();
    Arc::new(Scripted::from_jsonl(&text.join("\n")).unwrap())
}

#[expect(clippy::needless_pass_by_value, reason = "json! takes values")]
pub(crate) fn reply(when: serde_json::Value, steps: Vec<serde_json::Value>) -> serde_json::Value {
    json!({"when": when, "steps": steps})
}

pub(crate) fn results(request: &Request) -> Vec<ToolResult> {
    request
        .messages
        .iter()
        .filter_map(|message| match message.as_ref() {
            Message::ToolResults { results } => Some(results.clone()),
            _ => None,
        })
        .flatten()
        .collect()
}

pub(crate) fn last_of_main(provider: &Scripted) -> Request {
    let is_main = |request: &Request| request.tools.iter().any(|tool| tool.name == "Agent");
    provider.requests().into_iter().rfind(is_main).unwrap()
}

/// A definition from the head of an agent file.
pub(crate) fn defined(head: &str) -> AgentDefinition {
    let text = format!("---\n{head}\ndescription: d\n---\nYou work.");
    parse(&text, Source { tier: Tier::UserClaude, path: None }).definition.unwrap()
}

/// A call of `Agent`.
pub(crate) fn agent(kind: &str, name: &str) -> serde_json::Value {
    json!({"call": "Agent", "input": {"description": name, "subagent_type": kind, "prompt": task(name)}})
}
