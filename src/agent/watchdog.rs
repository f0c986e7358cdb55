//! The watchdog of an agent's limits on time: when a model or tool last gave a sign of life, and what follows its silence.

use std::future::Future;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, sleep, sleep_until};

use super::StopCause;
use super::run::Run;

/// The time of the last sign of life of a model or tool.
#[derive(Debug)]
pub(super) struct Watchdog(Mutex<State>);

#[derive(Debug)]
struct State {
    last: Instant,
    holds: usize,
    /// Whether a request is on its way to the model or its answer arrives.
    asking: bool,
}

impl Watchdog {
    pub(super) fn new(now: Instant) -> Self {
        Self(Mutex::new(State { last: now, holds: 0, asking: false }))
    }

    pub(super) fn heartbeat(&self) {
        self.state().last = Instant::now();
    }

    /// Awaits something whose silence is nobody's fault: the user's answer, a rate limit, a subagent with limits of
    /// its own.
    pub(super) async fn paused<T>(&self, wait: impl Future<Output = T>) -> T {
        let _hold = SilenceExcuse::new(self);
        wait.await
    }

    /// Excuses silence until what is returned is dropped.
    pub(super) fn excuse(&self) -> SilenceExcuse<'_> {
        SilenceExcuse::new(self)
    }

    /// Awaits an answer of the model.
    pub(super) async fn asking<T>(&self, answer: impl Future<Output = T>) -> T {
        let _asking = Asking::new(self);
        answer.await
    }

    /// Returns `true` if the model owes an answer and nothing of it has come for so long.
    fn has_silent_model(&self, silence: Duration) -> bool {
        let state = self.state();
        state.asking && state.holds == 0 && state.last.elapsed() >= silence
    }

    /// Returns when the silence would be too long; `None` while it is excused.
    fn deadline(&self, limit: Duration) -> Option<Instant> {
        let state = self.state();
        (state.holds == 0).then(|| state.last + limit)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Excuses silence until it is dropped, also when the wait itself is given up.
pub(super) struct SilenceExcuse<'a>(&'a Watchdog);

impl<'a> SilenceExcuse<'a> {
    fn new(watchdog: &'a Watchdog) -> Self {
        watchdog.state().holds += 1;
        Self(watchdog)
    }
}

impl Drop for SilenceExcuse<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.holds -= 1;
        state.last = Instant::now();
    }
}

/// Notes that the model is being asked until it is dropped, also when the answer is given up.
struct Asking<'a>(&'a Watchdog);

impl<'a> Asking<'a> {
    fn new(watchdog: &'a Watchdog) -> Self {
        watchdog.state().asking = true;
        Self(watchdog)
    }
}

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        self.0.state().asking = false;
    }
}

/// How often an excused silence is looked at again.
const EXCUSED_POLL: Duration = Duration::from_secs(1);

/// How long an agent that has passed a limit on time may take for its report.
const REPORT_GRACE: Duration = Duration::from_mins(1);

/// How long a model may be silent at the limit on the whole run and still be asked for a report.
const SILENT_MODEL: Duration = Duration::from_secs(2);

/// Stops the agent's work once a limit on time is passed, and the agent if it then does not report. A model that owes an
/// answer is not asked for another. Never returns; it is raced against the run.
pub(super) async fn watch(run: &Run<'_>) {
    if let Some(cause) = overtime(run).await {
        let silence = if cause == StopCause::Wall { SILENT_MODEL } else { Duration::ZERO };
        if !run.watchdog.has_silent_model(silence) {
            run.agent.work.stop(cause);
            run.watchdog.paused(sleep(REPORT_GRACE)).await;
        }
        run.agent.cancel.stop(cause);
    }
    std::future::pending::<()>().await;
}

/// Waits until a limit on time is passed, and returns which; `None` if there is no such limit.
async fn overtime(run: &Run<'_>) -> Option<StopCause> {
    let limits = &run.agent.limits;
    let wall = limits.wall_timeout.map(|limit| run.started + limit);
    while limits.idle_timeout.is_some() || wall.is_some() {
        let idle = limits.idle_timeout.map(|limit| run.watchdog.deadline(limit));
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
