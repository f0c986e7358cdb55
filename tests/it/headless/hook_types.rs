//! Hooks of other types than `command` with the real binary: addresses and tools of servers, and where each runs.

use std::net::TcpListener;

use serde_json::{Value, json};

use super::plain::Session;
use super::{Bench, text};

/// A server whose tool `judge` denies what speaks of touching, `fail` fails, `text` says something, and `hang` never answers.
const SERVER: &str = r#"#!/usr/bin/env bash
answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$1" "$2"; }
says() { answer "$1" "{\"content\":[{\"type\":\"text\",\"text\":\"$2\"}],\"isError\":$3}"; }
while IFS= read -r line; do
  id=$(sed -n 's/.*"id":\([0-9]*\).*/\1/p' <<<"$line")
  case $line in
    *'"method":"initialize"'*)
      answer "$id" '{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}' ;;
    *'"method":"tools/list"'*)
      answer "$id" '{"tools":[{"name":"judge","inputSchema":{"type":"object"}}]}' ;;
    *'"method":"tools/call"'*)
      printf '%s\n' "$line" >> "$HOME/calls.txt"
      case $line in
        *'"name":"fail"'*) says "$id" 'out of order' true ;;
        *'"name":"hang"'*) ;;
        *'"name":"text"'*) says "$id" 'I have seen it.' false ;;
        *touch*) says "$id" '{\"decision\":\"block\",\"reason\":\"no touching\"}' false ;;
        *) says "$id" '{}' false ;;
      esac ;;
  esac
done
"#;

