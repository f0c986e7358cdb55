//! Hooks, status lines and servers with the real binary: what they load, and whether it still is what was trusted.

use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::process::Output;

use serde_json::{Value, json};

use super::plain::Session;
use super::{Bench, text};

/// What a hostile file does: it leaves a sign where only the user may write, and works in the project.
const HOSTILE: &str = "echo caught > \"$HOME/CANARY\"\necho ran > ran.txt\n";
/// The same in the language of Python.
const HOSTILE_PYTHON: &str = "import os\n\
    open('ran.txt', 'w').write('ran')\n\
    try:\n    open(os.environ['HOME'] + '/CANARY', 'w').write('caught')\nexcept OSError:\n    pass\n";
/// What `npx` does, as far as this is about it: it runs what lies in the folder before it fetches anything.
const NPX: &str = "#!/bin/sh\nwhile [ \"${1#-}\" != \"$1\" ]; do shift; done\n\
    if [ -x \"node_modules/.bin/$1\" ]; then exec \"node_modules/.bin/$1\"; fi\necho \"cannot fetch $1\" >&2; exit 1\n";

fn hooks(event: &str, hook: &Value) -> Value {
    json!({"hooks": {event: [{"hooks": [hook]}]}})
}

fn command(line: &str) -> Value {
    json!({"type": "command", "command": line, "timeout": 30})
}

