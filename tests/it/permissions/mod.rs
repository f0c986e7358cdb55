//! What is allowed, refused or asked: decisions, grants, and which commands only read.

use belvedere::permission::{
    Access, AccessKind, Confinement, Decision, Grant, Grants, Holder, PermissionMode, Permissions, Places, Project,
    Rule, RuleEffect, RuleOrigin, RuleSet, decide, is_read_only,
};
use proptest::prelude::*;

use crate::support::standard_tools;

mod allowed;
pub(crate) mod bypasses;
mod denials;
mod fence;
mod lasting;
mod prefixes;
mod project;
mod rules;
mod ruleset;

const PROJECT: &str = "/work/shop";

fn read(path: &str) -> Access {
    Access::new("Read", AccessKind::Read { path: path.into() })
}

fn write(path: &str) -> Access {
    Access::new("Edit", AccessKind::Write { path: path.into() })
}

fn execute(command: &str) -> Access {
    Access::new("Bash", AccessKind::Execute { command: command.to_owned(), confinement: Confinement::Guard })
}

/// Returns rules of the project's settings.
fn ruleset(effect: RuleEffect, entries: &[&str]) -> RuleSet {
    let places = Places { project: PROJECT.as_ref(), home: Some("/home/me".as_ref()) };
    RuleSet::default().with(effect, &settings(), entries.iter().map(|entry| rule(entry, places)))
}

fn settings() -> RuleOrigin {
    RuleOrigin::Settings("/work/shop/.claude/settings.json".into())
}

/// Reads an entry of a list of tools.
fn rule(entry: &str, places: Places<'_>) -> Rule {
    Rule::parse(entry, places, |tool| standard_tools().kind_of(tool))
}

fn in_mode(mode: PermissionMode, access: &Access) -> Decision {
    decide(mode, (&Grants::default(), &Holder::Main), &Project::at(PROJECT.into()), access)
}

fn granted(grant: &str, access: &Access) -> Decision {
    let grants = Grants::from_iter([grant.parse::<Grant>().unwrap()]);
    decide(PermissionMode::Default, (&grants, &Holder::Main), &Project::at(PROJECT.into()), access)
}

#[test]
fn reading_inside_the_project_is_free_and_all_else_asks() {
    let default = |access| in_mode(PermissionMode::Default, &access);
    assert_eq!(default(read("/work/shop/src/main.rs")), Decision::Allow);
    assert_eq!(default(read("/work/shop")), Decision::Allow);
    assert_eq!(default(read("/work/shop-secrets/key")), Decision::Ask);
    assert_eq!(default(read("/etc/passwd")), Decision::Ask);
    assert_eq!(default(write("/work/shop/src/main.rs")), Decision::Ask);
    assert_eq!(default(execute("cargo test")), Decision::Ask);
    assert_eq!(default(execute("git log --oneline -n 5")), Decision::Allow);
}

#[test]
fn accept_edits_covers_plain_project_files_only() {
    let accepting = |path: &str| in_mode(PermissionMode::AcceptEdits, &write(path));
    assert_eq!(accepting("/work/shop/src/main.rs"), Decision::Allow);
    for machinery in
        [".git/config", "sub/.git/hooks/pre-commit", ".GIT/config", ".claude/settings.json", ".belvedere/x"]
    {
        assert_eq!(accepting(&format!("{PROJECT}/{machinery}")), Decision::Ask, "{machinery}");
    }
    assert_eq!(accepting("/work/other/file"), Decision::Ask);
    assert_eq!(in_mode(PermissionMode::AcceptEdits, &execute("touch x")), Decision::Ask);
}

