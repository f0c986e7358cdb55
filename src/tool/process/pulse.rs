//! Whether a silent command is at work.
//!
//! Owns what counts as a sign of life of processes that print nothing: time on a processor, bytes read or written, and
//! processes that come or go, wherever they stand below the command's supervisor. Leaves what follows from it to `bash` and `agent`. Invariants: a command that prints is not
//! looked at; nobody waits for a look, which is made on a thread of its own.
//!
//! `/proc` tells it on Linux (proc(5): `/proc/pid/stat` and `/proc/pid/io`). Elsewhere a command that exists counts as
//! alive, and only its own time limit ends it.

use std::time::Duration;

use nix::unistd::Pid;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until};

#[cfg(target_os = "linux")]
use super::tree::{Stat, descendants};

/// Silence before a command is looked at, and the time between two looks.
const INTERVAL: Duration = Duration::from_secs(5);

/// Watches the processes below one supervisor while they are silent.
#[derive(Debug)]
pub(in crate::tool) struct Pulse {
    supervisor: Option<Pid>,
    due: Instant,
    look: Option<JoinHandle<Signs>>,
    /// What was seen last; `None` before the first look.
    seen: Option<Signs>,
}

impl Pulse {
    pub(in crate::tool) fn new(supervisor: Option<Pid>) -> Self {
        Self { supervisor, due: Instant::now() + INTERVAL, look: None, seen: None }
    }

    /// Notes that the command has printed something, so that no look is needed for a while.
    pub(in crate::tool) fn heard(&mut self) {
        self.due = Instant::now() + INTERVAL;
    }

    /// Waits for the next sign of life. May be given up and called again at any time.
    pub(in crate::tool) async fn beat(&mut self) {
        let Some(supervisor) = self.supervisor else { return std::future::pending().await };
        loop {
            let look = if let Some(look) = &mut self.look {
                look
            } else {
                sleep_until(self.due).await;
                self.look.insert(tokio::task::spawn_blocking(move || Signs::of(supervisor)))
            };
            let signs = look.await;
            self.look = None;
            self.due = Instant::now() + INTERVAL;
            let Ok(signs) = signs else { continue };
            let before = self.seen.replace(signs);
            if before.is_some_and(|before| before.differ(self.seen.as_ref())) {
                return;
            }
        }
    }
}

/// What can be seen of processes: their numbers, the time they had, the bytes they moved.
#[cfg(target_os = "linux")]
#[derive(Debug, PartialEq, Eq)]
struct Signs(Vec<(Pid, u64, u64)>);

#[cfg(target_os = "linux")]
impl Signs {
    fn of(supervisor: Pid) -> Self {
        let mut signs: Vec<_> = descendants(supervisor).into_iter().filter_map(Self::of_member).collect();
        signs.sort_unstable();
        Self(signs)
    }

    fn of_member(process: Pid) -> Option<(Pid, u64, u64)> {
        let time = Stat::of(process)?.time;
        let io = std::fs::read_to_string(format!("/proc/{process}/io")).unwrap_or_default();
        let moved = io.lines().filter(|line| line.starts_with("rchar:") || line.starts_with("wchar:"));
        let moved = moved.filter_map(|line| line.split_ascii_whitespace().nth(1)?.parse::<u64>().ok());
        Some((process, time, moved.sum()))
    }

    fn differ(&self, later: Option<&Self>) -> bool {
        Some(self) != later
    }
}

/// Where nothing is told of processes, all there is to see is whether there are any.
#[cfg(not(target_os = "linux"))]
#[derive(Debug)]
struct Signs(bool);

#[cfg(not(target_os = "linux"))]
impl Signs {
    fn of(supervisor: Pid) -> Self {
        Self(nix::sys::signal::kill(supervisor, None).is_ok())
    }

    fn differ(&self, later: Option<&Self>) -> bool {
        later.is_some_and(|later| later.0)
    }
}
