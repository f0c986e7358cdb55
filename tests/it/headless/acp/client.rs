//! An editor as a script: it talks to the real binary over pipes, and to a model that follows a plan.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::fd::AsFd as _;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::sync::{Arc, Mutex};

use axum::Json;
use axum::routing::{any, post};
use nix::poll::{PollFd, PollFlags, poll};
use serde_json::{Value, json};

use super::super::Bench;
use crate::support::{Api, Planned, serve};

/// How long a message may take that a test waits for.
const LIMIT_MS: u16 = 60_000;

pub(super) struct Editor {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    last: u64,
    /// Everything that was read.
    pub(super) seen: Vec<Value>,
    pub(super) session: String,
}

impl Editor {
    pub(super) fn start(bench: &Bench, args: &[&str], env: &[(&str, &str)]) -> Self {
        let mut command = bench.command(&[&["acp"], args].concat());
        command.envs(env.iter().copied());
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn().unwrap();
        let (input, output) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        Self { child, input, output, last: 0, seen: Vec::new(), session: String::new() }
    }

    /// Starts with the offline model and opens a session.
    pub(super) fn offline(bench: &Bench) -> Self {
        let mut editor = Self::start(bench, &["--model", "offline"], &[]);
        editor.open(bench.project.path());
        editor
    }

    /// Starts with a model at this address and opens a session.
    pub(super) fn with_model(bench: &Bench, base: &str, args: &[&str]) -> Self {
        let base = format!("http://{base}");
        let mut editor = Self::start(bench, args, &[("ANTHROPIC_API_KEY", "k"), ("ANTHROPIC_BASE_URL", &base)]);
        editor.open(bench.project.path());
        editor
    }

    pub(super) fn initialize(&mut self) -> Value {
        self.call("initialize", &json!({"protocolVersion": 1, "clientCapabilities": {}}))
    }

    pub(super) fn open(&mut self, cwd: &Path) -> Value {
        self.initialize();
        let opened = self.call("session/new", &json!({"cwd": cwd, "mcpServers": []}));
        opened["result"]["sessionId"].as_str().unwrap().clone_into(&mut self.session);
        opened
    }

    /// Starts with a model at this address, as an editor that has files open, and opens a session.
    pub(super) fn with_open_files(bench: &Bench, base: &str) -> Self {
        let base = format!("http://{base}");
        let mut editor = Self::start(bench, &[], &[("ANTHROPIC_API_KEY", "k"), ("ANTHROPIC_BASE_URL", &base)]);
        let can = json!({"fs": {"readTextFile": true, "writeTextFile": true}});
        editor.call("initialize", &json!({"protocolVersion": 1, "clientCapabilities": can}));
        let opened = editor.call("session/new", &json!({"cwd": bench.project.path(), "mcpServers": []}));
        opened["result"]["sessionId"].as_str().unwrap().clone_into(&mut editor.session);
        editor
    }

    pub(super) fn line(&mut self, line: &str) {
        self.bytes(format!("{line}\n").as_bytes());
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        self.input.as_mut().unwrap().write_all(bytes).unwrap();
    }

    pub(super) fn send(&mut self, message: &Value) {
        self.line(&message.to_string());
    }

