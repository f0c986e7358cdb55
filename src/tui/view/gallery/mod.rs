//! Pictures of a conversation, shown by the terminal itself.
//!
//! Owns which are on the terminal and the thread that decodes them. By the protocol of kitty a picture is sent once, and
//! each of its cells is a sign that is drawn, scrolled and covered like any text. By sixel and by that of iTerm2 its pixels are
//! painted over cells: the signs say where, and are taken out of the frame. Leaves keeping pictures to `session`, asking the
//! terminal and painting to `terminal`. Invariants: nothing is sent to a terminal that has not answered; what is sent was
//! decoded and written anew by us, within bounds; the screen does not wait for decoding.

mod kitty;
mod painting;
mod placeholder;
mod sixel;

use std::collections::{HashMap, HashSet, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use ratatui::buffer::Buffer;
use ratatui::text::Line;

use self::painting::Painting;
pub(super) use self::placeholder::PLACEHOLDER;
use self::placeholder::{INDENT, VisiblePart};
use super::super::terminal::PlacedPicture;
use super::render_context::RenderContext;
use crate::app::CellKind;
use crate::message::{Thumbnail, picture_numbers};

/// Cells of the largest picture.
const MAX_COLUMNS: u32 = 60;
const MAX_ROWS: u32 = 14;
/// Pixels of a side that is sent.
const MAX_SIDE: u32 = 800;
/// Pictures of one cell of the transcript.
const MAX_IN_CELL: usize = 4;
/// Pictures that the terminal holds, or that are held for it.
const MAX_HELD: usize = 64;
/// Bytes of pictures that are held to be painted: more than a large screen shows.
const MAX_HELD_BYTES: usize = 64 << 20;
/// Width and height of a cell in pixels where the terminal does not say.
const USUAL_CELL: (u16, u16) = (10, 20);
/// What all our pictures have in common in the terminal, before their number.
const ID: u32 = 0x00be_0000;

/// How a terminal shows pictures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PictureProtocol {
    Kitty,
    /// With so many color registers.
    Sixel {
        colors: u16,
    },
    Iterm,
}

/// The pictures that the terminal shows; clones share them.
#[derive(Clone)]
pub struct Gallery(Arc<Shared>);

struct Shared {
    state: Mutex<State>,
    load: Box<dyn Fn(u32) -> Option<Vec<u8>> + Send + Sync>,
    wake: Box<dyn Fn() + Send + Sync>,
}

#[derive(Default)]
struct State {
    /// Numbers for the thread; `None` as long as the terminal shows no pictures.
    jobs: Option<Sender<u32>>,
    format: Format,
    pending: HashSet<u32>,
    /// What is known of a picture; `None` if it cannot be shown.
    known: HashMap<u32, Option<ShownPicture>>,
    /// Those that the terminal holds, or that are held for it, the oldest first.
    held: VecDeque<u32>,
    /// What is to be sent before the next frame.
    uploads: Vec<u8>,
    /// Those that are painted over cells, by their ids.
    paintings: HashMap<u32, Painting>,
    /// The parts that the last frame showed.
    parts: Vec<(VisiblePart, Arc<[u8]>)>,
    changes: u64,
}

/// What pictures are made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Format {
    protocol: PictureProtocol,
    /// Width and height of a cell in pixels.
    cell: (u32, u32),
}

impl Default for Format {
    fn default() -> Self {
        Self { protocol: PictureProtocol::Kitty, cell: (USUAL_CELL.0.into(), USUAL_CELL.1.into()) }
    }
}

/// A picture on the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShownPicture {
    id: u32,
    pub columns: u16,
    pub rows: u16,
}

