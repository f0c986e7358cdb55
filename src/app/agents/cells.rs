//! One agent's transcript as the screen keeps it: a row of cells, each a unit that is drawn as a whole.
//!
//! Owns the cells, their numbers and the cap on their bytes. Leaves meaning to `agents` and looks to the views.
//! Invariants: numbers of cells are consecutive and never reused, so a cell is found by subtraction; a cell changes
//! either by text being appended (its epoch stays) or in any other way (its epoch grows), so a cache of drawn lines
//! knows what to redo; the bytes held stay below the cap plus one cell.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use jiff::Timestamp;

use crate::message::{AgentId, sanitize, sanitize_line};
use crate::tool::ToolView;

/// Number of a cell within its transcript, from 0.
pub type CellId = u64;

#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    /// Counts the changes other than appended text.
    pub epoch: u32,
    pub kind: CellKind,
}

impl Cell {
    pub(in crate::app) fn said(&self) -> Option<&str> {
        match &self.kind {
            CellKind::Text { text } => Some(text.trim()),
            _ => None,
        }
    }

    pub(in crate::app) fn thought(&self) -> Option<&str> {
        match &self.kind {
            CellKind::Thinking { text } => Some(text.trim()),
            _ => None,
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub enum CellKind {
    User {
        text: String,
    },
    /// What the model says, Markdown.
    Text {
        text: String,
    },
    Thinking {
        text: String,
    },
    /// What an agent's parent said to it.
    FromParent {
        to: AgentId,
        text: String,
    },
    /// Subagents in the background have reported; their own lines hold what.
    Reports {
        of: Vec<AgentId>,
    },
    /// A subagent that had ended goes on from here.
    Resumed {
        /// Number of the run, from 2.
        run: u32,
        at: Timestamp,
    },
    Tool(Box<ToolCell>),
    /// A subagent, in place of the call that made it.
    Subagent {
        agent: AgentId,
        siblings: Siblings,
    },
    Retry {
        /// Number of the coming attempt.
        attempt: u32,
        until: Instant,
        reason: String,
    },
    Notice {
        /// One line.
        text: String,
    },
    Error {
        /// One or more lines.
        text: String,
    },
    /// What came of a subagent, Markdown.
    Report {
        /// The report, its tags as headings.
        text: String,
    },
    /// From here on a summary stands in the place of what was said above.
    Compacted {
        /// What it saved, in a line.
        words: String,
        /// The summary, Markdown.
        text: String,
    },
    /// What a reply had said before it broke off.
    CutOff {
        text: String,
        /// Number of the coming attempt, and of the last one there can be; `None` if there is none.
        again: Option<(u32, Option<u32>)>,
    },
    /// Nothing any more: what stood here was taken back.
    Void,
}

/// The other agents that the same message of the model has spawned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Siblings {
    /// None, or those that come after this one: the first of a message stands for all.
    After(Vec<AgentId>),
    /// Some come before it.
    Before,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ToolCell {
    pub call_id: String,
    pub name: String,
    /// What stands behind the name.
    pub title: String,
    pub state: ToolState,
    /// What came of it, in a few words.
    pub summary: String,
    /// Tail of the output while it runs.
    pub tail: String,
    /// Lines of the output that stand before those of `view`.
    pub lines_before: usize,
    /// More to show, once it has ended.
    pub view: Option<ToolView>,
    /// Numbers of the pictures that it has returned.
    pub pictures: Vec<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolState {
    Running { since: Instant },
    Asking,
    Done { took: Duration },
    Failed,
    CutOff,
}

impl CellKind {
    /// Returns how many bytes of text it has that can be appended to.
    pub fn length(&self) -> usize {
        match self {
            Self::User { text } | Self::Text { text } | Self::Thinking { text } => text.len(),
            _ => 0,
        }
    }

    /// Returns how many bytes the cell holds, about: its text, and a fixed share for itself, so that cells without
    /// text do not gather either.
    fn bytes(&self) -> usize {
        SHARE
            + match self {
                Self::User { text }
                | Self::FromParent { text, .. }
                | Self::Text { text }
                | Self::Thinking { text }
                | Self::Notice { text }
                | Self::Report { text }
                | Self::CutOff { text, .. }
                | Self::Error { text } => text.len(),
                Self::Compacted { words, text } => words.len() + text.len(),
                Self::Retry { reason, .. } => reason.len(),
                Self::Reports { of } | Self::Subagent { siblings: Siblings::After(of), .. } => {
                    size_of_val(of.as_slice())
                }
                Self::Subagent { .. } | Self::Resumed { .. } | Self::Void => 0,
                Self::Tool(tool) => {
                    tool.title.len() + tool.summary.len() + tool.tail.len() + tool.view.as_ref().map_or(0, view_bytes)
                }
            }
    }
}

/// Bytes a cell counts for besides its text.
const SHARE: usize = 128;

fn view_bytes(view: &ToolView) -> usize {
    match view {
        ToolView::Diff(diff) => diff.hunks.iter().flat_map(|hunk| &hunk.lines).map(|line| line.text.len() + 8).sum(),
        ToolView::Todos { items } => items.iter().map(|item| item.content.len() + item.active_form.len()).sum(),
        ToolView::Output { text } => text.len(),
    }
}

#[derive(Debug, Clone)]
pub struct Cells {
    held: VecDeque<Cell>,
    first: CellId,
    bytes: usize,
    cap: usize,
    /// Grows with each line of text and each cell; shows how much came since some moment.
    arrived: u64,
}

impl Cells {
    /// Returns an empty transcript that holds about `cap` bytes of text.
    #[must_use]
    pub fn with_cap(cap: usize) -> Self {
        Self { held: VecDeque::new(), first: 0, bytes: 0, cap, arrived: 0 }
    }

    pub fn first(&self) -> CellId {
        self.first
    }

    /// Returns the number the next cell will get.
    pub fn end(&self) -> CellId {
        self.first + self.held.len() as CellId
    }

    /// Leaves room for cells that come before the first one and are not held.
    pub(in crate::app) fn leave_room(&mut self) {
        const ROOM: CellId = 1 << 24;
        if self.held.is_empty() {
            self.first = ROOM;
        }
    }

    /// Returns `true` if older cells were let go to stay below the cap.
    pub fn is_cut(&self) -> bool {
        self.first > 0
    }

    /// Returns `true` if nothing was ever said.
    pub fn is_empty(&self) -> bool {
        self.end() == 0
    }

    pub fn arrived(&self) -> u64 {
        self.arrived
    }

    /// Returns about how many bytes of text are held.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    pub fn get(&self, id: CellId) -> Option<&Cell> {
        id.checked_sub(self.first).and_then(|at| self.held.get(usize::try_from(at).ok()?))
    }

    /// Returns all cells that are held, with their numbers, oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (CellId, &Cell)> {
        self.held.iter().enumerate().map(|(at, cell)| (self.first + at as CellId, cell))
    }

    /// Returns the messages of the user that are held, the last one first.
    pub(in crate::app) fn said_by_user(&self) -> impl Iterator<Item = (CellId, &str)> {
        self.iter().rev().filter_map(|(id, cell)| match &cell.kind {
            CellKind::User { text } => Some((id, text.as_str())),
            _ => None,
        })
    }

    pub fn push(&mut self, kind: CellKind) -> CellId {
        let id = self.end();
        self.bytes += kind.bytes();
        self.arrived += 1;
        self.held.push_back(Cell { epoch: 0, kind });
        self.shrink();
        id
    }

    /// Appends text to a cell of text; any other cell stays as it is.
    pub fn append(&mut self, id: CellId, more: &str) {
        let Some(cell) = self.get_mut(id) else { return };
        if let CellKind::Text { text } | CellKind::Thinking { text } | CellKind::User { text } = &mut cell.kind {
            text.push_str(more);
            self.bytes += more.len();
            self.arrived += more.bytes().filter(|byte| *byte == b'\n').count() as u64;
            self.shrink();
        }
    }

    pub fn change(&mut self, id: CellId, change: impl FnOnce(&mut CellKind)) {
        let Some(cell) = self.get_mut(id) else { return };
        let before = cell.kind.bytes();
        change(&mut cell.kind);
        cell.epoch += 1;
        let after = cell.kind.bytes();
        self.bytes = (self.bytes + after).saturating_sub(before);
        self.shrink();
    }

    /// Notes for caches that a cell looks different although it is the same, as when the agent it names has ended.
    pub fn touch(&mut self, id: CellId) {
        if let Some(cell) = self.get_mut(id) {
            cell.epoch += 1;
        }
    }

    /// Does so for the cell of a subagent, and for the first of its message, which counts them all.
    pub fn touch_subagent(&mut self, id: CellId) {
        self.touch(id);
        let siblings = |id: CellId| match self.get(id).map(|cell| &cell.kind) {
            Some(CellKind::Subagent { siblings, .. }) => Some(siblings),
            _ => None,
        };
        if siblings(id) == Some(&Siblings::Before) {
            let is_first = |id: &CellId| matches!(siblings(*id), Some(Siblings::After(_)));
            if let Some(first) = (self.first()..id).rev().find(is_first) {
                self.touch(first);
            }
        }
    }

    /// Holds another number of bytes from now on.
    pub fn set_cap(&mut self, cap: usize) {
        self.cap = cap;
        self.shrink();
    }

    /// Lets go of everything that was said, as at the start of a new conversation. Numbers go on.
    pub fn clear(&mut self) {
        self.first = self.end();
        self.held.clear();
        self.bytes = 0;
    }

    fn get_mut(&mut self, id: CellId) -> Option<&mut Cell> {
        id.checked_sub(self.first).and_then(|at| self.held.get_mut(usize::try_from(at).ok()?))
    }

    /// Lets go of the oldest cells until the cap holds; the last cell loses the head of its text instead.
    fn shrink(&mut self) {
        while self.bytes > self.cap && self.held.len() > 1 {
            if let Some(cell) = self.held.pop_front() {
                self.bytes = self.bytes.saturating_sub(cell.kind.bytes());
                self.first += 1;
            }
        }
        if self.bytes <= self.cap {
            return;
        }
        let keep = self.cap / 2;
        if let Some(cell) = self.held.back_mut()
            && let CellKind::Text { text } | CellKind::Thinking { text } | CellKind::User { text } = &mut cell.kind
        {
            let from = text.len().saturating_sub(keep);
            let from = (from..text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
            let from = text[from..].find('\n').map_or(from, |line| from + line + 1);
            text.drain(..from);
            cell.epoch += 1;
            self.bytes -= from;
        }
    }
}

/// Makes what a tool shows fit for a screen.
pub(in crate::app) fn clean_view(view: ToolView) -> ToolView {
    match view {
        ToolView::Output { text } => ToolView::Output { text: sanitize(&text).into_owned() },
        ToolView::Diff(mut diff) => {
            for line in diff.hunks.iter_mut().flat_map(|hunk| &mut hunk.lines) {
                line.text = sanitize_line(&line.text).into_owned();
            }
            ToolView::Diff(diff)
        }
        ToolView::Todos { mut items } => {
            for item in &mut items {
                item.content = sanitize_line(&item.content).into_owned();
                item.active_form = sanitize_line(&item.active_form).into_owned();
            }
            ToolView::Todos { items }
        }
    }
}
