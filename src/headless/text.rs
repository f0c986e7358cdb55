//! Plain words: the answer, and what the subagents are doing.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use crate::agent::{
    AgentEvent, EventKind, Hold, KeptWorktree, LogEvent, Outcome, SessionEvent, Status, ToolEvent, TurnEvent,
};
use crate::app::context_words;
use crate::definition::CatalogChanges;
use crate::message::format::{counted, millis, seconds};
use crate::message::{AgentId, Diagnostic, canonical_name, sanitize, sanitize_line};
use crate::subagent::AGENT_TOOL;
use crate::tool::CommandEvent;

/// Shortest time between two lines about the same subagent.
const INTERVAL: Duration = Duration::from_secs(2);

/// What is done about worktrees that are left. A branch alone is no help: most of the work is not committed.
const HOW_TO_MERGE: &str = "Merge or discard them with /worktrees in belvedere, started in this project. `git merge` would take \
                            only what the agents have committed.";

/// Turns events into lines such as `[explore] Find auth files … 5 tools, 3.2s`.
#[derive(Debug, Default)]
pub struct ProgressLine {
    children: HashMap<AgentId, Child>,
    waits: Waits,
}

/// Faults of agent files that are written one by one.
const MAX_ERRORS: usize = 20;

/// Returns what is wrong with agent files, a line each. What loses a guard has its own notice.
pub(super) fn agent_errors(changes: &CatalogChanges) -> Vec<String> {
    let errors: Vec<&Diagnostic> = changes.errors.iter().filter(|error| !error.loses_guard).collect();
    let mut lines: Vec<String> =
        errors.iter().take(MAX_ERRORS).map(|error| sanitize_line(&error.to_string()).into_owned()).collect();
    if errors.len() > MAX_ERRORS {
        lines.push(format!("… and {} more problems; see `belvedere agents check`", errors.len() - MAX_ERRORS));
    }
    lines
}

#[derive(Debug)]
struct Child {
    label: String,
    tools: u32,
    since: Instant,
    announced: Instant,
}

impl ProgressLine {
    /// Returns the line to show for an event, if it deserves one. `now` is when it came: the clock on the wall, by which
    /// events are dated, may be set meanwhile.
    pub fn line(&mut self, event: &LogEvent, now: Instant) -> Option<String> {
        match event {
            LogEvent::Agent(event) => self.line_of_agent(event, now),
            LogEvent::Session { event: SessionEvent::ModelChosen { note: Some(note), .. }, .. } => {
                Some(sanitize_line(note).into_owned())
            }
            LogEvent::Session { event: SessionEvent::AgentsChanged { changes }, .. } => {
                Some(agent_errors(changes).join("\n")).filter(|lines| !lines.is_empty())
            }
            LogEvent::Session { .. } => None,
        }
    }

