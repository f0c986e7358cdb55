//! Puts changed agent files, skills, commands and plugins in force while the program runs.
//!
//! Owns the thread that listens to the file system and when it reads anew. Leaves what is watched to `plan` and the
//! reading to `library`. Invariant: every reading begins after the watches it relies on stand, so that nothing falls
//! between the two; and the thread sleeps while nothing happens.

mod plan;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant, SystemTime};

use notify::event::{AccessKind, AccessMode, EventKind, ModifyKind};
use notify::{RecommendedWatcher, RecursiveMode, Watcher as _};

use super::skill::SkillLibrary;
use super::{CatalogChanges, Library, PluginLibrary};
use plan::{WatchDepth, WatchPlan};

/// How long the folders must be quiet before they are read: an editor needs several steps to save one file.
const QUIET: Duration = Duration::from_millis(30);

/// How long a storm of changes may put the reading off.
const LONGEST_WAIT: Duration = Duration::from_millis(250);

/// How often the files are looked at where the system does not report changes.
const POLL: Duration = Duration::from_millis(400);

/// How often the plan is made anew because the folders changed while the watches were set.
const MAX_ROUNDS: usize = 16;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Means {
    /// The system reports them. Where it cannot, as [`Means::Polls`].
    Events,
    /// The files are looked at again and again.
    Polls,
}

/// Reads the files anew whenever they change, until it is dropped.
#[derive(Debug)]
pub struct Watcher(Sender<Message>);

impl Watcher {
    /// Begins to watch the library's folders, on a thread of its own: this returns at once.
    #[must_use]
    pub fn start(watched: WatchedFiles, means: Means) -> Self {
        let (sender, messages) = channel();
        let events = sender.clone();
        let thread = std::thread::Builder::new().name("agent-files".to_owned());
        let started = thread.spawn(move || {
            if means == Means::Polls || watch(&watched, events, &messages) == Ended::Unable {
                poll(&watched, &messages);
            }
        });
        if let Err(error) = started {
            tracing::warn!(%error, "agent files, skills and plugins are not watched");
        }
        Self(sender)
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        let _ = self.0.send(Message::End);
    }
}

/// What the thread receives. The channel is unbounded: were it full, the system's own thread would wait for this one,
/// which waits for that one while it sets watches.
#[derive(Debug)]
enum Message {
    Happened(notify::Result<notify::Event>),
    End,
}

#[derive(Debug, PartialEq, Eq)]
enum Ended {
    Dropped,
    /// The system cannot report changes.
    Unable,
}

/// Listens until the end.
fn watch(watched: &WatchedFiles, events: Sender<Message>, messages: &Receiver<Message>) -> Ended {
    let tell = move |event: notify::Result<notify::Event>| {
        if event.as_ref().map_or(true, is_change) {
            let _ = events.send(Message::Happened(event));
        }
    };
    let mut watches = match notify::recommended_watcher(tell) {
        Ok(watcher) => Watches { watcher, plan: WatchPlan::default() },
        Err(error) => return unable(&error),
    };
    loop {
        if let Err(error) = watches.set(watched) {
            return unable(&error);
        }
        if watched.reload() == PluginState::Changed {
            continue;
        }
        if let Some(ended) = watches.wait(messages) {
            return ended;
        }
    }
}

fn unable(error: &notify::Error) -> Ended {
    tracing::warn!(%error, "the system does not report file changes; checking agent files every {POLL:?}");
    Ended::Unable
}

/// Looks at the files again and again until the end.
fn poll(watched: &WatchedFiles, messages: &Receiver<Message>) {
    watched.reload();
    let mut next = Instant::now() + POLL;
    loop {
        match messages.recv_timeout(next.saturating_duration_since(Instant::now())) {
            Ok(Message::Happened(_)) => {}
            Ok(Message::End) | Err(RecvTimeoutError::Disconnected) => return,
            Err(RecvTimeoutError::Timeout) => {
                watched.reload();
                next = Instant::now() + POLL;
            }
        }
    }
}

/// The watches that stand.
struct Watches {
    watcher: RecommendedWatcher,
    plan: WatchPlan,
}

impl Watches {
    /// Watches what has to be watched now. A folder that appears after its parent was read and before its parent is
    /// watched would be missed, so that this goes on until nothing has changed meanwhile.
    fn set(&mut self, watched: &WatchedFiles) -> notify::Result<()> {
        for _ in 0..MAX_ROUNDS {
            let plan = WatchPlan::of(watched.places());
            if plan == self.plan {
                break;
            }
            for folder in self.plan.folders().filter(|folder| !plan.holds(folder)) {
                // It may be gone, and its watch with it.
                let _ = self.watcher.unwatch(folder);
            }
            for folder in plan.folders().filter(|folder| !self.plan.holds(folder)) {
                match self.watcher.watch(folder, RecursiveMode::NonRecursive) {
                    Err(error) if !plan::is_out_of_reach(&error) => return Err(error),
                    Ok(()) | Err(_) => {}
                }
            }
            self.plan = plan;
        }
        if self.plan.is_cut() {
            tracing::warn!("too many folders of agents and commands; some are not watched");
        }
        Ok(())
    }

