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

/// Lines that run, or may run, what [`FORBIDDEN`] names.
const HIDDEN: &[&str] = &[
    "rm x",
    "RM x",
    "/bin/rm x",
    "./rm x",
    "\\rm x",
    "r\\m x",
    "'rm' x",
    "r''m x",
    "\"rm\" x",
    "ls; rm x",
    "ls && rm x",
    "ls || rm x",
    "ls | rm x",
    "ls & rm x",
    "ls\nrm x",
    "(rm x)",
    "{ rm x; }",
    "$(rm x)",
    "echo $(rm x)",
    "echo \"$(rm x)\"",
    "echo `rm x`",
    "echo \"`rm x`\"",
    "X=1 rm x",
    "! rm x",
    "time rm x",
    "if rm x; then ls; fi",
    "while true; do rm x; done",
    "f() { rm x; }",
    ">x rm y",
    "2>&1 rm y",
    "cat <(rm x)",
    "echo a >(rm x)",
    "ls # it's\nrm x\n# it's",
    "rm\tx",
    "git push",
    "git push origin",
    "git -C . push",
    "git --no-pager push",
    "git &>/dev/null push",
    "git $x",
    "git p*h",
    "git {push,x}",
    "npm publish",
    "curl x",
    "a curl x",
    "sudo rm x",
    "env rm x",
    "eval 'rm x'",
    "sh -c 'rm x'",
    "bash x.sh",
    "xargs rm",
    "find . -exec rm {} +",
    "$x",
    "${x} y",
    "/bin/r? x",
    "x=rm; $x y",
    "cat <<E\nrm x\nE",
    "python -c 'x'",
    "perl -e x",
    "node",
    "exec rm x",
    "command rm x",
    "case x in y) rm z;; esac",
    "echo 'open",
    "echo \"open",
    "echo $(open",
    "echo `a \\`rm x\\``",
    "(rm x",
    "ls )",
    "echo $'\\x72m'",
    ". ./x",
    "echo ${x:-$(rm x)}",
    "/usr/bin/time rm x",
    "nohup rm x",
    "timeout 5 rm x",
    "for f in a; do rm $f; done",
];

/// Lines that do not, because all that they run only reads.
const HARMLESS: &[&str] = &[
    "ls",
    "ls -la | grep rm",
    "echo 'rm x'",
    "echo \"; rm x\"",
    "git --no-pager log -p",
    "grep -rn git src",
    "cat x >&2; ls 2>&1 1>&- 3>&1",
    "printf '%s\\n' a",
    "for file in *.rs src/b.rs; do head -n 3 \"$file\"; done",
    "echo rm",
    "for f in a b; do wc $f; done",
    "[ -f x ] && cat x",
    "echo \"$HOME\"",
    "ls # rm x",
    "find . -name x",
    "echo a\\;rm",
    "grep 'a|b' *.rs",
    "/usr/bin/head -n 3 x 2>/dev/null",
    "cat x 2>&1 | sort -u | tail -5",
    "(cd x; pwd) | wc -l",
    "date -u +%F",
];

