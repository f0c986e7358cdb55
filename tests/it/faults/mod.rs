//! Faults on the way to a model, over real connections: each by itself, and many at random among eight subagents. The
//! server that makes them knows the truth: which answers it delivered whole, and which calls they held. Beside them, what
//! a panic costs.

mod chance;
mod clock;
mod fault;
mod once;
mod panics;
mod server;

use std::sync::Arc;

use belvedere::provider::rate_limiter::RateLimiter;
use belvedere::provider::{EventStream, Provider, ProviderError, Request};
use futures::future::BoxFuture;

use crate::support::Api;

/// A connection to a server on loopback as if it were somewhere else: one of the user's own may be silent for hours while
/// it reads a prompt.
struct Remote(Arc<dyn Provider>);

impl Remote {
    fn connect(api: Api, base: &str) -> Arc<dyn Provider> {
        Arc::new(Self(api.connect(base)))
    }
}

impl Provider for Remote {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn stream(&self, request: Request) -> BoxFuture<'_, Result<EventStream, ProviderError>> {
        self.0.stream(request)
    }

    fn gate(&self) -> Option<&RateLimiter> {
        self.0.gate()
    }
}
