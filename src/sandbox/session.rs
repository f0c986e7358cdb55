//! The sandbox of one session: whether it is on, what its policies are made of, its temporary files.
//!
//! Owns the state that all agents of a session share. Leaves finding out whether the kernel can to `tool`, which starts a
//! process for it. Invariant: a change holds for the next command; nothing of a session is left on the disk when it has
//! ended.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use serde::{Deserialize, Serialize};

use super::folder::{SandboxFolder, sweep};
use super::places::cache_variables;
use super::proxy::PORT;
use super::{GitDirs, Hosts, PlaceWatch, SandboxFacts, SandboxPlaces, SandboxPolicy, TMP};
use crate::message::{HostPort, reveal_line};

/// The sandbox of a session. Copies share one state.
#[derive(Debug, Clone)]
pub struct Sandbox(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    /// Holds what is written by nobody else.
    folder: SandboxFolder,
    cache: PathBuf,
    places: SandboxPlaces,
    state: RwLock<SandboxState>,
    /// Why processes inside are not numbered apart; `None` if they are.
    shares_processes: RwLock<Option<String>>,
    hosts: RwLock<Hosts>,
    /// What is protected besides the places.
    protected: RwLock<BTreeSet<PathBuf>>,
}

/// What the user can change while a session runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SandboxChange {
    Turn { on: bool },
    AllowHost(String),
}

/// Whether commands run in the sandbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SandboxState {
    On,
    /// The user wants none.
    Off,
    /// It cannot be had, for this reason.
    Unavailable(String),
}

