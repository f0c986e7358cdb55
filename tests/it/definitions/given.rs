//! `--agents`: agents as JSON on the command line.

use belvedere::definition::{Tier, ToolsField, parse_cli_agents};

#[test]
fn an_entry_has_the_fields_of_a_file() {
    let json = r#"{"helper": {"description": "Helps: much", "prompt": "One\n---\ntwo", "tools": ["Read", "Bash(git log:*)"],
                   "model": "haiku", "maxTurns": 3, "color": "Red"}}"#;
    let parsed = parse_cli_agents(json).unwrap();
    let agent = parsed[0].definition.clone().unwrap();
    assert!(parsed[0].diagnostics.is_empty(), "{:?}", parsed[0].diagnostics);
    assert_eq!(
        (agent.name.as_str(), agent.description.as_str(), agent.prompt.as_str()),
        ("helper", "Helps: much", "One\n---\ntwo")
    );
    assert_eq!(agent.tools, ToolsField::List(vec!["Read".into(), "Bash(git log:*)".into()]));
    assert_eq!(
        (agent.model.as_deref(), agent.max_turns, agent.color.as_deref()),
        (Some("haiku"), Some(3), Some("red"))
    );
    assert_eq!((agent.source.tier, agent.source.path), (Tier::CommandLine, None));
}

#[test]
fn a_broken_entry_is_told_and_the_others_work() {
    let json = r#"{"a": 7, "b": {"prompt": "p"}, "c": {"description": "d", "prompt": "p", "model": "so so"}}"#;
    let parsed = parse_cli_agents(json).unwrap();
    let told: Vec<String> = parsed.iter().flat_map(|parsed| &parsed.diagnostics).map(ToString::to_string).collect();
    assert_eq!(parsed.iter().filter(|parsed| parsed.definition.is_some()).count(), 1);
    assert!(told[0].starts_with("`a` in --agents: not an object."), "{told:#?}");
    assert!(told[1].starts_with("`b` in --agents: no `description`"), "{told:#?}");
    assert!(told[2].starts_with("`c` in --agents: `so so` is not a model name"), "{told:#?}");
}

#[test]
fn broken_json_says_where() {
    let error = parse_cli_agents("{\"a\": {\"description\": }}").unwrap_err();
    assert!(error.contains("line 1 column 23") && error.contains("expected {"), "{error}");
    assert!(parse_cli_agents("[]").is_err());
}
