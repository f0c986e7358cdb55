//! The commands of a session that go on by themselves, as lines.
//!
//! Owns the lines about them. Leaves who writes them to `renderer`. Invariant: what is kept does not grow with what they
//! print.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;

use crate::app::RunningCommand;
use crate::message::format::{counted, millis, seconds};
use crate::message::{reveal_line, sanitize, sanitize_line};
use crate::tool::CommandEvent;

#[derive(Debug, Default)]
pub(super) struct CommandList(BTreeMap<String, ListedCommand>);

#[derive(Debug)]
struct ListedCommand {
    line: String,
    by_user: bool,
    since: Timestamp,
    /// The last line that it printed.
    last: String,
}

impl CommandList {
    /// Takes in what happened to a command, and returns the lines about it. Those that a command of the user's own prints
    /// are all there; an agent reads those of its own.
    pub(super) fn apply(&mut self, event: &CommandEvent, at: Timestamp) -> Vec<String> {
        match event {
            CommandEvent::Started { command_id, command, by_user } => {
                let line = reveal_line(command).into_owned();
                let said = if *by_user { Vec::new() } else { vec![format!("{command_id}: started: {line}")] };
                let known = ListedCommand { line, by_user: *by_user, since: at, last: String::new() };
                self.0.insert(command_id.clone(), known);
                said
            }
            CommandEvent::Output { command_id, text } => {
                let Some(known) = self.0.get_mut(command_id) else { return Vec::new() };
                if known.by_user {
                    return sanitize(text).lines().map(|line| format!("  {line}")).collect();
                }
                if let Some(last) = text.lines().rev().find(|line| !line.trim().is_empty()) {
                    known.last = sanitize_line(last).into_owned();
                }
                Vec::new()
            }
            // Its agent is told, in a line of its own.
            CommandEvent::Matched { .. } => Vec::new(),
            CommandEvent::Ended { command_id, how, lines, .. } => {
                let known = self.0.remove(command_id);
                let how = sanitize_line(how);
                match known {
                    Some(known) if known.by_user => vec![format!("! {}: {how}", known.line)],
                    _ => vec![format!("{command_id}: {how}, {}", counted(*lines, "line"))],
                }
            }
        }
    }

    /// Returns `true` if a command of this name runs.
    pub(super) fn has(&self, id: &str) -> bool {
        self.0.contains_key(id)
    }

    /// Returns `true` if a command of the user's own runs.
    pub(super) fn runs_own(&self) -> bool {
        self.0.values().any(|known| known.by_user)
    }

    /// Returns the lines of all that run, each with what stops it.
    pub(super) fn going_on(&self) -> Vec<RunningCommand> {
        let one = |(id, known): (&String, &ListedCommand)| {
            let sign = if known.by_user { "!" } else { "" };
            RunningCommand { line: format!("{sign}{}", known.line), stop: format!("/cancel {id}") }
        };
        self.0.iter().map(one).collect()
    }

    /// Returns a row for each that runs.
    pub(super) fn rows(&self, now: Timestamp) -> Vec<String> {
        let row = |(id, known): (&String, &ListedCommand)| {
            let lasting = Duration::try_from(now.duration_since(known.since)).unwrap_or_default();
            let last = if known.last.is_empty() { String::new() } else { format!(": {}", known.last) };
            format!("{id} {}, running, {}{last}", known.line, seconds(millis(lasting)))
        };
        self.0.iter().map(row).collect()
    }
}
