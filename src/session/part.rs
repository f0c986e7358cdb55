//! Reading a stretch of a session file, from its end or from any record on.
//!
//! Owns offsets: where records begin and end. Leaves what a record means to those who wrote it. Invariants: a stretch
//! begins and ends at the border of a record; what is read does not grow with the file, except for a record that is
//! itself larger than asked for.

use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;

use serde::de::DeserializeOwned;

use super::reader::decode;
use super::{Record, SessionError};
use crate::whole_file::open_plain;

/// The largest record that is read; of a larger one, the pieces are no records.
const MAX_RECORD: u64 = 32 << 20;

/// Which stretch of a file is meant, by offsets in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stretch {
    /// What ends here, or at the end of the file if that comes before.
    Before(u64),
    /// What begins here.
    After(u64),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogPart {
    pub from: u64,
    pub to: u64,
    pub length: u64,
    pub lines: Vec<PartLine>,
}

/// One record, unread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartLine {
    pub at: u64,
    /// Its bytes, line end included.
    pub bytes: Vec<u8>,
}

impl PartLine {
    /// Reads the record.
    ///
    /// # Errors
    /// Says in a sentence why it cannot be understood.
    pub fn record<T: DeserializeOwned>(&self) -> Result<Record<T>, String> {
        decode(&self.bytes)
    }
}

/// Reads about so many bytes of a session file, one record at least if there is one. Blocks. Returns an error if there
/// is no such file or it may not be read.
pub fn read_part(path: &Path, stretch: Stretch, bytes: u64) -> Result<LogPart, SessionError> {
    let error = |error| SessionError::new(path, "read", error);
    let mut file = open_plain(path).map_err(error)?;
    let length = file.metadata().map_err(error)?.len();
    let mut size = bytes.max(1);
    loop {
        let (from, to) = match stretch {
            Stretch::Before(end) => (end.min(length).saturating_sub(size), end.min(length)),
            Stretch::After(start) => (start.min(length), start.saturating_add(size).min(length)),
        };
        let mut held = Vec::new();
        file.seek(SeekFrom::Start(from)).map_err(error)?;
        (&mut file).take(to - from).read_to_end(&mut held).map_err(error)?;
        let whole = (from == 0, from + held.len() as u64 >= length);
        if let Some(part) = cut(&held, from, stretch, whole, size >= MAX_RECORD) {
            return Ok(LogPart { length, ..part });
        }
        size = size.saturating_mul(4).min(MAX_RECORD);
    }
}

/// Cuts bytes at the borders of records; `None` if they hold no border and more may be read.
fn cut(held: &[u8], from: u64, stretch: Stretch, (first, last): (bool, bool), most: bool) -> Option<LogPart> {
    let whole = (0, held.len());
    let within = match stretch {
        Stretch::Before(_) if first => Some(whole),
        // The line that the stretch begins in belongs to the one before, unless nothing else is left of it.
        Stretch::Before(_) => {
            memchr::memchr(b'\n', held).map(|at| (at + 1, held.len())).filter(|(start, end)| start < end)
        }
        Stretch::After(_) if last => Some(whole),
        Stretch::After(_) => memchr::memrchr(b'\n', held).map(|at| (0, at + 1)),
    };
    let (start, end) = within.or(most.then_some(whole))?;
    let mut at = start;
    let mut lines = Vec::new();
    while at < end {
        let next = memchr::memchr(b'\n', &held[at..end]).map_or(end, |length| at + length + 1);
        // A line end of its own stands where writing went on after a torn line.
        if !held[at..next].iter().all(u8::is_ascii_whitespace) {
            lines.push(PartLine { at: from + at as u64, bytes: held[at..next].to_vec() });
        }
        at = next;
    }
    Some(LogPart { from: from + start as u64, to: from + end as u64, length: 0, lines })
}
