//! The shapes of agent files that are in circulation, YAML or not.

use std::fmt::Write as _;

use super::{agent, errors, read};
use belvedere::definition::ToolsField;
use proptest::prelude::*;

fn list(names: &[&str]) -> ToolsField {
    ToolsField::List(names.iter().map(|name| (*name).to_owned()).collect())
}

#[test]
fn a_strict_file_yields_every_field() {
    let text = "---\nname: Search Specialist.v2\ndescription: |\n  Finds things.\n  Use it often.\n\
                tools: Grep, Glob, Bash(git log:*, git show:*), mcp__docs__*\ndisallowedTools: [Write]\n\
                model: claude-sonnet-4-20250514\ncolor: \"#FFAA00\"\nmaxTurns: 12\nunheard: of\n---\n\nYou find.\n\n---\n\nMore.\n";
    assert_eq!(errors(text), ["agents/file-name.md:11: unknown field `unheard`; ignored."]);
    let agent = agent(text);
    assert_eq!(agent.name, "Search Specialist.v2");
    assert_eq!(agent.description, "Finds things.\nUse it often.");
    assert_eq!(agent.tools, list(&["Grep", "Glob", "Bash(git log:*)", "Bash(git show:*)", "mcp__docs__*"]));
    assert_eq!(agent.disallowed_tools, ["Write"]);
    assert_eq!(agent.model.as_deref(), Some("claude-sonnet-4-20250514"));
    assert_eq!(agent.color.as_deref(), Some("#ffaa00"));
    assert_eq!(agent.max_turns, Some(12));
    assert_eq!(agent.prompt, "You find.\n\n---\n\nMore.", "a rule in the body is part of the body");
}

#[test]
fn a_long_name_is_cut_and_ends_in_no_blank() {
    let text = format!("---\nname: {} and more\ndescription: b\n---\nc", "n".repeat(99));
    assert_eq!(agent(&text).name, "n".repeat(99));
    assert!(errors(&text)[0].starts_with("agents/file-name.md:2: the name is longer than 100 characters"));
}

#[test]
fn tools_come_in_many_forms() {
    let tools = |field: &str| agent(&format!("---\nname: a\ndescription: b\n{field}\n---\nc")).tools;
    assert_eq!(tools(""), ToolsField::All);
    assert_eq!(tools("tools:"), ToolsField::All);
    assert_eq!(tools("tools: *"), ToolsField::All);
    assert_eq!(tools("tools: \"*\""), ToolsField::All);
    assert_eq!(tools("tools: [\"*\"]"), ToolsField::All);
    assert_eq!(tools("tools: []"), list(&[]));
    assert_eq!(tools("tools: ''"), list(&[]));
    assert_eq!(tools("tools: Read"), list(&["Read"]));
    assert_eq!(tools("tools:\n  - Read\n  - Grep"), list(&["Read", "Grep"]));
    assert_eq!(tools("tools:\n- \"Read\"\n- Grep"), list(&["Read", "Grep"]));
    assert_eq!(tools("tools: \"Read\", 'Grep' ,LS,"), list(&["Read", "Grep", "LS"]));
    let nested = r#"tools: ["'- Read'", "\0 Grep", "`\"LS\"`"]"#;
    assert_eq!(tools(nested), list(&["Read", "Grep", "LS"]), "once it is written, it would read so");
    for one in ["tools: Read Grep", "tools: 'Read Grep,'", "tools: [Read Grep]", "tools: [Read Grep, '']"] {
        assert_eq!(tools(one), list(&["Read", "Grep"]), "{one}");
    }
    assert_eq!(tools("tools: {Read: true}"), list(&[]), "what is not understood gives no tools, not all");
}

#[test]
fn colons_and_dialogues_in_a_description_are_recovered() {
    let text = "---\nname: helper\ndescription: Use this agent when: it is needed. Examples:\n<example>\nContext: a test\n\
                user: \"do it\"\nassistant: \"I: will\"\nname: not the name\n</example>\nmodel: opus\ntools: Read, Grep\n---\nBody.";
    let agent = agent(text);
    assert_eq!((agent.name.as_str(), agent.model.as_deref()), ("helper", Some("opus")));
    assert_eq!(agent.tools, list(&["Read", "Grep"]));
    let expected = "Use this agent when: it is needed. Examples:\n<example>\nContext: a test\nuser: \"do it\"\n\
                    assistant: \"I: will\"\nname: not the name\n</example>";
    assert_eq!(agent.description, expected, "only the first occurrence of a known key cuts");
    let errors = errors(text);
    assert_eq!(errors.len(), 1, "{errors:#?}");
    assert!(errors[0].starts_with("agents/file-name.md:3: the frontmatter is not valid YAML"), "{}", errors[0]);
}

