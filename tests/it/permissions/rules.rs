//! Entries of an agent's lists of tools: what each lets through, and what it keeps away.

use std::path::Path;
use std::sync::Arc;

use belvedere::permission::{
    Access, AccessKind, Confinement, Decision, Grants, PermissionMode, Permissions, Places, Project, Rule, Rules,
};
use proptest::prelude::*;

use super::{PROJECT, execute, rule};
use crate::support::standard_tools;

fn rules(entries: &[&str]) -> Arc<[Rule]> {
    let places = Places { project: Path::new(PROJECT), home: Some(Path::new("/home/me")) };
    entries.iter().map(|entry| rule(entry, places)).collect()
}

fn decided(rules: Rules, access: &Access) -> bool {
    let permissions =
        Permissions::new(Project::at(PROJECT.into()), PermissionMode::BypassPermissions, Grants::default());
    permissions.with_rules(rules).decide(access) == Decision::Allow
}

fn allows(entries: &[&str], access: &Access) -> bool {
    decided(Rules::default().allowing(rules(entries)), access)
}

fn spares(entries: &[&str], access: &Access) -> bool {
    decided(Rules::default().forbidding(rules(entries)), access)
}

fn reading(tool: &str, path: &str) -> Access {
    Access::new(tool, AccessKind::Read { path: path.into() }).of_kind(standard_tools().kind_of(tool))
}

fn writing(tool: &str, path: &str) -> Access {
    Access::new(tool, AccessKind::Write { path: path.into() })
}

#[test]
fn a_path_is_relative_to_the_project_the_home_or_the_disk() {
    for (entry, path) in [
        ("Read(src/**)", "/work/shop/src/a/b.rs"),
        ("Read(./src/**)", "/work/shop/src/a/b.rs"),
        ("Read(/src/**)", "/work/shop/src/a/b.rs"),
        ("Read(src)", "/work/shop/src/a.rs"),
        ("Read(src/*.rs)", "/work/shop/src/a.rs"),
        ("Read(*.rs)", "/work/shop/src/deep/a.rs"),
        ("Read(~/notes/**)", "/home/me/notes/a"),
        ("Read(//etc/hosts)", "/etc/hosts"),
        ("Read(../other/**)", "/work/other/a"),
        ("Read(**)", "/work/shop/a/b"),
        ("Read(*)", "/anywhere"),
        ("FileRead(src/**)", "/work/shop/src/a.rs"),
    ] {
        assert!(allows(&[entry], &reading("Read", path)), "{entry} {path}");
    }
    for (entry, path) in [
        ("Read(src/**)", "/work/shop/lib/a.rs"),
        ("Read(src/**)", "/work/shop/srcs/a.rs"),
        ("Read(src/*.rs)", "/work/shop/src/deep/a.rs"),
        ("Read(**)", "/etc/passwd"),
        ("Read(src/[)", "/work/shop/src/["),
        ("Read()", "/work/shop/a"),
        ("Read(src/**", "/work/shop/src/a.rs"),
        ("Grep(src/**)", "/work/shop/src/a.rs"),
        ("WebFetch(domain:x)", "/work/shop/a"),
    ] {
        assert!(!allows(&[entry], &reading("Read", path)), "{entry} {path}");
    }
    assert!(allows(&["Grep(src/**)"], &reading("Grep", "/work/shop/src")));
    assert!(!allows(&["Grep(src/**)"], &reading("Grep", "/work/shop")));
}