#[test]
fn plan_mode_refuses_in_words_even_what_was_granted() {
    let grants = Grants::from_iter([Grant::Tool("Bash".to_owned()), Grant::Edits]);
    for access in [execute("cargo test"), write("/work/shop/a.rs")] {
        let decision = decide(PermissionMode::Plan, (&grants, &Holder::Main), &Project::at(PROJECT.into()), &access);
        assert!(matches!(decision, Decision::Deny(words) if words.contains("Plan mode")), "{access:?}");
    }
    assert_eq!(in_mode(PermissionMode::Plan, &execute("git status")), Decision::Allow);
    assert_eq!(in_mode(PermissionMode::BypassPermissions, &execute("rm -rf /")), Decision::Allow);
}

#[test]
fn queries_are_read_only() {
    for command in [
        "pwd",
        "ls",
        "ls -la",
        "git status --short",
        "git log --oneline -n 20",
        "git log -5 --format=%h,%s -- src/main.rs",
        "git --no-pager show HEAD~2:src/lib.rs",
        "git blame -p src/lib.rs",
        "git shortlog -sn HEAD",
        "git rev-parse --abbrev-ref HEAD",
    ] {
        assert!(is_read_only(command), "{command}");
    }
}

#[test]
fn nothing_hostile_is_read_only() {
    for command in [
        "",
        "rm -rf .",
        "ls src",
        "ls ../..",
        "ls /etc",
        "ls ~",
        "ls ~root/.ssh",
        "ls a=~/.ssh",
        "ls src/../../x",
        "ls -la --color=auto",
        "ls; rm x",
        "ls && rm x",
        "ls | sh",
        "ls > x",
        "ls $(rm x)",
        "ls `rm x`",
        "ls\nrm x",
        "ls\rrm x",
        "ls\trm",
        "ls \u{a0}x",
        "l\u{455} src",
        "git log --output=x",
        "git log --output x",
        "git log -O../order",
        "git log; rm x",
        "git -c core.pager=x log",
        "git -C /tmp log",
        "git --git-dir=/tmp/x log",
        "git --exec-path=. log",
        "git -p log",
        "git log --ext-diff",
        "git log --show-signature",
        "git log --format=%G?",
        "git log --format=%GS",
        "git show --textconv HEAD",
        "git blame --contents ../x y",
        "git log -- ../other",
        "git show HEAD:../x",
        "git diff --no-index /etc/passwd x",
        "git grep -O x",
        "git commit -m x",
        "git config core.editor x",
        "git rev-parse --git-path /x",
        "GIT_PAGER=x git log",
        "/bin/ls",
        "./git log",
        "date -s now",
    ] {
        assert!(!is_read_only(command), "{command:?}");
    }
}

#[test]
fn a_prefix_covers_simple_commands_of_the_same_words() {
    for covered in ["npm test", "npm test -- --watch", "npm  test", "npm\ttest", "npm test \"a b\""] {
        assert_eq!(granted("Bash(npm test:*)", &execute(covered)), Decision::Allow, "{covered:?}");
    }
    assert_eq!(granted("Bash(npm test *)", &execute("npm test --watch")), Decision::Allow);
}

#[test]
fn no_sign_of_the_shell_is_part_of_a_simple_command() {
    for sign in "\n;&|<>`$(){}\\*?[~".chars() {
        let command = format!("npm test a {sign} b");
        assert_eq!(granted("Bash(npm test:*)", &execute(&command)), Decision::Ask, "{command:?}");
    }
    for quoted in ["npm test 'src/**/*.js'", "npm test \"a?\" '~'", "npm test a~b"] {
        assert_eq!(granted("Bash(npm test:*)", &execute(quoted)), Decision::Allow, "{quoted:?}");
    }
}

