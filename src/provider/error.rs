//! What can go wrong between here and a model, in words that say what to do.

use std::time::Duration;

/// A failed request. The message of each is for the user.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProviderError {
    /// The key is missing, wrong or not allowed to use the model.
    #[error("{provider} did not accept the key ({detail}). Check {key_variable} and that the key may use this model.")]
    Authentication {
        /// The service.
        provider: String,
        /// Environment variable that holds the key.
        key_variable: String,
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
    /// The conversation does not fit the model.
    #[error(
        "The conversation is too long for the model ({detail}). Start a new one with /clear, or choose a model with a larger context."
    )]
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
    /// The service could not be reached, or the connection broke.
    #[error("No connection to {provider} ({detail}). Check the network and the base URL.")]
    Network {
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

fn wait_words(wait: Option<Duration>) -> String {
    wait.map_or_else(String::new, |wait| format!(" It asks to wait {} s.", wait.as_secs().max(1)))
}

impl ProviderError {
    /// Tells whether the same request may succeed later.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::RateLimit { .. } | Self::Overloaded { .. } | Self::Network { .. })
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
