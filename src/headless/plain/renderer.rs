//! A session as lines of text, each complete when it is written.
//!
//! Owns what is worth a line, and the words. Leaves writing them to the front end. Invariants: a line is never taken
//! back; text of models and tools is cleaned, and its further rows are set in, so that none of it can pass for a line of
//! the program; what is kept does not grow with the length of the transcripts.

use std::collections::{BTreeSet, HashMap, VecDeque};

use jiff::Timestamp;

use super::super::text::{Waits, agent_errors, ended};
use super::choosing::{ChoiceStep, Choosing};
use super::command_list::CommandList;
use super::rows::{SET_IN, changed_rows, diff_rows, set_in};
use super::task_list::{TaskList, TaskState};
use crate::agent::{
    AgentEvent, Author, EventKind, KeptWorktree, LogEvent, Outcome, RunMode, SessionEvent, Status, ToolEvent,
    TurnEvent, changed_words, rewound_words, shown_of_program,
};
use crate::app::question::is_said;
use crate::app::{context_words, effort_words};
use crate::message::format::seconds;
use crate::message::{AgentId, reveal_line, sanitize, sanitize_line, summary_of};
use crate::permission::{ApprovalId, ApprovalRequest, Preview};

/// A line of text that does not end is written in parts of this many bytes.
const MAX_LINE: usize = 64 << 10;
/// Changed lines that are written with a question. Those of a larger change are written before a yes counts.
const MAX_CHANGES: usize = 40;
const MAX_SUMMARY_CHARS: usize = 2_000;

/// Turns events into lines.
#[derive(Debug, Default)]
pub(super) struct LineRenderer {
    pub(super) tasks: TaskList,
    pub(super) commands: CommandList,
    pub(super) choosing: Choosing,
    /// Running calls: what they are shown as.
    calls: HashMap<(AgentId, String), String>,
    questions: VecDeque<ApprovalRequest>,
    /// The question of which everything was written.
    announced: Option<ApprovalId>,
    /// Those in the background that have ended and whose reports have not arrived yet.
    owed: BTreeSet<AgentId>,
    /// The main agent's text that no line end followed yet.
    text: String,
    /// Whether the last line was the main agent's.
    speaker: Speaker,
    turn: Turn,
    waits: Waits,
    pub(super) kept: Vec<KeptWorktree>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Speaker {
    #[default]
    Another,
    Main,
}

/// Whether a part of the main agent's present reply was written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Turn {
    #[default]
    Silent,
    Spoken,
}

impl LineRenderer {
    /// Takes in one event and returns the lines it deserves.
    pub(super) fn apply(&mut self, event: &LogEvent) -> Vec<String> {
        match event {
            LogEvent::Agent(event) => self.apply_to_agent(event),
            LogEvent::Session { event, .. } => self.apply_to_session(event),
        }
    }

    fn apply_to_session(&mut self, event: &SessionEvent) -> Vec<String> {
        match event {
            SessionEvent::ModelChosen { display, note, .. } => {
                let mut lines = self.notice(&format!("model: {display}"));
                lines.extend(note.iter().flat_map(|note| self.notice(note)));
                lines
            }
            SessionEvent::EffortChosen { wish, sent } => self.notice(&effort_words(None, *wish, *sent)),
            SessionEvent::NoModel { reason } => self.notice(reason),
            SessionEvent::Cleared => {
                let (commands, kept) = (std::mem::take(&mut self.commands), std::mem::take(&mut self.kept));
                *self = Self { commands, kept, ..Self::default() };
                self.notice("new conversation")
            }
            SessionEvent::Rewound { messages, files, left } => self.notice(&rewound_words(*messages, files, left)),
            SessionEvent::Worktrees { kept } => self.worktrees_changed(kept),
            SessionEvent::AgentsChanged { changes } => {
                agent_errors(changes).iter().flat_map(|error| self.notice(error)).collect()
            }
            _ => Vec::new(),
        }
    }

