//! Paths as they are compared, and as text of a log: JSON is Unicode, names of files need not be.
//!
//! Invariant: any path can be written; one that is not Unicode is readable, and marked where it is not.

use std::path::{Component, Path, PathBuf};

use serde::{Serialize as _, Serializer};

/// Writes one path. On failure, returns the serializer's own errors.
pub fn serialize_path<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    path.to_string_lossy().serialize(serializer)
}

/// Writes a list of paths. On failure, returns the serializer's own errors.
pub fn serialize_paths<S: Serializer>(paths: &[PathBuf], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(paths.iter().map(|path| path.to_string_lossy()))
}

/// Returns the path without `.` and `..`, as if no part of it were a link.
pub fn without_dots(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    plain
}
