//! Watching the places that cannot be protected because nothing lies there yet, while commands run in the sandbox.
//!
//! A mount needs something to lie upon, and a rule of Landlock has no word for a single name. So what appears at a vacant
//! place is moved aside within [`PERIOD`]. Owns when that is looked at, and what is known to be somebody else's: of our own
//! tools to the file, of commands outside of the sandbox by their time. Leaves moving to `evict`. Invariants: what nobody
//! is known to have made is moved, never removed, and never without a word; what is known is forgotten when no command runs
//! in the sandbox any more, as the next one finds it protected. Everything here blocks, but what says otherwise.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, watch};

use super::evict::{KeptEntries, KeptEntry, PlaceStamp, VacantPlace};
use super::{CommandTraces, Intrusion, IntrusionFate, PlaceNews, SandboxPolicy};

/// Time between two looks.
const PERIOD: Duration = Duration::from_millis(500);
/// How long a command outside counts as the maker of what appears, from its start.
const OUTSIDE_LIMIT: Duration = Duration::from_mins(10);
/// How long is still looked after a command that nobody waits for.
const AFTERMATH: Duration = Duration::from_secs(5);
/// How often a command may put something where it may not write before it is to be ended.
const MAX_INTRUSIONS: usize = 12;
/// Entries that are kept of what one command outside has made.
const MAX_KEPT: usize = 10_000;

/// The watch of one session. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct PlaceWatch(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    traces: CommandTraces,
}

#[derive(Debug, Default)]
struct State {
    started: u64,
    inside: BTreeMap<u64, Inside>,
    outside: BTreeMap<u64, Outside>,
    /// Files that our own tools are writing, each as often as they do.
    written: Vec<PathBuf>,
    kept: KeptEntries,
    is_watched: bool,
    listener: Option<mpsc::UnboundedSender<PlaceNews>>,
    /// What was moved in the session.
    moved: Vec<Intrusion>,
}

/// A command that runs in the sandbox.
#[derive(Debug)]
struct Inside {
    name: String,
    /// Whether it goes on beside other things, so that not only its own result tells of it.
    is_long: bool,
    places: Vec<VacantPlace>,
    found: Arc<Found>,
    /// What could not be moved, and was said.
    stuck: BTreeSet<PathBuf>,
    /// Until when it is looked after, once nobody waits for it.
    until: Option<Instant>,
}

/// What has appeared while a command ran.
#[derive(Debug, Default)]
struct Found {
    /// Not taken yet. What others were running inside, too, stands with it.
    fresh: Mutex<Vec<(Intrusion, Vec<String>)>>,
    count: watch::Sender<usize>,
}

/// A command that runs outside of the sandbox.
#[derive(Debug, Clone)]
struct Outside {
    /// The command line.
    name: String,
    since: Instant,
    /// Whether its time is over, and what it made is kept.
    is_closed: bool,
}

impl PlaceWatch {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns what commands may have written elsewhere.
    pub fn traces(&self) -> &CommandTraces {
        &self.0.traces
    }

    /// Has somebody told what is moved, and what stays.
    pub fn tell(&self, listener: mpsc::UnboundedSender<PlaceNews>) {
        self.state().listener = Some(listener);
    }

    /// Returns what was moved in the session.
    pub fn moved(&self) -> Vec<Intrusion> {
        self.state().moved.clone()
    }

    /// Moves aside what has appeared.
    pub fn look(&self) {
        self.state().look();
    }

    /// Begins to watch the vacant places of a command's policy, until what is returned is ended. `name` says to people what
    /// runs; it `is_long` if it goes on beside other things.
    pub fn enter(&self, policy: &SandboxPolicy, name: &str, is_long: bool) -> SandboxedRun {
        self.0.traces.begin(policy);
        let mut state = self.state();
        let number = state.next();
        let found = Arc::<Found>::default();
        // Of other systems, the sandbox refuses what would appear.
        let places = if cfg!(target_os = "linux") { policy.vacant_places() } else { Vec::new() };
        let (name, found_there, stuck) = (name.to_owned(), found.clone(), BTreeSet::new());
        let inside = Inside { name, is_long, places, found: found_there, stuck, until: None };
        if !inside.places.is_empty() {
            state.inside.insert(number, inside);
        }
        if !state.is_watched && !state.inside.is_empty() {
            let watch = self.clone();
            let watching = std::thread::Builder::new().name("places".to_owned()).spawn(move || watch.keep_watch());
            // Without a thread, the end of each command looks.
            state.is_watched = watching.is_ok();
        }
        SandboxedRun { watch: self.clone(), number, found }
    }

    /// Looks, and notes that a command runs outside of the sandbox, until what is returned is dropped.
    pub fn step_outside(&self, name: &str) -> OutsideRun {
        let mut state = self.state();
        state.look();
        let number = state.next();
        state.outside.insert(number, Outside { name: name.to_owned(), since: Instant::now(), is_closed: false });
        OutsideRun { watch: self.clone(), number }
    }

