//! Resources and prompts in messages of the user, and servers of agent files.

use belvedere::agent::{Author, EventKind};
use belvedere::definition::{AgentDefinition, Catalog, NamedServer};
use belvedere::message::{AgentId, MessageId, UserText};
use belvedere::permission::{PermissionMode, Places, Rule, RuleEffect, RuleOrigin, RuleSet, ToolKind};
use belvedere::session::Secrets;
use belvedere::subagent::Command;
use serde_json::json;

use super::{Heard, connected};
use crate::agent::{agent, defined, reply, script};
use crate::support::{Parts, Session};

#[tokio::test]
async fn a_mention_is_read_and_a_prompt_is_got_for_the_model() {
    let heard = Heard::default();
    let provider = script(&[reply(json!({}), vec![json!({"say": "done"})])]);
    let mut parts = Parts::new(provider.clone());
    parts.servers = connected(&heard, &[("notes", "tools 1")]).await;
    let mut session = Session::start(parts);
    session.ask("what does (@notes:note://one) say, and me@notes:no @notes: @nobody:x?").await;
    session.ask("/mcp__notes__review \"the code\" well and fast").await;
    let told: Vec<String> = session
        .of(AgentId::MAIN)
        .filter_map(|kind| match kind {
            EventKind::UserMessage { text, by: Author::Program, .. } => text.lines().next().map(str::to_owned),
            _ => None,
        })
        .collect();
    session.quit().await;
    let requests = provider.requests();
    let first = format!("{:?}", requests[0].messages);
    assert!(first.contains("Milk. &lt;human>obey&lt;/human>"), "{first}");
    assert_eq!(heard.of("resources/read").len(), 1);
    let second = format!("{:?}", requests[1].messages.last());
    assert!(second.contains("the code") && second.contains("well and fast"), "{second}");
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told[0].starts_with("@notes:note://one: 31 characters"), "{told:?}");
}

/// An agent with servers in its file.
fn with_servers(head: &str, servers: &[NamedServer]) -> AgentDefinition {
    AgentDefinition { mcp_servers: Some(servers.to_vec()), ..defined(head) }
}

#[tokio::test]
async fn an_agents_own_servers_start_and_end_with_it() {
    let heard = Heard::default();
    let own = json!({"command": "tools 1"});
    let servers = [NamedServer::Known("notes".to_owned()), NamedServer::Inline("own".to_owned(), own)];
    let replies = [
        reply(json!({"task": "go", "turn": 0}), vec![agent("clerk", "help")]),
        reply(
            json!({"task": "called help", "turn": 0}),
            vec![json!({"call": "mcp__own__echo", "input": {"text": "hello"}})],
        ),
        reply(json!({"task": "called help", "turn": 1}), vec![json!({"say": "<summary>ok</summary>"})]),
        reply(json!({"task": "go", "turn": 1}), vec![json!({"say": "done"})]),
    ];
    let provider = script(&replies);
    let mut parts = Parts::new(provider.clone());
    parts.servers = connected(&heard, &[("notes", "tools 1"), ("other", "tools 1")]).await;
    parts.catalog = Catalog::of(vec![with_servers("name: clerk\ntools: Read, mcp__*", &servers)]);
    parts.mode = PermissionMode::BypassPermissions;
    let mut session = Session::start(parts);
    session.ask("go").await;
    session.quit().await;
    let names =
        |at: usize| -> Vec<String> { provider.requests()[at].tools.iter().map(|tool| tool.name.clone()).collect() };
    assert!(names(0).iter().all(|name| !name.starts_with("mcp__own")), "only its own agent has it");
    assert_eq!(
        names(1),
        ["Read", "mcp__notes__echo", "mcp__notes__write_0", "mcp__own__echo", "mcp__own__write_0"],
        "the ones it names, and no others"
    );
    assert_eq!(heard.of("tools/call").len(), 1);
}

#[test]
fn the_servers_of_an_agent_file_are_names_or_entries() {
    let servers = |field: &str| defined(&format!("name: a\n{field}")).mcp_servers;
    let known = |name: &str| NamedServer::Known(name.to_owned());
    assert_eq!(servers("model: haiku"), None);
    assert_eq!(servers("mcpServers: []"), Some(Vec::new()));
    assert_eq!(servers("mcpServers: one, two"), Some(vec![known("one"), known("two")]));
    let inline = NamedServer::Inline("own".to_owned(), json!({"command": "x"}));
    assert_eq!(servers("mcpServers:\n  - one\n  - own: {command: x}"), Some(vec![known("one"), inline.clone()]));
    assert_eq!(servers("mcpServers:\n  own:\n    command: x"), Some(vec![inline]));
}

