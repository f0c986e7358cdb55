//! What a tool call would touch.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// One act that needs permission.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Access {
    /// Name of the tool that would act.
    pub tool: String,
    /// What it would do.
    #[serde(flatten)]
    pub kind: AccessKind,
}

impl Access {
    /// Returns an access of the named tool.
    #[must_use]
    pub fn new(tool: impl Into<String>, kind: AccessKind) -> Self {
        Self { tool: tool.into(), kind }
    }
}

/// The kinds of acts. Paths are absolute with symlinks resolved, so that a link cannot lead out of the project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum AccessKind {
    /// Touches nothing outside the conversation.
    Nothing,
    /// Reads a file or a folder and what is below it.
    Read {
        /// What is read.
        #[serde(serialize_with = "crate::message::serialize_path")]
        path: PathBuf,
    },
    /// Creates or changes a file.
    Write {
        /// What is written.
        #[serde(serialize_with = "crate::message::serialize_path")]
        path: PathBuf,
    },
    /// Runs a shell command.
    Execute {
        /// The whole command line.
        command: String,
    },
}

/// Tells whether `path` is a file of the project that an edit mode may change without asking: inside, and not part
/// of the repository's own machinery, where a write can run code later (hooks, configuration).
pub(super) fn is_plain_project_file(path: &Path, project: &Path) -> bool {
    const MACHINERY: [&str; 4] = [".git", ".claude", ".kode", ".belvedere"];
    match path.strip_prefix(project) {
        Ok(inside) => {
            inside.components().all(|part| !MACHINERY.iter().any(|name| part.as_os_str().eq_ignore_ascii_case(name)))
        }
        Err(_) => false,
    }
}
