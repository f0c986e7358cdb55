//! The network, other processes, terminals: nothing of it is in reach but the hosts on a list.

use belvedere::sandbox::SandboxChange;
use belvedere::tool::RefusedInside;

use super::{Bench, Inside, git, run, text_of};

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
        python("import socket; socket.socket(21, socket.SOCK_SEQPACKET)"),
        python("import socket; socket.socket(42, socket.SOCK_DGRAM)"),
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
    for command in [
        format!("kill -9 {pid}"),
        format!("kill -0 {pid}"),
        format!("cat /proc/{pid}/environ"),
        format!("head -c 1 /proc/{pid}/mem"),
        format!("readlink -v /proc/{pid}/fd/0"),
        python("import os; os.setuid(12345)"),
    ] {
        assert!(inside.bash(&command).await.is_error, "{command}");
    }
    let rights = inside.works("grep -E '^(Cap|NoNewPrivs|Seccomp:)' /proc/self/status").await;
    assert!(
        rights.lines().filter(|line| line.starts_with("Cap")).all(|line| line.ends_with("0000000000000000")),
        "{rights}"
    );
    assert!(rights.contains("NoNewPrivs:\t1"), "{rights}");
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
            let head = String::from_utf8_lossy(&head[..count]).replace("\r\n", " | ");
            let _ = write!(stream, "HTTP/1.1 200 OK\r\n\r\nserved {head}");
        }
    });
    let listed = format!("localhost:{port}");
    let Some(inside) = Inside::reaching(&[&listed, "*.example.com"]).await else { return };
    let whole = inside.works(&through_proxy(&format!("GET http://localhost:{port}/a?b HTTP/1.1\\r\\nHost: x"))).await;
    assert!(whole.contains(&format!("served GET /a?b HTTP/1.1 | Host: localhost:{port} | Connection")), "{whole}");
    for smuggled in ["X: 1\\r\\n Host: x", "X: 1\\nHost: x"] {
        let request = format!("GET http://localhost:{port}/ HTTP/1.1\\r\\n{smuggled}");
        assert!(inside.works(&through_proxy(&request)).await.contains("400 Bad Request"), "{smuggled}");
    }
    let tunnel = format!("CONNECT localhost:{port} HTTP/1.1\\r\\n\\r\\nGET /tunnel HTTP/1.1");
    let through = inside.works(&through_proxy(&tunnel)).await;
    assert!(through.contains("Connection established") && through.contains("served GET /tunnel"), "{through}");
    for (host, named) in [
        (format!("CONNECT 127.0.0.1:{port}"), format!("127.0.0.1:{port}")),
        ("CONNECT localhost:1".to_owned(), "localhost:1".to_owned()),
        ("CONNECT example.com:443".to_owned(), "example.com:443".to_owned()),
        ("GET http://evil.test/x".to_owned(), "evil.test:80".to_owned()),
        ("CONNECT EVIL.test.:443".to_owned(), "evil.test:443".to_owned()),
        ("CONNECT 127.1:80".to_owned(), "127.0.0.1:80".to_owned()),
        ("CONNECT 2130706433:80".to_owned(), "127.0.0.1:80".to_owned()),
        ("CONNECT 0x7f.0.0.1:80".to_owned(), "127.0.0.1:80".to_owned()),
        ("GET http://example.com.evil.test/x".to_owned(), "example.com.evil.test:80".to_owned()),
    ] {
        let output = inside.bash(&through_proxy(&format!("{host} HTTP/1.1"))).await;
        assert!(text_of(&output).contains("403 Forbidden"), "{host}: {}", text_of(&output));
        assert_eq!(output.refused_inside, Some(RefusedInside::Hosts(vec![named.parse().unwrap()])), "{host}");
        assert!(text_of(&output).contains(&format!("[the sandbox refused hosts: {named}")), "{}", text_of(&output));
    }
    for odd in [
        "GET / HTTP/1.1",
        "CONNECT [::1]:80 HTTP/1.1",
        "CONNECT localhost HTTP/1.1",
        "CONNECT a b c HTTP/1.1",
        "CONNECT b\u{fc}cher.test:443 HTTP/1.1",
        "CONNECT 1.2.3.4.5:80 HTTP/1.1",
        "CONNECT a..b:80 HTTP/1.1",
    ] {
        assert!(inside.works(&through_proxy(odd)).await.contains("400 Bad Request"), "{odd}");
    }
    inside.sandbox.change(&SandboxChange::AllowHost("127.0.0.1".to_owned()));
    assert!(
        inside
            .works(&through_proxy(&format!("CONNECT 127.0.0.1:{port} HTTP/1.1\\r\\n\\r\\nGET /x HTTP/1.1")))
            .await
            .contains("served")
    );
}

