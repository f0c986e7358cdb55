//! Files that the screen itself reads and writes: the list of the project's files, the history of the composer, and
//! the user's themes.
//!
//! Owns the I/O only, for threads other than the screen's. Leaves searching to `app::files` and the format of the
//! history to `app::composer`. Invariant: what is read is bounded whatever the directory holds.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use ignore::WalkBuilder;

use super::view::theme::ThemeFile;
use crate::app::composer::History;
use crate::session::{append_line, keep_file};
use crate::whole_file::{read_plain, read_plain_text};

const MAX_FILES: usize = 200_000;
/// A longer message, which holds a large paste, is remembered until the program ends only.
const MAX_ENTRY_BYTES: usize = 100_000;
/// A history file larger than this is written anew with what is kept of it.
const MAX_HISTORY_BYTES: u64 = 4 << 20;
/// Several programs may have written before that is done.
const MAX_HISTORY_READ: u64 = 64 << 20;
const MAX_THEMES: usize = 100;
const MAX_SMALL_BYTES: u64 = 64 << 10;

/// Returns the files below `root` that version control would not ignore, relative to it and with `/`, sorted. Hidden
/// files are listed, the repository's own folder is not.
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
    let bytes = match read_plain(path, MAX_HISTORY_READ) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(History::default()),
        Err(error) => return Err(error).with_context(|| format!("cannot read {}", path.display())),
    };
    Ok(History::parse(&String::from_utf8_lossy(&bytes)))
}

/// Appends a sent message to a history file, which is made if need be. One of more than 100,000 bytes is left out.
/// `masked` takes keys and tokens out of it.
pub fn append_history(path: &Path, text: &str, masked: impl Fn(&str) -> String) -> Result<()> {
    if text.trim().is_empty() || text.len() > MAX_ENTRY_BYTES {
        return Ok(());
    }
    if fs::metadata(path).is_ok_and(|data| data.len() > MAX_HISTORY_BYTES) {
        keep_file(path, &load_history(path)?.to_jsonl())?;
    }
    Ok(append_line(path, History::line(&masked(text)).trim_end_matches('\n'))?)
}

/// Reads the theme files of a folder, by name, and says what cannot be read.
pub fn load_themes(folder: &Path) -> (BTreeMap<String, ThemeFile>, Vec<String>) {
    let (mut themes, mut errors) = (BTreeMap::new(), Vec::new());
    let Ok(entries) = fs::read_dir(folder) else { return (themes, errors) };
    for path in entries.filter_map(|entry| Some(entry.ok()?.path())).take(MAX_THEMES) {
        let Some(name) = path.file_name().and_then(|name| name.to_str()?.strip_suffix(".toml")) else { continue };
        if name.is_empty() || name.chars().any(|c| c.is_control() || c.is_whitespace()) {
            continue;
        }
        match read_small(&path) {
            Ok(text) => drop(themes.insert(name.to_owned(), ThemeFile { path: path.clone(), text })),
            Err(error) => errors.push(format!("{}: theme skipped: {error}.", path.display())),
        }
    }
    (themes, errors)
}

/// Reads a text file; whatever else lies there, such as a pipe, is an error.
pub(super) fn read_small(path: &Path) -> std::io::Result<String> {
    read_plain_text(path, MAX_SMALL_BYTES)
}
