//! Rules that deny commands: no spelling gets through, and nothing else is asked about.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use belvedere::permission::{
    Access, AccessKind, Confinement, Decision, Grants, PermissionMode, Permissions, Project, RuleEffect,
};
use serde::Deserialize;

use super::{PROJECT, execute, ruleset};

/// The table of `tests/fixtures/denials.toml`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    rules: Vec<String>,
    quiet: Vec<String>,
    denied: Vec<Lines>,
    asked: Vec<Lines>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Lines {
    rule: String,
    lines: Vec<String>,
}

fn table() -> Table {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/denials.toml");
    toml::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn denying(rules: &[&str]) -> Permissions {
    Permissions::new(Project::at(PROJECT.into()), PermissionMode::Default, Grants::default())
        .under(ruleset(RuleEffect::Deny, rules))
}

fn inside(command: &str) -> Access {
    Access::new("Bash", AccessKind::Execute { command: command.to_owned(), confinement: Confinement::Sandbox })
}

#[test]
fn a_rule_that_denies_a_command_costs_nothing_else() {
    let table = table();
    let all: Vec<&str> = table.rules.iter().map(String::as_str).collect();
    let mut wrong = String::new();
    for rules in table.rules.iter().map(|rule| vec![rule.as_str()]).chain([all]) {
        let permissions = denying(&rules);
        for line in &table.quiet {
            let found = permissions.evaluate(&inside(line));
            if found.decision != Decision::Allow {
                writeln!(wrong, "{rules:?}: {line:?}: {}", found.words()).unwrap();
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    assert!(table.quiet.len() >= 100);
}

#[test]
fn a_denied_command_is_denied_in_every_spelling() {
    let table = table();
    let mut wrong = String::new();
    for (lists, is_denied) in [(&table.denied, true), (&table.asked, false)] {
        for Lines { rule, lines } in lists {
            let permissions = denying(&["Bash(never:*)", rule]);
            for line in lines {
                let found = permissions.evaluate(&inside(line));
                let fits = match &found.decision {
                    Decision::Deny(why) => is_denied && why.contains(rule.as_str()),
                    Decision::Ask => !is_denied,
                    Decision::Allow => false,
                };
                if !fits {
                    writeln!(wrong, "{rule}: {line:?} is {:?}: {}", found.decision, found.words()).unwrap();
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn a_question_names_the_rule_that_may_be_meant() {
    let permissions = denying(&["Bash(never:*)", "Bash(git push:*)", "Bash(curl:*)"]);
    let why = permissions.reason(&inside("git $x"));
    assert!(why.contains("deny Bash(git push:*)") && why.contains("known only at run time"), "{why}");
    let why = permissions.reason(&inside("EDITOR=curl git commit"));
    assert!(why.contains("deny Bash(curl:*)"), "{why}");
    let why = permissions.reason(&inside("cat > x.sh <<'E'\ncurl x\nE"));
    assert!(why.contains("deny Bash(curl:*)"), "{why}");
}

#[test]
fn a_line_is_judged_in_bounded_time_however_it_is_made_and_however_many_rules_there_are() {
    let many: Vec<String> = (0..200).map(|at| format!("Bash(tool{at} * x{at}*)")).collect();
    let mut rules: Vec<&str> = many.iter().map(String::as_str).collect();
    rules.extend(["Bash(rm:*)", "Bash(*never*)"]);
    let permissions = denying(&rules);
    let here_documents: String = (0..8_000).fold("cat".to_owned(), |line, at| line + &format!(" <<a{at}"));
    let lines = [
        here_documents,
        "#a".repeat(16_000),
        "@(a|".repeat(12_000),
        "a|".repeat(20_000),
        "a <<<".repeat(9_000),
        "$a".repeat(20_000),
        "rm $a ".repeat(7_000),
        "rm -a ".repeat(7_000),
        "tool1 $a * ".repeat(4_000),
        "((".repeat(20_000),
        "sudo ".repeat(9_000),
        "xargs ".repeat(8_000),
        "flock bash ".repeat(4_000),
        "bash -c 'ls; ' ; ".repeat(2_500),
        "cat <<a\n".repeat(5_000),
        format!("cat <<a\n{}\na", "$(ls) ".repeat(7_000)),
        format!("eval {}", "a ".repeat(20_000)),
    ];
    let mut slow = String::new();
    for line in lines {
        for access in [inside(&line), execute(&line)] {
            let began = Instant::now();
            permissions.evaluate(&access);
            if began.elapsed() > Duration::from_secs(3) {
                writeln!(slow, "{}: {:?}", line.chars().take(30).collect::<String>(), began.elapsed()).unwrap();
            }
        }
    }
    assert!(slow.is_empty(), "{slow}");
}
