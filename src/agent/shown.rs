//! What everyone who listens gets to see of an event: secrets, and what looks like one, are masked.
//!
//! Owns which fields hold words of models, tools and servers. Leaves masking to `session`, and what a model reads to the
//! transcript, which stays as it is. Invariants: what names or decides something (ids, paths, grants, copies of files)
//! is not touched, nor what the user has written; a question keeps everything that would be run.

use serde_json::Value;

use super::{AgentEvent, ContextEvent, EventKind, LogEvent, Outcome, SessionEvent, ToolEvent, TurnEvent};
use crate::message::{Block, ResultPart, ServedKind, ServedStep, ToolInput};
use crate::permission::{AccessKind, Answer, ApprovalRequest, Grant, Preview};
use crate::session::Secrets;
use crate::tool::{CommandEvent, ToolView};

impl LogEvent {
    /// Returns the event as it may be shown and kept.
    pub(super) fn shown(mut self, secrets: &Secrets) -> Self {
        match &mut self {
            Self::Session { event, .. } => session_event(event, secrets),
            // The user knows it, and gets it back by a rewind.
            Self::Agent(AgentEvent { agent, kind: EventKind::UserMessage { by, .. }, .. })
                if agent.is_main() && by.is_user() => {}
            Self::Agent(AgentEvent { kind, .. }) => agent_event(kind, secrets),
        }
        self
    }
}

impl Outcome {
    /// Returns the outcome as it may be shown and kept.
    #[must_use]
    pub fn shown(mut self, secrets: &Secrets) -> Self {
        mask(&mut self.text, secrets);
        mask_some(self.reason.as_mut(), secrets);
        mask_some(self.doubt.as_mut(), secrets);
        self
    }
}

fn mask(text: &mut String, secrets: &Secrets) {
    if let std::borrow::Cow::Owned(masked) = secrets.mask(text) {
        *text = masked;
    }
}

fn mask_some(text: Option<&mut String>, secrets: &Secrets) {
    if let Some(text) = text {
        mask(text, secrets);
    }
}

fn session_event(event: &mut SessionEvent, secrets: &Secrets) {
    match event {
        SessionEvent::NoModel { reason } => mask(reason, secrets),
        SessionEvent::ModelChosen { note, .. } => mask_some(note.as_mut(), secrets),
        SessionEvent::Worktrees { kept } => *kept = secrets.mask_all(std::mem::take(kept)),
        SessionEvent::Rewound { left, .. } => left.iter_mut().for_each(|(_, why)| mask(why, secrets)),
        SessionEvent::RulesChanged { rules } => rules.iter_mut().for_each(|rule| mask(&mut rule.text, secrets)),
        SessionEvent::FolderTrust { trust } => trust.brings.iter_mut().for_each(|item| mask(&mut item.text, secrets)),
        SessionEvent::ServersChanged { servers } => {
            for server in servers {
                mask(&mut server.shown, secrets);
                server.log.iter_mut().for_each(|line| mask(line, secrets));
            }
        }
        SessionEvent::HooksChanged { hooks } => hooks.iter_mut().for_each(|hook| mask(&mut hook.command, secrets)),
        SessionEvent::AgentsChanged { .. }
        | SessionEvent::SkillsChanged { .. }
        | SessionEvent::GrantsChanged { .. }
        | SessionEvent::SandboxChanged { .. }
        | SessionEvent::BudgetChanged { .. }
        | SessionEvent::EffortChosen { .. }
        | SessionEvent::ModeChanged { .. }
        | SessionEvent::ModelSearch { .. }
        | SessionEvent::Cleared => {}
    }
}

fn agent_event(kind: &mut EventKind, secrets: &Secrets) {
    match kind {
        EventKind::Spawned(spawn) => {
            mask(&mut spawn.description, secrets);
            mask(&mut spawn.prompt, secrets);
        }
        EventKind::UserMessage { text, .. } | EventKind::Notice { text } => mask(text, secrets),
        EventKind::Hook { ran } => {
            mask(&mut ran.command, secrets);
            mask(&mut ran.text, secrets);
        }
        EventKind::Ended { outcome } => *outcome = outcome.clone().shown(secrets),
        EventKind::Worktree { news } => *news = secrets.mask_all(news.clone()),
        EventKind::Turn(event) => turn_event(event, secrets),
        EventKind::Tool(event) => tool_event(event, secrets),
        EventKind::Context(ContextEvent::Compacted { message, .. }) => mask(message, secrets),
        EventKind::Context(ContextEvent::NotCompacted { reason, .. }) => mask(reason, secrets),
        EventKind::Command(event) => match event {
            CommandEvent::Started { command: text, .. }
            | CommandEvent::Output { text, .. }
            | CommandEvent::Matched { line: text, .. }
            | CommandEvent::Ended { tail: text, .. } => mask(text, secrets),
        },
        EventKind::Started
        | EventKind::Resumed { .. }
        | EventKind::Moved { .. }
        | EventKind::LastTurn { .. }
        | EventKind::Held { .. }
        | EventKind::Alive
        | EventKind::OutOfTouch
        | EventKind::ExternalSession { .. }
        | EventKind::Aside { .. }
        | EventKind::Stopping { .. }
        | EventKind::Context(_) => {}
    }
}

