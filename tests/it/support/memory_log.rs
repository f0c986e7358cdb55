//! A log in memory, from which subagents can go on as from one on the disk.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use belvedere::agent::{AgentEvent, EventKind, LogEvent};
use belvedere::message::AgentId;
use belvedere::subagent::ReadBack;
use tokio::sync::{mpsc, watch};

/// What was heard, and whether more has come.
#[derive(Clone)]
pub(crate) struct MemoryLog {
    events: Arc<Mutex<Vec<AgentEvent>>>,
    changed: watch::Receiver<usize>,
}

/// Starts to listen.
pub(crate) fn start() -> (mpsc::Sender<Arc<LogEvent>>, MemoryLog) {
    let (sender, mut receiver) = mpsc::channel::<Arc<LogEvent>>(64);
    let (progress, changed) = watch::channel(0);
    let log = MemoryLog { events: Arc::default(), changed };
    let events = log.events.clone();
    tokio::spawn(async move {
        while let Some(event) = receiver.recv().await {
            events.lock().unwrap().extend(event.of_agent().cloned());
            progress.send_modify(|count| *count += 1);
        }
    });
    (sender, log)
}

impl MemoryLog {
    /// Returns what reads an agent's events once it has ended so many times.
    pub(crate) fn read_back(&self) -> ReadBack {
        let log = self.clone();
        Arc::new(move |name, ends| {
            let mut log = log.clone();
            Box::pin(async move {
                loop {
                    let events = log.of(&name);
                    let ended = events.iter().filter(|event| matches!(event, EventKind::Ended { .. })).count();
                    if ended >= ends as usize {
                        return Ok(events);
                    }
                    log.changed.changed().await.map_err(|_| "the log is gone.".to_owned())?;
                }
            })
        })
    }

    fn of(&self, name: &str) -> Vec<EventKind> {
        let events = self.events.lock().unwrap();
        let names: HashMap<&str, AgentId> = events
            .iter()
            .filter_map(|event| match &event.kind {
                EventKind::Spawned(spawn) => Some((spawn.name.as_str(), event.agent)),
                _ => None,
            })
            .collect();
        let own = events.iter().filter(|event| Some(&event.agent) == names.get(name));
        own.map(|event| event.kind.clone()).collect()
    }
}
