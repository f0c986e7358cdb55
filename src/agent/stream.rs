//! One model reply: sends the request, tells of the text as it arrives, and tries again what may succeed later.
//!
//! Deltas are merged at the source: the first of a quiet spell is told at once, the rest at most every
//! [`MERGE_WINDOW`], so that the cost of the screen does not depend on how a server cuts its stream.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};
use std::pin::pin;
use std::time::Duration;

use futures::StreamExt;
use tokio::time::{Instant, sleep, sleep_until};

use super::activity::Activity;
use super::turn::{Delta, Turn, TurnBuilder};
use super::{Agent, Cancel, EventKind, StopCause};
use crate::provider::{ProviderError, Request, StreamEvent, retry};

/// How long deltas are gathered before they are told: half a frame at 30 frames a second.
const MERGE_WINDOW: Duration = Duration::from_millis(16);

/// How long a text may pause that comes to its own end although a report is asked for.
const SPARED_PAUSE: Duration = Duration::from_secs(30);

/// How a request ended.
pub(super) enum Reply {
    /// The model's reply is whole.
    Whole(Turn),
    /// The agent was stopped; holds what had arrived.
    Cut(Turn),
    /// It failed for good; holds what had arrived.
    Failed(ProviderError, Turn),
}

/// Sends a request until it succeeds, fails for good, or `stop` is asked for: the agent's end, or the end of its work.
/// Where the user asks for the latter, a text that is being said comes to its own end, unless it comes to a halt.
pub(super) async fn reply(
    agent: &Agent,
    request: Request,
    ids: &mut HashSet<String>,
    activity: &Activity,
    stop: &Cancel,
) -> Reply {
    let mut attempt = 1;
    loop {
        let (error, builder) = match once(agent, request.clone(), activity, stop).await {
            Ended::Whole(builder) => return Reply::Whole(builder.finish(agent.id, ids)),
            Ended::Cut(builder) => return Reply::Cut(builder.cut()),
            Ended::Failed(error, builder) => (error, builder),
        };
        let Some(wait) = retry::delay(&error, attempt, jitter()) else {
            return Reply::Failed(error, builder.cut());
        };
        attempt += 1;
        activity.tell(agent, retrying(attempt, wait, &error)).await;
        let mut pause = pin!(activity.excused(sleep(wait)));
        tokio::select! {
            biased;
            () = stop.cancelled() => {}
            () = &mut pause => continue,
        }
        // The last turn asks the same service, which is not asked earlier than it wishes either.
        tokio::select! {
            biased;
            () = agent.cancel.cancelled() => {}
            () = pause => {}
        }
        return Reply::Cut(TurnBuilder::default().cut());
    }
}

fn retrying(attempt: u32, wait: Duration, error: &ProviderError) -> EventKind {
    EventKind::Retrying {
        attempt,
        wait_ms: u64::try_from(wait.as_millis()).unwrap_or(u64::MAX),
        rate_limited: matches!(error, ProviderError::RateLimit { .. }),
        reason: error.to_string(),
    }
}

/// Returns a number from 0 to 1 that differs from agent to agent, so that siblings do not retry in step.
#[expect(clippy::cast_precision_loss, reason = "a random number needs no exactness")]
fn jitter() -> f64 {
    RandomState::new().hash_one(0_u8) as f64 / u64::MAX as f64
}

enum Ended {
    Whole(TurnBuilder),
    Cut(TurnBuilder),
    Failed(ProviderError, TurnBuilder),
}

async fn once(agent: &Agent, request: Request, activity: &Activity, stop: &Cancel) -> Ended {
    let mut builder = TurnBuilder::default();
    let begun = tokio::select! {
        biased;
        () = stop.cancelled() => return Ended::Cut(builder),
        begun = agent.provider.stream(request) => begun,
    };
    let mut stream = match begun {
        Ok(stream) => stream,
        Err(error) => return Ended::Failed(error, builder),
    };
    let mut merged = Merged::default();
    let mut spared = false;
    let ended = loop {
        activity.touch();
        spared &= builder.is_speaking();
        tokio::select! {
            biased;
            () = agent.cancel.cancelled() => break Ended::Cut(builder),
            () = stop.cancelled(), if !spared => match stop.cause() {
                // What the user already reads may be the report that is asked for.
                Some(StopCause::User) if builder.is_speaking() => spared = true,
                _ => break Ended::Cut(builder),
            },
            () = sleep(SPARED_PAUSE), if spared => break Ended::Cut(builder),
            () = sleep_until(merged.due), if merged.is_waiting() => merged.flush(agent, activity).await,
            event = stream.next() => match event {
                None => break Ended::Whole(builder),
                Some(Err(error)) => break Ended::Failed(error, builder),
                Some(Ok(event)) => {
                    let stopped = matches!(event, StreamEvent::Stop(_));
                    if let Some(delta) = builder.push(event) {
                        merged.add(agent, activity, delta).await;
                    } else if stopped {
                        merged.flush(agent, activity).await;
                    }
                }
            },
        }
    };
    merged.flush(agent, activity).await;
    ended
}

/// Deltas of one kind that wait to be told.
struct Merged {
    waiting: Option<Delta>,
    due: Instant,
}

impl Default for Merged {
    fn default() -> Self {
        Self { waiting: None, due: Instant::now() }
    }
}

impl Merged {
    fn is_waiting(&self) -> bool {
        self.waiting.is_some()
    }

    async fn add(&mut self, agent: &Agent, activity: &Activity, delta: Delta) {
        match (&mut self.waiting, delta) {
            (Some(Delta::Text(text)), Delta::Text(more)) | (Some(Delta::Thinking(text)), Delta::Thinking(more)) => {
                text.push_str(&more);
            }
            (_, delta) => {
                self.flush(agent, activity).await;
                self.waiting = Some(delta);
            }
        }
        if Instant::now() >= self.due {
            self.flush(agent, activity).await;
        }
    }

    async fn flush(&mut self, agent: &Agent, activity: &Activity) {
        let kind = match self.waiting.take() {
            None => return,
            Some(Delta::Text(text)) => EventKind::Text { text },
            Some(Delta::Thinking(text)) => EventKind::Thinking { text },
        };
        activity.tell(agent, kind).await;
        self.due = Instant::now() + MERGE_WINDOW;
    }
}
