//! Programs that are agents of their own, as subagents: the real loop and tree, with a program that is a task of the test.

mod launchers;
mod limits;
mod pictures;
mod questions;
mod runs;
mod usage;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use belvedere::agent::{EventKind, ToolEvent};
use belvedere::definition::{Catalog, Source, Tier, parse};
use belvedere::external::LaunchExternal;
use belvedere::launched::{LaunchedProgram, RunningProgram};
use belvedere::message::AgentId;
use belvedere::permission::PermissionMode;
use belvedere::provider::scripted::Scripted;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};

use crate::agent::{reply, script};
use crate::support::{Parts, Session};

const ONE: AgentId = AgentId(1);

/// What the programs of a test were told, and whether they were ended.
#[derive(Clone, Default)]
struct Programs {
    told: Arc<Mutex<Vec<Value>>>,
    ended: Arc<AtomicBool>,
}

impl Programs {
    fn told(&self, method: &str) -> Vec<Value> {
        let all = self.told.lock().unwrap();
        all.iter().filter(|message| message["method"] == method).map(|message| message["params"].clone()).collect()
    }

    /// Returns the texts of all prompts.
    fn prompts(&self) -> Vec<String> {
        let text = |params: &Value| params["prompt"][0]["text"].as_str().unwrap().to_owned();
        self.told("session/prompt").iter().map(text).collect()
    }

    fn launch(&self) -> LaunchExternal {
        let programs = self.clone();
        Arc::new(move |start| {
            let programs = programs.clone();
            async move {
                let (ours, theirs) = UnixStream::pair()?;
                let (log, writer) = tokio::io::duplex(1 << 16);
                let (reader, answers) = theirs.into_split();
                let program = Program {
                    programs: programs.clone(),
                    kind: start.program.args[0].clone(),
                    lines: BufReader::new(reader),
                    answers,
                    log: writer,
                };
                tokio::spawn(program.serve());
                let process = Box::new(Process(programs.ended.clone()));
                Ok(LaunchedProgram { stream: ours, log: Box::new(log), process })
            }
            .boxed()
        })
    }
}

struct Process(Arc<AtomicBool>);

impl RunningProgram for Process {
    fn end(self: Box<Self>) -> BoxFuture<'static, ()> {
        self.0.store(true, Ordering::SeqCst);
        async {}.boxed()
    }
}

/// A program: what it does, its first argument says.
struct Program {
    programs: Programs,
    kind: String,
    lines: BufReader<OwnedReadHalf>,
    answers: OwnedWriteHalf,
    log: tokio::io::DuplexStream,
}

impl Program {
    async fn serve(mut self) {
        while let Some(message) = self.hear().await {
            let id = message["id"].clone();
            match message["method"].as_str().unwrap_or_default() {
                "initialize" => {
                    self.answers.write_all(b"a greeting that is no message\n").await.unwrap();
                    let can_load = self.kind == "remembers";
                    let mut can = json!({"protocolVersion": 1, "agentCapabilities": {"loadSession": can_load}});
                    can["agentCapabilities"]["promptCapabilities"] = json!({"image": self.kind == "sees"});
                    if self.kind.starts_with("carries") {
                        can["agentCapabilities"]["_meta"] =
                            json!({"belvedere.dev/folder": 1, "belvedere.dev/agent": 1});
                    }
                    self.answer(id, can).await;
                }
                "session/new" if self.kind == "locked" => {
                    let error = json!({"code": -32000, "message": "Authentication required"});
                    self.send(json!({"id": id, "error": error})).await;
                }
                "session/new" => self.answer(id, json!({"sessionId": "s1"})).await,
                "session/load" => {
                    self.say("OLD WORDS").await;
                    self.answer(id, json!({})).await;
                }
                "_belvedere.dev/folder/put" => self.answer(id, json!({"root": "/far/folder"})).await,
                "_belvedere.dev/folder/changes" => match self.kind.as_str() {
                    "carries a broken line" => return,
                    "carries nothing" => self.answer(id, json!({})).await,
                    "carries no more" => {
                        self.send(json!({"id": id, "error": {"code": -1, "message": "no room"}})).await;
                    }
                    "carries too much" => self.answer(id, json!({"commit": "ab".repeat(20), "size": u64::MAX})).await,
                    "carries no name" => self.answer(id, json!({"commit": "--help", "size": 12})).await,
                    _ => self.answer(id, json!({"commit": "ab".repeat(20), "size": 12})).await,
                },
                "_belvedere.dev/folder/read" => {
                    // Twelve bytes, or eighteen.
                    let piece =
                        if self.kind == "carries a lie" { "b25lIHR3byB0aHJlZSBmb3Vy" } else { "b25lIHR3byB0aHJl" };
                    self.answer(id, json!({ "piece": piece })).await;
                }
                "session/prompt" => {
                    let text = message["params"]["prompt"][0]["text"].as_str().unwrap_or_default().to_owned();
                    if !self.work(id, &text).await {
                        return;
                    }
                }
                _ => {}
            }
        }
    }

