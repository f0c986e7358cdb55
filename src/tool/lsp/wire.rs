//! The messages of the Language Server Protocol, 3.17: JSON with a length before it.
//!
//! Owns their frames, and the few fields that are read. Invariants: a message is bounded; a field of another type costs its
//! message and no other; what is not known is passed over.

use serde::Deserialize;
use serde_json::Value;

/// Bytes of a message; of a larger one, the server counts as broken.
const MAX_MESSAGE: usize = 16 << 20;
/// Bytes of what stands before a message.
const MAX_HEAD: usize = 4 << 10;
const LENGTH: &str = "content-length:";

/// What has come of a server, as far as it is not read yet.
#[derive(Debug, Default)]
pub(super) struct Frames(pub(super) Vec<u8>);

/// What comes is no message.
#[derive(Debug)]
pub(super) struct Garbled;

impl Frames {
    /// Takes the next whole message, if there is one.
    pub(super) fn next(&mut self) -> Result<Option<Value>, Garbled> {
        let Some(end) = memchr::memmem::find(&self.0, b"\r\n\r\n") else {
            return if self.0.len() > MAX_HEAD { Err(Garbled) } else { Ok(None) };
        };
        let head = std::str::from_utf8(&self.0[..end]).map_err(|_| Garbled)?;
        let line = head.lines().find(|line| line.to_ascii_lowercase().starts_with(LENGTH)).ok_or(Garbled)?;
        let length: usize = line[LENGTH.len()..].trim().parse().map_err(|_| Garbled)?;
        if length > MAX_MESSAGE {
            return Err(Garbled);
        }
        let (from, to) = (end + 4, end + 4 + length);
        if self.0.len() < to {
            return Ok(None);
        }
        let message = serde_json::from_slice(&self.0[from..to]).map_err(|_| Garbled)?;
        self.0.drain(..to);
        Ok(Some(message))
    }
}

/// Returns a message as it is sent.
pub(super) fn framed(message: &Value) -> Vec<u8> {
    let body = message.to_string();
    format!("Content-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

/// What a server says of one file.
#[derive(Debug, Deserialize)]
pub(super) struct Published {
    pub(super) uri: String,
    pub(super) version: Option<i64>,
    #[serde(default)]
    pub(super) diagnostics: Vec<WireDiagnostic>,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct WireDiagnostic {
    pub(super) range: WireRange,
    /// 1 is an error, 2 a warning; what is left out is an error.
    pub(super) severity: Option<u8>,
    /// A text or a number.
    pub(super) code: Option<Value>,
    #[serde(default)]
    pub(super) message: String,
}

#[derive(Debug, Clone, Copy, Deserialize)]
pub(super) struct WireRange {
    pub(super) start: WirePosition,
}

/// Counted from 0.
#[derive(Debug, Clone, Copy, Deserialize)]
pub(super) struct WirePosition {
    pub(super) line: u32,
    pub(super) character: u32,
}
