//! What the description of `Agent` says of each agent: when to use it, and the tools that it will have. And how much every
//! request of an agent holds before a word is said.

use belvedere::definition::{AgentDefinition, Catalog, MemoryScope};
use belvedere::provider::Request;
use serde_json::json;

use super::{defined, last_of_main, reply, script};
use crate::support::{Parts, Session};

/// Returns what is offered of an agent with this head: what stands behind its description.
async fn offered(definition: AgentDefinition, main: Option<&str>, max_depth: u32) -> Option<String> {
    let provider = script(&[reply(json!({}), vec![json!({"say": "done"})])]);
    let mut parts = Parts::new(provider.clone());
    parts.catalog = Catalog::of(vec![definition]);
    parts.lead = main.map(|head| std::sync::Arc::new(defined(&format!("name: main\n{head}"))));
    parts.limits.max_depth = max_depth;
    let mut session = Session::start(parts);
    session.ask("go").await;
    session.quit().await;
    let requests = provider.requests();
    let tool = requests[0].tools.iter().find(|tool| tool.name == "Agent").unwrap();
    let line = tool.description.lines().find_map(|line| line.strip_prefix("- offered: d (Tools: "));
    line.map(|tools| tools.trim_end_matches(')').to_owned())
}

async fn tools(head: &str) -> Option<String> {
    offered(defined(&format!("name: offered\n{head}")), None, 1).await
}

#[tokio::test]
async fn the_offer_names_the_tools_that_a_child_will_have() {
    for (head, expected) in [
        ("", "all"),
        ("tools: \"*\"", "all"),
        ("tools: []", "none"),
        ("tools: read_file, shell, Nonsense, mcp__notes__read", "Read, Bash"),
        ("tools: Read, Bash(git log:*, git show:*)", "Read, Bash(git log:*), Bash(git show:*"),
        ("disallowedTools: Write, Edit, Bash", "Read, Glob, Grep, LS, TodoWrite, Symbols, WebFetch"),
        ("tools: Read, Bash\ndisallowedTools: Bash(rm:*)", "Read, Bash, but not Bash(rm:*"),
        ("tools: Read, Agent", "Read"),
    ] {
        assert_eq!(tools(head).await.as_deref(), Some(expected), "{head}");
    }
    let nested = offered(defined("name: offered\ntools: Read, Agent"), None, 2).await;
    assert_eq!(nested.as_deref(), Some("Read, Agent"), "where agents may nest");
}

#[tokio::test]
async fn what_cannot_work_here_is_not_offered() {
    assert_eq!(tools("tools: Agent").await, None, "agents may not nest");
    assert_eq!(tools("tools: mcp__notes__read").await, None);
    let main = offered(defined("name: offered\ntools: Bash"), Some("tools: Read, Agent"), 1).await;
    assert_eq!(main, None, "no child has more than the agent above it");
}

#[tokio::test]
async fn the_offer_names_the_tools_for_notes() {
    let keeper = |head: &str| AgentDefinition {
        memory: Some(MemoryScope::Project),
        ..defined(&format!("name: offered\n{head}"))
    };
    let offer = offered(keeper("tools: Read, Bash"), None, 1).await;
    assert_eq!(offer.as_deref(), Some("Read, Bash, Write and Edit for its notes"));
    let offer = offered(keeper("tools: Read\ndisallowedTools: Write, Edit"), None, 1).await;
    assert_eq!(offer.as_deref(), Some("Read"));
}

/// The bytes of what each request of an agent begins with, about four to a token.
fn held(request: &Request) -> usize {
    request.system.len() + serde_json::to_string(&request.tools[..]).unwrap().len()
}

#[tokio::test]
async fn what_every_request_holds_is_small() {
    let provider = script(&[reply(json!({}), vec![json!({"say": "hello"})])]);
    let mut session = Session::start(Parts::new(provider.clone()));
    session.ask("go").await;
    let request = last_of_main(&provider);
    assert!(held(&request) <= 28_000, "{} bytes are more than 7,000 tokens", held(&request));
    session.quit().await;

    let task = "WHAT: find where a session is stored. WHERE: src. WHAT TO RETURN: path:line.";
    let explore =
        json!({"call": "Agent", "input": {"description": "Look", "prompt": task, "subagent_type": "explore"}});
    let provider = script(&[
        reply(json!({"turn": 0, "task": "go"}), vec![explore]),
        reply(json!({"task": "WHAT"}), vec![json!({"say": "<summary>in a.rs</summary>"})]),
        reply(json!({"turn": 1}), vec![json!({"say": "done"})]),
    ]);
    let mut session = Session::start(Parts::new(provider.clone()));
    session.ask("go").await;
    let requests = provider.requests();
    let child = requests.iter().find(|request| request.system.contains("# You are a subagent")).unwrap();
    assert!(held(child) <= 14_000, "{} bytes are more than 3,500 tokens", held(child));
    assert_eq!(child.system.matches("<summary>").count(), 1, "the form of a report is said once");
    session.quit().await;
}
