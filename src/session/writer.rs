//! Appending records as they arrive.
//!
//! Owns one thread that turns whatever waits in its channel into one write for each file. Leaves the choice of what is
//! kept, and under which name, to a function it is given. Invariants: a record is on its way to the disk as soon as
//! the thread is idle; a fault is reported once, and neither it nor a slow disk does more than fill the channel.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::Write as _;
use std::sync::Arc;

use serde::Serialize;
use tokio::sync::{mpsc, watch};

use super::{Record, SessionError, Store, VERSION, store};
use crate::message::Diagnostic;

/// Records that may wait before their senders do.
const CAPACITY: usize = 1_024;
/// Records turned into one write at most.
const BATCH: usize = 256;
/// Files kept open; a session can have hundreds of agents.
const MAX_OPEN: usize = 32;

/// A running writer. It ends when every sender is gone.
#[derive(Debug)]
pub struct Writer {
    handled: watch::Receiver<u64>,
}

impl Writer {
    /// Starts to write to `store`. The folder and its `meta.json`, which holds `meta`, are made with the first record.
    ///
    /// `route` names the agent whose file gets a record; `None` leaves the record out. `on_fault` is called at most
    /// once, from another thread.
    pub fn spawn<R, M>(
        store: Store,
        meta: M,
        route: impl FnMut(&R) -> Option<Arc<str>> + Send + 'static,
        on_fault: impl FnOnce(Diagnostic) + Send + 'static,
    ) -> (mpsc::Sender<R>, Self)
    where
        R: Serialize + Send + 'static,
        M: Serialize + Send + 'static,
    {
        let (sender, receiver) = mpsc::channel(CAPACITY);
        let (progress, handled) = watch::channel(0);
        let mut thread = Thread {
            store,
            meta: Some(meta),
            route,
            on_fault: Some(on_fault),
            seq: 0,
            pending: HashMap::new(),
            open: HashMap::new(),
            torn: HashSet::new(),
        };
        let spawned = std::thread::Builder::new().name("session".to_owned()).spawn(move || {
            thread.run(receiver, &progress);
        });
        if let Err(fault) = spawned {
            // The receiver went with the closure, so senders pass over it.
            tracing::error!(%fault, "the session is not kept: its thread does not start");
        }
        (sender, Self { handled })
    }

    /// Returns the number of records dealt with so far: written, left out, or lost to a fault that was reported.
    #[must_use]
    pub fn handled(&self) -> watch::Receiver<u64> {
        self.handled.clone()
    }

    /// Waits until everything is on the disk. Ends only after every sender is gone.
    pub async fn finish(mut self) {
        while self.handled.changed().await.is_ok() {}
    }
}

struct Thread<M, Route, Fault> {
    store: Store,
    /// Taken once it is written.
    meta: Option<M>,
    route: Route,
    on_fault: Option<Fault>,
    seq: u64,
    pending: HashMap<Arc<str>, Vec<u8>>,
    open: HashMap<Arc<str>, File>,
    /// Files whose last line may be incomplete.
    torn: HashSet<Arc<str>>,
}

impl<M: Serialize, Route, Fault: FnOnce(Diagnostic)> Thread<M, Route, Fault> {
    fn run<R: Serialize>(&mut self, mut receiver: mpsc::Receiver<R>, progress: &watch::Sender<u64>)
    where
        Route: FnMut(&R) -> Option<Arc<str>>,
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
        Route: FnMut(&R) -> Option<Arc<str>>,
    {
        let Some(agent) = (self.route)(body) else { return };
        self.seq += 1;
        match serde_json::to_string(&Record { v: VERSION, seq: self.seq, body }) {
            Ok(line) => {
                let bytes = self.pending.entry(agent).or_default();
                bytes.extend_from_slice(self.store.redact_json(line).as_bytes());
                bytes.push(b'\n');
            }
            Err(fault) => {
                let path = self.store.path_of(&agent);
                self.report(&SessionError::new(&path, "written", std::io::Error::other(fault)));
            }
        }
    }

    fn flush(&mut self) {
        if self.pending.is_empty() {
            return;
        }
        if let Err(fault) = self.prepare() {
            self.report(&fault);
            self.pending.clear();
            return;
        }
        for (agent, bytes) in std::mem::take(&mut self.pending) {
            if let Err(fault) = self.append(&agent, bytes) {
                self.open.remove(&agent);
                self.torn.insert(agent);
                self.report(&fault);
            }
        }
    }

    fn prepare(&mut self) -> Result<(), SessionError> {
        if let Some(meta) = &self.meta {
            self.store.create()?;
            self.store.write_meta(meta)?;
            self.meta = None;
        }
        Ok(())
    }

    fn append(&mut self, agent: &Arc<str>, mut bytes: Vec<u8>) -> Result<(), SessionError> {
        let path = self.store.path_of(agent);
        if !self.open.contains_key(agent) {
            if self.open.len() >= MAX_OPEN {
                self.close();
            }
            let file = store::open_private(&path).map_err(|fault| SessionError::new(&path, "opened", fault))?;
            self.open.insert(Arc::clone(agent), file);
        }
        if self.torn.contains(agent) {
            bytes.insert(0, b'\n');
        }
        if let Some(file) = self.open.get_mut(agent) {
            file.write_all(&bytes).map_err(|fault| SessionError::new(&path, "written", fault))?;
        }
        self.torn.remove(agent);
        Ok(())
    }

    /// Closes all files, after the disk has them.
    fn close(&mut self) {
        for (agent, file) in std::mem::take(&mut self.open) {
            if let Err(fault) = file.sync_data() {
                let path = self.store.path_of(&agent);
                self.report(&SessionError::new(&path, "written", fault));
            }
        }
    }

    fn report(&mut self, fault: &SessionError) {
        tracing::warn!(%fault, "the session is not kept whole");
        if let Some(on_fault) = self.on_fault.take() {
            on_fault(Diagnostic::new(format!(
                "{fault}. The work goes on, but this session is not kept whole; free some space or check the rights of \
                 its folder."
            )));
        }
    }
}
