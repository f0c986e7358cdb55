//! Programs that drive a conversation: lines of JSON in both directions, in the format of the Claude Agent SDK.

use std::io::{BufRead as _, BufReader, Lines, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use serde_json::{Value, json};

use super::services::{Answer, GATE, TINY, ask, stream};
use super::{Bench, text};

/// A conversation as a program leads it.
pub(super) struct Driven {
    child: Child,
    input: Option<ChildStdin>,
    output: Lines<BufReader<ChildStdout>>,
    pub(super) seen: Vec<Value>,
}

const FORMATS: [&str; 5] = ["--input-format", "stream-json", "--output-format", "stream-json", "--verbose"];

impl Driven {
    pub(super) fn begin(bench: &Bench, more: &[&str]) -> Self {
        Self::started(bench, &[&["--model", "offline"], more].concat(), &[])
    }

    pub(super) fn started(bench: &Bench, more: &[&str], env: &[(&str, &str)]) -> Self {
        let mut child = bench
            .command(&[&FORMATS[..], more].concat())
            .envs(env.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (input, output) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()).lines());
        Self { child, input, output, seen: Vec::new() }
    }

    pub(super) fn write(&mut self, line: &Value) {
        writeln!(self.input.as_mut().unwrap(), "{line}").unwrap();
    }

    pub(super) fn says(&mut self, text: &str) {
        self.write(&json!({"type": "user", "message": {"role": "user", "content": text}}));
    }

    pub(super) fn asks(&mut self, id: &str, request: &Value) -> Value {
        self.write(&json!({"type": "control_request", "request_id": id, "request": request}));
        let answer = self.until(|line| line["type"] == "control_response" && line["response"]["request_id"] == id);
        answer["response"].clone()
    }

    /// Reads until there is such a line.
    pub(super) fn until(&mut self, is_meant: impl Fn(&Value) -> bool) -> Value {
        loop {
            let line = self.output.next().unwrap_or_else(|| panic!("ended after {:#?}", self.seen)).unwrap();
            let line: Value = serde_json::from_str(&line).unwrap();
            self.seen.push(line.clone());
            if is_meant(&line) {
                return line;
            }
        }
    }

    pub(super) fn result(&mut self) -> Value {
        self.until(|line| line["type"] == "result")
    }

    /// Ends the input, and returns the exit status.
    pub(super) fn end(mut self) -> Option<i32> {
        drop(self.input.take());
        for line in self.output {
            line.unwrap();
        }
        self.child.wait().unwrap().code()
    }
}

pub(super) const STDIO: [&str; 2] = ["--permission-prompt-tool", "stdio"];

fn allow(request: &Value, input: &Value) -> Value {
    let response = json!({"behavior": "allow", "updatedInput": input});
    json!({"type": "control_response", "response": {
        "subtype": "success", "request_id": request["request_id"], "response": response,
    }})
}

#[test]
fn a_program_leads_a_conversation_and_answers_questions() {
    let bench = Bench::new();
    let made = bench.project.path().join("made.txt");
    let mut driven = Driven::begin(&bench, &[&STDIO[..], &["--disallowedTools", "Bash(mkdir:*)"]].concat());
    let poet = json!({"poet": {"description": "writes poems", "prompt": "You write poems."}});
    let answer = driven.asks("1", &json!({"subtype": "initialize", "hooks": null, "agents": poet}));
    let names: Vec<&str> =
        answer["response"]["agents"].as_array().unwrap().iter().filter_map(|a| a["name"].as_str()).collect();
    assert!(names.contains(&"poet") && names.contains(&"explore"), "{names:?}");

    driven.says("run `touch made.txt`");
    let asked = driven.until(|line| line["type"] == "control_request");
    assert_eq!(asked["request"]["subtype"], "can_use_tool");
    assert_eq!(
        (&asked["request"]["tool_name"], &asked["request"]["input"]["command"]),
        (&"Bash".into(), &"touch made.txt".into())
    );
    assert_eq!(asked["request"]["permission_suggestions"][0]["rules"][0]["ruleContent"], "touch made.txt");
    assert!(!made.exists());
    driven.write(&allow(&asked, &asked["request"]["input"]));
    let result = driven.result();
    assert_eq!((&result["subtype"], &result["num_turns"]), (&"success".into(), &2.into()));
    assert!(made.exists());

    // The program may put another input in the place of the one that it was asked about; what is denied stays so.
    for (wanted, instead) in [("touch other.txt", "touch elsewhere.txt"), ("touch third.txt", "mkdir denied")] {
        driven.says(&format!("run `{wanted}`"));
        let asked = driven.until(|line| line["type"] == "control_request");
        driven.write(&allow(&asked, &json!({"command": instead})));
        driven.result();
    }
    let there = |name: &str| bench.project.path().join(name).exists();
    assert!(there("elsewhere.txt") && !there("other.txt") && !there("third.txt") && !there("denied"));
    assert_eq!(driven.end(), Some(0), "the result says that a call was denied");
}

