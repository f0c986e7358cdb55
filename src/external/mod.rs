//! Programs that are agents of their own, spoken to in the Agent Client Protocol, with us as the client.
//!
//! Owns the connection to one such program: its lines, its requests and what it says of its work, as plain data. Leaves
//! starting the program to whoever makes the [`LaunchExternal`], and what follows from its words to `agent`. Invariants: lines,
//! queues and texts are bounded, whatever the program writes; while nobody takes in what it says, it has to wait; nothing is
//! offered to it that is not done within the permissions of its agent.
//!
//! The messages are those of the crate `agent-client-protocol-schema`, version 1 of the protocol. The lines are our own: the
//! official SDK queues what comes in without a bound.

mod connection;
mod folder;
mod lines;
mod prompt;
mod request;
mod servers;
mod silence;
mod update;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use futures::future::BoxFuture;

use crate::launched::LaunchedProgram;
use crate::message::ExternalProgram;

pub use connection::{ExternalConnection, ExternalSession, FromExternal, SessionStart};
pub use folder::CameBack;
pub use prompt::{PromptEnd, PromptStop};
pub use request::{ExternalQuestion, ExternalRequest, RequestToken};
pub use servers::OfferedServer;
pub use update::{CallDiff, CallKind, CallStatus, CallUpdate, ExternalUpdate, PlanStep};

/// What is to be started.
#[derive(Debug, Clone)]
pub struct ExternalStart {
    pub program: ExternalProgram,
    /// Whether a file of the project names it: such a file does not get the keys of services.
    pub is_projects: bool,
    /// Where it works, absolute.
    pub cwd: PathBuf,
}

/// Starts a program.
pub type LaunchExternal = Arc<dyn Fn(ExternalStart) -> BoxFuture<'static, io::Result<LaunchedProgram>> + Send + Sync>;

/// Why a connection does not do what was asked of it, for people.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExternalError {
    #[error("cannot start it: {0}")]
    NotStarted(String),
    /// The connection is lost, or the program has ended.
    #[error("{0}")]
    Closed(String),
    #[error("no answer to `{method}` within {limit} s")]
    Late { method: &'static str, limit: u64 },
    /// The program has refused a request.
    #[error("{0}")]
    Refused(String),
    #[error("stopped")]
    Stopped,
    #[error("it wants you to sign in first: run it once in a shell and sign in there ({0})")]
    SignIn(String),
}
