//! What one agent said and did, step by step, out of its records.
//!
//! Owns the fold of events into steps, and how much of each is kept. Leaves how a step looks to the formats. Invariants:
//! a step comes out when nothing changes it any more, and in the order in which it began; only what waits for that is
//! held.

use std::collections::{HashMap, VecDeque};

use super::clean::Clean;
use super::recording::{RecordedAgent, Recording};
use crate::agent::{Author, EventKind, LogEvent, Outcome, SessionEvent, Status, ToolEvent, TurnEvent, rewound_words};
use crate::message::{
    AgentId, AssistantMessage, Block, ResultPart, ToolCall, ToolInput, picture_mark, report_markdown,
};
use crate::tool::ToolView;

/// Bytes that all texts of an export may take together, about. What a single one may take follows from it.
const MAX_EXPORT: u64 = 48 << 20;
/// Calls that wait for their results, at most; the oldest are given up.
const MAX_WAITING: usize = 4_096;

/// How many bytes of a text are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TextLimits {
    /// Of what a tool has put out.
    pub(super) output: usize,
    /// Of what was said.
    pub(super) words: usize,
}

impl TextLimits {
    /// Returns the limits for so many records: the more there are, the less is kept of each.
    pub(super) fn of(records: u64) -> Self {
        let share = usize::try_from(MAX_EXPORT / records.max(1)).unwrap_or(usize::MAX);
        Self { output: share.clamp(240, 16 << 10), words: share.saturating_mul(4).clamp(960, 256 << 10) }
    }
}

/// One step of an agent. Times are milliseconds since the session began. All texts are clean.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct RecordedStep {
    pub(super) at: u64,
    pub(super) kind: StepKind,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum StepKind {
    /// What it was told, and by whom.
    Told {
        by: Author,
        text: String,
    },
    /// Its words, Markdown.
    Text(String),
    Thinking(String),
    Call(Box<RecordedCall>),
    /// A subagent, in place of the call that made it.
    Subagent(AgentId),
    /// A line across: something begins anew.
    Divider(String),
    Notice(String),
    Error(String),
}

#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct RecordedCall {
    pub(super) name: String,
    pub(super) title: String,
    /// What it was called with, as JSON; empty where the output shows it.
    pub(super) input: String,
    /// When its result came; `None` if it never did.
    pub(super) done: Option<u64>,
    pub(super) summary: String,
    pub(super) output: String,
    /// Whether the output is a diff, its lines marked with `+` and `-`.
    pub(super) is_diff: bool,
    pub(super) is_error: bool,
}

/// Reads the steps of one agent.
pub(super) struct StepReader<'a, R> {
    recording: &'a Recording,
    clean: &'a Clean<'a>,
    limits: TextLimits,
    agent: AgentId,
    records: R,
    /// Its subagents, by the calls that made them.
    subagents: HashMap<String, AgentId>,
    now: u64,
    /// Whether its task was read.
    has_task: bool,
    held: VecDeque<(RecordedStep, bool)>,
    /// How many steps have come out.
    out: usize,
    /// Calls in flight, by the number of their steps.
    calls: HashMap<String, usize>,
    is_over: bool,
}

/// Returns the steps of an agent.
pub(super) fn steps<'a>(
    recording: &'a Recording,
    agent: &RecordedAgent,
    clean: &'a Clean<'a>,
) -> StepReader<'a, impl Iterator<Item = LogEvent> + use<>> {
    let made = |child: &RecordedAgent| Some((child.spawn.as_ref()?.call_id.clone(), child.id));
    StepReader {
        recording,
        clean,
        limits: TextLimits::of(recording.records),
        agent: agent.id,
        records: recording.records_of(agent),
        subagents: recording.children(agent.id).filter_map(made).collect(),
        now: 0,
        has_task: false,
        held: VecDeque::new(),
        out: 0,
        calls: HashMap::new(),
        is_over: false,
    }
}

impl<R: Iterator<Item = LogEvent>> Iterator for StepReader<'_, R> {
    type Item = RecordedStep;

    fn next(&mut self) -> Option<RecordedStep> {
        loop {
            let is_due = self.is_over || self.held.len() > MAX_WAITING;
            if self.held.front().is_some_and(|(_, is_whole)| is_due || *is_whole)
                && let Some((step, _)) = self.held.pop_front()
            {
                self.out += 1;
                return Some(step);
            }
            match self.records.next() {
                Some(event) => self.apply(&event),
                None if self.held.is_empty() => return None,
                None => self.is_over = true,
            }
        }
    }
}

