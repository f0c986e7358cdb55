//! Another program as an agent, with the real binary: a script that speaks the protocol.

use axum::Router;
use axum::body::Bytes;
use axum::response::Response;
use serde_json::{Value, json};

use super::Bench;
use super::plain::Session;
use super::worktrees::streamed;
use crate::support::git;

/// A program that answers each prompt, and does not say what that took. It reaches no server with server-sent events. What it
/// is told lies beside it, and what it writes where it works.
const PROGRAM: &str = r#"
told() {
    echo "{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{\"sessionId\":\"s\",\"update\":$1}}"
}
while read -r line; do
    printf '%s\n' "$line" >> "$0.told"
    id=${line#*\"id\":}; id=${id%%,*}
    case $line in
        *'"method":"initialize"'*) answer='{"protocolVersion":1,"agentCapabilities":{"mcpCapabilities":{"http":true}}}' ;;
        *'"method":"session/new"'*) answer='{"sessionId":"s"}' ;;
        *'"method":"session/prompt"'*)
            echo 'A better shop.' > new.txt
            echo '//! The shop.' > src/lib.rs
            told '{"sessionUpdate":"tool_call","toolCallId":"c","title":"Terminal","kind":"execute","status":"pending"}'
            told '{"sessionUpdate":"tool_call_update","toolCallId":"c","rawInput":{"command":"echo two"}}'
            told '{"sessionUpdate":"tool_call_update","toolCallId":"c","status":"completed"}'
            told '{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"<summary>I looked</summary>"}}'
            answer='{"stopReason":"end_turn"}' ;;
        *) continue ;;
    esac
    echo "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":$answer}"
done
"#;

/// A main agent that starts the program once.
async fn answer(body: Bytes) -> Response {
    // It is also asked for its models.
    let Ok(request) = serde_json::from_slice::<Value>(&body) else { return Response::default() };
    let messages = request["messages"].as_array().unwrap();
    streamed(&if messages.iter().any(|message| message["role"] == "assistant") {
        json!({"type": "text", "text": "that was it"})
    } else {
        let input = json!({"description": "look", "subagent_type": "other", "prompt": "Look at src/lib.rs and say what it is for."});
        json!({"type": "tool_use", "id": "toolu_0", "name": "Agent", "input": input})
    })
}

/// A program, and a model that has it do something. The agent's file has these lines more.
async fn bench(more: &str) -> (Bench, String) {
    let bench = Bench::new();
    bench.at_home("other.sh", PROGRAM);
    let program = bench.home.path().join("other.sh");
    let agent = format!("---\nname: other\ndescription: d\nacp: [sh, {}]\n{more}---\nBe brief.", program.display());
    bench.at_home(".claude/agents/other.md", &agent);
    (bench, format!("http://{}", crate::support::serve(Router::new().fallback(answer)).await))
}

const FLAGS: [&str; 5] = ["--model", "anthropic/opus", "--permission-mode", "bypassPermissions", "--trust"];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn json_says_that_it_does_not_know_what_a_program_used() {
    let (bench, base) = bench("").await;
    let mut command = bench.command(&[&["-p", "go", "--output-format", "json"], &FLAGS[..]].concat());
    command.env("ANTHROPIC_API_KEY", "k").env("ANTHROPIC_BASE_URL", base);
    let output = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&result["result"], &result["usage"]["unknown"]), (&json!("that was it"), &json!(false)), "{result}");
    let tree = &result["tree"];
    assert_eq!((&tree["usage"]["unknown"], &tree["cost_usd"]), (&json!(true), &Value::Null), "{result}");
    assert_eq!(tree["total_tokens"], result["usage"]["input_tokens"].as_u64().unwrap() + 2, "{result}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn plain_lines_say_so_too() {
    let (bench, base) = bench("").await;
    let says = |session: &mut Session| {
        session.until("that was it");
        session.line("/cost");
        session.until("all agents: ≥");
        session.until("other-1: unknown tokens");
    };
    let (_, said) = talk(bench, base, says).await;
    assert!(
        said.contains("Bash echo two") && !said.contains("by hook"),
        "what a program says more is no hook's: {said}"
    );
}