    /// Looks, so that nothing that was put there is read and written back as ours, and leaves a file alone, or all in a
    /// folder, that is written now by us, until what is returned is dropped.
    pub fn writing(&self, path: &Path) -> OwnWrite {
        let mut state = self.state();
        state.look();
        state.written.push(path.to_path_buf());
        drop(state);
        OwnWrite { watch: self.clone(), path: path.to_path_buf() }
    }

    fn keep_watch(&self) {
        let mut state = self.state();
        while !state.inside.is_empty() {
            state = self.0.changed.wait_timeout(state, PERIOD).unwrap_or_else(PoisonError::into_inner).0;
            state.look();
            let now = Instant::now();
            let is_over = |inside: &Inside| inside.until.is_some_and(|until| until <= now);
            let over: Vec<u64> =
                state.inside.iter().filter(|(_, inside)| is_over(inside)).map(|(number, _)| *number).collect();
            for number in over {
                state.leave(number);
            }
        }
        state.is_watched = false;
    }
}

impl State {
    fn next(&mut self) -> u64 {
        self.started += 1;
        self.started
    }

    fn leave(&mut self, number: u64) {
        self.inside.remove(&number);
        if self.inside.is_empty() {
            self.kept.clear();
        }
    }

    fn look(&mut self) {
        if self.inside.is_empty() {
            return;
        }
        let over = |outside: &Outside| !outside.is_closed && outside.since.elapsed() >= OUTSIDE_LIMIT;
        let over: Vec<u64> =
            self.outside.iter().filter(|(_, outside)| over(outside)).map(|(number, _)| *number).collect();
        for number in over {
            self.close(number);
        }
        for (place, runs) in self.places() {
            let is_others = |outside: &Outside| !outside.is_closed && self.may_have_made(outside, &place, &runs);
            if self.is_written(&place) || self.outside.values().any(is_others) {
                continue;
            }
            for stranger in place.strangers(&self.kept) {
                let intrusion = place.evict(&stranger);
                self.tell_of(&intrusion, &runs);
            }
        }
    }

    /// Returns each place with the commands to which it is vacant.
    fn places(&self) -> Vec<(VacantPlace, BTreeSet<u64>)> {
        let mut all = BTreeMap::<&Path, (&VacantPlace, BTreeSet<u64>)>::new();
        for (number, inside) in &self.inside {
            for place in &inside.places {
                all.entry(&place.path).or_insert_with(|| (place, BTreeSet::new())).1.insert(*number);
            }
        }
        all.into_values().map(|(place, runs)| (place.clone(), runs)).collect()
    }

    fn is_written(&self, place: &VacantPlace) -> bool {
        self.written.iter().any(|path| path.starts_with(&place.path))
    }

    /// Returns `true` if what appears at a place counts as made by a command outside. In a repository that was there, it
    /// never does: what git obeys there it obeys unseen. Nor does it while a command runs that has put something where it
    /// may not, unless the command outside names the place.
    fn may_have_made(&self, outside: &Outside, place: &VacantPlace, runs: &BTreeSet<u64>) -> bool {
        let is_in_repository = place.path.ancestors().skip(1).any(|part| part.ends_with(".git"));
        let has_planted = |number: &u64| self.inside.get(number).is_some_and(|inside| *inside.found.count.borrow() > 0);
        !is_in_repository && (!runs.iter().any(has_planted) || place.is_named_in(&outside.name))
    }

    fn names(&self, runs: &BTreeSet<u64>) -> Vec<String> {
        runs.iter().filter_map(|number| self.inside.get(number)).map(|inside| inside.name.clone()).collect()
    }

    fn tell_of(&mut self, intrusion: &Intrusion, runs: &BTreeSet<u64>) {
        let mut runs = runs.clone();
        if intrusion.fate == IntrusionFate::Stuck {
            // It is found at every look, and said once.
            runs.retain(|number| {
                self.inside.get_mut(number).is_some_and(|inside| inside.stuck.insert(intrusion.path.clone()))
            });
        }
        if runs.is_empty() {
            return;
        }
        let (names, runs) = (self.names(&runs), &runs);
        for inside in runs.iter().filter_map(|number| self.inside.get(number)) {
            let others = names.iter().filter(|name| **name != inside.name).cloned().collect();
            inside.found.fresh.lock().unwrap_or_else(PoisonError::into_inner).push((intrusion.clone(), others));
            inside.found.count.send_modify(|count| *count += 1);
        }
        self.moved.push(intrusion.clone());
        let is_long = |number: &u64| self.inside.get(number).is_some_and(|inside| inside.is_long);
        if runs.iter().any(is_long) {
            self.send(PlaceNews::Appeared { intrusion: intrusion.clone(), inside: names });
        }
    }

    fn send(&self, news: PlaceNews) {
        if let Some(listener) = &self.listener {
            // Nobody hears of it any more at the end of the session.
            let _ = listener.send(news);
        }
    }