impl Gallery {
    /// Returns a gallery for a terminal that has not answered yet. `load` returns the bytes of a picture by its number, and
    /// `wake` is called when another one can be shown; both by another thread.
    pub fn new(
        load: impl Fn(u32) -> Option<Vec<u8>> + Send + Sync + 'static,
        wake: impl Fn() + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(Shared { state: Mutex::default(), load: Box::new(load), wake: Box::new(wake) }))
    }

    /// Returns a gallery that shows nothing.
    #[must_use]
    pub fn off() -> Self {
        Self::new(|_| None, || {})
    }

    /// Begins to show pictures: the terminal can. `cell` is the width and height of its cells in pixels, if it says so.
    pub fn switch_on(&self, protocol: PictureProtocol, cell: Option<(u16, u16)>) {
        let (jobs, waiting) = channel();
        let shared = Arc::downgrade(&self.0);
        let started = std::thread::Builder::new().name("pictures".to_owned()).spawn(move || work(&shared, &waiting));
        let mut state = self.state();
        state.format.protocol = protocol;
        state.format.cell = usable(cell).unwrap_or(state.format.cell);
        state.jobs = started.is_ok().then_some(jobs);
        state.changes += 1;
        drop(state);
        (self.0.wake)();
    }

    /// Takes in how large cells are now. What is painted over them is made anew if that has changed.
    pub fn measure(&self, cell: Option<(u16, u16)>) {
        let Some(cell) = usable(cell) else { return };
        let mut state = self.state();
        if state.is_painting() && state.format.cell != cell {
            state.format.cell = cell;
            state.forget();
        }
    }

    /// Returns how often what it shows has changed.
    pub(super) fn changes(&self) -> u64 {
        self.state().changes
    }

    /// Returns what takes all pictures from the terminal, which then holds none. Those that were painted over its cells go
    /// with the screen.
    #[must_use]
    pub fn take_down(&self) -> Vec<u8> {
        let mut state = self.state();
        state.uploads.clear();
        if state.is_painting() {
            return Vec::new();
        }
        let held: Vec<u32> = state.held.drain(..).collect();
        let shown = held.iter().filter_map(|number| state.known.remove(number)?);
        shown.flat_map(kitty::removal).collect()
    }

    /// Forgets what the terminal holds: another program has had it.
    pub fn forget(&self) {
        self.state().forget();
    }

    /// Returns a picture that the terminal holds. It is asked for if it does not.
    fn shown(&self, number: u32) -> Option<ShownPicture> {
        let mut state = self.state();
        let jobs = state.jobs.clone()?;
        if let Some(known) = state.known.get(&number) {
            return *known;
        }
        if state.pending.insert(number) {
            // Without its thread it stays a text.
            let _ = jobs.send(number);
        }
        None
    }

    /// Takes what is to be sent before the next frame.
    pub(super) fn take_uploads(&self) -> Vec<u8> {
        std::mem::take(&mut self.state().uploads)
    }

    /// Takes the signs of pictures that are painted over cells out of a frame, and returns what is to be painted.
    pub(super) fn take_placed(&self, buf: &mut Buffer) -> Vec<PlacedPicture> {
        let mut state = self.state();
        if !state.is_painting() || state.jobs.is_none() {
            return Vec::new();
        }
        let visible = placeholder::take_visible(buf, |id| Some(state.paintings.get(&id)?.columns));
        let before = std::mem::take(&mut state.parts);
        let mut placed = Vec::with_capacity(visible.len());
        for part in visible {
            let is_same = |(one, _): &&(VisiblePart, _)| (one.id, &one.rows) == (part.id, &part.rows);
            let known = before.iter().chain(&state.parts).find(is_same).map(|(_, bytes)| bytes.clone());
            let made = || Some(state.paintings.get(&part.id)?.part(part.rows.clone()));
            let Some(bytes) = known.or_else(made) else { continue };
            placed.push(PlacedPicture { area: part.area, bytes: bytes.clone() });
            state.parts.push((part, bytes));
        }
        placed
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state()
    }
}

