//! From the terminal library's events to plain data.
//!
//! Owns the translation and the stream. Leaves meaning to `app`. Invariant: at most one stream exists at a time, and
//! none while another program owns the terminal.

use std::fs::File;
use std::io::{self, IsTerminal as _};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use crossterm::event::{
    self, Event, KeyCode as Code, KeyEvent, KeyEventKind, KeyModifiers, MouseButton, MouseEvent, MouseEventKind,
};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use tokio::sync::mpsc;

use super::answer::{AnswerFilter, AwaitedAnswer};
use super::attributes::{SixelListener, await_answer};
use crate::app::key::{Input, Key, KeyCode, Mods, Mouse, MouseKind};

/// What the terminal sends, as it comes.
///
/// A thread of its own waits for the terminal and reads it only while there is something to read: the library's
/// reader never returns once the terminal is gone, so it must neither be asked then nor run where anything waits for
/// it. Drop the stream before another program (an editor, the shell after a suspend) takes the terminal, and open a
/// new one after. The library holds a bracketed paste back until its end arrives; one that never ends holds back
/// everything after it, and the library offers no way to see or end it (crossterm issue 1060).
#[derive(Debug)]
pub struct InputStream {
    inputs: mpsc::UnboundedReceiver<io::Result<Input>>,
    /// Closing it ends the thread.
    open: Option<UnixStream>,
    /// Closed by the end of the thread.
    ended: std::sync::mpsc::Receiver<()>,
}

/// How long the end of the thread is waited for. It may stand in the middle of a sequence that never ends.
const END_GRACE: Duration = Duration::from_millis(100);

/// How long the library may look for input once there is some. It looks at what it has read already, too, but not at
/// all if its time is over before it has begun, as happens to a thread that has to wait for a processor: keys that it
/// holds would then lie there until the next one is pressed.
const LOOK: Duration = Duration::from_millis(25);
/// How long the rest of an answer of the terminal is waited for, of which the beginning has come.
const REST: Duration = Duration::from_millis(100);
/// A look that took longer than this was held up and is made again.
const LATE: Duration = Duration::from_millis(28);

impl InputStream {
    /// Starts to read. `awaited` are the terminal's answers to what it was asked; `sixel` hears the one that comes before
    /// all else. Fails if there is no terminal, or no thread can be started.
    pub(super) fn open(awaited: Vec<AwaitedAnswer>, sixel: Option<SixelListener>) -> io::Result<Self> {
        let terminal = terminal()?;
        let (open, closed) = UnixStream::pair()?;
        let (sender, inputs) = mpsc::unbounded_channel();
        let (ending, ended) = std::sync::mpsc::channel::<()>();
        std::thread::Builder::new().name("input".to_owned()).spawn(move || {
            let mut reader = Reader { answers: AnswerFilter::new(awaited), inputs: sender };
            if let Err(error) = reader.read_until_closed(terminal.as_fd(), closed.as_fd(), sixel) {
                let _ = reader.inputs.send(Err(error));
            }
            drop(ending);
        })?;
        Ok(Self { inputs, open: Some(open), ended })
    }

    /// Waits for the next input; `None` when nothing more will come. Fails if the terminal is gone, or cannot be read
    /// any more.
    pub async fn next(&mut self) -> Option<io::Result<Input>> {
        self.inputs.recv().await
    }

    /// Returns the next input if it is there already.
    pub fn ready(&mut self) -> Option<io::Result<Input>> {
        self.inputs.try_recv().ok()
    }
}

impl Drop for InputStream {
    fn drop(&mut self) {
        self.open = None;
        let _ = self.ended.recv_timeout(END_GRACE);
    }
}

/// Returns the terminal that the library reads: standard input, or the controlling terminal if that is something else.
fn terminal() -> io::Result<OwnedFd> {
    let stdin = io::stdin();
    if stdin.is_terminal() { stdin.as_fd().try_clone_to_owned() } else { Ok(File::open("/dev/tty")?.into()) }
}

/// What reads the terminal.
struct Reader {
    answers: AnswerFilter,
    inputs: mpsc::UnboundedSender<io::Result<Input>>,
}

