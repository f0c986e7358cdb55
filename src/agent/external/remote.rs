//! An agent that a launcher runs somewhere else: its folder gets there, and what it changes comes back.
//!
//! Owns when that is asked for, and what follows if it fails. Leaves the pieces to `external` and the files to `worktree`.
//! Invariants: what it has changed is asked for after each call that may have changed something, and before it counts as ended;
//! a run whose changes did not come back is never complete.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use serde_json::Value;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use super::synced::SyncedFolder;
use super::{ExternalEnd, Talk};
use crate::agent::{EventKind, StopCause};
use crate::external::{CallKind, CallUpdate, CameBack, ExternalError, FromExternal};
use crate::message::{RsyncFolder, Transcript, sanitize_line};
use crate::worktree::CarriedFolder;

/// Shortest time between two looks at what has changed while it works.
const LOOK_INTERVAL: Duration = Duration::from_secs(5);
/// How long the last changes may take to come back.
const LAST_CHANGES: Duration = Duration::from_mins(5);
/// The same of an agent that was stopped, and of one that ends with the program.
const STOPPED: Duration = Duration::from_secs(10);
const QUITTING: Duration = Duration::from_secs(3);

/// What it takes to have an agent work somewhere else.
#[derive(Debug, Clone)]
pub struct RemoteAgent {
    /// The name of the launcher.
    pub launcher: String,
    /// The agent in the form of `--agents`: what works there works as it.
    pub described: Value,
    /// Its prompt, for a program that takes no description.
    pub prompt: Arc<str>,
    /// What a program that takes no description would not keep to; `None` if that is nothing.
    pub restriction: Option<&'static str>,
    /// The worktree whose files it works on; `None` if it works with what is there.
    pub folder: Option<CarriedFolder>,
    /// Where rsync puts them; `None` if they go over the agent's own connection.
    pub rsync: Option<RsyncFolder>,
}

/// A folder that is being worked in somewhere else.
pub(super) struct Carrying<'a> {
    folder: &'a CarriedFolder,
    /// Its root over there.
    root: PathBuf,
    /// The state that is here.
    since: String,
    /// Something may have changed since it was asked for last.
    is_dirty: bool,
    /// It is asked for, and not here yet.
    is_asked: bool,
    /// When it may be asked for again.
    next_look: Instant,
    /// Why the last state that was asked for is not here, and whether the connection was lost.
    missing: Option<(String, bool)>,
    /// Folders that were said to be left out.
    left_out: Vec<PathBuf>,
    /// What keeps it over there, if that is rsync.
    synced: Option<Arc<SyncedFolder>>,
    /// What rsync is fetching.
    fetching: Option<Fetching>,
}

/// Something on its way here; the error says why it is not.
type Fetching = BoxFuture<'static, Result<(), String>>;

impl<'a> Carrying<'a> {
    fn new(folder: &'a CarriedFolder, (root, since): (PathBuf, String), synced: Option<Arc<SyncedFolder>>) -> Self {
        Self {
            folder,
            root,
            since,
            is_dirty: false,
            is_asked: false,
            next_look: Instant::now(),
            missing: None,
            left_out: Vec::new(),
            synced,
            fetching: None,
        }
    }

    fn come_in(&mut self) {
        self.is_asked = false;
        self.next_look = Instant::now() + LOOK_INTERVAL;
    }
}

/// Waits for what rsync fetches; for ever if that is nothing. May be given up and called again.
pub(super) async fn fetched(carrying: Option<&mut Carrying<'_>>) -> Result<(), String> {
    let Some(carrying) = carrying else { return std::future::pending().await };
    let Some(fetching) = carrying.fetching.as_mut() else { return std::future::pending().await };
    let fetched = fetching.await;
    carrying.fetching = None;
    fetched
}

