//! A provider that plays a script: for the demo, for tests and for benches.
//!
//! Owns the format of scripts. Invariant: the same requests in the same order get the same answers; time is tokio's,
//! so that it can be paused.
//!
//! A script is JSON Lines, one [`ScriptedReply`] each; blank lines and lines that begin with `//` are passed over:
//!
//! ```json
//! {"when": {"task": "auth files", "turn": 0}, "steps": [
//!     {"wait_ms": 400},
//!     {"think": "The user wants…"},
//!     {"say": "I look at three things at once.", "every_ms": 30},
//!     {"call": "Grep", "input": {"pattern": "verify"}},
//!     {"usage": {"input": 1200, "output": 80, "cache_read": 0, "cache_write": 0}},
//!     {"stop": "tool_use"}]}
//! ```
//!
//! A request gets the first reply whose `when` fits it and whose `times` is not used up. All fields of `when` are
//! optional: `system`, `task` (the first user message) and `last` (the last message) are searched for the text, `turn`
//! is the number of replies so far. Steps: `say` and `think` (piece by piece every `every_ms`), `call` with `input` (an
//! object, or any text in `raw`), `wait_ms`, `{"stall": true}` (never goes on), `fail` ([`ErrorKind`], with
//! `detail` and `retry_after_ms`), `usage` and `stop`. A wait or a failure before anything else concerns the request,
//! later ones the stream. `usage` and `stop` are made up where they are left out.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::StreamExt;
use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{ErrorKind, EventStream, Provider, ProviderError, RateLimiter, Request, StopReason, StreamEvent};
use crate::message::{Message, Usage};

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptedReply {
    /// Which requests it answers.
    #[serde(default)]
    pub when: When,
    /// How often it may be used; `None` for ever.
    #[serde(default)]
    pub times: Option<usize>,
    pub steps: Vec<ScriptStep>,
}

/// What a request must be like. An absent field fits every request.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct When {
    pub system: Option<String>,
    pub task: Option<String>,
    pub last: Option<String>,
    /// Number of replies in the conversation so far.
    pub turn: Option<usize>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub enum ScriptStep {
    /// Text, whole or word by word.
    Say {
        say: String,
        /// Milliseconds between words; 0 sends it whole.
        #[serde(default)]
        every_ms: u64,
    },
    /// Reasoning, whole or word by word.
    Think {
        think: String,
        #[serde(default)]
        every_ms: u64,
    },
    Call {
        call: String,
        #[serde(default)]
        input: Map<String, Value>,
        /// Text to send in place of the input, for broken ones.
        #[serde(default)]
        raw: Option<String>,
    },
    Wait {
        wait_ms: u64,
    },
    /// Silence for ever.
    Stall {
        /// Only its presence counts.
        stall: bool,
    },
    Fail {
        fail: ErrorKind,
        #[serde(default)]
        detail: String,
        #[serde(default)]
        retry_after_ms: Option<u64>,
    },
    Usage {
        usage: Usage,
    },
    Stop {
        stop: StopReason,
    },
}

#[derive(Debug, thiserror::Error)]
#[error("line {line} of the script: {error}")]
pub struct ScriptError {
    pub line: usize,
    error: serde_json::Error,
}

#[derive(Debug)]
pub struct Scripted {
    replies: Vec<ScriptedReply>,
    played: Mutex<Played>,
    gate: RateLimiter,
}

#[derive(Debug, Default)]
struct Played {
    requests: Vec<Request>,
    uses: Vec<usize>,
    calls: usize,
}

impl Scripted {
    #[must_use]
    pub fn new(replies: Vec<ScriptedReply>) -> Self {
        let played = Played { uses: vec![0; replies.len()], ..Played::default() };
        Self { replies, played: Mutex::new(played), gate: RateLimiter::default() }
    }

