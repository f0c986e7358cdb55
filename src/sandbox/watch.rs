//! Watching the places that cannot be protected because nothing lies there yet, while commands run in the sandbox.
//!
//! A mount needs something to lie upon, and a rule of Landlock has no word for a single name. So what appears at a vacant
//! place is moved aside as soon as the system says so. Owns when that is looked at, and who may have made what: our own
//! tools, commands outside of the sandbox by their time. Leaves moving to `evict`, what is known not to be a command's to
//! `kept`, and hearing of it to `events`. Invariants: what nobody is known to have made is moved, never removed, and never
//! without a word; what is known is forgotten when no command runs in the sandbox any more, as the next one finds it
//! protected; while something cannot be moved, none is started. Everything here blocks, but what says otherwise.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::mpsc;

use super::events::{HeardEvents, PlaceEvents};
use super::evict::VacantPlace;
use super::git_folder::Depth;
use super::git_watch::GitWatch;
use super::gitlinks::GitLinks;
use super::kept::KeptEntries;
use super::run_handles::{OutsideRun, OwnWrite, SandboxedRun};
use super::runs::{OutsideCommand, SandboxedCommand};
use super::{CommandTraces, Intrusion, IntrusionFate, PlaceNews, SandboxPolicy};

/// Time between two looks while the system says nothing.
const PERIOD: Duration = Duration::from_millis(500);
/// Time between two looks where the system cannot say what happens.
const UNTOLD_PERIOD: Duration = Duration::from_millis(50);
/// Time between two looks at repositories in which git is at work.
const GIT_PERIOD: Duration = Duration::from_millis(20);
/// Time between two looks for new repositories while a command goes on, and how much more of its time each look leaves.
const WHOLE_PERIOD: Duration = Duration::from_secs(2);
const WHOLE_SHARE: u32 = 20;
/// How long a look may take before the commands that could hold it up are ended. A disk that is busy takes a second or two.
const ANSWER_LIMIT: Duration = Duration::from_secs(5);
/// How often folders that were moved meanwhile are listened to anew in one look.
const MAX_ROUNDS: usize = 4;

/// The watch of one session. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct PlaceWatch(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    entrance: Mutex<()>,
    traces: CommandTraces,
    /// When the look began that goes on.
    look_began: Mutex<Option<Instant>>,
    /// What commands see as the folder for temporary files, where that is not the system's.
    tmp: OnceLock<PathBuf>,
}

#[derive(Debug, Default)]
pub(super) struct State {
    started: u64,
    pub(super) inside: BTreeMap<u64, SandboxedCommand>,
    pub(super) outside: BTreeMap<u64, OutsideCommand>,
    /// Files that our own tools are writing, each as often as they do.
    pub(super) written: Vec<PathBuf>,
    pub(super) kept: KeptEntries,
    links: GitLinks,
    pub(super) git: GitWatch,
    events: Option<PlaceEvents>,
    /// Whether the system cannot say all that happens.
    is_untold: bool,
    /// Where something has appeared since the last look, which may be gone.
    appeared: BTreeSet<PathBuf>,
    is_watched: bool,
    listener: Option<mpsc::UnboundedSender<PlaceNews>>,
    /// The file that says where something could appear, for whoever comes after us if we are killed.
    record: Option<PathBuf>,
    /// What was moved in the session, or could not be.
    found: Vec<Intrusion>,
}

impl PlaceWatch {
    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns what commands may have written elsewhere.
    pub fn traces(&self) -> &CommandTraces {
        &self.0.traces
    }

    /// Notes what commands see at [`super::TMP`].
    pub(super) fn share_tmp(&self, folder: PathBuf) {
        let _ = self.0.tmp.set(folder);
    }

    /// Returns what commands see at [`super::TMP`], if that is not the system's.
    #[must_use]
    pub fn tmp(&self) -> Option<&Path> {
        self.0.tmp.get().map(PathBuf::as_path)
    }

    /// Has it written to a file where something could appear, as long as a command runs.
    pub(super) fn record_in(&self, file: PathBuf) {
        self.state().record = Some(file);
    }