    fn apply_to_agent(&mut self, event: &AgentEvent) -> Vec<String> {
        let id = event.agent;
        match &event.kind {
            EventKind::Spawned(spawn) => {
                self.tasks.insert(id, spawn, event.at);
                Vec::new()
            }
            EventKind::Started => self.started(id, event.at),
            EventKind::UserMessage { text, by, .. } if id.is_main() => self.heard(text, by),
            EventKind::Resumed { run, run_mode } => self.resumed(id, *run, *run_mode),
            EventKind::Moved { run_mode } => self.moved(id, *run_mode),
            EventKind::LastTurn { .. } if !id.is_main() => self.of(id, "wrapping up: one last turn to report"),
            EventKind::Turn(TurnEvent::Started { .. }) => {
                self.waits.over(id);
                if id.is_main() {
                    self.turn = Turn::Silent;
                }
                Vec::new()
            }
            EventKind::Turn(TurnEvent::Text { text }) if id.is_main() => self.stream(text),
            EventKind::Turn(TurnEvent::Ended { message, .. }) if id.is_main() => match self.turn {
                Turn::Silent if self.text.is_empty() => self.main_says(&message.text()),
                _ => self.flush(),
            },
            EventKind::Turn(TurnEvent::Retrying { reason, wait_ms, .. }) => self.retries(id, reason, *wait_ms),
            EventKind::Held { why, wait_ms, ahead } => {
                let words = self.waits.words(id, *why, *wait_ms, *ahead);
                words.map(|words| self.of(id, &words)).unwrap_or_default()
            }
            EventKind::Tool(ToolEvent::Started { call, title }) => {
                let shown = format!("{} {}", sanitize_line(&call.name), reveal_line(title));
                if call.name != crate::subagent::AGENT_TOOL {
                    self.calls.insert((id, call.id.clone()), shown.trim_end().to_owned());
                }
                Vec::new()
            }
            EventKind::Tool(ToolEvent::Ended { result, summary, .. }) => {
                let what = if result.is_error { "failed: " } else { "" };
                self.tool_ended(id, &result.call_id, &format!("{what}{}", sanitize_line(summary)))
            }
            EventKind::Tool(ToolEvent::ApprovalRequested { request }) => {
                self.questions.push_back(request.clone());
                if self.questions.len() == 1 { self.question() } else { Vec::new() }
            }
            EventKind::Tool(ToolEvent::ApprovalResolved { id: question, answer, by_grant }) => {
                self.resolved(question, answer.is_none() && !by_grant)
            }
            EventKind::OutOfTouch => self.of(id, "no answer from there"),
            EventKind::Stopping { .. } if !id.is_main() => {
                if let Some(agent) = self.tasks.get_mut(id) {
                    agent.state = TaskState::Stopping;
                }
                self.of(id, "stopping")
            }
            EventKind::Ended { outcome } if id.is_main() => self.main_ended(outcome),
            EventKind::Ended { outcome } => self.ended(id, outcome),
            EventKind::Tool(ToolEvent::Changed { call, title, by_program }) => {
                let shown = format!("{} {}", sanitize_line(&call.name), changed_words(title, *by_program));
                self.calls.insert((id, call.id.clone()), shown);
                Vec::new()
            }
            EventKind::Hook { ran } => ran.notice().map(|text| self.of(id, &text)).unwrap_or_default(),
            EventKind::Notice { text } if self.tasks.get(id).is_some() => self.of(id, &sanitize_line(text)),
            EventKind::Notice { text } => self.notice(text),
            EventKind::Worktree { news } => self.worktree_news(id, news),
            EventKind::Command(command) => {
                let lines = self.commands.apply(command, event.at);
                self.lines(lines)
            }
            EventKind::Context(event) => context_words(event).map(|words| self.of(id, &words)).unwrap_or_default(),
            _ => Vec::new(),
        }
    }

    pub(super) fn open(&self) -> Option<&ApprovalRequest> {
        self.questions.front()
    }

    /// Takes a question out that was answered here, and returns the next one.
    pub(super) fn settle(&mut self, question: &ApprovalId) -> Vec<String> {
        self.resolved(question, false)
    }

    /// Returns the line of the question that waits for an answer.
    fn question(&mut self) -> Vec<String> {
        let Some(request) = self.questions.front() else { return Vec::new() };
        let who = match self.tasks.get(request.id.agent).map(|agent| agent.parent) {
            Some(parent) if !parent.is_main() => {
                format!("{} (for {})", self.tasks.name(request.id.agent), self.tasks.name(parent))
            }
            _ => self.tasks.name(request.id.agent),
        };
        if let Some((rows, text)) = self.choosing.lines(&who, request) {
            self.announced = Some(request.id.clone());
            let mut lines = self.lines(rows);
            lines.extend(self.notice(&text));
            return lines;
        }
        let change = match &request.preview {
            Some(Preview::Diff(diff)) => format!(" ({} lines added, {} removed)", diff.added, diff.removed),
            Some(Preview::Note { text }) if !is_said(request) => format!(" ({})", reveal_line(text)),
            _ => String::new(),
        };
        let always = request.grant.as_ref().map_or_else(String::new, |grant| {
            format!("[a]lways this session, [w] for all agents, or [p]roject {}, ", reveal_line(&grant.to_string()))
        });
        let place = match self.questions.len() {
            1 => String::new(),
            count => format!(" (1 of {count} questions)"),
        };
        let (tool, act) = (sanitize_line(&request.access.tool), request.act());
        let title = reveal_line(&act);
        let text = if request.is_of_plan() {
            format!(
                "{who} asks you to approve its plan: [y]es, changes ask, [a] yes, edits are accepted, [n]o with a comment, \
                 [s]how{place}"
            )
        } else {
            format!("{who} asks: {tool} {title}{change}? [y]es once, {always}[n]o, [s]how{place}")
        };
        let changed: Vec<String> = changed_rows(request).take(MAX_CHANGES + 1).collect();
        if changed.len() > MAX_CHANGES || self.is_told(&request.id) {
            return self.notice(&text);
        }
        self.announced = Some(request.id.clone());
        let mut lines = self.lines(changed);
        lines.extend(self.notice(&text));
        lines
    }