    /// Reads a script in JSON Lines. On failure, returns the first line that is no reply.
    pub fn from_jsonl(text: &str) -> Result<Self, ScriptError> {
        let lines = text.lines().enumerate().map(|(at, line)| (at + 1, line.trim()));
        let replies = lines
            .filter(|(_, line)| !line.is_empty() && !line.starts_with("//"))
            .map(|(line, text)| serde_json::from_str(text).map_err(|error| ScriptError { line, error }))
            .collect::<Result<_, _>>()?;
        Ok(Self::new(replies))
    }

    /// Returns every request so far, in the order they came.
    pub fn requests(&self) -> Vec<Request> {
        self.played().requests.clone()
    }

    fn played(&self) -> MutexGuard<'_, Played> {
        self.played.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes the request and takes its reply; tool calls get numbers that are unique in the session.
    fn take(&self, request: &Request) -> Option<(Vec<ScriptStep>, usize)> {
        let mut played = self.played();
        played.requests.push(request.clone());
        let at = self.replies.iter().enumerate().position(|(at, reply)| {
            reply.times.is_none_or(|times| played.uses[at] < times) && reply.when.fits(request)
        })?;
        played.uses[at] += 1;
        let steps = self.replies[at].steps.clone();
        let first_call = played.calls;
        played.calls += steps.iter().filter(|step| matches!(step, ScriptStep::Call { .. })).count();
        Some((steps, first_call))
    }
}

impl When {
    fn fits(&self, request: &Request) -> bool {
        let has = |wanted: &Option<String>, text: &str| wanted.as_deref().is_none_or(|wanted| text.contains(wanted));
        let task = request.messages.iter().find_map(|message| match message.as_ref() {
            Message::User { text } => Some(text.as_str()),
            _ => None,
        });
        let turns = request.messages.iter().filter(|message| matches!(***message, Message::Assistant(_))).count();
        self.turn.is_none_or(|turn| turn == turns)
            && has(&self.system, &request.system)
            && has(&self.task, task.unwrap_or_default())
            && (self.last.is_none() || has(&self.last, &last_text(request)))
    }
}

fn last_text(request: &Request) -> String {
    match request.messages.last().map(Arc::as_ref) {
        Some(Message::User { text }) => text.clone(),
        Some(Message::Assistant(reply)) => reply.text(),
        Some(Message::ToolResults { results }) => {
            results.iter().map(crate::message::ToolResult::joined_text).collect::<Vec<_>>().join("\n")
        }
        None => String::new(),
    }
}

impl Provider for Scripted {
    fn name(&self) -> &'static str {
        "scripted"
    }

    fn gate(&self) -> Option<&RateLimiter> {
        Some(&self.gate)
    }

    fn stream(&self, request: Request) -> BoxFuture<'_, Result<EventStream, ProviderError>> {
        Box::pin(async move {
            let Some((steps, first_call)) = self.take(&request) else {
                return Err(failure(ErrorKind::BadRequest, "the script has no reply for this request", None));
            };
            let mut steps = steps.into_iter().peekable();
            while let Some(step) = steps.next_if(|step| {
                matches!(step, ScriptStep::Wait { .. } | ScriptStep::Stall { .. } | ScriptStep::Fail { .. })
            }) {
                match step {
                    ScriptStep::Wait { wait_ms } => silence(Duration::from_millis(wait_ms)).await,
                    ScriptStep::Fail { fail, detail, retry_after_ms } => {
                        return Err(failure(fail, &detail, retry_after_ms));
                    }
                    _ => silence(STALL).await,
                }
            }
            let beats = beats(steps, first_call, &request);
            let stream = futures::stream::iter(beats).then(|(pause, event)| async move {
                silence(pause).await;
                event
            });
            // After an error nothing follows.
            let stream = stream.scan(false, |failed, event| {
                let next = (!*failed).then_some(event);
                *failed = matches!(next, Some(Err(_)));
                futures::future::ready(next)
            });
            Ok(stream.boxed())
        })
    }
}

/// A silence that never ends.
const STALL: Duration = Duration::MAX;

