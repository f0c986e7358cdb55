//! What follows the head of one request, and where it ends (RFC 9112, section 6).
//!
//! Owns handing on exactly that. Invariant: what comes after it is no part of it for whoever reads it next: a length that two readers
//! could understand in two ways is none.

use std::io;

use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

/// Bytes of the longest line between two parts.
const MAX_LINE: u64 = 8 << 10;
/// Lines behind the last part.
const MAX_TRAILERS: usize = 100;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RequestBody {
    Length(u64),
    /// In parts, each with its length before it.
    Parts,
}

impl RequestBody {
    /// Reads it from the fields of a head; `None` if it cannot be told.
    pub(super) fn of(fields: &str) -> Option<Self> {
        let (mut length, mut is_in_parts) = (None, false);
        for field in fields.split("\r\n").filter(|field| !field.is_empty()) {
            let (name, value) = field.split_once(':')?;
            let value = value.trim_matches([' ', '\t']);
            match name.trim().to_ascii_lowercase().as_str() {
                "content-length" => {
                    let is_number = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
                    if length.is_some() || !is_number {
                        return None;
                    }
                    length = Some(value.parse().ok()?);
                }
                "transfer-encoding" => {
                    if is_in_parts || !value.eq_ignore_ascii_case("chunked") {
                        return None;
                    }
                    is_in_parts = true;
                }
                _ => {}
            }
        }
        match (length, is_in_parts) {
            (Some(_), true) => None,
            (None, true) => Some(Self::Parts),
            (length, false) => Some(Self::Length(length.unwrap_or(0))),
        }
    }

    /// Hands it on.
    pub(super) async fn send(
        self,
        from: &mut (impl AsyncBufRead + Unpin),
        to: &mut (impl AsyncWrite + Unpin),
    ) -> io::Result<()> {
        match self {
            Self::Length(length) => copy(from, to, length).await,
            Self::Parts => {
                loop {
                    let line = line(from).await?;
                    let digits = line.split(';').next().unwrap_or_default().trim_end();
                    let is_number =
                        (1..=15).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
                    let length = u64::from_str_radix(digits, 16).ok().filter(|_| is_number).ok_or_else(unclear)?;
                    to.write_all(format!("{length:x}\r\n").as_bytes()).await?;
                    if length == 0 {
                        break;
                    }
                    copy(from, to, length).await?;
                    if !self::line(from).await?.is_empty() {
                        return Err(unclear());
                    }
                    to.write_all(b"\r\n").await?;
                }
                for _ in 0..MAX_TRAILERS {
                    if line(from).await?.is_empty() {
                        return to.write_all(b"\r\n").await;
                    }
                }
                Err(unclear())
            }
        }
    }
}

fn unclear() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the end of the request cannot be told")
}

async fn copy(
    from: &mut (impl AsyncBufRead + Unpin),
    to: &mut (impl AsyncWrite + Unpin),
    length: u64,
) -> io::Result<()> {
    let copied = tokio::io::copy(&mut from.take(length), to).await?;
    to.flush().await?;
    if copied == length { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}

/// Reads a line without its end.
async fn line(from: &mut (impl AsyncBufRead + Unpin)) -> io::Result<String> {
    let mut line = Vec::new();
    from.take(MAX_LINE).read_until(b'\n', &mut line).await?;
    let line = line.strip_suffix(b"\r\n").ok_or_else(unclear)?;
    String::from_utf8(line.to_vec()).map_err(|_| unclear())
}
