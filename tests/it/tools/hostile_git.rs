//! A repository whose configuration runs programs: queries that need no approval must not start them.

use std::path::Path;
use std::process::Command;

use belvedere::permission::{
    Access, AccessKind, Confinement, Decision, Grants, PermissionMode, Permissions, Places, Project, Rule, Rules,
    ToolKind, is_read_only,
};
use serde_json::json;

use super::{Bench, text_of};
use crate::support::Dice;

fn git(folder: &Path, args: &[&str]) {
    let identity = ["-c", "user.name=T", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main"];
    let output = Command::new("git")
        .args(identity)
        .args(args)
        .current_dir(folder)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .unwrap();
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// A repository that would leave a file `owned` behind for whoever asks it anything.
fn trap() -> Bench {
    let bench = Bench::new();
    let root = bench.path("");
    git(&root, &["init", "-q"]);
    bench.put("a.txt", "one\n");
    bench.put(".gitattributes", "*.txt diff=evil filter=evil\n");
    git(&root, &["add", "."]);
    git(&root, &["commit", "-q", "-m", "first"]);
    bench.put("a.txt", "two\n");
    let script = bench.put(".git/evil", "#!/bin/sh\ntouch \"$OWNED\"; cat 2>/dev/null\n");
    let hook = bench.put(".git/hooks/post-index-change", "#!/bin/sh\ntouch \"$OWNED\"\n");
    for path in [&script, &hook] {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let owned = bench.outside("owned");
    let program = format!("OWNED={} {}", owned.display(), script.display());
    for (name, value) in [
        ("core.fsmonitor", program.as_str()),
        ("core.pager", &program),
        ("diff.external", &program),
        ("diff.evil.textconv", &program),
        ("diff.evil.command", &program),
        ("filter.evil.clean", &program),
        ("filter.evil.required", "true"),
        ("log.showSignature", "true"),
        ("gpg.program", script.to_str().unwrap()),
    ] {
        git(&root, &["config", name, value]);
    }
    bench
}

#[tokio::test]
async fn free_queries_run_none_of_a_repositorys_programs() {
    let bench = trap();
    for command in [
        "git status --short",
        "git log -p",
        "git log --stat -n 3",
        "git show HEAD",
        "git blame a.txt",
        "git ls-files",
        "git describe --all",
        "git shortlog -sn HEAD",
    ] {
        assert!(is_read_only(command), "{command}");
        let output = bench.run("Bash", json!({"command": command})).await;
        assert!(!output.is_error, "{command}: {}", text_of(&output));
        assert!(!bench.outside("owned").exists(), "{command} ran a program: {}", text_of(&output));
    }
}

#[tokio::test]
async fn the_trap_works_without_the_guard() {
    let bench = trap();
    let _ = bench.run("Bash", json!({"command": "git status --short; git log -p"})).await;
    assert!(bench.outside("owned").exists(), "the test above would prove nothing");
}

#[tokio::test]
async fn a_status_does_not_look_into_submodules() {
    let bench = Bench::new();
    let (root, inner) = (bench.path(""), bench.path("sub"));
    bench.put("sub/a.txt", "one\n");
    bench.put("sub/.gitattributes", "*.txt filter=evil\n");
    bench.put(".gitmodules", "[submodule \"sub\"]\n\tpath = sub\n\turl = ./sub\n\tignore = none\n");
    for folder in [&inner, &root] {
        git(folder, &["init", "-q"]);
        git(folder, &["-c", "advice.addEmbeddedRepo=false", "add", "."]);
        git(folder, &["commit", "-q", "-m", "first"]);
    }
    let program = format!("touch {}; cat", bench.outside("owned").display());
    for name in ["core.fsmonitor", "filter.evil.clean"] {
        git(&inner, &["config", name, &program]);
    }
    bench.put("sub/a.txt", "two, and longer\n");
    for command in ["git status", "git  --no-pager  status --short", "git log -p", "git ls-files -s"] {
        let output = bench.run("Bash", json!({"command": command})).await;
        assert!(!output.is_error, "{command}: {}", text_of(&output));
        assert!(!bench.outside("owned").exists(), "{command} ran a program: {}", text_of(&output));
    }
    let _ = bench.run("Bash", json!({"command": "git status; true"})).await;
    assert!(bench.outside("owned").exists(), "the trap does not work");
}

/// Whether a command would run without a question.
async fn is_guarded(bench: &Bench, command: &str) -> bool {
    match bench.plan("Bash", json!({"command": command})).await.unwrap().access {
        AccessKind::Execute { confinement, .. } => confinement == Confinement::Guard,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn an_agent_that_is_kept_from_a_command_asks_git_under_guard_only() {
    let decided = async |bench: &Bench, command: &str| {
        let access = bench.plan("Bash", json!({"command": command})).await.unwrap().access;
        let places = Places { project: &bench.context.project, home: None };
        let rules = Rules::default().forbidding([Rule::parse("Bash(touch:*)", places, |_| ToolKind::Execute)].into());
        let project = Project::at(bench.context.project.to_path_buf());
        let permissions = Permissions::new(project, PermissionMode::BypassPermissions, Grants::default());
        permissions.with_rules(rules).decide(&Access::new("Bash", access))
    };
    let bench = trap();
    for command in ["git status", "git log -p", "git diff"] {
        assert_eq!(decided(&bench, command).await, Decision::Allow, "{command}");
        let _ = bench.run("Bash", json!({"command": command})).await;
        assert!(!bench.outside("owned").exists(), "{command} ran a program");
    }
    for command in [
        "git status && true",
        "git log -p | cat",
        "git diff 2>/dev/null",
        "(git status)",
        "! git status",
        "git \"status\"",
        "git sta''tus",
    ] {
        assert!(matches!(decided(&bench, command).await, Decision::Deny(_)), "{command}");
    }
    link("/etc/hosts", &bench, ".mailmap");
    assert!(matches!(decided(&bench, "git status").await, Decision::Deny(_)), "it cannot be guarded");
}

/// A repository with one commit of `a.txt` and a change of it that is not committed.
fn changed() -> Bench {
    let bench = Bench::new();
    git(&bench.path(""), &["init", "-q"]);
    bench.put("a.txt", "one\n");
    bench.put("sub/b.txt", "one\n");
    git(&bench.path(""), &["add", "."]);
    git(&bench.path(""), &["commit", "-q", "-m", "first"]);
    bench.put("a.txt", "two\n");
    bench
}

fn link(target: impl AsRef<Path>, bench: &Bench, name: &str) {
    let _ = std::fs::remove_file(bench.path(name));
    std::os::unix::fs::symlink(target, bench.path(name)).unwrap();
}

fn append(bench: &Bench, name: &str, bytes: &[u8]) {
    use std::io::Write as _;
    let mut file = std::fs::OpenOptions::new().append(true).create(true).open(bench.path(name)).unwrap();
    file.write_all(bytes).unwrap();
}

const QUERIES: [&str; 8] = [
    "git status --short",
    "git log -p",
    "git show HEAD",
    "git blame a.txt",
    "git ls-files",
    "git describe --all",
    "git shortlog -sn HEAD",
    "git rev-list HEAD",
];

/// Writes settings and attributes that name programs under names of chance: bytes that are no text, in files that
/// include each other, before and behind many needless lines.
fn set_a_trap(bench: &Bench, dice: &mut Dice) {
    let program = format!("touch '{}'; cat", bench.outside("owned").display());
    let mut name: Vec<u8> = (0..=dice.roll(6)).map(|_| *dice.pick(b"ae.-_/\xff\xfe\xc3\x28\xe9 ")).collect();
    name.retain(|byte| *byte != b' ');
    name.push(b'x');
    let quoted = |section: &[u8], key: &str| {
        [b"[", section, b" \"", &name, b"\"]\n\t", key.as_bytes(), b" = ", program.as_bytes(), b"\n"].concat()
    };
    let mut text =
        format!("[core]\n\tfsmonitor = {program}\n\tpager = {program}\n[diff]\n\texternal = {program}\n").into_bytes();
    for (section, key) in
        [("filter", "clean"), ("filter", "process"), ("diff", "textconv"), ("diff", "command"), ("merge", "driver")]
    {
        if dice.roll(3) > 0 {
            text.extend(quoted(section.as_bytes(), key));
        }
    }
    text.extend(quoted(b"filter", "clean"));
    text.extend(quoted(b"diff", "textconv"));
    let padding = b"# needless\n".repeat(usize::try_from(dice.roll(4_000)).unwrap());
    match dice.roll(3) {
        0 => append(bench, ".git/config", &[&padding[..], &text].concat()),
        1 => append(bench, ".git/config", &[&text[..], &padding].concat()),
        _ => {
            append(bench, ".git/config", b"[include]\n\tpath = more\n");
            append(bench, ".git/more", b"[include]\n\tpath = ../last\n");
            append(bench, "last", &text);
        }
    }
    let attributes = if dice.roll(2) == 0 { ".gitattributes" } else { ".git/info/attributes" };
    append(bench, attributes, &[b"*.txt filter=", &name[..], b" diff=", &name, b" merge=", &name, b"\n"].concat());
}

#[tokio::test]
async fn programs_of_any_name_do_not_run() {
    let mut sprung = 0;
    for seed in 1..=6 {
        let bench = changed();
        let mut dice = Dice::new(seed);
        set_a_trap(&bench, &mut dice);
        for command in [*dice.pick(&QUERIES), "git log -p", "git status"] {
            // What is included is not looked into, and may say how all of it is shown.
            let has_more = bench.path(".git/more").exists();
            assert_eq!(is_guarded(&bench, command).await, !has_more, "{seed}: {command}");
            if has_more {
                continue;
            }
            let output = bench.run("Bash", json!({"command": command})).await;
            assert!(!output.is_error, "{seed}: {command}: {}", text_of(&output));
            assert!(!bench.outside("owned").exists(), "{seed}: {command} ran a program");
        }
        let _ = bench.run("Bash", json!({"command": "git status; git log -p"})).await;
        sprung += usize::from(bench.outside("owned").exists());
    }
    assert_eq!(sprung, 6, "a trap does not work");
}

#[tokio::test]
async fn settings_that_cannot_be_read_are_asked_about() {
    for odd in [
        "[core\n",
        "[core]\n\tfilemode = a b\n",
        "[extensions]\n\tstrange = 1\n",
        "[core]\n\trepositoryformatversion = 9\n",
    ] {
        let bench = changed();
        append(&bench, ".git/config", odd.as_bytes());
        assert!(!is_guarded(&bench, "git status").await, "{odd}");
    }
    let bench = changed();
    append(&bench, ".git/config", &b"#aaaaaaaaaaaaaaa\n".repeat(80_000));
    assert!(!is_guarded(&bench, "git status").await);
    for name in [".git/config", ".git/HEAD", ".git/index", ".git/packed-refs", ".git/refs/heads/pipe"] {
        let bench = changed();
        let _ = std::fs::remove_file(bench.path(name));
        assert!(Command::new("mkfifo").arg(bench.path(name)).status().unwrap().success());
        assert!(!is_guarded(&bench, "git status").await, "{name}");
    }
}

#[tokio::test]
async fn what_would_read_outside_is_asked_about() {
    type SetUp = fn(&Bench);
    fn to_secret(bench: &Bench, name: &str) {
        link(bench.outside("secret/s.txt"), bench, name);
    }
    let cases: [(&str, &str, SetUp); 18] = [
        ("a link in a path", "git blame d/s.txt", |bench| link(bench.outside("secret"), bench, "d")),
        ("a worktree elsewhere", "git blame s.txt", |bench| {
            git(&bench.path(""), &["config", "core.worktree", bench.outside("secret").to_str().unwrap()]);
        }),
        ("grafts", "git log", |bench| to_secret(bench, ".git/info/grafts")),
        ("shallow", "git log", |bench| to_secret(bench, ".git/shallow")),
        ("a rebase", "git status", |bench| {
            bench.put(".git/rebase-merge/done", "");
            to_secret(bench, ".git/rebase-merge/git-rebase-todo");
        }),
        ("a ref", "git log", |bench| to_secret(bench, ".git/refs/heads/x")),
        ("HEAD", "git log", |bench| to_secret(bench, ".git/HEAD")),
        ("packed refs", "git log", |bench| to_secret(bench, ".git/packed-refs")),
        ("the index", "git ls-files", |bench| to_secret(bench, ".git/index")),
        ("ignored names", "git status", |bench| to_secret(bench, ".git/info/exclude")),
        ("settings", "git status", |bench| to_secret(bench, ".git/config")),
        ("a mailmap", "git shortlog -s HEAD", |bench| to_secret(bench, ".mailmap")),
        ("a pack", "git log", |bench| to_secret(bench, ".git/objects/pack/x.pack")),
        ("alternates", "git log -p", |bench| {
            let text = format!("{}\n", bench.outside("secret/.git/objects").display());
            bench.put(".git/objects/info/alternates", text);
        }),
        ("a common folder", "git log -p", |bench| {
            bench.put(".git/commondir", format!("{}\n", bench.outside("secret/.git").display()));
        }),
        ("objects", "git log -p", |bench| {
            std::fs::rename(bench.path(".git/objects"), bench.path("objects")).unwrap();
            link(bench.outside("secret/.git/objects"), bench, ".git/objects");
        }),
        ("a file in place of .git", "git log -p", |bench| {
            std::fs::rename(bench.path(".git"), bench.path("was")).unwrap();
            bench.put(".git", format!("gitdir: {}\n", bench.outside("secret/.git").display()));
        }),
        ("a link in place of .git", "git log -p", |bench| {
            std::fs::rename(bench.path(".git"), bench.path("was")).unwrap();
            link(bench.outside("secret/.git"), bench, ".git");
        }),
    ];
    for (what, command, set_up) in cases {
        let bench = changed();
        let secret = bench.outside("secret");
        std::fs::create_dir(&secret).unwrap();
        std::fs::write(secret.join("s.txt"), "secret\n").unwrap();
        git(&secret, &["init", "-q"]);
        assert!(is_guarded(&bench, &command.replace("d/s.txt", "a.txt")).await, "{what}, before");
        set_up(&bench);
        assert!(is_read_only(command) && !is_guarded(&bench, command).await, "{what}");
    }
}

#[tokio::test]
async fn quotes_hide_no_path_that_leads_outside() {
    let bench = changed();
    std::fs::write(bench.outside("s.txt"), "secret\n").unwrap();
    for command in ["git diff -- a.txt", "git diff 'a.txt'", "git diff \"a\".txt", "git log --grep 'a b' a.txt"] {
        assert!(is_guarded(&bench, command).await, "{command}");
    }
    for command in [
        "git diff a.txt ../s.txt",
        "git diff a.txt '../s.txt'",
        "git diff a.txt .'.'/s.txt",
        "git diff a.txt \"\"../s.txt",
        "git diff a.txt \".\"\"./s.txt\"",
        "git diff 'a.txt' '..'/s.txt",
    ] {
        assert!(!is_guarded(&bench, command).await, "{command}");
    }
}

#[tokio::test]
async fn repositories_of_every_kind_are_read_without_a_question() {
    let answer = |bench: &Bench, folder: &str, command: &str| {
        let mut inner = bench.context.clone();
        inner.cwd = std::sync::Arc::new(bench.path(folder).canonicalize().unwrap());
        let command = command.to_owned();
        async move {
            let tools = crate::support::standard_tools();
            let call = tools.find("Bash").unwrap().parse(&super::args(json!({"command": command})));
            let Ok(call) = call.prepare(&inner).await else { panic!("{command} cannot be prepared") };
            let access = &call.plan.access;
            assert!(
                matches!(access, AccessKind::Execute { confinement: Confinement::Guard, .. }),
                "{command} in {:?}",
                inner.cwd
            );
            let output = call.run.await;
            (!output.is_error).then(|| text_of(&output))
        }
    };
    let same = async |bench: &Bench, folder: &str| {
        for command in &QUERIES[..5] {
            // Without `-s`, git tells the time of day beside each line that was not committed.
            let command = command.replace("blame a.txt", "blame -s a.txt");
            let command = if folder.is_empty() { command } else { command.replace("a.txt", "b.txt") };
            let plain = Command::new("sh").args(["-c", &command]).current_dir(bench.path(folder)).output().unwrap();
            let plain = String::from_utf8(plain.stdout).unwrap();
            let plain = if plain.is_empty() { "(no output)\n".to_owned() } else { plain };
            let guarded =
                answer(bench, folder, &command).await.unwrap_or_else(|| panic!("{command} in {folder} failed"));
            assert_eq!(guarded.strip_suffix("[exit 0]"), Some(plain.as_str()), "{command} in {folder}");
        }
    };
    let bench = changed();
    same(&bench, "").await;
    same(&bench, "sub").await;
    let root = bench.path("");
    git(&root, &["update-index", "--split-index"]);
    git(&root, &["pack-refs", "--all"]);
    git(&root, &["sparse-checkout", "set", "sub"]);
    same(&bench, "").await;

    // A linked worktree beside the project is a project of its own.
    let mut linked = changed();
    git(&linked.path(""), &["worktree", "add", "-q", linked.outside("linked").to_str().unwrap()]);
    linked.context.cwd = std::sync::Arc::new(linked.outside("linked"));
    linked.context.project = linked.context.cwd.clone();
    same(&linked, "").await;

    // Its submodule keeps its git folder in that of the whole.
    let whole = changed();
    let part = changed();
    let source = part.path("");
    let add = ["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", source.to_str().unwrap(), "part"];
    git(&whole.path(""), &add);
    same(&whole, "").await;
    let mut inner = whole;
    inner.context.cwd = std::sync::Arc::new(inner.path("part"));
    inner.context.project = inner.context.cwd.clone();
    same(&inner, "").await;

    let empty = Bench::new();
    git(&empty.path(""), &["init", "-q"]);
    assert!(answer(&empty, "", "git status").await.unwrap().contains("No commits yet"));

    for format in ["--object-format=sha256", "--ref-format=reftable"] {
        let bench = Bench::new();
        let init = Command::new("git").args(["init", "-q", format]).current_dir(bench.path("")).status();
        if !init.unwrap().success() {
            continue;
        }
        bench.put("a.txt", "one\n");
        git(&bench.path(""), &["add", "."]);
        git(&bench.path(""), &["commit", "-q", "-m", "first"]);
        same(&bench, "").await;
    }
    let bare = Bench::new();
    git(&bare.path(""), &["init", "-q", "--bare"]);
    assert!(!is_guarded(&bare, "git log").await);
}