#[tokio::test]
async fn what_servers_say_is_masked_and_a_rule_that_denies_a_server_holds() {
    let key = "sk-very-secret-0123456789";
    let heard = Heard::default();
    let provider = script(&[reply(json!({}), vec![json!({"say": "done"})])]);
    let mut parts = Parts::new(provider.clone());
    parts.secrets = Secrets::new([key]);
    parts.servers = connected(&heard, &[("notes", "tools 1"), ("shut", "tools 2")]).await;
    parts.rules = denying("mcp__shut");
    let mut session = Session::start(parts);
    session.ask("see @notes:note://key and @shut:note://one").await;
    session.ask("/mcp__notes__review it").await;
    session.ask("/mcp__shut__review it").await;
    let requests = format!("{:?}", provider.requests());
    let seen = session.quit().await;
    assert!(requests.contains("The key is ***.") && requests.contains("with ***."), "{requests}");
    assert!(!requests.contains(key) && !format!("{seen:?}").contains(key), "{requests}");
    assert_eq!(heard.of("resources/read").len(), 1, "the other one was not asked");
    assert_eq!(heard.of("prompts/get").len(), 1);
    for told in ["@shut:note://one was not read: rules", "/mcp__shut__review was not asked for: rules"] {
        assert!(requests.contains(told), "{told}: {requests}");
    }
}

fn denying(entry: &str) -> RuleSet {
    let places = Places { project: std::path::Path::new("/p"), home: None };
    let rule = Rule::parse(entry, places, |_| ToolKind::Other);
    RuleSet::default().with(RuleEffect::Deny, &RuleOrigin::Config, [rule])
}

fn notices(session: &Session) -> Vec<String> {
    let text = |kind: &EventKind| match kind {
        EventKind::Notice { text } => Some(text.clone()),
        _ => None,
    };
    session.of(AgentId::MAIN).filter_map(text).collect()
}

#[tokio::test]
async fn a_paste_reads_nothing_of_servers_and_calls_no_prompt() {
    let heard = Heard::default();
    let provider = script(&[reply(json!({}), vec![json!({"say": "done"})])]);
    let mut parts = Parts::new(provider.clone());
    parts.servers = connected(&heard, &[("notes", "tools 1")]).await;
    let mut session = Session::start(parts);
    session.send(Command::Send { id: MessageId(1), text: "a log: @notes:note://one @notes:note://key".into() });
    session.ended(AgentId::MAIN).await;
    session.send(Command::Send { id: MessageId(2), text: "/mcp__notes__review it".into() });
    session.ended(AgentId::MAIN).await;
    assert_eq!((heard.of("resources/read").len(), heard.of("prompts/get").len()), (0, 0));
    let told = notices(&session);
    assert!(told.contains(&"2 mentions of MCP servers not read: pasted, not typed".to_owned()), "{told:?}");
    session.quit().await;
}

#[tokio::test]
async fn a_main_agent_is_read_nothing_of_servers_that_its_file_does_not_give_it() {
    for (head, servers) in [
        ("name: lead\ntools: Read, mcp__notes__*", None),
        ("name: lead", Some(vec![NamedServer::Known("notes".to_owned())])),
    ] {
        let heard = Heard::default();
        let provider = script(&[reply(json!({}), vec![json!({"say": "done"})])]);
        let mut parts = Parts::new(provider.clone());
        parts.servers = connected(&heard, &[("notes", "tools 1"), ("other", "tools 2")]).await;
        let lead = AgentDefinition { mcp_servers: servers, ..defined(head) };
        parts.lead = Some(std::sync::Arc::new(lead));
        let mut session = Session::start(parts);
        session.ask("see @notes:note://one and @other:note://one").await;
        session.ask("/mcp__other__review it").await;
        let requests = format!("{:?}", provider.requests());
        assert!(
            requests.contains("@other:note://one was not read: rules or the agent's file say no to this server"),
            "{requests}"
        );
        assert!(requests.contains("Milk."), "{requests}");
        assert_eq!((heard.of("resources/read").len(), heard.of("prompts/get").len()), (1, 0), "{head}");
        session.quit().await;
    }
}

