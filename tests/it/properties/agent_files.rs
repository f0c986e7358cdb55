//! Agent files: what is wrong with one is said where it stands, and nobody gains rights by the name of another.

use belvedere::definition::{AgentDefinition, AgentDraft, Catalog, Parsed, Source, Tier, ToolsField, parse};
use belvedere::permission::{PermissionMode, Rules};

use super::rights::{allowed, assert_within, list, rules_of};
use super::text::assert_harmless;

/// Far more than anybody reads of one file.
const MAX_DIAGNOSTICS: usize = 60;

fn read(text: &str, tier: Tier) -> Parsed {
    parse(text, Source { tier, path: Some("agents/file-name.md".into()) })
}

pub(super) fn files(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let parsed = read(&text, Tier::ProjectClaude);
    assert_eq!(parsed, read(&text, Tier::ProjectClaude), "it reads the same");
    assert!(parsed.definition.is_some() || !parsed.diagnostics.is_empty(), "nothing is dropped in silence");
    assert!(parsed.diagnostics.len() <= MAX_DIAGNOSTICS, "{} diagnostics", parsed.diagnostics.len());
    let lines = text.replace("\r\n", "\n").replace('\r', "\n").split('\n').count();
    for diagnostic in &parsed.diagnostics {
        let is_inside = diagnostic.line.is_some_and(|line| (1..=lines).contains(&line));
        assert!(is_inside, "{diagnostic} in a file of {lines} lines");
        assert_harmless(&diagnostic.message, &[]);
    }
    assert!(parsed.lines.into_iter().flatten().all(|line| (1..=lines).contains(&line)), "{:?}", parsed.lines);
    let Some(agent) = parsed.definition else { return };
    assert_harmless(&agent.name, &[]);
    assert!(agent.name.chars().count() <= 100, "{}", agent.name);
    assert_harmless(&agent.description, &['\n', '\t']);

    let draft = AgentDraft::from(&agent);
    let written = draft.to_text();
    let again = read(&written, Tier::ProjectClaude);
    let faults: Vec<String> = again.diagnostics.iter().map(ToString::to_string).collect();
    let again = again.definition.unwrap_or_else(|| panic!("{faults:?}\n{written}"));
    let rights = |agent: &AgentDefinition| allowed(PermissionMode::BypassPermissions, list_of(&agent.tools));
    assert_within(&rights(&again), &rights(&agent), "it may do more once it was written");
    let again = AgentDraft::from(&again);
    // Of brackets in names, it is guessed what belongs together.
    let expected = match &draft.tools {
        ToolsField::List(names) if names.iter().any(|name| name.contains(['(', ')'])) => {
            AgentDraft { tools: again.tools.clone(), ..draft.settled() }
        }
        _ => draft.settled(),
    };
    assert_eq!(again, expected, "what is written reads back:\n{written}");
}

fn list_of(tools: &ToolsField) -> Rules {
    match tools {
        ToolsField::All => Rules::default(),
        ToolsField::List(names) => Rules::default().allowing(list(names)),
    }
}

/// Puts an agent of a project in the place of one of the user's.
pub(super) fn narrowing(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let (own, other) =
        text.split_once("\n%%\n").unwrap_or((&text, "---\nname: a\ndescription: b\ntools: Read\n---\nc"));
    let agent = |text: &str, tier: Tier| -> Option<AgentDefinition> {
        Some(AgentDefinition { name: "same".to_owned(), ..read(text, tier).definition? })
    };
    let (Some(own), Some(other)) = (agent(own, Tier::ProjectClaude), agent(other, Tier::UserClaude)) else { return };
    let in_force = Catalog::of(vec![other.clone(), own.clone()]).get("same").unwrap();
    let rights = |agent: &AgentDefinition| {
        let mode = agent.permission_mode.unwrap_or(PermissionMode::BypassPermissions);
        allowed(mode, rules_of(agent))
    };
    assert_within(&rights(&in_force), &rights(&other), "it may do what the agent may not whose name it has");
    assert_within(&rights(&in_force), &rights(&own), "it may do what its own file does not say");
    let within = |own: Option<u64>, other: Option<u64>| other.is_none_or(|other| own.is_some_and(|own| own <= other));
    assert!(within(in_force.max_turns.map(u64::from), other.max_turns.map(u64::from)));
    let millis = |agent: &AgentDefinition| agent.max_time.and_then(|time| u64::try_from(time.as_millis()).ok());
    assert!(within(millis(&in_force), millis(&other)));
    assert!(other.isolation.is_none() || in_force.isolation.is_some(), "it works in the project itself");
}
