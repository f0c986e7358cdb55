//! What the user has written and nobody has read (`unsent.json` in the folder of the session).

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::SessionError;
use crate::message::AgentId;
use crate::whole_file::read_plain;

/// Bytes of the file that are read at most.
const MAX_BYTES: u64 = 16 << 20;

/// The text being written for each agent, behind the messages that wait for it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Unsent(pub BTreeMap<AgentId, String>);

impl Unsent {
    /// Name of its file.
    pub(super) const FILE: &str = "unsent.json";

    /// Reads what was left in the folder of a session; nothing if there is none, or it is not understood. Blocks.
    #[must_use]
    pub fn read(dir: &Path) -> Self {
        let path = dir.join(Self::FILE);
        let unsent = read_plain(&path, MAX_BYTES).ok().map(|bytes| serde_json::from_slice(&bytes));
        match unsent {
            Some(Ok(unsent)) => unsent,
            Some(Err(error)) => {
                tracing::warn!("{}: {error}", path.display());
                Self::default()
            }
            None => Self::default(),
        }
    }
}

impl super::Store {
    /// Keeps what nobody has read, in the place of what was kept before. Blocks.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written.
    pub fn keep_unsent(&self, unsent: &Unsent) -> Result<(), SessionError> {
        let path = self.dir().join(Unsent::FILE);
        let json = serde_json::to_string(unsent)
            .map_err(|error| SessionError::new(&path, "written", std::io::Error::other(error)))?;
        self.write_private(&path, json)
    }
}
