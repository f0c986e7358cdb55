//! A talk with the offline model about a small project, through the real loop and the real tools.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use belvedere::agent::{EventKind, ToolEvent, TurnEvent};
use belvedere::message::{AgentId, Block, Message, ToolSpec};
use belvedere::offline::{Offline, Pace};
use belvedere::permission::Answer;
use belvedere::provider::{EventStream, Provider, ProviderError, Request, StopReason, StreamEvent};
use belvedere::subagent::Command;
use futures::FutureExt;
use futures::StreamExt;
use futures::future::BoxFuture;

use crate::support::{Parts, Session};

/// A session with the offline model.
pub(super) struct Talk {
    pub(super) session: Session,
}

/// What came of one request.
pub(super) struct Said {
    pub(super) answer: String,
    /// Each tool call of the main agent and of its children, as `Name key`.
    pub(super) log: Vec<String>,
    /// What the main agent received of each child.
    pub(super) reports: Vec<String>,
}

impl Said {
    pub(super) fn calls(&self, tool: &str) -> usize {
        self.log.iter().filter(|call| call.split(' ').next() == Some(tool)).count()
    }
}

impl Talk {
    /// Begins a talk about the shop.
    pub(super) fn shop() -> Self {
        Self::with(|_| ())
    }

    /// Begins a talk about the shop, with other parts.
    pub(super) fn with(change: impl FnOnce(&mut Parts)) -> Self {
        let talk = Self::empty(change);
        let shop = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/shop");
        copy(&shop, &talk.root());
        talk
    }

    /// Begins a talk about an empty folder.
    pub(super) fn empty(change: impl FnOnce(&mut Parts)) -> Self {
        let mut parts = Parts::new(Arc::new(Offline::new(Pace::Instant)));
        change(&mut parts);
        Self { session: Session::start(parts) }
    }

    pub(super) fn root(&self) -> PathBuf {
        self.session.root()
    }

    pub(super) fn write(&self, path: &str, text: &str) {
        let path = self.root().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// Says something and returns what came of it. Every question of a tool is answered with no.
    pub(super) async fn ask(&mut self, text: &str) -> Said {
        let before = self.session.seen.len();
        self.session.say(text);
        let answer = loop {
            let next = self.session.wait(|event| match &event.kind {
                EventKind::Ended { outcome } if event.agent == AgentId::MAIN => Some(Ok(outcome.text.clone())),
                EventKind::Tool(ToolEvent::ApprovalRequested { request }) => Some(Err(request.id.clone())),
                _ => None,
            });
            match next.await {
                Ok(answer) => break answer,
                Err(id) => self.session.send(Command::Answer { id, answer: Answer::No { comment: None } }),
            }
        };
        let (mut log, mut reports) = (Vec::new(), Vec::new());
        for event in &self.session.seen[before..] {
            match &event.kind {
                EventKind::Turn(TurnEvent::Ended { message, .. }) => {
                    log.extend(message.content.iter().filter_map(named));
                }
                EventKind::Tool(ToolEvent::Ended { result, .. }) if result.joined_text().starts_with("status: ") => {
                    reports.push(result.joined_text());
                }
                _ => {}
            }
        }
        Said { answer, log, reports }
    }
}

fn named(block: &Block) -> Option<String> {
    let Block::ToolCall(call) = block else { return None };
    let key = ["command", "pattern", "file_path", "path", "description"].iter().find_map(|key| call.input.str(key));
    Some(format!("{} {}", call.name, key.unwrap_or_default()))
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// A main agent of another kind: it hands one task in its own words to an offline child.
pub(super) struct Stranger(pub(super) &'static str);

impl Provider for Stranger {
    fn name(&self) -> &'static str {
        "stranger"
    }

    fn stream(&self, request: Request) -> BoxFuture<'_, Result<EventStream, ProviderError>> {
        if request.tools.iter().all(|tool| tool.name != "Agent") {
            return async move { Offline::new(Pace::Instant).stream(request).await }.boxed();
        }
        let events = if request.messages.len() > 1 {
            vec![StreamEvent::Text("done".to_owned()), StreamEvent::Stop(StopReason::EndTurn)]
        } else {
            let input = serde_json::json!({"description": "a task", "subagent_type": "explore", "prompt": self.0});
            vec![
                StreamEvent::ToolCallStart { index: 0, id: "one".to_owned(), name: "Agent".to_owned() },
                StreamEvent::ToolCallDelta { index: 0, json: input.to_string() },
                StreamEvent::Stop(StopReason::ToolUse),
            ]
        };
        async move { Ok(futures::stream::iter(events.into_iter().map(Ok)).boxed()) }.boxed()
    }
}

/// Builds a request as the loop would.
pub(super) fn request(messages: Vec<Arc<Message>>, tools: &[&str]) -> Request {
    let spec = |name: &&str| ToolSpec {
        name: (*name).to_owned(),
        description: String::new(),
        input_schema: serde_json::json!({ "type": "object" }),
    };
    Request {
        model: "offline".to_owned(),
        system: "You are an agent.".into(),
        messages,
        tools: tools.iter().map(spec).collect::<Vec<_>>().into(),
        withheld: std::sync::Arc::default(),
        max_output_tokens: 8000,
        effort: None,
        thinking_tokens: None,
        attachments: std::sync::Arc::default(),
        waits_long: false,
        search: None,
    }
}