#[tokio::test]
async fn others_terminals_limits_and_sockets_are_out_of_reach() {
    let Some(inside) = Inside::new().await else { return };
    let pid = std::process::id();
    let datagrams = inside.bench.outside("datagrams");
    let _bound = std::os::unix::net::UnixDatagram::bind(&datagrams).unwrap();
    let pty = portable_pty::native_pty_system().openpty(portable_pty::PtySize::default()).unwrap();
    let terminal = pty.master.tty_name().unwrap();
    let terminal = terminal.display();
    for command in [
        format!("exec 3<>{terminal}"),
        format!("head -c 1 {terminal}"),
        format!("prlimit --pid {pid} --nofile=10:10"),
        format!("renice -n 5 -p {pid}"),
        "head -c 1 /dev/kmsg".to_owned(),
    ] {
        assert!(inside.bash(&command).await.is_error, "{command}");
    }
    let pair = format!(
        "import socket; a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM); a.sendto(b\"x\", \"{}\")",
        datagrams.display()
    );
    inside.refused(&format!("python3 -c '{pair}'")).await;
    inside.works("python3 -c 'import pty; pty.spawn([\"true\"]); import os; print(os.openpty())'").await;
    inside.works("nice true; ulimit -n 100").await;
}

/// Returns how many processes of this machine have these words on their command line.
fn processes_with(words: &str) -> usize {
    let numbers = std::fs::read_dir("/proc").unwrap().map(|entry| entry.unwrap().path().join("cmdline"));
    let lines = numbers.filter_map(|line| std::fs::read(line).ok());
    lines.filter(|line| String::from_utf8_lossy(line).replace('\0', " ").contains(words)).count()
}

#[tokio::test]
async fn processes_inside_see_their_own_only() {
    let Some(inside) = Inside::new().await else { return };
    if inside.sandbox.facts(&inside.bench.context.project).shares_processes.is_some() {
        return;
    }
    let listed =
        inside.works("cat /proc/[0-9]*/cmdline | tr '\\0' ' '; echo; ls -d /proc/[0-9]* | wc -l; echo $$").await;
    assert!(!listed.contains("--test-threads") && !listed.contains("deps/it-"), "{listed}");
    let numbers: Vec<u32> = listed.lines().filter_map(|line| line.trim().parse().ok()).collect();
    assert!(numbers.iter().all(|number| *number < 20), "{listed}");
    // The first process is the supervisor: nobody there ends it, stops it or looks into it.
    for command in ["cat /proc/1/environ", "readlink -v /proc/1/fd/0", "head -c 1 /proc/1/mem", "ls /proc/1/root/"] {
        inside.refused(command).await;
    }
    let said = inside.works("kill -9 1; kill -STOP 1; kill -9 $PPID; echo still here; exec echo over").await;
    assert!(said.contains("still here") && said.contains("over"), "{said}");
    let output = inside.bash("kill -9 -1; kill -9 $$").await;
    assert!(output.is_error, "{}", text_of(&output));
    inside.works("echo and the next one runs").await;
}

