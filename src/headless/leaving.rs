//! The end of a session: what runs is stopped by whoever calls, and its last words are written.
//!
//! Invariant: everything that happened before the end is written, in its order, as far as somebody reads.

use std::collections::VecDeque;
use std::sync::Arc;

use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::LAST_WORDS;
use super::output::Output;
use crate::agent::LogEvent;
use crate::services::Signals;

/// Writes what happens until the session is over, and waits within bounds. A signal meanwhile does not wait; it is returned
/// as the exit status.
pub(super) async fn leave(
    mut waiting: VecDeque<String>,
    mut told: impl FnMut(&LogEvent) -> Vec<String>,
    (mut events, signals): (mpsc::Receiver<Arc<LogEvent>>, &mut Signals),
    output: Output,
    mut engine: JoinHandle<()>,
) -> Option<u8> {
    let mut open = true;
    while open {
        tokio::select! {
            biased;
            signal = signals.next_end() => return Some(signal.exit_status()),
            () = output.pass(&mut waiting), if !waiting.is_empty() => {}
            Some(event) = events.recv() => waiting.extend(told(&event)),
            _ = &mut engine => open = false,
        }
    }
    while let Ok(event) = events.try_recv() {
        waiting.extend(told(&event));
    }
    let last = async {
        while !waiting.is_empty() {
            output.pass(&mut waiting).await;
        }
        output.finish().await;
    };
    // Nobody may be reading.
    let _ = timeout(LAST_WORDS, last).await;
    None
}