fn touching(bench: &Bench, hook: &Value, more: &Value) -> (Option<i32>, bool, String) {
    let mut settings = json!({"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [hook]}]}});
    settings.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    bench.at_home(".claude/settings.json", &settings.to_string());
    let args = ["-p", "run `touch made.txt`", "--model", "offline", "--allowedTools", "Bash(touch:*)"];
    let output = bench.command(&[&args[..], &["--output-format", "events"]].concat()).output().unwrap();
    let made = bench.project.path().join("made.txt");
    let is_made = made.exists();
    if is_made {
        std::fs::remove_file(made).unwrap();
    }
    (output.status.code(), is_made, text(&output.stdout) + &text(&output.stderr))
}

#[test]
fn no_address_is_asked_that_settings_do_not_allow_and_a_guard_with_one_asks() {
    let bench = Bench::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let url = format!("http://{}/judge", listener.local_addr().unwrap());
    for (list, more, is_made) in [
        (json!(["https://hooks.example.com/*"]), json!({}), false),
        (json!([]), json!({}), false),
        (json!(["http://evil.example/http://127.0.0.1*"]), json!({}), false),
        (json!([]), json!({"onFailure": "block"}), false),
        (json!([]), json!({"onFailure": "continue"}), true),
    ] {
        let mut hook = json!({"type": "http", "url": url});
        hook.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let (status, was_made, said) = touching(&bench, &hook, &json!({"allowedHttpHookUrls": list}));
        assert_eq!((status, was_made), (Some(if is_made { 0 } else { 4 }), is_made), "{list} {more}: {said}");
        assert!(said.contains("`allowedHttpHookUrls` does not allow"), "{said}");
        assert!(listener.accept().is_err(), "nobody has called");
    }
    // A project's list narrows too, before it is trusted.
    let hook = json!({"type": "http", "url": url});
    bench.file(".claude/settings.json", r#"{"allowedHttpHookUrls": ["https://x.example/*"]}"#);
    let (status, was_made, said) = touching(&bench, &hook, &json!({}));
    assert_eq!((status, was_made), (Some(4), false), "{said}");
    assert!(listener.accept().is_err(), "nobody has called");
}

#[test]
fn a_tool_of_a_server_judges_as_a_command_does() {
    let bench = Bench::new();
    bench.at_home("server.sh", SERVER);
    let server = bench.home.path().join("server.sh");
    bench.at_home(
        ".claude.json",
        &json!({"mcpServers": {"guards": {"command": "bash", "args": [server], "env": {"HOME": bench.home.path()}}}})
            .to_string(),
    );
    let input = json!({"command": "${tool_input.command}", "deep": [{"all": "${tool_input}"}], "text": "at ${cwd}: ${tool_name}"});
    let hook = |tool: &str, more: Value| {
        let mut hook = json!({"type": "mcp_tool", "server": "guards", "tool": tool, "input": input, "timeout": 20});
        hook.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        hook
    };
    let (status, is_made, said) = touching(&bench, &hook("judge", json!({})), &json!({}));
    assert_eq!((status, is_made), (Some(4), false), "{said}");
    assert!(said.contains("blocked by hook: no touching"), "{said}");
    let calls = std::fs::read_to_string(bench.home.path().join("calls.txt")).unwrap();
    let call: Value = serde_json::from_str(calls.lines().next().unwrap()).unwrap();
    let args = &call["params"]["arguments"];
    assert_eq!(args["command"], "touch made.txt");
    assert_eq!(args["deep"][0]["all"]["command"], "touch made.txt", "a field alone stays what it is: {args}");
    assert!(args["text"].as_str().unwrap().ends_with(": Bash"), "{args}");
    for (tool, more, is_made, words) in [
        ("text", json!({}), true, ""),
        ("fail", json!({}), false, "out of order"),
        ("hang", json!({"timeout": 1}), false, "has not answered within 1 s"),
        ("hang", json!({"timeout": 1, "onFailure": "continue"}), true, "has not answered within 1 s"),
        ("judge", json!({"server": "other"}), false, "there is no MCP server `other`"),
        ("judge", json!({"input": {"path": "${tool_input.file_path}"}}), false, "needs `tool_input.file_path`"),
        (
            "judge",
            json!({"input": {"path": "fine"}, "async": true}),
            true,
            "`async` of a hook of PreToolUse has no effect",
        ),
    ] {
        let (status, was_made, said) = touching(&bench, &hook(tool, more.clone()), &json!({}));
        assert_eq!((status, was_made), (Some(if is_made { 0 } else { 4 }), is_made), "{tool} {more}: {said}");
        assert!(said.contains(words), "{tool} {more}: {said}");
    }
}

#[test]
fn the_list_of_hooks_says_where_each_runs() {
    let bench = Bench::new();
    let hooks = json!([
        {"type": "command", "command": "true"},
        {"type": "command", "command": "npx prettier --check ."},
        {"type": "command", "command": "echo x", "outside": false},
        {"type": "http", "url": "https://user:pw@hooks.example.com:9/x"},
        {"type": "prompt", "prompt": "Is it fine?"},
        {"type": "agent", "prompt": "Is it fine?", "model": "opus"},
        {"type": "mcp_tool", "server": "guards", "tool": "judge"},
    ]);
    bench.at_home(".claude/settings.json", &json!({"hooks": {"PreToolUse": [{"hooks": hooks}]}}).to_string());
    let mut session = Session::offline(&bench);
    session.line("/hooks");
    while session.until_any(&["still looking for hooks", "judge of guards"]).contains("still looking") {
        session.line("/hooks");
    }
    session.line("/quit");
    let (_, out) = session.end();
    let line = |command: &str| {
        let line = out.lines().find(|line| line.trim_start().starts_with(&format!("PreToolUse  {command}")));
        line.unwrap_or_else(|| panic!("{command}: {out}")).to_owned()
    };
    assert!(line("true").contains("  outside the sandbox  "), "{out}");
    for inside in ["npx prettier", "echo x"] {
        let line = line(inside);
        assert!(
            line.contains("  outside: there is no sandbox  ") || line.contains("  in the sandbox, if there"),
            "{line}"
        );
    }
    assert!(line("POST https://").contains("  at hooks.example.com  "), "{out}");
    let asking: Vec<&str> = out.lines().filter(|line| line.contains("PreToolUse  'Is it fine?'")).collect();
    assert!(
        asking[0].contains("  by a model (a small one)  ") && asking[1].contains("  by an agent (opus)  "),
        "{out}"
    );
    assert!(line("judge of guards").contains("  by the MCP server guards  "), "{out}");
}

#[test]
fn hooks_of_the_user_get_the_users_environment_and_a_projects_does_not() {
    let bench = Bench::new();
    let hook = |file: &str, more: &Value| {
        let mut hook = json!({"type": "command", "command": format!("env > \"$HOME/{file}\"")});
        hook.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({"hooks": {"UserPromptSubmit": [{"hooks": [hook]}]}})
    };
    bench.at_home(".claude/settings.json", &hook("mine.txt", &json!({})).to_string());
    bench.file(".claude/settings.json", &hook("theirs.txt", &json!({"outside": true})).to_string());
    let mut command = bench.command(&["-p", "hello", "--model", "offline", "--trust"]);
    command.envs([
        ("MY_WEBHOOK", "https://hooks.example.com/x"),
        ("SSH_AUTH_SOCK", "/tmp/agent.sock"),
        ("OPENAI_API_KEY", "sk-canary"),
        ("ANTHROPIC_API_KEY", "sk-canary"),
        ("BELVEDERE_UI_THEME", "dark"),
    ]);
    let output = command.output().unwrap();
    let read =
        |file: &str| std::fs::read_to_string(bench.home.path().join(file)).unwrap_or_else(|_| panic!("{output:?}"));
    let (mine, theirs) = (read("mine.txt"), read("theirs.txt"));
    for line in ["MY_WEBHOOK=https://hooks.example.com/x", "SSH_AUTH_SOCK=/tmp/agent.sock", "CLAUDECODE=1"] {
        assert!(mine.lines().any(|known| known == line), "{line}: {mine}");
    }
    assert!(theirs.contains("CLAUDECODE=1") && !theirs.contains("MY_WEBHOOK"), "{theirs}");
    for text in [&mine, &theirs] {
        assert!(!text.contains("sk-canary") && !text.contains("BELVEDERE_UI_THEME"), "{text}");
    }
}
