//! The offline model: a rule-based stand-in where no language model is connected.
//!
//! Owns pacing and the stream of events. Leaves to [`plan`], a pure function of the request, what to say and which tools
//! to call. Invariant: no I/O; every place it cites was in a tool result of the same conversation.
//!
//! Its modules stand in layers, and imports go only downwards:
//!
//! 1. `plan`: what the main agent and subagents do, and the words of answers
//! 2. `project`: what is looked at to tell of a project as a whole
//! 3. `search`: what is looked at to answer a question
//! 4. `request`: what a request asks for
//! 5. `report`: findings and the places they cite
//! 6. `evidence`: what the conversation holds
//! 7. `text`: words and paths; `tables`: what is known by heart

use std::time::Duration;

use futures::future::BoxFuture;
use futures::stream::{self, StreamExt};

use crate::message::{Message, Usage};
use crate::provider::{ErrorKind, EventStream, Provider, ProviderError, Request, StopReason, StreamEvent};

mod evidence;
mod plan;
mod project;
mod report;
mod request;
mod search;
mod tables;
mod text;

use evidence::Evidence;
pub use evidence::PlannedCall;
pub use plan::PlannedReply;

/// Name of the service, and of its only model.
pub const NAME: &str = "offline";

/// The system prompt of requests for a summary.
const SUMMARY_PROMPT: &str = include_str!("../../assets/prompts/compact.md");
/// The summary: rules read the latest message alone, and that one stays word for word.
const SUMMARY: &str = "The offline model summarizes nothing: that takes a language model.";
/// The task of the agent that drafts agent files, of which the first line tells it.
const DRAFT_TASK: &str = include_str!("../../assets/prompts/draft-task.md");

/// How fast an answer arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pace {
    /// At about the speed of quick reading, for a screen.
    Reading,
    /// At once, for everything else.
    Instant,
}

#[derive(Debug, Clone, Copy)]
pub struct Offline {
    pace: Pace,
}

impl Offline {
    /// Returns a provider that answers at the given pace.
    #[must_use]
    pub fn new(pace: Pace) -> Self {
        Self { pace }
    }
}

/// Characters in one piece of text, and the pause before it: about 75 words a second.
const PIECE_CHARS: usize = 7;
const PIECE_PAUSE: Duration = Duration::from_millis(16);
/// Pieces of one text at most: what is long comes faster, so that nobody waits longer than four seconds for its end.
const MOST_PIECES: usize = 250;

impl Provider for Offline {
    fn name(&self) -> &'static str {
        NAME
    }

    fn stream(&self, request: Request) -> BoxFuture<'_, Result<EventStream, ProviderError>> {
        let pace = self.pace;
        Box::pin(async move {
            if is_draft(&request) {
                let advice = plan::answer::how_to_connect();
                let error = ProviderError::new(ErrorKind::BadRequest, NAME, "a draft needs a language model");
                return Err(ProviderError { advice: format!("To connect one: {advice}."), ..error });
            }
            let events = events(&request);
            let paced = stream::iter(events).then(move |event| async move {
                if pace == Pace::Reading && matches!(event, StreamEvent::Text(_)) {
                    tokio::time::sleep(PIECE_PAUSE).await;
                }
                Ok(event)
            });
            Ok(paced.boxed())
        })
    }
}

/// Returns `true` if an agent file is to be drafted.
fn is_draft(request: &Request) -> bool {
    let first = request.messages.first().map(AsRef::as_ref);
    matches!((first, DRAFT_TASK.lines().next()), (Some(Message::User { text }), Some(line)) if text.starts_with(line))
}

/// Decides what to say to a request.
pub fn plan(request: &Request) -> PlannedReply {
    if *request.system == *SUMMARY_PROMPT {
        return PlannedReply { text: SUMMARY.to_owned(), calls: Vec::new() };
    }
    plan::reply(&Evidence::read(request))
}

fn events(request: &Request) -> Vec<StreamEvent> {
    let mut reply = plan(request);
    let room = usize::try_from(request.max_output_tokens).unwrap_or(usize::MAX).saturating_mul(4);
    let mut stop = if reply.calls.is_empty() { StopReason::EndTurn } else { StopReason::ToolUse };
    if reply.text.len() > room {
        reply.text.truncate(reply.text.floor_char_boundary(room));
        reply.calls.clear();
        stop = StopReason::MaxTokens;
    }
    let input = input_tokens(request);
    let mut events = vec![StreamEvent::Usage(Usage { input, ..Usage::default() })];
    let chars: Vec<char> = reply.text.chars().collect();
    let piece = PIECE_CHARS.max(chars.len().div_ceil(MOST_PIECES));
    events.extend(chars.chunks(piece).map(|piece| StreamEvent::Text(piece.iter().collect())));
    let mut output = reply.text.len();
    for (index, call) in reply.calls.into_iter().enumerate() {
        let json = serde_json::Value::Object(call.input).to_string();
        output += json.len();
        let id = format!("offline_{}_{index}", request.messages.len());
        events.push(StreamEvent::ToolCallStart { index, id, name: call.name });
        events.push(StreamEvent::ToolCallDelta { index, json });
    }
    events.push(StreamEvent::Usage(Usage { input, output: tokens(output), ..Usage::default() }));
    events.push(StreamEvent::Stop(stop));
    events
}

/// Estimates tokens as a quarter of the bytes.
fn tokens(bytes: usize) -> u64 {
    (bytes as u64).div_ceil(4)
}

fn input_tokens(request: &Request) -> u64 {
    let json = |messages| serde_json::to_string(messages).map_or(0, |json: String| json.len());
    let messages: usize = request.messages.iter().map(|message| json(message.as_ref())).sum();
    let tools: usize = request.tools.iter().map(|tool| tool.name.len() + tool.description.len()).sum();
    tokens(request.system.len() + messages + tools)
}
