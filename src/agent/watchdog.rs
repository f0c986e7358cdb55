//! When an agent last gave a sign of life, whether its last turn was told of, and the watchdog of its limits on time.

use std::future::Future;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, sleep, sleep_until};

use super::{Agent, EventKind, Status, StopCause};

/// How long an agent may be at work without a word to those who listen.
const UNTOLD: Duration = Duration::from_secs(5);

/// The time of the last sign of life of a model or tool.
#[derive(Debug)]
pub(super) struct Watchdog(Mutex<State>);

#[derive(Debug)]
struct State {
    last: Instant,
    /// When anything was last told of the agent.
    told: Instant,
    holds: usize,
    turns: Turns,
}

/// Whether it was told that one turn is left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Turns {
    Many,
    /// One is left, and the run ends with this status.
    One(Status),
}

impl Watchdog {
    pub(super) fn new(now: Instant) -> Self {
        Self(Mutex::new(State { last: now, told: now, holds: 0, turns: Turns::Many }))
    }

    /// Notes a sign of life.
    pub(super) fn heartbeat(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).last = Instant::now();
    }

    /// Awaits something whose silence is nobody's fault: the user's answer, a rate limit, a subagent with limits of
    /// its own.
    pub(super) async fn paused<T>(&self, wait: impl Future<Output = T>) -> T {
        let _hold = Hold::new(self);
        wait.await
    }

    /// Tells everyone what happened to the agent. Waiting for a slow listener is not the agent's own silence.
    pub(super) async fn emit(&self, agent: &Agent, kind: EventKind) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).told = Instant::now();
        self.paused(agent.sink.send_until(agent.id, kind, &agent.cancel)).await;
    }

    /// Notes a sign of life that shows nothing, and tells of it if nothing else was told for a while.
    pub(super) async fn emit_alive(&self, agent: &Agent) {
        self.heartbeat();
        let told = self.0.lock().unwrap_or_else(PoisonError::into_inner).told;
        if told.elapsed() >= UNTOLD {
            self.emit(agent, EventKind::Alive).await;
        }
    }

    /// Tells everyone that one turn is left, unless they know. Returns why, as it was told first.
    pub(super) async fn emit_last_turn(&self, agent: &Agent, why: Status) -> Status {
        {
            let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if let Turns::One(told) = state.turns {
                return told;
            }
            state.turns = Turns::One(why);
        }
        self.emit(agent, EventKind::LastTurn { why }).await;
        why
    }

    /// Returns when the silence would be too long; `None` while it is excused.
    fn deadline(&self, limit: Duration) -> Option<Instant> {
        let state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        (state.holds == 0).then(|| state.last + limit)
    }
}

/// Excuses silence until it is dropped, also when the wait itself is given up.
struct Hold<'a>(&'a Watchdog);

impl<'a> Hold<'a> {
    fn new(watchdog: &'a Watchdog) -> Self {
        watchdog.0.lock().unwrap_or_else(PoisonError::into_inner).holds += 1;
        Self(watchdog)
    }
}

impl Drop for Hold<'_> {
    fn drop(&mut self) {
        let mut state = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.holds -= 1;
        state.last = Instant::now();
    }
}

/// How often an excused silence is looked at again.
const EXCUSED_POLL: Duration = Duration::from_secs(1);

/// How long an agent that has passed a limit on time may take for its report.
const REPORT_GRACE: Duration = Duration::from_mins(1);

/// Stops the agent's work once a limit on time is passed, and the agent if it then does not report. Never returns; it is
/// raced against the run.
pub(super) async fn watch(watchdog: &Watchdog, started: Instant, agent: &Agent) {
    if let Some(cause) = overtime(watchdog, started, agent).await {
        agent.work.stop(cause);
        watchdog.paused(sleep(REPORT_GRACE)).await;
        agent.cancel.stop(cause);
    }
    std::future::pending::<()>().await;
}

/// Waits until a limit on time is passed, and returns which; `None` if there is no such limit.
async fn overtime(watchdog: &Watchdog, started: Instant, agent: &Agent) -> Option<StopCause> {
    let limits = &agent.limits;
    let wall = limits.wall_timeout.map(|limit| started + limit);
    while limits.idle_timeout.is_some() || wall.is_some() {
        let idle = limits.idle_timeout.map(|limit| watchdog.deadline(limit));
        let now = Instant::now();
        if wall.is_some_and(|at| now >= at) {
            return Some(StopCause::Wall);
        }
        if idle.flatten().is_some_and(|at| now >= at) {
            return Some(StopCause::Idle);
        }
        let next_idle = idle.map(|deadline| deadline.unwrap_or(now + EXCUSED_POLL));
        let Some(next) = [next_idle, wall].into_iter().flatten().min() else { break };
        sleep_until(next).await;
    }
    None
}
