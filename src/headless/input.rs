//! Standard input as part of the prompt.
//!
//! Owns the decision when to wait for it. A program that starts this one often leaves it an open pipe into which nobody
//! ever writes; so with a prompt at hand, only input that begins to arrive soon is waited for.

use std::io::{self, Read};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use tokio::sync::mpsc;

use crate::message::UserText;

/// How long the first byte may take when there is a prompt.
pub const FIRST_BYTE_TIMEOUT: Duration = Duration::from_secs(3);
/// Most bytes that become part of a prompt.
const MAX_BYTES: usize = 10 << 20;

/// How long a line is held back to see whether more comes with it: less than people notice, more than a terminal takes.
const HOLD: Duration = Duration::from_millis(30);
/// Longest line that is taken whole, in bytes.
const MAX_LINE: usize = 10 << 20;

/// The same of a line of JSON, which may hold pictures.
const MAX_JSON_LINE: usize = 64 << 20;

#[derive(Debug)]
pub(super) struct TypedLine {
    /// Its text, without its end.
    pub(super) text: String,
    pub(super) at: Instant,
    /// Whether the next came at once, as in a paste.
    pub(super) is_followed: bool,
}

/// What was read at once, and when.
type Piece = (Instant, Vec<u8>);

/// Returns the lines of an input as they are written, without their ends. Returns an error if no thread can be started
/// for it.
pub(super) fn lines(input: impl Read + Send + 'static) -> anyhow::Result<mpsc::Receiver<TypedLine>> {
    let (sender, lines) = mpsc::channel(16);
    let pieces = pieces(input)?;
    let split = move || {
        let mut splitter = Splitter { begun: Vec::new(), held: None, sender };
        let mut last = Instant::now();
        loop {
            let piece = match &splitter.held {
                Some(_) => pieces.recv_timeout(HOLD),
                None => pieces.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            let goes_on = match piece {
                Ok(Ok((at, piece))) => {
                    last = at;
                    splitter.take(at, &piece)
                }
                Err(RecvTimeoutError::Timeout) => splitter.pass_on(false),
                // An input that breaks ends like one that is over.
                Ok(Err(_)) | Err(RecvTimeoutError::Disconnected) => return splitter.finish(last),
            };
            if !goes_on {
                return;
            }
        }
    };
    std::thread::Builder::new().name("lines".to_owned()).spawn(split).context("cannot read standard input")?;
    Ok(lines)
}

/// Returns the lines of an input as they are written, without their ends; the last may be cut short. Returns an error if no
/// thread can be started for it.
pub(super) fn json_lines(input: impl Read + Send + 'static) -> anyhow::Result<mpsc::Receiver<Vec<u8>>> {
    let (sender, lines) = mpsc::channel(16);
    let pieces = pieces(input)?;
    let split = move || {
        let mut begun: Vec<u8> = Vec::new();
        // An input that breaks ends like one that is over.
        while let Ok(Ok((_, piece))) = pieces.recv() {
            for part in piece.split_inclusive(|byte| *byte == b'\n') {
                begun.extend_from_slice(part);
                let is_whole = part.ends_with(b"\n") || begun.len() > MAX_JSON_LINE;
                if is_whole && sender.blocking_send(std::mem::take(&mut begun)).is_err() {
                    return;
                }
            }
        }
        if !begun.is_empty() {
            let _ = sender.blocking_send(begun);
        }
    };
    std::thread::Builder::new().name("lines".to_owned()).spawn(split).context("cannot read standard input")?;
    Ok(lines)
}

/// Makes lines of what is read, and holds each back until it is known whether more comes with it.
struct Splitter {
    /// The line that has not ended.
    begun: Vec<u8>,
    held: Option<TypedLine>,
    sender: mpsc::Sender<TypedLine>,
}

impl Splitter {
    /// Takes a piece. Returns `false` once nobody wants lines any more.
    fn take(&mut self, at: Instant, piece: &[u8]) -> bool {
        if !self.pass_on(true) {
            return false;
        }
        for part in piece.split_inclusive(|byte| *byte == b'\n') {
            self.begun.extend_from_slice(part);
            if part.ends_with(b"\n") || self.begun.len() > MAX_LINE {
                if !self.pass_on(true) {
                    return false;
                }
                self.end_line(at);
            }
        }
        // The rest of a paste, which has not ended.
        self.begun.is_empty() || self.pass_on(true)
    }

    fn end_line(&mut self, at: Instant) {
        let line = std::mem::take(&mut self.begun);
        let text = String::from_utf8_lossy(&line).trim_end_matches(['\n', '\r']).to_owned();
        self.held = Some(TypedLine { text, at, is_followed: false });
    }

    fn pass_on(&mut self, is_followed: bool) -> bool {
        self.held.take().is_none_or(|line| self.sender.blocking_send(TypedLine { is_followed, ..line }).is_ok())
    }

    fn finish(mut self, last: Instant) {
        if self.pass_on(false) && !self.begun.is_empty() {
            self.end_line(last);
            self.pass_on(false);
        }
    }
}

/// Joins the prompt and what is piped in, which names nothing. With a prompt, the first byte is waited for no longer than `patience`.
/// Returns an error if there is neither, or if the input is too large or breaks.
pub fn with_piped(
    prompt: Option<&str>,
    input: Option<impl Read + Send + 'static>,
    patience: Duration,
) -> anyhow::Result<UserText> {
    let prompt = prompt.unwrap_or_default().trim();
    let piped = match input {
        Some(input) => read(input, (!prompt.is_empty()).then_some(patience))?,
        None => Vec::new(),
    };
    let piped = String::from_utf8_lossy(&piped);
    let parts: Vec<&str> = [prompt, piped.trim()].into_iter().filter(|part| !part.is_empty()).collect();
    anyhow::ensure!(!parts.is_empty(), "no prompt given: pass one or pipe it in");
    Ok(UserText::typed(prompt).with_text(parts.join("\n\n")))
}

/// Reads to the end. If nothing at all arrives in time, that counts as nothing to read.
fn read(input: impl Read + Send + 'static, patience: Option<Duration>) -> anyhow::Result<Vec<u8>> {
    let pieces = pieces(input)?;
    let mut all = Vec::new();
    let mut next = match patience.map(|patience| pieces.recv_timeout(patience)) {
        Some(Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected)) => return Ok(all),
        Some(Ok(piece)) => Some(piece),
        None => pieces.recv().ok(),
    };
    while let Some(piece) = next {
        all.extend(piece.context("cannot read standard input")?.1);
        anyhow::ensure!(all.len() <= MAX_BYTES, "standard input is larger than {} MB", MAX_BYTES >> 20);
        next = pieces.recv().ok();
    }
    Ok(all)
}

/// Reads on a thread, which is left behind if nobody waits for it.
fn pieces(mut input: impl Read + Send + 'static) -> anyhow::Result<Receiver<io::Result<Piece>>> {
    let (sender, receiver) = channel();
    std::thread::Builder::new()
        .name("input".to_owned())
        .spawn(move || {
            let mut buffer = vec![0; 64 << 10];
            loop {
                let piece = match input.read(&mut buffer) {
                    Ok(0) => break,
                    Ok(count) => Ok((Instant::now(), buffer[..count].to_vec())),
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    Err(error) => Err(error),
                };
                let failed = piece.is_err();
                if sender.send(piece).is_err() || failed {
                    break;
                }
            }
        })
        .context("cannot read standard input")?;
    Ok(receiver)
}