#[test]
fn git_that_cannot_be_guarded_is_asked_about() {
    let unguarded = |command: &str| {
        Access::new("Bash", AccessKind::Execute { command: command.to_owned(), confinement: Confinement::None })
    };
    for command in ["ls", "date", "git status", "git log -p"] {
        assert_eq!(in_mode(PermissionMode::Default, &execute(command)), Decision::Allow, "{command}");
        assert_eq!(in_mode(PermissionMode::Default, &unguarded(command)), Decision::Ask, "{command}");
        assert!(matches!(in_mode(PermissionMode::Plan, &unguarded(command)), Decision::Deny(_)), "{command}");
    }
    assert_eq!(granted("Bash(git diff:*)", &execute("git diff HEAD")), Decision::Allow);
    assert_eq!(granted("Bash(git diff:*)", &unguarded("git diff HEAD")), Decision::Ask);
    assert_eq!(granted("Bash(git push:*)", &unguarded("git push origin")), Decision::Allow);
    let old: Access = serde_json::from_str(r#"{"tool":"Bash","kind":"execute","command":"ls"}"#).unwrap();
    assert_eq!(old, unguarded("ls"), "a log of an earlier version");
}

#[test]
fn a_command_grant_covers_that_command_only() {
    assert_eq!(granted("Bash(make all)", &execute("  make all\n")), Decision::Allow);
    for other in ["make all x", "make all\u{a0}", "make  all", "make all\r"] {
        assert_eq!(granted("Bash(make all)", &execute(other)), Decision::Ask, "{other:?}");
    }
}

#[test]
fn tools_and_folders_can_be_granted() {
    assert_eq!(granted("Bash", &execute("rm x")), Decision::Allow);
    assert_eq!(granted("Bash(*)", &execute("rm x; rm y")), Decision::Allow);
    assert_eq!(granted("Bash", &write("/work/shop/x")), Decision::Ask);
    assert_eq!(granted("Read(/etc)", &read("/etc/hosts")), Decision::Allow);
    assert_eq!(granted("Read(/etc)", &read("/etcetera")), Decision::Ask);
    assert_eq!("Task".parse::<Grant>().unwrap(), Grant::Tool("Agent".to_owned()));
}

#[test]
fn what_is_no_permission_is_refused_with_an_example() {
    for text in ["", "Bash(", "Bash()", "Bash(:*)", "Bash( *)x", "two words", "Read(src)", "Read(/a/../b)", "Write(x)"]
    {
        let error = text.parse::<Grant>().unwrap_err().to_string();
        assert!(error.contains("Bash(prefix:*)"), "{text:?}: {error}");
    }
}

#[test]
fn always_offers_the_narrowest_grant_of_use() {
    let permissions = Permissions::new(Project::at(PROJECT.into()), PermissionMode::Default, Grants::default());
    assert_eq!(permissions.offer(&execute(" make all ")), Some(Grant::Command("make all".to_owned())));
    assert_eq!(permissions.offer(&write("/work/shop/a.rs")), Some(Grant::Edits));
    assert_eq!(permissions.offer(&write("/work/shop/.git/config")), None);
    assert_eq!(permissions.offer(&execute("cat :*")), None, "it would be read back as every `cat`");

    let access = execute("make all");
    assert_eq!(permissions.decide(&access), Decision::Ask);
    permissions.grant(permissions.offer(&access).unwrap());
    assert_eq!(permissions.decide(&access), Decision::Allow);
}

proptest! {
    #[test]
    fn an_offered_grant_survives_being_written_down(command in ".{0,40}", path in "/[a-z .)(*:]{0,12}") {
        let permissions = Permissions::new(Project::at(PROJECT.into()), PermissionMode::Default, Grants::default());
        for access in [execute(&command), read(&path)] {
            if let Some(grant) = permissions.offer(&access) {
                let json = serde_json::to_string(&grant).unwrap();
                prop_assert_eq!(serde_json::from_str::<Grant>(&json).unwrap(), grant);
            }
        }
    }

    #[test]
    fn a_read_only_command_is_one_simple_line(command in "(git (log|show|status)|ls)[ -~\n\t]{0,20}") {
        if is_read_only(&command) {
            let chained = command.contains(['\n', ';', '&', '|', '<', '>', '$', '`', '(', '\\', '\'', '"', '*', '{', '\t']);
            prop_assert!(!chained);
        }
    }
}
