//! Highlighted code, computed away from the screen's thread.
//!
//! Owns the worker, its queue and its cache. Leaves colours to the theme: a result says what a piece of code *is*.
//! Invariants: asking never waits; the grammars are loaded at the first request, by the worker; memory is capped.

use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::{BuildHasher as _, RandomState};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use ratatui::style::Style;

use super::theme::Theme;

mod worker;

/// A larger block of code stays plain.
const MAX_CODE_BYTES: usize = 200 * 1024;
/// Bytes of results that are kept.
const MAX_CACHED_BYTES: usize = 2 * 1024 * 1024;
/// Requests that wait; the oldest is dropped for a newer one, and asked for again if it is still on the screen.
const MAX_QUEUED: usize = 128;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CodeClass {
    Plain,
    Keyword,
    String,
    Comment,
    Number,
    Function,
    Type,
    /// The name of a variable or field.
    Variable,
    Operator,
    Added,
    Removed,
}

impl CodeClass {
    #[must_use]
    pub fn style(self, theme: &Theme) -> Style {
        match self {
            Self::Plain => theme.code_block,
            Self::Keyword => theme.keyword,
            Self::String => theme.string,
            Self::Comment => theme.comment,
            Self::Number => theme.number,
            Self::Function => theme.function,
            Self::Type => theme.type_name,
            Self::Variable => theme.variable,
            Self::Operator => theme.operator,
            Self::Added => theme.diff_added,
            Self::Removed => theme.diff_removed,
        }
    }
}

/// One line of code: its text, and what its pieces are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeLine {
    text: Box<str>,
    /// Length in bytes of each piece, and its class.
    runs: Box<[(u32, CodeClass)]>,
}

impl CodeLine {
    /// Bytes of memory it takes.
    fn bytes(&self) -> usize {
        size_of::<Self>() + self.text.len() + size_of_val(&*self.runs)
    }

    pub fn pieces(&self) -> impl Iterator<Item = (&str, CodeClass)> {
        let mut at = 0;
        self.runs.iter().map(move |(length, class)| {
            let start = at;
            at += *length as usize;
            (&self.text[start..at], *class)
        })
    }
}

/// Identity of a request: hash of language and code, and the code's length.
type JobId = (u64, usize);

/// A block of code that waits for the worker.
struct Job {
    id: JobId,
    lang: String,
    code: String,
}

/// Results, the least recently used of which make room for new ones.
#[derive(Default)]
struct Cache {
    blocks: HashMap<JobId, Cached>,
    bytes: usize,
    clock: u64,
}

struct Cached {
    lines: Arc<Vec<CodeLine>>,
    bytes: usize,
    used: u64,
}

impl Cache {
    fn get(&mut self, id: JobId) -> Option<Arc<Vec<CodeLine>>> {
        self.clock += 1;
        let cached = self.blocks.get_mut(&id)?;
        cached.used = self.clock;
        Some(Arc::clone(&cached.lines))
    }

    fn remove(&mut self, id: JobId) -> Option<Arc<Vec<CodeLine>>> {
        let cached = self.blocks.remove(&id)?;
        self.bytes -= cached.bytes;
        Some(cached.lines)
    }

    fn insert(&mut self, id: JobId, lines: Arc<Vec<CodeLine>>) {
        self.remove(id);
        let bytes = lines.iter().map(CodeLine::bytes).sum();
        self.clock += 1;
        self.bytes += bytes;
        self.blocks.insert(id, Cached { lines, bytes, used: self.clock });
        while self.bytes > MAX_CACHED_BYTES && self.blocks.len() > 1 {
            let Some(oldest) = self.blocks.iter().min_by_key(|(_, cached)| cached.used).map(|(id, _)| *id) else {
                break;
            };
            self.remove(oldest);
        }
    }
}

/// What the screen's thread and the worker share.
#[derive(Default)]
struct State {
    queue: VecDeque<Job>,
    pending: HashSet<JobId>,
    cache: Cache,
    worker: Worker,
}

#[derive(Default, PartialEq)]
enum Worker {
    /// Nothing has been requested yet.
    #[default]
    NotStarted,
    Running,
    /// There is none and will be none.
    Stopped,
}

struct Shared {
    state: Mutex<State>,
    work: Condvar,
    wake: Box<dyn Fn() + Send + Sync>,
}

impl Shared {
    /// Locks the state. A worker that panicked leaves it whole, because no code of grammars runs under the lock.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Highlights code on a thread of its own.
pub struct Highlighter {
    shared: Arc<Shared>,
    hasher: RandomState,
}

impl Highlighter {
    /// Returns a highlighter that calls `wake`, from its thread, each time it has something new.
    pub fn new(wake: impl Fn() + Send + Sync + 'static) -> Self {
        let shared = Shared { state: Mutex::default(), work: Condvar::new(), wake: Box::new(wake) };
        Self { shared: Arc::new(shared), hasher: RandomState::new() }
    }

    #[must_use]
    pub fn off() -> Self {
        let highlighter = Self::new(|| {});
        highlighter.shared.state().worker = Worker::Stopped;
        highlighter
    }

    /// Returns `true` if a block of this language and size will ever be highlighted.
    pub fn accepts(&self, lang: &str, bytes: usize) -> bool {
        bytes <= MAX_CODE_BYTES && !lang.is_empty() && self.shared.state().worker != Worker::Stopped
    }

    /// Returns the highlighted lines of a block of code, or `None` as long as the worker does not have them: the
    /// request is then on its way. A block that goes on from one asked for before costs its new lines only.
    pub fn lines(&self, lang: &str, code: &str) -> Option<Arc<Vec<CodeLine>>> {
        if !self.accepts(lang, code.len()) {
            return None;
        }
        let id = (self.hasher.hash_one((lang, code)), code.len());
        let mut state = self.shared.state();
        if let Some(lines) = state.cache.get(id) {
            return Some(lines);
        }
        if state.pending.insert(id) {
            if state.queue.len() >= MAX_QUEUED
                && let Some(dropped) = state.queue.pop_front()
            {
                state.pending.remove(&dropped.id);
            }
            state.queue.push_back(Job { id, lang: lang.to_owned(), code: code.to_owned() });
            if state.worker == Worker::NotStarted {
                state.worker = start_worker(&self.shared);
            }
            self.shared.work.notify_one();
        }
        None
    }
}

impl Drop for Highlighter {
    fn drop(&mut self) {
        // The worker ends at the next line; nobody waits for it, because a grammar may take long to load.
        let mut state = self.shared.state();
        state.worker = Worker::Stopped;
        state.queue.clear();
        drop(state);
        self.shared.work.notify_one();
    }
}

fn start_worker(shared: &Arc<Shared>) -> Worker {
    let shared = Arc::clone(shared);
    let spawned = std::thread::Builder::new().name("highlight".to_owned()).spawn(move || worker::run(&shared));
    if spawned.is_ok() { Worker::Running } else { Worker::Stopped }
}
