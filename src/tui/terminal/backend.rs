//! A drawing backend that gathers a frame and writes it at once.
//!
//! Owns the bytes between a frame's start and its end. Leaves encoding of cells to ratatui. Invariant: `flush` makes
//! at most one write, and none if neither a cell nor the cursor changed and nothing else was to be sent.

use std::io::{self, Write};
use std::ops::Range;

use crossterm::{cursor, queue, terminal};
use ratatui::backend::{Backend, ClearType, CrosstermBackend, WindowSize};
use ratatui::buffer::Cell;
use ratatui::layout::{Position, Size};

/// Bytes set aside for a frame at the start: a whole screen of many colours.
const FRAME_BYTES: usize = 64 * 1024;
/// A buffer that grew beyond this for one frame is not kept.
const MAX_KEPT_BYTES: usize = 1024 * 1024;

/// Makes the terminal hold back what it shows until [`END_UPDATE`] (DEC private mode 2026).
const BEGIN_UPDATE: &[u8; 8] = b"\x1b[?2026h";
const END_UPDATE: &[u8; 8] = b"\x1b[?2026l";

pub struct FrameBackend<W: Write> {
    out: W,
    frame: Vec<u8>,
    /// Where the cursor is shown on the terminal; `None` while it is hidden.
    shown: Option<Position>,
    /// Whether it is known where the terminal's cursor is.
    known: bool,
    wanted: Option<Position>,
    /// The size a test draws at; a terminal is asked.
    fixed: Option<Size>,
}

impl<W: Write> FrameBackend<W> {
    pub fn new(out: W) -> Self {
        let frame = Vec::with_capacity(FRAME_BYTES);
        Self { out, frame, shown: None, known: false, wanted: None, fixed: None }
    }

    /// Returns a backend of a given size that asks no terminal.
    pub fn with_size(out: W, size: Size) -> Self {
        Self { fixed: Some(size), ..Self::new(out) }
    }

    /// Empties the terminal with the next frame, which must then hold every cell.
    pub fn invalidate(&mut self) {
        self.known = false;
        let _ = queue!(self.frame, terminal::Clear(terminal::ClearType::All));
    }

    /// Sends what changes neither a cell nor the cursor, with the next frame.
    pub(super) fn send(&mut self, bytes: &[u8]) {
        self.frame.extend_from_slice(bytes);
    }

    /// Paints a picture that begins in a cell, over what was drawn.
    pub(super) fn paint(&mut self, at: Position, picture: &[u8]) {
        if self.shown.is_some() {
            let _ = queue!(self.frame, cursor::Hide);
        }
        self.known = false;
        let _ = queue!(self.frame, cursor::MoveTo(at.x, at.y));
        self.frame.extend_from_slice(picture);
    }

    /// Moves rows up within the terminal and leaves empty ones below them.
    ///
    /// By line feeds at the end of a scrolling region (DECSTBM), which every terminal knows, unlike `SU`.
    pub(super) fn scroll_up(&mut self, rows: Range<u16>, lines: u16) {
        let Range { start, end } = rows;
        if self.shown.is_some() {
            let _ = queue!(self.frame, cursor::Hide);
        }
        self.known = false;
        let feeds = "\n".repeat(usize::from(lines));
        // The rows that come in take the present colours: none.
        let _ = write!(self.frame, "\x1b[m\x1b[{};{end}r\x1b[{end};1H{feeds}\x1b[r", start + 1);
    }

    /// Writes what was gathered, inside a synchronized update.
    fn write_frame(&mut self) -> io::Result<()> {
        if self.frame.is_empty() {
            return Ok(());
        }
        let mut bytes = std::mem::take(&mut self.frame);
        // The start of the update is put before the cells here, so that an unchanged frame stays empty.
        bytes.splice(0..0, *BEGIN_UPDATE);
        bytes.extend_from_slice(END_UPDATE);
        let result = self.out.write_all(&bytes).and_then(|()| self.out.flush());
        bytes.clear();
        if bytes.capacity() <= MAX_KEPT_BYTES {
            self.frame = bytes;
        }
        result
    }

    pub fn writer(&self) -> &W {
        &self.out
    }
}

impl<W: Write> Backend for FrameBackend<W> {
    type Error = io::Error;

    fn draw<'a, I>(&mut self, content: I) -> io::Result<()>
    where
        I: Iterator<Item = (u16, u16, &'a Cell)>,
    {
        let mut content = content.peekable();
        if content.peek().is_none() {
            return Ok(());
        }
        // The cursor is hidden while cells are written, or it would be seen jumping on terminals that do not know
        // synchronized updates.
        if self.shown.is_some() {
            queue!(self.frame, cursor::Hide)?;
        }
        self.known = false;
        CrosstermBackend::new(&mut self.frame).draw(content)
    }

    fn hide_cursor(&mut self) -> io::Result<()> {
        self.wanted = None;
        Ok(())
    }

    fn show_cursor(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn get_cursor_position(&mut self) -> io::Result<Position> {
        Err(io::Error::new(io::ErrorKind::Unsupported, "the terminal is never asked where its cursor is"))
    }

    fn set_cursor_position<P: Into<Position>>(&mut self, position: P) -> io::Result<()> {
        self.wanted = Some(position.into());
        Ok(())
    }

    fn clear(&mut self) -> io::Result<()> {
        self.clear_region(ClearType::All)
    }

    fn clear_region(&mut self, region: ClearType) -> io::Result<()> {
        self.known = false;
        CrosstermBackend::new(&mut self.frame).clear_region(region)
    }

    fn size(&self) -> io::Result<Size> {
        self.fixed.map_or_else(|| CrosstermBackend::new(io::sink()).size(), Ok)
    }

    fn window_size(&mut self) -> io::Result<WindowSize> {
        match self.fixed {
            Some(size) => Ok(WindowSize { columns_rows: size, pixels: Size::default() }),
            None => CrosstermBackend::new(io::sink()).window_size(),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        if !self.known || self.wanted != self.shown {
            match self.wanted {
                Some(at) => queue!(self.frame, cursor::MoveTo(at.x, at.y), cursor::Show)?,
                None => queue!(self.frame, cursor::Hide)?,
            }
            self.shown = self.wanted;
            self.known = true;
        }
        self.write_frame()
    }
}
