//! Standard output on a thread of its own, because writing to it may wait for as long as its reader likes.
//!
//! Invariant: lines are written whole and in order; once nobody reads any more nothing else is written.

use std::collections::VecDeque;
use std::io::{self, Write as _};
use std::sync::{Arc, OnceLock};

use anyhow::Context as _;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

/// Lines that may wait before who writes them does.
const CAPACITY: usize = 64;

/// The way to standard output.
#[derive(Debug)]
pub(super) struct Output {
    lines: mpsc::Sender<String>,
    broken: Broken,
    done: oneshot::Receiver<()>,
}

impl Output {
    /// Returns an error if no thread can be started for it.
    pub(super) fn start() -> anyhow::Result<Self> {
        let (lines, mut waiting) = mpsc::channel::<String>(CAPACITY);
        let (end, done) = oneshot::channel();
        let broken = CancellationToken::new();
        let status = Arc::new(OnceLock::new());
        let (gone, fatal) = (broken.clone(), Arc::clone(&status));
        let write_all = move || {
            while let Some(line) = waiting.blocking_recv() {
                if let Err(error) = write(&line) {
                    if error.kind() != io::ErrorKind::BrokenPipe {
                        super::eprintln_line(&format!("belvedere: cannot write to standard output: {error}"));
                        let _ = fatal.set(super::exit::FAILED);
                    }
                    gone.cancel();
                    break;
                }
            }
            let _ = end.send(());
        };
        let started = std::thread::Builder::new().name("output".to_owned()).spawn(write_all);
        started.context("cannot write to standard output; close other programs, or raise `ulimit -u`")?;
        Ok(Self { lines, broken: Broken { token: broken, status }, done })
    }

    /// Writes lines, later.
    pub(super) async fn lines(&self, lines: impl IntoIterator<Item = String>) {
        for line in lines {
            // It fails only if nobody reads any more, which is told by `broken`.
            let _ = self.lines.send(line + "\n").await;
        }
    }

    /// Waits for room and takes one text out of those that wait. Given up, it has taken none.
    pub(super) async fn pass(&self, waiting: &mut VecDeque<String>) {
        match self.lines.reserve().await {
            Ok(room) => {
                if let Some(text) = waiting.pop_front() {
                    room.send(text);
                }
            }
            Err(_) => waiting.clear(),
        }
    }

    pub(super) fn broken(&self) -> Broken {
        self.broken.clone()
    }

    pub(super) async fn finish(self) {
        drop(self.lines);
        let _ = self.done.await;
    }
}

/// Says when standard output can no longer be written to.
#[derive(Debug, Clone)]
pub(super) struct Broken {
    token: CancellationToken,
    status: Arc<OnceLock<u8>>,
}

impl Broken {
    pub(super) async fn wait(&self) {
        self.token.cancelled().await;
    }

    /// Returns the exit status for it, if nothing can be written any more.
    pub(super) fn status(&self) -> Option<u8> {
        let status = self.status.get().copied().unwrap_or(super::exit::BROKEN_PIPE);
        self.token.is_cancelled().then_some(status)
    }
}

fn write(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}
