//! Looking at files on an agent's behalf, outside of its tools.
//!
//! Owns how long that may take. Invariant: a slow disk holds up neither the start of an agent nor a turn for long.

use std::time::Duration;

use tokio::time::timeout;

use super::Cancel;

/// How long a disk may take.
const DISK_TIMEOUT: Duration = Duration::from_secs(2);

/// Runs what blocks on a thread of its own. Returns `None` if the agent is stopped meanwhile, if the disk takes too long,
/// which the log tells with `what`, or if it panics.
pub async fn read_from_disk<T: Send + 'static>(
    cancel: &Cancel,
    what: &str,
    read: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    let reading = timeout(DISK_TIMEOUT, tokio::task::spawn_blocking(read));
    tokio::select! {
        biased;
        () = cancel.cancelled() => None,
        read = reading => {
            if read.is_err() {
                tracing::warn!("{what} timed out");
            }
            read.ok()?.ok()
        }
    }
}
