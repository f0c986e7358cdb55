//! The terminal: taken, drawn on, and given back in every way out.
//!
//! Owns the modes of the terminal and the way of a frame to it. Leaves what is drawn to `view` and input to `input`.
//! Invariants: a frame is one write; nothing is written when no cell changed; whoever ends the program, the terminal
//! is as it was before; nothing is asked of the terminal whose answer the input stream would take for keys.

use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use crossterm::{cursor, event, execute, queue, terminal};
use ratatui::buffer::Buffer;
use ratatui::layout::Size;

use self::program_status::StatusReporter;
use crate::app::{MouseCapture, ProgramStatus};

mod backend;
mod canvas;
mod painted;
pub mod program_status;

pub use backend::FrameBackend;
pub use canvas::{Canvas, Link, Linking, Marks, Scrolled};
pub use painted::PlacedPicture;

/// Whether this process has changed the terminal's modes.
static TAKEN: AtomicBool = AtomicBool::new(false);

/// Returns what sets the title of the terminal's window, whatever the title holds: nothing in it ends the sequence.
pub fn title_sequence(title: &str) -> String {
    let mut sequence = String::new();
    let command = terminal::SetTitle(crate::message::sanitize_line(title));
    // Writing to a string does not fail.
    let _ = crossterm::Command::write_ansi(&command, &mut sequence);
    sequence
}

/// Returns what has tmux hand a sequence on to its terminal. It does so where the user has set `allow-passthrough`, and else
/// drops it.
pub fn through_tmux(sequence: &str) -> String {
    format!("\x1bPtmux;{}\x1b\\", sequence.replace('\x1b', "\x1b\x1b"))
}

/// The terminal while the program has it. Dropping it gives it back.
pub struct Terminal {
    canvas: Canvas<io::Stdout>,
    mouse: MouseCapture,
    reporter: StatusReporter,
}

impl Terminal {
    /// Takes the terminal: alternate screen, raw mode, paste, focus and mouse reports. `question` is asked before the screen
    /// is emptied, so that nothing of it stays on a terminal that does not know it. Fails if standard output is no
    /// terminal, or cannot be written.
    pub fn enter(mouse: MouseCapture, question: &[u8], reporter: StatusReporter) -> io::Result<Self> {
        let canvas =
            Canvas::new(FrameBackend::new(io::stdout())).with_links(linking(std::env::var("TERM").ok().as_deref()));
        canvas.size()?;
        take(mouse, question).inspect_err(|_| restore())?;
        Ok(Self { canvas, mouse, reporter })
    }

    /// Draws a frame: the cells that changed, in one write. Fails if the terminal is gone; the program cannot go on
    /// drawing.
    pub fn draw(&mut self, render: impl FnOnce(&mut Buffer) -> Marks) -> io::Result<()> {
        self.canvas.draw(render)
    }

    /// Makes the next frame write every cell, for when something else has written to the terminal.
    pub fn repaint(&mut self) {
        self.canvas.repaint();
    }

    /// Returns the size in columns and rows. Fails if the terminal is gone.
    pub fn size(&self) -> io::Result<Size> {
        self.canvas.size()
    }

    /// Chooses who gets what the mouse does. Fails if the terminal is gone.
    pub fn set_mouse(&mut self, mouse: MouseCapture) -> io::Result<()> {
        self.mouse = mouse;
        write(match mouse {
            MouseCapture::On => MOUSE_ON,
            MouseCapture::Off => MOUSE_OFF,
        })
    }

    /// Tells the terminal how the agents are, also by its title. Fails if it is gone.
    pub fn tell(&mut self, status: &ProgramStatus) -> io::Result<()> {
        let bytes = self.reporter.bytes(status);
        self.notify(&bytes)
    }

    /// Copies text to the clipboard of the user's machine, through the terminal (OSC 52). Fails if the terminal is
    /// gone.
    pub fn copy(&mut self, text: &str) -> io::Result<()> {
        execute!(io::stdout(), crossterm::clipboard::CopyToClipboard::to_clipboard_from(text))
    }

    /// Writes a notification for a user who looks elsewhere. Fails if the terminal is gone.
    pub fn notify(&mut self, bytes: &[u8]) -> io::Result<()> {
        if bytes.is_empty() { Ok(()) } else { write(bytes) }
    }