    /// Waits for a change and then until things are quiet. Returns why to end, if that is what happened.
    fn wait(&mut self, messages: &Receiver<Message>) -> Option<Ended> {
        let mut last_chance: Option<Instant> = None;
        let mut quiet_at = Instant::now();
        loop {
            let message = match last_chance {
                None => messages.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(latest) => messages.recv_timeout(quiet_at.min(latest).saturating_duration_since(Instant::now())),
            };
            let matters = match message {
                Ok(Message::Happened(Ok(event))) => self.take_in(&event),
                Ok(Message::Happened(Err(error))) => match error.kind {
                    notify::ErrorKind::MaxFilesWatch => return Some(unable(&error)),
                    _ => true,
                },
                Ok(Message::End) | Err(RecvTimeoutError::Disconnected) => return Some(Ended::Dropped),
                Err(RecvTimeoutError::Timeout) => return None,
            };
            if matters {
                quiet_at = Instant::now() + QUIET;
                last_chance.get_or_insert(Instant::now() + LONGEST_WAIT);
            }
        }
    }

    /// Returns `true` if an event may change what the agents are.
    fn take_in(&mut self, event: &notify::Event) -> bool {
        if event.need_rescan() {
            // Something was not told, perhaps that folders have moved.
            self.forget(Path::new(""));
            return true;
        }
        let mut matters = event.paths.iter().any(|path| self.plan.concerns(path));
        if may_move(event.kind) {
            for path in &event.paths {
                matters |= self.forget(path);
            }
        }
        matters
    }

    /// Gives up the watches of a folder and of those below, and returns whether there were any. Watches stand on
    /// folders, not on paths: once a path was given away, the watch reports the folder that had it.
    fn forget(&mut self, path: &Path) -> bool {
        let gone = self.plan.take_below(path);
        for folder in &gone {
            let _ = self.watcher.unwatch(folder);
        }
        !gone.is_empty()
    }
}

/// Returns `true` if something was changed, and not only looked at, as this thread itself does.
fn is_change(event: &notify::Event) -> bool {
    !matches!(event.kind, EventKind::Access(kind) if kind != AccessKind::Close(AccessMode::Write))
}

/// Returns `true` if another folder may have the path now, or the same one may be watched only now.
fn may_move(kind: EventKind) -> bool {
    use ModifyKind::{Metadata, Name};
    matches!(kind, EventKind::Create(_) | EventKind::Remove(_) | EventKind::Modify(Name(_) | Metadata(_)))
}

/// What is watched.
#[derive(Debug, Clone)]
pub struct WatchedFiles {
    pub library: Arc<Library>,
    pub skills: Arc<SkillLibrary>,
    pub plugins: Arc<PluginLibrary>,
}

/// Whether other folders are to be watched now.
#[derive(Debug, PartialEq, Eq)]
enum PluginState {
    Changed,
    Same,
}

impl WatchedFiles {
    /// Returns files and folders, each with how much of it counts.
    fn places(&self) -> impl Iterator<Item = (PathBuf, WatchDepth)> {
        let agents = self.library.folders().into_iter().map(|path| (path, WatchDepth::All));
        let skills = self.skills.folders().into_iter();
        let skills = skills.map(|(path, is_deep)| (path, if is_deep { WatchDepth::All } else { WatchDepth::Folder }));
        agents.chain(skills).chain(self.plugins.files().into_iter().map(|path| (path, WatchDepth::Entry)))
    }

    fn reload(&self) -> PluginState {
        let before = self.plugins.all();
        reload("plugins", || self.plugins.reload(), |_| None);
        let plugins = self.plugins.all();
        if plugins != before {
            self.library.use_plugins(&plugins);
            self.skills.use_plugins(&plugins);
        }
        let path = |name: &str| self.library.catalog().get(name)?.source.path.clone();
        reload("agent files", || self.library.reload(), path);
        let path = |name: &str| Some(self.skills.catalog().get(name)?.path.clone());
        reload("skills", || self.skills.reload(), path);
        if plugins == before { PluginState::Same } else { PluginState::Changed }
    }
}

/// Reads files and notes in the log what that changed, and how old the newest change was when it came in force.
fn reload(files: &str, read: impl FnOnce() -> CatalogChanges, path: impl Fn(&str) -> Option<PathBuf>) {
    let begun = Instant::now();
    let changes = read();
    let took_ms = begun.elapsed().as_millis();
    if changes.is_empty() {
        tracing::debug!(took_ms, "{files} read, nothing changed");
        return;
    }
    let age_ms = newest(&changes, path).and_then(|at| at.elapsed().ok()).map(|age| age.as_millis());
    let CatalogChanges { added, changed, removed, errors } = changes;
    let errors = errors.len();
    tracing::info!(?added, ?changed, ?removed, errors, took_ms, age_ms, "{files} reloaded");
}

/// Returns when the newest of the changed files was written.
fn newest(changes: &CatalogChanges, path: impl Fn(&str) -> Option<PathBuf>) -> Option<SystemTime> {
    let files = changes.added.iter().chain(&changes.changed).filter_map(|name| path(name));
    let broken = changes.errors.iter().filter_map(|error| error.path.clone());
    files.chain(broken).filter_map(|path| std::fs::metadata(path).ok()?.modified().ok()).max()
}