/// Returns width and height of a cell, if both are known.
fn usable(cell: Option<(u16, u16)>) -> Option<(u32, u32)> {
    let (width, height) = cell.filter(|(width, height)| *width > 0 && *height > 0)?;
    Some((width.into(), height.into()))
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Returns `true` if pictures are painted over cells, and the terminal holds none.
    fn is_painting(&self) -> bool {
        self.format.protocol != PictureProtocol::Kitty
    }

    fn forget(&mut self) {
        self.known.clear();
        self.held.clear();
        self.paintings.clear();
        self.parts.clear();
        self.changes += 1;
    }

    /// Takes in a picture, and drops the oldest ones that are too many.
    fn hold(&mut self, number: u32, made: MadePicture) {
        self.uploads.extend(made.upload);
        self.held.push_back(number);
        self.paintings.extend(made.painting.map(|painting| (made.shown.id, painting)));
        let is_too_much = |state: &Self| {
            let bytes: usize = state.paintings.values().map(Painting::size).sum();
            state.held.len() > MAX_HELD || (bytes > MAX_HELD_BYTES && state.held.len() > 1)
        };
        while is_too_much(self)
            && let Some(oldest) = self.held.pop_front()
            && let Some(Some(gone)) = self.known.remove(&oldest)
        {
            self.paintings.remove(&gone.id);
            if !self.is_painting() {
                self.uploads.extend(kitty::removal(gone));
            }
        }
        self.changes += 1;
    }
}

/// Decodes what is asked for, until nobody can ask any more.
fn work(shared: &Weak<Shared>, waiting: &Receiver<u32>) {
    while let Ok(number) = waiting.recv() {
        let Some(shared) = shared.upgrade() else { return };
        let format = shared.state().format;
        // A decoder that panics costs one picture.
        let made = || MadePicture::of(number, &(shared.load)(number)?, format);
        let made = catch_unwind(AssertUnwindSafe(made)).ok().flatten();
        let mut state = shared.state();
        state.pending.remove(&number);
        if state.format == format {
            state.known.insert(number, made.as_ref().map(|made| made.shown));
            let Some(made) = made else { continue };
            state.hold(number, made);
        } else {
            // Cells have another size by now: it is asked for again.
            state.changes += 1;
        }
        drop(state);
        (shared.wake)();
    }
}

/// A picture as it is shown, and what does that.
struct MadePicture {
    shown: ShownPicture,
    upload: Vec<u8>,
    painting: Option<Painting>,
}

impl MadePicture {
    fn of(number: u32, bytes: &[u8], Format { protocol, cell }: Format) -> Option<Self> {
        let id = ID | u32::from(u16::try_from(number).ok()?);
        let painting = match protocol {
            PictureProtocol::Kitty => {
                let room = ((MAX_COLUMNS * cell.0).min(MAX_SIDE), (MAX_ROWS * cell.1).min(MAX_SIDE));
                let picture = Thumbnail::of(bytes, room)?;
                let (columns, rows) = painting::cells((picture.width, picture.height), cell)?;
                let shown = ShownPicture { id, columns, rows };
                return Some(Self { shown, upload: kitty::upload(shown, &picture.png()?), painting: None });
            }
            PictureProtocol::Sixel { colors } => Painting::sixel(bytes, cell, colors)?,
            PictureProtocol::Iterm => Painting::iterm(bytes, cell)?,
        };
        let shown = ShownPicture { id, columns: painting.columns, rows: painting.rows };
        Some(Self { shown, upload: Vec::new(), painting: Some(painting) })
    }
}

/// Returns the rows of the pictures of a cell that the terminal holds and that fit into so many columns.
pub(super) fn lines(kind: &CellKind, columns: u16, ctx: &RenderContext<'_>) -> Vec<Line<'static>> {
    let numbers = match kind {
        CellKind::User { text } => picture_numbers(text),
        CellKind::Tool(tool) => tool.pictures.clone(),
        _ => Vec::new(),
    };
    let shown = numbers.into_iter().take(MAX_IN_CELL).filter_map(|number| ctx.gallery.shown(number));
    shown.filter(|picture| picture.columns + INDENT <= columns).flat_map(placeholder::lines).collect()
}

/// Returns `true` if a row is one of a picture.
pub(super) fn is_picture(line: &Line<'_>) -> bool {
    line.spans.iter().any(|span| span.content.starts_with(PLACEHOLDER))
}
