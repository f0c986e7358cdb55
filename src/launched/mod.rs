//! Programs that were started and are talked to over their standard input and output, and the one that has started this.
//!
//! Owns what is asked of whoever starts them. Leaves starting to `tool`, and what is said to `mcp` and `external`. Invariant:
//! a process that is dropped is ended with all that it has started.

mod calling_program;
mod log;

use futures::future::BoxFuture;
use tokio::io::AsyncRead;
use tokio::net::UnixStream;

pub use calling_program::{CallingProgram, ProgramRequest, UnansweredRequest};
pub use log::ProgramLog;

/// A process that was started, with all that it starts itself.
pub trait RunningProgram: Send {
    /// Ends all of it. A process that is dropped is ended too, without waiting.
    fn end(self: Box<Self>) -> BoxFuture<'static, ()>;
}

/// A process that was started, and the ways to it.
pub struct LaunchedProgram {
    /// Its standard input and output.
    pub stream: UnixStream,
    /// What it writes to standard error.
    pub log: Box<dyn AsyncRead + Send + Unpin>,
    pub process: Box<dyn RunningProgram>,
}
