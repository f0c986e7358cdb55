//! What hooks are written for, and the input of calls as they are told of it.

use std::path::Path;

use belvedere::hook::{HookHandler, HookSource, hook_tool_input};
use serde_json::{Map, Value, json};

fn read(matcher: &str) -> (Vec<HookHandler>, Vec<String>) {
    let source = HookSource { place: "settings.json".into(), is_projects: true, is_managed: false, plugin: None };
    let hook = json!({"type": "command", "command": "./check", "args": ["a b", "--x=1", "it's"]});
    HookHandler::read(&json!({"PreToolUse": [{"matcher": matcher, "hooks": [hook]}]}), &source)
}

#[test]
fn matchers_are_names_lists_or_patterns() {
    for (matcher, subject, is_meant) in [
        ("", "Bash", true),
        ("*", "Bash", true),
        ("Bash", "Bash", true),
        ("Bash", "BashOutput", false),
        ("Write|Edit", "Edit", true),
        ("Write, Edit", "Edit", true),
        ("Write|Edit", "NotebookEdit", false),
        ("Edit.*", "NotebookEdit", true),
        ("^Edit$", "NotebookEdit", false),
        ("mcp__.*", "mcp__memory__get", true),
        ("Task", "Agent", true),
        ("Agent", "Agent", true),
        ("bash", "Bash", false),
    ] {
        assert_eq!(read(matcher).0[0].covers(subject), is_meant, "{matcher:?} on {subject}");
    }
    let (handlers, said) = read("(");
    assert!(handlers[0].covers("Bash") && said.concat().contains("run for everything"), "{said:?}");
}

#[test]
fn what_is_trusted_says_where_a_word_ends() {
    assert_eq!(read("Bash").0[0].trust_text(), r"PreToolUse Bash: ./check 'a b' --x=1 'it'\''s'");
    assert_eq!(read("A|B").0[0].trust_text(), r"PreToolUse 'A|B': ./check 'a b' --x=1 'it'\''s'");
}

#[test]
fn a_guard_finds_its_field_however_it_is_spelled() {
    let told = |tool: &str, input: Value| {
        let input: Map<String, Value> = serde_json::from_value(input).unwrap();
        Value::Object(hook_tool_input(tool, &input, Path::new("/project")))
    };
    assert_eq!(told("Bash", json!({"cmd": "ls"})), json!({"command": "ls"}));
    assert_eq!(told("Bash", json!({"Command": "ls", "timeout": null})), json!({"command": "ls"}));
    assert_eq!(told("Read", json!({"path": "a.rs"})), json!({"file_path": "/project/a.rs"}));
    assert_eq!(
        told("Edit", json!({"filePath": "/x", "oldString": "a", "new-string": "b"})),
        json!({"file_path": "/x", "old_string": "a", "new_string": "b"})
    );
    assert_eq!(
        told("Agent", json!({"task": "look", "agent_type": "explore"})),
        json!({"prompt": "look", "subagent_type": "explore"})
    );
    assert_eq!(told("mcp__a__b", json!({"path": "a"})), json!({"path": "a"}));
}
