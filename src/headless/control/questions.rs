//! What the program is asked beside permissions: its hooks, and the servers that live in it.
//!
//! Owns which requests wait for an answer. Invariant: a request that nobody waits for any more is taken back.

use std::future::poll_fn;
use std::task::Poll;

use serde_json::{Value, json};

use crate::launched::{ProgramRequest, UnansweredRequest};

/// The requests that wait for an answer of the program, by their ids.
#[derive(Debug, Default)]
pub(super) struct ProgramQuestions {
    open: Vec<(String, ProgramRequest)>,
    asked: u64,
}

impl ProgramQuestions {
    /// Returns the line that asks.
    pub(super) fn ask(&mut self, request: ProgramRequest) -> Value {
        self.asked += 1;
        let id = format!("request-{}", self.asked);
        let line = json!({"type": "control_request", "request_id": id, "request": request.body});
        self.open.push((id, request));
        line
    }

    fn take(&mut self, id: &str) -> Option<ProgramRequest> {
        let at = self.open.iter().position(|(open, _)| open == id)?;
        Some(self.open.remove(at).1)
    }

    /// Hands on an answer. Gives it back if it is to something else.
    pub(super) fn answer(&mut self, id: &str, response: Result<Value, String>) -> Option<Result<Value, String>> {
        let Some(request) = self.take(id) else { return Some(response) };
        // Whoever asked may have given up.
        let _ = request.answer.send(response.map_err(UnansweredRequest::Refused));
        None
    }

    /// Waits until nobody waits for one of the answers any more, and returns the line that takes it back.
    pub(super) async fn given_up(&mut self) -> Value {
        let id = poll_fn(|context| {
            for (id, request) in &mut self.open {
                if request.answer.poll_closed(context).is_ready() {
                    return Poll::Ready(id.clone());
                }
            }
            Poll::Pending
        });
        let id = id.await;
        self.take(&id);
        json!({"type": "control_cancel_request", "request_id": id})
    }

    /// Gives all of them up: nobody answers any more.
    pub(super) fn end(&mut self) {
        self.open.clear();
    }
}