impl Reader {
    fn read_until_closed(
        &mut self,
        terminal: BorrowedFd<'_>,
        closed: BorrowedFd<'_>,
        sixel: Option<SixelListener>,
    ) -> io::Result<()> {
        let gone = PollFlags::POLLHUP | PollFlags::POLLERR | PollFlags::POLLNVAL;
        if let Some(listener) = sixel {
            await_answer(terminal, closed, listener, || self.read_ready())?;
            self.read_held()?;
        }
        loop {
            let mut waiting = [PollFd::new(terminal, PollFlags::POLLIN), PollFd::new(closed, PollFlags::POLLIN)];
            match poll(&mut waiting, PollTimeout::NONE) {
                Err(Errno::EINTR) => continue,
                other => other?,
            };
            let [terminal, closed] = waiting.map(|fd| fd.revents().unwrap_or(PollFlags::empty()));
            if !closed.is_empty() {
                return Ok(());
            }
            if terminal.intersects(gone) {
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the terminal was closed"));
            }
            self.read_ready()?;
            self.read_held()?;
        }
    }

    /// Reads what there is.
    fn read_ready(&mut self) -> io::Result<()> {
        loop {
            let began = Instant::now();
            if event::poll(LOOK)? {
                let events = self.answers.take(event::read()?);
                self.hand_on(events);
            } else if began.elapsed() < LATE {
                return Ok(());
            }
        }
    }

    /// Reads the rest of what may be an answer, until it is one, or is none.
    fn read_held(&mut self) -> io::Result<()> {
        while self.answers.is_holding() {
            let events = if event::poll(REST)? { self.answers.take(event::read()?) } else { self.answers.release() };
            self.hand_on(events);
        }
        Ok(())
    }

    fn hand_on(&self, events: Vec<Event>) {
        for input in events.into_iter().filter_map(translate) {
            let _ = self.inputs.send(Ok(input));
        }
    }
}

/// Returns an event as plain data; `None` for what the program has no use for.
pub fn translate(event: Event) -> Option<Input> {
    match event {
        Event::Key(key) => translate_key(key).map(Input::Key),
        Event::Paste(text) => Some(Input::Paste(normalise_paste(text))),
        Event::Mouse(mouse) => translate_mouse(mouse).map(Input::Mouse),
        Event::Resize(width, height) => Some(Input::Resize { width, height }),
        Event::FocusGained => Some(Input::FocusGained),
        Event::FocusLost => Some(Input::FocusLost),
    }
}

/// Terminals send line ends of a paste as carriage returns.
fn normalise_paste(text: String) -> String {
    if text.contains('\r') { text.replace("\r\n", "\n").replace('\r', "\n") } else { text }
}

fn translate_key(event: KeyEvent) -> Option<Key> {
    if event.kind == KeyEventKind::Release {
        return None;
    }
    let held = [
        (KeyModifiers::SHIFT, Mods::SHIFT),
        (KeyModifiers::ALT, Mods::ALT),
        (KeyModifiers::META, Mods::ALT),
        (KeyModifiers::CONTROL, Mods::CTRL),
    ];
    let mut mods = held
        .into_iter()
        .filter(|(theirs, _)| event.modifiers.contains(*theirs))
        .fold(Mods::NONE, |mods, (_, ours)| mods.with(ours));
    let code = match event.code {
        Code::Char(c) => KeyCode::Char(c),
        Code::Enter => KeyCode::Enter,
        Code::Esc => KeyCode::Esc,
        Code::Tab => KeyCode::Tab,
        Code::BackTab => {
            mods = mods.with(Mods::SHIFT);
            KeyCode::Tab
        }
        Code::Backspace => KeyCode::Backspace,
        Code::Delete => KeyCode::Delete,
        Code::Insert => KeyCode::Insert,
        Code::Up => KeyCode::Up,
        Code::Down => KeyCode::Down,
        Code::Left => KeyCode::Left,
        Code::Right => KeyCode::Right,
        Code::Home => KeyCode::Home,
        Code::End => KeyCode::End,
        Code::PageUp => KeyCode::PageUp,
        Code::PageDown => KeyCode::PageDown,
        Code::F(number) => KeyCode::F(number),
        _ => return None,
    };
    Some(Key::new(code, mods))
}

fn translate_mouse(event: MouseEvent) -> Option<Mouse> {
    let kind = match event.kind {
        MouseEventKind::Down(MouseButton::Left) => MouseKind::Press,
        MouseEventKind::Drag(MouseButton::Left) => MouseKind::Drag,
        MouseEventKind::Up(MouseButton::Left) => MouseKind::Release,
        MouseEventKind::ScrollUp => MouseKind::WheelUp,
        MouseEventKind::ScrollDown => MouseKind::WheelDown,
        _ => return None,
    };
    Some(Mouse { kind, column: event.column, row: event.row })
}
