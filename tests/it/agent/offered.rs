//! What an agent is offered is what its lists let it use: every built-in agent, and lists that are odd, with every tool.

use std::sync::Arc;

use belvedere::definition::{AgentDefinition, Catalog};
use belvedere::message::ToolResult;
use belvedere::permission::{PermissionMode, Places, Rule, RuleEffect, RuleOrigin, RuleSet};
use serde_json::{Value, json};

use super::{agent, defined, reply, results, script};
use crate::support::{Parts, Session};

/// A call of every tool that passes its checks, so that the lists decide on it.
fn calls() -> Vec<(&'static str, Value)> {
    vec![
        ("Read", json!({"file_path": "a.txt"})),
        ("Write", json!({"file_path": "new.md", "content": "x"})),
        ("Edit", json!({"file_path": "a.txt", "old_string": "a", "new_string": "b"})),
        ("Bash", json!({"command": "git log"})),
        ("Glob", json!({"pattern": "*.txt"})),
        ("Grep", json!({"pattern": "a"})),
        ("LS", json!({})),
        ("TodoWrite", json!({"todos": []})),
        ("Symbols", json!({"query": "a"})),
        ("WebFetch", json!({"url": "http://127.0.0.1:1/", "prompt": "x"})),
        ("Agent", json!({"prompt": "short"})),
        ("TaskOutput", json!({"task_id": "bash_9"})),
        ("TaskStop", json!({"task_id": "bash_9"})),
        ("SendMessage", json!({"to": "nobody-9", "message": "x"})),
    ]
}

/// Has a child of this kind call every tool, and returns the names that it was offered and what it was told of each call.
async fn play(
    definition: Arc<AgentDefinition>,
    rules: RuleSet,
    max_depth: u32,
) -> (Vec<String>, Vec<(String, String)>) {
    let kind = definition.name.clone();
    let steps = calls().into_iter().map(|(name, input)| json!({"call": name, "input": input})).collect();
    let provider = script(&[
        reply(json!({"task": "go", "turn": 0}), vec![agent(&kind, "offered")]),
        reply(json!({"task": "work called offered", "turn": 0}), steps),
        reply(json!({}), vec![json!({"say": "done"})]),
    ]);
    let mut parts = Parts::new(provider.clone());
    parts.mode = PermissionMode::BypassPermissions;
    parts.limits.max_depth = max_depth;
    parts.rules = rules;
    parts.files = vec![("a.txt", "a\n".to_owned())];
    parts.catalog = Catalog::of(vec![AgentDefinition::clone(&definition)]);
    let mut session = Session::start(parts);
    session.ask("go").await;
    session.quit().await;
    let of_child = |request: &&belvedere::provider::Request| {
        format!("{:?}", request.messages.first()).contains("work called offered")
    };
    let requests = provider.requests();
    let mut own = requests.iter().filter(of_child);
    let offered = own.next().unwrap().tools.iter().map(|tool| tool.name.clone()).collect();
    let told = results(own.next().unwrap());
    let told = calls().into_iter().zip(told.iter().map(ToolResult::joined_text));
    (offered, told.map(|((name, _), told)| (name.to_owned(), told)).collect())
}

async fn check(definition: Arc<AgentDefinition>, rules: RuleSet, max_depth: u32) -> Vec<String> {
    let name = definition.name.clone();
    let (offered, told) = play(definition, rules, max_depth).await;
    for tool in &offered {
        let (_, told) = told.iter().find(|(name, _)| name == tool).unwrap_or_else(|| panic!("no call of {tool} here"));
        for refusal in ["may not use", "is denied", "There is no tool"] {
            assert!(!told.contains(refusal), "{name} is offered {tool}, and told: {told}");
        }
    }
    for (tool, told) in told.iter().filter(|(name, _)| !offered.contains(name)) {
        assert!(told.contains("There is no tool"), "{name} is not offered {tool}, and told: {told}");
    }
    offered
}

#[tokio::test]
async fn every_built_in_agent_may_use_what_it_is_offered() {
    for definition in Catalog::builtin().all().iter() {
        let runs_commands = matches!(&definition.tools, belvedere::definition::ToolsField::List(list) if list.iter().any(|tool| tool == "Bash"));
        for depth in [1, 2] {
            let offered = check(definition.clone(), RuleSet::default(), depth).await;
            assert!(!runs_commands || offered.iter().any(|tool| tool == "TaskOutput"), "{offered:?}");
        }
    }
}

#[tokio::test]
async fn lists_of_the_users_own_allow_what_comes_with_their_tools() {
    for (head, has, has_not) in [
        ("tools: Read, Bash", "TaskStop", "SendMessage"),
        ("tools: Read, Bash(git log:*)", "TaskOutput", "SendMessage"),
        ("tools: shell", "TaskOutput", "Read"),
        ("tools: Ba*", "TaskOutput", "Read"),
        ("tools: Read, Agent", "SendMessage", "Bash"),
        ("tools: Read, Agent(reader)", "TaskStop", "Bash"),
        ("tools: Read, Bash\ndisallowedTools: TaskOutput", "TaskStop", "TaskOutput"),
        ("tools: \"*\"\ndisallowedTools: TaskStop, SendMessage", "TaskOutput", "TaskStop"),
        ("tools: Read, Grep", "Grep", "TaskOutput"),
        ("tools: Read, TaskOutput", "Read", "TaskOutput"),
    ] {
        let definition = Arc::new(defined(&format!("name: odd\n{head}")));
        let offered = check(definition, RuleSet::default(), 2).await;
        assert!(offered.iter().any(|tool| tool == has), "{head}: {offered:?}");
        assert!(!offered.iter().any(|tool| tool == has_not), "{head}: {offered:?}");
    }
}

#[tokio::test]
async fn what_rules_of_the_settings_take_away_is_not_offered() {
    let root = std::path::Path::new("/");
    let rule =
        Rule::parse("TaskOutput", Places { project: root, home: None }, |_| belvedere::permission::ToolKind::Other);
    let rules = RuleSet::default().with(RuleEffect::Deny, &RuleOrigin::Config, vec![rule]);
    let offered = check(Arc::new(defined("name: odd\ntools: Read, Bash")), rules, 1).await;
    assert!(offered.iter().any(|tool| tool == "TaskStop") && !offered.iter().any(|tool| tool == "TaskOutput"));
}