#[test]
fn a_forbidden_path_is_so_for_every_tool_of_its_sort() {
    assert!(!spares(&["Write(docs/**)"], &writing("Edit", "/work/shop/docs/a.md")));
    assert!(!spares(&["Edit(docs/**)"], &writing("Write", "/work/shop/docs/a.md")));
    assert!(spares(&["Edit(docs/**)"], &reading("Read", "/work/shop/docs/a.md")));
    assert!(!spares(&["Read(.env)"], &reading("Read", "/work/shop/deep/.env")));
    assert!(!spares(&["Read(secrets/**)"], &reading("Grep", "/work/shop")), "it would search there as well");
    assert!(!spares(&["Read(secrets/**)"], &reading("LS", "/work/shop/secrets/deep")));
    assert!(spares(&["Read(secrets/**)"], &reading("Grep", "/work/shop/src")));
    assert!(spares(&["Read(secrets/**)"], &reading("LS", "/work/shop")));
    assert!(!spares(&["Read(src/[)"], &reading("Read", "/work/shop/a")), "what is not understood forbids all");
}

#[test]
fn allowed_commands_are_single_and_plain() {
    let scopes = ["Bash(npm test:*)", "Bash(git log)", "Bash(cargo * --locked)"];
    for command in ["npm test", "npm test -- --watch", "git log", " git log\n", "cargo build --locked"] {
        assert!(allows(&scopes, &execute(command)), "{command:?}");
    }
    for command in
        ["npm testing", "npm test; rm x", "npm test $(rm x)", "git log -p", "cargo build --locked; x --locked", "ls"]
    {
        assert!(!allows(&scopes, &execute(command)), "{command:?}");
    }
    assert!(allows(&["Bash(npm test:*)", "Bash"], &execute("ls; ls")), "one entry suffices");
    assert!(allows(&["Bash(*)"], &execute("ls; ls")));
}

#[test]
fn lists_have_to_agree_and_never_allow_what_the_mode_does_not() {
    let both = Rules::default().allowing(rules(&["Bash(git:*)", "Bash(git add:*)"])).allowing(rules(&[
        "Bash(git log:*)",
        "Bash(git add:*)",
        "Read",
    ]));
    assert!(decided(both.clone(), &execute("git log -p")));
    assert!(!decided(both.clone(), &execute("git push")));
    assert!(!decided(both.clone(), &reading("Read", "/work/shop/a")));
    let permissions =
        Permissions::new(Project::at(PROJECT.into()), PermissionMode::Default, Grants::default()).with_rules(both);
    assert_eq!(permissions.decide(&execute("git add a.txt")), Decision::Ask);
    assert_eq!(permissions.decide(&execute("git log --author=x")), Decision::Allow, "what only reads is free");
    assert!(matches!(permissions.decide(&execute("git log --output=x")), Decision::Deny(_)), "it writes a file");
}

#[test]
fn with_a_command_forbidden_git_runs_under_guard_only() {
    let unguarded =
        Access::new("Bash", AccessKind::Execute { command: "git status".to_owned(), confinement: Confinement::None });
    assert!(spares(&["Bash(touch:*)"], &execute("git status")));
    assert!(!spares(&["Bash(touch:*)"], &unguarded));
    assert!(!allows(&["Bash(git status:*)"], &unguarded), "an entry that allows is no way round it");
    let permissions =
        Permissions::new(Project::at(PROJECT.into()), PermissionMode::BypassPermissions, Grants::default())
            .with_rules(Rules::default().forbidding(rules(&["Bash(touch:*)"])));
    let Decision::Deny(why) = permissions.decide(&unguarded) else { panic!("it runs") };
    assert!(why.contains("one plain query"), "{why}");
}

/// What is known to run what its arguments say; the program's own list must not lose one.
#[rustfmt::skip]
const RUNNERS: [&str; 45] = [
    "alias", "ash", "bash", "builtin", "bun", "busybox", "case", "chroot", "command", "coproc", "csh", "dash", "deno",
    "doas", "enable", "env", "eval", "exec", "fish", "function", "ionice", "ksh", "nice", "nohup", "nsenter",
    "osascript", "parallel", "script", "select", "setsid", "sh", "source", "ssh", "stdbuf", "strace", "su", "sudo",
    "tcsh", "time", "timeout", "trap", "unshare", "watch", "xargs", "zsh",
];

