//! What standard output gets of the events of a session, in each format but lines.
//!
//! Owns the order of messages and results. Leaves their form to `json` and `messages`, writing to `output`. Invariant:
//! standard error gets the progress, in every format.

use std::time::Instant;

use super::OutputFormat;
use super::denials::Denials;
use super::messages::{MessageOptions, MessageWriter, ServiceTime};
use super::text::{self, ProgressLine};
use super::{PrintedAnswer, eprintln_line, json};
use crate::agent::{AgentEvent, EventKind, KeptWorktree, LogEvent, Outcome, SessionEvent};
use crate::message::{AgentId, UsageTable, escaped_json, sanitize_line};
use crate::subagent::MainAgentFacts;

pub(super) struct Printer {
    format: OutputFormat,
    progress: ProgressLine,
    totals: UsageTable,
    kept: Vec<KeptWorktree>,
    pub(super) messages: MessageWriter,
    service_time: ServiceTime,
    ended: Option<Outcome>,
    denials: Denials,
}

impl Printer {
    pub(super) fn new(format: OutputFormat, session: String, options: MessageOptions, facts: MainAgentFacts) -> Self {
        Self {
            format,
            progress: ProgressLine::default(),
            totals: UsageTable::default(),
            kept: Vec::new(),
            messages: MessageWriter::new(session, options, facts),
            service_time: ServiceTime::default(),
            ended: None,
            denials: Denials::default(),
        }
    }

    /// Returns the lines that an event makes.
    pub(super) fn event(&mut self, event: &LogEvent) -> Vec<String> {
        self.totals.apply(event);
        self.service_time.apply(event);
        let refused = event.of_agent().and_then(|event| self.denials.apply(event));
        for line in self.progress.line(event, Instant::now()).into_iter().chain(refused) {
            eprintln_line(&line);
        }
        match event {
            LogEvent::Session { event: SessionEvent::Worktrees { kept }, .. } => self.kept.clone_from(kept),
            LogEvent::Agent(AgentEvent { agent: AgentId::MAIN, kind: EventKind::Ended { outcome }, .. }) => {
                self.ended = Some(outcome.clone());
            }
            _ => {}
        }
        match self.format {
            OutputFormat::Events => written(json::event_line(event)).into_iter().collect(),
            OutputFormat::StreamJson => {
                let messages = self.messages.apply(event);
                messages.iter().filter_map(|message| written(serde_json::to_string(message))).collect()
            }
            OutputFormat::Text | OutputFormat::Json => Vec::new(),
        }
    }

    /// Returns what a run took that was not waited for: its cost is no less for that.
    pub(super) fn cut_short(&mut self) -> Option<String> {
        let outcome = self.ended.clone().filter(|_| self.format != OutputFormat::Text)?;
        self.result(&PrintedAnswer { outcome, structured: None, unfit: None })
    }

    /// Returns the object with the answer and what it took.
    fn result(&mut self, answer: &PrintedAnswer) -> Option<String> {
        let body = json::result(answer, self.service_time.millis, &self.totals, &self.kept, self.denials.list());
        let line = body.map(|body| self.messages.signed(body)).and_then(|body| serde_json::to_string(&body));
        written(line)
    }

    /// Returns the answer, and says on standard error what is left to do.
    pub(super) fn answer(&mut self, answer: &PrintedAnswer) -> Option<String> {
        for line in text::kept(&self.kept) {
            eprintln_line(&line);
        }
        if self.format != OutputFormat::Text {
            return self.result(answer);
        }
        let PrintedAnswer { outcome, structured, unfit } = answer;
        if let Some(why) = unfit {
            eprintln_line(&format!("belvedere: the answer does not fit the JSON Schema: {}", sanitize_line(why)));
        }
        if let Some(structured) = structured {
            return written(serde_json::to_string(structured));
        }
        if let Some(reason) = &outcome.reason {
            eprintln_line(&format!("belvedere: {}", sanitize_line(reason)));
        }
        Some(text::answer(outcome)).filter(|text| !text.is_empty())
    }

    /// Returns `true` if a tool call was refused.
    pub(super) fn has_refused(&self) -> bool {
        !self.denials.list().is_empty()
    }
}

pub(super) fn written(line: serde_json::Result<String>) -> Option<String> {
    line.map(escaped_json)
        .inspect_err(|error| eprintln_line(&format!("belvedere: cannot write an event: {error}")))
        .ok()
}