    fn line_of_agent(&mut self, event: &AgentEvent, now: Instant) -> Option<String> {
        match &event.kind {
            EventKind::Spawned(spawn) => {
                let label = sanitize_line(&format!("[{}] {}", spawn.agent_type, spawn.description)).into_owned();
                let line = format!("{label} …");
                let child = Child { label, tools: 0, since: now, announced: now };
                self.children.insert(event.agent, child);
                Some(line)
            }
            EventKind::Started => {
                self.children.get_mut(&event.agent)?.since = now;
                None
            }
            // Those of its own: an agent has lines of its own.
            EventKind::Tool(ToolEvent::Started { call, title }) if event.agent.is_main() => {
                let is_agent = canonical_name(&call.name).eq_ignore_ascii_case(AGENT_TOOL);
                let title = sanitize_line(title);
                (!is_agent).then(|| format!("[main] {} {title}", sanitize_line(&call.name)).trim_end().to_owned())
            }
            EventKind::Tool(ToolEvent::Ended { .. }) => {
                let child = self.children.get_mut(&event.agent)?;
                child.tools += 1;
                if now.duration_since(child.announced) < INTERVAL {
                    return None;
                }
                child.announced = now;
                let elapsed = seconds(millis(now.duration_since(child.since)));
                Some(format!("{} … {}, {elapsed}", child.label, tools(child.tools)))
            }
            EventKind::Hook { ran } => {
                let who = self.children.get(&event.agent).map_or("[main]", |child| &child.label);
                ran.notice().map(|text| format!("{who} {text}"))
            }
            EventKind::Tool(ToolEvent::Changed { call, title, by_program: false }) => {
                let who = self.children.get(&event.agent).map_or("[main]", |child| &child.label);
                Some(format!("{who} {} {} (changed)", sanitize_line(&call.name), sanitize_line(title)))
            }
            EventKind::Turn(TurnEvent::Retrying { reason, wait_ms, .. }) => {
                self.waits.announced(event.agent);
                let who = self.children.get(&event.agent).map_or("main", |child| &child.label);
                Some(format!("{who} … retrying in {}: {}", seconds(*wait_ms), sanitize_line(reason)))
            }
            EventKind::Turn(TurnEvent::Started { .. }) => {
                self.waits.over(event.agent);
                None
            }
            EventKind::Held { why, wait_ms, ahead } => {
                let words = self.waits.words(event.agent, *why, *wait_ms, *ahead)?;
                let who = self.children.get(&event.agent).map_or("main", |child| &child.label);
                Some(format!("{who} … {words}"))
            }
            EventKind::Ended { outcome } => {
                self.waits.over(event.agent);
                let child = self.children.remove(&event.agent)?;
                Some(format!("{} - {}", child.label, ended(outcome)))
            }
            EventKind::Command(CommandEvent::Started { command_id, command, .. }) => {
                Some(format!("[{command_id}] {} …", sanitize_line(command)))
            }
            EventKind::Command(CommandEvent::Ended { command_id, how, .. }) => {
                Some(format!("[{command_id}] {}", sanitize_line(how)))
            }
            EventKind::Notice { text } => Some(sanitize_line(text).into_owned()),
            EventKind::Context(context) => {
                let words = context_words(context)?;
                let who = self.children.get(&event.agent).map_or("main", |child| &child.label);
                Some(format!("{who} … {words}"))
            }
            _ => None,
        }
    }
}

/// The agents whose wait for a rate limit or the budget is announced: each wait is worth one line.
#[derive(Debug, Default)]
pub(super) struct Waits(HashSet<AgentId>);

impl Waits {
    pub(super) fn announced(&mut self, agent: AgentId) {
        self.0.insert(agent);
    }

    pub(super) fn over(&mut self, agent: AgentId) {
        self.0.remove(&agent);
    }

    /// Returns the words for what an agent waits for, unless they were said before or the wait is over.
    pub(super) fn words(&mut self, agent: AgentId, why: Hold, wait_ms: Option<u64>, ahead: u32) -> Option<String> {
        if (wait_ms, ahead) == (Some(0), 0) {
            self.over(agent);
            return None;
        }
        if !self.0.insert(agent) {
            return None;
        }
        let wait = wait_ms.map_or_else(String::new, |wait| format!(" {}", seconds(wait)));
        let queue = match ahead {
            0 => String::new(),
            1 => ", 1 request ahead".to_owned(),
            ahead => format!(", {ahead} requests ahead"),
        };
        let what = match why {
            Hold::RateLimit => "the rate limit",
            Hold::Budget => "running requests to free budget",
        };
        Some(format!("waiting{wait} for {what}{queue}"))
    }
}

pub(super) fn ended(outcome: &Outcome) -> String {
    let word = match outcome.status {
        Status::Completed => "done",
        status => status.name(),
    };
    let took = format!("({}, {})", tools(outcome.tool_calls), seconds(outcome.elapsed_ms));
    match &outcome.reason {
        Some(reason) => format!("{word} {took}: {}", sanitize_line(reason)),
        None => format!("{word} {took}"),
    }
}

pub(super) fn tools(count: u32) -> String {
    counted(count as usize, "tool")
}

pub(super) fn answer(outcome: &Outcome) -> String {
    sanitize(outcome.text.trim_end()).into_owned()
}

/// Says of worktrees that are left behind where they are, and how their changes come into the project.
pub(super) fn kept(kept: &[KeptWorktree]) -> Vec<String> {
    let line = |one: &KeptWorktree| {
        let path = one.path.to_string_lossy();
        sanitize_line(&format!("{}: not merged: {}, branch {}, {path}", one.name, one.size(), one.branch)).into_owned()
    };
    let mut lines: Vec<String> = kept.iter().map(line).collect();
    if !lines.is_empty() {
        lines.push(HOW_TO_MERGE.to_owned());
    }
    lines
}
