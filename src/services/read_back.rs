//! Reading the log of a subagent back, so that it can go on.
//!
//! Owns waiting until the log holds what was emitted. Leaves what the events mean to `subagent`. Invariant: what is read is
//! whole up to the last end, or an error says why not.

use std::path::Path;
use std::time::Duration;

use futures::FutureExt as _;
use tokio::sync::watch;
use tokio::time::timeout;

use crate::agent::{EventKind, LogEvent};
use crate::session::{Store, read};
use crate::subagent::ReadBack;

/// How long the log may be behind.
const LOG_TIMEOUT: Duration = Duration::from_secs(5);

/// Returns what reads the logs in `store`. `handled` changes whenever more of them is written.
pub(super) fn reader(store: Option<Store>, handled: Option<watch::Receiver<u64>>) -> ReadBack {
    std::sync::Arc::new(move |name, ends| {
        let (store, handled) = (store.clone(), handled.clone());
        async move {
            let (Some(store), Some(handled)) = (store, handled) else {
                return Err("this session is not saved: there is no folder for it.".to_owned());
            };
            let read = timeout(LOG_TIMEOUT, read_whole(&store, &name, ends, handled)).await;
            read.unwrap_or_else(|_| {
                Err("its log is incomplete: it is damaged, or the disk is full or too slow.".to_owned())
            })
        }
        .boxed()
    })
}

/// Reads until the log holds so many ends.
async fn read_whole(
    store: &Store,
    name: &str,
    ends: u32,
    mut handled: watch::Receiver<u64>,
) -> Result<Vec<EventKind>, String> {
    let path = store.path_of(name);
    loop {
        handled.mark_unchanged();
        let path = path.clone();
        let reading = tokio::task::spawn_blocking(move || events(&path));
        let events = reading.await.map_err(|_| "its log could not be read.".to_owned())?;
        let ended = events.iter().filter(|event| matches!(event, EventKind::Ended { .. })).count();
        if ended >= ends as usize {
            return Ok(events);
        }
        if handled.changed().await.is_err() {
            return Err("its log is no longer being written.".to_owned());
        }
    }
}

/// Reads what there is, up to a record that is damaged or only half written. A log that does not exist yet holds nothing.
fn events(path: &Path) -> Vec<EventKind> {
    let Ok(records) = read::<LogEvent>(path) else { return Vec::new() };
    let events = records.map_while(|record| record.ok().map(|record| record.body));
    let of_agents = |event| match event {
        LogEvent::Agent(event) => Some(event.kind),
        LogEvent::Session { .. } => None,
    };
    events.filter_map(of_agents).collect()
}
