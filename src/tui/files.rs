//! Files that the screen itself reads and writes: the list of the project's files, and the history of the composer.
//!
//! Owns the I/O only, for threads other than the screen's. Leaves searching to `app::files` and the format of the
//! history to `app::composer`. Invariant: a list is bounded whatever the directory holds.

use std::fs;
use std::io::Write as _;
use std::path::Path;

use anyhow::{Context as _, Result};
use ignore::WalkBuilder;

use crate::app::composer::History;

/// The most files that are listed.
const MAX_FILES: usize = 200_000;
/// A longer message, which holds a large paste, is remembered until the program ends only.
const MAX_ENTRY_BYTES: usize = 100_000;
/// A history file larger than this is written anew with what is kept of it.
const MAX_HISTORY_BYTES: u64 = 4 << 20;

/// Returns the files below `root` that version control would not ignore, relative to it and with `/`, sorted. Hidden
/// files are listed, the repository's own folder is not.
#[must_use]
pub fn list_files(root: &Path) -> Vec<String> {
    let walk = WalkBuilder::new(root)
        .hidden(false)
        .require_git(false)
        .filter_entry(|entry| entry.file_name() != ".git")
        .build();
    let mut paths: Vec<String> = walk
        .filter_map(Result::ok)
        .filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()))
        .filter_map(|entry| Some(entry.path().strip_prefix(root).ok()?.to_str()?.replace('\\', "/")))
        .filter(|path| !path.chars().any(char::is_control))
        .take(MAX_FILES)
        .collect();
    paths.sort();
    paths
}

/// Reads a history file; one that does not exist is empty.
pub fn load_history(path: &Path) -> Result<History> {
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(History::default()),
        Err(error) => return Err(error).with_context(|| format!("cannot read {}", path.display())),
    };
    Ok(History::parse(&String::from_utf8_lossy(&bytes)))
}

/// Appends a sent message to a history file, which is made if need be. One of more than 100,000 bytes is left out.
pub fn append_history(path: &Path, text: &str) -> Result<()> {
    if text.trim().is_empty() || text.len() > MAX_ENTRY_BYTES {
        return Ok(());
    }
    let wrote = || format!("cannot write {}", path.display());
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).with_context(wrote)?;
    }
    if fs::metadata(path).is_ok_and(|data| data.len() > MAX_HISTORY_BYTES) {
        let kept = load_history(path)?.to_jsonl();
        fs::write(path, kept).with_context(wrote)?;
    }
    let mut options = fs::OpenOptions::new();
    options.create(true).append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    // One write, so that two programs of one project do not mix their lines.
    options.open(path).with_context(wrote)?.write_all(History::line(text).as_bytes()).with_context(wrote)
}
