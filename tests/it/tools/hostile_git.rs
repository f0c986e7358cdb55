//! A repository whose configuration runs programs: queries that need no approval must not start them.

use std::path::Path;
use std::process::Command;

use belvedere::permission::is_read_only;
use serde_json::json;

use super::{Bench, text_of};

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
