//! What runs inside and outside of the sandbox at a time.
//!
//! Owns what is known of each command: what has appeared while it ran, and what it may have made. Leaves looking to `watch`.
//! Invariant: a command that was caught is not believed to have been innocent of the next thing.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::watch;

use super::evict::VacantPlace;
use super::places::patterned;
use super::{Intrusion, IntrusionFate, SandboxPolicy};
use crate::obeyed::is_kept_by_pattern;

/// How long a command outside counts as the maker of what appears, from its start.
const OUTSIDE_LIMIT: Duration = Duration::from_mins(10);
/// How often a command may put something where it may not write before it is to be ended. What comes then is only counted.
const MAX_INTRUSIONS: usize = 12;

/// A command that runs in the sandbox.
#[derive(Debug)]
pub(super) struct SandboxedCommand {
    pub(super) name: String,
    /// Whether it goes on beside other things, so that not only its own result tells of it.
    pub(super) is_long: bool,
    pub(super) places: Vec<VacantPlace>,
    /// Folders that it may write in.
    pub(super) tops: Vec<PathBuf>,
    /// Repositories inside of a repository that are protected from it.
    covered: BTreeSet<PathBuf>,
    /// What the policy protects.
    protected: BTreeSet<PathBuf>,
    pub(super) found: Arc<FoundIntrusions>,
    /// Until when it is looked after, once nobody waits for it.
    pub(super) until: Option<Instant>,
}

impl SandboxedCommand {
    /// Returns one that begins under a policy, which has these vacant places.
    pub(super) fn new(name: &str, is_long: bool, policy: &SandboxPolicy, places: Vec<VacantPlace>) -> Self {
        let repository = |path: &PathBuf| path.ancestors().find(|part| part.ends_with(".git")).map(Path::to_path_buf);
        // Of other systems, the sandbox refuses what would appear.
        let tops = if cfg!(target_os = "linux") { policy.tops() } else { Vec::new() };
        let covered = policy.protected.iter().filter_map(repository).collect();
        let protected = policy.protected.iter().cloned().collect();
        Self { name: name.to_owned(), is_long, places, tops, covered, protected, found: Arc::default(), until: None }
    }

    /// Adds what has appeared by a name that is obeyed by a pattern: nobody could say before what it would be.
    pub(super) fn watch_patterns(&mut self) {
        let tops: BTreeSet<PathBuf> = self.places.iter().map(|place| place.top.clone()).collect();
        for top in tops {
            let is_new =
                |path: &PathBuf| !self.protected.contains(path) && !self.places.iter().any(|place| place.path == *path);
            let new: Vec<PathBuf> = patterned(&top).into_iter().filter(is_new).collect();
            self.places.extend(new.into_iter().map(|path| VacantPlace { path, link: None, top: top.clone() }));
        }
    }

    /// Returns `true` for a path at the top of a folder that is watched, by a name that is obeyed by a pattern.
    pub(super) fn is_patterned(&self, path: &Path) -> bool {
        let at_top = |place: &VacantPlace| path.parent() == Some(&place.top);
        is_kept_by_pattern(path) && self.places.iter().any(at_top)
    }

    /// Adds what the index of `top` has as repositories by now: what git finds there it obeys.
    pub(super) fn watch_repositories(&mut self, top: &Path, links: &BTreeSet<PathBuf>) {
        let known: BTreeSet<&Path> = self.places.iter().map(|place| place.path.as_path()).collect();
        let all = links.iter().map(|link| link.join(".git"));
        let new: Vec<PathBuf> =
            all.filter(|path| !self.covered.contains(path) && !known.contains(path.as_path())).collect();
        let place = |path| VacantPlace { path, link: None, top: top.to_path_buf() };
        self.places.extend(new.into_iter().map(place));
    }
}

/// What has appeared while a command ran.
#[derive(Debug, Default)]
pub(super) struct FoundIntrusions {
    /// Not taken yet. What others were running inside, too, stands with it.
    fresh: Mutex<Vec<(Intrusion, Vec<String>)>>,
    count: watch::Sender<usize>,
}

impl FoundIntrusions {
    /// Adds one. Returns `false` if there are too many to say it.
    pub(super) fn add(&self, intrusion: &Intrusion, others: Vec<String>) -> bool {
        // Nothing else keeps the command from going on.
        let weight = match intrusion.fate {
            IntrusionFate::Stuck | IntrusionFate::Unseen => MAX_INTRUSIONS,
            // The next time, git may be asked before it is put back.
            IntrusionFate::Replaced(_) => MAX_INTRUSIONS / 3,
            _ => 1,
        };
        let is_said = *self.count.borrow() < MAX_INTRUSIONS;
        self.count.send_modify(|count| *count += weight);
        if is_said {
            self.fresh.lock().unwrap_or_else(PoisonError::into_inner).push((intrusion.clone(), others));
        }
        is_said
    }

    pub(super) fn take(&self) -> Vec<(Intrusion, Vec<String>)> {
        std::mem::take(&mut *self.fresh.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn is_empty(&self) -> bool {
        *self.count.borrow() == 0
    }

    /// Returns how many were not said.
    pub(super) fn unsaid(&self) -> usize {
        self.count.borrow().saturating_sub(MAX_INTRUSIONS)
    }

    /// Waits until there are so many that the command is to be ended.
    pub(super) async fn are_too_many(&self) {
        let mut count = self.count.subscribe();
        if count.wait_for(|count| *count >= MAX_INTRUSIONS).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

/// A command that runs outside of the sandbox.
#[derive(Debug, Clone)]
pub(super) struct OutsideCommand {
    /// The command line.
    pub(super) name: String,
    words: Vec<String>,
    since: Instant,
    /// Whether its time is over, and what it made is kept.
    pub(super) is_closed: bool,
}

impl OutsideCommand {
    pub(super) fn new(name: &str, words: Vec<String>) -> Self {
        Self { name: name.to_owned(), words, since: Instant::now(), is_closed: false }
    }

    pub(super) fn is_over(&self) -> bool {
        !self.is_closed && self.since.elapsed() >= OUTSIDE_LIMIT
    }

    /// Returns `true` if what appears at a place while these others run inside counts as made by this one. In a repository
    /// that was there, it never does: what git obeys there it obeys unseen. Nor does it while a command runs that has put
    /// something where it may not, unless this one names the place.
    pub(super) fn may_have_made<'a>(
        &self,
        place: &VacantPlace,
        mut inside: impl Iterator<Item = &'a SandboxedCommand>,
    ) -> bool {
        let is_in_repository = place.path.ancestors().skip(1).any(|part| part.ends_with(".git"));
        !is_in_repository && (inside.all(|inside| inside.found.is_empty()) || place.is_named_in(&self.words))
    }
}
