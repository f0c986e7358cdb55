//! Two buffers: what the terminal shows, and the frame being drawn.
//!
//! Owns the comparison of both and the scrolling of whole rows by the terminal itself, which costs some bytes instead
//! of every cell that moved. Leaves bytes to `backend`, and to `painted` what is over cells. Invariants: what is drawn is
//! right whatever scrolling was hinted at; a wrong hint only costs bytes; no rows scroll with pictures over them, of which
//! each terminal makes something else.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{self, Write};
use std::num::NonZeroU16;
use std::ops::Range;

use ratatui::backend::Backend as _;
use ratatui::buffer::{Buffer, Cell, CellDiffOption, CellWidth as _};
use ratatui::layout::{Position, Rect, Size};

use super::FrameBackend;
use super::painted::{PaintedPictures, PlacedPicture};

/// Whole rows that moved up since the last frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scrolled {
    /// The rows among which they moved.
    pub rows: Range<u16>,
    /// By how many.
    pub lines: u16,
}

/// Cells of one row that lead to a web address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    pub area: Rect,
    pub url: String,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Linking {
    #[default]
    On,
    /// It would show the address itself.
    Off,
}

/// What a drawing says besides its cells.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Marks {
    /// Where the cursor stands; `None` hides it.
    pub cursor: Option<Position>,
    pub scrolled: Option<Scrolled>,
    pub links: Vec<Link>,
    /// What is sent before the cells.
    pub uploads: Vec<u8>,
    /// What is painted over them.
    pub pictures: Vec<PlacedPicture>,
}

pub struct Canvas<W: Write> {
    backend: FrameBackend<W>,
    shown: Buffer,
    next: Buffer,
    linking: Linking,
    painted: PaintedPictures,
}

impl<W: Write> Canvas<W> {
    /// Returns a canvas over an empty terminal.
    pub fn new(backend: FrameBackend<W>) -> Self {
        let (shown, next) = (Buffer::empty(Rect::ZERO), Buffer::empty(Rect::ZERO));
        Self { backend, shown, next, linking: Linking::On, painted: PaintedPictures::default() }
    }

    /// Returns the same canvas with links on or off.
    #[must_use]
    pub fn with_links(self, linking: Linking) -> Self {
        Self { linking, ..self }
    }

    /// Draws a frame: the cells that changed, in one write. Fails if the terminal is gone.
    pub fn draw(&mut self, render: impl FnOnce(&mut Buffer) -> Marks) -> io::Result<()> {
        let area = Rect::from((Position::ORIGIN, self.backend.size()?));
        if area != self.shown.area {
            self.shown = Buffer::empty(area);
            self.next.resize(area);
            self.backend.invalidate();
            self.painted.clear();
        }
        self.next.reset();
        let marks = render(&mut self.next);
        self.next.content.iter_mut().for_each(simplify);
        if self.linking == Linking::On {
            marks.links.iter().for_each(|link| lay(link, &mut self.next));
        }
        self.backend.send(&marks.uploads);
        if let Some(scrolled) = marks.scrolled.filter(|_| self.painted.is_empty()) {
            self.scroll(&scrolled);
        }
        self.painted.give_up(&marks.pictures, &mut self.shown);
        let written = self.shown.diff_iter(&self.next).map(|(x, y, _)| Position { x, y });
        let pictures = self.painted.take(marks.pictures, written);
        self.backend.draw(self.shown.diff_iter(&self.next))?;
        for picture in pictures {
            self.backend.paint(picture.area.as_position(), &picture.bytes);
        }
        match marks.cursor {
            Some(at) => self.backend.set_cursor_position(at)?,
            None => self.backend.hide_cursor()?,
        }
        self.backend.flush()?;
        std::mem::swap(&mut self.shown, &mut self.next);
        Ok(())
    }

    /// Makes the next frame write every cell.
    pub fn repaint(&mut self) {
        self.shown = Buffer::empty(Rect::ZERO);
    }

    /// Returns the terminal's size. Fails if the terminal is gone.
    pub fn size(&self) -> io::Result<Size> {
        self.backend.size()
    }

    /// Moves rows up on the terminal, and in the picture of what it shows.
    fn scroll(&mut self, scrolled: &Scrolled) {
        let area = self.shown.area;
        let rows = scrolled.rows.start..scrolled.rows.end.min(area.height);
        if scrolled.lines == 0 || rows.len() <= usize::from(scrolled.lines) {
            return;
        }
        self.backend.scroll_up(rows.clone(), scrolled.lines);
        let width = usize::from(area.width);
        let cells = &mut self.shown.content[usize::from(rows.start) * width..usize::from(rows.end) * width];
        let gone = usize::from(scrolled.lines) * width;
        cells.rotate_left(gone);
        let kept = cells.len() - gone;
        cells[kept..].fill(Cell::EMPTY);
    }
}

/// Keeps only the first picture of several that are joined into one, and takes tones off. Many terminals do not join
/// them: what takes two columns here would take eight there, and at the end of a row go on in the next.
fn simplify(cell: &mut Cell) {
    const JOINER: char = '\u{200D}';
    // No single picture takes more bytes.
    if cell.symbol().len() <= 4 {
        return;
    }
    let joins = |c: char| matches!(c, JOINER | '\u{1F3FB}'..='\u{1F3FF}' | '\u{E0020}'..='\u{E007F}');
    if let Some((at, _)) = cell.symbol().char_indices().skip(1).find(|(_, c)| joins(*c)) {
        let first = cell.symbol()[..at].to_owned();
        cell.set_symbol(&first);
    }
}

/// Makes each cell of a link open and close it (OSC 8), because cells are written one by one and in any order; the id
/// says that they belong together. A link that changed makes the cell differ.
fn lay(link: &Link, buf: &mut Buffer) {
    // What could end the sequence, or its field, cannot stand in an address as it is.
    let safe = |c: char| if c.is_ascii_graphic() && c != ';' { c.to_string() } else { escaped(c) };
    let url: String = link.url.chars().map(safe).collect();
    let mut hasher = DefaultHasher::new();
    url.hash(&mut hasher);
    let id = hasher.finish() & 0xffff_ffff;
    let area = link.area.intersection(buf.area);
    for y in area.y..area.bottom() {
        let mut x = area.x;
        while x < area.right() {
            let cell = &mut buf[(x, y)];
            // What a wide sign covers is not written, or it would be written over the sign.
            let columns = NonZeroU16::new(cell.cell_width()).unwrap_or(NonZeroU16::MIN);
            let symbol = format!("\x1b]8;id={id:x};{url}\x1b\\{}\x1b]8;;\x1b\\", cell.symbol());
            cell.set_symbol(&symbol).set_diff_option(CellDiffOption::ForcedWidth(columns));
            x = x.saturating_add(columns.get());
        }
    }
}

/// Returns a sign as an address spells it.
fn escaped(c: char) -> String {
    let mut bytes = [0; 4];
    c.encode_utf8(&mut bytes).bytes().map(|byte| format!("%{byte:02X}")).collect()
}
