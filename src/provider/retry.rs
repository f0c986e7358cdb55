//! Whether and when to send a failed request again: a pure policy, carried out by `agent`.
//!
//! Invariant: a server is never asked earlier than it wishes, and never forever.

use std::time::Duration;

use super::ProviderError;

/// Most attempts at one request.
pub const MAX_ATTEMPTS: u32 = 6;
/// Longest wait that is chosen here.
const LONGEST_BACKOFF: Duration = Duration::from_secs(30);
/// Longest wait that a server may ask for; beyond it the user is told instead.
const LONGEST_OBEYED: Duration = Duration::from_secs(600);

/// Returns how long to wait before the next attempt, or `None` to give up.
///
/// `attempt` is the number of the attempt that failed, from 1. `jitter`, from 0 to 1, spreads agents that failed
/// together: up to half of a chosen wait is taken off, up to a second is put on a wait that the server asked for.
#[must_use]
pub fn delay(error: &ProviderError, attempt: u32, jitter: f64) -> Option<Duration> {
    if !error.is_transient() || attempt >= MAX_ATTEMPTS {
        return None;
    }
    let jitter = if jitter.is_finite() { jitter.clamp(0.0, 1.0) } else { 0.0 };
    match error.retry_after() {
        Some(asked) if asked > LONGEST_OBEYED => None,
        Some(asked) if !asked.is_zero() => Some(asked + Duration::from_secs_f64(jitter)),
        // A wait of nothing is no advice: it comes from proxies, and from dates that have passed on the way.
        Some(_) | None => {
            let backoff = Duration::from_secs(1 << attempt.saturating_sub(1).min(5)).min(LONGEST_BACKOFF);
            Some(backoff.mul_f64(1.0 - jitter / 2.0))
        }
    }
}
