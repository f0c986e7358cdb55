//! What a command can reach, kept by the kernel: files, the network, other processes.
//!
//! A command that runs in the sandbox needs nobody's yes, because what it could do is bounded whatever it is. Owns the
//! policy of one command, what is protected and hidden in every policy, entering the sandbox, and telling a refusal of the
//! sandbox from other failures. Leaves starting processes to `tool` and which commands run inside to `permission`.
//! Invariants: a process that cannot enter wholly does not go on; nothing inside can leave it or widen it; where the kernel
//! lacks a part, there is no sandbox at all.

mod denial;
mod denied;
#[cfg(target_os = "linux")]
mod enter;
mod events;
mod evict;
mod facts;
#[cfg(target_os = "linux")]
mod filter;
mod folder;
mod folder_tree;
mod git_config;
mod git_folder;
mod git_watch;
mod gitlinks;
mod intrusion;
mod kept;
#[cfg(target_os = "linux")]
mod loopback;
#[cfg(target_os = "linux")]
mod mounts;
mod places;
mod policy;
mod proxy;
mod request_body;
mod run_handles;
mod runs;
mod seatbelt;
mod secrets;
mod session;
mod traces;
mod watch;

pub use denial::{RefusedLine, refused_line};
pub use denied::DeniedPaths;
#[cfg(target_os = "linux")]
pub use enter::{enter, separate_processes};
pub use facts::SandboxFacts;
pub use intrusion::{Intrusion, IntrusionFate, PlaceNews};
pub use places::{GitDirs, SandboxPlaces};
pub use policy::SandboxPolicy;
pub use proxy::{HostEntry, Hosts, SandboxProxy};
pub use run_handles::{OutsideRun, OwnWrite, SandboxedRun};
pub use seatbelt::{SEATBELT, seatbelt_profile};
pub use secrets::SecretPlaces;
pub use session::{Sandbox, SandboxChange, SandboxState};
pub use traces::CommandTraces;
pub use watch::PlaceWatch;

/// The folder for temporary files that programs name without asking.
pub const TMP: &str = "/tmp";

/// Why a command cannot run in the sandbox.
#[derive(Debug, thiserror::Error)]
#[error("{step}: {source}")]
pub struct SandboxError {
    step: &'static str,
    source: Box<dyn std::error::Error + Send + Sync>,
}

impl SandboxError {
    fn at<E: Into<Box<dyn std::error::Error + Send + Sync>>>(step: &'static str) -> impl FnOnce(E) -> Self {
        move |error| Self { step, source: error.into() }
    }
}

/// Refuses: no process enters it by itself there.
#[cfg(not(target_os = "linux"))]
pub fn separate_processes() -> Result<(), SandboxError> {
    Err(SandboxError { step: "this system", source: "a process cannot enter a sandbox there".into() })
}

/// Refuses: no process enters it by itself there; on macOS, another program applies [`seatbelt_profile`].
#[cfg(not(target_os = "linux"))]
pub fn enter(_policy: &SandboxPolicy, _cwd: &std::path::Path) -> Result<Option<std::net::TcpListener>, SandboxError> {
    Err(SandboxError { step: "this system", source: "a process cannot enter a sandbox there".into() })
}
