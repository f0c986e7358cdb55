//! A clock that passes waits for nothing: while something is at work it goes as a clock does, and where everybody waits
//! it runs ahead.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use belvedere::agent::{EventKind, LogEvent, ToolEvent};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// Real time between two looks, in which processes and the server get on.
const LOOK: Duration = Duration::from_millis(1);
/// The most that passes at one look. No limit on time is nearly as short.
const LEAP: Duration = Duration::from_secs(2);

/// What is at work, and signs that something has moved.
#[derive(Debug, Default)]
pub(super) struct Work {
    /// Answers that are being sent, and tools that run. A silent server is none of them.
    busy: AtomicUsize,
    moves: AtomicU64,
}

/// Counts as work until it is dropped.
pub(super) struct Busy(Arc<Work>);

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.busy.fetch_sub(1, Ordering::SeqCst);
        self.0.moved();
    }
}

/// Goes until it is dropped.
pub(super) struct Clock(JoinHandle<()>);

impl Drop for Clock {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Work {
    pub(super) fn begin(self: &Arc<Self>) -> Busy {
        self.busy.fetch_add(1, Ordering::SeqCst);
        self.moved();
        Busy(self.clone())
    }

    fn moved(&self) {
        self.moves.fetch_add(1, Ordering::SeqCst);
    }

    /// Returns what notes the tools of a session: a command may take its time, a subagent has work of its own.
    pub(super) fn listener(self: &Arc<Self>) -> mpsc::Sender<Arc<LogEvent>> {
        let (sender, mut events) = mpsc::channel::<Arc<LogEvent>>(64);
        let work = self.clone();
        tokio::spawn(async move {
            let mut commands = std::collections::HashMap::new();
            while let Some(event) = events.recv().await {
                work.moved();
                match event.of_agent().map(|event| (event.agent, &event.kind)) {
                    Some((agent, EventKind::Tool(ToolEvent::Started { call, .. }))) if call.name == "Bash" => {
                        commands.insert((agent, call.id.clone()), work.begin());
                    }
                    Some((agent, EventKind::Tool(ToolEvent::Ended { result, .. }))) => {
                        commands.remove(&(agent, result.call_id.clone()));
                    }
                    _ => {}
                }
            }
        });
        sender
    }

    /// Drives the paused clock of this runtime.
    pub(super) fn drive_clock(self: &Arc<Self>) -> Clock {
        let work = self.clone();
        Clock(tokio::spawn(async move {
            let (mut before, mut step) = (0, LOOK);
            loop {
                // A paused clock does not advance by itself while a thread is at work.
                tokio::task::spawn_blocking(|| std::thread::sleep(LOOK)).await.unwrap();
                let now = work.moves.load(Ordering::SeqCst);
                let is_quiet = now == before && work.busy.load(Ordering::SeqCst) == 0;
                // A single quiet look may mean that the machine is slow.
                step = if is_quiet { (step * 4).min(LEAP) } else { LOOK };
                before = now;
                tokio::time::advance(step).await;
            }
        }))
    }
}