    /// Returns width and height of a cell in pixels, if the terminal says so.
    #[must_use]
    pub fn cell_pixels() -> Option<(u16, u16)> {
        let size = terminal::window_size().ok()?;
        Some((size.width.checked_div(size.columns)?, size.height.checked_div(size.rows)?))
    }

    /// Gives the terminal back for a while: to an editor, a pager, or the shell. The input stream must be dropped
    /// before.
    pub fn suspend(&mut self) {
        restore();
    }

    /// Takes the terminal again after [`Terminal::suspend`]; the next frame is complete. Fails if the terminal is gone.
    pub fn resume(&mut self) -> io::Result<()> {
        take(self.mouse, b"")?;
        self.repaint();
        Ok(())
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // A terminal that is gone has forgotten it.
        let _ = write(&self.reporter.take_back());
        restore();
    }
}

/// Says whether a terminal of this type passes over the sequences of links, if it does not know them.
pub fn linking(term: Option<&str>) -> Linking {
    match term {
        None | Some("" | "dumb" | "linux") => Linking::Off,
        Some(_) => Linking::On,
    }
}

/// Makes `alt` with a key send escape and the key. A plain xterm would write an accented letter instead. The mode is
/// saved before, because other terminals begin with it on.
const ALT_SENDS_ESCAPE: &[u8] = b"\x1b[?1036s\x1b[?1039s\x1b[?1036h\x1b[?1039h";
/// Takes the saved modes back.
const ALT_AS_BEFORE: &[u8] = b"\x1b[?1039r\x1b[?1036r";

/// Presses, drags and the wheel, in the one encoding that knows large screens. The library's own command would also
/// report every move of the pointer.
const MOUSE_ON: &[u8] = b"\x1b[?1000h\x1b[?1002h\x1b[?1006h";
const MOUSE_OFF: &[u8] = b"\x1b[?1006l\x1b[?1002l\x1b[?1000l";

/// Changes the terminal's modes in one write.
fn take(mouse: MouseCapture, question: &[u8]) -> io::Result<()> {
    // Before the first change, so that a panic or a signal in between finds something to undo.
    TAKEN.store(true, Ordering::SeqCst);
    terminal::enable_raw_mode()?;
    let mut bytes = Vec::new();
    queue!(bytes, terminal::EnterAlternateScreen)?;
    bytes.write_all(question)?;
    queue!(
        bytes,
        terminal::Clear(terminal::ClearType::All),
        event::EnableBracketedPaste,
        event::EnableFocusChange,
        // Pushed without asking: terminals that do not know it ignore it, and asking would delay the first frame.
        event::PushKeyboardEnhancementFlags(event::KeyboardEnhancementFlags::DISAMBIGUATE_ESCAPE_CODES),
        cursor::Hide
    )?;
    bytes.write_all(ALT_SENDS_ESCAPE)?;
    if mouse == MouseCapture::On {
        bytes.write_all(MOUSE_ON)?;
    }
    write(&bytes)
}

fn write(bytes: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(bytes)?;
    out.flush()
}

/// Gives the terminal back, if this process has it. May be called at any time, from any thread, any number of times.
///
/// Errors are passed over: there is nobody left to tell.
pub fn restore() {
    if !TAKEN.swap(false, Ordering::SeqCst) {
        return;
    }
    let mut bytes = Vec::new();
    let _ = queue!(bytes, terminal::EndSynchronizedUpdate);
    bytes.extend_from_slice(MOUSE_OFF);
    bytes.extend_from_slice(ALT_AS_BEFORE);
    let _ = queue!(
        bytes,
        event::PopKeyboardEnhancementFlags,
        event::DisableFocusChange,
        event::DisableBracketedPaste,
        crossterm::style::ResetColor,
        terminal::LeaveAlternateScreen,
        cursor::Show
    );
    let _ = write(&bytes);
    let _ = terminal::disable_raw_mode();
}

/// Makes a panic of this thread, which draws, give the terminal back before it is reported, and say where the log is.
///
/// A panic of another thread is logged only: it is caught where its work is awaited, and the screen goes on.
pub fn install_panic_hook(log: Option<PathBuf>) {
    let screen = std::thread::current().id();
    let previous = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if std::thread::current().id() != screen && TAKEN.load(Ordering::SeqCst) {
            tracing::error!("{panic}");
            return;
        }
        restore();
        previous(panic);
        if let Some(log) = &log {
            let _ = writeln!(io::stderr(), "This is a bug in Belvedere. The log is in {}", log.display());
        }
    }));
}
