//! New agent files: from what a user chose to a file on the disk.
//!
//! Owns what is written and how. Leaves asking the user to the front ends. Invariants: a file that is written here is
//! strict YAML and reads back as the same agent; it is whole or not there; an existing file is never overwritten.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use super::ToolsField;

/// An agent that is being made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentDraft {
    /// Name, see [`AgentDraft::check_name`].
    pub name: String,
    /// When to use it.
    pub description: String,
    /// The tools it may have.
    pub tools: ToolsField,
    /// Model; `None` inherits.
    pub model: Option<String>,
    /// Colour by name or as `#rrggbb`.
    pub color: Option<String>,
    /// The system prompt.
    pub prompt: String,
}

/// A new file that could not be written.
#[derive(Debug, thiserror::Error)]
pub enum DraftError {
    /// The name does not fit.
    #[error("{0}")]
    Name(&'static str),
    /// There is such a file.
    #[error("{} exists already. Choose another name, or edit that file.", .0.display())]
    Exists(PathBuf),
    /// The disk says no.
    #[error("{} cannot be written: {fault}. Choose another folder, or mend its permissions.", path.display())]
    Disk {
        /// The file.
        path: PathBuf,
        /// What the system says.
        fault: std::io::Error,
    },
}

impl AgentDraft {
    /// Checks a name for a new file: lower case letters, digits and single dashes, as Claude Code asks for. The error
    /// says what is wrong.
    ///
    /// # Errors
    /// Returns what is wrong with the name.
    pub fn check_name(name: &str) -> Result<(), &'static str> {
        if name.is_empty() {
            return Err("Give it a name, such as test-runner.");
        }
        if name.len() > 64 {
            return Err("The name is longer than 64 characters.");
        }
        if !name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-') {
            return Err("A name has lower case letters, digits and dashes only.");
        }
        if name.starts_with('-') || name.ends_with('-') || name.contains("--") {
            return Err("Dashes stand between other characters, one at a time.");
        }
        Ok(())
    }

    /// Returns the file's text.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text = format!("---\nname: {}\ndescription: {}\n", quoted(&self.name), quoted(&self.description));
        if let ToolsField::List(names) = &self.tools {
            let names: Vec<String> = names.iter().map(|name| quoted(name)).collect();
            let _ = writeln!(text, "tools: [{}]", names.join(", "));
        }
        for (key, value) in [("model", &self.model), ("color", &self.color)] {
            if let Some(value) = value {
                let _ = writeln!(text, "{key}: {}", quoted(value));
            }
        }
        let _ = write!(text, "---\n\n{}\n", self.prompt.trim());
        text
    }

    /// Writes the file into a folder, which is made if it is missing, and returns its path.
    ///
    /// # Errors
    /// The name does not fit, there is such a file, or the disk says no.
    pub fn create_in(&self, folder: &Path) -> Result<PathBuf, DraftError> {
        Self::check_name(&self.name).map_err(DraftError::Name)?;
        write_new(&folder.join(format!("{}.md", self.name)), &self.to_text())
    }
}

/// Writes a new file, whole or not at all, and returns its path.
///
/// # Errors
/// There is such a file, or the disk says no.
pub fn write_new(path: &Path, text: &str) -> Result<PathBuf, DraftError> {
    let disk = |fault| DraftError::Disk { path: path.to_path_buf(), fault };
    let folder = path.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder).map_err(disk)?;
    let mut file = tempfile::Builder::new().prefix(".new-agent").tempfile_in(folder).map_err(disk)?;
    file.write_all(text.as_bytes()).and_then(|()| file.as_file().sync_all()).map_err(disk)?;
    match file.persist_noclobber(path) {
        Ok(_) => Ok(path.to_path_buf()),
        Err(refused) if refused.error.kind() == std::io::ErrorKind::AlreadyExists => {
            Err(DraftError::Exists(path.to_path_buf()))
        }
        Err(refused) => Err(disk(refused.error)),
    }
}

/// Returns a value as YAML's double-quoted scalar, which has the escapes of JSON.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
