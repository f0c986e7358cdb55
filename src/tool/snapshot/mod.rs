//! The state of the project before and after each command, so that what commands did can be taken back.
//!
//! Owns when a state is taken, and whose doing a difference is. Leaves looking at the files to `scan`, keeping them to
//! `store`, what is written down of a command to `changes`, and putting anything back to `file::rewind`. Invariants:
//! nothing of the project or of its repository is written or locked, and git is not run; what changes while no command
//! runs is nobody's here; that no state can be kept stops no command.

pub(super) mod changes;
mod git_state;
mod held;
mod scan;
mod store;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use self::changes::{CommandChanges, between};
pub use self::git_state::GitMoves;
pub(super) use self::held::why_lasting;
use self::scan::{Scan, scan};
pub(super) use self::store::Object;
use self::store::StateStore;
use super::ToolContext;
use super::file::copies::FileCopies;
use super::search::ignores::Ignores;
use crate::permission::{Confinement, writes_nothing};

/// How long a command waits for a state of the project.
const LOOK_LIMIT: Duration = Duration::from_secs(30);

/// The states of one project. Clones share them.
#[derive(Clone)]
pub struct ProjectStates(Arc<Shared>);

struct Shared {
    root: PathBuf,
    /// The folder of the stores of all projects.
    stores: PathBuf,
    ignores: Ignores,
    state: Mutex<State>,
    /// Why nothing can be kept.
    failed: OnceLock<String>,
    /// Whether the user was told so.
    is_told: AtomicBool,
}

#[derive(Default)]
struct State {
    /// What is kept; none until the first look.
    store: Option<StateStore>,
    /// The state of the last look.
    last: Scan,
    /// How many commands run that may write.
    running: usize,
    /// What commands have done that still run.
    pending: CommandChanges,
}

impl std::fmt::Debug for ProjectStates {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ProjectStates").field("root", &self.0.root).finish_non_exhaustive()
    }
}

impl ProjectStates {
    /// Returns the states of the project with this root, which is resolved; they are kept below `stores`.
    #[must_use]
    pub fn of(root: PathBuf, stores: PathBuf) -> Self {
        let (ignores, state) = (Ignores::default(), Mutex::default());
        Self(Arc::new(Shared {
            root,
            stores,
            ignores,
            state,
            failed: OnceLock::new(),
            is_told: AtomicBool::new(false),
        }))
    }

    pub(super) fn root(&self) -> &Path {
        &self.0.root
    }

    /// Takes the state before a command that may write. Nothing is returned where none can be kept.
    async fn begin(&self, copies: &FileCopies) -> Option<StateWatch> {
        let (states, copies) = (self.clone(), copies.clone());
        let begun = blocking(move || {
            let mut state = states.state();
            let before = states.look(&mut state)?;
            if state.running > 0 {
                let changes = between(&before, &state.last, &states.0.root, (state.store.as_ref()?, &copies));
                state.pending.append(changes);
            }
            state.running += 1;
            let cut = state.store.as_ref().and_then(|store| copies.adopt_cut(&store.index_path()));
            drop(state);
            Some(StateWatch { states, copies, cut, is_over: false })
        });
        begun.await?
    }

    /// Says once why the commands of this session cannot be taken back, if they cannot be.
    pub(super) fn take_failure(&self) -> Option<String> {
        let why = self.0.failed.get()?;
        (!self.0.is_told.swap(true, Ordering::Relaxed)).then(|| why.clone())
    }

    /// Returns the project as it is now, once it is kept; or why it cannot be. Blocks.
    fn now(&self) -> Result<Scan, String> {
        let mut state = self.state();
        let Some(before) = self.look(&mut state) else {
            return Err(self.0.failed.get().cloned().unwrap_or_default());
        };
        let now = state.last.clone();
        if state.running > 0 {
            // The end of the commands that run tells what they did since then.
            state.last = before;
        }
        Ok(now)
    }

