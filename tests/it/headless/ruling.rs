//! `belvedere permissions check` and what is refused with `-p`: which rule is named, and what is no call.

use std::process::Output;

use super::{Bench, text};

fn said(output: &Output) -> String {
    text(&output.stdout) + &text(&output.stderr)
}

fn check(bench: &Bench, call: &str) -> (i32, String) {
    let output = bench.command(&["permissions", "check", call]).output().unwrap();
    (output.status.code().unwrap(), said(&output))
}

#[test]
fn what_is_no_call_is_refused_with_the_way_to_write_one() {
    let bench = Bench::new();
    for (entry, words) in [
        ("", "write a call such as"),
        ("   ", "write a call such as"),
        ("git push", "write \"Bash(git push)\""),
        ("npm", "write \"Bash(npm)\""),
        ("Foo(x)", "there is no tool `Foo`"),
        ("Bash(x", "no closing parenthesis"),
        ("Bash", "name a command"),
        ("(x)", "write a call such as"),
    ] {
        let (status, said) = check(&bench, entry);
        assert!(status == 2 && said.contains(words), "{entry:?}: {status} {said}");
    }
}

#[test]
fn rules_come_first_for_every_kind_of_call() {
    let bench = Bench::new();
    let denied = ["Skill(deploy)", "WebFetch", "mcp__git", "Agent(plan)", "Bash(git add -A*)", "NotebookEdit"];
    let denied = serde_json::json!({ "permissions": { "deny": denied, "allow": ["Bash(npm test:*)"] } });
    bench.at_home(".claude/settings.json", &denied.to_string());
    for (call, rule) in [
        ("Skill(deploy)", "deny Skill(deploy)"),
        ("WebFetch(domain:docs.rs)", "deny WebFetch"),
        ("WebFetch", "deny WebFetch"),
        ("mcp__git__push", "deny mcp__git"),
        ("Agent(plan)", "deny Agent(plan)"),
        ("Task(plan)", "deny Agent(plan)"),
        ("Bash(FOO=1 git -C . add -A)", "deny Bash(git add -A*)"),
    ] {
        let (status, said) = check(&bench, call);
        assert!(status == 1 && said.contains(rule), "{call}: {status} {said}");
    }
    for (call, status) in [
        ("Skill(other)", 0),
        ("mcp__files__read", 4),
        ("Agent(explore)", 0),
        ("Bash(npm test)", 0),
        ("Bash( \tnpm test )", 0),
        ("Bash(\u{a0}npm test)", 4),
        ("TodoWrite", 0),
    ] {
        let found = check(&bench, call);
        assert_eq!(found.0, status, "{call:?}: {}", found.1);
    }
}

#[test]
fn a_rule_about_a_path_elsewhere_on_the_disk_is_named_as_one_of_the_project() {
    let bench = Bench::new();
    bench.at_home("keys/a", "x");
    let home = bench.home.path().canonicalize().unwrap();
    let wrong = format!("Read({}/keys/**)", home.display());
    let settings =
        serde_json::json!({ "permissions": { "deny": [wrong, "Read(/src/**)", "Read(~/keys/**)", "Read(/none)"] } });
    bench.at_home(".claude/settings.json", &settings.to_string());
    for args in [vec!["permissions"], vec!["permissions", "check", "Read(src/lib.rs)"], vec!["doctor"]] {
        let said = said(&bench.command(&args).output().unwrap());
        let notes: Vec<&str> = said.lines().filter(|line| line.contains("for the path on your disk")).collect();
        assert!(
            notes.len() == 1 && notes[0].contains(&format!("`Read(/{}/keys/**)`", home.display())),
            "{args:?}: {said}"
        );
    }
}

#[test]
fn a_refusal_names_the_rule_about_files_and_no_flag_that_would_not_help() {
    let bench = Bench::new();
    bench.file("secret.txt", "CANARY\n");
    let rules = r#"{"permissions": {"deny": ["Read(other.txt)", "Read(secret.txt)"]}}"#;
    bench.at_home(".claude/settings.json", rules);
    for flags in [vec!["--output-format", "events"], vec!["--allowedTools", "Bash(cat:*)", "--output-format", "events"]]
    {
        let output = bench.ask("run `cat secret.txt | head`", &flags);
        let said = said(&output);
        assert!(said.contains("deny Read(secret.txt)"), "{flags:?}: {said}");
        assert!(
            !said.contains("start with --allowedTools") && !said.contains("allow with --allowedTools"),
            "{flags:?}: {said}"
        );
        assert!(!said.contains("CANARY"), "{said}");
    }
}
