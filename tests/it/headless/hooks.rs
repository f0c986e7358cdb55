//! Hooks and settings with the real binary: programs that really run, in folders of the user and of strangers.

use serde_json::{Value, json};

use super::{Bench, text};

/// A program that blocks commands with `touch` and writes down what it was told.
const GUARD: &str = r#"#!/bin/sh
cat > "$HOME/told.json"
env > "$HOME/env.txt"
if grep -q 'touch' "$HOME/told.json"; then echo "no touching" >&2; exit 2; fi
"#;

fn hooks(event: &str, matcher: &str, hook: &Value) -> Value {
    json!({"hooks": {event: [{"matcher": matcher, "hooks": [hook]}]}})
}

fn guarded(bench: &Bench, more: &Value) {
    bench.at_home("guard.sh", GUARD);
    let hook = json!({"type": "command", "command": "sh ~/guard.sh", "timeout": 20});
    let mut settings = hooks("PreToolUse", "Bash", &hook);
    settings.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    bench.at_home(".claude/settings.json", &settings.to_string());
}

#[test]
fn a_hook_of_the_user_blocks_a_command_that_a_rule_allows() {
    let bench = Bench::new();
    guarded(&bench, &json!({"env": {"GREETING": "hello", "LD_PRELOAD": "/x.so", "ANTHROPIC_API_KEY": "k"}}));
    let args = ["-p", "run `touch made.txt`", "--model", "offline", "--allowedTools", "Bash(touch:*)"];
    let output = bench.command(&args).env("OPENAI_API_KEY", "sk-canary").output().unwrap();
    assert_eq!(output.status.code(), Some(4), "{output:?}");
    assert!(text(&output.stderr).contains("denied: blocked by hook: no touching"), "{output:?}");
    assert!(!bench.project.path().join("made.txt").exists());
    let told: Value =
        serde_json::from_str(&std::fs::read_to_string(bench.home.path().join("told.json")).unwrap()).unwrap();
    assert_eq!(told["tool_input"]["command"], "touch made.txt");
    let transcript = told["transcript_path"].as_str().unwrap();
    assert!(std::path::Path::new(transcript).exists(), "{transcript}");
    let env = std::fs::read_to_string(bench.home.path().join("env.txt")).unwrap();
    let project = bench.project.path().canonicalize().unwrap();
    for line in ["GREETING=hello".to_owned(), format!("CLAUDE_PROJECT_DIR={}", project.display())] {
        assert!(env.lines().any(|known| known == line), "no {line:?} in {env}");
    }
    for name in ["sk-canary", "LD_PRELOAD", "ANTHROPIC_API_KEY"] {
        assert!(!env.contains(name), "{name} in {env}");
    }
    let said = text(&output.stderr);
    assert!(said.contains("`env.LD_PRELOAD` in your settings is not set"), "{said}");

    let json = bench.command(&[&args[..], &["--output-format", "json"]].concat()).output().unwrap();
    assert!(text(&json.stdout).contains("blocked by hook: no touching"), "{json:?}");
    guarded(&bench, &json!({"disableAllHooks": true}));
    assert_eq!(bench.command(&args).output().unwrap().status.code(), Some(0), "they are switched off");
}

