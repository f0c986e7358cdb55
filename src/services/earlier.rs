//! What earlier sessions left: a word about one that broke off, and the removal of those that are too old.
//!
//! Owns what counts as broken off. Leaves finding and removing sessions to `session`. Invariant: a session that still runs,
//! and one whose record cannot be read, are passed over.

use std::path::Path;

use crate::agent::{AgentEvent, EventKind, Sink, ToolEvent, TurnEvent};
use crate::session::{MAIN, Retention, SessionFolder, SessionMeta, Stretch, is_open, read_part, remove_old, sessions};

/// Bytes at the end of a record that are looked at.
const MAX_TAIL_BYTES: u64 = 256 << 10;

/// Emits a notice if the last session of the project broke off and it `says` so, and removes old sessions
/// meanwhile. The place is the state directory, the project and the folder of the session that begins.
pub(super) async fn attend(
    (state_dir, project, own): (&Path, &Path, Option<&Path>),
    says: bool,
    retention: Retention,
    sink: &Sink,
) {
    let (state_dir, project, own) = (state_dir.to_path_buf(), project.to_path_buf(), own.map(Path::to_path_buf));
    let (place, but) = (state_dir.clone(), own.clone());
    if says && let Ok(Some(text)) = tokio::task::spawn_blocking(move || notice(&place, &project, but.as_deref())).await
    {
        sink.notify(text).await;
    }
    // Nobody waits for it.
    drop(tokio::task::spawn_blocking(move || remove_old(&state_dir, &retention, own.as_deref())));
}

/// Returns the words about a session that broke off while its main agent worked.
fn notice(state_dir: &Path, project: &Path, own: Option<&Path>) -> Option<String> {
    let is_live = |session: &SessionFolder| {
        !session.is_at(own) && SessionMeta::read(&session.dir).is_ok_and(|meta| !meta.is_demo)
    };
    let last = sessions(state_dir, Some(project)).into_iter().find(is_live).filter(|last| !is_open(&last.dir))?;
    let record = last.dir.join(format!("{MAIN}.jsonl"));
    let part = read_part(&record, Stretch::Before(u64::MAX), MAX_TAIL_BYTES).ok()?;
    let events = part.lines.iter().rev().filter_map(|line| line.record::<AgentEvent>().ok()).map(|record| record.body);
    let last_event = events.filter(|event| event.agent.is_main()).find(|event| {
        matches!(
            event.kind,
            EventKind::Ended { .. }
                | EventKind::UserMessage { .. }
                | EventKind::Started
                | EventKind::Turn(TurnEvent::Started { .. } | TurnEvent::Ended { .. })
                | EventKind::Tool(ToolEvent::Started { .. } | ToolEvent::Ended { .. })
        )
    })?;
    if matches!(last_event.kind, EventKind::Ended { .. }) {
        return None;
    }
    let at = last_event.at.to_zoned(jiff::tz::TimeZone::system()).strftime("%Y-%m-%d %H:%M");
    let id = last.short_id();
    Some(format!("The last session here ended unexpectedly at {at}. Go on with it: belvedere --resume {id}"))
}
