//! Work that waits for the disk, kept off the threads that drive agents and screen.

use std::time::Duration;

use super::{ToolContext, ToolOutput};
use crate::message::INTERRUPTED;

/// How long a cancelled call waits for its thread, so that a write that is already under way is still reported.
const GRACE: Duration = Duration::from_secs(2);

/// Runs `work` on a thread of its own and waits for it, or for the agent's cancel token.
///
/// `work` has to look at the token in every loop that may be long. A thread that a dead file system holds is left
/// behind after two seconds.
pub(super) async fn off_thread<T, F>(context: &ToolContext, work: F) -> Result<T, ToolOutput>
where
    T: Send + 'static,
    F: FnOnce(&ToolContext) -> Result<T, ToolOutput> + Send + 'static,
{
    if context.cancel.is_cancelled() {
        return Err(ToolOutput::error(INTERRUPTED));
    }
    let owned = context.clone();
    let mut thread = tokio::task::spawn_blocking(move || work(&owned));
    let done = tokio::select! {
        done = &mut thread => done,
        () = context.cancel.cancelled() => match tokio::time::timeout(GRACE, thread).await {
            Ok(done) => done,
            Err(_) => return Err(ToolOutput::error(INTERRUPTED)),
        },
    };
    done.unwrap_or_else(|fault| Err(ToolOutput::error(format!("The tool broke down: {fault}. Try another way."))))
}