#[tokio::test]
async fn nothing_that_a_command_has_started_outlives_it() {
    let Some(inside) = Inside::new().await else { return };
    if inside.sandbox.facts(&inside.bench.context.project).shares_processes.is_some() {
        return;
    }
    // Each process starts the next, in a session of its own, and ends: a list of them is always too old.
    let word = format!("RUNNER{}", std::process::id());
    inside.bench.put(
        "run.py",
        "import os, signal, sys\nfor s in (signal.SIGTERM, signal.SIGHUP): signal.signal(s, signal.SIG_IGN)\n\
         print('runs', flush=True)\nos.dup2(os.open('/dev/null', os.O_RDWR), 1); os.dup2(1, 2)\n\
         while True:\n    if os.fork(): os._exit(0)\n    os.setsid()\n",
    );
    let line = format!("(python3 run.py {word} &) | head -1; kill -9 1 $PPID; echo over");
    let output = inside.bash(&line).await;
    assert!(text_of(&output).contains("over"), "{}", text_of(&output));
    assert_eq!(processes_with(&word), 0, "{}", text_of(&output));
}

#[tokio::test]
async fn where_processes_cannot_be_numbered_apart_all_else_holds() {
    let Some(inside) = Inside::new().await else { return };
    inside.sandbox.share_processes("/proc: EPERM".to_owned());
    inside.works("test $$ -gt 1 && echo x > a.txt").await;
    let pid = std::process::id();
    for command in
        [format!("kill -0 {pid}"), format!("cat /proc/{pid}/environ"), "echo x > ../elsewhere.txt".to_owned()]
    {
        inside.refused(&command).await;
    }
    let page = inside.sandbox.facts(&inside.bench.context.project).page();
    assert!(page.contains("and reach none of them. Hiding them is refused here: /proc: EPERM."), "{page}");
}

#[tokio::test]
async fn commands_have_a_folder_for_temporary_files_to_themselves() {
    // In that of the system, nothing of theirs lies.
    let elsewhere = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let Some(mut inside) = Inside::at(Bench::at(elsewhere), &[]).await else { return };
    let watch = inside.sandbox.watch().clone();
    inside.bench.context.freshness = std::sync::Arc::new(belvedere::tool::Freshness::new(
        "main",
        &belvedere::tool::Writers::default().beside(watch),
    ));
    let users = tempfile::NamedTempFile::with_prefix("of-the-user").unwrap();
    std::fs::write(users.path(), "CANARY").unwrap();
    let path = users.path().display();
    inside.works("test $TMPDIR = /tmp && echo from a command > /tmp/made && mkdir /tmp/d && cat $(mktemp)").await;
    let seen =
        inside.works(&format!("cat /tmp/made; ls -a /tmp; cat {path} 2>&1; echo mine > {path}; ls -ld /tmp")).await;
    assert!(seen.contains("from a command") && !seen.contains("CANARY"), "{seen}");
    assert_eq!(std::fs::read_to_string(users.path()).unwrap(), "CANARY");
    assert!(!std::path::Path::new("/tmp/made").exists());
    // Queries of git go on, whose settings lie in that of the system.
    git(&inside.bench.context.cwd, ["init", "-q", "-b", "main"]);
    for query in ["git status -sb", "git branch", "git diff --stat"] {
        inside.works(query).await;
    }
    // The other tools find what commands leave there, and commands what those leave.
    let context = &inside.bench.context;
    let read = run(&inside.tools, "Read", serde_json::json!({"file_path": "/tmp/made"}), context).await;
    assert!(text_of(&read).contains("from a command"), "{}", text_of(&read));
    let written = serde_json::json!({"file_path": "/tmp/d/message", "content": "from a tool"});
    run(&inside.tools, "Write", written, context).await;
    assert!(inside.works("cat /tmp/d/message").await.contains("from a tool"));
    let said = inside.sandbox.about("/tmp/x", &context.cwd, &context.project);
    assert!(said.ends_with("commands have a folder of their own there, and see nothing of yours"), "{said}");
    assert!(inside.sandbox.facts(&context.project).writable.contains(&"/tmp".to_owned()));
    // A link that a command has left there leads nowhere new.
    inside.works("ln -s /etc/hostname /tmp/link").await;
    inside.refused("echo x > /tmp/link").await;
}
