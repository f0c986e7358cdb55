//! Appending records as they arrive.
//!
//! Owns one thread that turns whatever waits in its channel into one write for each file. Leaves the choice of what is
//! kept, and under which name, to a function it is given, and the bytes of one file to `log`. Invariants: a record is
//! on its way to the disk as soon as the thread is idle; what the disk does not take waits in memory, within bounds, and
//! is written as whole lines once it does; neither a fault nor a slow disk does more than fill the channel, and each
//! beginning and each end of a fault is reported.

use std::collections::HashMap;
use std::fs::File;
use std::sync::{Arc, OnceLock};

use serde::Serialize;
use tokio::sync::{mpsc, watch};

use super::agent_log::AgentLog;
use super::catalog::INDEX;
use super::{Record, SessionError, Store, VERSION};
use crate::message::Diagnostic;

/// Records that may wait before their senders do.
const CAPACITY: usize = 1_024;
/// Records turned into one write at most.
const BATCH: usize = 256;
/// Files kept open; a session can have hundreds of agents.
const MAX_OPEN: usize = 32;
/// Bytes that wait in memory for the disk before records are lost.
const MAX_HELD_BYTES: usize = 16 << 20;
/// Reports of one session, so that a disk that comes and goes does not fill the screen. All are in the log.
const MAX_REPORTS: usize = 20;

/// Where a record is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// The agent whose file gets it.
    pub agent: Arc<str>,
    /// Whether the index of the session gets it too: what is needed to show every agent without reading their files.
    pub is_indexed: bool,
}

impl From<&str> for Route {
    fn from(agent: &str) -> Self {
        Self { agent: agent.into(), is_indexed: false }
    }
}

/// A running writer. It ends when every sender is gone.
#[derive(Debug)]
pub struct Writer {
    handled: watch::Receiver<u64>,
    /// What is wrong in the end.
    last: Arc<OnceLock<String>>,
}

impl Writer {
    /// Starts to write to `store`. The folder and its `meta.json`, which holds `meta`, are made with the first record.
    ///
    /// `route` says where a record is kept; `None` leaves it out. `on_error` is called when something begins or ceases to
    /// be wrong, from another thread.
    pub fn spawn<R, M>(
        store: Store,
        meta: M,
        route: impl FnMut(&R) -> Option<Route> + Send + 'static,
        on_error: impl FnMut(Diagnostic) + Send + 'static,
    ) -> (mpsc::Sender<R>, Self)
    where
        R: Serialize + Send + 'static,
        M: Serialize + Send + 'static,
    {
        let (sender, receiver) = mpsc::channel(CAPACITY);
        let (progress, handled) = watch::channel(0);
        let last = Arc::new(OnceLock::new());
        let (lock, seq) = store.held().map_or((None, 0), |(lock, last)| (Some(lock), last));
        let mut thread = Thread {
            store,
            meta,
            route,
            on_error,
            seq,
            logs: HashMap::new(),
            lock,
            error: None,
            lost: 0,
            reports: 0,
            last: Arc::clone(&last),
        };
        let spawned = std::thread::Builder::new().name("session".to_owned()).spawn(move || {
            thread.run(receiver, &progress);
        });
        if let Err(error) = spawned {
            // The receiver went with the closure, so senders pass over it.
            tracing::error!(%error, "the session is not saved: cannot start its thread");
        }
        (sender, Self { handled, last })
    }

    /// Returns the number of records dealt with so far: written, left out, or lost to a fault that was reported.
    pub fn handled(&self) -> watch::Receiver<u64> {
        self.handled.clone()
    }

    /// Waits until everything is on the disk. Ends only after every sender is gone. Returns what of the session is not
    /// kept.
    pub async fn finish(mut self) -> Option<String> {
        while self.handled.changed().await.is_ok() {}
        self.last.get().cloned()
    }
}

struct Thread<M, ToRoute, F> {
    store: Store,
    meta: M,
    route: ToRoute,
    on_error: F,
    seq: u64,
    /// The files of the agents.
    logs: HashMap<Arc<str>, AgentLog>,
    /// The folder, locked as long as the session runs; none before there is something to keep.
    lock: Option<Arc<File>>,
    error: Option<String>,
    /// Records that did not fit into memory since it began.
    lost: u64,
    reports: usize,
    /// What is wrong in the end, for a reader after the screen has closed.
    last: Arc<OnceLock<String>>,
}

impl<M: Serialize, ToRoute, F: FnMut(Diagnostic)> Thread<M, ToRoute, F> {
    fn run<R: Serialize>(&mut self, mut receiver: mpsc::Receiver<R>, progress: &watch::Sender<u64>)
    where
        ToRoute: FnMut(&R) -> Option<Route>,
    {
        while let Some(first) = receiver.blocking_recv() {
            let mut count = 1;
            self.take(&first);
            while count < BATCH
                && let Ok(record) = receiver.try_recv()
            {
                count += 1;
                self.take(&record);
            }
            self.flush();
            progress.send_modify(|handled| *handled += count as u64);
        }
        self.close();
    }