    async fn hear(&mut self) -> Option<Value> {
        let mut line = String::new();
        let count = self.lines.read_line(&mut line).await.unwrap_or(0);
        let message: Value = (count > 0).then(|| serde_json::from_str(&line).unwrap())?;
        self.programs.told.lock().unwrap().push(message.clone());
        Some(message)
    }

    async fn send(&mut self, mut message: Value) {
        message["jsonrpc"] = json!("2.0");
        // It fails once the test has hung up.
        let _ = self.answers.write_all(format!("{message}\n").as_bytes()).await;
    }

    async fn answer(&mut self, id: Value, result: Value) {
        self.send(json!({"id": id, "result": result})).await;
    }

    async fn update(&mut self, update: Value) {
        self.send(json!({"method": "session/update", "params": {"sessionId": "s1", "update": update}})).await;
    }

    async fn say(&mut self, text: &str) {
        let content = json!({"type": "text", "text": text});
        self.update(json!({"sessionUpdate": "agent_message_chunk", "content": content})).await;
    }

    async fn call(&mut self, id: &str, fields: Value) {
        let mut update = json!({"sessionUpdate": "tool_call", "toolCallId": id, "status": "in_progress"});
        if let Value::Object(more) = fields {
            update.as_object_mut().unwrap().extend(more);
        }
        self.update(update).await;
    }

    async fn called(&mut self, id: &str, fields: Value) {
        let mut update = json!({"sessionUpdate": "tool_call_update", "toolCallId": id, "status": "completed"});
        if let Value::Object(more) = fields {
            update.as_object_mut().unwrap().extend(more);
        }
        self.update(update).await;
    }

    /// Waits until it is asked whether it is there. Returns the number of the question.
    async fn asked_if_there(&mut self) -> Value {
        while let Some(message) = self.hear().await {
            if message["method"] == "_belvedere.dev/ping" {
                return message["id"].clone();
            }
        }
        Value::Null
    }

    /// Waits until it is asked to stop.
    async fn cancelled(&mut self) -> bool {
        while let Some(message) = self.hear().await {
            if message["method"] == "session/cancel" {
                return true;
            }
        }
        false
    }

    async fn end(&mut self, id: Value, stop: &str) -> bool {
        let mut end = json!({"stopReason": stop});
        match self.kind.as_str() {
            "quiet" => {}
            "fills" => {
                self.update(json!({"sessionUpdate": "usage_update", "used": 5_000, "size": 200_000})).await;
            }
            // As Gemini CLI does.
            "meters" => end["_meta"] = json!({"quota": {"token_count": {"input_tokens": 30, "output_tokens": 4}}}),
            "boasts" => end["usage"] = json!({"totalTokens": 1, "inputTokens": u64::MAX, "outputTokens": u64::MAX}),
            _ => end["usage"] = json!({"totalTokens": 120, "inputTokens": 100, "outputTokens": 20}),
        }
        self.answer(id, end).await;
        true
    }

