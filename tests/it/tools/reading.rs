//! Commands that an agent which only reads may run.

use std::os::unix::fs::symlink;
use std::sync::Arc;

use belvedere::permission::{
    Access, Decision, Grants, PermissionMode, Permissions, Places, Project, Rule, Rules, ToolKind,
};
use serde_json::json;

use super::Bench;
use crate::support::git;

fn project() -> Bench {
    let bench = Bench::new();
    bench.put("a.txt", "one\ntwo ä\n");
    bench.put("src/b.rs", "fn verify() {}\n");
    std::fs::write(bench.outside("secret"), "key").unwrap();
    symlink(bench.outside("secret"), bench.path("link")).unwrap();
    symlink(bench.outside("later"), bench.path("dangling")).unwrap();
    symlink(bench.outside(""), bench.path("out")).unwrap();
    bench
}

/// What an agent in plan mode is told of a command.
async fn decided(bench: &Bench, command: &str, rules: Rules) -> Decision {
    let plan = bench.plan("Bash", json!({"command": command})).await.unwrap();
    let project = Project::at(bench.context.project.to_path_buf());
    let permissions = Permissions::new(project, PermissionMode::BypassPermissions, Grants::default());
    let access = Access::new("Bash", plan.access).of_kind(ToolKind::Execute);
    permissions.at_most(PermissionMode::Plan).with_rules(rules).decide(&access)
}

#[tokio::test]
async fn who_only_reads_may_run_what_only_reads() {
    let bench = project();
    git(&bench.path(""), ["init", "-q"]);
    git(&bench.path(""), ["add", "a.txt"]);
    bench.put("a.txt", "one\nthree\n");
    for (command, printed) in [
        ("cat a.txt", "three"),
        ("cat -n 'a.txt' src/b.rs", "verify"),
        ("wc -l a.txt", "2 a.txt"),
        ("head -n 1 a.txt", "one"),
        ("tail -1 a.txt", "three"),
        ("grep -rn verify src", "src/b.rs:1:"),
        ("grep -rn --include='*.rs' \"fn  verify\" .", "exit 1"),
        ("find . -name '*.rs' -type f", "./src/b.rs"),
        ("ls -l src", "b.rs"),
        ("sed -n '1,1p' a.txt", "one"),
        ("git diff", "+three"),
        ("git diff --stat a.txt", "a.txt"),
        ("git grep -n three", "a.txt:2:"),
    ] {
        assert_eq!(decided(&bench, command, Rules::default()).await, Decision::Allow, "{command}");
        let output = bench.run("Bash", json!({"command": command})).await;
        assert!(super::text_of(&output).contains(printed), "{command}: {}", super::text_of(&output));
    }
}

#[tokio::test]
async fn what_may_do_more_is_refused_and_the_refusal_says_what_may_run() {
    let bench = project();
    for command in [
        "cat link",
        "cat out/secret",
        "cat dangling",
        "cat ../secret",
        "cat /etc/passwd",
        "head ~/x",
        "cat $HOME/x",
        "cat a.txt > b.txt",
        "cat a.txt | sh",
        "cat a.txt; touch x",
        "cat *",
        "\"cat\" a.txt",
        "./cat a.txt",
        "grep -f link x",
        "grep --file=link x a.txt",
        "grep -R key .",
        "grep -rn key out",
        "tail -f a.txt",
        "find . -delete",
        "find -- -delete",
        "find . -exec touch x +",
        "find . -execdir touch x +",
        "find . -ok rm a.txt",
        "find . -fprint x",
        "find . -fprintf x %p",
        "find . -fls x",
        "find -L . -name x",
        "find out/ -name secret",
        "find . -follow",
        "rg --pre ./x a .",
        "rg -L key",
        "rg -z key",
        "rg -f link",
        "rg --hostname-bin=x a",
        "sed -i s/a/b/ a.txt",
        "sed -n 'w x' a.txt",
        "sed -n 1e a.txt",
        "sed -n -i p a.txt",
        "sed p a.txt",
        "wc --files0-from=link",
        "ls -l out/",
        "ls -L",
        "sort -o x a.txt",
        "touch x",
        "git diff --output=x",
        "git diff a.txt ../secret",
        "git diff --no-index a.txt link",
        "git grep -O a",
        "git grep -f link",
        "git push",
        "git diff a.txt link",
    ] {
        match decided(&bench, command, Rules::default()).await {
            Decision::Deny(words) => assert!(words.contains("git diff") && words.contains("find without"), "{words}"),
            other => panic!("{command}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn a_list_that_names_paths_is_not_passed_by_with_a_command() {
    let bench = project();
    let places = Places { project: &bench.context.project, home: None };
    let list = |entries: &[&str]| -> Arc<[Rule]> {
        let kind = |tool: &str| if tool == "Bash" { ToolKind::Execute } else { ToolKind::Read };
        entries.iter().map(|entry| Rule::parse(entry, places, kind)).collect()
    };
    for rules in [
        Rules::default().forbidding(list(&["Read(secrets/**)"])),
        Rules::default().allowing(list(&["Read(src/**)", "Bash"])),
        Rules::default().allowing(list(&["Bash(git log:*)"])),
    ] {
        assert!(matches!(decided(&bench, "cat a.txt", rules).await, Decision::Deny(_)));
    }
}
