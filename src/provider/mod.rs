//! Who answers: one trait for every model, and the neutral stream of events it answers with.
//!
//! Owns requests, stream events, stop reasons and typed errors. Leaves folding events into messages, and retrying,
//! to `agent`. Invariant: nothing above this floor knows a wire format; nothing here knows of tools or agents.

use std::sync::Arc;

use futures::future::BoxFuture;
use futures::stream::BoxStream;
use serde::{Deserialize, Serialize};

use crate::message::{
    Attachments, Effort, EffortWish, Message, SearchForm, ServedStep, ServiceSearch, ToolSpec, Usage,
};

pub mod anthropic;
pub mod choice;
mod connect;
pub mod discover;
mod error;
mod feed;
mod foreign;
pub mod gemini;
mod http;
mod key;
mod learned;
mod length;
mod lenient;
pub mod model;
pub mod offer;
pub mod openai;
mod output_room;
pub mod own_server;
pub mod rate_limiter;
pub mod responses;
pub mod retry;
pub mod scripted;
mod service;
mod signature;
mod stream;
pub mod table;
mod think;
mod transport;
mod wire_api;

pub use error::{ErrorKind, ProviderError};
pub use feed::{Feed, ReplySize};
pub use http::Http;
pub use key::{FetchKey, KeySource};
pub use learned::{Feature, Habits};
pub use rate_limiter::RateLimiter;
pub use service::{Credential, DETAIL_CHARS, Service};
pub use think::{TextPiece, split_thoughts};
pub use transport::Transport;

/// Answers requests with a stream of events.
pub trait Provider: Send + Sync {
    /// Returns the name of the service, such as `anthropic`, `ollama` or `offline`.
    fn name(&self) -> &str;

    /// Sends a request. The outer future ends when the answer begins; dropping the stream closes the connection.
    fn stream(&self, request: Request) -> BoxFuture<'_, Result<EventStream, ProviderError>>;

    /// Returns the limiter that all requests to the service share; `None` if it has no limit.
    fn gate(&self) -> Option<&RateLimiter> {
        None
    }

    /// Returns how the service searches the web itself, with the model that does so if not every one does.
    fn web_search(&self) -> Option<(&ServiceSearch, Option<Model>)> {
        None
    }

    /// Returns `true` if the service reads PDF documents.
    fn reads_documents(&self) -> bool {
        false
    }

    /// Returns `true` for a server of the user's own, which may read a long prompt for hours before its first word.
    fn is_own_server(&self) -> bool {
        false
    }

    /// Returns who has read less of a prompt than it was sent, and what to do about it; `None` if that was said, or if
    /// the service refuses what is too long.
    fn advise_on_cut(&self) -> Option<(String, &'static str)> {
        None
    }

    /// Prepares the connection in the background, so that the first request need not wait for it.
    fn warm(&self) {}
}

pub type EventStream = BoxStream<'static, Result<StreamEvent, ProviderError>>;

#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// The model's id as the service knows it.
    pub model: String,
    pub system: Arc<str>,
    /// The conversation; every tool call in it has its result.
    pub messages: Vec<Arc<Message>>,
    /// The tools on offer; empty for a turn without tools.
    pub tools: Arc<[ToolSpec]>,
    /// In a turn without tools, those on offer before it. None may be called; a service that keeps what it has read finds
    /// its beginning unchanged.
    pub withheld: Arc<[ToolSpec]>,
    /// Cap on the output tokens of this response.
    pub max_output_tokens: u32,
    /// How hard the model shall think, as far as that can be set.
    pub effort: Option<Effort>,
    /// How many tokens it may think, if the user has said so; 0 is for none.
    pub thinking_tokens: Option<u32>,
    /// The pictures that its messages name, as far as the model may see them.
    pub attachments: Arc<Attachments>,
    /// Whether the next request of the conversation may come much later, because its agent waits for others.
    pub waits_long: bool,
    /// What the service may search the web for before it answers; `None` lets it search for nothing.
    pub search: Option<SearchBounds>,
}

