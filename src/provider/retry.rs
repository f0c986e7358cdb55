//! Whether and when to send a failed request again: a pure policy, carried out by `agent`.
//!
//! Invariant: a server is never asked earlier than it wishes, and never forever.

use std::time::Duration;

use super::{ErrorKind, ProviderError};

/// Most attempts at one request. One whose rate is limited gets more, as long as the service answers any request.
pub const MAX_ATTEMPTS: u32 = 6;
/// Most attempts that end in the same words: a server that breaks down over a request each time will do so again.
const MAX_ALIKE: u32 = 3;
/// Longest time that one request is tried, or waits to be.
pub const MAX_RETRY_TIME: Duration = Duration::from_hours(1);
/// How long a service may refuse everybody before a request is given up.
const MAX_FAILING: Duration = Duration::from_mins(5);
/// Longest wait that is chosen here.
const LONGEST_BACKOFF: Duration = Duration::from_secs(30);
/// Longest wait of all agents for a service that gave one of them no advice on how long it has no room.
const BRIEF: Duration = Duration::from_secs(1);
/// A shorter wait that a server asks for counts only until it has refused a few times in a row.
const SHORTEST_OBEYED: Duration = Duration::from_millis(500);
/// Least wait after a first refusal that asked for next to nothing; each further one in a row doubles it.
const SHORT_WAIT: Duration = Duration::from_millis(50);
/// Shortest wait once the service has refused [`MAX_ATTEMPTS`] times in a row, so that the attempts of a minute have a bound.
const STEADY_WAIT: Duration = Duration::from_secs(5);
/// Attempts after which another model is asked, if there is one.
const FALLBACK_ATTEMPTS: u32 = 3;
/// Longest wait that a server may ask for; beyond it the user gets an error instead.
const LONGEST_OBEYED: Duration = Duration::from_mins(10);

/// What has been tried, when an attempt has failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryState {
    /// Number of the attempt that failed, from 1.
    pub attempt: u32,
    /// How many attempts in a row have failed in the same words, this one included.
    pub alike: u32,
    /// How often the service has refused a request since its last success, this one included.
    pub refusals: u32,
    pub lasted: Duration,
    /// How long the service has answered no request.
    pub failing_for: Duration,
}

impl RetryState {
    fn is_over(&self, error: &ProviderError) -> bool {
        let many = |count: u32| count >= MAX_ATTEMPTS;
        match error.kind {
            ErrorKind::RateLimit => {
                let hopeless = self.lasted.min(self.failing_for) >= MAX_FAILING;
                self.lasted >= MAX_RETRY_TIME || hopeless && (many(self.attempt) || many(self.refusals))
            }
            ErrorKind::Internal | ErrorKind::Proxy => many(self.attempt) || self.alike >= MAX_ALIKE,
            _ => many(self.attempt),
        }
    }
}

/// Returns how long to wait before the next attempt, or `None` to give up.
///
/// `jitter`, from 0 to 1, spreads agents that failed together: up to half of a chosen wait is taken off; on a wait that the
/// server asked for up to a quarter is put, and a second at most.
pub fn delay(error: &ProviderError, state: &RetryState, jitter: f64) -> Option<Duration> {
    if !error.is_transient() || state.is_over(error) {
        return None;
    }
    let jitter = if jitter.is_finite() { jitter.clamp(0.0, 1.0) } else { 0.0 };
    match error.retry_after {
        Some(asked) if asked > LONGEST_OBEYED => None,
        Some(asked) if asked >= SHORTEST_OBEYED => {
            let least = if state.refusals > MAX_ATTEMPTS { STEADY_WAIT } else { Duration::ZERO };
            Some(asked.max(least) + (asked / 4).min(Duration::from_secs(1)).mul_f64(jitter))
        }
        // Next to nothing comes from proxies, and from dates that have passed on the way. It is believed as long as it helps.
        Some(asked) if !asked.is_zero() && state.refusals <= MAX_ATTEMPTS => {
            let least = SHORT_WAIT * (1 << state.refusals.saturating_sub(1).min(MAX_ATTEMPTS));
            Some(asked.max(least).mul_f64(1.0 + jitter / 2.0))
        }
        Some(_) | None => {
            // A limit is everybody's: that this request met it for the first time says nothing.
            let limited = error.kind == ErrorKind::RateLimit;
            let failed = if limited { state.refusals } else { state.attempt };
            let backoff = Duration::from_secs(1 << failed.saturating_sub(1).min(5)).min(LONGEST_BACKOFF);
            Some(backoff.mul_f64(1.0 - jitter / 2.0))
        }
    }
}

/// Returns how long to wait before the next attempt, or `None` to leave it to another model, which waits to answer: one
/// that has no room gets few attempts then, and none that it wants long to wait for.
pub fn before_another(error: &ProviderError, attempt: u32, delay: Option<Duration>) -> Option<Duration> {
    let gives_way = matches!(error.kind, ErrorKind::Overloaded | ErrorKind::Internal) && attempt >= FALLBACK_ATTEMPTS;
    let is_long = error.kind == ErrorKind::Overloaded && error.retry_after.is_some_and(|asked| asked > LONGEST_BACKOFF);
    delay.filter(|_| !gives_way && !is_long)
}

/// Returns how long all agents of the service wait because of a failure of one, which itself waits `delay`; `None` if
/// it says nothing of the service.
pub fn pause_for_all(error: &ProviderError, delay: Option<Duration>) -> Option<Duration> {
    let delay = delay.unwrap_or_default();
    match error.kind {
        ErrorKind::RateLimit => Some(delay),
        ErrorKind::Overloaded if error.retry_after.is_some() => Some(delay),
        // It may be this one request that the service cannot bear.
        ErrorKind::Overloaded => Some(delay.min(BRIEF)),
        _ => None,
    }
}