async fn silence(time: Duration) {
    match time {
        Duration::ZERO => {}
        // A timer would end, and at once where a test has paused the time.
        STALL => std::future::pending().await,
        time => tokio::time::sleep(time).await,
    }
}

/// An event, and the silence before it.
type Beat = (Duration, Result<StreamEvent, ProviderError>);

/// Writes an answer out, event by event.
fn beats(steps: impl Iterator<Item = ScriptStep>, first_call: usize, request: &Request) -> Vec<Beat> {
    let mut beats: Vec<Beat> = Vec::new();
    let mut pause = Duration::ZERO;
    let (mut calls, mut bytes, mut usage, mut stop) = (0, 0, None, None);
    for step in steps {
        match step {
            ScriptStep::Say { say, every_ms } => {
                bytes += say.len();
                speak(&mut beats, &mut pause, &say, every_ms, StreamEvent::Text);
            }
            ScriptStep::Think { think, every_ms } => {
                bytes += think.len();
                speak(&mut beats, &mut pause, &think, every_ms, StreamEvent::Thinking);
            }
            ScriptStep::Call { call, input, raw } => {
                let json = raw.unwrap_or_else(|| Value::Object(input).to_string());
                bytes += json.len();
                let id = format!("call_{}", first_call + calls);
                let start = StreamEvent::ToolCallStart { index: calls, id, name: call };
                beats.push((std::mem::take(&mut pause), Ok(start)));
                beats.push((Duration::ZERO, Ok(StreamEvent::ToolCallDelta { index: calls, json })));
                calls += 1;
            }
            ScriptStep::Wait { wait_ms } => pause = pause.saturating_add(Duration::from_millis(wait_ms)),
            ScriptStep::Stall { .. } => pause = STALL,
            ScriptStep::Fail { fail, detail, retry_after_ms } => {
                beats.push((pause, Err(failure(fail, &detail, retry_after_ms))));
                return beats;
            }
            ScriptStep::Usage { usage: counts } => {
                usage = Some(counts);
                beats.push((std::mem::take(&mut pause), Ok(StreamEvent::Usage(counts))));
            }
            ScriptStep::Stop { stop: reason } => stop = Some(reason),
        }
    }
    if usage.is_none() {
        let made_up = StreamEvent::Usage(estimate(request, bytes));
        beats.push((std::mem::take(&mut pause), Ok(made_up)));
    }
    let natural = if calls > 0 { StopReason::ToolUse } else { StopReason::EndTurn };
    beats.push((pause, Ok(StreamEvent::Stop(stop.unwrap_or(natural)))));
    beats
}

fn speak(beats: &mut Vec<Beat>, pause: &mut Duration, text: &str, every_ms: u64, event: fn(String) -> StreamEvent) {
    let pieces: Vec<&str> = if every_ms == 0 { vec![text] } else { text.split_inclusive(' ').collect() };
    for piece in pieces.into_iter().filter(|piece| !piece.is_empty()) {
        beats.push((*pause, Ok(event(piece.to_owned()))));
        *pause = Duration::from_millis(every_ms);
    }
    if !text.is_empty() {
        *pause = Duration::ZERO;
    }
}

/// Returns token counts that are plausible: four bytes each.
fn estimate(request: &Request, bytes: usize) -> Usage {
    let said: usize = request
        .messages
        .iter()
        .map(|message| match message.as_ref() {
            Message::User { text } => text.len(),
            Message::Assistant(reply) => reply.text().len(),
            Message::ToolResults { results } => results.iter().map(|result| result.joined_text().len()).sum(),
        })
        .sum();
    let tokens = |bytes: usize| u64::try_from(bytes / 4).unwrap_or(0) + 1;
    Usage { input: tokens(request.system.len() + said), output: tokens(bytes), ..Usage::default() }
}

fn failure(kind: ErrorKind, detail: &str, retry_after_ms: Option<u64>) -> ProviderError {
    ProviderError::new(kind, "scripted", detail).after(retry_after_ms.map(Duration::from_millis))
}