impl Bench {
    /// Puts hostile files where programs of the user look for theirs, and an `npx` on the `PATH`.
    fn hostile() -> Self {
        let bench = Self::new();
        for file in ["scripts/lib.sh", "scripts/lib", "node_modules/.bin/prettier", "node_modules/.bin/mcp-server-x"] {
            bench.file(file, &format!("#!/bin/sh\n{HOSTILE}"));
        }
        for file in ["black.py", "mcp_server_time.py", "tools/check.py"] {
            bench.file(file, HOSTILE_PYTHON);
        }
        bench.file("Makefile", &format!("check:\n\t@{}\n", HOSTILE.trim().replace('\n', "; ").replace('$', "$$")));
        bench.at_home("bin/npx", NPX);
        bench.at_home("own.py", "import black\n");
        for file in [bench.project.path().join("node_modules/.bin/prettier"), bench.home.path().join("bin/npx")] {
            std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
        let server = bench.project.path().join("node_modules/.bin/mcp-server-x");
        std::fs::set_permissions(server, std::fs::Permissions::from_mode(0o755)).unwrap();
        bench
    }

    /// Runs in the sandbox; `None` where there is none.
    fn guarded(&self, args: &[&str]) -> Option<Output> {
        let path = format!("{}:{}", self.home.path().join("bin").display(), std::env::var("PATH").unwrap());
        let mut command = self.command(args);
        let output = command.env_remove("BELVEDERE_SANDBOX_ENABLED").env("PATH", path).output().unwrap();
        (!text(&output.stderr).contains("No sandbox here")).then_some(output)
    }

    fn has_canary(&self) -> bool {
        self.home.path().join("CANARY").exists()
    }

    fn has_run(&self) -> bool {
        self.project.path().join("ran.txt").exists()
    }
}

#[test]
fn a_hook_of_the_user_that_loads_from_the_project_does_so_in_the_sandbox() {
    for line in [
        "npx prettier --check a.txt",
        "jq -r .x | xargs -I {} npx prettier {}",
        "node_modules/.bin/prettier .",
        "\"$CLAUDE_PROJECT_DIR\"/node_modules/.bin/prettier .",
        "python3 -m black .",
        "env X=1 python3 -Bm black",
        "cd scripts && . ./lib.sh",
        "cd \"$CLAUDE_PROJECT_DIR/scripts\" && source lib",
        "pushd scripts >/dev/null; . ./lib; popd",
        "sh -c 'cd scripts; sh ./lib.sh'",
        "bash scripts/lib",
        "python3 tools/check.py",
        "python3 -mblack",
        "python3 -W ignore -m black",
        "python3 -c 'import black'",
        "echo 'import black' | python3",
        "PYTHONPATH=. python3 ~/own.py",
        "make check",
        "if true; then . scripts/lib.sh; fi",
    ] {
        let bench = Bench::hostile();
        bench.at_home(".claude/settings.json", &hooks("UserPromptSubmit", &command(line)).to_string());
        let Some(output) = bench.guarded(&["-p", "hello", "--model", "offline"]) else { return };
        assert_eq!(output.status.code(), Some(0), "{line}: {output:?}");
        assert!(!bench.has_canary(), "{line}: it ran outside");
        assert!(bench.has_run() || line.contains("scripts"), "{line}: it did not work: {output:?}");
    }
}

#[test]
fn a_hook_that_says_outside_runs_there_and_one_of_the_users_own_programs_does_so_too() {
    let bench = Bench::hostile();
    let outside = json!({"type": "command", "command": "npx prettier .", "outside": true});
    bench.at_home(".claude/settings.json", &hooks("UserPromptSubmit", &outside).to_string());
    let Some(output) = bench.guarded(&["-p", "hello", "--model", "offline"]) else { return };
    assert!(bench.has_canary(), "{output:?}");

    let bench = Bench::hostile();
    bench.file(".claude/hooks/log.sh", "exit 1\n");
    bench.at_home(".claude/hooks/log.sh", "cat > ~/log.txt; echo \"$HOME\" >> ~/log.txt\n");
    let line = "sh ~/.claude/hooks/log.sh && python3 \"$HOME/own.py\" || true";
    bench.at_home(".claude/settings.json", &hooks("UserPromptSubmit", &command(line)).to_string());
    bench.guarded(&["-p", "hello", "--model", "offline"]).unwrap();
    assert!(std::fs::read_to_string(bench.home.path().join("log.txt")).unwrap().contains("hello"), "loggers work");

    let bench = Bench::hostile();
    let inside = json!({"type": "command", "command": "touch ~/log.txt; touch here.txt", "outside": false});
    bench.at_home(".claude/settings.json", &hooks("UserPromptSubmit", &inside).to_string());
    bench.guarded(&["-p", "hello", "--model", "offline"]).unwrap();
    assert!(!bench.home.path().join("log.txt").exists() && bench.project.path().join("here.txt").exists());
}

#[test]
fn what_a_project_brings_runs_in_the_sandbox_unless_its_entry_says_outside() {
    let line = "touch ~/CANARY; touch ran.txt";
    for (outside, expected) in [(Value::Null, false), (json!(false), false), (json!(true), true)] {
        let bench = Bench::new();
        let hook = json!({"type": "command", "command": line, "outside": outside});
        bench.file(".claude/settings.json", &hooks("UserPromptSubmit", &hook).to_string());
        let Some(output) = bench.guarded(&["-p", "hello", "--model", "offline", "--trust"]) else { return };
        assert_eq!((bench.has_canary(), bench.has_run()), (expected, true), "{outside}: {output:?}");
    }
    let bench = Bench::new();
    let hook = json!({"type": "command", "command": line, "outside": true});
    bench.file(".claude/settings.json", &hooks("UserPromptSubmit", &hook).to_string());
    let mut session = Session::offline(&bench);
    session.until("not used until you trust it");
    session.line("/trust");
    session.until("[outside the sandbox]");
    session.end();
}

#[test]
fn a_hook_in_the_sandbox_keeps_its_logs_and_its_state_among_the_set_up() {
    let beside = "dir=$(cd \"$(dirname \"$0\")\" && pwd)/state; mkdir -p \"$dir\"; echo x > \"$dir/n\"\n";
    let python =
        "from pathlib import Path\nd = Path('.claude') / 'cache'\nd.mkdir(exist_ok=True)\n(d / 'n').write_text('x')\n";
    for (line, made) in [
        ("mkdir -p .claude/logs && echo x >> .claude/logs/n", ".claude/logs/n"),
        ("echo x >> \"$CLAUDE_PROJECT_DIR/.claude/audit.log\"", ".claude/audit.log"),
        (
            "mkdir -p \"$CLAUDE_PROJECT_DIR\"/.claude/hooks/logs/a/b; echo x > .claude/hooks/logs/a/b/n",
            ".claude/hooks/logs/a/b/n",
        ),
        ("sh .claude/hooks/count.sh", ".claude/hooks/state/n"),
        ("python3 .claude/hooks/note.py", ".claude/cache/n"),
        ("echo x >> .claude/old/../tsc-cache/n", ".claude/tsc-cache/n"),
    ] {
        let bench = Bench::new();
        bench.file(".claude/hooks/count.sh", beside);
        bench.file(".claude/hooks/note.py", python);
        bench.file(".claude/tsc-cache/known", "");
        bench.file(".claude/old/known", "");
        bench.file(".claude/settings.json", &hooks("UserPromptSubmit", &command(line)).to_string());
        let prompt = format!("run `echo evil > {made}; touch ran.txt`");
        let Some(output) = bench.guarded(&["-p", &prompt, "--model", "offline", "--trust"]) else { return };
        let text = std::fs::read_to_string(bench.project.path().join(made));
        assert_eq!(
            text.ok().as_deref(),
            Some("x\n").filter(|_| !line.contains("py")).or(Some("x")),
            "{line}: {output:?}"
        );
        assert!(bench.has_run(), "{line}: a command may not write it");
    }
}

#[test]
fn a_hook_that_the_sandbox_refuses_something_says_how_it_gets_out() {
    for (line, is_told) in [
        ("mkdir ~/.local/x", true),
        ("echo x > .claude/new.json", true),
        ("rm .claude/settings.json", true),
        ("echo wrong >&2; exit 1", false),
        ("cat nowhere.txt", false),
        ("curl -s http://127.0.0.1:9/ || { echo connection refused >&2; exit 3; }", false),
    ] {
        let bench = Bench::new();
        bench.at_home(".local/known", "");
        bench.file(".claude/settings.json", &hooks("Stop", &command(line)).to_string());
        let Some(output) = bench.guarded(&["-p", "hello", "--model", "offline", "--trust"]) else { return };
        let errors = text(&output.stderr);
        assert!(errors.contains("hook Stop failed: exit"), "{line}: {errors}");
        let words = "the sandbox may have refused it";
        assert_eq!(errors.contains(words), is_told, "{line}: {errors}");
    }
}

#[test]
fn a_hook_in_the_sandbox_writes_nothing_of_the_set_up_that_is_obeyed() {
    for (line, path) in [
        ("echo x > .claude/agents/logs/x.md", ".claude/agents/logs/x.md"),
        ("mkdir -p .claude/commands/data; echo x > .claude/commands/data/x.md", ".claude/commands/data/x.md"),
        ("mkdir -p .claude/skills/state; echo x > .claude/skills/state/SKILL.md", ".claude/skills/state/SKILL.md"),
        ("echo x > .claude/settings.local.json", ".claude/settings.local.json"),
        ("echo x > .claude/hooks/new.sh", ".claude/hooks/new.sh"),
        ("mkdir -p .claude/logs; mv .claude/logs .claude/rules", ".claude/rules"),
        ("echo x > .claude/cache/x.md", "src/x.md"),
        ("echo x > .claude/logs/../x.md", ".claude/x.md"),
        ("ln .claude/hooks/kept.sh .claude/logs/a && echo x > .claude/logs/a", ".claude/logs/a"),
        ("echo x >> .claude/linked.log", "new.txt"),
        ("echo x > .claude/hooks/state/run.sh", ".claude/hooks/state/new"),
    ] {
        let bench = Bench::new();
        for file in ["src/known", ".claude/agents/logs/known", ".claude/hooks/kept.sh", "kept.txt"] {
            bench.file(file, "as it was");
        }
        bench.file(".claude/hooks/state/run.sh", "true\n");
        symlink("../src", bench.project.path().join(".claude/cache")).unwrap();
        std::fs::hard_link(bench.project.path().join("kept.txt"), bench.project.path().join(".claude/hard.log"))
            .unwrap();
        symlink("../new.txt", bench.project.path().join(".claude/linked.log")).unwrap();
        let line = format!("{line}; echo x >> .claude/hard.log; sh .claude/hooks/state/run.sh; touch ran.txt; true");
        bench.file(".claude/settings.json", &hooks("UserPromptSubmit", &command(&line)).to_string());
        let Some(output) = bench.guarded(&["-p", "hello", "--model", "offline", "--trust"]) else { return };
        assert!(bench.has_run(), "{line}: {output:?}");
        assert!(
            path.starts_with("src") || path == "new.txt" || !bench.project.path().join(path).exists(),
            "{line}: {output:?}"
        );
        let read = |path: &str| std::fs::read_to_string(bench.project.path().join(path)).unwrap();
        assert_eq!(
            (read(".claude/hooks/kept.sh"), read("kept.txt")),
            ("as it was".to_owned(), "as it was".to_owned()),
            "{line}"
        );
        assert_eq!(read(".claude/hooks/state/run.sh"), "true\n", "{line}");
    }
}

#[test]
fn what_lies_beside_the_script_of_a_hook_stays_as_it_is() {
    let bench = Bench::new();
    let others = [".claude/skills/a/SKILL.md", ".claude/hooks/other.sh"];
    for path in others.iter().chain(&[".claude/hooks/guard.sh", ".claude/skills/a/check.sh"]) {
        bench.file(path, "# as it was\n");
    }
    let line = "sh .claude/hooks/guard.sh && sh .claude/skills/a/check.sh";
    bench.file(".claude/settings.json", &hooks("UserPromptSubmit", &command(line)).to_string());
    let write = "echo x > .claude/hooks/new.sh; echo x > .claude/hooks/other.sh; echo x > .claude/skills/a/SKILL.md";
    let prompt = format!("run `{write}; touch ran.txt`");
    let Some(output) = bench.guarded(&["-p", &prompt, "--model", "offline", "--trust"]) else { return };
    assert!(bench.has_run(), "{output:?}");
    assert!(!bench.project.path().join(".claude/hooks/new.sh").exists());
    for path in others {
        let text = std::fs::read_to_string(bench.project.path().join(path)).unwrap();
        assert_eq!(text, "# as it was\n", "{path}");
    }
}

#[test]
fn servers_do_not_load_from_the_project_and_those_of_a_project_run_in_the_sandbox() {
    for (command, args, outside) in [
        ("npx", vec!["-y", "mcp-server-x"], Value::Null),
        ("python3", vec!["-m", "mcp_server_time"], Value::Null),
        ("python3", vec!["-u", "-m", "mcp_server_time", "--local", "."], Value::Null),
        ("sh", vec!["scripts/lib.sh"], Value::Null),
        ("bash", vec!["-c", "cd scripts && . ./lib"], Value::Null),
        ("make", vec!["check"], Value::Null),
        ("python3", vec!["-m", "mcp_server_time"], json!(false)),
    ] {
        let bench = Bench::hostile();
        let server = json!({"mcpServers": {"x": {"command": command, "args": args, "outside": outside}}});
        bench.at_home(".claude.json", &server.to_string());
        let output = bench.guarded(&["mcp", "test", "x"]).unwrap();
        if text(&output.stderr).contains("No sandbox") {
            return;
        }
        assert!(!bench.has_canary(), "{command} {args:?}: {output:?}");
        assert_eq!(output.status.code(), Some(1), "it is no server");

        let bench = Bench::hostile();
        bench.file(".mcp.json", &server.to_string());
        let output = bench.guarded(&["mcp", "test", "x", "--trust"]).unwrap();
        assert!(!bench.has_canary(), "of the project: {command} {args:?}: {output:?}");
    }
    let bench = Bench::hostile();
    let server = json!({"mcpServers": {"x": {"command": "npx", "args": ["mcp-server-x"], "outside": true}}});
    bench.at_home(".claude.json", &server.to_string());
    bench.guarded(&["mcp", "test", "x"]).unwrap();
    assert!(bench.has_canary(), "it is the user's word");
}

/// Trusts the folder in a session of its own.
fn trust(bench: &Bench) {
    let mut session = Session::offline(bench);
    session.until("until you trust it");
    session.line("/trust");
    session.line("/trust yes");
    assert_eq!(session.end().0, 0);
}

#[test]
fn what_changes_between_the_list_and_the_yes_is_not_trusted() {
    let bench = Bench::new();
    bench.file("scripts/guard.sh", "touch first.txt\n");
    bench.file(".claude/settings.json", &hooks("UserPromptSubmit", &command("sh scripts/guard.sh")).to_string());
    let mut session = Session::offline(&bench);
    session.until("not used until you trust it");
    session.line("/trust");
    session.until("runs UserPromptSubmit: sh scripts/guard.sh");
    bench.file("scripts/guard.sh", "touch second.txt\n");
    session.line("/trust yes");
    session.until("More has come into the folder since it was listed");
    session.line("hello");
    session.until("main:");
    assert_eq!(session.end().0, 0);
    for file in ["first.txt", "second.txt"] {
        assert!(!bench.project.path().join(file).exists(), "{file}");
    }
}

#[test]
fn what_changes_after_the_yes_does_not_run_in_the_same_session_until_it_is_trusted_again() {
    for (files, line) in [
        (vec![("scripts/guard.sh", "touch NAME\n")], "sh scripts/guard.sh"),
        (vec![("scripts/lib", "touch ../NAME\n")], "cd scripts && . ./lib"),
        (vec![("scripts/guard.sh", ". scripts/lib\n"), ("scripts/lib", "touch NAME\n")], "sh scripts/guard.sh"),
        (vec![("tools/run.py", "import lib\n"), ("tools/lib.py", "open('NAME', 'w')\n")], "python3 tools/run.py"),
        (vec![("hook.py", "open('NAME', 'w')\n")], "python3 -m hook"),
        (vec![("a/b/lib", "touch ../../NAME\n")], "cd a; cd b; source lib"),
        (vec![("scripts/one.inc", "touch NAME\n")], "for f in scripts/*.inc; do . \"$f\"; done; . scripts/*.inc"),
        (vec![("guard.sh", "touch NAME\n")], "bash \"$(git rev-parse --show-toplevel 2>/dev/null || pwd)/guard.sh\""),
        (vec![("guard.sh", "touch NAME\n")], "sh \"${CLAUDE_PROJECT_DIR:-.}/guard.sh\""),
        (vec![("my guard.sh", "touch NAME\n")], "sh my\\ guard.sh"),
    ] {
        let bench = Bench::new();
        let put = |name: &str| files.iter().for_each(|(path, text)| bench.file(path, &text.replace("NAME", name)));
        put("first.txt");
        bench.file(".claude/settings.json", &hooks("UserPromptSubmit", &command(line)).to_string());
        trust(&bench);
        let made = |name: &str| bench.project.path().join(name).exists();
        let mut session = Session::offline(&bench);
        session.line("hello");
        session.until("main:");
        assert!(made("first.txt"), "{line}: it runs");
        put("second.txt");
        session.line("hello");
        session.until("New or changed, not used until you trust it: runs UserPromptSubmit");
        session.line("/trust");
        session.until("(new or changed)");
        assert!(!made("second.txt"), "{line}: it ran as it was not trusted");
        session.line("/trust yes");
        session.line("hello");
        session.until("main:");
        let (_, out) = session.end();
        assert!(made("second.txt"), "{line}: it is trusted now: {out}");
        put("third.txt");
        assert_eq!(bench.ask("hello", &[]).status.code(), Some(2), "{line}: between sessions");
        assert!(!made("third.txt"), "{line}");
    }
}

#[test]
fn a_link_that_leads_somewhere_else_is_something_else() {
    let bench = Bench::new();
    bench.file("one.sh", "touch first.txt\n");
    bench.file("two.sh", "touch second.txt\n");
    let link = bench.project.path().join("guard");
    symlink("one.sh", &link).unwrap();
    bench.file(".claude/settings.json", &hooks("UserPromptSubmit", &command("sh guard")).to_string());
    trust(&bench);
    assert_eq!(bench.ask("hello", &[]).status.code(), Some(0));
    assert!(bench.project.path().join("first.txt").exists());
    let mut session = Session::offline(&bench);
    session.line("hello");
    session.until("main:");
    std::fs::remove_file(&link).unwrap();
    symlink("two.sh", &link).unwrap();
    session.line("hello");
    session.until("New or changed, not used until you trust it");
    assert_eq!(session.end().0, 0);
    assert_eq!(bench.ask("hello", &[]).status.code(), Some(2));
    assert!(!bench.project.path().join("second.txt").exists());
}

#[test]
fn a_guard_that_has_changed_lets_no_call_through_unasked() {
    let bench = Bench::new();
    bench.file("guard.sh", "true\n");
    let guard = json!({"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [command("sh guard.sh")]}]}});
    bench.file(".claude/settings.json", &guard.to_string());
    trust(&bench);
    let mut session = Session::start(&bench, &["--plain", "--model", "offline", "--allowedTools", "Bash(touch:*)"]);
    session.line("run `touch one.txt`");
    session.until("main:");
    assert!(bench.project.path().join("one.txt").exists());
    bench.file("guard.sh", "exit 0\n");
    session.line("run `touch two.txt`");
    session.until("main asks: Bash touch two.txt?");
    assert!(!bench.project.path().join("two.txt").exists());
    session.end();
}

#[test]
fn a_hook_that_is_an_address_judges_as_a_command_does() {
    let bench = Bench::new();
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = server.local_addr().unwrap();
    let answer = json!({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny",
        "permissionDecisionReason": "not by wire"}});
    let serving = std::thread::spawn(move || {
        use std::io::{BufRead as _, BufReader, Read as _, Write as _};
        let (mut stream, _) = server.accept().unwrap();
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        let (mut head, mut length) = (String::new(), 0);
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).unwrap();
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
            if line == "\r\n" {
                break;
            }
            head.push_str(&line);
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        let answer = answer.to_string();
        write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{answer}", answer.len())
            .unwrap();
        (head, String::from_utf8(body).unwrap())
    });
    let hook = json!({"type": "http", "url": format!("http://{address}/judge"), "allowedEnvVars": ["HOOK_TOKEN"],
        "headers": {"Authorization": "Bearer $HOOK_TOKEN", "X-Other": "${HOME}x"}});
    let guard = json!({"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [hook]}]}});
    bench.at_home(".claude/settings.json", &guard.to_string());
    let args = ["-p", "run `touch made.txt`", "--model", "offline", "--allowedTools", "Bash(touch:*)"];
    let output = bench.command(&args).env("HOOK_TOKEN", "sesame").output().unwrap();
    assert!(text(&output.stderr).contains("denied: blocked by hook: not by wire"), "{output:?}");
    assert!(!bench.project.path().join("made.txt").exists());
    let (head, body) = serving.join().unwrap();
    assert!(head.starts_with("POST /judge HTTP/1.1"), "{head}");
    assert!(head.contains("Bearer sesame") && head.to_ascii_lowercase().contains("x-other: x\r\n"), "{head}");
    let told: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(told["tool_input"]["command"], "touch made.txt");
}
