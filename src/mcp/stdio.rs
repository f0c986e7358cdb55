//! Servers that are processes of ours.
//!
//! Owns what is asked of whoever starts them, and reading what they write beside their answers. Leaves the process to
//! [`Launch`]. Invariant: a server's lines are read to their end, so that none waits for us to read.

use std::io;
use std::sync::Arc;

use futures::future::BoxFuture;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, BufReader};
use tokio::net::UnixStream;

use super::log::ServerLog;

/// Bytes of one line of a log that are kept.
const MAX_LOG_LINE: u64 = 4_096;

/// A process that was started, with all that it starts itself.
pub trait ServerProcess: Send {
    /// Ends all of it. A process that is dropped is ended too, without waiting.
    fn end(self: Box<Self>) -> BoxFuture<'static, ()>;
}

pub struct LaunchedServer {
    /// Its standard input and output.
    pub stream: UnixStream,
    /// What it writes to standard error.
    pub log: Box<dyn AsyncRead + Send + Unpin>,
    pub process: Box<dyn ServerProcess>,
}

/// Starts a command with arguments and variables of its own beside those that every command gets.
pub type Launch = Arc<
    dyn Fn(String, Vec<String>, Vec<(String, String)>) -> BoxFuture<'static, io::Result<LaunchedServer>> + Send + Sync,
>;

/// Reads a log to its end. Of a line that is too long, only the beginning is kept.
pub(super) async fn follow(log: Box<dyn AsyncRead + Send + Unpin>, into: ServerLog) {
    let mut reader = BufReader::new(log);
    loop {
        let mut line = Vec::new();
        match (&mut reader).take(MAX_LOG_LINE).read_until(b'\n', &mut line).await {
            Ok(0) | Err(_) => return,
            Ok(_) => into.add(&String::from_utf8_lossy(&line)),
        }
    }
}