fn turn_event(event: &mut TurnEvent, secrets: &Secrets) {
    match event {
        TurnEvent::Retrying { reason, .. } => mask(reason, secrets),
        TurnEvent::Ended { message, .. } => {
            for block in &mut message.content {
                match block {
                    Block::Text { text } | Block::Thinking { text, .. } => mask(text, secrets),
                    Block::ToolCall(call) => mask_input(&mut call.input, secrets),
                    Block::Served(step) => mask_step(step, secrets),
                    Block::RedactedThinking { .. } => {}
                }
            }
        }
        // The stream masks its own pieces: a secret may be cut in two by them.
        TurnEvent::Started { .. } | TurnEvent::Reading { .. } | TurnEvent::Text { .. } | TurnEvent::Thinking { .. } => {
        }
    }
}

fn tool_event(event: &mut ToolEvent, secrets: &Secrets) {
    match event {
        ToolEvent::Started { call, title } | ToolEvent::Changed { call, title, .. } => {
            mask_input(&mut call.input, secrets);
            mask(title, secrets);
        }
        ToolEvent::Progress { tail, .. } => mask(tail, secrets),
        ToolEvent::ApprovalRequested { request } => question(request, secrets),
        ToolEvent::Refused { title, reason, .. } => {
            mask(title, secrets);
            mask(reason, secrets);
        }
        ToolEvent::Ended { result, summary, view, .. } => {
            for part in &mut result.content {
                if let ResultPart::Text { text } = part {
                    mask(text, secrets);
                }
            }
            mask(summary, secrets);
            match view {
                Some(ToolView::Diff(diff)) => secrets.mask_diff(diff),
                Some(ToolView::Output { text }) => mask(text, secrets),
                Some(ToolView::Todos { items }) => items.iter_mut().for_each(|item| {
                    mask(&mut item.content, secrets);
                    mask(&mut item.active_form, secrets);
                }),
                None => {}
            }
        }
        ToolEvent::ApprovalResolved {
            answer: Some(Answer::Edited { text } | Answer::Plan { text: Some(text), .. }),
            ..
        } => mask(text, secrets),
        ToolEvent::ApprovalResolved { .. } | ToolEvent::TakenDown { .. } => {}
    }
}

/// What is encrypted in a step is no text; the words of pages may hold anything.
fn mask_step(step: &mut ServedStep, secrets: &Secrets) {
    match &mut step.kind {
        ServedKind::Called => {}
        ServedKind::Failed { why } => mask(why, secrets),
        ServedKind::Found { hits } | ServedKind::Cited { hits } => {
            for hit in hits {
                mask(&mut hit.url, secrets);
                mask(&mut hit.title, secrets);
                mask_some(hit.excerpt.as_mut(), secrets);
            }
        }
    }
    mask_value(&mut step.wire, secrets);
}

fn mask_input(input: &mut ToolInput, secrets: &Secrets) {
    match input {
        ToolInput::Object(fields) => fields.values_mut().for_each(|value| mask_value(value, secrets)),
        ToolInput::Malformed(text) => mask(text, secrets),
    }
}

fn mask_value(value: &mut Value, secrets: &Secrets) {
    match value {
        Value::String(text) => mask(text, secrets),
        Value::Array(items) => items.iter_mut().for_each(|item| mask_value(item, secrets)),
        Value::Object(fields) => fields.values_mut().for_each(|value| mask_value(value, secrets)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Masks tokens in a question. The grant is masked as the command is, so that one can be held against the other.
fn question(request: &mut ApprovalRequest, secrets: &Secrets) {
    let act = |text: &mut String| *text = secrets.mask_act(text).into_owned();
    act(&mut request.title);
    if let AccessKind::Execute { command, .. }
    | AccessKind::Reach { command, .. }
    | AccessKind::Start { program: command, .. } = &mut request.access.kind
    {
        act(command);
    }
    if let Some(Grant::Command(command)) = &mut request.grant {
        act(command);
    }
    match &mut request.preview {
        Some(Preview::Note { text } | Preview::Report { text } | Preview::Plan { text }) => mask(text, secrets),
        Some(Preview::Questions { questions }) => {
            for one in questions {
                mask(&mut one.question, secrets);
                for option in &mut one.options {
                    mask(&mut option.description, secrets);
                    mask_some(option.preview.as_mut(), secrets);
                }
            }
        }
        Some(Preview::Diff(diff)) => {
            diff.hunks.iter_mut().flat_map(|hunk| &mut hunk.lines).for_each(|line| act(&mut line.text));
        }
        None => {}
    }
}
