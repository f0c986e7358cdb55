//! Whether the project's last session broke off, so that the user hears of it at the next start.
//!
//! Owns what counts as broken off. Leaves finding the session to `session`. Invariant: a session that still runs, and one
//! whose record cannot be read, are passed over.

use super::FrontEnd;
use crate::agent::{AgentEvent, EventKind, Sink, ToolEvent, TurnEvent};
use crate::session::{Store, Stretch, read_part};

/// Bytes at the end of a record that are looked at.
const MAX_TAIL_BYTES: u64 = 256 << 10;

/// Emits a notice if the last session broke off, where a user reads it.
pub(super) async fn announce(front_end: FrontEnd, store: Option<Store>, sink: &Sink) {
    let (FrontEnd::Screen | FrontEnd::Plain, Some(store)) = (front_end, store) else { return };
    if let Ok(Some(text)) = tokio::task::spawn_blocking(move || notice(&store)).await {
        sink.notify(text).await;
    }
}

/// Returns the words about a session that broke off while its main agent worked.
fn notice(store: &Store) -> Option<String> {
    let record = store.last_ended()?.join("main.jsonl");
    let part = read_part(&record, Stretch::Before(u64::MAX), MAX_TAIL_BYTES).ok()?;
    let events = part.lines.iter().rev().filter_map(|line| line.record::<AgentEvent>().ok()).map(|record| record.body);
    let last = events.filter(|event| event.agent.is_main()).find(|event| {
        matches!(
            event.kind,
            EventKind::Ended { .. }
                | EventKind::Started
                | EventKind::Turn(TurnEvent::Started { .. } | TurnEvent::Ended { .. })
                | EventKind::Tool(ToolEvent::Started { .. } | ToolEvent::Ended { .. })
        )
    })?;
    if matches!(last.kind, EventKind::Ended { .. }) {
        return None;
    }
    let at = last.at.to_zoned(jiff::tz::TimeZone::system()).strftime("%Y-%m-%d %H:%M");
    Some(format!("The last session in this project ended unexpectedly at {at}. Its record: {}", record.display()))
}