    /// Works out what a command did that was cut off with the program, and keeps it. Returns the number of its copy.
    /// Blocks.
    pub fn recover(&self, copies: &FileCopies) -> Option<u32> {
        let cut = copies.take_cut()?;
        let mut state = self.state();
        self.look(&mut state)?;
        let before = Scan::of_index(&cut)?;
        let _ = std::fs::remove_file(&cut);
        let changes = between(&before, &state.last, &self.0.root, (state.store.as_ref()?, copies));
        changes.keep(copies)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks at the project as it is now. Returns how it was the time before; nothing if it cannot be kept.
    fn look(&self, state: &mut State) -> Option<Scan> {
        if self.0.failed.get().is_some() {
            return None;
        }
        let looked = self.looked(state);
        looked.inspect_err(|why| drop(self.0.failed.set(why.clone()))).ok()
    }

    fn looked(&self, state: &mut State) -> Result<Scan, String> {
        let disk = |error: std::io::Error| format!("nothing can be kept: {error}");
        if state.store.is_none() {
            let store = StateStore::open(&self.0.stores, &self.0.root).map_err(disk)?;
            state.last = Scan::of_index(&store.index_path()).unwrap_or_default();
            state.store = Some(store);
        }
        let Some(store) = &state.store else { return Err("nothing can be kept".to_owned()) };
        let now = scan(&self.0.root, &state.last, &self.0.ignores, store)?;
        if now.differs(&state.last) || !store.index_path().exists() {
            now.save(&store.index_path()).map_err(disk)?;
            store.sweep(&now).map_err(disk)?;
        }
        Ok(std::mem::replace(&mut state.last, now))
    }
}

/// What a command has changed, as it is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TakenDown {
    /// The copy that tells it; none if nothing has changed.
    pub changes: Option<u32>,
}

/// One command that may write, from its start to its end.
pub(super) struct StateWatch {
    states: ProjectStates,
    copies: FileCopies,
    /// What tells of the command if the program ends before it.
    cut: Option<PathBuf>,
    is_over: bool,
}

impl StateWatch {
    /// Takes the state of the project before a command that may write in it.
    pub(super) async fn begin(line: &str, bounds: Confinement, context: &ToolContext) -> Option<Self> {
        let may_write = matches!(bounds, Confinement::None | Confinement::Sandbox) && !writes_nothing(line);
        let writers = &context.freshness.writers;
        let states = writers.states().filter(|states| may_write && states.root() == context.project.as_path())?;
        states.begin(writers.copies()).await
    }

    /// Takes the state after the command, and keeps what has changed. Returns nothing if it cannot be told.
    pub(super) async fn end(mut self) -> Option<TakenDown> {
        blocking(move || {
            self.is_over = true;
            let mut state = self.states.state();
            state.running = state.running.saturating_sub(1);
            let before = self.states.look(&mut state)?;
            let mut changes = std::mem::take(&mut state.pending);
            let store = state.store.as_ref()?;
            changes.append(between(&before, &state.last, &self.states.0.root, (store, &self.copies)));
            drop(state);
            let kept = if changes.is_empty() { None } else { Some(changes.keep(&self.copies)?) };
            Some(TakenDown { changes: kept })
        })
        .await?
    }
}

impl Drop for StateWatch {
    fn drop(&mut self) {
        if !self.is_over {
            let states = self.states.clone();
            // A look may be under way, for which no thread that drives agents waits.
            std::thread::spawn(move || {
                let mut state = states.state();
                state.running = state.running.saturating_sub(1);
            });
        }
        if let Some(cut) = &self.cut {
            let _ = std::fs::remove_file(cut);
        }
    }
}

/// Does `work` off the threads that drive agents. Whoever asked goes on without it where a disk does not answer.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    tokio::time::timeout(LOOK_LIMIT, tokio::task::spawn_blocking(work)).await.ok()?.ok()
}
