//! Work that waits for the disk, kept off the threads that drive agents and screen.

use std::time::Duration;

use super::{ToolContext, ToolOutput};
use crate::message::INTERRUPTED;

/// How long a cancelled call waits for its thread, so that a write that is already under way is still reported.
const STOP_GRACE: Duration = Duration::from_secs(2);

/// How long a call may wait for its thread at all. Searches have a shorter limit of their own.
const FILE_SYSTEM_TIMEOUT: Duration = Duration::from_mins(2);

/// Runs `work` on a thread of its own and waits for it, for the agent's cancel token, or until the file system has had
/// two minutes.
///
/// `work` has to look at the token in every loop that may be long, and before it changes anything. A thread that a dead
/// file system holds is left behind, two seconds after a stop.
pub(super) async fn off_thread<T, F>(context: &ToolContext, work: F) -> Result<T, ToolOutput>
where
    T: Send + 'static,
    F: FnOnce(&ToolContext) -> Result<T, ToolOutput> + Send + 'static,
{
    context.check_cancelled()?;
    let mut owned = context.clone();
    // A thread that is given up on must not write once its file system has come back.
    let giving_up = context.cancel.child_token();
    owned.cancel = giving_up.clone();
    let mut thread = tokio::task::spawn_blocking(move || work(&owned));
    let done = tokio::select! {
        done = &mut thread => done,
        () = tokio::time::sleep(FILE_SYSTEM_TIMEOUT) => {
            giving_up.cancel();
            return Err(ToolOutput::error(format!(
                "The file system did not respond within {} s. Try another path.",
                FILE_SYSTEM_TIMEOUT.as_secs()
            )));
        }
        () = context.cancel.cancelled() => match tokio::time::timeout(STOP_GRACE, thread).await {
            Ok(done) => done,
            Err(_) => return Err(ToolOutput::error(INTERRUPTED)),
        },
    };
    done.unwrap_or_else(|error| Err(ToolOutput::error(format!("The tool crashed: {error}. Try another way."))))
}
