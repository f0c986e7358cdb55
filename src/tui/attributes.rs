//! What a terminal says of its abilities, before the library reads from it.
//!
//! Owns reading the answer to the question about sixel. The library takes it for itself and does not say what was in it, so
//! it is read here, and all else that came meanwhile is given to the library as if the terminal had sent it then. Invariants:
//! nothing that was typed is lost or changes its place; a terminal that does not answer holds up input for three seconds at most.

use std::io::{self, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use crossterm::event;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

/// How long the answer is waited for.
const ANSWER_WAIT: Duration = Duration::from_secs(3);
/// Bytes of one read.
const CHUNK: usize = 1_024;
/// Bytes after which no more is waited for: somebody pastes.
const MAX_BYTES: usize = 4 * CHUNK;
/// The ability to draw sixel, among the attributes.
const SIXEL: &str = "4";
/// The registers that a terminal has which does not say how many.
const USUAL_COLORS: u16 = 256;

/// What a terminal says of sixel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SixelAnswer {
    pub(super) is_able: bool,
    /// Color registers.
    pub(super) colors: u16,
}

/// Hears the answer, once.
pub(super) type SixelListener = Box<dyn FnOnce(SixelAnswer) + Send>;

/// Waits for the answer and tells the listener. `read` has the library read all that it has, which is what else came. Returns
/// early when `closed` is.
pub(super) fn await_answer(
    terminal: BorrowedFd<'_>,
    closed: BorrowedFd<'_>,
    listener: SixelListener,
    read: impl FnOnce() -> io::Result<()>,
) -> io::Result<()> {
    let mut bytes = Vec::new();
    let deadline = Instant::now() + ANSWER_WAIT;
    let answer = loop {
        if let Some(answer) = take_answer(&mut bytes) {
            break Some(answer);
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() || bytes.len() >= MAX_BYTES {
            break None;
        }
        let mut waiting = [PollFd::new(terminal, PollFlags::POLLIN), PollFd::new(closed, PollFlags::POLLIN)];
        match poll(&mut waiting, PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX)) {
            Err(Errno::EINTR) => continue,
            other => other?,
        };
        let [input, closed] = waiting.map(|fd| fd.revents().unwrap_or(PollFlags::empty()));
        if !closed.is_empty() {
            break None;
        }
        if input.contains(PollFlags::POLLIN) {
            let mut chunk = [0; CHUNK];
            let count = nix::unistd::read(terminal, &mut chunk)?;
            bytes.extend_from_slice(&chunk[..count]);
        } else if !input.is_empty() {
            // It is gone, as whoever reads it next finds out.
            break None;
        }
    };
    if let Some(answer) = answer {
        listener(answer);
    }
    if bytes.is_empty() { Ok(()) } else { give_back(&bytes, read) }
}

/// Takes the answer out of what was read, once it is whole.
fn take_answer(bytes: &mut Vec<u8>) -> Option<SixelAnswer> {
    let attributes = take_report(bytes, b'c')?;
    // The first one is what it is, and not what it can.
    let is_able = attributes.split(';').skip(1).any(|attribute| attribute == SIXEL);
    // The registers: that is what it was asked, that the answer holds, how many.
    let registers = take_report(bytes, b'S').and_then(|report| report.strip_prefix("1;0;")?.parse().ok());
    Some(SixelAnswer { is_able, colors: registers.unwrap_or(USUAL_COLORS) })
}

/// Takes out a report that has this end, `CSI ? NUMBERS END`, and returns the numbers.
fn take_report(bytes: &mut Vec<u8>, end: u8) -> Option<String> {
    const BEGINNING: &[u8] = b"\x1b[?";
    let reports = memchr::memmem::find_iter(bytes, BEGINNING).map(|start| {
        let numbers = &bytes[start + BEGINNING.len()..];
        let length = numbers.iter().take_while(|byte| byte.is_ascii_digit() || **byte == b';').count();
        (start, length)
    });
    let is_it = |(start, length): &(usize, usize)| bytes.get(start + BEGINNING.len() + length) == Some(&end);
    let (start, length) = reports.into_iter().find(is_it)?;
    let report: Vec<u8> = bytes.drain(start..=start + BEGINNING.len() + length).collect();
    String::from_utf8(report[BEGINNING.len()..BEGINNING.len() + length].to_vec()).ok()
}

/// Lets the library read bytes that the terminal has sent: from its standard input, which is something else meanwhile.
fn give_back(bytes: &[u8], read: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
    // The library looks for the terminal at the first call, and must find it.
    event::poll(Duration::ZERO)?;
    let (reader, mut writer) = UnixStream::pair()?;
    reader.set_nonblocking(true)?;
    writer.write_all(bytes)?;
    let stdin = Stdin::replaced(reader.as_fd())?;
    read()?;
    drop(stdin);
    Ok(())
}

/// Standard input as it was. Dropping it puts it back.
struct Stdin(OwnedFd);

impl Stdin {
    fn replaced(by: BorrowedFd<'_>) -> io::Result<Self> {
        let before = io::stdin().as_fd().try_clone_to_owned()?;
        nix::unistd::dup2_stdin(by)?;
        Ok(Self(before))
    }
}

impl Drop for Stdin {
    fn drop(&mut self) {
        let _ = nix::unistd::dup2_stdin(&self.0);
    }
}
