//! The text of a program, as steps like the turns of any agent.
//!
//! Owns where one step ends and the next begins: at a tool call, and at the end of a prompt. Invariants: deltas are merged as
//! those of a model are; what is kept of a step is bounded; a step that was begun is ended.

use std::collections::HashSet;

use crate::agent::run::Run;
use crate::agent::stream::MergedDeltas;
use crate::agent::turn::TurnBuilder;
use crate::agent::{EventKind, TurnEvent};
use crate::message::{Spent, ToolCall, ToolResult, Transcript, Usage};
use crate::provider::{StopReason, StreamEvent};

/// Bytes of text of one step that are kept.
const MAX_STEP: usize = 1 << 20;

pub(super) struct Steps<'a> {
    run: &'a Run<'a>,
    /// What the user calls the program.
    program: &'a str,
    merged: MergedDeltas,
    open: Option<TurnBuilder>,
    /// Bytes that the open step may still hold.
    room: usize,
    ids: HashSet<String>,
    turns: u32,
    /// Text since the last tool call or message.
    answer: String,
    last_text: String,
    usage: Usage,
    cost_usd: Option<f64>,
    transcript: Transcript,
}

impl<'a> Steps<'a> {
    pub(super) fn new(run: &'a Run<'a>, program: &'a str, mut transcript: Transcript) -> Self {
        transcript.interrupt_pending();
        Self {
            run,
            program,
            merged: MergedDeltas::default(),
            open: None,
            room: MAX_STEP,
            ids: HashSet::new(),
            turns: 0,
            answer: String::new(),
            last_text: String::new(),
            usage: Usage::default(),
            cost_usd: None,
            transcript,
        }
    }

    pub(super) fn transcript(&self) -> &Transcript {
        &self.transcript
    }

    pub(super) fn answer(&self) -> &str {
        &self.answer
    }

    /// Returns the answer, and the last text before it.
    pub(super) fn texts(&self) -> (String, String) {
        (self.answer.clone(), self.last_text.clone())
    }

    pub(super) fn into_parts(mut self) -> (u32, Usage, Option<f64>, Transcript) {
        self.transcript.interrupt_pending();
        (self.turns, self.usage, self.cost_usd, self.transcript)
    }

    /// Notes a message to the program.
    pub(super) fn heard(&mut self, text: &str) {
        self.transcript.push_user(text);
        self.begin_answer();
    }

    /// Takes what comes from now on for the answer.
    pub(super) fn begin_answer(&mut self) {
        self.answer.clear();
    }

    pub(super) fn result(&mut self, result: ToolResult) {
        self.transcript.push_results(vec![result]);
    }

    /// Takes in text or a thought.
    pub(super) async fn push(&mut self, event: StreamEvent) {
        let (StreamEvent::Text(text) | StreamEvent::Thinking(text)) = &event else { return };
        if self.room < text.len() {
            self.run.emit_alive().await;
            return;
        }
        self.room -= text.len();
        if self.open.is_none() {
            self.begin().await;
        }
        if let Some(delta) = self.open.as_mut().and_then(|step| step.push(event)) {
            self.merged.add(self.run, delta).await;
        }
    }

    async fn begin(&mut self) {
        self.turns += 1;
        self.open = Some(TurnBuilder::default());
        self.run.emit(TurnEvent::Started { turn: self.turns }).await;
    }

    /// Returns when text that waits has to be emitted.
    pub(super) fn due(&self) -> Option<tokio::time::Instant> {
        self.merged.is_waiting().then(|| self.merged.due())
    }

    pub(super) async fn flush(&mut self) {
        self.merged.flush(self.run).await;
    }

    /// Ends the step in a tool call. Returns the call with an id that no other has.
    pub(super) async fn call(&mut self, id: String, name: String, json: String) -> Option<ToolCall> {
        if self.open.is_none() {
            self.begin().await;
        }
        if let Some(step) = self.open.as_mut() {
            step.push(StreamEvent::ToolCallStart { index: 0, id, name });
            step.push(StreamEvent::ToolCallDelta { index: 0, json });
        }
        let call = self.close(Usage::default(), None, true).await;
        self.answer.clear();
        call
    }

    /// Ends the step at the end of a prompt, with what the prompt has used and cost. One that `is_whole` was not cut off.
    pub(super) async fn end(&mut self, usage: Usage, cost_usd: Option<f64>, is_whole: bool) {
        if self.open.is_some() {
            self.close(usage, cost_usd, is_whole).await;
        } else if usage != Usage::default() || cost_usd.is_some() {
            self.count(usage, cost_usd).await;
            self.run.emit(EventKind::Aside { usage, cost_usd }).await;
        }
    }

    async fn count(&mut self, usage: Usage, cost_usd: Option<f64>) {
        for words in self.run.agent.budget.count(self.program, &Spent::new(usage, cost_usd)) {
            self.run.notify_user(words).await;
        }
        self.usage += usage;
        if let Some(cost) = cost_usd {
            *self.cost_usd.get_or_insert(0.0) += cost;
        }
    }

    async fn close(&mut self, usage: Usage, cost_usd: Option<f64>, is_whole: bool) -> Option<ToolCall> {
        let step = self.open.take()?;
        self.merged.finish(self.run).await;
        self.room = MAX_STEP;
        self.count(usage, cost_usd).await;
        let message = step.finish(self.run.agent.id, &mut self.ids).message;
        let text = message.text();
        if !text.trim().is_empty() {
            self.last_text.clone_from(&text);
            self.answer.push_str(&text);
        }
        let call = message.tool_calls().next().cloned();
        self.transcript.push_assistant(message.clone());
        let stop = is_whole.then_some(if call.is_some() { StopReason::ToolUse } else { StopReason::EndTurn });
        self.run.emit(TurnEvent::Ended { message, usage, cost_usd, stop, latency_ms: None }).await;
        call
    }
}
