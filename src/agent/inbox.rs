//! Messages of the user that wait for an agent's next request.
//!
//! Owns their order and the moment after which none can be left. Leaves adding them to a transcript to `run`.
//! Invariant: a message is handed out once: to the agent, to the user who takes it back, or to nobody once it is closed.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What waits for one agent; clones share it.
#[derive(Debug, Clone, Default)]
pub struct Inbox(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    waiting: VecDeque<String>,
    door: Door,
}

/// Whether a message can still be left.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Door {
    #[default]
    Open,
    Closed,
}

/// What a look at the end of a run found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rest {
    /// Nothing, and nothing can come.
    Nothing,
    /// Something waits to be read.
    More,
}

impl Inbox {
    /// Leaves a message. One left after the last request of the run is never read.
    pub fn put(&self, text: String) {
        let mut state = self.state();
        if state.door == Door::Open {
            state.waiting.push_back(text);
        }
    }

    /// Takes what waits, oldest first.
    #[must_use]
    pub fn take(&self) -> Vec<String> {
        self.state().waiting.drain(..).collect()
    }

    /// Closes it if nothing waits, in one step: no message slips in between the look and the end of the run.
    pub(super) fn close_if_empty(&self) -> Rest {
        let mut state = self.state();
        if !state.waiting.is_empty() {
            return Rest::More;
        }
        state.door = Door::Closed;
        Rest::Nothing
    }

    /// Closes it, whatever waits.
    pub(super) fn close(&self) {
        let mut state = self.state();
        state.waiting.clear();
        state.door = Door::Closed;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