/// Talks to a session in lines. Returns all that it said.
async fn talk(bench: Bench, base: String, talk: impl FnOnce(&mut Session) + Send + 'static) -> (Bench, String) {
    let talking = tokio::task::spawn_blocking(move || {
        let env = [("ANTHROPIC_API_KEY", "k"), ("ANTHROPIC_BASE_URL", base.as_str()), ("MY_TOKEN", "t0ken")];
        let mut session = Session::start_with(&bench, &[&["--plain"], &FLAGS[..]].concat(), &env);
        session.line("go");
        talk(&mut session);
        let (status, said) = session.end();
        assert_eq!(status, 0, "{said}");
        (bench, said)
    });
    talking.await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_program_works_in_a_worktree_and_what_it_changed_is_merged() {
    let (bench, base) = bench("isolation: worktree\n").await;
    let project = bench.project.path().to_owned();
    git(&project, ["init", "-q", "-b", "main"]);
    git(&project, ["add", "-A"]);
    git(&project, ["commit", "-q", "-m", "first"]);
    let written = project.join("new.txt");
    let (bench, _) = talk(bench, base, move |session| {
        session.until("that was it");
        assert!(!written.exists(), "it works apart");
        session.line("/worktrees");
        session.until("other-1: 2 files");
        session.line("/merge other-1");
        session.until("merged into the project, not committed · 2 files");
        assert!(written.exists());
    })
    .await;
    let shop = std::fs::read_to_string(project.join("src/lib.rs")).unwrap();
    assert_eq!(shop, "//! The shop.\n");
    let told = std::fs::read_to_string(bench.home.path().join("other.sh.told")).unwrap();
    let cwd = told.lines().find_map(|line| {
        let message: Value = serde_json::from_str(line).unwrap();
        message["params"]["cwd"].as_str().map(str::to_owned)
    });
    assert!(!cwd.unwrap().starts_with(project.to_str().unwrap()), "{told}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_program_is_handed_the_servers_that_its_file_names() {
    let servers = "mcpServers:\n  \
        - files: {command: sh, args: [-c, 'exit 1'], env: {TOKEN: \"${MY_TOKEN}\"}}\n  \
        - docs: {type: http, url: 'http://localhost:1/mcp', headers: {Authorization: \"Bearer ${MY_TOKEN}\"}}\n  \
        - old: {type: sse, url: 'http://localhost:1/sse'}\n  \
        - guarded: {command: sh}\n  \
        - mine\n";
    let (bench, base) = bench(servers).await;
    bench.at_home(".claude/settings.json", r#"{"permissions": {"deny": ["mcp__guarded__delete"]}}"#);
    let user = json!({"mcpServers": {"mine": {"command": "sh", "args": ["mine"]}, "unnamed": {"command": "sh"}}});
    bench.at_home(".claude.json", &user.to_string());
    let (bench, said) = talk(bench, base, |session| {
        session.until("other: the MCP server guarded is not handed on: rules or lists are about its tools");
        session.until("sh cannot reach these MCP servers and does without: old.");
        session.until("that was it");
    })
    .await;
    assert!(!said.contains("t0ken"), "{said}");
    let servers = handed(&bench);
    let [mine, files, docs] = servers.as_slice() else { panic!("{servers:?}") };
    assert!(mine["command"].as_str().is_some_and(|path| path.starts_with('/') && path.ends_with("/sh")), "{mine}");
    assert_eq!((&mine["name"], &mine["args"]), (&json!("mine"), &json!(["mine"])));
    assert_eq!(files["env"], json!([{"name": "TOKEN", "value": "t0ken"}]), "{files}");
    let headers = json!([{"name": "Authorization", "value": "Bearer t0ken"}]);
    assert_eq!(*docs, json!({"type": "http", "name": "docs", "url": "http://localhost:1/mcp", "headers": headers}));
}

/// Returns the servers that the program was handed.
fn handed(bench: &Bench) -> Vec<Value> {
    let told = std::fs::read_to_string(bench.home.path().join("other.sh.told")).unwrap();
    let mut told = told.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let new = told.find(|message| message["method"] == "session/new").unwrap();
    new["params"]["mcpServers"].as_array().unwrap().clone()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_program_of_the_project_is_handed_no_server_of_the_user() {
    let (bench, base) = bench("mcpServers: [mine, ours]\n").await;
    let file = bench.home.path().join(".claude/agents/other.md");
    bench.file(".claude/agents/other.md", &std::fs::read_to_string(&file).unwrap());
    std::fs::remove_file(file).unwrap();
    bench.at_home(".claude.json", r#"{"mcpServers": {"mine": {"command": "sh", "env": {"TOKEN": "t0ken"}}}}"#);
    bench.file(".mcp.json", r#"{"mcpServers": {"ours": {"command": "sh", "args": ["ours"]}}}"#);
    let (bench, _) = talk(bench, base, |session| {
        session.until("other: the MCP server mine is not handed on: it is not the project's, whose program this is.");
        session.until("that was it");
    })
    .await;
    let names: Vec<Value> = handed(&bench).iter().map(|server| server["name"].clone()).collect();
    assert_eq!(names, [json!("ours")]);
}
