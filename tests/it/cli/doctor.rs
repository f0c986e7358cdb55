//! `belvedere doctor`: each planted fault is found.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::PermissionsExt as _;

use super::Bench;

/// Asks the doctor, and returns the states and the words of one check.
fn found(bench: &Bench, check: &str) -> (String, Vec<(String, String)>) {
    let rows = bench.run("shop", &["doctor", "--json"]).json();
    let row = rows.as_array().unwrap().iter().find(|row| row["check"] == check).unwrap();
    let findings = row["findings"].as_array().unwrap().iter();
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    (text(&row["state"]), findings.map(|finding| (text(&finding["state"]), text(&finding["text"]))).collect())
}

/// Checks that a fault is found, with these words.
fn finds(bench: &Bench, check: &str, state: &str, words: &str) {
    let (worst, findings) = found(bench, check);
    let is_it = |(of, text): &(String, String)| of == state && text.contains(words);
    assert!(findings.iter().any(is_it) && worst != "ok", "{check}: {findings:?}");
}

fn program(bench: &Bench, name: &str, text: &str) {
    let path = bench.file(&format!("bin/{name}"), &format!("#!/bin/sh\n{text}\n"));
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// A bench whose only programs are its own.
fn alone() -> Bench {
    let mut bench = Bench::new();
    std::fs::create_dir_all(bench.path("bin")).unwrap();
    bench.env.push(("PATH", bench.path("bin")));
    bench
}

#[test]
fn an_unknown_setting() {
    let bench = Bench::new();
    bench.file(".config/belvedere/config.toml", "modle = \"x\"\n");
    finds(&bench, "configuration", "note", "unknown key `modle`; did you mean `model`?");
}

#[test]
fn a_broken_settings_file() {
    let bench = Bench::new();
    bench.file(".claude/settings.json", "{");
    finds(&bench, "settings", "broken", "settings.json");
    assert_eq!(bench.run("shop", &["doctor"]).status, 1);
}

#[test]
fn keys_of_settings_are_named_with_what_they_do() {
    let bench = Bench::new();
    let text = r#"{"enabledPlugins": {}, "disabledMcpjsonServers": ["a"], "theme": "x", "modle": "y",
        "permissions": {"deny": ["Bash(rm:*)"], "disableAutoMode": "disable", "dney": []}}"#;
    bench.file(".claude/settings.json", text);
    let unused = "known to Claude Code, without effect here: `theme`, `permissions.disableAutoMode`";
    finds(&bench, "settings", "note", unused);
    finds(&bench, "settings", "note", "unknown, without effect: `modle`, `permissions.dney`");
    finds(&bench, "settings", "ok", "used: `enabledPlugins`, `disabledMcpjsonServers`, `permissions`");
}

#[test]
fn a_broken_agent_and_hooks_of_a_skill_that_cannot_run() {
    let bench = Bench::new();
    bench.file(".claude/agents/empty.md", "---\nname: empty\ndescription: d\ntools: Nothing\n---\nYou.\n");
    bench.file(".claude/skills/s/SKILL.md", "---\nhooks: {PreToolUse: none}\n---\nDo it.\n");
    finds(&bench, "agents", "broken", "empty.md");
    finds(&bench, "skills", "note", "SKILL.md");
}

#[test]
fn a_server_whose_program_is_not_there() {
    let bench = Bench::new();
    bench.file(".config/belvedere/config.toml", "[mcp_servers.docs]\ncommand = \"no-such-program-here\"\n");
    finds(&bench, "mcp", "broken", "docs: its program `no-such-program-here` is not in PATH");
}

#[test]
fn a_launcher_whose_program_is_not_there_and_an_agent_without_its_launcher() {
    let bench = Bench::new();
    let settings = "[launchers.big]\ncommand = \"no-such-program-here acp\"\n[launchers.sh]\ncommand = \"sh -c x\"\nfolder = \"git\"\n";
    bench.file(".config/belvedere/config.toml", settings);
    finds(&bench, "launchers", "broken", "big: its program `no-such-program-here` is not there");
    let (_, findings) = found(&bench, "launchers");
    let words = "sh: sh -c x (8 at once, with the project's files)".to_owned();
    assert!(findings.contains(&("ok".to_owned(), words)), "{findings:?}");
    bench.file(".claude/agents/far.md", "---\nname: far\ndescription: d\nisolation: bug\n---\nYou work.");
    finds(&bench, "agents", "note", "`isolation: bug` names a launcher that your configuration does not have");
}

/// Starts a server on this machine that gives each request this answer, and returns where it is.
fn answering(status: &'static str, body: &'static str) -> SocketAddr {
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let place = server.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in server.incoming() {
            let mut stream = stream.unwrap();
            let _ = BufReader::new(&stream).lines().map_while(Result::ok).find(String::is_empty);
            let length = body.len();
            let head = format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n");
            let _ = stream.write_all(format!("{head}{body}").as_bytes());
        }
    });
    place
}

