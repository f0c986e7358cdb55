//! The sandbox, with real commands: what it lets them do, and what the kernel keeps from them.

mod appearing;
mod bypasses;
mod git_folder;
mod obeyed;
mod proxy;
mod repository;
mod seatbelt;
mod secrets;
mod status;
mod worktree;
mod world;

use belvedere::permission::{AccessKind, Confinement};
use belvedere::sandbox::{DeniedPaths, Hosts, Sandbox, SandboxChange, SandboxPlaces, SandboxState};
use belvedere::tool::{SandboxUse, Shell, ToolOutput, ToolSet};
use serde_json::json;

use super::{Bench, run, text_of};
use crate::support::{git, sandboxed, sandboxed_without, shell};

/// A project beside a home with secrets, and commands that run in the sandbox.
struct Inside {
    bench: Bench,
    sandbox: Sandbox,
    tools: ToolSet,
    shell: Shell,
}

impl Inside {
    async fn new() -> Option<Self> {
        Self::reaching(&[]).await
    }

    /// Returns commands that can reach some hosts.
    async fn reaching(hosts: &[&str]) -> Option<Self> {
        Self::at(Bench::new(), hosts).await
    }

    async fn at(bench: Bench, hosts: &[&str]) -> Option<Self> {
        let home = bench.outside("home");
        for (name, text) in [(".ssh/id_ed25519", "CANARY-KEY"), (".netrc", "CANARY-NETRC"), ("notes.txt", "plain")] {
            let path = home.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let (sandbox, shell) = sandboxed(&bench.outside(""), hosts).await?;
        Some(Self { bench, sandbox, tools: crate::support::tools_of(&shell), shell })
    }

    async fn bash(&self, command: &str) -> ToolOutput {
        run(&self.tools, "Bash", json!({ "command": command }), &self.bench.context).await
    }

    /// Runs a command that has to succeed.
    async fn works(&self, command: &str) -> String {
        let output = self.bash(command).await;
        assert!(!output.is_error, "{command}: {}", text_of(&output));
        text_of(&output)
    }

    /// Runs a command that has to fail for the sandbox, and returns what it says.
    async fn refused(&self, command: &str) -> String {
        let output = self.bash(command).await;
        assert!(output.is_error, "{command}: {}", text_of(&output));
        assert!(output.refused_inside.is_some(), "{command}: {}", text_of(&output));
        text_of(&output)
    }
}

#[tokio::test]
async fn ordinary_work_goes_on_inside() {
    let Some(inside) = Inside::new().await else { return };
    inside.works("echo one > a.txt && mkdir -p b/c && mv a.txt b/c && rm -r b && echo $TMPDIR").await;
    inside.works("t=$(mktemp) && echo x > $t && cat $t /etc/hostname ~/nothing 2>/dev/null; test -s $t").await;
    inside.works("echo x | tee /dev/null >/dev/stderr; cat < /dev/zero | head -c 3 | wc -c; ulimit -n").await;
    inside.works("sleep 5 & kill %1; (exec 3<>/dev/tcp/127.0.0.1/9) 2>/dev/null; true").await;
    inside.works("python3 -c 'import socket as s; a=s.socket(); a.bind((\"127.0.0.1\",0)); a.listen(); b=s.create_connection(a.getsockname()); s.socketpair()'").await;
    inside.works("python3 -c 'import multiprocessing as m; p=m.Pool(2); print(p.map(abs,[-1,2]))'").await;
}

#[tokio::test]
async fn programs_that_do_not_start_without_a_folder_of_their_own_have_one() {
    let Some(inside) = Inside::new().await else { return };
    for variable in ["UV_TOOL_DIR", "UV_CACHE_DIR", "npm_config_cache", "GOCACHE"] {
        // `uvx` takes a lock in the first, whatever it runs.
        inside.works(&format!("mkdir -p \"${variable}\" && echo x > \"${variable}/.lock\"")).await;
    }
}

#[tokio::test]
async fn nothing_outside_is_written() {
    let Some(inside) = Inside::new().await else { return };
    let outside = inside.bench.outside("elsewhere.txt");
    std::fs::write(&outside, "as it was").unwrap();
    let path = outside.display();
    let home = inside.bench.outside("home");
    let home = home.display();
    for command in [
        format!("echo x > {path}"),
        format!("echo x >> {path}"),
        format!("rm {path}"),
        format!("mv {path} there"),
        format!("chmod 777 {path}"),
        format!("touch {path}"),
        format!("truncate -s 0 {path}"),
        format!("ln {path} here && echo x > here"),
        format!("ln -s {path} link && echo x > link"),
        "echo x > ../elsewhere.txt".to_owned(),
        format!("echo x > /proc/self/root{path}"),
        "echo x > /proc/self/cwd/../elsewhere.txt".to_owned(),
        format!("python3 -c 'import os; os.setxattr(\"{path}\", \"user.a\", b\"1\")'"),
        format!("python3 -c 'import os; os.chown(\"{path}\", 1, 1)'"),
        format!("echo x > {home}/.bashrc"),
        format!("mkdir {home}/.config"),
        "echo x > /tmp/belvedere-was-here".to_owned(),
        "echo x > /etc/belvedere-was-here".to_owned(),
        "mknod /dev/belvedere-was-here c 1 3".to_owned(),
    ] {
        inside.refused(&command).await;
        assert_eq!(std::fs::read_to_string(&outside).unwrap(), "as it was", "{command}");
    }
}

#[tokio::test]
async fn what_killed_programs_have_left_is_removed() {
    let Some(inside) = Inside::new().await else { return };
    let temporary = inside.works("printf %s $TMPDIR").await;
    let alive = std::path::PathBuf::from(temporary.lines().next().unwrap().trim_end_matches("[exit 0]"));
    let left = tempfile::Builder::new().prefix("belvedere-sandbox-").tempdir().unwrap().keep();
    std::fs::write(left.join("lock"), "").unwrap();
    std::fs::write(left.join("no-file"), "").unwrap();
    std::fs::create_dir(left.join("tmp")).unwrap();
    std::fs::create_dir(left.join("no-folder")).unwrap();
    std::fs::set_permissions(left.join("no-folder"), std::os::unix::fs::PermissionsExt::from_mode(0o000)).unwrap();
    let other = tempfile::Builder::new().prefix("belvedere-sandbox-").tempdir().unwrap();
    std::fs::write(other.path().join("lock"), "somebody's own").unwrap();
    Sandbox::sweep();
    assert!(!left.exists() && alive.exists() && other.path().exists());
    drop(inside);
    assert!(!alive.exists());
}

#[tokio::test]
async fn what_is_said_of_a_path_is_what_holds() {
    let Some(inside) = Inside::new().await else { return };
    let root = inside.bench.context.cwd.clone();
    git(&root, ["init", "-q"]);
    std::os::unix::fs::symlink(inside.bench.outside("home/.ssh"), root.join("link")).unwrap();
    std::fs::write(root.join("lib.rs"), "").unwrap();
    inside.sandbox.change(&SandboxChange::AllowHost("docs.rs".to_owned()));
    for (path, said) in [
        ("new/file", "read and write"),
        (".git/config", "protected"),
        (".git/index", "read and write"),
        (".claude/agents/x.md", "protected"),
        ("../elsewhere", "not write"),
        ("~/.ssh/id_ed25519", "hidden"),
        ("link/id_ed25519", "hidden"),
        ("~/notes.txt", "not write"),
        ("/etc/hosts", "not write"),
        ("crates.io", "crates.io:443: you are asked"),
        ("https://docs.rs/serde?x=1", "docs.rs:443: commands reach it"),
        ("http://docs.rs", "docs.rs:80: commands reach it"),
        ("localhost:8080", "on this machine"),
        ("lib.rs", "read and write"),
    ] {
        let about = inside.sandbox.about(path, &root, &root);
        assert!(about.contains(said), "{path}: {about}");
    }
}

#[tokio::test]
async fn secrets_are_neither_read_nor_listed() {
    let Some(inside) = Inside::new().await else { return };
    let home = inside.bench.outside("home");
    let home = home.display();
    assert!(inside.works(&format!("cat {home}/notes.txt")).await.contains("plain"));
    for command in [
        format!("cat {home}/.ssh/id_ed25519"),
        format!("ls {home}/.ssh"),
        format!("cat {home}/.netrc"),
        format!("cat /proc/self/root{home}/.netrc"),
        format!("cp -r {home}/.ssh here"),
        format!("chmod -R u+rwx {home}/.ssh && cat {home}/.ssh/*"),
        format!("grep -r CANARY {home}/.ssh {home}/.netrc"),
        format!("ln {home}/.ssh/id_ed25519 here && cat here"),
    ] {
        assert!(!inside.refused(&command).await.contains("CANARY"), "{command}");
    }
}

#[tokio::test]
async fn a_command_that_only_reads_writes_nothing_of_the_project() {
    let Some(mut inside) = Inside::new().await else { return };
    inside.bench.put("a.txt", "one");
    inside.bench.context.sandbox = SandboxUse::ReadOnly;
    assert!(inside.works("cat a.txt | wc -c; t=$(mktemp) && cp a.txt $t").await.contains('3'));
    inside.refused("echo x > a.txt").await;
    inside.refused("touch b.txt").await;
}

#[tokio::test]
async fn a_plan_says_what_a_command_is_kept_to() {
    let Some(mut inside) = Inside::new().await else { return };
    let confinement = async |inside: &Inside, input| {
        let call = inside.tools.find("Bash").unwrap().parse(&super::args(input));
        match call.prepare(&inside.bench.context).await.map(|call| call.plan.access) {
            Ok(AccessKind::Execute { confinement, .. }) => confinement,
            _ => panic!("no command"),
        }
    };
    let make = json!({"command": "make"});
    assert_eq!(confinement(&inside, make.clone()).await, Confinement::Sandbox);
    assert_eq!(confinement(&inside, json!({"command": "pwd"})).await, Confinement::Guard);
    let outside = json!({"command": "make", "dangerouslyDisableSandbox": true});
    assert_eq!(confinement(&inside, outside).await, Confinement::None);
    inside.bench.context.sandbox = SandboxUse::ReadOnly;
    assert_eq!(confinement(&inside, make.clone()).await, Confinement::ReadOnlySandbox);
    inside.bench.context.sandbox = SandboxUse::Outside;
    assert_eq!(confinement(&inside, make.clone()).await, Confinement::None);
    inside.bench.context.sandbox = SandboxUse::ReadWrite;
    inside.sandbox.set_state(SandboxState::Off);
    assert_eq!(confinement(&inside, make).await, Confinement::None);
}

#[tokio::test]
async fn what_comes_into_being_beside_a_secret_is_not_read() {
    let Some(inside) = Inside::new().await else { return };
    let home = inside.bench.outside("home");
    let wait = format!(
        "echo begun; until [ -e {0}/.netrc.new ]; do sleep 0.01; done; cat {0}/.pypirc {0}/.netrc",
        home.display()
    );
    let replaced = async {
        inside.bench.progress.clone().wait_for(|tail| tail.contains("begun")).await.unwrap();
        std::fs::write(home.join(".pypirc"), "CANARY").unwrap();
        std::fs::write(home.join("new"), "CANARY").unwrap();
        std::fs::rename(home.join("new"), home.join(".netrc")).unwrap();
        std::fs::write(home.join(".netrc.new"), "").unwrap();
    };
    let (said, ()) = tokio::join!(inside.refused(&wait), replaced);
    assert!(!said.contains("CANARY"), "{said}");
}

#[tokio::test]
async fn what_only_reads_is_in_the_sandbox_too() {
    let Some(inside) = Inside::new().await else { return };
    let root = inside.bench.context.cwd.clone();
    inside.bench.put("notes", "plain");
    let call = inside.tools.find("Bash").unwrap().parse(&super::args(json!({"command": "cat notes"})));
    let Ok(prepared) = call.prepare(&inside.bench.context).await else { panic!("it cannot be prepared") };
    assert!(matches!(prepared.plan.access, AccessKind::Execute { confinement: Confinement::Guard, .. }));
    std::fs::remove_file(root.join("notes")).unwrap();
    std::os::unix::fs::symlink(inside.bench.outside("home/.netrc"), root.join("notes")).unwrap();
    let output = prepared.run.await;
    assert!(output.is_error && !text_of(&output).contains("CANARY"), "{}", text_of(&output));
}

#[tokio::test]
async fn what_the_user_hides_in_the_project_stays_hidden() {
    let Some(mut inside) = Inside::new().await else { return };
    let secret = inside.bench.put("conf/secret.env", "CANARY");
    let places = SandboxPlaces { hidden: vec![secret], ..SandboxPlaces::default() };
    let sandbox = Sandbox::new(places, inside.bench.outside("cache"), Hosts::default(), true).unwrap();
    inside.tools = crate::support::tools_of(&shell().with_sandbox(sandbox));
    inside.refused("mv conf conf2").await;
    inside.refused("mv conf/secret.env here").await;
    let output = inside.bash("cat conf/secret.env conf2/secret.env here").await;
    assert!(output.is_error && !text_of(&output).contains("CANARY"), "{}", text_of(&output));
}

#[tokio::test]
async fn files_that_rules_deny_are_neither_read_nor_written() {
    let Some(inside) = Inside::new().await else { return };
    let root = inside.bench.context.project.clone();
    for name in [".env", "deep/er/.env", "secrets/key", "vendor/lib.js", "src/main.rs"] {
        inside.bench.put(name, "CANARY");
    }
    let glob = |inside: &str| format!("{}/{inside}", root.display());
    std::fs::create_dir_all(inside.bench.outside("beside")).unwrap();
    std::fs::write(inside.bench.outside("beside/.env"), "CANARY").unwrap();
    std::os::unix::fs::symlink(inside.bench.outside("beside"), root.join("ext")).unwrap();
    std::fs::write(root.join("hidden-by-link"), "CANARY").unwrap();
    std::os::unix::fs::symlink("../hidden-by-link", root.join("deep/.env")).unwrap();
    let reading = vec![glob("**/.env"), glob("secrets")];
    let denied = DeniedPaths::new(&root, reading, vec![glob("vendor"), glob("*.lock")]).unwrap();
    let (_sandbox, shell) = sandboxed_without(&inside.bench.outside(""), denied, &[]).await.unwrap();
    let tools = crate::support::tools_of(&shell);
    let bash = async |command: &str| run(&tools, "Bash", json!({ "command": command }), &inside.bench.context).await;
    for command in
        ["cat .env", "cat deep/er/.env", "cat secrets/key", "cat se*/*", "python3 -c 'print(open(\".env\").read())'"]
    {
        let output = bash(command).await;
        assert!(!text_of(&output).contains("CANARY"), "{command}: {}", text_of(&output));
    }
    for command in ["echo x > vendor/lib.js", "rm vendor/lib.js", "mv vendor other", "echo x > vendor/new"] {
        assert!(bash(command).await.is_error, "{command}");
    }
    assert_eq!(inside.bench.get("vendor/lib.js"), "CANARY");
    assert!(!bash("echo x > src/main.rs && cat vendor/lib.js").await.is_error);
    let found = run(&tools, "Grep", json!({"pattern": "CANARY"}), &inside.bench.context).await;
    assert!(!text_of(&found).contains(".env") && !text_of(&found).contains("secrets"), "{}", text_of(&found));
}
