//! Server-sent events: bytes in, events out.
//!
//! Owns line splitting and field parsing after the WHATWG specification ("event stream interpretation"). Leaves the
//! meaning of data to the decoders; ids and reconnection times are of no use here and are passed over. Invariant: the
//! events do not depend on where the bytes were cut, and no event grows past [`EVENT_CAP`].

use memchr::{memchr, memchr2};

/// Largest event in bytes; more is a fault of the server.
pub const EVENT_CAP: usize = 16 * 1024 * 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SseEvent<'a> {
    /// The event's name; empty where the server gave none.
    pub name: &'a str,
    /// The data lines, joined by line feeds.
    pub data: &'a str,
}

/// An event is larger than [`EVENT_CAP`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an event is larger than 16 MiB")]
pub struct TooLarge;

/// Splits a byte stream into events. Feed it with [`Parser::push`] and close it with [`Parser::finish`].
#[derive(Debug, Default)]
pub struct Parser {
    /// The start of a line whose end has not arrived.
    line: Vec<u8>,
    data: Vec<u8>,
    name: Vec<u8>,
    /// Whether the present event has a data line; an empty one counts.
    has_data: bool,
    /// Whether a line was read, so that a byte order mark can no longer come.
    began: bool,
    /// Whether the last byte was a CR, so that an LF right after it ends no further line.
    after_cr: bool,
}

impl Parser {
    /// Takes the next bytes and hands each event they complete to `each`. On failure, returns [`TooLarge`], or the
    /// first error of `each`. The parser is of no use after that.
    pub fn push<E: From<TooLarge>>(
        &mut self,
        mut bytes: &[u8],
        mut each: impl FnMut(SseEvent<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        if self.after_cr && !bytes.is_empty() {
            self.after_cr = false;
            bytes = bytes.strip_prefix(b"\n").unwrap_or(bytes);
        }
        while let Some(end) = memchr2(b'\n', b'\r', bytes) {
            let (head, rest) = (&bytes[..end], &bytes[end + 1..]);
            bytes = if bytes[end] == b'\r' {
                self.after_cr = rest.is_empty();
                rest.strip_prefix(b"\n").unwrap_or(rest)
            } else {
                rest
            };
            if self.line.is_empty() {
                self.take_line(head, &mut each)?;
            } else {
                self.line.extend_from_slice(head);
                let mut line = std::mem::take(&mut self.line);
                self.take_line(&line, &mut each)?;
                line.clear();
                self.line = line;
            }
        }
        self.line.extend_from_slice(bytes);
        if self.line.len() + self.data.len() > EVENT_CAP { Err(TooLarge.into()) } else { Ok(()) }
    }

    /// Ends the stream. The specification drops an event without its empty line; servers that forget the last one
    /// exist, so it is handed over and the decoder judges whether it is whole.
    ///
    /// # Errors
    /// As for [`Parser::push`].
    pub fn finish<E: From<TooLarge>>(&mut self, mut each: impl FnMut(SseEvent<'_>) -> Result<(), E>) -> Result<(), E> {
        let line = std::mem::take(&mut self.line);
        if !line.is_empty() {
            self.take_line(&line, &mut each)?;
        }
        self.dispatch(&mut each)
    }

    fn take_line<E: From<TooLarge>>(
        &mut self,
        line: &[u8],
        each: &mut impl FnMut(SseEvent<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let line = if self.began { line } else { line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line) };
        self.began = true;
        if line.is_empty() {
            return self.dispatch(each);
        }
        let (field, value) = match memchr(b':', line) {
            Some(colon) => (&line[..colon], &line[colon + 1..]),
            None => (line, &[][..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"data" => {
                if self.data.len() + value.len() > EVENT_CAP {
                    return Err(TooLarge.into());
                }
                if self.has_data {
                    self.data.push(b'\n');
                }
                self.has_data = true;
                self.data.extend_from_slice(value);
            }
            b"event" => {
                self.name.clear();
                self.name.extend_from_slice(value);
            }
            // Some servers break off with a bare error object. After the specification it is a field nobody knows.
            _ if line.starts_with(b"{\"error\"") => {
                self.dispatch(each)?;
                self.name.extend_from_slice(b"error");
                self.data.extend_from_slice(line);
                self.has_data = true;
                return self.dispatch(each);
            }
            _ => {}
        }
        Ok(())
    }

    fn dispatch<E>(&mut self, each: &mut impl FnMut(SseEvent<'_>) -> Result<(), E>) -> Result<(), E> {
        let result = if self.has_data {
            let (name, data) = (String::from_utf8_lossy(&self.name), String::from_utf8_lossy(&self.data));
            each(SseEvent { name: &name, data: &data })
        } else {
            Ok(())
        };
        self.name.clear();
        self.data.clear();
        self.has_data = false;
        result
    }
}