    /// Returns `true` if all of what a question is about was written.
    pub(super) fn is_told(&self, question: &ApprovalId) -> bool {
        self.announced.as_ref() == Some(question)
    }

    /// Takes a line as the answer to what the open question asks; `None` if it asks for a permission.
    pub(super) fn choose(&mut self, typed: &str) -> Option<(ApprovalId, ChoiceStep)> {
        let request = self.questions.front().filter(|request| request.questions().is_some())?;
        Some((request.id.clone(), self.choosing.take(request, typed)))
    }

    /// Returns the question that is to be answered now.
    pub(super) fn ask_again(&mut self) -> Vec<String> {
        self.question()
    }

    /// Returns all of what the open question is about.
    pub(super) fn details(&mut self) -> Vec<String> {
        let Some(request) = self.questions.front() else { return Vec::new() };
        let mut rows: Vec<String> = request.act().lines().map(str::to_owned).collect();
        match &request.preview {
            Some(Preview::Note { text }) if is_said(request) => rows.push(format!("says: {}", reveal_line(text))),
            Some(Preview::Note { text }) => rows.push(reveal_line(text).into_owned()),
            Some(Preview::Diff(_) | Preview::Report { .. } | Preview::Plan { .. } | Preview::Questions { .. })
            | None => {}
        }
        let mut lines: Vec<String> = rows.into_iter().map(|row| format!("{SET_IN}{row}")).collect();
        lines.extend(diff_rows(request));
        if !request.reason.is_empty() {
            lines.push(format!("asked because: {}", sanitize_line(&request.reason)));
        }
        self.announced = Some(request.id.clone());
        lines.extend(self.question());
        lines
    }

    /// Returns the reports that are about to arrive as messages.
    pub(super) fn owed(&self) -> usize {
        self.owed.len()
    }

    pub(super) fn list_tasks(&mut self, now: Timestamp) -> Vec<String> {
        let rows = self.tasks.rows(now, |id| self.questions.iter().any(|request| request.id.agent == id));
        let rows: Vec<String> = rows.into_iter().chain(self.commands.rows(now)).collect();
        if rows.is_empty() { self.notice("no agents yet") } else { self.lines(rows) }
    }

    /// Returns a line of the program's own.
    pub(super) fn notice(&mut self, text: &str) -> Vec<String> {
        self.lines(vec![sanitize_line(text).into_owned()])
    }

    /// Returns lines that are not the main agent's text. What it has begun to say comes first.
    fn lines(&mut self, more: Vec<String>) -> Vec<String> {
        let mut lines = self.flush();
        lines.extend(more);
        self.speaker = Speaker::Another;
        lines
    }

    /// Returns a line about an agent.
    pub(super) fn of(&mut self, id: AgentId, text: &str) -> Vec<String> {
        let line = format!("{}: {text}", self.tasks.name(id));
        // Other agents do not interrupt a sentence.
        let begun = std::mem::take(&mut self.text);
        let lines = self.lines(vec![line]);
        self.text = begun;
        lines
    }

    fn say(&mut self, who: &str, text: &str) -> Vec<String> {
        let text = sanitize(text);
        let mut rows = text.trim().lines();
        let first = format!("{who}: {}", rows.next().unwrap_or_default());
        self.lines(std::iter::once(first).chain(rows.map(set_in)).collect())
    }

    fn stream(&mut self, text: &str) -> Vec<String> {
        self.text.push_str(text);
        let end = match self.text.rfind('\n') {
            Some(end) => end + 1,
            None if self.text.len() > MAX_LINE => self.text.len(),
            None => return Vec::new(),
        };
        let rest = self.text.split_off(end);
        let whole = std::mem::replace(&mut self.text, rest);
        self.main_says(&whole)
    }

    /// Returns what is left of the main agent's text.
    fn flush(&mut self) -> Vec<String> {
        let rest = std::mem::take(&mut self.text);
        self.main_says(&rest)
    }

