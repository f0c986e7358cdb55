//! What a folder brought when the user said that they trust it.
//!
//! Owns the file below the state directory. Leaves what counts as brought to `services`. Invariants: nothing of it lies in
//! the folder itself; a file counts only for the folder whose path it names; a file that cannot be read trusts nothing.

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::store::{SessionError, create_private_dir, keep_file, project_dir};
use crate::permission::BroughtItem;
use crate::whole_file::read_plain_text;

/// The most bytes of a file that is read.
const MAX_BYTES: u64 = 4 << 20;
/// The most items that are kept beside those that the folder brings now; the oldest go first.
const MAX_OLD_ITEMS: usize = 1_000;

#[derive(Debug, Clone)]
pub struct TrustedItems {
    path: PathBuf,
    project: String,
}

#[derive(Debug, Serialize, Deserialize)]
struct Record {
    /// The folder's name has only a short hash of the path.
    project: String,
    #[serde(default)]
    trusted: Vec<BroughtItem>,
}

impl TrustedItems {
    /// Returns the file for the project below `project`.
    #[must_use]
    pub fn new(state_dir: &Path, project: &Path) -> Self {
        let path = project_dir(state_dir, project).join("trust.toml");
        Self { path, project: project.to_string_lossy().into_owned() }
    }

    /// Returns what the user has trusted.
    pub fn read(&self) -> Vec<BroughtItem> {
        let text = read_plain_text(&self.path, MAX_BYTES).unwrap_or_default();
        let record = toml::from_str::<Record>(&text).ok().filter(|record| record.project == self.project);
        record.map(|record| record.trusted).unwrap_or_default()
    }

    /// Writes down what the user trusts now, beside what they did before: another branch of the project may bring that
    /// again. Blocks. Fails if the file cannot be written.
    pub fn add(&self, items: impl IntoIterator<Item = BroughtItem>) -> Result<(), SessionError> {
        let items: Vec<BroughtItem> = items.into_iter().collect();
        let mut trusted = self.read();
        trusted.retain(|before| !items.contains(before));
        let old = trusted.len().saturating_sub(MAX_OLD_ITEMS);
        trusted.drain(..old);
        trusted.extend(items);
        self.write(trusted)
    }

    /// Takes back all that the user has trusted. Blocks. Fails if the file cannot be written.
    pub fn clear(&self) -> Result<(), SessionError> {
        self.write(Vec::new())
    }

    fn write(&self, trusted: Vec<BroughtItem>) -> Result<(), SessionError> {
        let error = |source| SessionError::new(&self.path, "written", source);
        if let Some(folder) = self.path.parent() {
            create_private_dir(folder).map_err(error)?;
        }
        let text = toml::to_string(&Record { project: self.project.clone(), trusted })
            .map_err(|cause| error(io::Error::other(cause)))?;
        keep_file(&self.path, &text)
    }
}