impl Sandbox {
    /// Returns the sandbox of a session whose commands keep their caches below `cache`. It makes a folder for temporary
    /// files; returns an error if that cannot be.
    pub fn new(mut places: SandboxPlaces, cache: PathBuf, hosts: Hosts, is_on: bool) -> io::Result<Self> {
        let folder = SandboxFolder::new()?;
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&cache)?;
        places.masks = folder.masks();
        places.stand_ins = folder.stand_ins();
        places.watch.record_in(folder.record());
        places.own = vec![folder.temporary(), cache.clone()];
        places.resolve();
        let is_in_tmp = |path: &PathBuf| path.starts_with(TMP);
        // The temporary files themselves are seen there, whatever their folder is called outside.
        places.has_own_tmp &= cfg!(target_os = "linux")
            && !places.writable.iter().chain(&places.home).chain(&places.own[1..]).any(is_in_tmp);
        if places.has_own_tmp {
            places.watch.share_tmp(folder.temporary());
        }
        let state = RwLock::new(if is_on { SandboxState::On } else { SandboxState::Off });
        let (shares_processes, hosts, protected) = (RwLock::default(), RwLock::new(hosts), RwLock::default());
        Ok(Self(Arc::new(Inner { folder, cache, places, state, shares_processes, hosts, protected })))
    }

    /// Removes what sessions have left whose program was killed. Returns what lies now where a command of theirs could have
    /// put it meanwhile. Blocks.
    pub fn sweep() -> Vec<PathBuf> {
        sweep()
    }

    pub fn state(&self) -> SandboxState {
        self.0.state.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub fn set_state(&self, state: SandboxState) {
        *self.0.state.write().unwrap_or_else(PoisonError::into_inner) = state;
    }

    /// Has processes inside see the others of this machine from now on, for this reason.
    pub fn share_processes(&self, why: String) {
        *self.0.shares_processes.write().unwrap_or_else(PoisonError::into_inner) = Some(why);
    }

    fn shares_processes(&self) -> Option<String> {
        self.0.shares_processes.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Has no further command change these files either.
    pub fn protect(&self, files: impl IntoIterator<Item = PathBuf>) {
        self.0.protected.write().unwrap_or_else(PoisonError::into_inner).extend(files);
    }

    /// Makes a change that holds for the next command. Where there can be no sandbox, none is turned on.
    pub fn change(&self, change: &SandboxChange) {
        match change {
            SandboxChange::Turn { on } => {
                let mut state = self.0.state.write().unwrap_or_else(PoisonError::into_inner);
                if !matches!(*state, SandboxState::Unavailable(_)) {
                    *state = if *on { SandboxState::On } else { SandboxState::Off };
                }
            }
            SandboxChange::AllowHost(host) => {
                self.0.hosts.write().unwrap_or_else(PoisonError::into_inner).add(host);
            }
        }
    }

    /// Says what a command of the project at `root` may do with a path, as it may be written in `cwd`, or whether it
    /// reaches a host; a word that is both is a path. Blocks.
    pub fn about(&self, what: &str, cwd: &Path, root: &Path) -> String {
        let path = Path::new(what);
        if let Some(host) = HostPort::read(what).filter(|_| cwd.join(path).symlink_metadata().is_err()) {
            return format!("{host}: {}", self.about_host(&host));
        }
        let home = self.0.places.home.as_deref().unwrap_or(cwd);
        let path = path.strip_prefix("~").map_or_else(|_| cwd.join(path), |below| home.join(below));
        // What does not exist yet is judged by the folder that it would be made in.
        let real = path.ancestors().find_map(|part| Some((part.canonicalize().ok()?, path.strip_prefix(part).ok()?)));
        let place =
            real.map_or_else(|| path.clone(), |(real, rest)| real.components().chain(rest.components()).collect());
        let words = self
            .policy(Some(root), None)
            .map_or_else(|error| error.to_string(), |policy| policy.about(&place).to_owned());
        format!("{}: {words}", reveal_line(&place.to_string_lossy()))
    }

    fn about_host(&self, host: &HostPort) -> &'static str {
        match () {
            () if self.0.places.has_network => "commands have the network, and reach every host",
            () if self.hosts().entry(host).is_some() => "commands reach it, and nobody is asked",
            () if host.is_own() => "on this machine or its network: you are asked before a command reaches it",
            () => "you are asked before a command reaches it",
        }
    }

    /// Returns the watch of the places that are vacant to its commands.
    pub fn watch(&self) -> &PlaceWatch {
        &self.0.places.watch
    }

    pub fn hosts(&self) -> Hosts {
        self.0.hosts.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns what holds for commands of the project at `root`. Blocks.
    pub fn facts(&self, root: &Path) -> SandboxFacts {
        let (state, policy) = match self.policy(Some(root), None) {
            Ok(policy) => (self.state(), policy),
            Err(error) => (SandboxState::Unavailable(error.to_string()), SandboxPolicy::default()),
        };
        SandboxFacts { shares_processes: self.shares_processes(), ..SandboxFacts::new(state, &policy, &self.hosts()) }
    }

    pub fn is_on(&self) -> bool {
        self.state() == SandboxState::On
    }

    /// Returns the policy of a command that may write in `project`; without one, of a command that only reads. See
    /// [`SandboxPlaces::policy`]. Blocks.
    pub fn policy(&self, project: Option<&Path>, git: Option<&GitDirs>) -> io::Result<SandboxPolicy> {
        self.policy_of((project, true), git)
    }

    /// Returns the policy of a command that works in the project at `root` and only reads. Blocks.
    pub fn reading_policy(&self, root: &Path, git: Option<&GitDirs>) -> io::Result<SandboxPolicy> {
        self.policy_of((Some(root), false), git)
    }

    fn policy_of(&self, root: (Option<&Path>, bool), git: Option<&GitDirs>) -> io::Result<SandboxPolicy> {
        let protected = self.0.protected.read().unwrap_or_else(PoisonError::into_inner).clone();
        let policy = self.0.places.policy(root, git, protected)?;
        let has_own_processes = cfg!(target_os = "linux") && self.shares_processes().is_none();
        Ok(SandboxPolicy { has_own_processes, ..policy })
    }

    /// Prepares git's folder, so that as much of it as can be is protected from a command of this project. Blocks.
    pub fn prepare(&self, project: &Path, git: Option<&GitDirs>) {
        self.0.places.make_blanks(project, git);
    }

    /// Returns the variables that a command needs inside: where its temporary files and its caches lie, and unless it
    /// `has_network`, the way out.
    pub fn variables(&self, has_network: bool) -> Vec<(OsString, OsString)> {
        let temporary = if self.0.places.has_own_tmp { PathBuf::from(TMP) } else { self.0.folder.temporary() };
        let temporary = temporary.into_os_string();
        let caches = cache_variables(&self.0.cache).map(|(name, path)| (name.into(), path.into_os_string()));
        let temporary = ["TMPDIR", "TMP", "TEMP"].map(|name| (name.into(), temporary.clone()));
        temporary.into_iter().chain(caches).chain(self.ways_out(has_network)).collect()
    }

    /// Returns the variables that lead programs to the proxy, where there is one.
    fn ways_out(&self, has_network: bool) -> Vec<(OsString, OsString)> {
        if has_network || self.0.places.has_network {
            return Vec::new();
        }
        let proxy = format!("http://127.0.0.1:{PORT}");
        let both =
            |name: &str, value: &str| [name.to_owned(), name.to_lowercase()].map(|name| (name.into(), value.into()));
        let ways = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"].map(|name| both(name, &proxy));
        ways.into_iter().chain([both("NO_PROXY", "localhost,127.0.0.1,::1")]).flatten().collect()
    }
}
