//! Every shape of agent file that is in circulation, each in a file of `tests/fixtures/agents`, and what comes of it.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use belvedere::definition::{AgentDefinition, MemoryScope, NamedServer, Parsed, Source, Tier, ToolsField, read_file};
use belvedere::message::Effort;
use belvedere::permission::PermissionMode;
use proptest::prelude::*;

/// Words that a diagnostic holds, each at a line; none for a faultless file.
type Errors = &'static [&'static str];

const ODD: &str = "the frontmatter is not valid YAML";

/// Files that become agents under their own name with the prompt "You review code.", and what is said of them.
const USABLE: [(&str, &str, Errors); 44] = [
    ("plain", "Use it to review", &[]),
    ("colon", "Use it when: code changed", &["3: the frontmatter is not valid YAML"]),
    (
        "dialogue",
        "Use this agent after changes. Examples:\n<example>\nContext: a change was made: a big one\n\
         user: \"Please review\"\nassistant: \"I will: now\"\n</example>",
        &[ODD],
    ),
    ("bold", "**MUST** be used after changes", &[ODD]),
    ("star", "*proactive* reviewer", &[ODD]),
    ("all-tools", "Reviews", &[ODD]),
    ("escaped-lines", "Reviews.\n\nuser: \"go: on\"\nDone.", &[ODD]),
    ("block", "First line: one.\n\nSecond line.", &[]),
    ("folded", "First second", &[]),
    ("quoted", "It's: quoted", &[]),
    ("quotes-inside", "Say \"yes\" to it", &[ODD]),
    ("Code Review.v2 Expert", "Reviews", &[]),
    ("hex-comment", "Reviews", &[]),
    ("bad-hex", "Reviews", &["4: `#12345` is not a color"]),
    ("junk-model", "Reviews", &["4: `the best there is` is not a model name"]),
    ("full-model", "Reviews", &[]),
    ("bom-crlf", "Reviews", &[]),
    ("tabs", "Reviews", &[ODD]),
    ("twice", "Reviews", &[ODD]),
    ("nested", "Reviews", &["4: unknown field `metadata`"]),
    ("anchors", "Reviews", &[]),
    ("bomb", "Reviews", &[ODD]),
    ("no-end", "Reviews", &["1: the frontmatter has no closing `---` line"]),
    ("no-start", "Reviews", &["1: the frontmatter has no opening `---` line"]),
    ("blank-after-dashes", "Reviews", &[]),
    ("more-dashes", "Reviews", &[]),
    ("other-case", "Reviews", &["2: `Name` is read", "3: `Description` is read", "4: `disallowedtools` is read"]),
    ("quoted-keys", "Reviews: all", &[ODD]),
    ("blank-before-colon", "Reviews: all", &[ODD]),
    ("no-blank-after-colon", "Reviews", &[ODD]),
    ("indented", "Reviews: all", &[ODD]),
    ("half-indented", "Reviews", &[ODD]),
    ("comment-before", "Reviews", &[]),
    ("fenced", "Reviews", &[]),
    ("json", "Reviews: all", &["1: the frontmatter is JSON"]),
    ("language", "Reviews", &[]),
    ("comments", "Reviews: all", &[ODD]),
    ("unknown-keys", "Reviews", &["3: unknown field `version`", "5: unknown field `mode`", "6: unknown field `tags`"]),
    ("slips", "Reviews", &["4: `tool` is read as `tools`"]),
    ("list-as-description", "[Reviews] code", &[ODD]),
    ("list-description", "[Reviews, mends]", &[]),
    ("scopes", "Reviews", &[]),
    ("kode", "Reviews", &["`forkContext` is not supported; ignored"]),
    ("every-field", "Reviews", &["`permissionMode: dontAsk` is not supported"]),
];

/// Files that become agents with something odd about their prompt or name: file, name, a part of the prompt, faults.
const ODDITIES: [(&str, &str, &str, Errors); 8] = [
    ("long-description", "long-description", "You review", &[]),
    ("huge", "huge", "A rule of many", &[]),
    ("rules-in-body", "rules-in-body", "One.\n\n---\n\nname: two\n\n---\n\nThree.", &[]),
    ("only-head", "only-head", "", &["1: no text after the frontmatter"]),
    (
        "bad-values",
        "bad-values",
        "You review",
        &[
            "4: unknown permission mode",
            "5: `9000` is not an effort",
            "6: `memory: everywhere` is not supported",
            "7: `tools` must be a list",
        ],
    ),
    ("latin-1", "latin-1", "Du pr\u{fffd}fst.", &["3: not valid UTF-8"]),
    ("utf-16", "utf-16", "You review", &["1: not valid UTF-8"]),
    ("controls", "controls", "You review", &[ODD]),
];