#[test]
fn what_runs_its_arguments_is_refused_in_these_words() {
    let permissions =
        Permissions::new(Project::at(PROJECT.into()), PermissionMode::BypassPermissions, Grants::default())
            .with_rules(Rules::default().forbidding(rules(&["Bash(rm:*)"])));
    for runner in RUNNERS {
        let refusal = |line: String| match permissions.decide(&execute(&line)) {
            Decision::Deny(why) => why,
            decision => panic!("{line}: {decision:?}"),
        };
        let why = refusal(format!("/usr/bin/{runner} make x"));
        // Some only wrap what they run, and so are seen through.
        let is_told = why.contains("it contains a command that runs other commands")
            || why.contains("it runs a program that may start others");
        assert!(is_told, "{runner}: {why}");
        let why = refusal(format!("/usr/bin/{runner} rm x"));
        assert!(why.contains("This agent may not do that") || why.contains("might do it"), "{runner}: {why}");
    }
}

#[test]
fn a_forbidden_form_is_found_wherever_it_may_stand() {
    assert!(!spares(&["Bash(*curl*)"], &execute("a curl x")));
    assert!(!spares(&["Bash(*curl*)"], &execute("wc $f")), "the variable may hold anything");
    assert!(!spares(&["Bash(a; b)"], &execute("a; b")), "as written");
}

#[test]
fn kinds_and_patterns_of_names() {
    let may = |list: &[&str], kind| Rules::default().allowing(rules(list)).allow_kind(kind);
    assert!(may(&["Agent(explore, Code Reviewer)"], "code-reviewer") && may(&["Task(explore)"], "Explore"));
    assert!(!may(&["Agent(explore)"], "plan") && !may(&["Read"], "plan") && !may(&["Agent()"], "plan"));
    assert!(may(&["Agent(explore)", "Agent"], "plan") && may(&["*"], "plan") && may(&["Agent(*)"], "plan"));
    let spared = |kind| Rules::default().forbidding(rules(&["Agent(plan)"])).allow_kind(kind);
    assert!(spared("explore") && !spared("Plan"));
    let used = |entry: &str, tool: &str| allows(&[entry], &Access::new(tool, AccessKind::Nothing));
    assert!(used("mcp__git__*", "mcp__git__log") && used("mcp__git", "mcp__git__log") && used("*", "TodoWrite"));
    assert!(!used("mcp__git__*", "mcp__github__log") && !used("mcp__git", "mcp__github__log"));
    assert!(!used("mcp__git__log", "mcp__git__logs"));
}

proptest! {
    #[test]
    fn no_entry_and_no_line_breaks_it(entry in ".{0,30}", command in ".{0,60}", path in "/[ -~]{0,30}") {
        let entry = [entry.as_str()];
        for access in [execute(&command), reading("Read", &path), writing("Edit", &path)] {
            let _ = (allows(&entry, &access), spares(&entry, &access));
        }
    }

    #[test]
    fn a_command_after_anything_is_found_or_the_line_refused(before in "[a-z0-9 ;&|\n$`'\"(){}<>#\\\\=*-]{0,24}", after in "[a-z ;&|\n)}`'\"]{0,12}") {
        // Where both halves are whole, what stands between them on a line of its own runs.
        let scopes = ["Bash(rm:*)"];
        let halves = [&before, &after].iter().all(|half| spares(&scopes, &execute(half)));
        let goes_on = before.ends_with('\\');
        if halves && !goes_on {
            let whole = format!("{before}\nrm x\n{after}");
            prop_assert!(!spares(&scopes, &execute(&whole)), "{:?}", whole);
        }
    }
}

#[test]
fn a_tool_that_an_agent_file_denies_is_that_tool_alone() {
    let by_write = Access::new("Write", AccessKind::Write { path: "/work/shop/a".into() });
    let by_grep = Access::new("Grep", AccessKind::Read { path: "/work/shop".into() });
    assert!(spares(&["Edit"], &by_write) && spares(&["Read"], &by_grep));
    assert!(!spares(&["Write"], &by_write) && !spares(&["Grep"], &by_grep));
}
