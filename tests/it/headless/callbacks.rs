//! What lives in the program that drives a conversation: its hooks, and its tools.

use serde_json::{Value, json};

use super::programs::{Driven, STDIO};
use super::services::{Answer, Server, stream};
use super::{Bench, text};

/// Begins with these hooks of the program.
fn hooked(bench: &Bench, hooks: &Value, more: &[&str]) -> Driven {
    let mut driven = Driven::begin(bench, &[&["--allowedTools", "Bash(touch:*)"], more].concat());
    let answer = driven.asks("begin", &json!({"subtype": "initialize", "hooks": hooks}));
    let applied = &answer["response"];
    assert_eq!((&applied["hooks_applied"], &applied["hook_on_failure_supported"]), (&true.into(), &true.into()));
    driven
}

fn answer(request: &Value, response: &Value) -> Value {
    let request_id = &request["request_id"];
    json!({"type": "control_response", "response": {"subtype": "success", "request_id": request_id, "response": response}})
}

fn failure(request: &Value) -> Value {
    let response = json!({"subtype": "error", "request_id": request["request_id"], "error": "it broke"});
    json!({"type": "control_response", "response": response})
}

fn callback(driven: &mut Driven) -> Value {
    driven.until(|line| line["request"]["subtype"] == "hook_callback")
}

#[test]
fn a_programs_hooks_deny_change_and_hear_of_calls() {
    let bench = Bench::new();
    let made = |name: &str| bench.project.path().join(name).exists();
    let hooks = json!({
        "PreToolUse": [{"matcher": "Bash", "hookCallbackIds": ["guard"]}, {"matcher": "Write", "hookCallbackIds": ["other"]}],
        "PostToolUse": [{"matcher": null, "hookCallbackIds": ["after"]}],
        "TeammateIdle": [{"matcher": null, "hookCallbackIds": ["never"]}],
    });
    let mut driven = hooked(&bench, &hooks, &[]);
    driven.says("run `touch denied.txt`");
    let asked = callback(&mut driven);
    let (request, input) = (&asked["request"], &asked["request"]["input"]);
    assert_eq!((&request["callback_id"], &input["hook_event_name"]), (&"guard".into(), &"PreToolUse".into()));
    assert_eq!((&input["tool_name"], &input["tool_input"]["command"]), (&"Bash".into(), &"touch denied.txt".into()));
    assert!(request["tool_use_id"].is_string() && request["tool_use_id"] == input["tool_use_id"], "{asked}");
    let own =
        json!({"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": "not that"});
    driven.write(&answer(&asked, &json!({"hookSpecificOutput": own})));
    let result = driven.result();
    assert!(result["permission_denials"][0]["reason"].as_str().unwrap().contains("not that"), "{result}");
    assert!(!made("denied.txt"));

    driven.says("run `touch first.txt`");
    let asked = callback(&mut driven);
    let own = json!({"hookEventName": "PreToolUse", "permissionDecision": "allow", "updatedInput": {"command": "touch second.txt"}});
    driven.write(&answer(&asked, &json!({"hookSpecificOutput": own})));
    let after = callback(&mut driven);
    assert_eq!((&after["request"]["callback_id"], made("first.txt")), (&"after".into(), false));
    assert_eq!(after["request"]["input"]["tool_input"]["command"], "touch second.txt");
    driven.write(&answer(&after, &json!({})));
    driven.result();
    assert!(made("second.txt"));
    assert_eq!(driven.end(), Some(0), "the result says that a call was denied");
}

#[test]
fn a_hook_that_fails_lets_go_on_unless_it_has_to_agree() {
    let bench = Bench::new();
    let made = |name: &str| bench.project.path().join(name).exists();
    for (on_failure, name) in [(json!(null), "a.txt"), (json!("block"), "b.txt")] {
        let group = json!({"matcher": "Bash", "hookCallbackIds": ["guard"], "timeout": 600, "onFailure": on_failure});
        let mut driven = hooked(&bench, &json!({"PreToolUse": [group]}), &[]);
        driven.says(&format!("run `touch {name}`"));
        let asked = callback(&mut driven);
        driven.write(&failure(&asked));
        driven.result();
        assert_eq!(made(name), on_failure.is_null(), "{on_failure}");
        driven.end();
    }
    // Nobody is there any more whom the guard could ask.
    let group = json!({"matcher": "Bash", "hookCallbackIds": ["guard"]});
    let mut driven = hooked(&bench, &json!({"PreToolUse": [group]}), &[]);
    driven.says("run `touch c.txt`");
    assert_eq!((driven.end(), made("c.txt")), (Some(0), false));
}