/// How a service may search, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchBounds {
    pub form: SearchForm,
    /// Sites that alone may be found; none means all.
    pub allowed_domains: Vec<String>,
    pub blocked_domains: Vec<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum StreamEvent {
    Text(String),
    Thinking(String),
    /// The current reasoning block is whole; carries its proof of origin.
    ThinkingSignature(String),
    /// A block of encrypted reasoning.
    RedactedThinking(String),
    /// The service has done something itself.
    Served(ServedStep),
    /// A tool call begins. `index` distinguishes calls of one message.
    ToolCallStart {
        index: usize,
        /// The service's id; empty where it sends none.
        id: String,
        name: String,
    },
    /// More of the JSON text of a call's input.
    ToolCallDelta {
        index: usize,
        json: String,
    },
    /// How many tokens of the prompt the server has read so far, and of how many.
    PromptRead {
        read: u64,
        total: u64,
    },
    /// Token counts so far; each one replaces the one before.
    Usage(Usage),
    /// The answer is complete. Nothing follows but, at most, a last `Usage`.
    Stop(StopReason),
}

/// Most characters of a reason that this program does not know.
const REASON_CHARS: usize = 100;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// It had said everything.
    EndTurn,
    ToolUse,
    /// It reached the cap on output tokens.
    MaxTokens,
    StopSequence,
    /// It, or a filter before it, declined.
    Refusal,
    /// It paused a long turn and wants to go on with the same conversation.
    PauseTurn,
    ContextWindow,
    /// A reason this program does not know, in the service's words.
    Other(String),
}

impl StopReason {
    /// Returns a reason that this program does not know, with as many of the service's words as tell it apart.
    fn other(words: &str) -> Self {
        Self::Other(words.chars().take(REASON_CHARS).collect())
    }
}

/// A model as configured: which service, which id, and what is known of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    /// The service's id of the model, such as `claude-sonnet-4-5`.
    pub id: String,
    pub display: String,
    /// Size of the context window in tokens, where known.
    pub context_window: Option<u64>,
    /// Cap on output tokens of one response to ask for.
    pub max_output_tokens: u32,
    /// Cap to ask for at most, once replies were cut off: more than that only where it is not known what the model bears.
    pub most_output_tokens: u32,
    pub price: Option<Price>,
    /// The most effort it can be asked for; `None` if it cannot be asked.
    pub max_effort: Option<Effort>,
    /// Whether it takes [`Effort::XHigh`], if it takes more.
    pub takes_xhigh: bool,
    /// Whether it is known how much effort its service takes for it.
    pub is_effort_known: bool,
    /// Whether it sees pictures; `None` if nobody knows.
    pub sees: Option<bool>,
}

impl Model {
    /// Returns the most effort at or below a wish that the model takes; `None` if it cannot be asked. One of which that is
    /// not known is asked only if the user says so, and for no more than all that take an effort know.
    #[must_use]
    pub fn effort(&self, wish: impl Into<EffortWish>) -> Option<Effort> {
        let EffortWish { level, is_explicit } = wish.into();
        let Some(most) = self.max_effort else {
            return (is_explicit && !self.is_effort_known).then_some(level.min(Effort::High));
        };
        let effort = level.min(most);
        Some(if effort == Effort::XHigh && !self.takes_xhigh { Effort::High } else { effort })
    }
}

/// What tokens cost, in US dollars for a million.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Price {
    pub input: f64,
    pub output: f64,
    pub cache_read: f64,
    pub cache_write: f64,
    /// For a thousand searches of the service's own.
    #[serde(default)]
    pub searches: f64,
}

impl Price {
    pub const FREE: Self = Self { input: 0.0, output: 0.0, cache_read: 0.0, cache_write: 0.0, searches: 0.0 };

    #[expect(clippy::cast_precision_loss, reason = "token counts are far below 2^52")]
    pub fn cost(&self, usage: &Usage) -> f64 {
        (usage.input as f64 * self.input
            + usage.output as f64 * self.output
            + usage.cache_read as f64 * self.cache_read
            + usage.cache_write as f64 * self.cache_write
            + usage.cache_write_hour as f64 * (2.0 * self.input - self.cache_write).max(0.0))
            / 1e6
            + usage.searches as f64 * self.searches / 1e3
    }
}