impl<R> StepReader<'_, R> {
    fn apply(&mut self, event: &LogEvent) {
        let at = match event {
            LogEvent::Agent(event) => event.at,
            LogEvent::Session { at, .. } => *at,
        };
        self.now = self.now.max(self.recording.time_of(at)).min(self.recording.length);
        match event {
            LogEvent::Agent(event) => self.apply_kind(&event.kind),
            LogEvent::Session { event, .. } => self.apply_session(event),
        }
    }

    fn push(&mut self, kind: StepKind) {
        self.held.push_back((RecordedStep { at: self.now, kind }, true));
    }

    fn words(&self, text: &str) -> String {
        self.clean.text(text, self.limits.words)
    }

    fn apply_session(&mut self, event: &SessionEvent) {
        match event {
            SessionEvent::ModelChosen { display, note, .. } => {
                let note = note.as_ref().map(|note| format!(" · {note}")).unwrap_or_default();
                self.push(StepKind::Notice(self.clean.line(&format!("model: {display}{note}"))));
            }
            SessionEvent::NoModel { reason } => self.push(StepKind::Error(self.clean.line(reason))),
            SessionEvent::Rewound { messages, files, left } => {
                self.push(StepKind::Divider(self.clean.line(&rewound_words(*messages, files, left))));
            }
            SessionEvent::Cleared => self.push(StepKind::Divider("new conversation".to_owned())),
            _ => {}
        }
    }

    fn apply_kind(&mut self, kind: &EventKind) {
        match kind {
            // The first message of a subagent is its task, which stands before its steps.
            EventKind::UserMessage { by: Author::User, .. } if !self.agent.is_main() && !self.has_task => {
                self.has_task = true;
            }
            EventKind::UserMessage { text, by, .. } => {
                let text = self.words(text);
                self.push(StepKind::Told { by: by.clone(), text });
            }
            EventKind::Resumed { run, .. } => self.push(StepKind::Divider(format!("run {run}"))),
            EventKind::Turn(TurnEvent::Ended { message, stop, .. }) => {
                self.said(message);
                if stop.is_none() {
                    self.push(StepKind::Notice("cut off: the reply is incomplete".to_owned()));
                }
            }
            EventKind::Turn(TurnEvent::Retrying { reason, .. }) => {
                self.push(StepKind::Notice(self.clean.line(&format!("trying again: {reason}"))));
            }
            EventKind::Tool(ToolEvent::Started { call, title }) => self.called(call, title),
            EventKind::Tool(ToolEvent::Ended { .. }) => self.answered(kind),
            EventKind::Hook { ran } => {
                if let Some(text) = ran.notice() {
                    self.push(StepKind::Notice(self.clean.line(&text)));
                }
            }
            EventKind::Notice { text } => self.push(StepKind::Notice(self.clean.line(text))),
            EventKind::Worktree { news } => {
                for line in news.words() {
                    self.push(StepKind::Notice(self.clean.line(&line)));
                }
            }
            EventKind::Ended { outcome } => self.ended(outcome),
            _ => {}
        }
    }

    fn said(&mut self, message: &AssistantMessage) {
        for block in &message.content {
            match block {
                Block::Text { text } if !text.trim().is_empty() => {
                    let text = if self.agent.is_main() { text.trim().to_owned() } else { report_markdown(text) };
                    self.push(StepKind::Text(self.words(&text)));
                }
                Block::Thinking { text, .. } if !text.trim().is_empty() => {
                    self.push(StepKind::Thinking(self.words(text.trim())));
                }
                _ => {}
            }
        }
    }

    fn called(&mut self, call: &ToolCall, title: &str) {
        if let Some(agent) = self.subagents.get(&call.id) {
            return self.push(StepKind::Subagent(*agent));
        }
        let input = match &call.input {
            ToolInput::Object(fields) if fields.is_empty() => String::new(),
            ToolInput::Object(fields) => serde_json::to_string_pretty(fields).unwrap_or_default(),
            ToolInput::Malformed(text) => text.clone(),
        };
        let kind = StepKind::Call(Box::new(RecordedCall {
            name: self.clean.line(&call.name),
            title: self.clean.line(title),
            input: self.clean.text(&input, self.limits.output),
            ..RecordedCall::default()
        }));
        self.calls.insert(call.id.clone(), self.out + self.held.len());
        self.held.push_back((RecordedStep { at: self.now, kind }, false));
    }

    fn answered(&mut self, kind: &EventKind) {
        let EventKind::Tool(ToolEvent::Ended { result, summary, view, .. }) = kind else { return };
        let Some(number) = self.calls.remove(&result.call_id) else { return };
        let (output, is_diff) = match view {
            Some(ToolView::Diff(diff)) => {
                let lines = diff.hunks.iter().flat_map(|hunk| &hunk.lines);
                let marked =
                    lines.map(|line| format!("{}{}\n", line.kind.sign(), line.text.trim_end_matches(['\n', '\r'])));
                (marked.collect::<String>(), true)
            }
            _ => (output_of(&result.content), false),
        };
        let (output, summary) = (self.clean.text(output.trim_end(), self.limits.output), self.clean.line(summary));
        let Some((step, is_whole)) = number.checked_sub(self.out).and_then(|at| self.held.get_mut(at)) else { return };
        *is_whole = true;
        if let StepKind::Call(call) = &mut step.kind {
            if is_diff {
                call.input.clear();
            }
            (call.summary, call.output, call.is_diff) = (summary, output, is_diff);
            (call.done, call.is_error) = (Some(self.now), result.is_error);
        }
    }

    fn ended(&mut self, outcome: &Outcome) {
        // What is still without a result will not get one.
        self.calls.clear();
        for (_, is_whole) in &mut self.held {
            *is_whole = true;
        }
        if outcome.status == Status::Completed {
            return;
        }
        let word = outcome.status.word();
        let text = outcome.reason.as_ref().map_or_else(|| word.to_owned(), |reason| format!("{word}: {reason}"));
        let text = self.clean.line(&text);
        self.push(match outcome.status {
            Status::Failed | Status::TimedOut => StepKind::Error(text),
            _ => StepKind::Notice(text),
        });
    }
}

fn output_of(parts: &[ResultPart]) -> String {
    let texts = parts.iter().map(|part| match part {
        ResultPart::Text { text } => text.clone(),
        ResultPart::Attached { number } => picture_mark(*number),
        ResultPart::Image { media_type, data } => format!("({media_type}, {} bytes)", data.len() / 4 * 3),
    });
    texts.collect::<Vec<_>>().join("\n")
}