/// Files that cannot be used, and why.
const BROKEN: [(&str, &str); 10] = [
    ("no-number", "3: `maxTurns: many` is not a positive whole number"),
    ("deep", "4: the frontmatter is not valid YAML"),
    ("empty", "1: the file is empty"),
    ("nameless", "1: no `name`, so this is not an agent. To make it one, add a name, such as `name: nameless`"),
    ("no-description", "1: no `description`"),
    ("only-dashes", "2: `-_-` is not usable as a name"),
    ("sequence", "1: no `description`"),
    ("README", "1: no `---` line at the top, so this is not an agent file"),
    ("toml", "1: no `---` line at the top"),
    ("binary", "1: no `---` line at the top"),
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/agents")
}

fn stem_of(name: &str) -> &str {
    if name == "Code Review.v2 Expert" { "odd-name" } else { name }
}

fn read(stem: &str) -> Parsed {
    read_file(Source { tier: Tier::ProjectClaude, path: Some(folder().join(format!("{stem}.md"))) })
}

fn usable(stem: &str) -> AgentDefinition {
    let parsed = read(stem);
    parsed.definition.unwrap_or_else(|| panic!("{stem}: {:#?}", parsed.diagnostics))
}

fn assert_faults(stem: &str, parsed: &Parsed, expected: Errors) {
    let told: Vec<String> = parsed
        .diagnostics
        .iter()
        .map(|error| format!("{}: {}", error.line.map(|line| line.to_string()).unwrap_or_default(), error.message))
        .collect();
    assert_eq!(told.len(), expected.len(), "{stem}: {told:#?}");
    for expected in expected {
        assert!(told.iter().any(|told| told.contains(expected)), "{stem}: {expected}\n{told:#?}");
    }
}

#[test]
fn each_shape_becomes_the_agent_its_author_meant() {
    for (name, description, errors) in USABLE {
        let stem = stem_of(name);
        let (parsed, agent) = (read(stem), usable(stem));
        assert_eq!((agent.name.as_str(), agent.description.as_str()), (name, description), "{stem}");
        assert_eq!(agent.prompt, "You review code.", "{stem}");
        assert_faults(stem, &parsed, errors);
    }
    for (stem, name, prompt, errors) in ODDITIES {
        let (parsed, agent) = (read(stem), usable(stem));
        assert_eq!(agent.name, name);
        assert!(agent.prompt.contains(prompt), "{stem}: {}", agent.prompt);
        assert_faults(stem, &parsed, errors);
    }
}

#[test]
fn each_shape_that_is_no_agent_says_why() {
    for (stem, reason) in BROKEN {
        let parsed = read(stem);
        assert_eq!(parsed.definition, None, "{stem}");
        let told: Vec<String> = parsed.diagnostics.iter().map(ToString::to_string).collect();
        assert!(told.iter().any(|told| told.contains(&format!("{stem}.md:{reason}"))), "{stem}: {told:#?}");
    }
}

#[test]
fn no_fixture_is_forgotten() {
    let known: Vec<&str> = USABLE
        .iter()
        .map(|(name, ..)| stem_of(name))
        .chain(ODDITIES.iter().map(|(stem, ..)| *stem))
        .chain(BROKEN.iter().map(|(stem, _)| *stem))
        .collect();
    let files = fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
    let stems: Vec<String> = files
        .filter(|path| path.extension().is_some())
        .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    assert_eq!(stems.len(), known.len());
    assert!(stems.iter().all(|stem| known.contains(&stem.as_str())), "{stems:?}");
}

#[test]
fn fields_of_the_fixtures_have_the_values_their_authors_meant() {
    let list = |names: &[&str]| ToolsField::List(names.iter().map(|name| (*name).to_owned()).collect());
    for (stem, tools) in [
        ("all-tools", ToolsField::All),
        ("block", list(&["Read", "Bash(npm test:*)"])),
        ("dialogue", list(&["Read", "Grep"])),
        ("tabs", list(&["Read", "Grep"])),
        ("anchors", list(&["Read", "Grep"])),
        ("json", list(&["Read", "Grep"])),
        ("scopes", list(&["Read", "Bash(git log:*)", "Bash(git show:*)", "mcp__docs__*"])),
        ("bad-values", list(&[])),
    ] {
        assert_eq!(usable(stem).tools, tools, "{stem}");
    }
    for (stem, color) in
        [("quoted", Some("#ffaa00")), ("odd-name", Some("purple")), ("hex-comment", Some("#00ff7f")), ("bad-hex", None)]
    {
        assert_eq!(usable(stem).color.as_deref(), color, "{stem}");
    }
    let models = [
        ("twice", Some("opus")),
        ("comments", Some("opus")),
        ("junk-model", None),
        ("half-indented", Some("opus")),
        ("indented", Some("opus")),
    ];
    for (stem, model) in models {
        assert_eq!(usable(stem).model.as_deref(), model, "{stem}");
    }
    assert_eq!(usable("long-description").description.len(), 430 * 14 - 1);
    assert_eq!(usable("controls").description, "Reviews");
    assert_eq!(usable("other-case").disallowed_tools, ["Write"]);
    let kode = usable("kode");
    assert_eq!((kode.model.as_deref(), kode.disallowed_tools.as_slice()), (Some("quick"), &["Bash".to_owned()][..]));
    assert_eq!(
        (kode.max_time, &kode.idle_fields[..]),
        (Some(Duration::from_secs(90)), &[("forkContext".into(), "true".into())][..])
    );
    let agent = usable("every-field");
    assert_eq!(
        (agent.max_turns, agent.effort, agent.memory),
        (Some(7), Some(Effort::High), Some(MemoryScope::Project))
    );
    assert_eq!(
        (agent.initial_prompt.as_deref(), agent.permission_mode),
        (Some("Say hello."), Some(PermissionMode::Default))
    );
    assert_eq!(agent.skills, ["a", "b"]);
    let idle: Vec<String> = agent.idle_fields.iter().map(|(name, value)| format!("{name}={value}")).collect();
    assert_eq!(idle.join(" "), "permissionMode=dontAsk");
    assert_eq!(agent.mcp_servers, Some(vec![NamedServer::Known("docs".to_owned())]));
}

