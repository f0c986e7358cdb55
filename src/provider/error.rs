//! What can go wrong between here and a model, in words that say what to do.

use std::time::Duration;

use super::Feature;

/// A failed request. The message of each is for the user.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProviderError {
    /// The key is missing, wrong or not allowed to use the model.
    #[error("{}", key_words(.provider, .key_variable, *.has_key, .detail))]
    Authentication {
        /// The service.
        provider: String,
        /// Environment variable that holds the key.
        key_variable: String,
        /// Whether a key was sent.
        has_key: bool,
        /// The service's words.
        detail: String,
    },
    /// Too many requests or tokens.
    #[error("{provider} limits the rate ({detail}).{}", wait_words(*.retry_after))]
    RateLimit {
        /// The service.
        provider: String,
        /// The service's words.
        detail: String,
        /// How long the service asks to wait.
        retry_after: Option<Duration>,
    },
    /// The service has no room right now.
    #[error("{provider} is overloaded ({detail}).{}", wait_words(*.retry_after))]
    Overloaded {
        /// The service.
        provider: String,
        /// The service's words.
        detail: String,
        /// How long the service asks to wait.
        retry_after: Option<Duration>,
    },
    /// The server broke down over the request.
    #[error("{provider} answered with an internal error ({detail}).{}", log_words(.provider, *.is_own))]
    Internal {
        /// The service.
        provider: String,
        /// The status and the service's words.
        detail: String,
        /// Whether it is a server of the user's own.
        is_own: bool,
    },
    /// There is no secure connection, and another attempt would make none.
    #[error("No secure connection to {provider}: {detail}. {advice}")]
    Tls {
        /// The service.
        provider: String,
        /// What is wrong.
        detail: String,
        /// What to do.
        advice: String,
    },
    /// The proxy on the way failed, not the service.
    #[error("{proxy} {detail}. Check {variable}, or except the host with NO_PROXY.")]
    Proxy {
        /// The proxy, with its address.
        proxy: String,
        /// What it did.
        detail: String,
        /// Environment variable that names it.
        variable: String,
        /// Whether another attempt would end alike.
        is_lasting: bool,
    },
    /// The conversation does not fit the model.
    #[error("The conversation is too long for the model ({detail}).")]
    ContextTooLong {
        /// The service's words.
        detail: String,
    },
    /// The model or the address does not exist.
    #[error("{provider} does not know this model or address ({detail}). Check --model and the base URL.")]
    NotFound {
        /// The service.
        provider: String,
        /// The service's words.
        detail: String,
    },
    /// The service refused the request as malformed or not allowed.
    #[error("{provider} refused the request ({detail}).")]
    BadRequest {
        /// The service.
        provider: String,
        /// The service's words.
        detail: String,
    },
    /// The model does not take a part of the request that it can do without. Sent again, the request goes without it.
    #[error("{provider} does not take {} for {model} ({detail}).", feature.words())]
    Unsupported {
        /// The service.
        provider: String,
        /// The model.
        model: String,
        /// What it does not take.
        feature: Feature,
        /// Whether this was not known before.
        is_news: bool,
        /// The service's words.
        detail: String,
    },
    /// The service could not be reached, or the connection broke.
    #[error("No connection to {provider} ({detail}). Check the network and the base URL.")]
    Network {
        /// The service.
        provider: String,
        /// What failed.
        detail: String,
    },
    /// The answer had begun, and then the connection broke or its bytes were damaged.
    #[error("The answer of {provider} broke off ({detail}).")]
    Interrupted {
        /// The service.
        provider: String,
        /// What failed.
        detail: String,
    },
    /// What arrived was not what the API promises.
    #[error(
        "{provider} sent something that is not its API ({detail}). Check that the base URL belongs to this kind of API."
    )]
    Protocol {
        /// The service.
        provider: String,
        /// What was wrong.
        detail: String,
    },
}

fn key_words(provider: &str, key_variable: &str, has_key: bool, detail: &str) -> String {
    if has_key {
        format!(
            "{provider} did not accept the key ({detail}). Check {key_variable} and that the key may use this model."
        )
    } else {
        format!("{provider} wants a key ({detail}). Set {key_variable}.")
    }
}

fn log_words(provider: &str, is_own: bool) -> String {
    if is_own { format!(" Look at the log of {provider}.") } else { String::new() }
}

fn wait_words(wait: Option<Duration>) -> String {
    wait.map_or_else(String::new, |wait| format!(" It asks to wait {} s.", wait.as_secs().max(1)))
}

impl ProviderError {
    /// Returns `true` if the same request may succeed later.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        match self {
            Self::RateLimit { .. }
            | Self::Overloaded { .. }
            | Self::Internal { .. }
            | Self::Network { .. }
            | Self::Interrupted { .. } => true,
            Self::Proxy { is_lasting, .. } => !is_lasting,
            _ => false,
        }
    }

    /// Returns the same error after the first events of an answer: the address is right then, and what came next broke.
    #[must_use]
    pub(super) fn in_mid_answer(self) -> Self {
        match self {
            Self::Network { provider, detail } | Self::Protocol { provider, detail } => {
                Self::Interrupted { provider, detail }
            }
            other => other,
        }
    }

    /// Returns how long the service asked to wait.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::RateLimit { retry_after, .. } | Self::Overloaded { retry_after, .. } => *retry_after,
            _ => None,
        }
    }
}
