//! The way to the client: lines to its input, and what it is asked.
//!
//! Owns which requests of either side are not answered, and who waits for it. Invariants: what waits to be written is bounded, so that
//! a client that reads slowly slows the agents; once the client is gone, nobody waits for it.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::Serialize;
use serde_json::value::RawValue;
use tokio::io::{AsyncWrite, AsyncWriteExt as _};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::schema::{Error, RequestId};
use super::wire;

/// Lines that may wait to be written.
const LINES: usize = 64;
/// How long a client that has ended its input may take to read what is left.
const LAST_WORDS: Duration = Duration::from_millis(500);

type Answered = Result<Box<RawValue>, Error>;

/// One client. Clones talk to the same one.
#[derive(Clone)]
pub(super) struct Client {
    lines: mpsc::Sender<String>,
    asked: Arc<Mutex<Asked>>,
    /// The client sends nothing any more.
    closed: CancellationToken,
    /// It reads nothing any more.
    deaf: CancellationToken,
}

#[derive(Default)]
struct Asked {
    last: i64,
    waiting: HashMap<i64, oneshot::Sender<Answered>>,
    /// The client's own requests that are not answered.
    unanswered: HashSet<RequestId>,
}

impl Client {
    /// Starts to write. The task ends once all that was sent is written and every clone is gone, or the client.
    pub(super) fn new(output: impl AsyncWrite + Unpin + Send + 'static) -> (Self, JoinHandle<()>) {
        let (lines, waiting) = mpsc::channel(LINES);
        let (closed, deaf) = (CancellationToken::new(), CancellationToken::new());
        let writing = tokio::spawn(write(output, waiting, deaf.clone()));
        (Self { lines, asked: Arc::default(), closed, deaf }, writing)
    }

    pub(super) async fn went_deaf(&self) {
        self.deaf.cancelled().await;
    }

    /// Notes that the client has ended its input: it answers no more.
    pub(super) fn close(&self) {
        self.closed.cancel();
        self.asked().waiting.clear();
    }

    /// Waits for room and returns it. `None` once the client is gone.
    pub(super) async fn room(&self) -> Option<mpsc::OwnedPermit<String>> {
        let gone = async {
            self.closed.cancelled().await;
            sleep(LAST_WORDS).await;
        };
        tokio::select! {
            biased;
            () = self.deaf.cancelled() => None,
            room = self.lines.clone().reserve_owned() => room.ok(),
            () = gone => None,
        }
    }

    pub(super) async fn send(&self, line: String) {
        if let Some(room) = self.room().await {
            drop(room.send(line));
        }
    }

    /// Makes a request, which is still to be sent: its number, its line, and where the answer comes. Nothing comes there if
    /// the client goes.
    pub(super) fn ask(&self, method: &str, params: impl Serialize) -> (RequestId, String, oneshot::Receiver<Answered>) {
        let (sender, answer) = oneshot::channel();
        let mut asked = self.asked();
        asked.last += 1;
        let id = asked.last;
        if !self.closed.is_cancelled() {
            asked.waiting.insert(id, sender);
        }
        let id = RequestId::Number(id);
        let line = wire::request(&id, method, params);
        (id, line, answer)
    }

    /// Notes a request of the client. Returns `false` if one of the same number is not answered yet.
    pub(super) fn begin(&self, id: &RequestId) -> bool {
        self.asked().unanswered.insert(id.clone())
    }

    /// Answers a request of the client: returns the line, which is still to be sent.
    pub(super) fn answer<T: Serialize>(&self, id: &RequestId, result: Result<T, Error>) -> String {
        self.asked().unanswered.remove(id);
        wire::answer(id, result)
    }

    pub(super) async fn refuse(&self, id: &RequestId, error: Error) {
        let line = self.answer::<()>(id, Err(error));
        self.send(line).await;
    }

    /// Hands an answer to whoever waits for it. One that nobody waits for is left.
    pub(super) fn answered(&self, id: &RequestId, result: Answered) {
        let RequestId::Number(number) = id else { return };
        if let Some(waiting) = self.asked().waiting.remove(number) {
            let _ = waiting.send(result);
        }
    }

    fn asked(&self) -> std::sync::MutexGuard<'_, Asked> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn write(mut output: impl AsyncWrite + Unpin, mut lines: mpsc::Receiver<String>, deaf: CancellationToken) {
    while let Some(line) = lines.recv().await {
        let written = async {
            output.write_all(line.as_bytes()).await?;
            output.write_all(b"\n").await?;
            // What comes at once is written at once.
            if lines.is_empty() { output.flush().await } else { Ok(()) }
        };
        if let Err(error) = written.await {
            tracing::warn!(%error, "the client reads no more");
            deaf.cancel();
            return;
        }
    }
}
