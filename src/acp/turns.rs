//! The prompts that a client waits for, and how each ends.
//!
//! Pure. Owns which answer of the main agent belongs to which prompt. Invariant: each prompt is answered once, also one
//! that was cancelled before anybody read it.

use std::collections::VecDeque;

use super::schema::{Error, Meta, PromptResponse, RequestId, StopReason, Usage as ToldUsage};
use super::wire::saying;
use crate::agent::{AgentEvent, Author, EventKind, Outcome, Status, TurnEvent};
use crate::message::{MessageId, Usage, extension, sanitize_line};
use crate::provider::StopReason as ModelStop;

/// Prompts that may wait in one session.
const MAX_WAITING: usize = 16;

/// What a prompt has become.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asked {
    Message(MessageId),
    /// A summary, which comes as an answer without a message.
    Summary,
}

struct Prompt {
    request: RequestId,
    asked: Asked,
    has_begun: bool,
}

/// The answer to a request of the client.
pub(super) type PromptAnswer = (RequestId, Result<PromptResponse, Error>);

#[derive(Default)]
pub(super) struct Turns {
    waiting: VecDeque<Prompt>,
    last: MessageId,
    /// Why the model has stopped last.
    stop: Option<ModelStop>,
    /// What all agents had used when the prompt that is read began.
    before: Usage,
}

impl Turns {
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    pub(super) fn is_full(&self) -> bool {
        self.waiting.len() >= MAX_WAITING
    }

    pub(super) fn next_id(&mut self) -> MessageId {
        self.last.0 += 1;
        self.last
    }

    pub(super) fn push(&mut self, request: RequestId, message: MessageId) {
        self.waiting.push_back(Prompt { request, asked: Asked::Message(message), has_begun: false });
    }

    pub(super) fn push_summary(&mut self, request: RequestId, used: Usage) {
        self.before = used;
        self.waiting.push_back(Prompt { request, asked: Asked::Summary, has_begun: true });
    }

    /// Answers the prompts that nobody has begun to read: what is stopped now drops them.
    pub(super) fn cancel(&mut self) -> Vec<PromptAnswer> {
        let (begun, dropped): (VecDeque<_>, VecDeque<_>) = self.waiting.drain(..).partition(|prompt| prompt.has_begun);
        self.waiting = begun;
        dropped.into_iter().map(cancelled).collect()
    }

    /// Answers all prompts, for nothing comes any more.
    pub(super) fn end(&mut self) -> Vec<PromptAnswer> {
        self.waiting.drain(..).map(cancelled).collect()
    }

    /// Returns `true` if one of them is this request.
    pub(super) fn has(&self, request: &RequestId) -> bool {
        self.waiting.iter().any(|prompt| prompt.request == *request)
    }

    /// Takes in an event of the main agent, and what all have used up to it. Returns the answer to the prompt that ends with it.
    pub(super) fn apply(&mut self, event: &AgentEvent, used: Usage, no_model: Option<&str>) -> Option<PromptAnswer> {
        match &event.kind {
            EventKind::UserMessage { by: Author::User, id: Some(id), .. } => {
                self.stop = None;
                let prompt = self.waiting.iter_mut().find(|prompt| prompt.asked == Asked::Message(*id));
                if let Some(prompt) = prompt {
                    prompt.has_begun = true;
                    self.before = used;
                }
                None
            }
            EventKind::Turn(TurnEvent::Ended { stop, .. }) => {
                self.stop.clone_from(stop);
                None
            }
            EventKind::Ended { outcome } => {
                let at = self.waiting.iter().position(|prompt| prompt.has_begun)?;
                let prompt = self.waiting.remove(at)?;
                let usage = told_usage(&self.before, &used);
                self.before = used;
                let answer = answer_of(outcome, self.stop.as_ref(), no_model);
                Some((prompt.request, answer.map(|answer| answer.usage(usage))))
            }
            _ => None,
        }
    }
}

/// Returns what was used between two sums; `None` if that is not known.
fn told_usage(before: &Usage, now: &Usage) -> Option<ToldUsage> {
    let more = Usage {
        input: now.input.saturating_sub(before.input),
        output: now.output.saturating_sub(before.output),
        cache_read: now.cache_read.saturating_sub(before.cache_read),
        cache_write: now.cache_write.saturating_sub(before.cache_write),
        ..Usage::default()
    };
    let told = ToldUsage::new(more.total(), more.input, more.output);
    let told = told.cached_read_tokens(more.cache_read).cached_write_tokens(more.cache_write);
    match (now.unknown, more.total()) {
        (true, 0) => None,
        (true, _) => Some(told.meta(Meta::from_iter([(extension::UNKNOWN_USAGE.to_owned(), true.into())]))),
        (false, _) => Some(told),
    }
}

fn cancelled(prompt: Prompt) -> PromptAnswer {
    (prompt.request, Ok(PromptResponse::new(StopReason::Cancelled)))
}

/// Says how an answer ended, in the words of the protocol.
fn answer_of(outcome: &Outcome, stop: Option<&ModelStop>, no_model: Option<&str>) -> Result<PromptResponse, Error> {
    let reason = match outcome.status {
        Status::Completed => match stop {
            Some(ModelStop::MaxTokens | ModelStop::ContextWindow) => StopReason::MaxTokens,
            Some(ModelStop::Refusal) => StopReason::Refusal,
            _ => StopReason::EndTurn,
        },
        Status::Budget => StopReason::MaxTokens,
        Status::TurnLimit | Status::ToolLimit | Status::TimedOut | Status::WrappedUp => StopReason::MaxTurnRequests,
        Status::Cancelled | Status::Interrupted => StopReason::Cancelled,
        // It had nothing more to say.
        Status::Empty => StopReason::EndTurn,
        Status::Failed if stop == Some(&ModelStop::Refusal) => StopReason::Refusal,
        Status::Failed => {
            let why = outcome.reason.as_deref().unwrap_or("the request failed");
            let error = if no_model.is_some() { Error::auth_required() } else { Error::internal_error() };
            return Err(saying(error, sanitize_line(no_model.unwrap_or(why))));
        }
    };
    Ok(PromptResponse::new(reason))
}
