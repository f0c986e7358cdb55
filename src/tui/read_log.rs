//! Parts of an agent's log, read back for its full view.
//!
//! Owns the cut at turns: what a part begins with can be understood without what comes before. Leaves bytes to
//! `session` and the steps to `app`. Invariant: what is read does not grow with the log, only with its largest turn;
//! finding a call looks at every record behind it, but keeps none.

use std::path::Path;
use std::time::Instant;

use anyhow::{Context as _, Result};

use crate::agent::{AgentEvent, EventKind, LogEvent, ToolEvent};
use crate::app::{LogMatch, LogNews, LogPage, LogRequest, LogSpan, begins_turn, fold_log};
use crate::session::{LogPart, PartLine, Store, Stretch, read_part};

/// Bytes of a part, if turns are not larger.
const PAGE_BYTES: u64 = 256 << 10;
/// A turn larger than this is cut.
const MAX_TURN: u64 = 16 << 20;
/// Bytes looked through at once for a call.
const SEEK_BYTES: u64 = 1 << 20;

/// Reads what was asked for. Blocks.
pub fn read_log(store: Option<&Store>, request: &LogRequest) -> LogNews {
    let found = match store {
        None => LogMatch::Unkept,
        Some(store) => match found(&store.path_of(&request.name), request) {
            Ok(found) => found,
            Err(error) => LogMatch::Failed(error.to_string()),
        },
    };
    LogNews { agent: request.agent, span: request.span.clone(), found }
}

fn found(path: &Path, request: &LogRequest) -> Result<LogMatch> {
    match &request.span {
        LogSpan::Output(call_id) => Ok(LogMatch::Output(output_of(path, call_id)?)),
        _ => read(path, request).map(LogMatch::Page),
    }
}

fn read(path: &Path, request: &LogRequest) -> Result<LogPage> {
    let part = match &request.span {
        LogSpan::LoadedUpTo(end) => whole_turns_before(path, *end)?,
        LogSpan::BeforeReport => whole_turns_before(path, u64::MAX)?,
        LogSpan::After(start) => whole_turns_after(path, *start)?,
        LogSpan::Output(_) => anyhow::bail!("an output is not a page"),
        LogSpan::BeforeCall(call_id) => {
            let call = find_call(path, call_id)?.context("the session log is incomplete")?;
            let turn = whole_turns_after(path, call)?;
            let before = whole_turns_before(path, call)?;
            // The rest of the turn is read with it: calls that ran beside this one end after it.
            let lines = before.lines.into_iter().chain(turn.lines).collect();
            LogPart { from: before.from, to: turn.to, length: turn.length, lines }
        }
    };
    let records = part.lines.iter().map(|line| line.record::<LogEvent>().map(|record| record.body));
    let cells = fold_log(request.agent, part.from, records, Instant::now());
    Ok(LogPage { from: part.from, to: part.to, cells })
}

/// Returns `true` if a turn begins with a record.
fn turns(line: &PartLine) -> bool {
    // Most records are no such thing, and large: they are not read for this.
    memchr::memmem::find(&line.bytes, b"turn_started").is_some()
        && line.record::<AgentEvent>().is_ok_and(|record| begins_turn(&record.body))
}

fn whole_turns_before(path: &Path, end: u64) -> Result<LogPart> {
    whole_turns(path, Stretch::Before(end), |part| {
        let first = part.lines.iter().position(turns).filter(|_| part.from > 0);
        if let Some(first) = first {
            part.lines.drain(..first);
            part.from = part.lines.first().map_or(part.to, |line| line.at);
        }
        part.from == 0 || first.is_some()
    })
}

fn whole_turns_after(path: &Path, start: u64) -> Result<LogPart> {
    whole_turns(path, Stretch::After(start), |part| {
        let last = part.lines.iter().skip(1).rposition(turns).filter(|_| part.to < part.length);
        if let Some(last) = last {
            part.to = part.lines[last + 1].at;
            part.lines.truncate(last + 1);
        }
        part.to >= part.length || last.is_some()
    })
}

/// Reads a part that is larger each time, until `cut` has cut it at a turn, or there is no more.
fn whole_turns(path: &Path, stretch: Stretch, cut: impl Fn(&mut LogPart) -> bool) -> Result<LogPart> {
    let mut size = PAGE_BYTES;
    loop {
        let mut part = read_part(path, stretch, size)?;
        if cut(&mut part) || size >= MAX_TURN {
            return Ok(part);
        }
        size *= 4;
    }
}

/// Returns where the record stands with which a call begins.
fn find_call(path: &Path, call_id: &str) -> Result<Option<u64>> {
    let begins = |line: &PartLine| {
        line.record::<AgentEvent>().ok().filter(
            |record| matches!(&record.body.kind, EventKind::Tool(ToolEvent::Started { call, .. }) if call.id == call_id),
        )?;
        Some(line.at)
    };
    find_last(path, call_id, begins)
}

/// Returns what a call has put out, as its model got it.
fn output_of(path: &Path, call_id: &str) -> Result<String> {
    let output = |line: &PartLine| match line.record::<AgentEvent>().ok()?.body.kind {
        EventKind::Tool(ToolEvent::Ended { result, .. }) if result.call_id == call_id => Some(result.joined_text()),
        _ => None,
    };
    find_last(path, call_id, output)?.context("this output is not in the session log")
}

/// Looks through the log from its end for a record that names a call.
fn find_last<T>(path: &Path, call_id: &str, found: impl Fn(&PartLine) -> Option<T>) -> Result<Option<T>> {
    let quoted = serde_json::to_string(call_id)?;
    let seeker = memchr::memmem::Finder::new(quoted.as_bytes());
    let mut end = u64::MAX;
    while end > 0 {
        let part = read_part(path, Stretch::Before(end), SEEK_BYTES)?;
        let names = |line: &&PartLine| seeker.find(&line.bytes).is_some();
        if let Some(found) = part.lines.iter().rev().filter(names).find_map(&found) {
            return Ok(Some(found));
        }
        end = part.from;
    }
    Ok(None)
}