impl Talk<'_> {
    /// Sends the folder of an agent that works somewhere else. Returns where it works there.
    pub(super) async fn arrive(&mut self) -> Result<PathBuf, ExternalError> {
        let here = self.agent.place.cwd.as_ref().clone();
        let (Some(remote), Some(connection)) = (&self.external.remote, self.connection.as_mut()) else {
            return Ok(here);
        };
        if let Some(what) = remote.restriction.filter(|_| !connection.takes_agents) {
            return Err(ExternalError::Refused(format!(
                "what works there is another program, or an older one, and does not keep to `{what}` of the agent"
            )));
        }
        let Some(folder) = &remote.folder else { return Ok(here) };
        let cannot = |why: String| ExternalError::Refused(format!("the files cannot be sent: {why}"));
        let project = self.agent.place.origin.clone();
        let synced = match &remote.rsync {
            Some(place) => {
                let started = (&self.external.launch, &self.external.program);
                let made = SyncedFolder::new(started, place, (folder, &project)).await;
                Some(Arc::new(made.map_err(cannot)?))
            }
            None if connection.takes_folders => None,
            None => {
                let why = "what works there takes no folder; start `belvedere acp` there, or set `folder = \"rsync\"`";
                return Err(ExternalError::Refused(why.to_owned()));
            }
        };
        // Whatever becomes of sending it, it is to be removed.
        self.carrying =
            synced.clone().map(|synced| Carrying::new(folder, (synced.root(), String::new()), Some(synced)));
        let sending = async {
            if let Some(synced) = &synced {
                synced.send(folder, &project).await.map_err(cannot)?;
                return Ok(None);
            }
            let packed = folder.pack(&self.agent.work.token()).await;
            let state = packed.map_err(|error| cannot(error.to_string()))?;
            let root = connection.send_folder((&folder.name(), &folder.inside()), &state).await?;
            Ok(Some((root, state)))
        };
        let sent = tokio::select! {
            biased;
            () = self.agent.work.cancelled() => return Err(ExternalError::Stopped),
            sent = sending => sent?,
        };
        if let Some((root, state)) = sent {
            let carrying = Carrying::new(folder, (root, state.commit), None);
            self.carrying = Some(Carrying { left_out: state.left_out, ..carrying });
        }
        let root = self.carrying.as_ref().map(|carrying| carrying.root.clone()).unwrap_or_default();
        Ok(crate::worktree::plain_join(&root, &folder.inside()))
    }

    /// Returns the parts of the first prompt that say what the agent is.
    pub(super) fn introduction(&self) -> Vec<String> {
        let system = self.agent.system.to_string();
        let takes_agents = self.connection.as_ref().is_some_and(|connection| connection.takes_agents);
        let prompt = self.external.remote.as_ref().filter(|_| !takes_agents).map(|remote| remote.prompt.to_string());
        prompt.into_iter().filter(|prompt| !prompt.trim().is_empty()).chain([system]).collect()
    }

    /// Returns a call with the paths that it has in the worktree.
    pub(super) fn at_home(&self, mut call: CallUpdate) -> CallUpdate {
        if let Some(carrying) = &self.carrying {
            call.move_paths(&carrying.root, carrying.folder.root());
        }
        call
    }

    /// Notes that a call has ended.
    pub(super) fn note_call(&mut self, kind: Option<CallKind>) {
        let only_looks = matches!(kind, Some(CallKind::Read | CallKind::Search | CallKind::Think | CallKind::Fetch));
        if let Some(carrying) = self.carrying.as_mut().filter(|_| !only_looks) {
            carrying.is_dirty = true;
        }
    }

    /// Returns when it is time to ask for changes.
    pub(super) fn look_due(&self) -> Option<Instant> {
        self.carrying.as_ref().filter(|carrying| carrying.is_dirty && !carrying.is_asked).map(|own| own.next_look)
    }

    /// Asks for what has changed.
    pub(super) fn look(&mut self) {
        let (Some(carrying), Some(connection)) = (self.carrying.as_mut(), self.connection.as_mut()) else { return };
        carrying.is_dirty = false;
        if let Some(synced) = carrying.synced.clone() {
            carrying.is_asked = true;
            carrying.fetching = Some(async move { synced.fetch().await }.boxed());
            return;
        }
        match connection.ask_changes(&carrying.since) {
            Ok(()) => carrying.is_asked = true,
            Err(error) => carrying.missing = Some(missing(&error)),
        }
    }

    /// Puts what came back into the worktree.
    pub(super) async fn take_back(&mut self, came: CameBack) {
        let Some(carrying) = self.carrying.as_mut() else { return };
        carrying.come_in();
        let state = match came {
            Ok(Some(state)) => state,
            Ok(None) => return carrying.missing = None,
            Err(error) => return carrying.missing = Some(missing(&error)),
        };
        // What was done is not given up because the agent is stopped.
        match carrying.folder.take(&state, &CancellationToken::new()).await {
            Ok(left_out) => {
                carrying.missing = None;
                carrying.since = state.commit;
                self.say_left_out(left_out).await;
            }
            Err(error) => carrying.missing = Some((error.to_string(), false)),
        }
    }

    /// Puts what rsync has fetched into the worktree.
    pub(super) async fn take_fetched(&mut self, fetched: Result<(), String>) {
        let Some(carrying) = self.carrying.as_mut() else { return };
        carrying.come_in();
        let Some(synced) = carrying.synced.clone() else { return };
        let taken = match fetched {
            Ok(()) => carrying.folder.take_files(synced.here(), &CancellationToken::new()).await,
            Err(why) => return carrying.missing = Some((why, true)),
        };
        match taken {
            Ok(left_out) => {
                carrying.missing = None;
                self.say_left_out(left_out).await;
            }
            Err(error) => carrying.missing = Some((error.to_string(), false)),
        }
    }

    async fn say_left_out(&mut self, left_out: Vec<PathBuf>) {
        let Some(carrying) = self.carrying.as_mut() else { return };
        let new = left_out.iter().filter(|folder| !carrying.left_out.contains(folder));
        let new: Vec<String> = new.map(|folder| sanitize_line(&folder.to_string_lossy()).into_owned()).collect();
        if !new.is_empty() {
            carrying.left_out = left_out;
            let text = format!("Not brought back, because they are repositories of their own: {}.", new.join(", "));
            self.run.emit(EventKind::Notice { text }).await;
        }
    }

    /// Has all changes come back, within a time that depends on how it ends: one that does not do what it is told gets little.
    pub(super) async fn bring_all_back(&mut self, does_as_told: bool) {
        if self.carrying.is_none() || self.connection.is_none() {
            return;
        }
        let limit = match self.agent.cancel.cause() {
            None if does_as_told => LAST_CHANGES,
            Some(StopCause::Quit) => QUITTING,
            _ => STOPPED,
        };
        let all = async {
            // What is on its way may have been asked for before the last change.
            self.come_back().await;
            self.look();
            self.come_back().await;
        };
        if timeout(limit, all).await.is_err()
            && let Some(carrying) = self.carrying.as_mut()
        {
            carrying.missing = Some((format!("nothing came within {} s", limit.as_secs()), true));
        }
    }

    /// Returns `true` if what it has changed comes back even when its connection is lost.
    pub(super) fn outlives_connection(&self) -> bool {
        self.carrying.as_ref().is_some_and(|carrying| carrying.synced.is_some())
    }

    /// Waits for what was asked for, and takes it in.
    async fn come_back(&mut self) {
        let Some(carrying) = self.carrying.as_mut().filter(|carrying| carrying.is_asked) else { return };
        if carrying.fetching.is_some() {
            let fetched = fetched(Some(carrying)).await;
            return self.take_fetched(fetched).await;
        }
        let came = self.came_back().await;
        self.take_back(came).await;
    }

    /// Removes the folder over there, unless there is something in it that is not here.
    pub(super) async fn leave(&mut self) {
        let Some(carrying) = self.carrying.as_mut() else { return };
        carrying.fetching = None;
        let Some(synced) = carrying.synced.clone() else { return };
        let limit = if self.agent.cancel.cause() == Some(StopCause::Quit) { QUITTING } else { STOPPED };
        let why = match &carrying.missing {
            Some(_) => Some("what it changed there is not all here".to_owned()),
            None => match timeout(limit, synced.remove()).await {
                Ok(removed) => removed.err(),
                Err(_) => Some(format!("no answer within {} s", limit.as_secs())),
            },
        };
        if let Some(why) = why {
            let text = format!("Left over there: {} ({}).", sanitize_line(&synced.there()), sanitize_line(&why));
            self.run.emit(EventKind::Notice { text }).await;
        }
    }

    /// Waits for what was asked for. It has answered, and is asked for nothing else: questions are refused.
    async fn came_back(&mut self) -> CameBack {
        loop {
            let Some(connection) = self.connection.as_mut() else {
                return Err(ExternalError::Closed("not connected".to_owned()));
            };
            match connection.next().await {
                FromExternal::Changes(came) => return came,
                FromExternal::Closed(error) => return Err(error),
                FromExternal::Request(request) => {
                    let answer = request.question.answer(None);
                    connection.answer(&request.token, &answer)?;
                }
                FromExternal::Update(_) | FromExternal::Ended(_) => self.run.watchdog.heartbeat(),
                FromExternal::Silent | FromExternal::Heard => {}
            }
        }
    }

    /// Returns how a run ends whose changes did not all come back.
    pub(super) fn unless_missing(&self, end: ExternalEnd) -> ExternalEnd {
        let missing = self.carrying.as_ref().and_then(|carrying| carrying.missing.clone());
        match (end, missing) {
            (ExternalEnd::Answered | ExternalEnd::Limited(..), Some((why, true))) => {
                ExternalEnd::Lost(self.lost_words(&why))
            }
            (ExternalEnd::Answered | ExternalEnd::Limited(..), Some((why, false))) => {
                ExternalEnd::Failed(format!("What it changed did not all come back: {}.", sanitize_line(&why)))
            }
            (end, _) => end,
        }
    }

    /// Says that the connection was lost.
    pub(super) fn lost_words(&self, why: &str) -> String {
        let launcher = self.external.remote.as_ref().map_or("it", |remote| &remote.launcher);
        let back = match &self.carrying {
            None => "",
            Some(carrying) if carrying.synced.is_some() => "",
            Some(_) => " What it had changed until shortly before is in the worktree.",
        };
        format!("The connection to {launcher} was lost ({why}).{back} Resume it to go on.")
    }

    /// Returns `true` if a path is one of this machine, as far as the agent's place goes.
    pub(super) fn is_of_files_here(&self, path: &Path) -> bool {
        is_of_files_here(self.external.remote.as_ref(), path)
    }
}

/// Returns `true` if a path that a program names means a file of this machine.
pub(super) fn is_of_files_here(remote: Option<&RemoteAgent>, path: &Path) -> bool {
    match remote {
        None => true,
        Some(remote) => remote.folder.as_ref().is_some_and(|folder| path.starts_with(folder.root())),
    }
}

/// Returns what is said to an agent that goes on after its connection was lost.
pub(super) fn again(transcript: &Transcript, has_folder: bool) -> Option<String> {
    let has_worked = transcript.messages().len() > 1;
    (has_worked && has_folder).then(|| {
        "The files are as you left them, in a new folder; what you did in the last seconds before a connection was lost may be \
         missing. Look before you rely on them."
            .to_owned()
    })
}

fn missing(error: &ExternalError) -> (String, bool) {
    (error.to_string(), matches!(error, ExternalError::Closed(_)))
}