#[test]
fn a_hook_that_is_too_slow_is_taken_back() {
    let bench = Bench::new();
    let group = json!({"matcher": "Bash", "hookCallbackIds": ["slow"], "timeout": 0.01, "onFailure": "block"});
    let mut driven = hooked(&bench, &json!({"PreToolUse": [group]}), &STDIO);
    driven.says("run `touch a.txt`");
    let asked = callback(&mut driven);
    let back = driven.until(|line| line["type"] == "control_cancel_request");
    assert_eq!(back["request_id"], asked["request_id"]);
    driven.result();
    // An answer that comes too late is for nobody.
    driven.write(&answer(&asked, &json!({})));
    assert!(!bench.project.path().join("a.txt").exists());
    assert_eq!(driven.end(), Some(0));
}

#[test]
fn hooks_that_are_switched_off_are_said_to_be() {
    let bench = Bench::new();
    bench.at_home(".claude/settings.json", r#"{"disableAllHooks": true}"#);
    let mut driven = Driven::begin(&bench, &[]);
    let hooks = json!({"PreToolUse": [{"matcher": null, "hookCallbackIds": ["guard"]}]});
    let answer = driven.asks("1", &json!({"subtype": "initialize", "hooks": hooks}));
    assert_eq!(answer["response"]["hooks_applied"], false);
    let again = driven.asks("2", &json!({"subtype": "initialize"}));
    assert_eq!((&again["subtype"], &again["error"]), (&"error".into(), &"the session has begun already".into()));
    assert_eq!(driven.end(), Some(0));
}

/// Answers what a server in the program is asked.
fn serve(request: &Value, tools: &[&str]) -> Value {
    let message = &request["request"]["message"];
    let tool = |name: &&str| json!({"name": name, "description": "adds", "inputSchema": {"type": "object"}});
    let result = match message["method"].as_str().unwrap() {
        "initialize" => json!({
            "protocolVersion": message["params"]["protocolVersion"],
            "capabilities": {"tools": {"listChanged": true}},
            "serverInfo": {"name": "calc", "version": "1"},
        }),
        "tools/list" => json!({"tools": tools.iter().map(tool).collect::<Vec<_>>()}),
        "tools/call" => {
            let numbers = &message["params"]["arguments"];
            let sum = numbers["a"].as_i64().unwrap() + numbers["b"].as_i64().unwrap();
            json!({"content": [{"type": "text", "text": format!("sum {sum}")}]})
        }
        _ => json!({}),
    };
    answer(request, &json!({"mcp_response": {"jsonrpc": "2.0", "id": message["id"], "result": result}}))
}

/// Serves until there is such a line.
fn serving(driven: &mut Driven, tools: &[&str], is_meant: impl Fn(&Value) -> bool) -> Value {
    loop {
        let line = driven.until(|line| line["request"]["subtype"] == "mcp_message" || is_meant(line));
        if is_meant(&line) {
            return line;
        }
        assert_eq!(line["request"]["server_name"], "calc");
        driven.write(&serve(&line, tools));
    }
}

fn adds(_: &str, body: &str) -> Answer {
    if body.contains("\"role\":\"tool\"") {
        let said = if body.contains("sum 5") { "It is 5." } else { body };
        return stream(&json!({"content": said}), "stop");
    }
    let function = json!({"name": "mcp__calc__add", "arguments": "{\"a\": 2, \"b\": 3}"});
    let call = json!([{"index": 0, "id": "c1", "type": "function", "function": function}]);
    stream(&json!({"tool_calls": call}), "tool_calls")
}

/// Waits until as many tools of the server are known.
fn known(driven: &mut Driven, tools: &[&str], count: usize) {
    loop {
        driven.write(&json!({"type": "control_request", "request_id": "m", "request": {"subtype": "mcp_status"}}));
        let status = serving(driven, tools, |line| line["response"]["request_id"] == "m");
        let server = &status["response"]["response"]["mcpServers"][0];
        let is_listed = server["tools"].as_array().is_some_and(|tools| tools.len() == count);
        if is_listed && server["status"] == "connected" {
            assert_eq!(server["tools"][0]["name"], "add");
            return;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tools_in_the_program_are_called() {
    let service = Server::start(adds).await;
    let base = service.base();
    let driving = tokio::task::spawn_blocking(move || {
        let bench = Bench::new();
        // The one SDK names its servers in a flag, the other as it begins.
        let config = r#"{"mcpServers": {"calc": {"type": "sdk", "name": "calc"}}}"#;
        for (flags, begins) in
            [(&["--mcp-config", config][..], json!({})), (&[][..], json!({"sdkMcpServers": ["calc"]}))]
        {
            let flags = [flags, &["--allowedTools", "mcp__calc__add", "--model", "openai/tiny"]].concat();
            let mut driven = Driven::started(&bench, &flags, &[("OPENAI_BASE_URL", &base)]);
            let mut begin = json!({"subtype": "initialize"});
            begin.as_object_mut().unwrap().extend(begins.as_object().unwrap().clone());
            driven.write(&json!({"type": "control_request", "request_id": "1", "request": begin}));
            known(&mut driven, &["add"], 1);
            driven.says("How much is 2 and 3?");
            let result = serving(&mut driven, &["add"], |line| line["type"] == "result");
            assert_eq!(result["result"], "It is 5.");
            let init = driven.seen.iter().find(|line| line["subtype"] == "init").unwrap();
            assert!(init["tools"].as_array().unwrap().contains(&"mcp__calc__add".into()), "{init}");
            assert_eq!(init["mcp_servers"], json!([{"name": "calc", "status": "connected"}]));
            // Its list changes.
            let changed = json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"});
            let told = json!({"subtype": "mcp_message", "server_name": "calc", "message": changed});
            driven.write(&json!({"type": "control_request", "request_id": "2", "request": told}));
            known(&mut driven, &["add", "multiply"], 2);
            assert_eq!(driven.end(), Some(0));
        }
    });
    driving.await.unwrap();
}

/// Says how hard the request wants it to think.
fn thinks(_: &str, body: &str) -> Answer {
    let body: Value = serde_json::from_str(body).unwrap_or_default();
    stream(&json!({"content": format!("effort {}", body["reasoning_effort"])}), "stop")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_program_changes_model_and_effort() {
    let service = Server::start(thinks).await;
    let base = service.base();
    let driving = tokio::task::spawn_blocking(move || {
        let bench = Bench::new();
        let mut driven = Driven::started(&bench, &["--model", "openai/gpt-5.2"], &[("OPENAI_BASE_URL", &base)]);
        let done = |answer: &Value| assert_eq!(answer["subtype"], "success", "{answer}");
        done(&driven.asks("1", &json!({"subtype": "apply_flag_settings", "settings": {"effortLevel": "low"}})));
        driven.says("hello");
        assert_eq!(driven.result()["result"], "effort \"low\"");
        done(&driven.asks("2", &json!({"subtype": "set_max_thinking_tokens", "max_thinking_tokens": 4000})));
        for (settings, why) in
            [(json!({"effortLevel": "huge"}), "not an effort"), (json!({"theme": "x"}), "`theme` cannot")]
        {
            let answer = driven.asks("3", &json!({"subtype": "apply_flag_settings", "settings": settings}));
            assert!(answer["error"].as_str().unwrap().contains(why), "{answer}");
        }
        let answer = driven.asks("4", &json!({"subtype": "mcp_message", "server_name": "x", "message": {}}));
        assert_eq!(answer["error"], "no server x of yours is in use");
        // Another model answers, then the one from the start.
        done(&driven.asks("5", &json!({"subtype": "set_model", "model": "openai/gpt-4o"})));
        driven.says("hello");
        assert_eq!(driven.result()["result"], "effort null");
        done(&driven.asks("6", &json!({"subtype": "set_model", "model": null})));
        driven.says("hello");
        assert_eq!(driven.result()["result"], "effort \"low\"");
        assert_eq!(driven.end(), Some(0));
    });
    driving.await.unwrap();
}

#[test]
fn what_a_program_begins_with_is_understood_or_refused() {
    let bench = Bench::new();
    for (request, why) in [
        (json!({"hooks": {"PreToolUse": [{"hookCallbackIds": "h"}]}}), "cannot use `initialize`: PreToolUse: "),
        (json!({"hooks": {"PreToolUse": [{"matcher": "(", "hookCallbackIds": ["h"]}]}}), "a matcher is not a pattern"),
        (json!({"hooks": []}), "`hooks` is no object"),
    ] {
        let (code, said) = super::programs::ended(&bench, &[], &begun(&request));
        assert_eq!((code, said.contains(why)), (Some(2), true), "{why}: {said}");
    }
    let (code, said) = super::programs::ended(&bench, &[], &begun(&json!({"hooks": {"Sometime": [], "Setup": []}})));
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("`Sometime` is not an event") && said.contains("`Setup` never happens here"), "{said}");
    // A server in a program that is not there.
    let config = r#"{"mcpServers": {"calc": {"type": "sdk", "name": "calc"}}}"#;
    let output = bench.ask("hello", &["--mcp-config", config, "--output-format", "stream-json"]);
    assert!(text(&output.stdout).contains(r#"{"name":"calc","status":"failed"}"#), "{output:?}");
}

fn begun(request: &Value) -> String {
    let mut request = request.clone();
    request["subtype"] = "initialize".into();
    format!("{}\n", json!({"type": "control_request", "request_id": "1", "request": request}))
}
