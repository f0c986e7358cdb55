//! How many requests a service may be sent: one state for all agents that use the same service and key.
//!
//! Owns the queue of requests, how many may be in flight, and the pause that a refusal asks for. Leaves reporting it to
//! `agent`, and how long to pause to `retry`. Invariants: nobody is let in beyond what is allowed; of those that wait the
//! oldest goes first; a request that is dropped, waiting or in flight, frees its place at once.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use reqwest::Url;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use super::choice::Endpoint;
use super::service::Credential;

/// Successes in a row after which one more request is allowed.
const STEADY: u32 = 4;
/// Shortest time between two steps of a ticket that only report the wait.
const REPORT_INTERVAL: Duration = Duration::from_secs(1);
/// Change of a wait that is not worth a report.
const SLIGHT: Duration = Duration::from_millis(500);

/// What stands before one service. Clones are the same gate.
#[derive(Debug, Clone)]
pub struct RateLimiter(Arc<watch::Sender<State>>);

impl Default for RateLimiter {
    fn default() -> Self {
        Self(Arc::new(watch::Sender::new(State::default())))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Load {
    /// Requests on their way or being answered.
    pub in_flight: usize,
    /// Most of them at the same time; `None` as long as the service has refused nothing.
    pub allowed: Option<usize>,
    pub waiting: usize,
}

/// What a waiting request knows of its wait.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct QueueStatus {
    /// Nothing is sent before; `None` if only other requests are waited for.
    pub until: Option<Instant>,
    /// How many requests are to be sent before it.
    pub ahead: u32,
}

impl QueueStatus {
    fn is_news_after(&self, last: &Self) -> bool {
        let moved = match (self.until, last.until) {
            (Some(now), Some(then)) => now.max(then) - now.min(then) > SLIGHT,
            (now, then) => now != then,
        };
        moved || self.ahead != last.ahead
    }
}

/// What comes next for a request that wants to be sent.
#[derive(Debug)]
pub enum RequestStep {
    Enter(Permit),
    /// It waits, with this before it.
    Wait(QueueStatus),
}

impl RateLimiter {
    /// Returns a place in the queue for one request, which it keeps until it is dropped, however often it is sent.
    pub fn ticket(&self) -> QueueTicket {
        let mut number = 0;
        self.0.send_if_modified(|state| {
            number = state.next;
            state.next += 1;
            false
        });
        QueueTicket { gate: self.clone(), changes: self.0.subscribe(), number, since: Instant::now(), announced: None }
    }

    pub fn load(&self) -> Load {
        let state = self.0.borrow();
        Load { in_flight: state.in_flight, allowed: state.allowed, waiting: state.waiting.len() }
    }

    /// Returns how long the service has refused without a success; nothing if it does not refuse.
    pub fn failing_for(&self) -> Duration {
        self.0.borrow().failing_since.map_or(Duration::ZERO, |since| since.elapsed())
    }
}

#[derive(Debug)]
pub struct QueueTicket {
    gate: RateLimiter,
    changes: watch::Receiver<State>,
    number: u64,
    since: Instant,
    /// What was last said of its wait, and when.
    announced: Option<(QueueStatus, Instant)>,
}

impl QueueTicket {
    pub fn since(&self) -> Instant {
        self.since
    }

    pub fn is_announced(&self) -> bool {
        self.announced.is_some()
    }

    /// Notes that its wait, of this length, was announced in other words.
    pub fn mark_announced(&mut self, wait: Duration) {
        let now = Instant::now();
        self.announced = Some((QueueStatus { until: Some(now + wait), ahead: 0 }, now));
    }

    /// Waits until the request may go, or until there is something new to announce about its wait, which is at once the first
    /// time and not more than once a second later. May be dropped and called again.
    pub async fn step(&mut self) -> RequestStep {
        loop {
            // What changes from here on wakes this up again, so that nothing is missed.
            self.changes.mark_unchanged();
            let now = Instant::now();
            if let Some(permit) = self.try_enter(now) {
                self.announced = None;
                return RequestStep::Enter(permit);
            }
            let status = self.gate.0.borrow().status(self.number, now);
            let due = match self.announced {
                None => Some(now),
                Some((last, at)) => status.is_news_after(&last).then(|| at + REPORT_INTERVAL),
            };
            if due.is_some_and(|due| due <= now) {
                self.announced = Some((status, now));
                return RequestStep::Wait(status);
            }
            let alarm = [due, status.until].into_iter().flatten().min();
            tokio::select! {
                // The gate holds the sender: this never fails.
                _ = self.changes.changed() => {}
                () = sleep_until(alarm.unwrap_or(now)), if alarm.is_some() => {}
            }
        }
    }