/// Lines that make a file `CANARY` although `touch` is forbidden, some by another writer.
const EVADING: &[&str] = &[
    "awk 'BEGIN{system(\"touch CANARY\")}'",
    "sed '1e touch CANARY' a.txt",
    "sed -n 's/one/touch CANARY/e' a.txt",
    "python3.11 -c 'import os; os.system(\"touch CANARY\")'",
    "perl5.36.0 -e 'system(\"touch CANARY\")'",
    "node --eval='require(\"child_process\").execSync(\"touch CANARY\")'",
    "python3 x.py",
    "git -c alias.x='!touch CANARY' x",
    "git -c core.fsmonitor='touch CANARY' status",
    "tar cf /dev/null a.txt --checkpoint=1 --checkpoint-action=exec='touch CANARY'",
    "hash -p /usr/bin/touch ls; ls CANARY",
    "mapfile -C 'touch CANARY #' -c 1 x <a.txt",
    "/lib64/ld-linux-x86-64.so.2 /usr/bin/touch CANARY",
    "flock x touch CANARY",
    "taskset 1 touch CANARY",
    "prlimit touch CANARY",
    "choom -n 0 touch CANARY",
    "chrt -o 0 touch CANARY",
    "setpriv touch CANARY",
    "runuser -u root touch CANARY",
    "start-stop-daemon --start --exec /usr/bin/touch -- CANARY",
    "capsh -- -c 'touch CANARY'",
    "npx -c 'touch CANARY'",
    "npm exec -c 'touch CANARY'",
    "vim -c '!touch CANARY' -c q",
    "ed a.txt",
    "gdb -batch -ex 'shell touch CANARY'",
    "sqlite3 :memory: '.shell touch CANARY'",
    "ln -s /usr/bin/touch t; ./t CANARY",
    "cp /usr/bin/touch t; ./t CANARY",
    "./script.sh",
    "make canary",
    "> CANARY",
    "echo x >> CANARY",
    "echo x >| CANARY",
    "cat x &> CANARY",
    "cat x <> CANARY",
    "tee CANARY",
    "dd of=CANARY",
    "cp a.txt CANARY",
    "install a.txt CANARY",
    "sort -o CANARY a.txt",
    "sort a.txt --compress-program=./x",
    "uniq a.txt CANARY",
    "find . -fprint CANARY",
    "find . -delete",
    "find . $x",
    "git diff --output=CANARY",
    "PATH=. ls",
    "LD_PRELOAD=./x.so ls",
    "PATH=.; ls",
    "export PATH=.; ls",
    "test -v 'a[$(touch CANARY)]'",
    "printf -v 'a[$(touch CANARY)]' x",
    "[[ 'a[$(touch CANARY)]' -eq 0 ]]",
    "cargo test",
    "rg --pre ./x y",
    "tree -o CANARY",
    "date -s now",
    "./ls x",
    "/tmp/ls x",
    "for a in 'x[$(touch CANARY)]'; do echo $[a]; done",
    "echo $['$(touch CANARY)']",
    "echo \"$[x]\"",
    "echo $((x))",
    "echo $((echo == x['$(touch CANARY)']))",
    "((echo == x['$(touch CANARY)']))",
    "(\\\n(echo == x['$(touch CANARY)']))",
    "echo $\\\n['$(touch CANARY)']",
    "for RANDOM in 'x[$(touch CANARY)]'; do ls; done",
    "for OPTIND in a; do ls; done",
    "for SECONDS in a; do ls; done",
    "for HISTCMD in a; do ls; done",
    "for PATH in ./bin; do ls; done",
    "for path in ./bin; do ls; done",
    "for i in 'x[$(touch CANARY)]'; do ls; done",
    "printf -vPATH ./bin; ls",
    "printf -vRANDOM 'x[\\x24(touch CANARY)]'",
    "printf %n PATH; ls",
    "echo {PATH}>/dev/null; ls",
    "echo {RANDOM}</dev/null",
    "printf \"$x\"",
    "[ $(cat x) ]",
    "[[ x['$(touch CANARY)'] -eq 0 ]]",
    "cat a.txt >&1CANARY",
    "cat a.txt 1>&2CANARY",
    "cat a.txt >&3CANARY",
    "cat a.txt >&-CANARY",
    "cat a.txt >&1'CANARY'",
    "cat a.txt >&1$x",
    "uniq - CANARY < a.txt",
    "uniq -- - CANARY < a.txt",
    "mv bin/x /usr/local/bin/ls",
    "rm x",
    "rmdir x",
    "mkdir CANARY",
    "ls `ls`",
    "echo `echo \\$[x['\\$(touch CANARY)']]`",
    "tree -R -L 1 -H x",
    "diff -l a b",
    "file -z x",
    "date -us2020-01-01",
    "git status && true",
    "git status && git log -n 3",
    "git log -p | cat",
    "git diff 2>/dev/null",
    "(git status)",
    "! git status",
    "/usr/bin/git status",
    "GIT status",
];

#[test]
fn with_a_command_forbidden_only_what_is_known_to_read_runs() {
    let list = ["Bash(touch:*)"];
    for command in EVADING {
        assert!(!spares(&list, &execute(command)), "{command}");
    }
    for command in HARMLESS {
        assert!(spares(&list, &execute(command)), "{command}");
    }
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
        let Decision::Deny(why) = permissions.decide(&execute(&format!("/usr/bin/{runner} rm x"))) else {
            panic!("{runner} runs");
        };
        assert!(why.contains("it contains a command that runs other commands"), "{runner}: {why}");
    }
}

const FORBIDDEN: [&str; 3] = ["Bash(rm:*)", "Bash(git push *)", "Bash(npm publish)"];

#[test]
fn a_forbidden_command_is_found_wherever_it_stands() {
    for command in HIDDEN {
        assert!(!spares(&[&FORBIDDEN[..], &["Bash(*curl*)"]].concat(), &execute(command)), "{command:?}");
    }
    for command in HARMLESS {
        assert!(spares(&FORBIDDEN, &execute(command)), "{command:?}");
    }
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