    /// Answers a prompt; `false` if it is gone.
    async fn work(&mut self, id: Value, prompt: &str) -> bool {
        match self.kind.as_str() {
            "plain" => self.plain().await,
            "asks" | "asks to edit" => self.ask(prompt).await,
            "endless" if self.programs.prompts().len() == 1 => {
                self.say("on it").await;
                self.call("c1", json!({"title": "Look", "kind": "search"})).await;
                self.called("c1", json!({})).await;
                self.say("still").await;
                return self.cancelled().await && self.end(id, "cancelled").await;
            }
            "deaf" => {
                self.say("on it").await;
                return self.cancelled().await && std::future::pending().await;
            }
            "dies" => {
                self.say("so far").await;
                self.log.write_all(b"warning\nout of coffee\n").await.unwrap();
                tokio::task::yield_now().await;
                return false;
            }
            "short" => {
                self.say("half an answ").await;
                return self.end(id, "max_tokens").await;
            }
            "silent" => {}
            "carries no answers" => {
                self.say("on it").await;
                return std::future::pending().await;
            }
            "carries few words" => {
                self.say("on it").await;
                for _ in 0..6 {
                    let id = self.asked_if_there().await;
                    self.answer(id, json!({})).await;
                }
                self.say("<summary>slow and steady</summary>").await;
            }
            "carries sleep" => {
                self.say("on it").await;
                let id = self.asked_if_there().await;
                tokio::time::sleep(Duration::from_secs(40)).await;
                // An older one does not know the question, and answers too.
                self.send(json!({"id": id, "error": {"code": -32601, "message": "Method not found"}})).await;
                self.asked_if_there().await;
                self.say("<summary>well rested</summary>").await;
            }
            "meters" => {
                // Some say of a new file that it was empty.
                let change = json!([{"type": "diff", "path": "src/new.rs", "oldText": "", "newText": "one\n"}]);
                self.call("w", json!({"title": "Write src/new.rs", "kind": "edit", "content": change})).await;
                self.called("w", json!({})).await;
                self.say("<summary>done</summary>").await;
            }
            "busy" if self.programs.prompts().len() == 1 => {
                for number in 0..10 {
                    let name = format!("c{number}");
                    self.call(&name, json!({"title": "Step", "kind": "other", "name": "step"})).await;
                    self.called(&name, json!({})).await;
                }
                return self.cancelled().await && self.end(id, "cancelled").await;
            }
            _ => {
                let words: String = prompt.chars().rev().take(60).collect::<Vec<_>>().into_iter().rev().collect();
                self.say(&format!("<summary>heard: {words}</summary>")).await;
            }
        }
        self.end(id, "end_turn").await
    }

    async fn plain(&mut self) {
        let thought = json!({"type": "text", "text": "hm"});
        self.update(json!({"sessionUpdate": "agent_thought_chunk", "content": thought})).await;
        let steps = json!([{"content": "look", "priority": "high", "status": "completed"},
            {"content": "write", "priority": "low", "status": "pending"}]);
        self.update(json!({"sessionUpdate": "plan", "entries": steps})).await;
        self.say("I ").await;
        self.say("look.\u{1b}[31m").await;
        let input = json!({"command": "cargo test"});
        self.call("r", json!({"title": "`cargo test`", "kind": "execute", "rawInput": input})).await;
        let output =
            json!([{"type": "content", "content": {"type": "text", "text": "```console\n12 passed\nok\n```\n"}}]);
        self.called("r", json!({"content": output})).await;
        self.called("r", json!({"title": "too late"})).await;
        let change = json!([{"type": "diff", "path": "src/new.rs", "oldText": null, "newText": "one\ntwo\n"}]);
        self.call("w", json!({"title": "Write src/new.rs", "kind": "edit"})).await;
        self.called("w", json!({"content": change})).await;
        self.update(json!({"sessionUpdate": "usage_update", "used": 5, "size": 10,
            "cost": {"amount": 0.25, "currency": "USD"}}))
            .await;
        self.update(json!({"sessionUpdate": "nobody_knows"})).await;
        self.say("<summary>it is done</summary>").await;
    }