/// Lines as they occur in descriptions, harmless or not.
fn mess() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        "[ -~]{0,40}",
        Just("<example>".to_owned()),
        Just("user: \"do: it\"".to_owned()),
        Just("assistant: I will".to_owned()),
        Just("  - *star: &amp [".to_owned()),
        Just("\t{{{: ]".to_owned()),
        Just("model: haiku".to_owned()),
        Just("# note".to_owned()),
        Just("é\u{0}\u{1b}[31m".to_owned()),
    ];
    prop::collection::vec(line, 0..8).prop_map(|lines| lines.join("\n"))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_file_with_a_name_and_a_description_is_recovered(before in mess(), between in mess(), after in mess(), text in mess(), closed in prop::bool::ANY) {
        // A `---` line ends the head, and with it what can be recovered.
        prop_assume!([&before, &between, &after].iter().all(|mess| mess.lines().all(|line| !line.trim().starts_with("---"))));
        prop_assume!([&before, &between].iter().all(|mess| mess.lines().all(|line| !line.to_lowercase().contains("name") && !line.to_lowercase().contains("description"))));
        let end = if closed { "\n---\n" } else { "\n\n" };
        let file = format!("---\n{before}\nname: the-name\n{between}\ndescription: Words. {text}\n{after}{end}Body.");
        let parsed = super::read(&file);
        let agent = parsed.definition;
        prop_assert!(agent.is_some(), "{:?}\n{file}", parsed.diagnostics);
        let agent = agent.unwrap();
        prop_assert!(agent.name.starts_with("the-name"), "{}", agent.name);
        prop_assert!(agent.description.starts_with("Words"), "{}", agent.description);
    }

    #[test]
    fn no_cut_of_a_real_file_is_a_panic(which in 0..USABLE.len(), from in 0..400_usize, to in 0..400_usize, with in ".{0,8}") {
        let stem = stem_of(USABLE[which].0);
        let bytes = fs::read(folder().join(format!("{stem}.md"))).unwrap();
        let (from, to) = (from.min(bytes.len()), to.min(bytes.len()));
        let text = String::from_utf8_lossy(&[&bytes[..from], with.as_bytes(), &bytes[to..]].concat()).into_owned();
        let parsed = super::read(&text);
        prop_assert!(parsed.definition.is_some() || !parsed.diagnostics.is_empty());
    }
}

#[test]
fn hostile_heads_cost_no_more_than_their_length() {
    let deep = |open: &str, count: usize| format!("hooks: {}", open.repeat(count));
    let heads = [
        deep("[", 60_000),
        deep("{a: ", 20_000),
        format!("hooks:\n{}", (0..2_000).map(|at| format!("{}a:\n", " ".repeat(at % 200))).collect::<String>()),
        deep("- ", 30_000),
        deep("? ", 30_000),
        format!("{}: x", "k".repeat(60_000)),
        format!("skills: &a [{}]", "*a, ".repeat(10_000)),
        "<<: {a: b}\n".repeat(5_000),
        "\"".repeat(60_000),
        "!".repeat(60_000),
        "x: |\n".repeat(10_000),
        "name:\n".repeat(10_000),
        "%\n".repeat(30_000),
    ];
    for head in heads {
        let parsed = super::read(&format!("---\nname: hostile\ndescription: Reviews\n{head}\n---\nBody."));
        let name = parsed.definition.map(|agent| agent.name);
        // Hooks that cannot be read may be guards.
        let is_used = !head.starts_with("hooks: ");
        assert_eq!(name.as_deref(), is_used.then_some("hostile"), "{head:.40}");
    }
}
