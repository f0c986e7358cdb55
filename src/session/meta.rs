//! What describes a session beside its records (`meta.json`).

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{SessionError, VERSION};
use crate::message::serialize_path;
use crate::whole_file::read_plain;

/// Bytes of the file that are read at most.
const MAX_BYTES: u64 = 1 << 20;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionMeta {
    v: u32,
    /// Of the program that began it.
    pub version: String,
    pub started: Timestamp,
    #[serde(serialize_with = "serialize_path")]
    pub cwd: PathBuf,
    #[serde(serialize_with = "serialize_path")]
    pub project: PathBuf,
    /// The session whose records it began with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forked_from: Option<String>,
    /// The agent that its main agent works as.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// What the prompt of its main agent said at first of where it works. A service finds the conversation in its cache
    /// only if it begins as before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begun: Option<PromptFacts>,
    /// Whether it is the demonstration, which nobody goes on with.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_demo: bool,
}

/// What a system prompt says and what changes by itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptFacts {
    /// The day, as `2026-11-21`.
    pub date: String,
    /// The branch that was checked out, where there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
}

impl SessionMeta {
    /// Describes a session that begins now.
    #[must_use]
    pub fn new(cwd: PathBuf, project: PathBuf, forked_from: Option<String>) -> Self {
        let version = env!("CARGO_PKG_VERSION").to_owned();
        Self {
            v: VERSION,
            version,
            started: Timestamp::now(),
            cwd,
            project,
            forked_from,
            agent: None,
            begun: None,
            is_demo: false,
        }
    }

    /// Describes the same session with what the prompt said at first.
    #[must_use]
    pub fn begun_with(self, begun: Option<PromptFacts>) -> Self {
        Self { begun, ..self }
    }

    /// Describes the same session as a demonstration, or not.
    #[must_use]
    pub fn demo(self, is_demo: bool) -> Self {
        Self { is_demo, ..self }
    }

    /// Describes the same session with a main agent that works as this agent.
    #[must_use]
    pub fn working_as(self, agent: Option<String>) -> Self {
        Self { agent, ..self }
    }

    /// Reads what describes the session in this folder. Blocks.
    ///
    /// # Errors
    /// Returns an error if there is no such file, or it is not understood.
    pub fn read(dir: &Path) -> Result<Self, SessionError> {
        let path = dir.join("meta.json");
        let read = read_plain(&path, MAX_BYTES).map_err(|error| SessionError::new(&path, "read", error))?;
        serde_json::from_slice(&read).map_err(|error| SessionError::new(&path, "understood", error.into()))
    }
}
