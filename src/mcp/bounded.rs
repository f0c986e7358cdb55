//! Lines of a server that are too long to be taken: what was asked fails, and the rest goes on.
//!
//! Owns how much of one line is kept, and what is told in its place. Leaves the protocol to `client`, which passes over a line that
//! is too long and would wait for its answer for ever. Invariants: of a line, no more than the limit is ever held; whatever was
//! asked is answered, or the connection ends.

use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncRead, AsyncWriteExt as _, BufReader, DuplexStream, duplex};

use crate::launched::ProgramLog;

/// Bytes of the longest line that is taken; less than what the protocol's side passes over.
const MAX_LINE: usize = 15 << 20;
/// Bytes at both ends of a longer one that are looked at for what it answers.
const LOOKED_AT: usize = 4 << 10;
/// Bytes on their way.
const BUFFER: usize = 64 << 10;
/// What JSON-RPC calls a failure of the other side.
const INTERNAL_ERROR: i32 = -32_603;

/// Returns what a server says, without lines that are too long.
pub(super) fn bounded(reader: impl AsyncRead + Send + Unpin + 'static, log: ProgramLog) -> DuplexStream {
    let (mut theirs, ours) = duplex(BUFFER);
    tokio::spawn(async move {
        let mut reader = BufReader::with_capacity(BUFFER, reader);
        loop {
            let said = match next(&mut reader).await {
                Some(Line::Whole(line)) => line,
                Some(Line::TooLong { head, tail }) => {
                    let why = format!("it has sent a message of more than {} MB", MAX_LINE >> 20);
                    log.add(&why);
                    match id_of(&head, &tail) {
                        Some(id) => {
                            let error =
                                format!(r#"{{"code":{INTERNAL_ERROR},"message":"the answer is too large: {why}"}}"#);
                            format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{error}}}\n").into_bytes()
                        }
                        // Whoever waits for it learns that the connection has ended.
                        None => return,
                    }
                }
                None => return,
            };
            if theirs.write_all(&said).await.is_err() {
                return;
            }
        }
    });
    ours
}

enum Line {
    /// With its end, if it has one.
    Whole(Vec<u8>),
    TooLong {
        head: Vec<u8>,
        tail: Vec<u8>,
    },
}

/// Reads a line; `None` if there is none any more.
async fn next(reader: &mut (impl AsyncBufRead + Unpin)) -> Option<Line> {
    let mut line: Vec<u8> = Vec::new();
    // Once it is too long: its end, as far as it is known.
    let mut tail: Option<Vec<u8>> = None;
    loop {
        let part = reader.fill_buf().await.ok()?;
        if part.is_empty() {
            return (!line.is_empty() && tail.is_none()).then_some(Line::Whole(line));
        }
        let end = memchr::memchr(b'\n', part).map(|at| at + 1);
        let taken = &part[..end.unwrap_or(part.len())];
        match &mut tail {
            Some(tail) => {
                tail.extend_from_slice(taken);
                tail.drain(..tail.len().saturating_sub(LOOKED_AT));
            }
            None if line.len() + taken.len() > MAX_LINE => {
                let from = taken.len().saturating_sub(LOOKED_AT);
                tail = Some(taken[from..].to_vec());
                line.truncate(LOOKED_AT);
                line.shrink_to_fit();
            }
            None => line.extend_from_slice(taken),
        }
        let count = taken.len();
        reader.consume(count);
        if end.is_some() {
            return Some(match tail {
                Some(tail) => Line::TooLong { head: line, tail },
                None => Line::Whole(line),
            });
        }
    }
}

/// Returns the id of the request that a message answers, as it is written: at the beginning of it, or at its end.
fn id_of(head: &[u8], tail: &[u8]) -> Option<String> {
    let (head, tail) = (String::from_utf8_lossy(head), String::from_utf8_lossy(tail));
    let before_result = head.split("\"result\"").next().unwrap_or_default();
    let at_head = before_result.split_once("\"id\"").filter(|_| before_result.len() < head.len());
    let at_tail = || tail.rsplit_once("\"id\"").filter(|(_, rest)| rest.matches('}').count() == 1);
    let (_, rest) = at_head.or_else(at_tail)?;
    let rest = rest.trim_start().strip_prefix(':')?.trim_start();
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    let is_end = rest[digits.len()..].trim_start().starts_with([',', '}']);
    (!digits.is_empty() && digits.len() < 19 && is_end).then_some(digits)
}
