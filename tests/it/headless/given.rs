//! Flags for what is otherwise written in files: settings, folders, MCP servers and prompts.

use serde_json::{Value, json};

use super::services::{Answer, GATE, TINY, ask, stream};
use super::{Bench, text};

/// Says how the system prompt begins and ends.
fn mirror(_: &str, body: &str) -> Answer {
    let request: Value = serde_json::from_str(body).unwrap_or_default();
    let system = request["messages"][0]["content"].as_str().unwrap_or_default();
    let first: String = system.chars().take(18).collect();
    let last = system.lines().last().unwrap_or_default();
    stream(&json!({"content": format!("{first} … {last}")}), "stop")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn prompts_of_the_command_line_begin_and_end_the_main_agents_own() {
    let words = ["--system-prompt", "You are a librarian.", "--append-system-prompt", "Answer in one line."];
    let (output, said) = ask(mirror, &[&TINY[..], &words].concat(), &GATE).await;
    assert_eq!(text(&output.stdout), "You are a libraria … Answer in one line.\n", "{said}");
    let (output, said) =
        ask(mirror, &[&TINY[..], &["--append-system-prompt-file", "Cargo.toml"]].concat(), &GATE).await;
    let out = text(&output.stdout);
    assert!(out.starts_with("You are Belvedere") && out.ends_with("… proptest = \"1\"\n"), "{out} {said}");
}

#[test]
fn settings_of_the_command_line_count_as_the_users() {
    let bench = Bench::new();
    let run = ["-p", "run `touch made.txt`", "--model", "offline", "--settings"];
    let allow = r#"{"permissions": {"allow": ["Bash(touch:*)"]}}"#;
    bench.at_home("allow.json", allow);
    let path = bench.home.path().join("allow.json");
    for given in [allow, path.to_str().unwrap()] {
        let output = bench.command(&[&run[..], &[given]].concat()).output().unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
        std::fs::remove_file(bench.project.path().join("made.txt")).unwrap();
    }
    // What the project denies is denied all the same.
    bench.file(".claude/settings.json", r#"{"permissions": {"deny": ["Bash(touch:*)"]}}"#);
    assert_eq!(bench.command(&[&run[..], &[allow]].concat()).output().unwrap().status.code(), Some(4));
    for (given, why) in
        [("missing.json", "missing.json: there is no such file (--settings)."), ("{", "--settings:1:1: ")]
    {
        let output = bench.command(&[&run[..], &[given]].concat()).output().unwrap();
        let said = text(&output.stderr);
        assert_eq!((output.status.code(), said.contains(why)), (Some(2), true), "{said}");
    }
}

#[test]
fn folders_of_the_command_line_are_worked_in() {
    let (bench, other) = (Bench::new(), tempfile::tempdir().unwrap());
    std::fs::write(other.path().join("notes.md"), "the secret word is plover\n").unwrap();
    let path = other.path().join("notes.md");
    let prompt = format!("read {}", path.display());
    assert_eq!(bench.ask(&prompt, &[]).status.code(), Some(4));
    let output = bench.ask(&prompt, &["--add-dir", other.path().to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let output = bench.ask(&prompt, &["--add-dir", "not/there"]);
    assert_eq!((output.status.code(), text(&output.stderr).contains("(--add-dir)")), (Some(2), true));
}

/// Returns the first message of a run.
fn init(bench: &Bench, more: &[&str]) -> Value {
    let flags = ["-p", "hello", "--model", "offline", "--output-format", "stream-json", "--verbose"];
    let output = bench.command(&[&flags[..], more].concat()).output().unwrap();
    let lines = text(&output.stdout);
    let mut messages = lines.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    messages.find(|message| message["subtype"] == "init").unwrap_or_else(|| panic!("{output:?}"))
}

fn names(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().filter_map(Value::as_str).collect()
}

#[test]
fn agents_have_the_built_in_tools_that_were_named() {
    let bench = Bench::new();
    let whole = init(&bench, &[]);
    for tool in ["Read", "Bash", "Agent", "TaskOutput", "AskUserQuestion"] {
        assert!(names(&whole["tools"]).contains(&tool), "no {tool} in {whole}");
    }
    assert_eq!(init(&bench, &["--tools", "default"])["tools"], whole["tools"]);
    assert_eq!(names(&init(&bench, &["--tools", "bash,Read"])["tools"]), ["Read", "Bash"]);
    assert_eq!(init(&bench, &["--tools", ""])["tools"], json!([]));
    // The agent in whose place a name of old stands.
    assert_eq!(names(&init(&bench, &["--tools=Task"])["tools"]), ["Agent"]);
    let output = bench.ask("run `touch made.txt`", &["--tools", "Read", "--allowedTools", "Bash"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(!bench.project.path().join("made.txt").exists());
}

/// Says what a layer has to say: a rule, a memory file, an agent, a skill.
fn layered() -> Bench {
    let bench = Bench::new();
    let rule = |command: &str| json!({"permissions": {"deny": [format!("Bash({command}:*)")]}}).to_string();
    bench.at_home(".claude/settings.json", &rule("touch"));
    bench.file(".claude/settings.json", &rule("mkdir"));
    bench.file(".claude/settings.local.json", &rule("cp"));
    let agent = |name: &str| format!("---\nname: {name}\ndescription: x\n---\nWork.\n");
    bench.at_home(".claude/agents/mine.md", &agent("mine"));
    bench.file(".claude/agents/ours.md", &agent("ours"));
    let skill = "---\ndescription: x\n---\nDo it.\n";
    bench.at_home(".claude/skills/my-skill/SKILL.md", skill);
    bench.file(".claude/skills/our-skill/SKILL.md", skill);
    bench.file(".mcp.json", r#"{"mcpServers": {"ours": {"command": "false"}}}"#);
    bench.at_home(".claude/CLAUDE.md", "USERS\n");
    bench.file("CLAUDE.md", "PROJECTS\n");
    bench.file("CLAUDE.local.md", "LOCALS\n");
    bench
}

#[test]
fn only_the_named_sources_are_read() {
    let bench = layered();
    let has = |list: &Value, name: &str| names(list).contains(&name);
    let denied = |command: &str, sources: &str| {
        let flags = ["--trust", "--permission-mode", "bypassPermissions", "--setting-sources", sources];
        bench.ask(&format!("run `{command}`"), &flags).status.code() == Some(4)
    };
    for (sources, user, project, local) in [
        ("user,project,local", true, true, true),
        ("user,local", true, false, true),
        ("project", false, true, false),
        ("", false, false, false),
    ] {
        let init = init(&bench, &["--trust", "--setting-sources", sources]);
        assert_eq!((has(&init["agents"], "mine"), has(&init["agents"], "ours")), (user, project), "{sources}");
        assert_eq!((has(&init["skills"], "my-skill"), has(&init["skills"], "our-skill")), (user, project), "{sources}");
        assert_eq!(has(&init["slash_commands"], "my-skill"), user, "{sources}");
        assert_eq!(init["mcp_servers"].as_array().unwrap().len(), usize::from(project), "{init}");
        let found = (denied("touch a", sources), denied("mkdir a", sources), denied("cp Cargo.toml b", sources));
        assert_eq!(found, (user, project, local), "{sources}");
        let _ =
            (std::fs::remove_dir(bench.project.path().join("a")), std::fs::remove_file(bench.project.path().join("a")));
    }
    let output = bench.ask("hello", &["--setting-sources", "users"]);
    assert_eq!((output.status.code(), text(&output.stderr).contains("none of user, project, local")), (Some(2), true));
}

/// Says which memory files the request has.
fn remembers(_: &str, body: &str) -> Answer {
    let has = |word: &'static str| if body.contains(word) { word } else { "-" };
    let said = ["USERS", "PROJECTS", "LOCALS"].map(has).join(" ");
    stream(&json!({"content": said}), "stop")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn memory_files_are_those_of_the_named_sources() {
    let server = super::services::Server::start(remembers).await;
    let bench = layered();
    for (sources, read) in [
        ("user,project,local", "USERS PROJECTS LOCALS"),
        ("project", "- PROJECTS -"),
        ("user,local", "USERS - LOCALS"),
        ("", "- - -"),
    ] {
        let mut command =
            bench.command(&["-p", "go", "--model", "openai/tiny", "--trust", "--setting-sources", sources]);
        command.env("OPENAI_BASE_URL", server.base());
        let output = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
        assert_eq!(text(&output.stdout).trim(), read, "{sources}: {output:?}");
    }
}

#[test]
fn a_new_session_has_the_id_that_it_was_given() {
    let bench = Bench::new();
    let id = "3fa01c9e-1d2b-4c3a-9e8f-0123456789ab";
    let given = ["--session-id", id];
    assert_eq!(init(&bench, &given)["session_id"], id);
    let refused = |more: &[&str], why: &str| {
        let output = bench.ask("hello", more);
        assert_eq!((output.status.code(), text(&output.stderr).contains(why)), (Some(2), true), "{output:?}");
    };
    refused(&given, &format!("there is a session {id} already"));
    refused(&["--session-id", "../../x"], "it is no UUID");
    refused(&[&given[..], &["--continue"]].concat(), "--session-id is for a new session");
    // It goes on by its name, and its copy has a name of its own.
    assert_eq!(init(&bench, &["--resume", id])["session_id"], id);
    let other = "3fa01c9e-1d2b-4c3a-9e8f-0123456789ac";
    assert_eq!(init(&bench, &["--resume", id, "--fork-session", "--session-id", other])["session_id"], other);
}