#[test]
fn a_projects_hooks_and_variables_act_only_once_they_are_trusted() {
    let bench = Bench::new();
    let hook = json!({"type": "command", "command": "touch \"$CLAUDE_PROJECT_DIR\"/ran.txt"});
    let mut settings = hooks("UserPromptSubmit", "", &hook);
    settings["env"] = json!({"CITY": "Rome"});
    settings["disableAllHooks"] = json!(false);
    bench.file(".claude/settings.json", &settings.to_string());
    let output = bench.ask("hello", &[]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(text(&output.stderr).contains("brings 1 hook, 1 variable that you have not trusted"), "{output:?}");
    let ran = || bench.project.path().join("ran.txt").exists();
    assert!(!ran());

    let mut session = super::plain::Session::offline(&bench);
    session.until("not used until you trust it");
    session.line("/hooks");
    session.line("/trust");
    session.line("/trust yes");
    session.line("/quit");
    let (code, out) = session.end();
    assert_eq!(code, 0, "{out}");
    assert!(out.contains("does not run: not trusted"), "{out}");
    assert!(out.contains("runs UserPromptSubmit: touch"), "{out}");
    assert_eq!(bench.ask("hello", &[]).status.code(), Some(0));
    assert!(ran());

    let other = json!({"type": "command", "command": "touch \"$CLAUDE_PROJECT_DIR\"/other.txt"});
    bench.file(".claude/settings.json", &hooks("UserPromptSubmit", "", &other).to_string());
    assert_eq!(bench.ask("hello", &[]).status.code(), Some(2), "another command is asked about anew");
    assert!(!bench.project.path().join("other.txt").exists());
}

#[test]
fn what_a_hook_adds_is_shown_in_one_line_and_is_no_question_to_the_offline_model() {
    let bench = Bench::new();
    let hook = json!({"type": "command", "command": "echo 'it is Friday'; echo 'more for the model'"});
    bench.at_home(".claude/settings.json", &hooks("UserPromptSubmit", "", &hook).to_string());
    let mut session = super::plain::Session::offline(&bench);
    session.line("where is verify_password defined?");
    session.until("UserPromptSubmit hook: it is Friday");
    session.until("main: The function `verify_password` at `src/lib.rs:4`");
    session.line("/quit");
    let (code, out) = session.end();
    assert_eq!(code, 0, "{out}");
    assert!(!out.contains("system-reminder") && !out.contains("more for the model"), "{out}");
}

#[test]
fn a_hook_that_hangs_is_ended_with_what_it_has_started() {
    let bench = Bench::new();
    let command = "sleep 300 & echo $! > ~/pid.txt; sleep 300";
    let hook = json!({"type": "command", "command": command, "timeout": 1});
    bench.at_home(".claude/settings.json", &hooks("UserPromptSubmit", "", &hook).to_string());
    let output = bench.ask("hello", &[]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(text(&output.stderr).contains("hook UserPromptSubmit timed out: after 1 s"), "{output:?}");
    let pid: i32 = std::fs::read_to_string(bench.home.path().join("pid.txt")).unwrap().trim().parse().unwrap();
    let is_gone = nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), None).is_err();
    assert!(is_gone, "what the hook has started lives on");
}

#[test]
fn a_script_that_runs_as_a_hook_is_trusted_with_what_it_holds_and_no_command_changes_it() {
    let bench = Bench::new();
    bench.file("tools/my guard.sh", "touch first.txt\n");
    bench.file("tools/server.mjs", "");
    let hook = json!({"type": "command", "command": "sh \"$CLAUDE_PROJECT_DIR/tools/my guard.sh\""});
    bench.file(".claude/settings.json", &hooks("UserPromptSubmit", "", &hook).to_string());
    let server = json!({"mcpServers": {"own": {"command": "false", "args": ["tools/server.mjs"]}}});
    bench.file(".mcp.json", &server.to_string());
    let trust = || {
        let mut session = super::plain::Session::offline(&bench);
        session.until("until you trust it");
        session.line("/trust");
        session.line("/trust yes");
        assert_eq!(session.end().0, 0);
    };
    trust();
    assert_eq!(bench.ask("hello", &[]).status.code(), Some(0));
    assert!(bench.project.path().join("first.txt").exists());

    bench.file("tools/my guard.sh", "touch second.txt\n");
    let output = bench.ask("hello", &[]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(text(&output.stderr).contains("brings 1 hook that you have not trusted"), "{output:?}");
    assert!(!bench.project.path().join("second.txt").exists());
    trust();
    bench.file("tools/server.mjs", "// Another one.\n");
    assert!(text(&bench.ask("hello", &[]).stderr).contains("brings 1 MCP server that you have not trusted"));
    trust();

    let change = "run `echo x > tools/server.mjs; mv tools other; echo x > 'tools/my guard.sh'; echo x > plain.txt`";
    let output = bench.command(&["-p", change, "--model", "offline"]).env_remove("BELVEDERE_SANDBOX_ENABLED").output();
    let output = output.unwrap();
    if text(&output.stderr).contains("No sandbox here") {
        return;
    }
    let read = |path: &str| std::fs::read_to_string(bench.project.path().join(path)).unwrap();
    assert_eq!(read("plain.txt"), "x\n", "{output:?}");
    assert_eq!(
        (read("tools/server.mjs").as_str(), read("tools/my guard.sh").as_str()),
        ("// Another one.\n", "touch second.txt\n")
    );
}
