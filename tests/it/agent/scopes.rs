//! Scopes in lists of tools, through the real loop.

use belvedere::definition::Catalog;
use belvedere::message::ToolResult;
use belvedere::permission::PermissionMode;
use serde_json::{Value, json};

use super::{agent, defined, reply, results, script};
use crate::support::{Parts, Session};

/// Lets an agent with this head make calls in a project with a few files; returns its results.
async fn results_of(head: &str, calls: Vec<Value>) -> (Vec<ToolResult>, Session) {
    let provider = script(&[
        reply(json!({"task": "go", "turn": 0}), vec![agent("scoped", "scoping")]),
        reply(json!({"task": "work called scoping", "turn": 0}), calls),
        reply(json!({}), vec![json!({"say": "done"})]),
    ]);
    let mut parts = Parts::new(provider.clone());
    parts.mode = PermissionMode::BypassPermissions;
    parts.catalog = Catalog::of(vec![defined(&format!("name: scoped\n{head}"))]);
    parts.files = vec![("src/a.rs", "fn a() {}\n".to_owned()), ("secrets/key", "canary\n".to_owned())];
    let mut session = Session::start(parts);
    session.ask("go").await;
    let last = provider
        .requests()
        .into_iter()
        .rfind(|request| format!("{:?}", request.messages.first()).contains("called scoping."));
    (results(&last.unwrap()), session)
}

fn read(path: &str) -> Value {
    json!({"call": "Read", "input": {"file_path": path}})
}

fn bash(command: &str) -> Value {
    json!({"call": "Bash", "input": {"command": command}})
}

#[tokio::test]
async fn a_scope_narrows_and_says_to_what() {
    let calls = vec![
        read("src/a.rs"),
        read("secrets/key"),
        read("src/../secrets/key"),
        bash("echo one"),
        bash("echo two; echo x"),
    ];
    let (results, session) = results_of("tools: Read(src/**), Bash(echo:*), WebFetch(domain:x)", calls).await;
    assert!(!results[0].is_error && !results[3].is_error, "{results:#?}");
    for (at, scope) in [(1, "`Read(src/**)`"), (2, "`Read(src/**)`"), (4, "`Bash(echo:*)`")] {
        let text = results[at].joined_text();
        assert!(results[at].is_error && text.contains(scope) && !text.contains("canary"), "{text}");
    }
    session.quit().await;
}

#[tokio::test]
async fn a_link_does_not_lead_out_of_a_scope() {
    let provider = script(&[
        reply(json!({"task": "go", "turn": 0}), vec![agent("scoped", "scoping")]),
        reply(json!({"task": "work called scoping", "turn": 0}), vec![read("src/link")]),
        reply(json!({}), vec![json!({"say": "done"})]),
    ]);
    let mut parts = Parts::new(provider.clone());
    parts.catalog = Catalog::of(vec![defined("name: scoped\ntools: Read(src/**)")]);
    parts.files = vec![("src/a.rs", String::new()), ("secrets/key", "canary\n".to_owned())];
    let mut session = Session::start(parts);
    std::os::unix::fs::symlink(session.root().join("secrets/key"), session.root().join("src/link")).unwrap();
    session.ask("go").await;
    assert!(!format!("{:?}", provider.requests()).contains("canary"));
    session.quit().await;
}

#[tokio::test]
async fn what_is_forbidden_stays_so_in_every_mode() {
    let calls = vec![
        bash("echo one"),
        bash("true && rm src/a.rs"),
        bash("x=rm; $x src/a.rs"),
        bash("sh -c 'rm src/a.rs'"),
        read("secrets/key"),
        json!({"call": "Grep", "input": {"pattern": "canary", "output_mode": "content"}}),
        json!({"call": "Grep", "input": {"pattern": "fn", "path": "src", "output_mode": "content"}}),
        json!({"call": "Write", "input": {"file_path": "docs/x.md", "content": "x"}}),
    ];
    let head = "disallowedTools: Bash(rm:*), Read(secrets/**), Edit(docs/**)\npermissionMode: bypassPermissions";
    let (results, session) = results_of(head, calls).await;
    let failed: Vec<bool> = results.iter().map(|result| result.is_error).collect();
    assert_eq!(failed, [false, true, true, true, true, true, false, true], "{results:#?}");
    assert!(session.root().join("src/a.rs").exists());
    assert!(results[2].joined_text().contains("this line might do it"), "{}", results[2].joined_text());
    assert!(!format!("{results:?}").contains("canary\\n"));
    session.quit().await;
}

#[tokio::test]
async fn an_entry_without_a_scope_beats_those_with_one_and_takes_a_tool_away_whole() {
    let (results, session) =
        results_of("tools: Read(src/**), Read\ndisallowedTools: Bash", vec![read("secrets/key"), bash("ls")]).await;
    assert!(results[0].joined_text().contains("canary"));
    assert!(results[1].joined_text().contains("There is no tool `Bash`"), "{}", results[1].joined_text());
    session.quit().await;
}

#[tokio::test]
async fn the_architect_writes_documents_and_no_code() {
    let write = |path: &str| json!({"call": "Write", "input": {"file_path": path, "content": "x"}});
    let calls = vec![write("docs/design.md"), write("src/new.rs"), write("Cargo.toml")];
    let provider = script(&[
        reply(json!({"task": "go", "turn": 0}), vec![agent("architect", "designing")]),
        reply(json!({"task": "work called designing", "turn": 0}), calls),
        reply(json!({}), vec![json!({"say": "done"})]),
    ]);
    let mut parts = Parts::new(provider.clone());
    parts.mode = PermissionMode::BypassPermissions;
    let mut session = Session::start(parts);
    session.ask("go").await;
    let written: Vec<bool> = results(&provider.requests()[2]).iter().map(|result| !result.is_error).collect();
    assert_eq!(written, [true, false, false]);
    session.quit().await;
}