    /// Makes a request and returns its number.
    pub(super) fn ask(&mut self, method: &str, params: &Value) -> u64 {
        self.last += 1;
        let id = self.last;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    /// Makes a request and returns the answer.
    pub(super) fn call(&mut self, method: &str, params: &Value) -> Value {
        let id = self.ask(method, params);
        self.answer(id)
    }

    pub(super) fn notify(&mut self, method: &str, params: &Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    pub(super) fn prompt(&mut self, text: &str) -> u64 {
        let params = json!({"sessionId": self.session, "prompt": [{"type": "text", "text": text}]});
        self.ask("session/prompt", &params)
    }

    pub(super) fn cancel(&mut self) {
        let params = json!({"sessionId": self.session});
        self.notify("session/cancel", &params);
    }

    pub(super) fn answer(&mut self, id: u64) -> Value {
        self.until(|message| message["id"] == id && message["method"].is_null())
    }

    /// Reads up to a question, and returns it.
    pub(super) fn question(&mut self) -> Value {
        self.until(|message| message["method"] == "session/request_permission")
    }

    /// Answers a question with the option of this kind.
    pub(super) fn choose(&mut self, question: &Value, kind: &str) {
        let options = question["params"]["options"].as_array().unwrap();
        let option = options.iter().find(|option| option["kind"] == kind).unwrap_or_else(|| panic!("{question}"));
        let outcome = json!({"outcome": "selected", "optionId": option["optionId"]});
        self.send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": {"outcome": outcome}}));
    }

    /// Reads up to a message of which this is true.
    pub(super) fn until(&mut self, is_it: impl Fn(&Value) -> bool) -> Value {
        loop {
            let mut line = String::new();
            let mut ready = [PollFd::new(self.output.get_ref().as_fd(), PollFlags::POLLIN)];
            let comes = !self.output.buffer().is_empty() || poll(&mut ready, LIMIT_MS).unwrap() > 0;
            assert!(comes, "nothing more in {:#?}", self.seen);
            assert!(self.output.read_line(&mut line).unwrap() > 0, "the end, after {:#?}", self.seen);
            let message: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("no protocol: {line:?}"));
            self.seen.push(message.clone());
            if is_it(&message) {
                return message;
            }
        }
    }

    /// Returns the updates of this kind.
    pub(super) fn updates(&self, kind: &str) -> Vec<Value> {
        let updates = self.seen.iter().map(|message| &message["params"]["update"]);
        updates.filter(|update| update["sessionUpdate"] == kind).cloned().collect()
    }

    /// Returns the text of all chunks of this kind.
    pub(super) fn text(&self, kind: &str) -> String {
        self.updates(kind).iter().filter_map(|update| update["content"]["text"].as_str()).collect()
    }

    /// Returns everything that was told of a call, the first first.
    pub(super) fn call_told(&self, id: &Value) -> Vec<Value> {
        let updates = self.seen.iter().map(|message| &message["params"]["update"]);
        updates.filter(|update| update["toolCallId"] == *id).cloned().collect()
    }

    pub(super) fn process(&self) -> u32 {
        self.child.id()
    }

    /// Ends the input, and returns the exit status and all that was still written.
    pub(super) fn end(mut self) -> (i32, String) {
        drop(self.input.take());
        let mut rest = String::new();
        std::io::Read::read_to_string(&mut self.output, &mut rest).unwrap();
        (self.child.wait().unwrap().code().unwrap(), rest)
    }
}

/// A model that answers each request with what is planned for it, by the task and the number of results so far.
pub(super) async fn model(plan: fn(&str, usize) -> Planned) -> (String, Arc<Mutex<Vec<Value>>>) {
    let requests: Arc<Mutex<Vec<Value>>> = Arc::default();
    let seen = requests.clone();
    let answer = move |Json(request): Json<Value>| {
        seen.lock().unwrap().push(request.clone());
        let (results, task) = Api::Anthropic.conversation(&request);
        let events = Api::Anthropic.events(&plan(&task, results)).concat();
        async move { ([("content-type", "text/event-stream")], events) }
    };
    let nothing = any(|| async { axum::http::StatusCode::NOT_FOUND });
    let router = axum::Router::new().route("/v1/messages", post(answer)).fallback(nothing);
    (serve(router).await, requests)
}

pub(super) fn says(text: &str) -> Planned {
    Planned { text: vec![text.to_owned()], calls: Vec::new() }
}

pub(super) fn calls(text: &str, calls: &[(&str, Value)]) -> Planned {
    let calls = calls.iter().map(|(name, input)| ((*name).to_owned(), input.clone())).collect();
    Planned { text: vec![text.to_owned()], calls }
}
