//! Heads with a slip in what they keep from an agent: none of them widens.

use belvedere::definition::{AgentDefinition, Isolation, ToolsField};
use belvedere::permission::PermissionMode;

use super::read;

fn of(lines: &str) -> Option<AgentDefinition> {
    read(&format!("---\nname: a\n{lines}\n---\nYou look.\n")).definition
}

/// Returns what the file lets the agent use: `None` if it is not used at all.
fn tools(lines: &str) -> Option<Vec<String>> {
    match of(lines)?.tools {
        ToolsField::All => panic!("all tools: {lines}"),
        ToolsField::List(names) => Some(names),
    }
}

#[test]
fn a_wish_to_restrict_that_is_no_yaml_still_restricts() {
    for lines in [
        "description: x\n\ttools: Read",
        "description: x\n  tools: Read",
        "description: x\ntools = Read",
        "description: x\ntools=Read",
        "description: x\ntools => Read",
        "description: x\ntools ; Read",
        "description: x\ntools\u{ff1a} Read",
        "description: x\n\"tools\" = Read",
        "description: x: y\nTools = [Read]",
        "description: x\n\tallowed-tools: Read",
        "description: x\n\ttool: Read",
        "description: Use when: now\n\n    tools: Read\nmodel: haiku",
        "description: x\ntool: Read",
        "description: x\nallowed-tools: Read",
        "description: x\nallowedTools: [Read]",
        "description: x\nallowed_tools: Read",
        "description: x\ntool: Read\nallowed-tools: Read",
    ] {
        assert_eq!(tools(lines), Some(vec!["Read".to_owned()]), "{lines}");
    }
    for lines in [
        "description: x\ntools: [Read",
        "description: x\ntools: true",
        "description: x\ntools: {write: false}",
        "description: x\n\ttools =",
        "description: x\ntools: []",
    ] {
        assert!(tools(lines).is_none_or(|names| !names.iter().any(|name| name == "*")), "{lines}");
    }
}

#[test]
fn a_field_that_may_restrict_and_is_unknown_gives_the_file_up() {
    for line in [
        "toolz: Read",
        "tools_allowed: Read",
        "toolset: Read",
        "permission: {edit: deny}",
        "permissions: {deny: [Write]}",
        "permissionsMode: plan",
        "block: Write",
        "denied: Write",
        "tools: Read, Write\nallowed-tools: Read",
        "disallowedTools: true",
        "disallowedTools: {Write: true}",
        "disallowedTools: [Write, {}]",
        "disallowed-tools: 5",
        "hooks: none",
        "hooks: [1]",
    ] {
        let parsed = read(&format!("---\nname: a\ndescription: x\n{line}\n---\nYou look.\n"));
        assert!(parsed.definition.is_none(), "{line}");
        assert!(parsed.diagnostics.iter().any(|known| known.message.contains("File skipped.")), "{line}");
    }
    for line in ["version: 1", "author: me", "triggers: [a]", "category: review", "mode: subagent", "tags: [x]"] {
        assert!(of(&format!("description: x\n{line}")).is_some(), "{line}");
    }
}

#[test]
fn what_is_to_be_blocked_is_blocked_in_every_spelling() {
    for line in [
        "disallowedTools: [[Write]]",
        "deniedTools: Write",
        "deny-tools: [Write]",
        "blocked_tools: Write",
        "disallowed-tool: Write",
    ] {
        let agent = of(&format!("description: x\n{line}")).unwrap_or_else(|| panic!("{line}"));
        assert_eq!(agent.disallowed_tools, ["Write"], "{line}");
    }
    let agent = of("description: x\n\tdisallowedTools: Write").unwrap();
    assert_eq!(agent.disallowed_tools, ["Write"]);
    for mode in ["plam", "read-only", "[plan]", "5", "Plan "] {
        let agent = of(&format!("description: x\npermissionMode: {mode}")).unwrap();
        assert_eq!(agent.permission_mode, Some(PermissionMode::Plan), "{mode}");
    }
    let free = of("description: x\npermissionMode: inherit").unwrap();
    assert_eq!(free.permission_mode, None);
}

#[test]
fn a_limit_or_a_place_of_its_own_that_is_not_understood_is_never_none() {
    for line in [
        "maxTurns: many",
        "maxTurns: 0",
        "maxTurns: -1",
        "maxTurns: 2.5",
        "maxTurns: [3]",
        "maxTurns: {a: 1}",
        "maxTurns: true",
        "maxTurns: 99999999999",
        "max-turns: 5 turns",
        "max_turns: ten",
        "maxExecutionTimeMs: soon",
        "maxExecutionTimeMs: 90s",
        "isolation: [worktree]",
        "isolation: {worktree: true}",
        "isolation: a work tree",
        "isolation: ../tree",
        "isolation: true",
    ] {
        let parsed = read(&format!("---\nname: a\ndescription: x\n{line}\n---\nYou look.\n"));
        assert!(parsed.definition.is_none(), "{line}");
        let lost = parsed.diagnostics.iter().find(|known| known.loses_guard && known.line == Some(4));
        let known = lost.unwrap_or_else(|| panic!("{line}: {:?}", parsed.diagnostics));
        assert!(known.message.contains("File skipped."), "{line}: {known}");
    }
    for (line, turns) in
        [("maxTurns: 5", Some(5)), ("maxTurns: \"5\"", Some(5)), ("maxTurns:", None), ("color: red", None)]
    {
        let agent = of(&format!("description: x\n{line}")).unwrap_or_else(|| panic!("{line}"));
        assert_eq!(agent.max_turns, turns, "{line}");
    }
    for (line, place) in [
        ("isolation: none", None),
        ("isolation: false", None),
        ("isolation:", None),
        ("isolation: Worktree", Some("worktree")),
        ("isolation: \" worktree \"", Some("worktree")),
        // Where there is no such launcher, the agent is refused.
        ("isolation: big", Some("big")),
    ] {
        let agent = of(&format!("description: x\n{line}")).unwrap_or_else(|| panic!("{line}"));
        assert_eq!(agent.isolation.as_ref().map(Isolation::name), place, "{line}");
    }
}

#[test]
fn a_mode_of_another_program_gives_no_more_than_the_one_in_its_place() {
    for (mode, known) in [
        ("dontAsk", Some(PermissionMode::Default)),
        ("DONTASK", Some(PermissionMode::Default)),
        ("manual", Some(PermissionMode::Default)),
        ("delegate", Some(PermissionMode::Plan)),
        ("auto", None),
    ] {
        let parsed = read(&format!("---\nname: a\ndescription: x\npermissionMode: {mode}\n---\nYou look.\n"));
        assert_eq!(parsed.definition.unwrap().permission_mode, known, "{mode}");
        let words = format!("{:?}", parsed.diagnostics);
        let instead = known.map_or("using the session's mode".to_owned(), |mode| format!("using `{mode}`"));
        assert!(words.contains("is not supported") && words.contains(&instead), "{words}");
    }
}