#[test]
fn services_that_answer_that_refuse_the_key_and_that_are_not_there() {
    let mut bench = Bench::new();
    finds(&bench, "services", "note", "no key and no server");
    let refusing = answering("401 Unauthorized", "");
    let listing = answering("200 OK", r#"{"object":"list","data":[{"id":"a"},{"id":"b"}]}"#);
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    bench.env.push(("ANTHROPIC_API_KEY", "canary-key".into()));
    bench.env.push(("ANTHROPIC_BASE_URL", format!("http://{refusing}").into()));
    bench.env.push(("OPENAI_BASE_URL", format!("http://{listing}/v1").into()));
    bench.env.push(("GOOGLE_API_KEY", "canary-key".into()));
    bench.env.push(("GOOGLE_GEMINI_BASE_URL", format!("http://{nobody}").into()));
    let more = format!(
        "[providers.open]\nwire = \"openai\"\nurl = \"http://198.51.100.7/v1\"\napi_key = \"canary-key\"\n\
         [providers.slow]\nwire = \"openai\"\nurl = \"http://{listing}/v1\"\napi_key_command = \"echo canary\"\n\
         [providers.headed]\nwire = \"openai\"\nurl = \"http://{listing}/v1\"\nheaders = {{ x-team = \"${{TEAM}}\" }}\n"
    );
    bench.file(".config/belvedere/config.toml", &more);
    for (state, words) in [
        ("broken", "anthropic: refused the key (401): check ANTHROPIC_API_KEY"),
        ("ok", "openai: reachable, 2 models"),
        ("broken", "gemini: cannot be reached: "),
        ("note", "open: not asked: its key would go to 198.51.100.7 unencrypted; start its address with https://"),
        ("note", "slow: not asked: its key is fetched when it is first asked"),
        ("broken", "the header `x-team` cannot be sent: the variable TEAM is not set"),
    ] {
        finds(&bench, "services", state, words);
    }
    assert!(!bench.run("shop", &["doctor"]).out.contains("canary"));
}

#[test]
fn a_terminal_that_draws_nothing_and_a_locale_without_signs() {
    let mut bench = Bench::new();
    bench.env.push(("TERM", "dumb".into()));
    bench.env.push(("LC_ALL", "POSIX".into()));
    finds(&bench, "terminal", "note", "TERM is dumb");
    finds(&bench, "terminal", "note", "the locale is POSIX");
    bench.env.push(("TERM", "xterm-256color".into()));
    bench.env.push(("LC_ALL", "C.UTF-8".into()));
    assert_eq!(found(&bench, "terminal").0, "ok");
}

#[test]
fn keys_that_do_not_arrive() {
    let mut bench = Bench::new();
    assert_eq!(found(&bench, "keys").0, "ok");
    bench.env.push(("TERM_PROGRAM", "Apple_Terminal".into()));
    finds(&bench, "keys", "note", "sends no shift+enter");
}

#[test]
fn settings_of_tmux_that_lose_something() {
    let mut bench = alone();
    program(
        &bench,
        "tmux",
        "case $3 in escape-time) echo 500 ;; set-clipboard | allow-passthrough) echo off ;; *) echo on ;; esac",
    );
    assert_eq!(found(&bench, "tmux").0, "ok");
    bench.env.push(("TMUX", "/tmp/x,1,0".into()));
    finds(&bench, "tmux", "note", "tmux keeps esc back for 500 ms");
    finds(&bench, "tmux", "note", "set-clipboard is off");
    finds(&bench, "tmux", "note", "allow-passthrough is off in tmux: notifications are a bell without words");
}

#[test]
fn no_program_for_the_clipboard_and_no_colors() {
    let mut bench = alone();
    finds(&bench, "clipboard", "note", "ctrl+v attaches no image");
    finds(&bench, "colors", "note", "COLORTERM does not say truecolor");
    program(&bench, "xclip", "true");
    bench.env.push(("COLORTERM", "truecolor".into()));
    assert_eq!((found(&bench, "clipboard").0, found(&bench, "colors").0), ("ok".to_owned(), "ok".to_owned()));
}

#[test]
fn git_that_is_missing_or_too_old() {
    let bench = alone();
    finds(&bench, "git", "broken", "git is not found");
    program(&bench, "git", "echo git version 2.30.2");
    finds(&bench, "git", "note", "git 2.30.2 is too old for worktrees, which need 2.38");
}

#[test]
fn a_sandbox_that_is_switched_off() {
    let bench = Bench::new();
    bench.file(".config/belvedere/config.toml", "[sandbox]\nenabled = false\n");
    finds(&bench, "sandbox", "note", "commands ask before they run: it is switched off");
}
