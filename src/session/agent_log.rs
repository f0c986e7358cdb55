//! The file of one agent's records, and what of it is not on the disk yet.
//!
//! Invariants: a file holds whole lines, except for a last one that the disk has cut, and that one is continued or, in a
//! file that is another one by now, written from its beginning; what is not written is still held.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::PathBuf;

use super::SessionError;
use super::store::{end_torn_line, is_at, open_private};

#[derive(Debug)]
pub(super) struct AgentLog {
    path: PathBuf,
    /// Open between writes, as long as there are not too many.
    file: Option<File>,
    /// Lines that are not on the disk, the first of them perhaps in part.
    held: Vec<u8>,
    /// Bytes of the first line held that the file has already.
    begun: usize,
}

impl AgentLog {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path, file: None, held: Vec::new(), begun: 0 }
    }

    pub(super) fn push(&mut self, line: &str) {
        self.held.extend_from_slice(line.as_bytes());
        self.held.push(b'\n');
    }

    pub(super) fn held(&self) -> usize {
        self.held.len()
    }

    pub(super) fn lines(&self) -> u64 {
        memchr::memchr_iter(b'\n', &self.held).count() as u64
    }

    pub(super) fn is_open(&self) -> bool {
        self.file.is_some()
    }

    /// Writes what is held, as far as the disk takes it. A file that is gone is made anew.
    pub(super) fn write(&mut self) -> Result<(), SessionError> {
        let path = &self.path;
        let error = |act| move |error| SessionError::new(path, act, error);
        let file = if let Some(file) = self.file.take().filter(|file| is_at(file, &self.path)) {
            file
        } else {
            self.begun = 0;
            let mut file = open_private(&self.path).map_err(error("opened"))?;
            end_torn_line(&mut file).map_err(error("written"))?;
            file
        };
        let (written, outcome) = write_some(&file, &self.held[self.begun..]);
        let on_disk = &self.held[..self.begun + written];
        let whole = memchr::memrchr(b'\n', on_disk).map_or(0, |at| at + 1);
        self.begun = on_disk.len() - whole;
        self.held.drain(..whole);
        let outcome = outcome.map_err(error("written"));
        self.file = Some(file);
        outcome
    }

    /// Closes the file after the disk has it, unless it has a line that is not whole.
    pub(super) fn close(&mut self) -> Result<(), SessionError> {
        match self.file.take_if(|_| self.begun == 0) {
            Some(file) => file.sync_data().map_err(|error| SessionError::new(&self.path, "written", error)),
            None => Ok(()),
        }
    }
}

/// Writes as many bytes as the disk takes, and returns their number.
fn write_some(mut file: &File, bytes: &[u8]) -> (usize, io::Result<()>) {
    let mut written = 0;
    while written < bytes.len() {
        match file.write(&bytes[written..]) {
            Ok(0) => return (written, Err(io::ErrorKind::WriteZero.into())),
            Ok(count) => written += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return (written, Err(error)),
        }
    }
    (written, Ok(()))
}
