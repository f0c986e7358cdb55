//! Hooks and servers that a project brings: what the user is shown of one means that one and no other.

use std::time::Duration;

use belvedere::hook::{HookCommand, HookHandler, HookSource, OnFailure};
use belvedere::mcp::{McpSources, McpWay, server_prefix, wire_name};
use belvedere::message::sanitize_line;
use serde_json::{Value, json};

/// Panics if two things that differ are shown alike.
fn assert_told_apart<T: PartialEq + std::fmt::Debug>(shown: &[(String, T)]) {
    for (at, (text, one)) in shown.iter().enumerate() {
        for (other_text, other) in &shown[at + 1..] {
            assert!(text != other_text || one == other, "{text:?} is {one:?} and {other:?}");
        }
    }
}

/// Returns what a shell makes of a line that has plain words and single quotes only.
fn words(line: &str) -> Option<Vec<String>> {
    let (mut words, mut word, mut quoted) = (Vec::new(), None::<String>, false);
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match c {
            '\'' => {
                quoted = !quoted;
                word.get_or_insert_default();
            }
            c if quoted => word.get_or_insert_default().push(c),
            ' ' => words.extend(word.take()),
            '\\' => word.get_or_insert_default().push(chars.next()?),
            c if c.is_ascii_alphanumeric() || "_@%+:,./-=".contains(c) => word.get_or_insert_default().push(c),
            _ => return None,
        }
    }
    words.extend(word);
    Some(words).filter(|_| !quoted)
}

pub(super) fn hooks(bytes: &[u8]) {
    let Ok(value) = serde_json::from_slice::<Value>(bytes) else { return };
    let source = HookSource { place: "x".into(), is_projects: true, is_managed: false, plugin: None };
    let (handlers, said) = HookHandler::read(&value, &source);
    assert!(handlers.len() <= 500);
    for text in &said {
        assert_eq!(*text, sanitize_line(text), "it can be shown");
    }
    for hook in &handlers {
        let shown = hook.command.shown();
        assert!(shown == sanitize_line(&shown) && shown.chars().count() <= 121, "{shown:?}");
        assert!(hook.timeout > Duration::ZERO && hook.timeout <= Duration::from_hours(1));
        assert!(!(hook.is_async && hook.on_failure == OnFailure::Block), "nobody waits for it, so it cannot block");
        if let HookCommand::Program(all) = &hook.command {
            assert_eq!(words(&hook.command.to_string()).as_ref(), Some(all), "its words are those that are shown");
        }
    }
    // A program and the line that starts it are the same to a shell.
    let meaning = |hook: &HookHandler| match &hook.command {
        HookCommand::Line(line) => words(line).unwrap_or_else(|| vec![line.clone()]),
        HookCommand::Program(words) => words.clone(),
        HookCommand::Callback(_) => unreachable!("files name none"),
        HookCommand::Http(request) => vec!["http".to_owned(), format!("{request:?}")],
        HookCommand::Tool(call) => vec!["mcp_tool".to_owned(), format!("{call:?}")],
        HookCommand::Question(question) => vec!["question".to_owned(), format!("{question:?}")],
        HookCommand::Unrunnable { why } => vec!["does not run".to_owned(), why.clone()],
    };
    let shown: Vec<_> = handlers
        .iter()
        .take(40)
        .map(|hook| {
            (hook.trust_text(), (hook.event, hook.matcher_text.clone(), hook.outside == Some(true), meaning(hook)))
        })
        .collect();
    assert_told_apart(&shown);
}

pub(super) fn servers(bytes: &[u8]) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join(".mcp.json"), bytes).unwrap();
    let own = vec![("files".to_owned(), json!({"command": "mine"}))];
    let sources = McpSources { project: Some(folder.path().to_owned()), own, ..McpSources::default() };
    let found = sources.of_project();
    let (configs, diagnostics) = sources.all(&found, |_| false);
    for diagnostic in &diagnostics {
        let text = diagnostic.to_string();
        assert_eq!(text, sanitize_line(&text), "it can be shown");
    }
    let mine = &configs[0];
    assert!(matches!(&mine.way, McpWay::Stdio { command, .. } if command == "mine") && mine.off.is_none());
    for (at, config) in configs.iter().enumerate() {
        assert!(at == 0 || config.off.is_some(), "{} waits for trust", config.name);
        let prefix = server_prefix(&config.name);
        for tool in ["x", "_x", "a__b", "é", &"long".repeat(30)] {
            let name = wire_name(&config.name, tool);
            assert!(
                name.len() <= 64 && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b)),
                "{name}"
            );
            let others = configs.iter().filter(|other| other.name != config.name);
            for other in others.map(|other| server_prefix(&other.name)) {
                assert!(name.len() == 64 || !name.starts_with(&other), "{name} is of {prefix}, not of {other}");
            }
        }
    }
    let way = |way: &McpWay| match way {
        McpWay::Stdio { command, args, env } => (command.clone(), args.clone(), env.clone()),
        McpWay::Http { url, headers } | McpWay::Sse { url, headers } => (url.clone(), Vec::new(), headers.clone()),
        McpWay::Calling => unreachable!("files name none"),
    };
    let shown: Vec<_> = configs.iter().take(40).map(|config| (config.shown.clone(), way(&config.way))).collect();
    assert_told_apart(&shown);
}