    async fn ask(&mut self, prompt: &str) {
        let line = prompt.lines().rev().find(|line| line.starts_with("run ")).unwrap_or("run true");
        let call = if self.kind == "asks to edit" {
            let change = json!([{"type": "diff", "path": "/srv/copy/.envrc", "oldText": null, "newText": "x\n"}]);
            json!({"toolCallId": "q", "title": "T", "kind": "edit", "content": change})
        } else {
            json!({"toolCallId": "q", "title": line, "kind": "execute", "rawInput": {"command": &line[4..]}})
        };
        let option = |id: &str, kind: &str| json!({"optionId": id, "name": id, "kind": kind});
        let options = [option("a", "allow_always"), option("y", "allow_once"), option("n", "reject_once")];
        let params = json!({"sessionId": "s1", "toolCall": call, "options": options});
        self.send(json!({"id": 77, "method": "session/request_permission", "params": params})).await;
        while let Some(message) = self.hear().await {
            if message["id"] == 77 {
                let outcome = message["result"]["outcome"].to_string();
                self.say(&format!("<summary>it was {outcome}</summary>")).await;
                return;
            }
        }
    }
}

fn catalog(kind: &str) -> Catalog {
    let text = format!("---\nname: other\ndescription: another program\nacp: program {kind}\n---\nBe brief.");
    let source = Source { tier: Tier::UserClaude, path: None };
    Catalog::of(vec![parse(&text, source).definition.unwrap()])
}

/// Returns the call of `Agent` that starts the program.
fn start(task: &str) -> Value {
    json!({"call": "Agent", "input": {"description": "a task", "prompt": task, "subagent_type": "other"}})
}

/// Returns a session whose main agent calls the program once, and reports what it got.
fn session_of(kind: &str, programs: &Programs, change: impl FnOnce(&mut Parts)) -> (Session, Arc<Scripted>) {
    let provider = script(&[
        reply(json!({"task": "go", "turn": 0}), vec![start("do the work that is called work")]),
        reply(json!({"turn": 1}), vec![json!({"say": "done"})]),
        reply(json!({"turn": 2}), vec![json!({"say": "done"})]),
    ]);
    let mut parts = Parts::new(provider.clone());
    parts.external = Some(programs.launch());
    parts.catalog = catalog(kind);
    // The question about the program is another matter.
    parts.mode = PermissionMode::BypassPermissions;
    change(&mut parts);
    (Session::start(parts), provider)
}

/// Waits until the subagent says this.
async fn hear(session: &mut Session, words: &str) {
    session
        .wait(|event| {
            let EventKind::Turn(belvedere::agent::TurnEvent::Text { text }) = &event.kind else { return None };
            (event.agent == ONE && text.contains(words)).then_some(())
        })
        .await;
}

/// Returns the calls of the subagent: name, title, summary.
fn calls(session: &Session) -> Vec<(String, String, String)> {
    let mut calls: Vec<(String, String, String, String)> = Vec::new();
    for kind in session.of(ONE) {
        match kind {
            EventKind::Tool(ToolEvent::Started { call, title }) => {
                calls.push((call.id.clone(), call.name.clone(), title.clone(), String::new()));
            }
            EventKind::Tool(ToolEvent::Ended { result, summary, .. }) => {
                let call = calls.iter_mut().find(|(id, ..)| *id == result.call_id).expect("a call that was begun");
                assert!(call.3.is_empty(), "ended twice");
                call.3.clone_from(summary);
            }
            _ => {}
        }
    }
    calls.into_iter().map(|(_, name, title, summary)| (name, title, summary)).collect()
}
