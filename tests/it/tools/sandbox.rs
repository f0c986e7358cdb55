//! The sandbox, with real commands: what it lets them do, and what the kernel keeps from them.

use belvedere::permission::{AccessKind, Confinement};
use belvedere::sandbox::Sandbox;
use belvedere::tool::{SandboxUse, ToolOutput, ToolSet};
use serde_json::json;

use super::{Bench, run, text_of};
use crate::permissions::bypasses::Bypasses;
use crate::support::{git, sandboxed};

/// A project beside a home with secrets, and commands that run in the sandbox.
struct Inside {
    bench: Bench,
    sandbox: Sandbox,
    tools: ToolSet,
}

impl Inside {
    async fn new() -> Option<Self> {
        Self::reaching(&[]).await
    }

    /// Returns commands that can reach some hosts.
    async fn reaching(hosts: &[&str]) -> Option<Self> {
        let bench = Bench::new();
        let home = bench.outside("home");
        for (name, text) in [(".ssh/id_ed25519", "CANARY-KEY"), (".netrc", "CANARY-NETRC"), ("notes.txt", "plain")] {
            let path = home.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let (sandbox, shell) = sandboxed(&bench.outside(""), hosts).await?;
        Some(Self { bench, sandbox, tools: belvedere::tool::standard_tools(&shell) })
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
async fn git_works_inside() {
    let Some(inside) = Inside::new().await else { return };
    git(&inside.bench.context.cwd, ["init", "-q", "-b", "main"]);
    inside.bench.put("a.txt", "one\n");
    let as_user = "-c user.name=a -c user.email=a@b";
    inside
        .works(&format!("git add -A && git {as_user} commit -qm one && git checkout -qb other && git status -s"))
        .await;
    inside.works(&format!("echo two >> a.txt && git stash -q && git stash pop -q && git {as_user} commit -qam two && git gc -q && git log --oneline")).await;
}

#[tokio::test]
async fn a_worktree_is_committed_in_without_touching_the_others() {
    let Some(mut inside) = Inside::new().await else { return };
    let root = inside.bench.context.cwd.clone();
    inside.bench.put("a.txt", "one\n");
    git(&root, ["init", "-q", "-b", "main"]);
    git(&root, ["add", "-A"]);
    git(&root, ["commit", "-q", "-m", "first"]);
    let apart = inside.bench.outside("apart");
    git(&root, ["worktree", "add", "-q", "-b", "other", &apart.display().to_string()]);
    let apart = std::sync::Arc::new(apart);
    (inside.bench.context.cwd, inside.bench.context.project) = (apart.clone(), apart);
    inside.works("echo two > a.txt && git -c user.name=a -c user.email=a@b commit -qam two && git log --oneline").await;
    let common = root.join(".git");
    let common = common.display();
    for command in [
        "echo x > ../project/a.txt".to_owned(),
        format!("echo x > {common}/hooks/post-commit"),
        format!("echo x >> {common}/config"),
        format!("echo x > {common}/index"),
        format!("echo x > {common}/HEAD"),
        format!("echo /tmp > {common}/worktrees/apart/commondir"),
        "echo gitdir: /tmp > .git".to_owned(),
        "git config core.fsmonitor ./evil".to_owned(),
    ] {
        inside.refused(&command).await;
    }
    assert_eq!(git(&root, ["status", "--porcelain"]), "");
    assert_eq!(inside.bench.get("a.txt"), "two\n");
    // A pointer alone makes no worktree of a folder.
    let other = inside.bench.outside("other");
    std::fs::create_dir(&other).unwrap();
    std::fs::write(other.join(".git"), format!("gitdir: {common}/worktrees/apart\n")).unwrap();
    let other = std::sync::Arc::new(other);
    (inside.bench.context.cwd, inside.bench.context.project) = (other.clone(), other);
    inside.refused(&format!("touch {common}/worktrees/apart/x")).await;
    inside.refused(&format!("touch {common}/x")).await;
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
async fn what_other_programs_obey_stays_as_it_is() {
    let Some(inside) = Inside::new().await else { return };
    let root = inside.bench.context.cwd.clone();
    git(&root, ["init", "-q"]);
    inside.bench.put(".claude/settings.json", "{}");
    let config = inside.bench.get(".git/config");
    std::fs::create_dir_all(root.join(".git/hooks")).unwrap();
    for command in [
        "echo x > .git/hooks/pre-commit",
        "git config core.fsmonitor ./evil",
        "echo x >> .git/config",
        "mv .git old && mkdir .git",
        "mv .git/hooks old",
        "rm -rf .git",
        "cp .git/config c && mv -f c .git/config",
        "ln -sf /tmp .git/hooks",
        "echo x > .claude/settings.json",
        "mv .claude old",
        "touch .claude/new",
        "chmod 777 .git/config",
    ] {
        inside.refused(command).await;
        assert_eq!(inside.bench.get(".git/config"), config, "{command}");
        assert_eq!(inside.bench.get(".claude/settings.json"), "{}", "{command}");
        assert!(!root.join(".git/hooks/pre-commit").exists(), "{command}");
    }
}

#[tokio::test]
async fn what_appears_at_a_protected_place_is_moved_aside() {
    let Some(inside) = Inside::new().await else { return };
    let root = inside.bench.context.cwd.clone();
    let output = inside.bash("mkdir .kode && echo x > .kode/config.json && ln -s /tmp .mcp.json && git init -q").await;
    assert!(output.is_error && output.refused_inside.is_some());
    let said = text_of(&output);
    for name in [".kode", ".mcp.json", ".git"] {
        assert!(root.join(name).symlink_metadata().is_err(), "{name}");
        assert!(root.join(format!("{name}.blocked")).symlink_metadata().is_ok(), "{name}");
        assert!(said.contains(&format!("{name} as it is")), "{said}");
    }
    std::os::unix::fs::symlink("one", root.join(".idea")).unwrap();
    assert!(!inside.bash("true").await.is_error);
    inside.refused("ln -sfn two .idea").await;
}

#[tokio::test]
async fn the_world_is_out_of_reach() {
    let Some(inside) = Inside::new().await else { return };
    let pid = std::process::id();
    let socket = inside.bench.outside("agent.sock");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    let tcp = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = tcp.local_addr().unwrap().port();
    let socket = socket.display();
    let python = |code: &str| format!("python3 -c '{code}'");
    for command in [
        format!("exec 3<>/dev/tcp/127.0.0.1/{port}"),
        "exec 3<>/dev/tcp/192.0.2.1/80".to_owned(),
        python("import socket; socket.getaddrinfo(\"example.com\", 80)"),
        python(&format!("import socket; socket.socket(socket.AF_UNIX).connect(\"{socket}\")")),
        python("import socket; socket.socket(socket.AF_PACKET, socket.SOCK_RAW)"),
        format!("kill -9 {pid}"),
        format!("kill -0 {pid}"),
        format!("cat /proc/{pid}/environ"),
        format!("head -c 1 /proc/{pid}/mem"),
        format!("readlink -v /proc/{pid}/fd/0"),
        "unshare -Ur true".to_owned(),
        "unshare -m true".to_owned(),
        "mount -t tmpfs none .".to_owned(),
        "umount /dev/shm".to_owned(),
        "chroot / true".to_owned(),
        python(
            "import ctypes,os; l=ctypes.CDLL(None,use_errno=True); r=l.ptrace(16,1,0,0); raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))",
        ),
        python(
            "import ctypes,os; l=ctypes.CDLL(None,use_errno=True); r=l.syscall(425,8,0); e=ctypes.get_errno(); raise OSError(e, os.strerror(e))",
        ),
        python(
            "import ctypes,os; l=ctypes.CDLL(None,use_errno=True); r=l.syscall(321,0,0,0); e=ctypes.get_errno(); raise OSError(e, os.strerror(e))",
        ),
        "cat /etc/shadow".to_owned(),
    ] {
        inside.refused(&command).await;
    }
    assert!(inside.bash(&python("import os; os.setuid(12345)")).await.is_error);
    let rights = inside.works("grep -E '^(Cap|NoNewPrivs|Seccomp:)' /proc/self/status").await;
    assert!(
        rights.lines().filter(|line| line.starts_with("Cap")).all(|line| line.ends_with("0000000000000000")),
        "{rights}"
    );
    assert!(rights.contains("NoNewPrivs:\t1"), "{rights}");
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
    inside.sandbox.set_state(belvedere::sandbox::SandboxState::Off);
    assert_eq!(confinement(&inside, make).await, Confinement::None);
}

/// Asks the proxy inside for something and prints what it answers.
fn through_proxy(request: &str) -> String {
    format!("exec 3<>/dev/tcp/127.0.0.1/${{HTTPS_PROXY##*:}}; printf '{request}\\r\\n\\r\\n' >&3; cat <&3")
}

#[tokio::test]
async fn only_listed_hosts_are_reached_through_the_proxy() {
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = server.local_addr().unwrap().port();
    std::thread::spawn(move || {
        use std::io::{Read as _, Write as _};
        for stream in server.incoming() {
            let (mut stream, mut head) = (stream.unwrap(), [0; 1024]);
            let count = stream.read(&mut head).unwrap();
            let first = String::from_utf8_lossy(&head[..count]).lines().next().unwrap_or_default().to_owned();
            let _ = write!(stream, "HTTP/1.1 200 OK\r\n\r\nserved {first}");
        }
    });
    let listed = format!("localhost:{port}");
    let Some(inside) = Inside::reaching(&[&listed, "*.example.com"]).await else { return };
    let whole = inside.works(&through_proxy(&format!("GET http://localhost:{port}/a?b HTTP/1.1\\r\\nHost: x"))).await;
    assert!(whole.contains("served GET /a?b HTTP/1.1"), "{whole}");
    let tunnel = format!("CONNECT localhost:{port} HTTP/1.1\\r\\n\\r\\nGET /tunnel HTTP/1.1");
    let through = inside.works(&through_proxy(&tunnel)).await;
    assert!(through.contains("Connection established") && through.contains("served GET /tunnel"), "{through}");
    for (host, named) in [
        (format!("CONNECT 127.0.0.1:{port}"), format!("127.0.0.1:{port}")),
        ("CONNECT localhost:1".to_owned(), "localhost:1".to_owned()),
        ("CONNECT example.com:443".to_owned(), "example.com:443".to_owned()),
        ("GET http://evil.test/x".to_owned(), "evil.test:80".to_owned()),
        ("GET http://example.com.evil.test/x".to_owned(), "example.com.evil.test:80".to_owned()),
    ] {
        let output = inside.bash(&through_proxy(&format!("{host} HTTP/1.1"))).await;
        assert!(text_of(&output).contains("403 Forbidden"), "{host}: {}", text_of(&output));
        assert_eq!(output.refused_inside, Some(format!("no way to {named}")), "{host}");
    }
    for odd in ["GET / HTTP/1.1", "CONNECT [::1]:80 HTTP/1.1", "CONNECT localhost HTTP/1.1", "CONNECT a b c HTTP/1.1"] {
        assert!(inside.works(&through_proxy(odd)).await.contains("400 Bad Request"), "{odd}");
    }
    inside.sandbox.allow_host("127.0.0.1");
    assert!(
        inside
            .works(&through_proxy(&format!("CONNECT 127.0.0.1:{port} HTTP/1.1\\r\\n\\r\\nGET /x HTTP/1.1")))
            .await
            .contains("served")
    );
}

/// Runs each of the lines that are given as files in a shell of its own, and says which of them ended, and which printed
/// a secret.
const RUNNER: &str = r#"
export HOME=$1 PATH=$2/bin:$PATH
lines=$2
shift 2
one() {
    printf 'one\n' >a.txt
    timeout -k 0.1 0.3 bash "$lines/$1" 2>&1 </dev/null | grep -aqE 'CANARY-(KEY|NETRC)' && echo "$1 printed"
    echo "$1 ended"
}
for line; do
    one "$line" &
    ((++running < 6)) || wait -n
done
wait
"#;

/// Returns every file and link below a folder with what it holds.
fn contents(folder: &std::path::Path) -> Vec<(std::path::PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in ignore::WalkBuilder::new(folder).standard_filters(false).sort_by_file_path(std::cmp::Ord::cmp).build()
    {
        let path = entry.unwrap().into_path();
        let held = std::fs::read_link(&path).map(|target| target.into_os_string().into_encoded_bytes());
        found.push((path.clone(), held.or_else(|_| std::fs::read(&path)).unwrap_or_default()));
    }
    found
}

#[tokio::test]
async fn no_line_that_got_past_a_list_reaches_a_canary() {
    let Some(inside) = Inside::new().await else { return };
    let (bench, root) = (&inside.bench, inside.bench.context.cwd.clone());
    git(&root, ["init", "-q"]);
    for (name, text) in [
        (".git/hooks/pre-commit", "canary"),
        (".claude/settings.json", "{}"),
        ("b.txt", "two\n"),
        ("x.py", "open('CANARY', 'w')"),
        ("script.sh", "touch CANARY"),
        ("Makefile", "canary:\n\ttouch CANARY\n"),
        ("../beside/canary.txt", "canary"),
        ("../lines/run", RUNNER),
    ] {
        bench.put(name, text);
    }
    let (home, lines) = (bench.outside("home"), bench.outside("lines"));
    let mut names = Vec::new();
    for (at, line) in Bypasses::read().commands().enumerate() {
        std::fs::write(lines.join(at.to_string()), line).unwrap();
        names.push(at.to_string());
    }
    // These take longer to start than a line is given, and what they would run is none of the project's.
    std::fs::create_dir(lines.join("bin")).unwrap();
    for slow in ["npm", "npx", "cargo"] {
        std::os::unix::fs::symlink("/bin/true", lines.join("bin").join(slow)).unwrap();
    }
    let run_lines = async |names: &[String]| {
        let (home, lines) = (home.display(), lines.display());
        text_of(&inside.bash(&format!("bash {lines}/run {home} {lines} {}", names.join(" "))).await)
    };
    // What can be read is seen, and what can be written is.
    std::fs::write(lines.join("control"), "echo CANARY-NETRC; touch written").unwrap();
    assert!(run_lines(&["control".to_owned()]).await.starts_with("control printed\ncontrol ended\n"));
    assert!(root.join("written").exists());
    let guarded = [bench.outside("beside"), bench.outside("home"), root.join(".git/hooks"), root.join(".claude")];
    let state = || {
        let config = std::fs::read(root.join(".git/config")).unwrap();
        (guarded.iter().flat_map(|folder| contents(folder)).collect::<Vec<_>>(), config)
    };
    let before = state();
    for batch in names.chunks(200) {
        let said = run_lines(batch).await;
        let has_ended = |name: &&String| said.lines().any(|line| line == format!("{name} ended"));
        let lost: Vec<&String> = batch.iter().filter(|name| !has_ended(name)).collect();
        assert!(lost.is_empty(), "{lost:?} did not end: {said}");
        assert!(!said.contains("printed"), "{said}");
        assert!(state() == before, "a canary changed after one of {batch:?}");
    }
    let leaked = |(path, held): &(std::path::PathBuf, Vec<u8>)| {
        let text = String::from_utf8_lossy(held);
        (text.contains("CANARY-KEY") || text.contains("CANARY-NETRC")).then(|| path.clone())
    };
    let leaks: Vec<_> = contents(&root).iter().filter_map(leaked).collect();
    assert!(leaks.is_empty(), "{leaks:?}");
}
