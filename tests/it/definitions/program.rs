//! The field `acp`: another program as an agent.

use belvedere::definition::{Catalog, Parsed, Source, Tier, parse};
use belvedere::message::ExternalProgram;

fn read(head: &str) -> Parsed {
    parse(&format!("---\nname: other\ndescription: d\n{head}\n---\n"), Source { tier: Tier::UserClaude, path: None })
}

fn program(head: &str) -> ExternalProgram {
    read(head).definition.expect("an agent").acp.expect("a program")
}

#[test]
fn a_line_a_list_and_a_table_say_the_same() {
    let forms =
        ["acp: gemini --acp 'a b'", "acp: [gemini, --acp, a b]", "acp:\n  command: gemini\n  args: [--acp, a b]"];
    for form in forms {
        let program = program(form);
        assert_eq!(
            (program.command.as_str(), program.args.as_slice()),
            ("gemini", ["--acp".into(), "a b".into()].as_slice())
        );
        assert_eq!(program.shown(), "gemini --acp 'a b'");
    }
}

#[test]
fn variables_are_part_of_what_is_shown() {
    let program = program("acp: {command: /opt/x/agent, env: {KEY: \"${KEY}\", N: 1}}");
    assert_eq!(program.env, [("KEY".to_owned(), "${KEY}".to_owned()), ("N".to_owned(), "1".to_owned())]);
    assert_eq!(program.shown(), "/opt/x/agent [with KEY='${KEY}'] [with N=1]");
    assert_eq!(program.name(), "agent");
}

#[test]
fn what_is_not_understood_makes_no_agent() {
    for wrong in [
        "acp: 7",
        "acp: \"\"",
        "acp: []",
        "acp: [[a]]",
        "acp: {args: [a]}",
        "acp: {command: a, cwd: b}",
        "acp: {command: a, env: {\"A-B\": c}}",
    ] {
        let parsed = read(wrong);
        assert!(parsed.definition.is_none(), "{wrong}");
        assert!(parsed.diagnostics.iter().any(|error| error.message.contains("File skipped")), "{wrong}");
    }
}

#[test]
fn a_program_needs_no_text() {
    assert!(read("acp: gemini --acp").diagnostics.is_empty());
}

#[test]
fn a_projects_file_starts_no_program_under_a_name_that_is_taken() {
    let named = |tier, head: &str| {
        let text = format!("---\nname: explore\ndescription: d\n{head}\n---\nLook.");
        parse(&text, Source { tier, path: None }).definition.unwrap()
    };
    let (own, projects) = (named(Tier::BuiltIn, "color: red"), named(Tier::ProjectClaude, "acp: evil"));
    let catalog = Catalog::of(vec![own, projects]);
    let found = catalog.get("explore").unwrap();
    assert_eq!((found.source.tier, found.acp.clone()), (Tier::ProjectClaude, None));
}
