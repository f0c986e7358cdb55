//! What a caller holds while a command runs, inside or outside of the sandbox, or while one of our tools writes a file.
//!
//! Owns what happens at the end of each. Leaves looking, and whose a thing is, to `watch`. Invariant: whoever lets go of one
//! without a word is watched for a little longer. Everything here blocks, but what says otherwise.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::git_folder::Depth;
use super::kept::WrittenState;
use super::runs::FoundIntrusions;
use super::{Intrusion, PlaceWatch};

/// How long is still looked after a command that nobody waits for.
const AFTERMATH: Duration = Duration::from_secs(5);
/// Time between two looks whether the watch still answers.
const ANSWER_PERIOD: Duration = Duration::from_millis(250);

/// A command in the sandbox, as long as it runs. When it is dropped, it is watched for a little longer.
#[derive(Debug)]
pub struct SandboxedRun {
    pub(super) watch: PlaceWatch,
    pub(super) number: u64,
    pub(super) found: Arc<FoundIntrusions>,
}

impl SandboxedRun {
    /// Takes what has appeared since this was asked last, each with what else ran in the sandbox. Does not block.
    pub fn take_found(&self) -> Vec<(Intrusion, Vec<String>)> {
        self.found.take()
    }

    /// Waits until so much has appeared that the command is to be ended, or until the watch does not answer any more, which
    /// only a command can bring about.
    pub async fn goes_too_far(&self) {
        let held_up = async {
            while !self.watch.is_held_up() {
                tokio::time::sleep(ANSWER_PERIOD).await;
            }
        };
        tokio::select! {
            () = self.found.are_too_many() => {}
            () = held_up => {}
        }
    }

    /// Looks for the last time, once nothing of the command runs any more.
    pub fn end(&self) {
        let mut state = self.watch.state();
        if state.inside.contains_key(&self.number) {
            state.look(Depth::Whole);
            state.leave(self.number);
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
    pub(super) watch: PlaceWatch,
    pub(super) number: u64,
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
    pub(super) watch: PlaceWatch,
    pub(super) path: PathBuf,
}

impl OwnWrite {
    /// Notes what was written. It stays as long as nobody changes it, if nobody has yet.
    pub fn done(&self, path: &Path, content: &[u8]) {
        // It takes its time while others could write, too.
        let Some(written) = WrittenState::of(path, content, self.watch.is_idle()) else { return };
        self.watch.traces().leave(path, written.stamp);
        let mut state = self.watch.state();
        state.git.accept(path);
        let mut places = state.inside.values().flat_map(|inside| &inside.places);
        let place = places.find(|place| path.starts_with(&place.path)).map(|place| place.path.clone());
        let is_patterned = || state.inside.values().any(|inside| inside.is_patterned(path));
        let place = place.or_else(|| is_patterned().then(|| path.to_path_buf()));
        if let Some(place) = place {
            state.kept.keep_written(&place, written);
        }
    }
}

impl Drop for OwnWrite {
    fn drop(&mut self) {
        let mut state = self.watch.state();
        // What has appeared is ours.
        state.look(Depth::Passing);
        if let Some(at) = state.written.iter().position(|path| *path == self.path) {
            state.written.swap_remove(at);
        }
        state.look(Depth::Passing);
    }
}