#[test]
fn messages_of_subagents_name_the_call_that_started_them() {
    let bench = Bench::new();
    let mut driven = Driven::begin(&bench, &["--include-partial-messages", "--replay-user-messages"]);
    driven.says("Use a subtask to find what testing framework this project uses");
    let result = driven.result();
    assert!(result["result"].as_str().unwrap().contains("proptest"), "{result}");
    assert!(result["duration_api_ms"].is_u64() && result["session_id"].is_string() && result["uuid"].is_string());
    let of = |is_meant: &dyn Fn(&Value) -> bool| driven.seen.iter().filter(|line| is_meant(line)).collect::<Vec<_>>();
    assert_eq!(of(&|line| line["subtype"] == "init").len(), 1);
    let calls = of(&|line| line["message"]["content"][1]["name"] == "Agent");
    let call = &calls[0]["message"]["content"][1]["id"];
    let started = of(&|line| line["subtype"] == "task_started");
    assert_eq!((started.len(), &started[0]["tool_use_id"]), (1, call));
    let below = of(&|line| line["parent_tool_use_id"] == *call && line["type"] == "assistant");
    assert!(below.len() >= 2, "{:#?}", driven.seen);
    let ended = of(&|line| line["subtype"] == "task_notification");
    assert_eq!((ended.len(), &ended[0]["status"]), (1, &"completed".into()));
    let said = of(&|line| line["type"] == "user" && line["parent_tool_use_id"].is_null());
    assert!(said.iter().any(|line| line["message"]["content"].as_str().is_some_and(|text| text.starts_with("Use a"))));
    // What was streamed is whole: each block and each message that begins also ends.
    let count = |kind: &str| of(&|line| line["event"]["type"] == kind).len();
    assert!(count("content_block_delta") > 0);
    assert_eq!(count("content_block_start"), count("content_block_stop"));
    assert_eq!(count("message_start"), count("message_stop"));
    let ids: std::collections::BTreeSet<&str> = driven.seen.iter().filter_map(|line| line["uuid"].as_str()).collect();
    assert_eq!(ids.len(), driven.seen.len(), "each message has an id of its own");
    assert_eq!(driven.end(), Some(0));
}

#[test]
fn control_requests_are_obeyed_or_refused_in_words() {
    let bench = Bench::new();
    let mut driven = Driven::begin(&bench, &[]);
    let refused = |answer: &Value, why: &str| {
        assert!(answer["subtype"] == "error" && answer["error"].as_str().unwrap().contains(why), "{answer}");
    };
    assert_eq!(driven.asks("a", &json!({"subtype": "set_permission_mode", "mode": "plan"}))["subtype"], "success");
    refused(&driven.asks("b", &json!({"subtype": "set_permission_mode", "mode": "bypassPermissions"})), "at the start");
    refused(&driven.asks("c", &json!({"subtype": "set_permission_mode", "mode": "yolo"})), "yolo");
    refused(&driven.asks("d", &json!({"subtype": "rewind_files", "user_message_id": "1"})), "does not know");
    refused(&driven.asks("e", &json!({"subtype": "stop_task", "task_id": "x"})), "no task x");
    assert_eq!(driven.asks("f", &json!({"subtype": "mcp_status"}))["response"]["mcpServers"], json!([]));
    driven.says("run `touch made.txt`");
    driven.result();
    let init = driven.seen.iter().find(|line| line["subtype"] == "init").unwrap();
    assert_eq!(init["permissionMode"], "plan");
    assert!(!bench.project.path().join("made.txt").exists());
    driven.write(&json!({"type": "keep_alive"}));
    assert_eq!(driven.end(), Some(0));
}

