//! A state of a folder on its way to another machine, or back.
//!
//! Pure. Owns its bounds and the words of the protocol that carries it. Leaves packing to `worktree`, and sending to `external` and `acp`.

use std::path::PathBuf;
use std::sync::Arc;

/// Bytes of the largest pack.
pub const MAX_PACK: usize = 256 << 20;

/// A state of files: a commit of git's, and a pack with what the other side lacks of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FolderState {
    pub commit: String,
    pub pack: Arc<Vec<u8>>,
    /// Folders that are repositories of their own, and no part of it.
    pub left_out: Vec<PathBuf>,
}

impl FolderState {
    /// Returns `true` if a text can be the id of a commit.
    #[must_use]
    pub fn is_commit(text: &str) -> bool {
        matches!(text.len(), 40 | 64) && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    }
}

/// What Belvedere says in the Agent Client Protocol beyond the protocol itself.
pub mod extension {
    /// What an agent names in the `_meta` of its capabilities if it takes folders.
    pub const FOLDERS: &str = "belvedere.dev/folder";
    /// What it names if it works as the agent that the `_meta` of a new session has under this name.
    pub const AGENTS: &str = "belvedere.dev/agent";
    /// What it names in the `_meta` of what a prompt has used if there is more that it does not know.
    pub const UNKNOWN_USAGE: &str = "belvedere.dev/unknown";
    /// Sends a piece of a folder; the answer to the last one says where it lies.
    pub const PUT: &str = "_belvedere.dev/folder/put";
    /// Asks what has changed since a state.
    pub const CHANGES: &str = "_belvedere.dev/folder/changes";
    /// Asks for a piece of the changes.
    pub const READ: &str = "_belvedere.dev/folder/read";
    /// Asks whether the other side is still there; any answer says so.
    pub const PING: &str = "_belvedere.dev/ping";
    /// Bytes of one piece, before they are written as text.
    pub const PIECE: usize = 4 << 20;
}