    fn main_says(&mut self, text: &str) -> Vec<String> {
        let mut lines = Vec::new();
        for row in sanitize(text).lines().map(str::trim_end) {
            let begins = self.speaker == Speaker::Another;
            if begins && row.is_empty() {
                continue;
            }
            self.turn = Turn::Spoken;
            self.speaker = Speaker::Main;
            lines.push(if begins { format!("main: {row}") } else { set_in(row) });
        }
        lines
    }

    fn heard(&mut self, text: &str, by: &Author) -> Vec<String> {
        match by {
            Author::User => self.say("you", text),
            Author::Subagents(agents) => {
                self.owed.retain(|agent| !agents.contains(agent));
                let names: Vec<String> = agents.iter().map(|agent| self.tasks.name(*agent)).collect();
                let noun = if names.len() == 1 { "report" } else { "reports" };
                self.notice(&format!("{noun} from {} arrived", names.join(", ")))
            }
            Author::Parent => self.notice(text),
            Author::Program => self.notice(shown_of_program(text)),
        }
    }

    /// A later run begins; what comes late or twice does not.
    fn resumed(&mut self, id: AgentId, run: u32, run_mode: RunMode) -> Vec<String> {
        let Some(agent) = self.tasks.get_mut(id).filter(|agent| agent.run < run) else { return Vec::new() };
        (agent.run, agent.mode, agent.state) = (run, run_mode, TaskState::Queued);
        self.of(id, &format!("resumed, run {run}"))
    }

    fn moved(&mut self, id: AgentId, run_mode: RunMode) -> Vec<String> {
        let Some(agent) = self.tasks.get_mut(id) else { return Vec::new() };
        agent.mode = run_mode;
        match run_mode {
            RunMode::Background => self.of(id, "moved to the background; its report will arrive as a message"),
            RunMode::Foreground => self.of(id, "moved to the foreground"),
        }
    }

    fn started(&mut self, id: AgentId, at: Timestamp) -> Vec<String> {
        let Some(agent) = self.tasks.get_mut(id) else { return Vec::new() };
        agent.state = TaskState::Running;
        agent.since = at;
        let text = format!("started: {}", agent.description);
        self.of(id, &text)
    }

    fn retries(&mut self, id: AgentId, reason: &str, wait_ms: u64) -> Vec<String> {
        let again = if id.is_main() && self.turn == Turn::Spoken { "; the answer restarts" } else { "" };
        if id.is_main() {
            self.text.clear();
            self.turn = Turn::Silent;
        }
        self.waits.announced(id);
        self.of(id, &format!("retrying in {}: {}{again}", seconds(wait_ms), sanitize_line(reason)))
    }

    fn tool_ended(&mut self, id: AgentId, call_id: &str, outcome: &str) -> Vec<String> {
        let Some(shown) = self.calls.remove(&(id, call_id.to_owned())) else { return Vec::new() };
        if let Some(agent) = self.tasks.get_mut(id) {
            agent.tools += 1;
        }
        let text = if outcome.is_empty() { shown } else { format!("{shown} - {outcome}") };
        self.of(id, &text)
    }

    fn resolved(&mut self, question: &ApprovalId, is_withdrawn: bool) -> Vec<String> {
        let was_open = self.questions.front().is_some_and(|request| request.id == *question);
        self.questions.retain(|request| request.id != *question);
        if !was_open {
            return Vec::new();
        }
        let mut lines = if is_withdrawn { self.notice("the question was withdrawn") } else { Vec::new() };
        lines.extend(self.question());
        lines
    }

    fn main_ended(&mut self, outcome: &Outcome) -> Vec<String> {
        let mut lines = self.flush();
        self.waits.over(AgentId::MAIN);
        self.speaker = Speaker::Another;
        if !outcome.status.is_complete() {
            lines.extend(self.of(AgentId::MAIN, &ended(outcome)));
        }
        lines
    }

    fn ended(&mut self, id: AgentId, outcome: &Outcome) -> Vec<String> {
        if let Some(agent) = self.tasks.get_mut(id) {
            agent.state = TaskState::Ended(outcome.status);
            // Of one that the user has stopped nobody waits for anything.
            if agent.mode == RunMode::Background && agent.parent.is_main() && outcome.status != Status::Cancelled {
                self.owed.insert(id);
            }
        }
        self.waits.over(id);
        self.calls.retain(|(agent, _), _| *agent != id);
        let summary = sanitize(summary_of(&outcome.text)).split_whitespace().collect::<Vec<_>>().join(" ");
        let mut text = ended(outcome);
        if !summary.is_empty() && !outcome.is_broken_off() {
            let cut = summary.char_indices().nth(MAX_SUMMARY_CHARS).map_or(summary.len(), |(at, _)| at);
            let more = if cut < summary.len() { " …" } else { "" };
            text = format!("{text}: {}{more}", &summary[..cut]);
        }
        self.of(id, &text)
    }
}
