//! The line of those that wait to begin, at one depth.
//!
//! Owns who is next. Leaves the number of places to `tree`. Invariant: a place in the line is taken at once, so that
//! agents begin in the order in which they were sent out, whichever of their tasks happens to run first.

use std::pin::Pin;
use std::sync::Arc;

use futures::FutureExt as _;
use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore};

use crate::agent::Cancel;

/// What comes of waiting: leave to begin, which is given back when dropped.
type Leave = Result<OwnedSemaphorePermit, AcquireError>;

/// A place in the line. To drop it is to leave the line.
pub(in crate::subagent) enum SlotQueue {
    /// It may begin; `None` where there are no places.
    Front(Option<OwnedSemaphorePermit>),
    Waiting(Pin<Box<dyn Future<Output = Leave> + Send>>),
}

impl SlotQueue {
    /// Stands in line for one of these places.
    pub(in crate::subagent) fn join(places: Option<Arc<Semaphore>>) -> Self {
        let Some(places) = places else { return Self::Front(None) };
        // Unconstrained: the first poll is what stands in line, so the runtime must not put it off.
        let mut wait = Box::pin(tokio::task::unconstrained(places.acquire_owned()));
        match (&mut wait).now_or_never() {
            Some(leave) => Self::Front(leave.ok()),
            None => Self::Waiting(wait),
        }
    }

    /// Waits to be in front; `None` if it is stopped first, and is not to begin any more.
    pub(in crate::subagent) async fn acquire(self, stop: &Cancel) -> Option<OwnedSemaphorePermit> {
        if stop.cause().is_some() {
            return None;
        }
        match self {
            Self::Front(leave) => leave,
            Self::Waiting(wait) => tokio::select! {
                biased;
                () = stop.cancelled() => None,
                leave = wait => leave.ok(),
            },
        }
    }
}