/// Runs it with an input. Returns its exit status, and what it says on standard error.
fn run_to_end(bench: &Bench, flags: &[&str], input: &str) -> (Option<i32>, String) {
    let mut command = bench.command(flags);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    let output = child.wait_with_output().unwrap();
    (output.status.code(), text(&output.stderr))
}

/// Runs a conversation that a program leads by these lines.
pub(super) fn ended(bench: &Bench, more: &[&str], lines: &str) -> (Option<i32>, String) {
    run_to_end(bench, &[&FORMATS[..], &["--model", "offline"], more].concat(), lines)
}

#[test]
fn what_cannot_be_used_ends_the_program_with_words() {
    let bench = Bench::new();
    let formats = ["--input-format", "stream-json", "--output-format", "stream-json", "--model", "offline"];
    let ended = |more: &[&str], input: &str| run_to_end(&bench, more, input);
    let part = |part: Value| json!({"type": "user", "message": {"content": [part]}}).to_string();
    let picture =
        |data: &str| json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}});
    for (line, why) in [
        ("not json".to_owned(), "cannot use a line of standard input"),
        (json!({"type": "surprise"}).to_string(), "cannot use a line of standard input"),
        (part(picture("%%")), "an image is not in base64"),
        (part(picture("aGVsbG8=")), "an image "),
        (part(json!({"type": "tool_result", "tool_use_id": "x"})), "a message holds texts"),
    ] {
        let (code, said) = ended(&formats, &(line + "\n"));
        assert_eq!((code, said.contains(why)), (Some(2), true), "{why}: {said}");
    }
    for (flags, why) in [
        (&["--input-format", "stream-json"][..], "needs --output-format stream-json"),
        (&["-p", "x", "--permission-prompt-tool", "stdio"], "needs --input-format"),
        (&["--output-format", "json"], "--output-format needs -p"),
        (&["--max-turns", "3"], "--max-turns needs -p"),
        (&["-p", "x", "--include-partial-messages"], "need --output-format stream-json"),
        (&["-p", "x", "--json-schema", "{\"type\": 5}"], "is no JSON Schema"),
    ] {
        let (code, said) = ended(flags, "");
        assert_eq!((code, said.contains(why)), (Some(2), true), "{why}: {said}");
    }
    assert_eq!(ended(&formats, "").0, Some(0), "nothing was asked");
}

/// Answers in words first, and in the form that is wanted once told what is wrong.
fn hesitant(_: &str, body: &str) -> Answer {
    let is_told = body.contains("does not fit the JSON Schema");
    assert!(body.contains("The form of your answer"));
    stream(&json!({"content": if is_told { "```json\n{\"files\": [\"a.rs\"]}\n```" } else { "It is a.rs." }}), "stop")
}

fn stubborn(_: &str, _: &str) -> Answer {
    stream(&json!({"content": "{\"files\": 3}"}), "stop")
}

const SCHEMA: [&str; 2] = [
    "--json-schema",
    r#"{"type": "object", "properties": {"files": {"type": "array", "items": {"type": "string"}}}, "required": ["files"]}"#,
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_fits_its_schema_or_the_run_fails() {
    let (output, said) = ask(hesitant, &[&TINY[..], &SCHEMA].concat(), &GATE).await;
    assert_eq!((text(&output.stdout).as_str(), output.status.code()), ("{\"files\":[\"a.rs\"]}\n", Some(0)), "{said}");
    let json = ["--output-format", "json"];
    let (output, _) = ask(hesitant, &[&TINY[..], &SCHEMA, &json].concat(), &GATE).await;
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(result["structured_output"], json!({"files": ["a.rs"]}));
    let (output, _) = ask(stubborn, &[&TINY[..], &SCHEMA, &json].concat(), &GATE).await;
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((output.status.code(), &result["is_error"]), (Some(1), &true.into()));
    assert_eq!(result["subtype"], "error_max_structured_output_retries");
    assert!(result["errors"][0].as_str().unwrap().contains("files"), "{result}");
}
