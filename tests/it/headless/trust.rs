//! What a folder brings, and rules of settings files: the real binary in folders of strangers.

use std::process::Output;

use serde_json::{Value, json};

use super::{Bench, text};

fn said(output: &Output) -> String {
    text(&output.stdout) + &text(&output.stderr)
}

/// A folder that brings an agent, rules and further folders.
fn stranger() -> Bench {
    let bench = Bench::new();
    bench.file(".claude/agents/mine.md", "---\nname: mine\ndescription: Brought along\n---\nYou work.\n");
    bench.file(
        ".claude/settings.json",
        r#"{"permissions": {"allow": ["Bash(touch:*)"], "deny": ["Read(./.env)"], "additionalDirectories": ["src"]},
            "hooks": {"PreToolUse": []}}"#,
    );
    bench.file("src/a.rs", "fn a() {}\n");
    bench.file(".env", "CANARY\n");
    bench
}

#[test]
fn nothing_that_a_folder_brings_is_used_before_it_is_trusted() {
    let bench = stranger();
    let output = bench.ask("run `touch made.txt`", &[]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let expected = "brings 1 agent, 1 rule that allows, 1 further folder that you have not trusted";
    assert!(said(&output).contains(expected), "{output:?}");
    assert!(!bench.project.path().join("made.txt").exists());

    let output = bench.ask("run `touch made.txt`", &["--trust"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(bench.project.path().join("made.txt").exists());
    assert_eq!(bench.ask("hello", &[]).status.code(), Some(2), "it was for that session");
}

#[test]
fn what_is_said_of_a_folder_is_kept_and_what_comes_later_is_asked_about_anew() {
    let bench = stranger();
    let mut session = super::plain::Session::offline(&bench);
    session.until("not used until you trust it");
    session.line("/trust");
    session.line("/trust yes");
    session.line("/quit");
    let (code, out) = session.end();
    assert_eq!(code, 0, "{out}");
    for line in ["not trusted: none of it is used", "agent .claude/agents/mine.md", "allows Bash(touch:*)"] {
        assert!(out.contains(line), "no {line:?} in {out}");
    }
    assert_eq!(bench.ask("hello", &[]).status.code(), Some(0));
    bench.file(".claude/agents/mine.md", "---\nname: mine\ndescription: Another\n---\nYou work.\n");
    assert_eq!(bench.ask("hello", &[]).status.code(), Some(2), "not what was trusted");
    bench.file(".claude/agents/mine.md", "---\nname: mine\ndescription: Brought along\n---\nYou work.\n");
    assert_eq!(bench.ask("hello", &[]).status.code(), Some(0), "as it was");
    bench.file(".claude/agents/deep/later.md", "---\nname: later\ndescription: d\n---\nYou work.\n");
    assert_eq!(bench.ask("hello", &[]).status.code(), Some(2));
    let mut session = super::plain::Session::offline(&bench);
    session.until("not used until you trust it");
    session.line("/trust");
    session.until("agent .claude/agents/deep/later.md (new or changed)");
    session.line("/trust no");
    assert_eq!(session.end().0, 0);
    std::fs::remove_file(bench.project.path().join(".claude/agents/deep/later.md")).unwrap();
    assert_eq!(bench.ask("hello", &[]).status.code(), Some(2), "taken back");
    let mut session = super::plain::Session::offline(&bench);
    session.until("not used until you trust it");
    session.line("/trust");
    session.line("/trust yes");
    assert_eq!(session.end().0, 0);
    assert_eq!(bench.ask("hello", &[]).status.code(), Some(0));
    let kept = bench.home.path().join(".local/state/belvedere");
    let files = walk(&kept).into_iter().filter(|path| path.ends_with("trust.toml")).collect::<Vec<_>>();
    assert_eq!(files.len(), 1, "{files:?}");
    std::fs::write(&files[0], "project = 1\n").unwrap();
    assert_eq!(bench.ask("hello", &[]).status.code(), Some(2), "what cannot be read trusts nothing");
}

fn walk(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { walk(&path) } else { vec![path] }).collect()
}

#[test]
fn rules_of_settings_hold_and_the_one_that_decides_is_named() {
    let bench = stranger();
    bench.at_home(".claude/settings.json", r#"{"permissions": {"allow": ["Bash(make)"], "ask": ["Bash(false)"]}}"#);
    bench.at_home(".config/belvedere/config.toml", "disallowed_tools = [\"Bash(git push:*)\"]\n");
    let check = |call: &str| {
        let output = bench.command(&["permissions", "check", call]).output().unwrap();
        (output.status.code().unwrap(), said(&output).replace(bench.home.path().to_str().unwrap(), "HOME"))
    };
    for (call, code, words) in [
        ("Bash(git push)", 1, "deny Bash(git push:*) (your configuration)"),
        ("Bash(timeout 5 git push)", 1, "deny Bash(git push:*)"),
        ("Bash(make)", 0, "rule: allow Bash(make) (HOME/.claude/settings.json)"),
        ("Bash(false)", 4, "rule: ask Bash(false)"),
        ("Read(.env)", 1, "deny Read(./.env)"),
        ("Read(src/a.rs)", 0, "reading in the project is free"),
        ("Edit(src/a.rs)", 4, "every edit needs approval"),
        ("Bash(touch x)", 4, "it may modify files"),
        ("Agent(explore)", 0, "nothing forbids"),
        ("Bash(", 2, "no closing parenthesis"),
    ] {
        let (status, said) = check(call);
        assert!(status == code && said.contains(words), "{call}: {status} {said}");
    }
    let output = bench.command(&["permissions", "check", "Bash(touch x)", "--trust"]).output().unwrap();
    assert!(said(&output).starts_with("allow: rule: allow Bash(touch:*)"), "{output:?}");
    let listed = said(&bench.command(&["permissions"]).output().unwrap());
    let order: Vec<&str> = listed.lines().filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(order, ["mode:", "deny", "deny", "ask", "allow", "not"], "{listed}");
}

#[test]
fn what_is_denied_is_read_by_no_tool() {
    let bench = stranger();
    for request in ["run `cat .env`", "read .env", "grep CANARY"] {
        let output = bench.ask(request, &["--trust", "--disallowedTools", "Bash(rm:*)"]);
        assert!(!text(&output.stdout).contains("CANARY\n"), "{request}: {output:?}");
    }
}

#[test]
fn settings_that_make_no_sense_are_named_and_the_others_hold() {
    let bench = Bench::new();
    bench.file(".claude/settings.json", "{\"permissions\": {\"deny\": \"all\"}}");
    bench.at_home(
        ".claude/settings.json",
        r#"{"permissions": {"allow": ["Bash(", "Read(", "Edit(docs/**)"], "deny": ["Bash()", 7], "defaultMode": "auto",
            "additionalDirectories": ["/nowhere/at/all", "~"]}}"#,
    );
    let listed = said(&bench.command(&["permissions"]).output().unwrap());
    for words in [
        "allow Edit(docs/**)",
        "`all` names no tool; to deny all of them, write `*`.",
        "`Bash(` is not a rule",
        "It allows nothing.",
        "`Bash()` is not a rule",
        "`permissions.deny` has a number in the place of entry 2: it does nothing.",
        "`defaultMode` `auto` works as `default` here",
        "the directory /nowhere/at/all is left out",
        "the directory ~ is left out: it holds your home.",
    ] {
        assert!(listed.contains(words), "no {words:?} in {listed}");
    }
    let output = bench.ask("run `touch made.txt`", &["--allowedTools", "Bash(touch:*)"]);
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    assert!(!bench.project.path().join("made.txt").exists(), "a denial that is not understood denies all");
}

#[test]
fn an_answer_for_the_project_becomes_a_rule_where_that_is_wanted() {
    let bench = Bench::new();
    bench.at_home(".config/belvedere/config.toml", "keep_answers = \"settings\"\n");
    let mut session = super::plain::Session::offline(&bench);
    session.line("run `touch made.txt`");
    session.until("[p]roject Bash(touch made.txt)");
    session.line("p");
    session.until("exit code 0");
    assert_eq!(session.end().0, 0);
    let kept = std::fs::read_to_string(bench.project.path().join(".claude/settings.local.json")).unwrap();
    assert!(kept.contains("\"Bash(touch made.txt)\""), "{kept}");
    std::fs::remove_file(bench.project.path().join("made.txt")).unwrap();
    let output = bench.ask("run `touch made.txt`", &[]);
    assert!(output.status.success(), "what was answered is trusted: {output:?}");
    assert!(bench.project.path().join("made.txt").exists());
}

#[test]
fn what_comes_or_changes_while_the_program_runs_waits_for_its_own_yes() {
    let bench = Bench::new();
    let mut session = super::plain::Session::offline(&bench);
    // Once it answers, it watches.
    session.line("hello");
    session.until("main: I am the built-in offline model");
    let agent = |what: &str| format!("---\nname: later\ndescription: {what}\n---\nYou work.\n");
    for what in ["comes", "changes"] {
        bench.file(".claude/agents/later.md", &agent(what));
        session.until("New or changed, not used until you trust it: agent .claude/agents/later.md: /trust");
        session.line("/trust");
        session.until("1 agent · trusted, but for what is new or has changed");
        session.until("agent .claude/agents/later.md (new or changed)");
        session.line("/trust yes");
        let mut state = String::new();
        while state != "1 agent · trusted" {
            session.line("/trust");
            session.until("1 agent · trusted").trim_end().clone_into(&mut state);
        }
    }
    assert_eq!(session.end().0, 0);
    assert_eq!(bench.ask("hello", &[]).status.code(), Some(0), "the yes is kept");
    bench.file(".claude/agents/later.md", &agent("comes"));
    assert_eq!(bench.ask("hello", &[]).status.code(), Some(0), "and so is the one before, for another branch");
}

#[test]
fn a_yes_is_for_what_was_listed() {
    let bench = stranger();
    let mut session = super::plain::Session::offline(&bench);
    session.until("not used until you trust it");
    session.line("/trust yes");
    session.until("agent .claude/agents/mine.md");
    session.until("read this first, then type /trust yes again");
    bench.file(".claude/agents/later.md", "---\nname: later\ndescription: d\n---\nYou work.\n");
    session.line("/trust yes");
    // Whether the watch or the answer meets it first, it is named before a yes counts.
    session.until_any(&["More has come into the folder since it was listed", "New or changed, not used until"]);
    session.line("/trust");
    session.until("agent .claude/agents/later.md (new or changed)");
    session.line("/trust yes");
    assert_eq!(session.end().0, 0);
    assert_eq!(bench.ask("hello", &[]).status.code(), Some(0));
}

#[test]
fn what_was_trusted_stays_in_force_beside_what_is_new() {
    let bench = Bench::new();
    let hook = |command: &str| json!({"matcher": "Bash", "hooks": [{"type": "command", "command": command}]});
    let guard = hook("if grep -q precious; then echo 'hands off' >&2; exit 2; fi");
    let settings = |hooks: &[Value], allowed: &[&str]| {
        let settings = json!({"hooks": {"PreToolUse": hooks}, "permissions": {"allow": allowed}});
        bench.file(".claude/settings.json", &settings.to_string());
    };
    settings(std::slice::from_ref(&guard), &["Bash(touch precious.txt)"]);
    let mut session = super::plain::Session::offline(&bench);
    session.until("not used until you trust it");
    session.line("/trust");
    session.line("/trust yes");
    assert_eq!(session.end().0, 0);

    settings(&[guard, hook("touch planted.txt")], &["Bash(touch precious.txt)", "Bash(touch new.txt)"]);
    let output = bench.ask("hello", &[]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(said(&output).contains("brings 1 rule that allows, 1 hook that you have not trusted"), "{output:?}");
    let mut session = super::plain::Session::offline(&bench);
    session.until("New or changed, not used until you trust it: allows Bash(touch new.txt), runs PreToolUse");
    session.line("run `touch precious.txt`");
    session.until("blocked by hook: hands off");
    session.line("run `touch new.txt`");
    session.until("[y]es");
    session.line("n");
    session.line("/trust");
    session.until("trusted, but for what is new or has changed");
    session.line("/quit");
    let (code, out) = session.end();
    assert_eq!(code, 0, "{out}");
    for name in ["precious.txt", "planted.txt", "new.txt"] {
        assert!(!bench.project.path().join(name).exists(), "{name}: {out}");
    }
    assert_eq!(bench.ask("hello", &[]).status.code(), Some(2), "what is new was not trusted on the way");
}

#[test]
fn a_program_that_is_an_agent_is_named_and_trusted_with_the_scripts_that_it_runs() {
    let bench = Bench::new();
    bench.file(".claude/agents/other.md", "---\nname: other\ndescription: d\nacp: ./agent.sh --quiet\n---\n");
    bench.file("agent.sh", "#!/bin/sh\nexit 1\n");
    let output = bench.ask("hello", &[]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(
        said(&output).contains("brings 1 agent, 1 program that is an agent that you have not trusted"),
        "{output:?}"
    );
    let mut session = super::plain::Session::offline(&bench);
    session.until("not used until you trust it");
    session.line("/trust");
    session.line("/trust yes");
    session.line("/quit");
    let (_, out) = session.end();
    assert!(out.contains("starts as an agent ./agent.sh --quiet"), "{out}");
    assert_eq!(bench.ask("hello", &[]).status.code(), Some(0));
    bench.file("agent.sh", "#!/bin/sh\nexit 2\n");
    assert_eq!(bench.ask("hello", &[]).status.code(), Some(2), "not what was trusted");
}