    /// Has somebody told what is moved, and what stays.
    pub fn tell(&self, listener: mpsc::UnboundedSender<PlaceNews>) {
        self.state().listener = Some(listener);
    }

    /// Passes something on to whoever is told.
    pub fn say(&self, news: PlaceNews) {
        self.state().send(news);
    }

    /// Returns what was moved in the session, and what could not be.
    pub fn found(&self) -> Vec<Intrusion> {
        self.state().found.clone()
    }

    /// Returns something that could not be moved, and is still there.
    #[must_use]
    pub fn stuck(&self) -> Option<PathBuf> {
        let found = self.found();
        let stuck = found.into_iter().filter(|intrusion| intrusion.fate == IntrusionFate::Stuck);
        stuck.map(|intrusion| intrusion.path).find(|path| path.symlink_metadata().is_ok())
    }

    /// Returns the folders below `top` that git has as repositories of their own.
    pub(super) fn repositories(&self, top: &Path) -> BTreeSet<PathBuf> {
        self.state().links.below(top)
    }

    /// Lets one command at a time begin.
    pub fn entrance(&self) -> MutexGuard<'_, ()> {
        self.0.entrance.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns `true` if no command runs in the sandbox.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.state().inside.is_empty()
    }

    /// Moves aside what has appeared.
    pub fn look(&self) {
        self.state().look(Depth::Passing);
    }

    /// Moves aside what has appeared, also as a repository of its own, before a program of ours or of the user's starts.
    pub fn look_at_all(&self) {
        self.state().look(Depth::Whole);
    }

    /// Returns `true` if a look has gone on for so long that something must be holding it up.
    pub(super) fn is_held_up(&self) -> bool {
        let began = *self.0.look_began.lock().unwrap_or_else(PoisonError::into_inner);
        began.is_some_and(|began| began.elapsed() > ANSWER_LIMIT)
    }

    /// Looks while it is known since when.
    fn look_in_time(&self, state: &mut State) {
        let note = |began| *self.0.look_began.lock().unwrap_or_else(PoisonError::into_inner) = began;
        note(Some(Instant::now()));
        state.look(Depth::Passing);
        note(None);
    }

    /// Begins to watch the vacant places of a command's policy, until what is returned is ended. `name` says to people what
    /// runs; it `is_long` if it goes on beside other things.
    pub fn enter(&self, policy: &SandboxPolicy, name: &str, is_long: bool) -> SandboxedRun {
        self.0.traces.begin(policy);
        let mut state = self.state();
        let number = state.next();
        // Of other systems, the sandbox refuses what would appear.
        let places = if cfg!(target_os = "linux") { policy.vacant_places() } else { Vec::new() };
        let inside = SandboxedCommand::new(name, is_long, policy, places);
        let found = inside.found.clone();
        if !inside.tops.is_empty() {
            let is_idle = state.inside.is_empty();
            state.git.begin(&inside.tops, is_idle);
            state.inside.insert(number, inside);
            state.write_down();
            if state.events.is_none() {
                state.events = PlaceEvents::new();
            }
            state.listen();
        }
        if !state.is_watched && !state.inside.is_empty() {
            let watch = self.clone();
            let watching = std::thread::Builder::new().name("places".to_owned()).spawn(move || watch.keep_watch());
            // Without a thread, the end of each command looks.
            state.is_watched = watching.is_ok();
        }
        SandboxedRun { watch: self.clone(), number, found }
    }

    /// Looks, and notes that a command runs outside of the sandbox, until what is returned is dropped. By its words it tells
    /// what it is about.
    pub fn step_outside(&self, name: &str, words: Vec<String>) -> OutsideRun {
        let mut state = self.state();
        state.look(Depth::Whole);
        let number = state.next();
        state.outside.insert(number, OutsideCommand::new(name, words));
        OutsideRun { watch: self.clone(), number }
    }

    /// Looks, so that nothing that was put there is read and written back as ours, and leaves a file alone, or all in a
    /// folder, that is written now by us, until what is returned is dropped.
    pub fn writing(&self, path: &Path) -> OwnWrite {
        let mut state = self.state();
        state.look(Depth::Passing);
        state.written.push(path.to_path_buf());
        drop(state);
        OwnWrite { watch: self.clone(), path: path.to_path_buf() }
    }

    /// Makes an empty file or folder for ourselves, if that can be.
    pub(super) fn make_blank(&self, path: &Path, make: impl FnOnce() -> std::io::Result<()>) {
        let writing = self.writing(path);
        if make().is_err() {
            return;
        }
        if path.is_dir() {
            self.state().kept.keep_folder(path);
        } else {
            writing.done(path, b"");
        }
    }

    fn keep_watch(&self) {
        let mut state = self.state();
        let (mut looked, mut looked_whole) = (Instant::now(), Instant::now());
        let (mut is_due, mut whole_period) = (false, WHOLE_PERIOD);
        while !state.inside.is_empty() {
            let waiter = state.events.as_ref().map(PlaceEvents::waiter);
            let period = if state.is_untold { UNTOLD_PERIOD } else { PERIOD };
            drop(state);
            match waiter {
                Some(wait) if !is_due => wait(period),
                _ => std::thread::sleep(if is_due { GIT_PERIOD } else { period }),
            }
            state = self.state();
            let heard = state.hear();
            is_due |= heard.is_of_git;
            if heard.is_news || looked.elapsed() >= period || is_due && looked.elapsed() >= GIT_PERIOD {
                self.look_in_time(&mut state);
                (looked, is_due) = (Instant::now(), false);
            }
            if looked_whole.elapsed() >= whole_period {
                let began = Instant::now();
                state.look(Depth::Whole);
                whole_period = WHOLE_PERIOD.max(began.elapsed() * WHOLE_SHARE);
                looked_whole = Instant::now();
            }
            let now = Instant::now();
            let is_over = |inside: &SandboxedCommand| inside.until.is_some_and(|until| until <= now);
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

    pub(super) fn leave(&mut self, number: u64) {
        if let Some(inside) = self.inside.remove(&number) {
            let count = inside.found.unsaid();
            if count > 0 && inside.is_long {
                self.send(PlaceNews::More { count, inside: inside.name });
            }
        }
        self.write_down();
        if self.inside.is_empty() {
            self.kept.clear();
            self.git.end();
            self.events = None;
            self.appeared.clear();
        }
    }

    /// Writes down where something could appear. Where that cannot be, nothing is said of it after a crash.
    fn write_down(&self) {
        let Some(record) = &self.record else { return };
        let places = self.inside.values().flat_map(|inside| &inside.places).filter(|place| place.link.is_none());
        let places: BTreeSet<&[u8]> = places.map(|place| place.path.as_os_str().as_bytes()).collect();
        let _ = std::fs::write(record, places.into_iter().flat_map(|path| [path, b"\0"]).collect::<Vec<_>>().concat());
    }

    /// Takes in what the system says.
    fn hear(&mut self) -> HeardEvents {
        let mut heard = self.events.as_mut().map(PlaceEvents::hear).unwrap_or_default();
        self.appeared.append(&mut heard.appeared);
        heard
    }

    /// Has the system say what happens from now on at all places as they are.
    fn listen(&mut self) {
        for _ in 0..MAX_ROUNDS {
            let places = self.inside.values().flat_map(|inside| &inside.places);
            let tops = self.inside.values().flat_map(|inside| &inside.tops);
            let heard = (places, tops, self.kept.paths(), self.git.heard());
            self.is_untold = !self.events.as_mut().is_some_and(|events| events.listen(heard));
            if !self.hear().has_lost {
                return;
            }
        }
    }

    pub(super) fn look(&mut self, depth: Depth) {
        if self.inside.is_empty() {
            return;
        }
        let over: Vec<u64> =
            self.outside.iter().filter(|(_, outside)| outside.is_over()).map(|(number, _)| *number).collect();
        for number in over {
            self.close(number);
        }
        self.find_repositories();
        self.listen();
        let appeared = std::mem::take(&mut self.appeared);
        for (place, runs) in self.places() {
            let is_others = |outside: &OutsideCommand| !outside.is_closed && self.may_have_made(outside, &place, &runs);
            if self.is_written(&place) || self.outside.values().any(is_others) {
                continue;
            }
            if self.git.is_submodule(&place.path) {
                continue;
            }
            let strangers = self.kept.strangers(&place);
            if strangers.is_empty() && appeared.contains(&place.path) && place.path.symlink_metadata().is_err() {
                self.tell_of(&Intrusion { path: place.path, fate: IntrusionFate::Gone }, &runs);
                continue;
            }
            for stranger in strangers {
                let intrusion = place.evict(&stranger);
                self.tell_of(&intrusion, &runs);
            }
            if place.link.is_some() {
                // What was put back has appeared, too.
                self.hear();
                self.appeared.remove(&place.path);
            }
        }
        let runs: BTreeSet<u64> = self.inside.keys().copied().collect();
        for misplaced in self.git.misplaced(depth) {
            let is_place = |inside: &SandboxedCommand| inside.places.iter().any(|place| place.path == misplaced.path);
            // What has come to a place since that was looked at is moved from there the next time.
            let is_next = depth == Depth::Passing && self.inside.values().any(is_place);
            if !is_next && !self.written.iter().any(|path| path.starts_with(&misplaced.path)) {
                self.tell_of(&misplaced.evict(), &runs);
            }
        }
    }

    /// Takes in what has become a repository inside of one, and what is obeyed by a pattern of its name.
    fn find_repositories(&mut self) {
        self.inside.values_mut().for_each(SandboxedCommand::watch_patterns);
        let tops: BTreeSet<PathBuf> = self.inside.values().flat_map(|inside| inside.tops.iter().cloned()).collect();
        for top in tops {
            let links = self.links.below(&top);
            for inside in self.inside.values_mut().filter(|inside| inside.tops.contains(&top)) {
                inside.watch_repositories(&top, &links);
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

    /// Returns `true` if what appears at a place counts as made by this command outside.
    fn may_have_made(&self, outside: &OutsideCommand, place: &VacantPlace, runs: &BTreeSet<u64>) -> bool {
        outside.may_have_made(place, runs.iter().filter_map(|number| self.inside.get(number)))
    }

    fn names(&self, runs: &BTreeSet<u64>) -> Vec<String> {
        runs.iter().filter_map(|number| self.inside.get(number)).map(|inside| inside.name.clone()).collect()
    }

    fn tell_of(&mut self, intrusion: &Intrusion, runs: &BTreeSet<u64>) {
        let is_stuck = intrusion.fate == IntrusionFate::Stuck;
        if is_stuck && self.found.contains(intrusion) {
            // It is found at every look, and said once.
            return;
        }
        let names = self.names(runs);
        let (mut is_news, mut is_long) = (false, false);
        for inside in runs.iter().filter_map(|number| self.inside.get(number)) {
            let others = names.iter().filter(|name| **name != inside.name).cloned().collect();
            is_news |= inside.found.add(intrusion, others);
            is_long |= inside.is_long;
        }
        if is_stuck || is_news {
            self.found.push(intrusion.clone());
        }
        if is_stuck || is_long && is_news {
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
    pub(super) fn close(&mut self, number: u64) {
        let Some(outside) = self.outside.get_mut(&number).filter(|outside| !outside.is_closed) else { return };
        outside.is_closed = true;
        let outside = outside.clone();
        self.find_repositories();
        // What came and went meanwhile may have been its doing.
        self.hear();
        for (place, runs) in self.places() {
            if !self.may_have_made(&outside, &place, &runs) {
                continue;
            }
            self.appeared.remove(&place.path);
            if self.kept.strangers(&place).is_empty() {
                continue;
            }
            if place.path.ends_with(".git") {
                // Others write in it from now on; what git obeys in it is watched.
                for (_, inside) in self.inside.iter_mut().filter(|(number, _)| runs.contains(number)) {
                    inside.places.retain(|other| other.path != place.path);
                    inside.places.extend(place.as_repository());
                }
                place.as_repository().iter().for_each(|place| self.kept.keep(&place.path));
                self.git.adopt(&place.path);
            } else {
                self.kept.keep(&place.path);
            }
            let (path, outside, inside) = (place.path.clone(), outside.name.clone(), self.names(&runs));
            self.send(PlaceNews::Kept { path, outside, inside });
        }
    }
}