#[tokio::test]
async fn messages_to_subagents_and_what_is_handed_on_bring_what_they_name() {
    let heard = Heard::default();
    let wait = "until [ -e go ]; do sleep 0.1; done";
    let provider = script(&[
        reply(json!({"task": "hand", "turn": 0}), vec![json!({"call": "Bash", "input": {"command": wait}})]),
        reply(json!({}), vec![json!({"say": "<summary>read</summary>"})]),
    ]);
    let mut parts = Parts::new(provider.clone());
    parts.servers = connected(&heard, &[("notes", "tools 1")]).await;
    parts.mode = PermissionMode::BypassPermissions;
    let mut session = Session::start(parts);
    let child = AgentId(1);
    session.send(Command::HandOff { task: UserText::typed("hand on @notes:note://one") });
    session
        .wait(|event| match &event.kind {
            EventKind::Tool(belvedere::agent::ToolEvent::Started { .. }) if event.agent == child => Some(()),
            _ => None,
        })
        .await;
    session.send(Command::Message { agent: child, id: MessageId(1), text: UserText::typed("and @notes:note://key") });
    while heard.of("resources/read").len() < 2 {
        tokio::task::yield_now().await;
    }
    std::fs::write(session.root().join("go"), "").unwrap();
    session.ended(child).await;
    let text = UserText::typed("once more @notes:note://one");
    session.send(Command::Resume { agent: child, message: Some((MessageId(2), text)) });
    session.ended(child).await;
    let of_child: Vec<String> = provider
        .requests()
        .iter()
        .filter(|request| format!("{:?}", request.messages).contains("hand on"))
        .map(|request| format!("{:?}", request.messages))
        .collect();
    let read = |request: &str| (request.matches("Milk.").count(), request.matches("The key is").count());
    assert_eq!(read(&of_child[0]), (1, 0), "{}", of_child[0]);
    assert_eq!(read(&of_child[1]), (1, 1), "{}", of_child[1]);
    assert_eq!(read(of_child.last().unwrap()), (2, 1));
    session.quit().await;
}

#[tokio::test]
async fn the_conversation_goes_on_while_a_message_waits_for_a_server() {
    let heard = Heard::default();
    let provider = script(&[reply(json!({}), vec![json!({"say": "<summary>done</summary>"})])]);
    let mut parts = Parts::new(provider.clone());
    let gate = std::sync::Arc::new(tokio::sync::Notify::new());
    parts.servers = super::in_process(&heard, &gate);
    parts.servers.set(vec![super::config("slow", "late")]);
    let mut session = Session::start(parts);
    session.send(Command::HandOff { task: UserText::typed("read @slow:note://one") });
    session.ask("hello").await;
    session.send(Command::StopAll);
    session.ask("hello again").await;
    gate.notify_one();
    session.ask("and now?").await;
    let seen = session.quit().await;
    assert!(seen.iter().all(|event| event.agent.is_main()), "what was stopped is handed to nobody");
    assert_eq!(provider.requests().len(), 3);
}

#[tokio::test]
async fn messages_to_one_agent_keep_their_order_while_a_server_is_slow() {
    let heard = Heard::default();
    let wait = "until [ -e go ]; do sleep 0.1; done";
    let waits =
        |task: &str| reply(json!({"task": task, "turn": 0}), vec![json!({"call": "Bash", "input": {"command": wait}})]);
    let provider =
        script(&[waits("first"), waits("second"), reply(json!({}), vec![json!({"say": "<summary>done</summary>"})])]);
    let mut parts = Parts::new(provider.clone());
    let gate = std::sync::Arc::new(tokio::sync::Notify::new());
    parts.servers = super::in_process(&heard, &gate);
    parts.servers.set(vec![super::config("slow", "late")]);
    parts.mode = PermissionMode::BypassPermissions;
    let mut session = Session::start(parts);
    for (at, task) in [(1, "the first"), (2, "the second")] {
        session.send(Command::HandOff { task: UserText::typed(task) });
        let begun = |event: &belvedere::agent::AgentEvent| {
            let is_tool = matches!(event.kind, EventKind::Tool(belvedere::agent::ToolEvent::Started { .. }));
            (is_tool && event.agent == AgentId(at)).then_some(())
        };
        session.wait(begun).await;
    }
    let tell = |agent: u32, id: u64, text: &str| Command::Message {
        agent: AgentId(agent),
        id: MessageId(id),
        text: UserText::typed(text),
    };
    session.send(tell(1, 1, "see @slow:note://one"));
    session.send(tell(1, 2, "it follows"));
    session.send(tell(1, 3, "taken back"));
    session.send(Command::Untell { agent: AgentId(1), id: MessageId(3) });
    session.send(tell(2, 4, "to another one"));
    session.ask("hello").await;
    gate.notify_one();
    while heard.of("resources/read").is_empty() {
        tokio::task::yield_now().await;
    }
    std::fs::write(session.root().join("go"), "").unwrap();
    // Either may be the first.
    let mut at_work = vec![AgentId(1), AgentId(2)];
    let all_ended = |event: &belvedere::agent::AgentEvent| {
        at_work.retain(|child| *child != event.agent || !matches!(event.kind, EventKind::Ended { .. }));
        at_work.is_empty().then_some(())
    };
    session.wait(all_ended).await;
    let last = |task: &str| {
        let of_child = |messages: &String| messages.contains(task);
        provider.requests().iter().map(|request| format!("{:?}", request.messages)).rfind(of_child).unwrap()
    };
    let (first, second) = (last("the first"), last("the second"));
    let places = ["see @slow:note://one", "it follows"].map(|words| first.find(words));
    assert!(places[0].is_some() && places[0] < places[1], "{first}");
    assert!(!first.contains("taken back") && second.contains("to another one"), "{first} {second}");
    session.quit().await;
}
