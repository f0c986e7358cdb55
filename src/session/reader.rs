//! Reading a session file back.
//!
//! Owns tolerance: a line that was torn by a crash, or that a later version wrote, costs that line and no other.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::{Record, SessionError, VERSION};
use crate::message::Diagnostic;
use crate::whole_file::open_plain;

pub fn read<T: DeserializeOwned>(path: &Path) -> Result<Records<T>, SessionError> {
    let file = open_plain(path).map_err(|error| SessionError::new(path, "read", error))?;
    Ok(Records { path: path.to_path_buf(), lines: Some(BufReader::new(file)), line: 0, bodies: PhantomData })
}

/// The records of one file, in order; a line that cannot be understood is a diagnostic in its place.
#[derive(Debug)]
pub struct Records<T> {
    path: PathBuf,
    /// `None` after the end, or after a fault of the disk.
    lines: Option<BufReader<File>>,
    line: usize,
    bodies: PhantomData<fn() -> T>,
}

#[derive(Deserialize)]
struct Version {
    v: u32,
}

impl<T: DeserializeOwned> Records<T> {
    fn error(&self, message: String) -> Diagnostic {
        Diagnostic { line: Some(self.line), ..Diagnostic::in_file(&self.path, message) }
    }
}

/// Reads one record, or says in a sentence why it cannot be understood.
pub(super) fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<Record<T>, String> {
    let version: Result<Version, _> = serde_json::from_slice(bytes);
    if let Ok(Version { v }) = version
        && v > VERSION
    {
        return Err(format!(
            "this record was written by a newer version ({v}; this one reads {VERSION}). It is skipped."
        ));
    }
    serde_json::from_slice(bytes).map_err(|error| {
        if bytes.ends_with(b"\n") {
            format!("not a record of a session ({error}). It is skipped.")
        } else {
            "the last record is incomplete: the program ended while writing it. It is skipped.".to_owned()
        }
    })
}

impl<T: DeserializeOwned> Iterator for Records<T> {
    type Item = Result<Record<T>, Diagnostic>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let mut bytes = Vec::new();
            self.line += 1;
            match self.lines.as_mut()?.read_until(b'\n', &mut bytes) {
                Ok(0) => {
                    self.lines = None;
                    return None;
                }
                // A line end of its own stands where writing went on after a torn line.
                Ok(_) if bytes.iter().all(u8::is_ascii_whitespace) => {}
                Ok(_) => return Some(decode(&bytes).map_err(|error| self.error(error))),
                Err(error) => {
                    self.lines = None;
                    return Some(Err(self.error(format!("cannot be read any further: {error}."))));
                }
            }
        }
    }
}
