//! What can go wrong between here and a model, in words that say what to do.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Feature;

/// The kinds of failure, as a script names them too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    /// The key is wrong, or may not use the model.
    Authentication,
    /// No key was sent, and the service wants one.
    MissingKey,
    /// Too many requests or tokens.
    RateLimit,
    /// The service has no room right now.
    Overloaded,
    /// The server broke down over the request.
    Internal,
    /// There is no secure connection, and another attempt would make none.
    Tls,
    /// The proxy on the way failed, not the service.
    Proxy,
    /// The same, and another attempt would end alike.
    ProxySettings,
    /// The conversation does not fit the model.
    ContextTooLong,
    /// The model or the address does not exist.
    NotFound,
    /// The service refused the request as malformed or not allowed.
    BadRequest,
    /// The model does not take a part of the request that it can do without. Sent again, the request goes without it.
    Unsupported,
    /// The service could not be reached, or the connection broke.
    Network,
    /// The answer had begun, and then the connection broke or its bytes were damaged.
    Interrupted,
    /// What arrived was not what the API promises.
    Protocol,
}

impl ErrorKind {
    fn advice(self) -> &'static str {
        match self {
            Self::NotFound => "Check --model and the base URL.",
            Self::Network => "Check the network and the base URL.",
            Self::Protocol => "Check that the base URL is for this kind of API.",
            _ => "",
        }
    }
}

/// A failed request. Its message is for the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderError {
    pub kind: ErrorKind,
    /// The service, or the proxy on the way to it.
    pub provider: String,
    pub detail: String,
    pub advice: String,
    /// How long the service asks to wait before the next attempt.
    pub retry_after: Option<Duration>,
    pub unsupported: Option<Box<Unsupported>>,
    /// What the model wrote, where the service refused that and not the request.
    pub refused_reply: Option<Box<str>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unsupported {
    pub model: String,
    pub feature: Feature,
    /// Whether this was not known before.
    pub is_news: bool,
}

impl std::error::Error for ProviderError {}

impl fmt::Display for ProviderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, provider, detail, advice, retry_after, unsupported, refused_reply: _ } = self;
        match kind {
            ErrorKind::Authentication => write!(f, "{provider} rejected the API key ({detail})."),
            ErrorKind::MissingKey => write!(f, "{provider} needs an API key ({detail})."),
            ErrorKind::RateLimit => write!(f, "Rate limited by {provider} ({detail})."),
            ErrorKind::Overloaded => write!(f, "{provider} is overloaded ({detail})."),
            ErrorKind::Internal => write!(f, "{provider} had a server error ({detail})."),
            ErrorKind::Tls => write!(f, "No secure connection to {provider}: {detail}."),
            ErrorKind::Proxy | ErrorKind::ProxySettings => write!(f, "{provider} {detail}."),
            ErrorKind::ContextTooLong => write!(f, "The conversation is too long for the model ({detail})."),
            ErrorKind::NotFound => write!(f, "{provider} has no such model or address ({detail})."),
            ErrorKind::Network => write!(f, "No connection to {provider} ({detail})."),
            ErrorKind::Interrupted => write!(f, "The response from {provider} was cut off ({detail})."),
            ErrorKind::Protocol => write!(f, "{provider} sent an unexpected response ({detail})."),
            ErrorKind::BadRequest | ErrorKind::Unsupported => match unsupported {
                Some(part) => {
                    write!(f, "{provider} does not support {} for {} ({detail}).", part.feature.words(), part.model)
                }
                None => write!(f, "{provider} refused the request ({detail})."),
            },
        }?;
        if let Some(wait) = retry_after {
            write!(f, " Retry after {} s.", wait.as_secs().max(1))?;
        }
        for sentence in [advice, kind.advice()].into_iter().filter(|sentence| !sentence.is_empty()) {
            write!(f, " {sentence}")?;
        }
        Ok(())
    }
}

impl ProviderError {
    #[must_use]
    pub fn new(kind: ErrorKind, provider: impl Into<String>, detail: impl Into<String>) -> Self {
        let (provider, detail) = (provider.into(), detail.into());
        Self {
            kind,
            provider,
            detail,
            advice: String::new(),
            retry_after: None,
            unsupported: None,
            refused_reply: None,
        }
    }

    /// Returns the error with what the service asks to wait, if this is an error that waiting mends.
    #[must_use]
    pub fn after(self, wait: Option<Duration>) -> Self {
        let waits = matches!(self.kind, ErrorKind::RateLimit | ErrorKind::Overloaded);
        Self { retry_after: wait.filter(|_| waits), ..self }
    }

    /// Returns the error of a request that is not sent again after so many attempts, with what is left to do. One that no
    /// attempt can mend stays as it is, whatever failed before it.
    #[must_use]
    pub fn given_up(mut self, attempts: u32) -> Self {
        let next = match self.kind {
            _ if attempts < 2 || !self.is_transient() => return self,
            ErrorKind::RateLimit | ErrorKind::Overloaded | ErrorKind::Internal => {
                "try again later, or use another model"
            }
            ErrorKind::Interrupted => "check the network, and try again",
            _ => "try again later",
        };
        let space = if self.advice.is_empty() { "" } else { " " };
        self.advice = format!("Gave up after {attempts} attempts: {next}.{space}{}", self.advice);
        self
    }

    /// Returns `true` if the same request may succeed later.
    pub fn is_transient(&self) -> bool {
        use ErrorKind::{Internal, Interrupted, Network, Overloaded, Proxy, RateLimit};
        matches!(self.kind, RateLimit | Overloaded | Internal | Network | Interrupted | Proxy)
    }

    /// Returns the same error after the first events of an answer: the address is right then, and what came next broke.
    #[must_use]
    pub(super) fn in_mid_answer(self) -> Self {
        match self.kind {
            ErrorKind::Network | ErrorKind::Protocol => Self { kind: ErrorKind::Interrupted, ..self },
            _ => self,
        }
    }
}