    /// Keeps what has appeared while a command ran outside, as far as it may have made it.
    fn close(&mut self, number: u64) {
        let Some(outside) = self.outside.get_mut(&number).filter(|outside| !outside.is_closed) else { return };
        outside.is_closed = true;
        let outside = outside.clone();
        for (place, runs) in self.places() {
            if !self.may_have_made(&outside, &place, &runs) || place.strangers(&self.kept).is_empty() {
                continue;
            }
            if place.path.ends_with(".git") {
                // Others write in it from now on; what git obeys in it is watched.
                for (_, inside) in self.inside.iter_mut().filter(|(number, _)| runs.contains(number)) {
                    inside.places.retain(|other| other.path != place.path);
                    inside.places.extend(place.as_repository());
                }
                place.as_repository().iter().for_each(|place| self.keep(&place.path));
            } else {
                self.keep(&place.path);
            }
            let (path, outside, inside) = (place.path.clone(), outside.name.clone(), self.names(&runs));
            self.send(PlaceNews::Kept { path, outside, inside });
        }
    }

    /// Keeps what lies at a path, and below it, as it is now.
    fn keep(&mut self, path: &Path) {
        let mut open = vec![path.to_path_buf()];
        let mut left = MAX_KEPT;
        while let Some(path) = open.pop() {
            let entry = match path.symlink_metadata() {
                Ok(found) => KeptEntry::of(&found),
                Err(_) => KeptEntry::Gone,
            };
            if matches!(entry, KeptEntry::Folder { .. }) {
                let entries = path.read_dir().into_iter().flatten().filter_map(Result::ok);
                open.extend(entries.map(|entry| entry.path()).take(left));
            }
            self.kept.insert(path, entry);
            left = left.saturating_sub(1);
            if left == 0 {
                return;
            }
        }
    }

    /// Keeps a file of which one of our tools knows the state, and the folders above it.
    fn keep_written(&mut self, path: &Path, stamp: PlaceStamp) {
        let places = self.places();
        let Some((place, _)) = places.iter().find(|(place, _)| path.starts_with(&place.path)) else { return };
        let folders = path.ancestors().skip(1).take_while(|folder| folder.starts_with(&place.path));
        for folder in folders {
            if let Ok(found) = folder.symlink_metadata()
                && found.is_dir()
            {
                self.kept.insert(folder.to_path_buf(), KeptEntry::of(&found));
            }
        }
        self.kept.insert(path.to_path_buf(), KeptEntry::File(stamp));
    }
}

/// A command in the sandbox, as long as it runs. When it is dropped, it is watched for a little longer.
#[derive(Debug)]
pub struct SandboxedRun {
    watch: PlaceWatch,
    number: u64,
    found: Arc<Found>,
}

impl SandboxedRun {
    /// Takes what has appeared since this was asked last, each with what else ran in the sandbox. Does not block.
    pub fn take_found(&self) -> Vec<(Intrusion, Vec<String>)> {
        std::mem::take(&mut *self.found.fresh.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Waits until so much has appeared that the command is to be ended.
    pub async fn goes_too_far(&self) {
        let mut count = self.found.count.subscribe();
        if count.wait_for(|count| *count >= MAX_INTRUSIONS).await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// Looks for the last time, once nothing of the command runs any more.
    pub fn end(&self) {
        let mut state = self.watch.state();
        if state.inside.contains_key(&self.number) {
            state.look();
            state.leave(self.number);
            self.watch.0.changed.notify_all();
        }
    }
}

impl Drop for SandboxedRun {
    fn drop(&mut self) {
        if let Some(inside) = self.watch.state().inside.get_mut(&self.number) {
            inside.until = Some(Instant::now() + AFTERMATH);
        }
    }
}

/// A command outside of the sandbox, as long as it runs.
#[derive(Debug)]
pub struct OutsideRun {
    watch: PlaceWatch,
    number: u64,
}

impl OutsideRun {
    /// Keeps what it may have made, once nothing of it runs any more.
    pub fn end(&self) {
        let mut state = self.watch.state();
        state.close(self.number);
        state.outside.remove(&self.number);
    }
}

impl Drop for OutsideRun {
    fn drop(&mut self) {
        self.end();
    }
}

/// A file that is being written by us.
#[derive(Debug)]
pub struct OwnWrite {
    watch: PlaceWatch,
    path: PathBuf,
}

impl OwnWrite {
    /// Notes in which state the file was left.
    pub fn done(self, stamp: PlaceStamp) {
        self.watch.traces().leave(&self.path, stamp);
        self.watch.state().keep_written(&self.path, stamp);
    }

    /// Notes that this file is as it was left, where its writer does not say in which state.
    pub fn left(&self, path: &Path) {
        if let Ok(found) = path.symlink_metadata() {
            let stamp = PlaceStamp::of(&found);
            self.watch.traces().leave(path, stamp);
            self.watch.state().keep_written(path, stamp);
        }
    }
}

impl Drop for OwnWrite {
    fn drop(&mut self) {
        let mut state = self.watch.state();
        if let Some(at) = state.written.iter().position(|path| *path == self.path) {
            state.written.swap_remove(at);
        }
    }
}
