//! The catalog, and the agents and prompts that are part of the program.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::{AgentDefinition, Source, Tier, parse, source};
use belvedere::definition::{Catalog, ToolsField};
use belvedere::permission::PermissionMode;

const BUILT_IN: [&str; 10] = [
    "general-purpose",
    "explore",
    "plan",
    "code",
    "search-specialist",
    "code-writer",
    "reviewer",
    "architect",
    "test-writer",
    "docs-writer",
];

fn named(name: &str, description: &str, tier: Tier) -> AgentDefinition {
    let text = format!("---\nname: {name}\ndescription: {description}\n---\nBody.");
    parse(&text, source(tier)).definition.unwrap()
}

#[test]
fn names_match_without_regard_to_case_spaces_and_dashes() {
    let catalog = Catalog::builtin();
    for name in ["general-purpose", "General Purpose", "general_purpose", " GENERALPURPOSE "] {
        assert_eq!(catalog.get(name).map(|found| found.name.clone()).as_deref(), Some("general-purpose"), "{name}");
    }
    assert!(catalog.get("general").is_none());
    assert!(catalog.get("").is_none());
    assert_eq!(catalog.names(), BUILT_IN);
}

#[test]
fn a_later_tier_wins_and_keeps_the_place() {
    let catalog = Catalog::of(vec![
        named("Plan", "mine", Tier::ProjectKode),
        named("explore", "built in", Tier::BuiltIn),
        named("plan", "built in", Tier::BuiltIn),
        named("extra", "first", Tier::UserClaude),
        named("plan", "lower", Tier::UserKode),
        named("extra", "nearer", Tier::UserClaude),
    ]);
    assert_eq!(catalog.names(), ["explore", "Plan", "extra"]);
    assert_eq!(catalog.get("plan").unwrap().description, "mine");
    assert_eq!(catalog.get("extra").unwrap().description, "nearer");
}

#[test]
fn a_replacement_is_seen_by_every_clone_but_not_by_agents_at_work() {
    let catalog = Catalog::builtin();
    let (clone, working) = (catalog.clone(), catalog.get("explore").unwrap());
    let changes = catalog.replace(vec![named("explore", "new", Tier::BuiltIn).into()]);
    assert_eq!(
        (changes.added.len(), changes.changed.as_slice(), changes.removed.len()),
        (0, &["explore".to_owned()][..], 9)
    );
    assert_eq!(clone.names(), ["explore"]);
    assert_eq!(clone.get("explore").unwrap().description, "new");
    assert_ne!(working.description, "new");
}

#[test]
fn every_built_in_file_is_faultless_and_offered() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/agents");
    let mut colours = BTreeSet::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let stem = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let text = fs::read_to_string(&path).unwrap();
        let parsed = parse(&text, Source { tier: Tier::BuiltIn, path: Some(path) });
        assert!(parsed.diagnostics.is_empty(), "{:#?}", parsed.diagnostics);
        let agent = parsed.definition.unwrap();
        assert_eq!(agent.name, stem);
        assert!(BUILT_IN.contains(&stem.as_str()), "{stem} is not embedded");
        assert!(agent.description.starts_with("Use ") && agent.description.len() < 300, "{}", agent.description);
        assert!(colours.insert(agent.color.clone()), "{:?} is taken", agent.color);
        for words in ["Summary: ", "Findings: ", "Answer: ", "path:line", "alone"] {
            assert!(agent.prompt.contains(words), "{stem} lacks {words}");
        }
        assert!(!agent.prompt.contains("<summary>"), "{stem}: the form of a report is what every subagent is told");
        assert!(agent.prompt.len() < 3_000, "{stem}: every run of it pays for these bytes");
    }
    assert_eq!(colours.len(), BUILT_IN.len());
}

#[test]
fn those_who_only_look_cannot_write() {
    let catalog = Catalog::builtin();
    for name in ["explore", "plan", "search-specialist", "reviewer"] {
        let ToolsField::List(tools) = catalog.get(name).unwrap().tools.clone() else { panic!("{name} has all tools") };
        assert!(tools.iter().all(|tool| !matches!(tool.as_str(), "Write" | "Edit")), "{name}: {tools:?}");
    }
    for name in ["explore", "plan", "search-specialist", "reviewer"] {
        let agent = catalog.get(name).unwrap();
        assert_eq!(agent.permission_mode, Some(PermissionMode::Plan), "{name}");
    }
    assert_eq!(catalog.get("code").unwrap().tools, ToolsField::All);
    assert_eq!(catalog.get("general-purpose").unwrap().tools, ToolsField::All);
}

#[test]
fn prompts_are_short_and_use_known_placeholders() {
    let known = ["cwd", "project", "platform", "date", "branch", "report_chars"];
    for name in ["main.md", "subagent.md"] {
        let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/prompts").join(name)).unwrap();
        assert!(text.len() <= 6 * 1024, "{name} has {} bytes", text.len());
        for placeholder in text.split("{{").skip(1) {
            let placeholder = placeholder.split("}}").next().unwrap();
            assert!(known.contains(&placeholder), "{name}: {placeholder}");
        }
    }
}
