//! Standard output on a thread of its own, because writing to it may wait for as long as its reader likes.
//!
//! Invariant: lines are written whole and in order; once nobody reads any more nothing else is written.

use std::io::{self, Write as _};

use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

/// Lines that may wait before who writes them does.
const CAPACITY: usize = 64;

/// The way to standard output.
#[derive(Debug)]
pub(super) struct Output {
    lines: mpsc::Sender<String>,
    broken: CancellationToken,
    done: oneshot::Receiver<()>,
}

impl Output {
    /// Starts the thread.
    pub(super) fn start() -> io::Result<Self> {
        let (lines, mut waiting) = mpsc::channel::<String>(CAPACITY);
        let (end, done) = oneshot::channel();
        let broken = CancellationToken::new();
        let gone = broken.clone();
        std::thread::Builder::new().name("output".to_owned()).spawn(move || {
            while let Some(line) = waiting.blocking_recv() {
                if write(&line).is_err() {
                    gone.cancel();
                    break;
                }
            }
            let _ = end.send(());
        })?;
        Ok(Self { lines, broken, done })
    }

    /// Writes a line, later.
    pub(super) async fn line(&self, line: String) {
        // It fails only if nobody reads any more, which is told by `broken`.
        let _ = self.lines.send(line).await;
    }

    /// Returns what tells that nobody reads any more.
    pub(super) fn broken(&self) -> CancellationToken {
        self.broken.clone()
    }

    /// Waits until all is written.
    pub(super) async fn finish(self) {
        drop(self.lines);
        let _ = self.done.await;
    }
}

fn write(line: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(line.as_bytes())?;
    out.write_all(b"\n")?;
    out.flush()
}