#[test]
fn other_shapes_that_are_not_yaml_are_recovered() {
    let description = |value: &str| agent(&format!("---\nname: a\ndescription: {value}\n---\nc")).description;
    assert_eq!(description("**MUST** be used"), "**MUST** be used");
    assert_eq!(description("*proactive* agent"), "*proactive* agent");
    assert_eq!(description("@mention: `code`"), "@mention: `code`");
    assert_eq!(description("[x] and more: y"), "[x] and more: y");
    assert_eq!(description("Use it.\\n\\nuser: \"go: on\""), "Use it.\n\nuser: \"go: on\"");
    assert_eq!(description("\"quoted \"inside\" too\""), "quoted \"inside\" too");
    assert_eq!(description("\"plain\\nquoted\""), "plain\nquoted");
    assert_eq!(description("a\nname: b"), "a\nname: b", "a key that occurs twice");
    assert_eq!(description(&"long ".repeat(1_200)).len(), 5_999);
    assert_eq!(description("|\n first: x\nback: in column 0: no"), "first: x\nback: in column 0: no");
}

#[test]
fn marks_and_line_ends_of_other_systems_do_not_matter() {
    let agent = agent("\u{feff}\r\n---  \r\nname: a\r\ndescription: b\r\n---\r\nOne.\r\nTwo.\r\n");
    assert_eq!((agent.name.as_str(), agent.prompt.as_str()), ("a", "One.\nTwo."));
}

#[test]
fn values_without_a_meaning_fall_back_with_a_word() {
    let field = |field: &str| format!("---\nname: a\ndescription: b\n{field}\n---\nc");
    for (line, model) in [("model: inherit", None), ("model:", None), ("model: haiku", Some("haiku"))] {
        assert_eq!(agent(&field(line)).model.as_deref(), model);
        assert!(errors(&field(line)).is_empty());
    }
    for line in ["model: the best one", "effort: 9000", "autoCompactWindow: -3", "tools: 7"] {
        let text = field(line);
        assert_eq!(errors(&text).len(), 1, "{line}");
        assert_eq!((agent(&text).model, agent(&text).max_turns), (None, None), "{line}");
    }
    assert_eq!(agent(&field("maxTurns: '7'")).max_turns, Some(7));
    assert_eq!(agent(&field("model_name: qwen3:8b")).model.as_deref(), Some("qwen3:8b"));
    assert_eq!(agent(&field("disallowed-tools: Bash, Write")).disallowed_tools, ["Bash", "Write"]);
}

#[test]
fn a_file_that_cannot_be_used_says_why() {
    for (text, reason) in [
        ("", "agents/file-name.md:1: the file is empty"),
        ("# Read me\n---\nname: a\n---\n", "agents/file-name.md:1: no `---` line at the top"),
        ("\n---\nmodel: a\n", "agents/file-name.md:2: the frontmatter has no closing"),
        ("---\nname: a\n---\nbody", "agents/file-name.md:1: no `description`"),
        ("---\n---\nbody", "agents/file-name.md:1: no `description`"),
        ("---\ndescription: b\n---\nbody", "agents/file-name.md:1: no `name`"),
        ("---\ndescription: b\nname: my:agent\n---\nbody", "agents/file-name.md:3: `my:agent` has the form"),
        ("---\n- a\n- b\n---\nbody", "agents/file-name.md:2: the frontmatter is not valid YAML"),
    ] {
        assert_eq!(read(text).definition, None, "{text}");
        assert!(errors(text)[0].starts_with(reason), "{text}\n{:#?}", errors(text));
    }
}

#[test]
fn aliases_that_multiply_are_refused_quickly() {
    let mut bomb = String::from("---\nname: a\ndescription: b\nskills: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for level in 1..30 {
        let before = format!("*a{}, ", level - 1).repeat(10);
        writeln!(bomb, "k{level}: &a{level} [{}]", before.trim_end_matches(", ")).unwrap();
    }
    bomb.push_str("---\nc");
    assert_eq!(agent(&bomb).name, "a");
}

proptest! {
    #[test]
    fn no_input_is_a_panic_and_none_is_dropped_in_silence(text in "(---\n)?([a-zA-Z:*&!|>\\[\\]{}\"'#\n -]|name: |tools: |é|\r\n){0,80}(\n---\n)?.{0,20}") {
        let parsed = read(&text);
        prop_assert!(parsed.definition.is_some() || !parsed.diagnostics.is_empty());
    }

    #[test]
    fn any_description_survives(description in "[a-zA-Z][^\r\n]{0,60}[a-z.]") {
        let text = format!("---\nname: a\ndescription: {description}\nmodel: haiku\n---\nBody.");
        let agent = agent(&text);
        prop_assert_eq!(agent.model.as_deref(), Some("haiku"));
        prop_assert_eq!(agent.name, "a");
        prop_assert!(!agent.description.is_empty());
    }
}