    fn take<R: Serialize>(&mut self, body: &R)
    where
        ToRoute: FnMut(&R) -> Option<Route>,
    {
        let Some(Route { agent, is_indexed }) = (self.route)(body) else { return };
        self.seq += 1;
        match self.store.line(&Record { v: VERSION, seq: self.seq, body }) {
            Ok(line) => {
                if self.error.is_some() && self.held() + line.len() > MAX_HELD_BYTES {
                    self.lost += 1;
                    return;
                }
                let index = is_indexed.then(|| Arc::from(INDEX));
                for file in [Some(agent), index].into_iter().flatten() {
                    let path = self.store.path_of(&file);
                    self.logs.entry(file).or_insert_with(|| AgentLog::new(path)).push(&line);
                }
            }
            Err(error) => {
                let path = self.store.path_of(&agent);
                let error = SessionError::new(&path, "written", std::io::Error::other(error));
                self.report(format!("{error}. One record is lost."));
            }
        }
    }

    fn held(&self) -> usize {
        self.logs.values().map(AgentLog::held).sum()
    }

    /// Writes what waits. What the disk does not take goes on waiting.
    fn flush(&mut self) {
        if self.held() == 0 {
            return;
        }
        if let Err(error) = self.prepare() {
            self.fails(&error);
            return;
        }
        let mut first_error = None;
        let mut open = self.logs.values().filter(|log| log.is_open()).count();
        let mut waiting: Vec<Arc<str>> =
            self.logs.iter().filter(|(_, log)| log.held() > 0).map(|(agent, _)| Arc::clone(agent)).collect();
        // The index never knows more than the files of the agents.
        waiting.sort_by_key(|file| **file == *INDEX);
        for agent in waiting {
            if open >= MAX_OPEN {
                self.close_all();
                open = 0;
            }
            let Some(log) = self.logs.get_mut(&agent) else { continue };
            open += usize::from(!log.is_open());
            let mut written = log.write();
            if written.as_ref().is_err_and(SessionError::wants_files) {
                // The files of the other agents can be opened again, and everything else in the program needs some too.
                self.close_all();
                open = 1;
                written = self.logs.get_mut(&agent).map_or(Ok(()), AgentLog::write);
            }
            if let Err(error) = written {
                first_error = first_error.or(Some(error));
            }
        }
        match first_error {
            Some(error) => self.fails(&error),
            None => self.works(),
        }
    }

    fn close_all(&mut self) {
        for log in self.logs.values_mut() {
            if let Err(error) = log.close() {
                tracing::warn!(%error, "the session may not be on the disk");
            }
        }
    }

    fn prepare(&mut self) -> Result<(), SessionError> {
        let dir = self.store.dir();
        if self.lock.as_ref().is_some_and(|lock| super::store::is_at(lock, dir)) {
            return Ok(());
        }
        let was_deleted = self.lock.is_some();
        self.store.create()?;
        self.store.describe(&self.meta)?;
        let lock =
            File::open(self.store.dir()).map_err(|error| SessionError::new(self.store.dir(), "opened", error))?;
        // Where locks are not known, nothing is said at the next start about how this session ended.
        let _ = lock.try_lock();
        self.lock = Some(Arc::new(lock));
        if was_deleted {
            self.report(format!(
                "The folder of this session was deleted; it has been recreated: {}. Its contents are lost.",
                self.store.dir().display()
            ));
        }
        Ok(())
    }

    /// Notes that something cannot be written, and reports it if that is new.
    fn fails(&mut self, error: &SessionError) {
        let words = error.to_string();
        if self.error.as_ref() != Some(&words) {
            self.report(format!(
                "{words}. Work continues, and unsaved records wait in memory; free some space or check the rights \
                 of the folder."
            ));
        }
        self.error = Some(words);
    }

    /// Notes that everything was written, and reports it if something was wrong before.
    fn works(&mut self) {
        if self.error.take().is_none() {
            return;
        }
        let lost = std::mem::take(&mut self.lost);
        self.report(match lost {
            0 => "The session is saved again, with what waited in memory.".to_owned(),
            lost => {
                format!("The session is saved again, but {lost} of its records did not fit into memory and are lost.")
            }
        });
    }

    fn close(&mut self) {
        self.flush();
        self.close_all();
        let lost = self.lost + self.unwritten();
        if let Some(error) = self.error.take() {
            let words = format!("{error}. This session is not saved whole: {lost} of its records are lost.");
            tracing::warn!("{words}");
            let _ = self.last.set(words);
        }
        if let Some(lock) = &self.lock {
            let _ = lock.unlock();
        }
    }

    /// Returns how many records are not on the disk. Those of the index stand in the files of the agents too.
    fn unwritten(&self) -> u64 {
        self.logs.iter().filter(|(file, _)| ***file != *INDEX).map(|(_, log)| log.lines()).sum()
    }

    fn report(&mut self, words: String) {
        tracing::warn!("{words}");
        self.reports += 1;
        if self.reports <= MAX_REPORTS {
            (self.on_error)(Diagnostic::new(words));
        }
    }
}