    fn try_enter(&self, now: Instant) -> Option<Permit> {
        let mut permit = None;
        self.gate.0.send_if_modified(|state| {
            if !state.is_open_to(self.number, now) {
                return state.waiting.insert(self.number);
            }
            state.waiting.remove(&self.number);
            state.in_flight += 1;
            state.unanswered += 1;
            permit = Some(Permit { gate: self.gate.clone(), age: state.age, stage: Stage::Sent });
            true
        });
        permit
    }
}

impl Drop for QueueTicket {
    fn drop(&mut self) {
        self.gate.0.send_if_modified(|state| state.waiting.remove(&self.number));
    }
}

/// A request in flight, from its start to the end of its answer.
#[derive(Debug)]
pub struct Permit {
    gate: RateLimiter,
    /// Age of the limits that it was let in under.
    age: u64,
    stage: Stage,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Sent,
    Answered,
}

impl Permit {
    pub fn answered(&mut self) {
        if self.stage == Stage::Sent {
            self.stage = Stage::Answered;
            self.gate.0.send_modify(|state| state.unanswered -= 1);
        }
    }

    /// Ends it, its answer being whole.
    pub fn succeeded(self) {
        self.gate.0.send_modify(|state| state.succeeded(self.age));
    }

    /// Returns how often the service has refused since its last success, if it refuses this one too.
    pub fn refusals(&self) -> u32 {
        let state = self.gate.0.borrow();
        state.refusals.saturating_add(u32::from(self.age == state.age))
    }

    /// Ends it, the service having refused it: nothing is sent for so long. Returns how long that is in the end; another
    /// request may have to wait longer.
    #[must_use]
    pub fn refused(self, wait: Duration) -> Duration {
        let now = Instant::now();
        let mut until = now;
        self.gate.0.send_modify(|state| until = state.refused(self.age, now, wait));
        until - now
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.gate.0.send_modify(|state| {
            state.in_flight -= 1;
            state.unanswered -= usize::from(self.stage == Stage::Sent);
        });
    }
}

#[derive(Debug, Default)]
struct State {
    in_flight: usize,
    /// Those of them whose answer has not begun.
    unanswered: usize,
    allowed: Option<usize>,
    blocked_until: Option<Instant>,
    /// Successes since the last refusal, of requests sent after it.
    streak: u32,
    /// Refusals since the last success; those of one burst count once.
    refusals: u32,
    /// Since when the service only refuses.
    failing_since: Option<Instant>,
    /// How often the limit was lowered.
    age: u64,
    waiting: BTreeSet<u64>,
    next: u64,
}

impl State {
    fn is_open_to(&self, number: u64, now: Instant) -> bool {
        let is_first = self.waiting.first().is_none_or(|first| *first >= number);
        let is_blocked = self.blocked_until.is_some_and(|until| until > now);
        let has_room = self.allowed.is_none_or(|most| self.in_flight < most);
        // After a refusal one at a time is sent, to see whether it is answered: all at once would be refused again.
        let is_tried = self.allowed.is_some() && self.streak < STEADY && self.unanswered > 0;
        is_first && !is_blocked && has_room && !is_tried
    }

    fn status(&self, number: u64, now: Instant) -> QueueStatus {
        let ahead = u32::try_from(self.waiting.range(..number).count()).unwrap_or(u32::MAX);
        QueueStatus { until: self.blocked_until.filter(|until| *until > now), ahead }
    }

    fn succeeded(&mut self, age: u64) {
        self.refusals = 0;
        self.failing_since = None;
        if age == self.age {
            self.streak = self.streak.saturating_add(1);
            if self.streak.is_multiple_of(STEADY) {
                self.allowed = self.allowed.map(|most| most.saturating_add(1));
            }
        }
    }

    fn refused(&mut self, age: u64, now: Instant, wait: Duration) -> Instant {
        let until = self.blocked_until.unwrap_or(now).max(now + wait);
        self.blocked_until = Some(until);
        self.streak = 0;
        self.failing_since.get_or_insert(now);
        // Requests that were sent together are refused together; that is one reason to send fewer.
        if age == self.age {
            self.age += 1;
            self.refusals = self.refusals.saturating_add(1);
            self.allowed = Some((self.allowed.unwrap_or(usize::MAX).min(self.in_flight) / 2).max(1));
        }
        until
    }
}

/// The gates of a session: one for each service and key. Clones are the same gates.
#[derive(Debug, Clone, Default)]
pub struct RateLimiters(Arc<Mutex<Vec<(Credential, Url, RateLimiter)>>>);

impl RateLimiters {
    /// Returns the limiter of this address and key, whatever the model.
    pub fn of(&self, endpoint: &Endpoint) -> RateLimiter {
        let mut rate_limiters = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Endpoint { credential, base, .. } = endpoint;
        let known = rate_limiters.iter().find(|(key, address, _)| key == credential && address == base);
        if let Some((.., gate)) = known {
            return gate.clone();
        }
        let gate = RateLimiter::default();
        rate_limiters.push((credential.clone(), base.clone(), gate.clone()));
        gate
    }
}
