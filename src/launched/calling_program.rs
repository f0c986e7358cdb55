//! The program that drives this one, where it is asked something: by the control requests of the Claude Agent SDK.
//!
//! Owns that each request is answered once or given up, and which of its servers a message is for. Leaves the lines of
//! JSON to `headless`. Invariant: nobody waits for a program that can no longer answer.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

/// Why a program has not answered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnansweredRequest {
    /// It has closed its side, or this session ends.
    #[error("the calling program can no longer be asked")]
    Gone,
    /// What it said instead.
    #[error("{0}")]
    Refused(String),
}

/// A handle to the program that drives a session; clones are the same program.
#[derive(Debug, Clone)]
pub struct CallingProgram(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    requests: mpsc::UnboundedSender<ProgramRequest>,
    /// Where messages of its servers go, by their names.
    servers: Mutex<HashMap<String, mpsc::UnboundedSender<Value>>>,
}

/// Something that a program is asked.
#[derive(Debug)]
pub struct ProgramRequest {
    /// What it reads as `request`.
    pub body: Value,
    /// Where its answer goes. It is closed once nobody waits for that.
    pub answer: oneshot::Sender<Result<Value, UnansweredRequest>>,
}

impl CallingProgram {
    /// Returns a program, and what it is to be asked.
    #[must_use]
    pub fn new() -> (Self, mpsc::UnboundedReceiver<ProgramRequest>) {
        let (requests, asked) = mpsc::unbounded_channel();
        (Self(Arc::new(Shared { requests, servers: Mutex::default() })), asked)
    }

    /// Asks, and waits for the answer. A request whose future is dropped is given up.
    ///
    /// # Errors
    /// Returns why there is no answer.
    pub async fn ask(&self, body: Value) -> Result<Value, UnansweredRequest> {
        let (answer, answered) = oneshot::channel();
        self.0.requests.send(ProgramRequest { body, answer }).map_err(|_| UnansweredRequest::Gone)?;
        answered.await.unwrap_or(Err(UnansweredRequest::Gone))
    }

    fn servers(&self) -> MutexGuard<'_, HashMap<String, mpsc::UnboundedSender<Value>>> {
        self.0.servers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the messages that a server of the program sends by itself, from now on.
    #[must_use]
    pub fn heard_from(&self, server: &str) -> mpsc::UnboundedReceiver<Value> {
        let (sender, heard) = mpsc::unbounded_channel();
        self.servers().insert(server.to_owned(), sender);
        heard
    }

    /// Hands on a message that one of its servers sends by itself. Returns `false` if nobody listens to that.
    #[must_use]
    pub fn hand_on(&self, server: &str, message: Value) -> bool {
        self.servers().get(server).is_some_and(|listener| listener.send(message).is_ok())
    }
}
