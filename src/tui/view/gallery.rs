//! Pictures of a conversation, shown by the terminal itself.
//!
//! Owns which are on the terminal, the thread that decodes them, and the protocol: that of kitty, with placeholders. A picture
//! is sent once; each of its cells is then a sign with marks for its row and its column, in a color that names the picture,
//! and so is drawn, scrolled and covered like any text. Leaves keeping pictures to `session` and asking the terminal to
//! `terminal`. Invariants: nothing is sent to a terminal that has not answered; what is sent was decoded and written anew by
//! us, within bounds; the screen never waits.

use std::collections::{HashMap, HashSet, VecDeque};
use std::fmt::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ratatui::text::{Line, Span};

use super::render_context::RenderContext;
use super::theme::picture_style;
use crate::app::CellKind;
use crate::message::{Thumbnail, picture_numbers};

/// Cells of the largest picture.
const MAX_COLUMNS: u32 = 60;
const MAX_ROWS: u32 = 14;
/// Pixels of a side that is sent.
const MAX_SIDE: u32 = 800;
/// Pictures of one cell of the transcript.
const MAX_IN_CELL: usize = 4;
/// Pictures that the terminal holds.
const MAX_HELD: usize = 64;
/// Width and height of a cell in pixels where the terminal does not say.
const USUAL_CELL: (u16, u16) = (10, 20);
/// Bytes of base64 in one sequence.
const CHUNK: usize = 4_096;
/// Columns before a picture.
const INDENT: u16 = 2;
/// What all our pictures have in common in the terminal, before their number.
const ID: u32 = 0x00be_0000;
/// The sign of a cell that shows a part of a picture.
pub(super) const PLACEHOLDER: char = '\u{10eeee}';
/// The marks that count rows and columns, as the protocol orders them.
const MARKS: [char; 64] = [
    '\u{305}', '\u{30d}', '\u{30e}', '\u{310}', '\u{312}', '\u{33d}', '\u{33e}', '\u{33f}', '\u{346}', '\u{34a}',
    '\u{34b}', '\u{34c}', '\u{350}', '\u{351}', '\u{352}', '\u{357}', '\u{35b}', '\u{363}', '\u{364}', '\u{365}',
    '\u{366}', '\u{367}', '\u{368}', '\u{369}', '\u{36a}', '\u{36b}', '\u{36c}', '\u{36d}', '\u{36e}', '\u{36f}',
    '\u{483}', '\u{484}', '\u{485}', '\u{486}', '\u{487}', '\u{592}', '\u{593}', '\u{594}', '\u{595}', '\u{597}',
    '\u{598}', '\u{599}', '\u{59c}', '\u{59d}', '\u{59e}', '\u{59f}', '\u{5a0}', '\u{5a1}', '\u{5a8}', '\u{5a9}',
    '\u{5ab}', '\u{5ac}', '\u{5af}', '\u{5c4}', '\u{610}', '\u{611}', '\u{612}', '\u{613}', '\u{614}', '\u{615}',
    '\u{616}', '\u{617}', '\u{657}', '\u{658}',
];

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
    cell: (u32, u32),
    pending: HashSet<u32>,
    /// What is known of a picture; `None` if it cannot be shown.
    known: HashMap<u32, Option<ShownPicture>>,
    /// Those that the terminal holds, the oldest first.
    held: VecDeque<u32>,
    /// What is to be sent before the next frame.
    uploads: Vec<u8>,
    changes: u64,
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
    pub fn switch_on(&self, cell: Option<(u16, u16)>) {
        let (jobs, waiting) = channel();
        let shared = Arc::downgrade(&self.0);
        let started = std::thread::Builder::new().name("pictures".to_owned()).spawn(move || work(&shared, &waiting));
        let mut state = self.state();
        let (width, height) = cell.filter(|(width, height)| *width > 0 && *height > 0).unwrap_or(USUAL_CELL);
        state.cell = (width.into(), height.into());
        state.jobs = started.is_ok().then_some(jobs);
        state.changes += 1;
        drop(state);
        (self.0.wake)();
    }

    /// Returns how often what it shows has changed.
    pub(super) fn changes(&self) -> u64 {
        self.state().changes
    }

    /// Returns what takes all pictures from the terminal, which then holds none.
    #[must_use]
    pub fn take_down(&self) -> Vec<u8> {
        let mut state = self.state();
        state.uploads.clear();
        let held: Vec<u32> = state.held.drain(..).collect();
        let shown = held.iter().filter_map(|number| state.known.remove(number)?);
        shown.flat_map(ShownPicture::removal).collect()
    }

    /// Forgets what the terminal holds: another program has had it.
    pub fn forget(&self) {
        let mut state = self.state();
        state.known.clear();
        state.held.clear();
        state.changes += 1;
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

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state()
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Decodes what is asked for, until nobody can ask any more.
fn work(shared: &Weak<Shared>, waiting: &Receiver<u32>) {
    while let Ok(number) = waiting.recv() {
        let Some(shared) = shared.upgrade() else { return };
        let cell = shared.state().cell;
        // A decoder that panics costs one picture.
        let made = catch_unwind(AssertUnwindSafe(|| made(number, &(shared.load)(number)?, cell))).ok().flatten();
        let mut state = shared.state();
        state.pending.remove(&number);
        state.known.insert(number, made.as_ref().map(|(shown, _)| *shown));
        let Some((_, upload)) = made else { continue };
        state.uploads.extend(upload);
        state.held.push_back(number);
        if state.held.len() > MAX_HELD
            && let Some(oldest) = state.held.pop_front()
            && let Some(Some(gone)) = state.known.remove(&oldest)
        {
            state.uploads.extend(gone.removal());
        }
        state.changes += 1;
        drop(state);
        (shared.wake)();
    }
}

/// Returns a picture as it is shown, and what sends it to the terminal.
fn made(number: u32, bytes: &[u8], cell: (u32, u32)) -> Option<(ShownPicture, Vec<u8>)> {
    let id = ID | u32::from(u16::try_from(number).ok()?);
    let room = ((MAX_COLUMNS * cell.0).min(MAX_SIDE), (MAX_ROWS * cell.1).min(MAX_SIDE));
    let picture = Thumbnail::of(bytes, room)?;
    let cells = |pixels: u32, cell: u32, most: u32| u16::try_from(pixels.div_ceil(cell).clamp(1, most)).ok();
    let columns = cells(picture.width, cell.0, MAX_COLUMNS)?;
    let rows = cells(picture.height, cell.1, MAX_ROWS)?;
    let shown = ShownPicture { id, columns, rows };
    Some((shown, shown.upload(&picture.png)))
}

impl ShownPicture {
    /// Returns what sends the picture, and says how many cells it fills. The terminal is to answer nothing (`q=2`).
    fn upload(self, png: &[u8]) -> Vec<u8> {
        let Self { id, columns, rows } = self;
        let data = STANDARD.encode(png);
        let mut out = String::with_capacity(data.len() + data.len() / 100 + 64);
        let mut rest = data.as_str();
        let mut keys = format!("a=T,U=1,i={id},f=100,t=d,c={columns},r={rows},q=2,");
        loop {
            let (chunk, after) = rest.split_at(rest.len().min(CHUNK));
            let more = u8::from(!after.is_empty());
            let _ = write!(out, "\x1b_G{keys}m={more};{chunk}\x1b\\");
            if after.is_empty() {
                return out.into_bytes();
            }
            (rest, keys) = (after, "q=2,".to_owned());
        }
    }

    /// Returns what takes the picture from the terminal, with its data.
    fn removal(self) -> Vec<u8> {
        format!("\x1b_Ga=d,d=I,i={},q=2\x1b\\", self.id).into_bytes()
    }

    fn lines(self) -> impl Iterator<Item = Line<'static>> {
        let Self { id, columns, rows } = self;
        let row = move |row: char| -> Line<'static> {
            let cells = MARKS[..usize::from(columns)].iter().flat_map(|column| [PLACEHOLDER, row, *column]).collect();
            Line::from(vec![Span::raw(" ".repeat(INDENT.into())), Span::styled::<String, _>(cells, picture_style(id))])
        };
        MARKS[..usize::from(rows)].iter().map(move |mark| row(*mark))
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
    shown.filter(|picture| picture.columns + INDENT <= columns).flat_map(ShownPicture::lines).collect()
}

/// Returns `true` if a row is one of a picture.
pub(super) fn is_picture(line: &Line<'_>) -> bool {
    line.spans.iter().any(|span| span.content.starts_with(PLACEHOLDER))
}
